// Whether a session is still right: a word is told to the agent before the trial, and asked for after it.
import { answerOf } from '../store/turn_record.js';
import { said, statusOf } from './observing.js';
import type { Report } from './trial.js';

export const WORD_CLAIM = 'The session is still right: the next turn works and knows the word that was told before.';

const WORDS = ['pelican', 'walrus', 'heron', 'otter', 'badger', 'lynx', 'plover', 'marten'];

/** A word, another one each time. */
export const newWord = (): string => `${WORDS[Math.floor(Math.random() * WORDS.length)]!}-${Math.floor(Math.random() * 1000)}`;

/** Tells the agent a word. */
export async function rememberWord(report: Report): Promise<string> {
  const word = newWord();
  report.does('A word is told to the agent.');
  const turn = await said(`Remember the word ${word}.`);
  if (statusOf(turn) !== 'completed') throw new Error(`The word could not be told: the turn is ${statusOf(turn)}.`);
  return word;
}

/** Asks for it, and reports the claim `word`; resolves to the turn that asked. */
export async function remembers(report: Report, word: string) {
  report.does('The word is asked for.');
  const turn = await said('Which word was it?');
  const answer = answerOf(turn.record.peek());
  report.finds('word', statusOf(turn) === 'completed' && answer.includes(word), `“${answer.slice(0, 80)}”`);
  return turn;
}
