// What happens to the open session elsewhere: in another tab, by a script, while the service could not be reached. Owns when
// the page asks the service for it: when another tab tells, when somebody comes back to the page, when the service is there
// again, and now and then while a human is waited for. Nothing is asked of a page that nobody sees.
import { leave, addAgain, announced, catchUp, follow, isNowhere, liveTurn, loadFault, sendAnswers, sendWaiting, sessionId, shownTurns, stopAgain } from './conversation.js';
import { failureOf } from './failure.js';
import { effect, untracked } from '@preact/signals';
import { isLost, onReturn } from './connection.js';
import { isSameCalls } from './merging.js';
import * as outbox from './outbox.js';
import { access, aptix, isLetIn, knock } from './service.js';
import { noteState, unlist } from './session_list.js';
import type { ShownTurn } from './shown_turn.js';
import * as steering from './steering.js';
import { onTold, tell } from './tabs.js';
import { isLive, openCalls } from './turn_record.js';
import { refresh } from './user_sessions.js';
import { AptixError, type SessionView } from '../../../typescript/src/index.js';

/** How often a turn that waits for a human is looked at: somebody else may have answered. */
const WAITING_MS = 10_000;

/** The page is not seen, and is to look when it is. */
let isBehind = false;
let looking: Promise<void> | undefined;
let isAskedAgain = false;

export function start(): void {
  onTold((session) => {
    // A session of the list may have another title, or be gone.
    void refresh();
    if (session === sessionId.peek()) look();
  });
  addEventListener('focus', look);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && isBehind) look();
  });
  setInterval(() => liveTurn.peek()?.record.peek().status === 'awaiting_tools' && look(), WAITING_MS);
  onReturn(() => void goOn());
  // What waits in a session that is left goes by itself.
  effect(() => {
    if (sessionId.value && isLetIn.value) untracked(() => void sendElsewhere());
  });
}

/** Looks what has happened to the open session. What is asked for meanwhile is one further look. */
function look(): void {
  isBehind = document.hidden;
  if (isBehind || !isLetIn.peek() || isLeft()) return;
  isAskedAgain = looking !== undefined;
  looking ??= lookOnce().finally(() => {
    looking = undefined;
    if (isAskedAgain) look();
  });
}

/** Whether the live turn runs and is not watched: somebody has left it on purpose. */
const isLeft = (): boolean => {
  const turn = liveTurn.peek();
  return turn !== undefined && !turn.watching && turn.record.peek().status === 'running';
};

async function lookOnce(): Promise<void> {
  const session = sessionId.peek();
  try {
    const view = await aptix.session(session).get();
    if (session !== sessionId.peek()) return;
    const asked = waitingTurn();
    if (!isUpToDate(view)) await catchUp();
    else if (asked) await steering.catchUp(asked);
    if (asked && asked.record.peek().status !== 'awaiting_tools') announced.value = 'What the agent waited for was answered elsewhere.';
  } catch (error) {
    if (failureOf(error).code === 'session_not_found' && session === sessionId.peek()) wasErased(session);
  }
}

const waitingTurn = (): ShownTurn | undefined => {
  const turn = liveTurn.peek();
  return turn?.record.peek().status === 'awaiting_tools' && !turn.watching ? turn : undefined;
};

/** Whether the page shows the session's turns, and its newest and its live one as they are. */
function isUpToDate({ TurnCount, LatestTurn, LiveTurn }: SessionView): boolean {
  const taken = shownTurns.peek().filter(({ isTaken }) => isTaken);
  return taken.length === TurnCount && [LatestTurn, LiveTurn].every((turn) => !turn || isShown(taken, turn));
}

function isShown(taken: readonly ShownTurn[], { TurnId, Status, ToolCalls = [] }: NonNullable<SessionView['LiveTurn']>): boolean {
  const turn = taken.find(({ record }) => record.peek().turnId === TurnId);
  if (!turn || turn.watching) return turn !== undefined;
  const record = turn.record.peek();
  return record.status === Status && isSameCalls(openCalls(record), ToolCalls);
}

/** An erased session is shown as one: what was said in it is nowhere else. */
function wasErased(session: string): void {
  if (!shownTurns.peek().some(({ isTaken }) => isTaken)) return;
  leave();
  shownTurns.value = [];
  outbox.forgetSession(session);
  unlist(session);
  loadFault.value = 'This session was erased elsewhere.';
}

/** The service is there again: turns are watched on, what was missed is fetched, and what waits is sent. */
async function goOn(): Promise<void> {
  if (access.peek() === 'unknown') await knock().then(() => (loadFault.value = ''), () => {});
  if (!isLetIn.peek()) return;
  // Before anything is sent that the turn would go on with.
  await stopAgain();
  for (const turn of shownTurns.peek()) {
    const isLost = turn.record.peek().status === 'lost';
    if (!isLost && !(turn.isTaken && turn.watching && isLive(turn.record.peek()))) continue;
    // What was told while the line was cut comes with the end.
    turn.isPartial = true;
    follow(turn);
  }
  // Before what was missed is fetched: an answer that has come through is then known as this page's.
  for (const turn of shownTurns.peek()) sendAnswers(turn);
  const session = sessionId.peek();
  if (loadFault.peek() || shownTurns.peek().some(({ isTaken }) => isTaken)) {
    await catchUp().catch((error) => {
      // Another one may be open by now, of which this says nothing.
      if (failureOf(error).code !== 'session_not_found' || session !== sessionId.peek()) return;
      if (shownTurns.peek().length > 0) loadFault.value = '';
      else isNowhere(session);
    });
  }
  for (const turn of shownTurns.peek()) await eachThatWaits(() => steering.waitingOf(turn.record.peek()), (id) => addAgain(turn, id));
  sendWaiting();
  await sendElsewhere();
}

/** Sends what waits in sessions that are not open. */
export async function sendElsewhere(): Promise<void> {
  if (isLost.peek()) return;
  await eachThatWaits(() => outbox.words.elsewhere(sessionId.peek()), sendDetached);
  await eachThatWaits(() => outbox.answers.elsewhere(sessionId.peek()), sendAnswersDetached);
}

/** One after the other. By its turn one may be dropped or a turn itself, its session be open, or somebody else sit before the tab. */
async function eachThatWaits<T>(waiting: () => readonly T[], send: (each: T) => Promise<void>): Promise<void> {
  for (const each of waiting()) if (waiting().includes(each)) await send(each);
}

/** Sends words that wait in a session that is not open; the turn runs without being watched. Those that come too late for a turn are the next one. */
async function sendDetached({ session, id, text, attached, steers, whole }: outbox.Waiting): Promise<void> {
  const request = whole?.request ?? (attached.length === 0 ? { Instruction: text } : undefined);
  if (!request) return;
  try {
    const at = aptix.session(session);
    const isTooLate = (error: AptixError): boolean => {
      if (error.code !== 'turn_ended') throw error;
      return true;
    };
    if (steers === undefined || (await at.attach(steers).steer(request, { steerId: id }).then(() => false, isTooLate))) {
      // Somebody else may sit before the tab since the steer was refused: nothing of the words waits any more.
      if (!outbox.words.in(session).some((each) => each.id === id)) return;
      await at.turn(request, { turnId: id }).detach();
      noteState(session, 'running');
    }
    outbox.words.take(id);
    tell(session);
  } catch {
    // The words wait on, and say why when their session is opened.
  }
}

/** Sends the answers to a pause of a session that is not open. Where somebody else has answered first, theirs count. */
async function sendAnswersDetached({ session, id, answers, isWhole }: outbox.WaitingAnswers): Promise<void> {
  if (!isWhole) return;
  try {
    await aptix.detach({ SessionId: session, TurnId: id, ToolResults: [...answers] as never });
    outbox.answers.take(id);
    tell(session, answers.map(({ ToolCallId }) => ToolCallId));
  } catch (error) {
    if (error instanceof AptixError && error.status === 409) outbox.answers.take(id);
  }
}
