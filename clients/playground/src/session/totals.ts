// What all turns of the open session took. Owns that each turn is counted once: the session is read whole when the panel
// opens, and then only the turns that have ended since. One count at a time: an answer that comes late knows fewer turns.
import { signal } from '@preact/signals';
import type { SessionExport } from '../../../typescript/src/index.js';
import { sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { figuresOf, type Figures } from '../store/figures.js';
import { aptix } from '../store/service.js';
import type { ShownTurn } from '../store/shown_turn.js';

export interface Totals {
  session: string;
  agent: string;
  conversation: string;
  /** The turns that came with the branch. */
  copied: readonly string[];
  figures: ReadonlyMap<string, Figures>;
}

export const totals = signal<Totals | undefined>(undefined);
export const fault = signal('');

/** When the turns that are counted had ended: one that failed and was sent again is counted again. */
const endedAt = new WeakMap<ShownTurn, number | undefined>();
/** As many turns are asked for one by one. */
const FEW = 5;

let newest = Promise.resolve();

export function countTurns(session: string): Promise<void> {
  newest = newest.then(() => count(session));
  return newest;
}

async function count(session: string): Promise<void> {
  if (session !== sessionId.peek()) return;
  const held = totals.peek()?.session === session ? totals.peek() : undefined;
  const shown = shownTurns.peek().filter(({ record }) => record.peek().endedAt !== undefined);
  const missing = shown.filter((turn) => !held?.figures.has(turn.record.peek().turnId) || endedAt.get(turn) !== turn.record.peek().endedAt);
  if (held && missing.length === 0) return;
  if (!held) fault.value = '';
  const ends = missing.map((turn) => [turn, turn.record.peek().endedAt] as const);
  try {
    const next = held && missing.length <= FEW ? await added(held, missing) : readWhole(await aptix.session(session).export());
    if (session !== sessionId.peek()) return;
    for (const [turn, end] of ends) endedAt.set(turn, end);
    totals.value = next;
    fault.value = '';
  } catch (error) {
    if (session === sessionId.peek()) fault.value = failureOf(error).message;
  }
}

function readWhole({ SessionId, AgentContextId, ConversationContextId, Parent, Turns }: SessionExport): Totals {
  const ids = Turns.map(({ TurnId }) => TurnId);
  return {
    session: SessionId,
    agent: AgentContextId,
    conversation: ConversationContextId,
    copied: Parent ? ids.slice(0, ids.indexOf(Parent.TurnId) + 1) : [],
    figures: new Map(Turns.map((turn) => [turn.TurnId, figuresOf(turn)])),
  };
}

async function added(held: Totals, missing: readonly ShownTurn[]): Promise<Totals> {
  const counted = missing.map(async ({ record }) => {
    const { turnId } = record.peek();
    const session = aptix.session(held.session);
    const [view, trace] = await Promise.all([session.getTurn(turnId), session.trace(turnId)]);
    return [turnId, figuresOf({ ...trace, ...view, ModelCalls: trace.ModelCalls, ToolCalls: trace.ToolCalls })] as const;
  });
  return { ...held, figures: new Map([...held.figures, ...(await Promise.all(counted))]) };
}
