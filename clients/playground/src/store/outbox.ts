// What has not left this page, because the service could not be reached or a part of it is missing: words, and answers to the
// calls of a pause. Owns what the browser keeps of it, in this tab's storage, until the service has it, the human drops it,
// or somebody else sits before the tab: of words the text, the ids with which they are sent, and the names of their files.
import { signal } from '@preact/signals';
import type { SubmittedToolResult, TurnRequest } from '../../../typescript/src/index.js';
import { ofTab } from './storage.js';
import type { Asked } from './turn_record.js';
import { user } from './user.js';

export interface Waiting {
  session: string;
  /** The id of the turn, or of the steer. */
  id: string;
  text: string;
  /** The names of what was attached, which a reload loses. */
  attached: readonly string[];
  /** The turn to which the words are added; absent for words that are a turn. */
  steers?: string;
  /** The whole of what is sent, and how it is shown, until the page is left; of words that are added, what is added. */
  whole?: { request: TurnRequest; asked: Asked };
}

/** Answers to the calls of a turn's pause, in the calls' order. */
export interface WaitingAnswers {
  session: string;
  /** The id of the turn. */
  id: string;
  answers: readonly SubmittedToolResult[];
  /** Each call of the pause has its answer, so that they can be sent. */
  isWhole: boolean;
}

/** Whether the browser has kept what was put here last: a full storage, or none, keeps it until the page is left. */
export const outlivesPage = signal(true);

/** The entries of one kind: at most one of each id. */
class Entries<T extends { session: string; id: string }> {
  #all: readonly T[];

  constructor(
    private readonly place: string,
    isRight: (entry: Partial<T>) => boolean,
  ) {
    this.#all = ofTab.list(place, (entry) => typeof entry?.session === 'string' && typeof entry.id === 'string' && isRight(entry));
  }

  in(session: string): readonly T[] {
    return this.#all.filter((each) => each.session === session);
  }

  elsewhere(session: string): readonly T[] {
    return this.#all.filter((each) => each.session !== session);
  }

  put(entry: T): void {
    this.keep([...this.#all.filter(({ id }) => id !== entry.id), entry]);
  }

  /** Forgets an entry: the service has it, or it was dropped. */
  take(id: string): void {
    if (this.#all.some((each) => each.id === id)) this.keep(this.#all.filter((each) => each.id !== id));
  }

  keep(entries: readonly T[]): void {
    this.#all = entries;
    if (entries.length === 0) ofTab.remove(this.place);
    else outlivesPage.value = ofTab.set(this.place, JSON.stringify(entries, (member, value) => (member === 'whole' ? undefined : value)));
  }
}

export const words = new Entries<Waiting>('aptix-edge.outbox', ({ text, attached }) => typeof text === 'string' && Array.isArray(attached));
export const answers = new Entries<WaitingAnswers>('aptix-edge.answers', ({ answers: given }) => Array.isArray(given) && given.every((each) => typeof each?.ToolCallId === 'string'));

export function forgetSession(session: string): void {
  for (const each of [words, answers] as readonly Entries<any>[]) each.keep(each.elsewhere(session));
}

let owner = user.peek();
user.subscribe((name) => {
  if (name === owner) return;
  owner = name;
  for (const each of [words, answers]) each.keep([]);
});
