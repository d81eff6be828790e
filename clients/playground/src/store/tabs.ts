// What the tabs of one browser tell each other: that something has happened to a session, and which calls were decided.
// What it was, the service says: nothing that was said goes from tab to tab.
// Owns which calls were answered where, as far as this tab has seen it, also after a reload.
import { ofTab } from './storage.js';
import { user } from './user.js';

interface Told {
  user: string | undefined;
  session: string;
  /** Calls that the human has decided in the tab that tells. */
  decided: readonly string[];
}

/** Where site data is blocked, Firefox gives none: what other tabs do is then seen when somebody comes back to this one. */
const channel = opened();
const PLACE = 'aptix-edge.decided';
/** The newest ones that are kept. */
const MOST_KEPT = 500;
type Decider = 'this tab' | 'another tab';
/** The calls that were answered here or in another tab: their ids alone. */
const deciders = new Map(ofTab.list<[string, Decider]>(PLACE, (each) => Array.isArray(each) && typeof each[0] === 'string' && ['this tab', 'another tab'].includes(each[1])));

function note(calls: readonly string[], by: Decider): void {
  if (calls.length === 0) return;
  for (const call of calls) deciders.set(call, by);
  ofTab.set(PLACE, JSON.stringify([...deciders].slice(-MOST_KEPT)));
}

function opened(): BroadcastChannel | undefined {
  try {
    return new BroadcastChannel('aptix-edge.sessions');
  } catch {
    return undefined;
  }
}

let seenAs = user.peek();
user.subscribe((name) => {
  if (name !== seenAs) {
    deciders.clear();
    ofTab.remove(PLACE);
  }
  seenAs = name;
});

/** Tells the other tabs that something has happened to a session, once the service knows of it. */
export function tell(session: string, decided: readonly string[] = []): void {
  note(decided, 'this tab');
  channel?.postMessage({ user: user.peek(), session, decided } satisfies Told);
}

/** Is told what other tabs of the same user have done, each time with the session. */
export function onTold(listener: (session: string) => void): void {
  channel?.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.user !== user.peek()) return;
    note(data.decided, 'another tab');
    listener(data.session);
  });
}

/** Where in this browser a call was decided; `undefined` where the page has not seen it. */
export const deciderOf = (toolCallId: string) => deciders.get(toolCallId);
