// What a client does to a turn: it is cut off, reloads, repeats itself, answers wrongly, speaks up late, cancels, leaves.
import { signal } from '@preact/signals';
import { AptixError, type StreamEvent, type ToolCall, type ToolContinuation } from '../../../typescript/src/index.js';
import { add, answer, cancel, follow, liveTurn, send, sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { aptix, headersOfUser } from '../store/service.js';
import { answerOf, unanswered } from '../store/turn_record.js';
import { cut, sent } from './line.js';
import { atEnd, isOver, runningTurn, said, statusOf, stored, streamedText, traceOf, until, wasRunOnce } from './observing.js';
import { newWord, remembers, rememberWord, WORD_CLAIM } from './remembering.js';
import { leaveForReload } from './reload.js';
import type { Report, Trial } from './trial.js';

/** How long "leave" is away. */
export const awaySeconds = signal(60);

const EQUAL = 'Every word has come once: the text on this page equals the stored one.';
const ONCE = 'The turn did not notice: one attempt, and no model call was made twice.';

/** The two claims that hold of each turn whose client went away and came back. */
export async function reportWhole(report: Report, turn: ShownTurn): Promise<void> {
  const { response, status } = await stored(turn);
  const text = response?.PrimaryOutputText;
  const streamed = streamedText(turn.events.peek());
  const equal = text !== undefined && answerOf(turn.record.peek()) === text && (streamed === '' || streamed === text);
  report.finds('equal', equal, text === undefined ? `The turn is ${status}.` : `${text.length} characters`);
  const trace = await traceOf(turn);
  report.finds('once', wasRunOnce(trace), `attempts: ${trace.Attempts}, model calls: ${trace.ModelCalls.length}`);
}

export const byClient: readonly Trial[] = [
  {
    id: 'cut',
    title: 'Cut my connection',
    does: 'Breaks every connection of this page in the middle of an answer.',
    claims: {
      resumed: 'The page reconnects by itself and asks for what it lacks only, from the very byte it has reached.',
      equal: EQUAL,
      once: ONCE,
    },
    async run(report) {
      report.does('An answer is on its way.');
      const turn = await runningTurn();
      const before = sent.length > 0 ? sent.at(-1) : undefined;
      cut();
      report.does('Cut. The page reconnects.');
      await atEnd(turn);
      const since = sent.slice(before ? sent.lastIndexOf(before) + 1 : 0);
      const resumed = since.find(({ resumedAt }) => resumedAt !== undefined)?.resumedAt;
      const positions = turn.events.peek().map(({ event }) => (event.type === 'text' ? event.position : undefined));
      report.finds('resumed', resumed !== undefined && positions.includes(resumed), `Last-Event-ID: ${resumed ?? 'none'}`);
      await reportWhole(report, turn);
    },
  },
  {
    id: 'reload',
    title: 'Reload now',
    does: 'Reloads this page in the middle of an answer.',
    claims: { back: 'The page finds its session again, and the turn in it.', equal: EQUAL, once: ONCE },
    async run(report) {
      report.does('An answer is on its way.');
      leaveForReload((await runningTurn()).record.peek().turnId);
      // The page ends here. What follows is done by `afterReload`.
      await new Promise(() => {});
    },
  },
  {
    id: 'five',
    title: 'Send the same request five times at once',
    does: 'Sends one turn five times in the same moment, as a nervous network does.',
    needsIdle: true,
    claims: {
      equal: 'All five get the same answer, byte for byte.',
      once: 'It is one turn: the model was called once, and the session has one turn more.',
    },
    run: runFive,
  },
  {
    id: 'mismatch',
    title: 'Answer with the wrong tool results',
    does: 'Has the agent call a tool, and answers for a call that was never made, then twice, then with text that is no JSON.',
    needsIdle: true,
    claims: {
      refused: 'Each wrong answer is refused, and the refusal names what is wrong.',
      waits: 'The turn still waits for the same call, and no model was called.',
      right: 'The right answer then finishes the turn.',
    },
    run: runMismatch,
  },
  {
    id: 'cancel',
    title: 'Cancel',
    does: 'Stops the turn itself in the middle of its answer.',
    needsIdle: true,
    claims: {
      aborted: 'The turn is aborted at once; what was said so far is kept.',
      stays: 'It stays so: cancelling it again, or asking for it, changes nothing.',
      word: WORD_CLAIM,
    },
    run: runCancel,
  },
  {
    id: 'steer',
    title: 'Speak up in the last millisecond',
    does: 'Adds words to a turn in the very moment in which its answer ends, three times, each a little later.',
    needsIdle: true,
    claims: {
      once: 'Words that were added are in their turn exactly once; words that came too late were refused, and are the next turn.',
      equal: EQUAL,
      word: WORD_CLAIM,
    },
    run: runSteer,
  },
  {
    id: 'leave',
    title: 'Leave',
    does: 'Ends every connection in the middle of an answer, asks for nothing for a while, and comes back.',
    claims: { finished: 'The turn ran on without anybody, and ended while this page was away.', equal: EQUAL, once: ONCE },
    async run(report) {
      const turn = await runningTurn();
      turn.watching?.abort();
      const until = Date.now() + awaySeconds.value * 1000;
      for (let left; (left = Math.ceil((until - Date.now()) / 1000)) > 0; ) {
        report.does(`Away. Back in ${left} s.`);
        await new Promise((passed) => setTimeout(passed, Math.min(1000, until - Date.now())));
      }
      const { status } = await stored(turn);
      const isShort = status === 'running';
      const seen = isShort ? `The turn still ran after ${awaySeconds.value} s: stay away for longer to see its end.` : `The turn is ${status}.`;
      report.finds('finished', isShort ? 'unseen' : status === 'completed', seen);
      report.does('Back. The rest is fetched.');
      follow(turn);
      await atEnd(turn);
      await reportWhole(report, turn);
    },
  },
];

async function runFive(report: Report): Promise<void> {
  const session = aptix.session(sessionId.peek());
  const before = shownTurns.peek().length === 0 ? 0 : (await session.get()).TurnCount;
  report.does('Five requests are under way.');
  const turn = send('What can you do?');
  const body = JSON.stringify({ ...turn.request, SessionId: sessionId.peek(), TurnId: turn.record.peek().turnId });
  const headers = { 'Content-Type': 'application/json', ...(await headersOfUser()) };
  const post = async () => (await fetch('/execute', { method: 'POST', headers, body })).text();
  const answers = await Promise.all(Array.from({ length: 4 }, post));
  await atEnd(turn);
  const last: StreamEvent | undefined = turn.events.peek().at(-1)?.event;
  const own = last?.type === 'result' ? JSON.stringify(last.response) : '';
  const results = answers.map((answer) => JSON.stringify(JSON.parse(answer).Result));
  const equal = new Set(answers).size === 1 && new Set([own, ...results]).size === 1 && own !== '';
  const different = new Set([own, ...results]).size;
  report.finds('equal', equal, different === 1 ? `${answers.length + 1} answers, all equal` : `${different} different answers`);
  const trace = await traceOf(turn);
  const after = (await session.get()).TurnCount;
  report.finds('once', wasRunOnce(trace) && trace.ModelCalls.length === 1 && after === before + 1, `model calls: ${trace.ModelCalls.length}, turns: ${before} and now ${after}`);
}

/** A tool that this page does not run, so that the turn waits. */
const TOOL = { type: 'function', name: 'break_it', description: 'A tool that is answered wrongly on purpose.', parameters: { type: 'object', properties: { word: { type: 'string' } } } };

async function runMismatch(report: Report): Promise<void> {
  const SessionId = sessionId.peek();
  report.does('The agent is asked to call a tool.');
  const turn = send('Call the tool break_it with the word pelican.', [], { ToolsJson: JSON.stringify([TOOL]) });
  await until(() => statusOf(turn) === 'awaiting_tools' || isOver(turn), 'A call of the tool');
  const [call] = unanswered(turn.record.peek());
  if (!call) throw new Error('The model did not call the tool.');
  const { TurnId, calls } = { TurnId: turn.record.peek().turnId, calls: (await traceOf(turn)).ModelCalls.length };
  const result = { ToolCallId: call.ToolCallId, ExecutionMs: 1, ResultJson: '"the right one"' };
  const wrong: ToolContinuation['ToolResults'][] = [
    [{ ...result, ToolCallId: 'call_never_made' }],
    [result, result],
    [{ ...result, ResultJson: 'no JSON' }],
  ] as ToolContinuation['ToolResults'][];
  report.does('Three wrong answers are sent.');
  const codes: string[] = [];
  for (const ToolResults of wrong) codes.push(await refusalOf(aptix.execute({ SessionId, TurnId, ToolResults })));
  const expected = ['tool_results_mismatch', 'tool_results_mismatch', 'invalid_field'];
  report.finds('refused', expected.every((code, at) => codes[at] === code), codes.join(', '));
  const pending = await aptix.session(SessionId).pending();
  const after = (await traceOf(turn)).ModelCalls.length;
  const isSame = pending?.turnId === TurnId && pending.ToolCalls.length === 1 && isCall(pending.ToolCalls[0], call);
  report.finds('waits', isSame && after === calls, `model calls: ${calls} and now ${after}`);
  answer(turn, result);
  await atEnd(turn);
  const { response } = await stored(turn);
  report.finds('right', response !== undefined && response.PrimaryOutputText === answerOf(turn.record.peek()), response?.PrimaryOutputText.slice(0, 80));
}

const isCall = (a: ToolCall | undefined, b: ToolCall): boolean => a?.ToolCallId === b.ToolCallId && a.ArgumentsJson === b.ArgumentsJson;

async function refusalOf(request: Promise<unknown>): Promise<string> {
  try {
    await request;
    return 'accepted';
  } catch (error) {
    return error instanceof AptixError ? error.code : failureOf(error).message;
  }
}

async function runCancel(report: Report): Promise<void> {
  const word = await rememberWord(report);
  report.does('An answer is on its way.');
  const turn = await runningTurn();
  await cancel(turn);
  await atEnd(turn);
  const shown = streamedText(turn.events.peek());
  const first = await stored(turn);
  const kept = first.textSoFar ?? '';
  const isPart = kept !== '' && (kept.startsWith(shown) || shown.startsWith(kept));
  report.finds('aborted', first.status === 'aborted' && isPart && liveTurn.peek() === undefined, `kept: “${kept}”`);
  const again = await aptix.session(sessionId.peek()).cancel(turn.record.peek().turnId);
  const second = await stored(turn);
  report.finds('stays', again.Status === 'aborted' && second.status === 'aborted' && second.textSoFar === first.textSoFar);
  await remembers(report, word);
}

/** How far before the end of the answer words are added, in characters; at 0 the last one has come. */
const LEADS = [8, 1, 0];

async function runSteer(report: Report): Promise<void> {
  const words = 'Think aloud.';
  report.does('The length of an answer is measured.');
  const { length } = answerOf((await said(words)).record.peek());
  const told: string[] = [];
  const turns: ShownTurn[] = [];
  for (const lead of LEADS) {
    const turn = send(words);
    report.does('An answer is about to end.');
    await until(() => streamedText(turn.events.value).length >= length - lead || isOver(turn), 'The end of an answer');
    const word = newWord();
    told.push(word);
    const before = shownTurns.peek().length;
    await add(turn, `Remember the word ${word}.`);
    await atEnd(turn);
    const next = shownTurns.peek()[before];
    if (next) await atEnd(next);
    turns.push(next ?? turn);
  }
  const exported = await aptix.session(sessionId.peek()).export();
  const entries = exported.Turns.flatMap(({ Conversation }) => Conversation).filter(({ Kind }) => Kind === 'user' || Kind === 'steer');
  const counts = told.map((word) => entries.filter(({ Items }) => JSON.stringify(Items).includes(word)).length);
  const late = turns.filter(({ request }) => told.some((word) => request?.Instruction?.includes(word))).length;
  const isOnce = counts.every((count) => count === 1);
  const seen = `added: ${told.length - late}, too late: ${late}; found ${counts.join(', ')} times`;
  // The claim is about both, so both have to be seen.
  const isHalf = isOnce && (late === 0 || late === told.length);
  report.finds('once', isHalf ? 'unseen' : isOnce, isHalf ? `${seen}. Run it again to see the other half.` : seen);
  const ends = await Promise.all(turns.map(stored));
  const isEqual = ends.every(({ response }, at) => response?.PrimaryOutputText === answerOf(turns[at]!.record.peek()));
  report.finds('equal', isEqual, ends.map(({ status }) => status).join(', '));
  await remembers(report, told.at(-1)!);
}
