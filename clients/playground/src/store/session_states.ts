// What the sessions of the list are at: one runs, waits for its human, or has failed. Owns how that is known: of the open
// session by its turns, of those that were left at work by asking for each of them, and of no other one. A user's list comes
// from the service with its states.
import { computed, effect, untracked } from '@preact/signals';
import { AptixError, type SessionView } from '../../../typescript/src/index.js';
import { isLost } from './connection.js';
import { isLoading, liveTurn, newestTurn, sessionId } from './conversation.js';
import { aptix, isLetIn } from './service.js';
import { atWork, listed, noteState, type Listed } from './session_list.js';
import { onTold } from './tabs.js';
import { APPROVAL, unanswered, type TurnRecord } from './turn_record.js';
import { user } from './user.js';

type State = Listed['status'];

/** How often sessions that run elsewhere are asked for. Those that wait do so until somebody comes. */
const RUNNING_MS = 5_000;
/** As many are asked for at once, the newest ones. */
const MOST_ASKED = 8;

/** What the open session is at, as its turns tell it. */
export const openState = computed<State>(() => {
  const turn = isLoading.value ? undefined : (liveTurn.value ?? newestTurn.value);
  return turn && stateOf(turn.record.value);
});

function stateOf(record: TurnRecord): State {
  const { status } = record;
  if (status === 'awaiting_tools') {
    const open = unanswered(record);
    return open.length === 0 ? 'running' : open.some(({ Name }) => Name === APPROVAL) ? 'awaiting_approval' : 'awaiting_tools';
  }
  if (status === 'lost') return 'running';
  return status === 'running' || status === 'failed' ? status : undefined;
}

function stateIn({ LiveTurn, LatestTurn }: SessionView): State {
  const { Status, ToolCalls = [] } = LiveTurn ?? LatestTurn ?? {};
  if (Status === 'awaiting_tools') return ToolCalls.some(({ Name }) => Name === APPROVAL) ? 'awaiting_approval' : Status;
  return Status === 'running' || Status === 'failed' ? Status : undefined;
}

const isListed = computed(() => !isLoading.value && newestTurn.value !== undefined && listed.value.some(({ id }) => id === sessionId.value));
effect(() => {
  const [id, state] = [sessionId.value, openState.value];
  // In a moment, when the list with it is stored.
  if (isListed.value) queueMicrotask(() => noteState(id, state));
});

/** Those that are being asked for, each with its asking, and of those that could not be, when they may be again. */
const asked = new Map<string, object>();
const notBefore = new Map<string, number>();
/** How long one that could not be asked for waits, while others are. */
const FAILED_MS = 60_000;

/** Asks what has become of the sessions that were left at work. */
function look(isWanted: (state: State) => boolean = () => true): void {
  if (document.hidden || !isLetIn.peek() || isLost.peek() || user.peek() !== undefined) return;
  const left = atWork().filter(({ id, status }) => id !== sessionId.peek() && isWanted(status) && !asked.has(id) && !(notBefore.get(id)! > Date.now()));
  for (const { id } of left.slice(0, Math.max(0, MOST_ASKED - asked.size))) {
    const mine = {};
    asked.set(id, mine);
    aptix.session(id).get().then(
      (view) => asked.get(id) === mine && noteState(id, stateIn(view)),
      // What cannot be asked now stays as it was.
      (error) => {
        if (!(error instanceof AptixError && error.code === 'session_not_found')) notBefore.set(id, Date.now() + FAILED_MS);
        else if (asked.get(id) === mine) noteState(id, undefined);
      },
    ).finally(() => asked.get(id) === mine && asked.delete(id));
  }
}

effect(() => {
  // Of one that is opened the page knows more than what was asked before.
  asked.delete(sessionId.value);
  if (isLetIn.value) untracked(() => look());
});
setInterval(() => look((state) => state === 'running'), RUNNING_MS);
addEventListener('focus', () => look());
document.addEventListener('visibilitychange', () => look());
onTold(() => look());
