// Asking otherwise: a new session that goes on from before or behind a turn, while the old one stays as it is. Owns how a
// branch is made; a fork is made by the service (interface §17).
import { signal } from '@preact/signals';
import type { TurnRequest } from '../../../typescript/src/index.js';
import { hashOf } from '../store/address.js';
import { pictureAt, type Attachment } from '../store/attachments.js';
import { announced, boundContexts, loadFault, newId, open, send, sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import * as outbox from '../store/outbox.js';
import { attachedIn, requestOf, waitingAs } from '../store/request.js';
import { aptix } from '../store/service.js';
import { listed, used } from '../store/session_list.js';
import { changedSettings, setAgain, solution } from '../store/settings.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { sendElsewhere } from '../store/synchronizing.js';
import { isOver } from '../store/turn_record.js';
import { branched } from '../store/branches.js';
import { user } from '../store/user.js';

/** Why a branch could not be made, and of which turn; `context`: under which context. */
const fault = signal<{ turn: ShownTurn; context: string; message: string } | undefined>(undefined);
export const faultOf = (turn: ShownTurn, isUnderAnother = false): string | undefined =>
  fault.value?.turn === turn && (fault.value.context !== '') === isUnderAnother ? fault.value.message : undefined;
/** The turn of which a branch is being made: one at a time. */
export const underWay = signal<ShownTurn | undefined>(undefined);

/** Whether the service has a turn that has ended, so that a session can go on behind it. */
export const hasEnded = ({ record, isTaken }: ShownTurn): boolean => isOver(record.value) && isTaken;

/** What a turn was sent besides its words. `undefined`: files that this page no longer has. */
export function attachedTo({ request, record }: ShownTurn): Attachment[] | undefined {
  const { pictures, files } = record.value.asked;
  if (!request) return files.length > 0 ? undefined : pictures.map(pictureAt);
  return attachedIn(request);
}

/**
 * What went with a turn's words: what was absent stays absent. Of a turn from before this page was loaded, the service keeps
 * all but the workspace and the scope.
 */
export function settingsOf({ request, kept = {} }: ShownTurn): TurnRequest {
  const { SolutionContextText, ToolsJson, ToolChoiceName, WorkspaceId, RagScope } = request ?? kept;
  return { SolutionContextText, ToolsJson, ToolChoiceName, ...(request && { WorkspaceId, RagScope }) } as TurnRequest;
}

/** The contexts of a session that begins as the one of this turn began. */
export function contextsOf(turn: ShownTurn): TurnRequest {
  const { agent, conversation } = boundContexts.value ?? {};
  const { AgentContextId = agent, ConversationContextId = conversation } = turn.request ?? turn.kept ?? {};
  return { ...(AgentContextId && { AgentContextId }), ...(ConversationContextId && { ConversationContextId }) };
}

/** The turn before this one that the service has, in the open session. */
export const turnBefore = (turn: ShownTurn): ShownTurn | undefined => shownTurns.value.slice(0, shownTurns.value.indexOf(turn)).findLast(({ isTaken }) => isTaken);

/** The title under which a session is listed. */
export const titleOf = (session: string): string | undefined => listed.value.find(({ id }) => id === session)?.title;

/** Goes on behind a turn, in a session of its own, perhaps under another conversation context. */
export const forkFrom = (turn: ShownTurn, context = ''): Promise<void> =>
  attempted(turn, context, async () => {
    const parent = turn.session;
    const id = await forkedFrom(turn, context);
    branched({ id, parent, ...(context && { context }) });
    used(id, titleOf(parent) ?? turn.record.peek().asked.text);
    if (await goTo(id, parent, true)) announced.value = 'This is the branch. What you say here stays out of the other conversation.';
  });

/** Asks a turn's question again in a session of its own, with other words or the same. */
export const askAgain = (turn: ShownTurn, words = turn.record.peek().asked.text): Promise<void> =>
  attempted(turn, '', async () => {
    const [parent, of, by, owner] = [turn.session, turn.record.peek().turnId, newId(), user.peek()];
    const [goesWithIt, before] = [attachedTo(turn) ?? [], turnBefore(turn)];
    const more = { ...settingsOf(turn), ...(!before && contextsOf(turn)) };
    const request = { ...requestOf(words, goesWithIt, { isFirst: false, sentSolution: solution.peek() }), ...more };
    const id = before ? await forkedFrom(before) : newId();
    if (before) used(id, words);
    branched({ id, parent, of, by });
    if (await goTo(id, parent, before !== undefined)) return void send(words, goesWithIt, more, by);
    if (user.peek() !== owner) return;
    // It is asked all the same where one has left meanwhile, or where it cannot be read just now.
    used(id, words);
    outbox.words.put(waitingAs(id, by, words, goesWithIt, request));
    await sendElsewhere();
  });

/** The ids of forks of which no answer came, by what was asked for: one may be there, and the same request finds it. */
const unanswered = new Map<string, string>();

/**
 * Has the service make a fork behind a turn, perhaps under another context; resolves to its id. Where somebody else sits before
 * the tab by then, no list of theirs is to show it.
 */
export async function forkedFrom(turn: ShownTurn, context = ''): Promise<string> {
  const [parent, AfterTurnId, owner] = [turn.session, turn.record.peek().turnId, user.peek()];
  const asked = `${parent} ${AfterTurnId} ${context}`;
  const id = unanswered.get(asked) ?? newId();
  // Another one that is asked for meanwhile, as by a comparison, is not this one.
  unanswered.delete(asked);
  try {
    await aptix.session(parent).fork({ SessionId: id, AfterTurnId, ...(context && { ConversationContextId: context }) });
  } catch (error) {
    unanswered.set(asked, id);
    throw error;
  }
  if (user.peek() !== owner) throw new Error('Somebody else sits before this tab now.');
  return id;
}

async function attempted(turn: ShownTurn, context: string, run: () => Promise<void>): Promise<void> {
  if (underWay.value) return;
  underWay.value = turn;
  fault.value = undefined;
  try {
    await run();
  } catch (error) {
    fault.value = { turn, context, message: failureOf(error).message };
  } finally {
    underWay.value = undefined;
  }
}

/** Opens a branch, with what is set in its parent, unless the user has left that meanwhile. Whether it is open. */
async function goTo(id: string, parent: string, isKnown: boolean): Promise<boolean> {
  if (sessionId.peek() !== parent) return false;
  const set = changedSettings();
  history.pushState(null, '', isKnown ? hashOf({ session: id }) : location.pathname + location.search);
  const opened = open(id, isKnown);
  // Not when it has been read: what is set in it meanwhile stays. The branch has a solution context of its own.
  setAgain({ ...set, solution: solution.peek() });
  await opened;
  return sessionId.peek() === id && loadFault.peek() === '';
}
