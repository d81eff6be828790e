// What the tabs of one browser tell each other: that something has happened to a session, and which calls were decided.
// What it was, the service says: nothing that was said goes from tab to tab.
import { user } from './user.js';

interface Told {
  user: string | undefined;
  session: string;
  /** Calls that the human has decided in the tab that tells. */
  decided: readonly string[];
}

const channel = new BroadcastChannel('aptix-edge.sessions');
/** The calls that a human has decided here or in another tab, as far as this page has seen it. */
const deciders = new Map<string, 'this tab' | 'another tab'>();

/** Tells the other tabs that something has happened to a session, once the service knows of it. */
export function tell(session: string, decided: readonly string[] = []): void {
  for (const call of decided) deciders.set(call, 'this tab');
  channel.postMessage({ user: user.peek(), session, decided } satisfies Told);
}

/** Is told what other tabs of the same user have done, each time with the session. */
export function onTold(listener: (session: string) => void): void {
  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.user !== user.peek()) return;
    for (const call of data.decided) deciders.set(call, 'another tab');
    listener(data.session);
  });
}

/** Where in this browser a call was decided; `undefined` where the page has not seen it. */
export const deciderOf = (toolCallId: string) => deciders.get(toolCallId);
