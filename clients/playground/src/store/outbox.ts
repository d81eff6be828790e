// Words that have not left this page, because the service could not be reached. Owns what the browser keeps of them: the
// text, the ids with which it is sent, and the names of its files, in this tab's storage, until the service has them, the
// human drops them, or somebody else sits before the tab.
import type { TurnRequest } from '../../../typescript/src/index.js';
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
  /** The whole of what is sent, and how it is shown, until the page is left. */
  whole?: { request: TurnRequest; asked: Asked };
}

const PLACE = 'aptix-edge.outbox';
let waiting: readonly Waiting[] = stored();
let owner = user.peek();
user.subscribe((name) => {
  if (name === owner) return;
  owner = name;
  keep([]);
});

export const waitingIn = (session: string): readonly Waiting[] => waiting.filter((each) => each.session === session);
export const waitingElsewhere = (session: string): readonly Waiting[] => waiting.filter((each) => each.session !== session);

export const put = (entry: Waiting): void => keep([...waiting.filter(({ id }) => id !== entry.id), entry]);

/** Forgets words: the service has them, or they were dropped. */
export function take(id: string): void {
  if (waiting.some((each) => each.id === id)) keep(waiting.filter((each) => each.id !== id));
}

export const forgetSession = (session: string): void => keep(waitingElsewhere(session));

function keep(entries: readonly Waiting[]): void {
  waiting = entries;
  try {
    if (entries.length === 0) sessionStorage.removeItem(PLACE);
    else sessionStorage.setItem(PLACE, JSON.stringify(entries.map(({ whole: _, ...kept }) => kept)));
  } catch {
    // A browser that keeps nothing has them until the page is left.
  }
}

function stored(): Waiting[] {
  try {
    const held: unknown = JSON.parse(sessionStorage.getItem(PLACE) ?? '[]');
    if (!Array.isArray(held)) return [];
    return held.filter((each) => [each?.session, each?.id, each?.text].every((member) => typeof member === 'string') && Array.isArray(each.attached));
  } catch {
    return [];
  }
}
