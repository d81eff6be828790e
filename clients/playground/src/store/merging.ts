// The turns of a session as the service has them, and as this page shows them, made one. Owns which of both is newer: of a
// turn that this page watches, the page; of any other one, the service.
import type { SessionExport, ToolCall } from '../../../typescript/src/index.js';
import { keptRequestOf, recordsOf } from './history.js';
import type { ShownTurn } from './shown_turn.js';
import { isLive, openCalls, type TurnRecord } from './turn_record.js';

/** The turns to show, oldest first; `shown` makes one that is new to the page. */
export function merged(before: readonly ShownTurn[], exported: SessionExport, shown: (record: TurnRecord) => ShownTurn): ShownTurn[] {
  const known = new Map(before.map((turn) => [turn.record.peek().turnId, turn]));
  const taken = recordsOf(exported).map((record, at) => {
    const held = known.get(record.turnId);
    const turn = held ?? shown(record);
    if (!turn.request) turn.kept = keptRequestOf(exported.Turns[at]!, exported);
    if (!held || isBehind(held, record)) {
      turn.record.value = record;
      turn.isPartial = isLive(record);
    }
    return turn;
  });
  return inOrder(before, taken);
}

/** Words that the service does not have stand where they were written: behind the turn that was shown before them, or else by their time. */
function inOrder(before: readonly ShownTurn[], taken: readonly ShownTurn[]): ShownTurn[] {
  const all = [...taken];
  const isTaken = new Set(taken);
  const began = ({ record }: ShownTurn): number => record.peek().startedAt;
  before.forEach((turn, at) => {
    if (isTaken.has(turn)) return;
    const place = at === 0 ? all.findLastIndex((each) => began(each) <= began(turn)) : all.indexOf(before[at - 1]!);
    all.splice(place + 1, 0, turn);
  });
  return all;
}

/** Whether the service knows more of a turn than this page shows: it has gone on, or ended, without being watched. */
function isBehind(turn: ShownTurn, record: TurnRecord): boolean {
  if (turn.watching) return false;
  const { status } = turn.record.peek();
  const open = openCalls(turn.record.peek());
  const waits = status === 'awaiting_tools' && isLive(record) && open.length > 0 && isSameCalls(open, openCalls(record));
  // What has come to its answer does not run again: that was told before it did.
  const isStale = status === 'completed' && isLive(record);
  return !waits && !isStale && (turn.isPartial || status !== record.status);
}

/** Whether two accounts of a pause have the same calls open. */
export const isSameCalls = (some: readonly ToolCall[], others: readonly ToolCall[]): boolean =>
  some.length === others.length && some.every(({ ToolCallId }) => others.some((other) => other.ToolCallId === ToolCallId));
