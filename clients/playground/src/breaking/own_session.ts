// Where a trial does what it does. A trial talks to the agent, and a conversation of the reader's own is none of its business:
// it has a session of its own, unless a turn runs that it can be done to. Owns which sessions are those of trials.
import { boundContexts, liveTurn, newId, open, sessionId, shownTurns } from '../store/conversation.js';
import { used } from '../store/session_list.js';
import { changedSettings, setAgain } from '../store/settings.js';
import { ofTab } from '../store/storage.js';

const PLACE = 'aptix-edge.trials.sessions';
const TITLE = 'Break it';

const own = new Set(ofTab.list<string>(PLACE, (each) => typeof each === 'string'));

/** `needsIdle`: it begins a turn, whether or not one runs. */
interface Doing {
  needsIdle?: boolean;
}

/** Whether a trial leaves the open session for one of its own. It reads signals. */
export function goesElsewhere({ needsIdle }: Doing): boolean {
  if (shownTurns.value.length === 0 || own.has(sessionId.value)) return false;
  return needsIdle === true || liveTurn.value?.record.value.status !== 'running';
}

/** Whether trials talk to the agent in a session of their own, as the open one holds something of the reader's. */
export const isSpared = (): boolean => shownTurns.value.length > 0 && !own.has(sessionId.value);

/** Goes to the session in which a trial is done: under the same contexts, with what is set. */
export async function goWhereItIsDone(trial: Doing): Promise<void> {
  if (shownTurns.peek().length === 0) note(sessionId.peek());
  if (!goesElsewhere(trial)) return;
  const [held, set, bound] = [document.activeElement, changedSettings(), boundContexts.peek()];
  const id = newId();
  history.pushState(null, '', location.pathname + location.search);
  await open(id, false);
  setAgain({ ...set, solution: '', ...(bound && { agentContext: bound.agent, conversationContext: bound.conversation }) });
  note(id);
  // The message box of a new session takes the focus.
  queueMicrotask(() => held instanceof HTMLElement && held.focus());
}

function note(id: string): void {
  own.add(id);
  ofTab.set(PLACE, JSON.stringify([...own]));
  used(id, TITLE);
}

/** Somebody else sits before this tab now. */
export function forgetOwn(): void {
  own.clear();
  ofTab.remove(PLACE);
}
