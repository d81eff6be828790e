// The sessions of the signed-in user, as the service lists them, and those that wait for a decision. Owns when the list is
// fetched again: what happens in another tab, or in the background, shows after a while by itself.
import { effect, signal, untracked } from '@preact/signals';
import type { SessionEntry, SessionsOptions } from '../../../typescript/src/index.js';
import { here } from './clock.js';
import { failureOf } from './failure.js';
import { aptix, isLetIn } from './service.js';
import { user } from './user.js';

export interface UserSession {
  id: string;
  title: string;
  /** When something last happened in it, in milliseconds since the epoch, by the clock of this browser. */
  at: number;
  status: SessionEntry['Status'];
}

/** The sessions that one request brings, and that each further step shows. */
const STEP = 100;
const REFRESH_MS = 15_000;

/** The words that titles are searched for. */
export const searched = signal('');
export const ofUser = signal<readonly UserSession[]>([]);
/** Whether there are more than these. */
export const hasMore = signal(false);
/** Those in which a call waits for approval; the newest hundred. */
export const inbox = signal<readonly UserSession[]>([]);
export const hasMoreInInbox = signal(false);
export const listFault = signal('');
let wanted = STEP;
let asking = 0;

effect(() => {
  void user.value;
  wanted = STEP;
  asking += 1;
  ofUser.value = inbox.value = [];
  hasMore.value = hasMoreInInbox.value = false;
  listFault.value = searched.value = '';
});
effect(() => {
  if (isLetIn.value && user.value !== undefined && searched.value !== undefined) void untracked(refresh);
});
setInterval(() => document.hidden || void refresh(), REFRESH_MS);
document.addEventListener('visibilitychange', () => document.hidden || void refresh());

/** Fetches the list again; the newest asking wins. Without a user there is none. */
export async function refresh(): Promise<void> {
  if (user.peek() === undefined || !isLetIn.peek()) return;
  const mine = ++asking;
  const query = searched.peek().trim();
  try {
    const [found, waiting] = await Promise.all([first(wanted, query ? { query } : {}), first(STEP, { status: 'awaiting_approval' })]);
    if (mine !== asking) return;
    ofUser.value = found.sessions;
    hasMore.value = found.hasMore;
    inbox.value = waiting.sessions;
    hasMoreInInbox.value = waiting.hasMore;
    listFault.value = '';
  } catch (error) {
    if (mine === asking) listFault.value = failureOf(error).message;
  }
}

export function showFurther(): Promise<void> {
  wanted += STEP;
  return refresh();
}

/** Puts a session to the top before the service's list tells of it. A list that was asked for before that does not have it yet. */
export function begunByUser(id: string, title: string): void {
  asking += 1;
  const known = ofUser.value.find((each) => each.id === id);
  const first: UserSession = { id, title: known?.title ?? title, at: Date.now(), status: 'running' };
  ofUser.value = [first, ...ofUser.value.filter((each) => each.id !== id)];
}

/** Takes a session out that is erased. A list that was asked for before that has it still. */
export function erasedOfUser(id: string): void {
  asking += 1;
  const stays = (each: UserSession) => each.id !== id;
  ofUser.value = ofUser.value.filter(stays);
  inbox.value = inbox.value.filter(stays);
}

export async function rename(id: string, title: string): Promise<void> {
  await aptix.session(id).rename(title);
  await refresh();
}

async function first(count: number, options: SessionsOptions): Promise<{ sessions: UserSession[]; hasMore: boolean }> {
  const sessions: UserSession[] = [];
  for await (const { SessionId, Title, ActiveAt, Status } of aptix.sessions({ ...options, limit: STEP })) {
    if (sessions.length === count) return { sessions, hasMore: true };
    sessions.push({ id: SessionId, title: Title || SessionId, at: here(Date.parse(ActiveAt)), status: Status });
  }
  return { sessions, hasMore: false };
}
