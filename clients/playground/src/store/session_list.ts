// The sessions that the page lists, the newest first. Those of a signed-in user are the service's; those of nobody are kept
// by this browser: ids, titles and what they are at, nothing of what was said, and never a key. Owns how many are kept: a list without an end
// is read whole by each page, and written whole with each message.
import { computed, effect, signal } from '@preact/signals';
import type { SessionEntry } from '../../../typescript/src/index.js';
import { forgetBranch } from './branches.js';
import { ofBrowser } from './storage.js';
import { user } from './user.js';
import { begunByUser, erasedOfUser, ofUser } from './user_sessions.js';

export interface Listed {
  id: string;
  title: string;
  /** When it was last used, in milliseconds since the epoch. */
  at: number;
  /** What it is at: of a user's session as the service lists it, which may be half a minute ago. */
  status?: SessionEntry['Status'] | undefined;
}

const PLACE = 'aptix-edge.sessions';
const LONGEST_TITLE = 60;
/** The newest ones that are kept. Older sessions stay in the service, under their address. */
export const MOST_KEPT = 1000;

const inBrowser = signal<readonly Listed[]>(stored());
effect(() => void ofBrowser.set(PLACE, JSON.stringify(inBrowser.value), true));
export const listed = computed<readonly Listed[]>(() => (user.value === undefined ? inBrowser.value : ofUser.value));

// Another tab has changed the list.
addEventListener('storage', ({ key }) => {
  if (key === PLACE) inBrowser.value = stored();
});

function stored(): Listed[] {
  return ofBrowser.list<Listed>(PLACE, (each) => typeof each?.id === 'string' && typeof each.title === 'string').slice(0, MOST_KEPT);
}

/** Puts a session at the top of the list; the title is that of its first use. */
export function used(id: string, words: string): void {
  const line = words.replace(/^[\s#>*`-]+/, '').split('\n')[0]!.trim();
  const title = line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE - 1)}…` : line || 'Without words';
  if (user.peek() !== undefined) return begunByUser(id, title);
  // Another tab may have written the list a moment ago, or while this one slept.
  const all = stored();
  const known = all.find((each) => each.id === id);
  const first = { ...known, id, title: known?.title ?? title, at: Date.now() };
  inBrowser.value = [first, ...all.filter((each) => each.id !== id)].slice(0, MOST_KEPT);
}

/** What a session of this browser is at; `undefined`: at nothing that is worth telling. */
export function noteState(id: string, status: Listed['status']): void {
  if (user.peek() !== undefined || inBrowser.peek().find((each) => each.id === id)?.status === status) return;
  inBrowser.value = stored().map((each) => (each.id === id ? { ...each, status } : each));
}

/** The sessions of this browser that run or wait, as far as is known. */
export const atWork = (): readonly Listed[] => inBrowser.peek().filter(({ status }) => status !== undefined && IS_AT_WORK.includes(status));
const IS_AT_WORK: readonly Listed['status'][] = ['running', 'awaiting_tools', 'awaiting_approval'];

export function unlist(id: string): void {
  forgetBranch(id);
  if (user.peek() === undefined) inBrowser.value = stored().filter((each) => each.id !== id);
  else erasedOfUser(id);
}
