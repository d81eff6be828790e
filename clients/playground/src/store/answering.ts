// The answers that this page gives to the calls of a turn's pause. Owns that they are kept, over a reload, until the service
// has them or somebody else's are the ones that count, and which request they are. How a call stands, its turn's record says.
import type { AptixError, SubmittedToolResult, ToolCall } from '../../../typescript/src/index.js';
import * as outbox from './outbox.js';
import type { ShownTurn } from './shown_turn.js';
import { tell } from './tabs.js';
import * as turns from './turn_record.js';

/** The calls of a turn's newest pause, whose results go back together and in this order. */
const pauses = new WeakMap<ShownTurn, readonly ToolCall[]>();
const callsOf = (turn: ShownTurn): readonly ToolCall[] => pauses.get(turn) ?? [];

/** The turn waits for these calls. What was answered before a reload need not be answered again. */
export function paused(turn: ShownTurn, calls: readonly ToolCall[]): void {
  pauses.set(turn, calls);
  const { turnId } = turn.record.peek();
  const kept = outbox.answers.in(turn.session).find(({ id }) => id === turnId);
  if (!kept) return;
  for (const answer of kept.answers) turn.change((record) => turns.answered(record, answer));
  keep(turn);
}

export function give(turn: ShownTurn, answer: SubmittedToolResult): void {
  turn.change((record) => turns.answered(record, answer));
  keep(turn);
}

export function takeBack(turn: ShownTurn, call: string): void {
  turn.change((record) => turns.takenBack(record, call));
  keep(turn);
}

/** Whether the answers of a pause are all given, and not known to be with the service. */
export const areReady = ({ record }: ShownTurn): boolean => record.peek().status === 'awaiting_tools' && turns.isSending(record.peek());

/** Whether the newest request of a turn is that with this page's answers to its newest pause. */
export const wereSent = (turn: ShownTurn): boolean => callsOf(turn).length > 0 && turns.answersTo(turn.record.peek(), callsOf(turn)).length === callsOf(turn).length;

/** The request that brings the answers; however often it is sent, it is the same one. */
export const requestOf = (turn: ShownTurn) => ({
  SessionId: turn.session,
  TurnId: turn.record.peek().turnId,
  ToolResults: turns.answersTo(turn.record.peek(), callsOf(turn)),
});

/** The service has the answers; the other tabs are told by whom. */
export function areTaken(turn: ShownTurn): void {
  tell(turn.session, callsOf(turn).map(({ ToolCallId }) => ToolCallId));
  turn.change(turns.taken);
  outbox.answers.take(turn.record.peek().turnId);
}

/** Somebody else has answered first, or ended the turn: what counts, the service tells. */
export function areOvertaken(turn: ShownTurn): void {
  turn.change(turns.overtaken);
  outbox.answers.take(turn.record.peek().turnId);
}

/** The service has refused the answers, which is told beside those that are wrong, and where it does not say which, beside each. */
export function areRefused(turn: ShownTurn, { errors, message }: Pick<AptixError, 'errors' | 'message'>): string {
  const calls = callsOf(turn);
  const wrong = errors.flatMap(({ Path, Message }): [string, string][] => {
    const [, place] = /^\/ToolResults\/(\d+)\//.exec(Path ?? '') ?? [];
    const call = place === undefined ? undefined : calls[Number(place)];
    return call ? [[call.ToolCallId, Message]] : [];
  });
  const told = wrong.length > 0 ? wrong : calls.map(({ ToolCallId }): [string, string] => [ToolCallId, message]);
  turn.change((record) => turns.refused(record, new Map(told)));
  keep(turn);
  return wrong.length > 0 ? wrong.map(([, each]) => each).join(' ') : message;
}

/** Forgets answers to calls that are not open any more, as the service tells of the turn. */
export function settle(turn: ShownTurn): void {
  const { turnId } = turn.record.peek();
  const open = new Set(turns.openCalls(turn.record.peek()).map(({ ToolCallId }) => ToolCallId));
  const kept = outbox.answers.in(turn.session).find(({ id }) => id === turnId);
  if (kept && (turns.isOver(turn.record.peek()) || !kept.answers.some(({ ToolCallId }) => open.has(ToolCallId)))) outbox.answers.take(turnId);
}

function keep(turn: ShownTurn): void {
  const { turnId } = turn.record.peek();
  const answers = turns.answersTo(turn.record.peek(), callsOf(turn));
  if (answers.length === 0) outbox.answers.take(turnId);
  else outbox.answers.put({ session: turn.session, id: turnId, answers, isWhole: areReady(turn) });
}
