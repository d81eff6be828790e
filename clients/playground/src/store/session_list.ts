// The sessions that the page lists, the newest first. Those of a signed-in user are the service's; those of nobody are kept
// by this browser: ids and titles, nothing of what was said, and never a key. Owns how many are kept: a list without an end
// is read whole by each page, and written whole with each message.
import { computed, effect, signal } from '@preact/signals';
import type { SessionEntry } from '../../../typescript/src/index.js';
import { forgetBranch } from './branches.js';
import { ofBrowser } from './storage.js';
import { user } from './user.js';
import { begunByUser, ofUser } from './user_sessions.js';

export interface Listed {
  id: string;
  title: string;
  /** When it was last used, in milliseconds since the epoch. */
  at: number;
  /** As the service lists it, which may be half a minute ago. */
  status?: SessionEntry['Status'];
}

const PLACE = 'aptix-edge.sessions';
const LONGEST_TITLE = 60;
/** The newest ones that are kept. Older sessions stay in the service, under their address. */
export const MOST_KEPT = 1000;

const inBrowser = signal<readonly Listed[]>(stored());
effect(() => void ofBrowser.set(PLACE, JSON.stringify(inBrowser.value)));
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
  const known = inBrowser.value.find((each) => each.id === id);
  const first = { id, title: known?.title ?? title, at: Date.now() };
  inBrowser.value = [first, ...inBrowser.value.filter((each) => each.id !== id)].slice(0, MOST_KEPT);
}

export function unlist(id: string): void {
  forgetBranch(id);
  const kept = (each: Listed) => each.id !== id;
  if (user.peek() === undefined) inBrowser.value = inBrowser.value.filter(kept);
  else ofUser.value = ofUser.value.filter(({ id: held }) => held !== id);
}
