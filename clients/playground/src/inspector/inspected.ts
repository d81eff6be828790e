// What the inspector shows, fetched as turns change. Owns that an answer which comes late replaces no newer one, and moves nothing
// that is being pressed.
import { signal } from '@preact/signals';
import { sessionId, shownTurns } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { aptix } from '../store/service.js';
import { isOver } from '../store/turn_record.js';
import { released } from '../view/press.js';
import type { Inspected, ModelCall, Modes, Trace, TurnView } from './trace.js';

export const inspected = signal<Inspected | undefined>(undefined);
export const modes = signal<Modes | undefined>(undefined);
export const fault = signal('');

let newest = 0;
let faultOf: ShownTurn | undefined;

export async function inspect(turn: ShownTurn): Promise<void> {
  const asked = ++newest;
  // Why another turn could not be asked for is said of that one alone.
  if (faultOf !== turn) fault.value = '';
  faultOf = turn;
  if (!turn.isTaken) return;
  const { turnId } = turn.record.peek();
  if (inspected.peek()?.trace.TurnId !== turnId) inspected.value = undefined;
  try {
    const session = aptix.session(sessionId.peek());
    const [trace, view, history] = await Promise.all([session.trace(turnId), session.getTurn(turnId), session.modes()]);
    await released();
    if (asked !== newest) return;
    inspected.value = { trace: trace as unknown as Trace, view };
    turn.change((record) => (isOver(record) ? { ...record, ...timesOf(view) } : record));
    modes.value = history;
    fault.value = '';
  } catch (error) {
    if (asked === newest) fault.value = failureOf(error).message;
  }
}

/** When a turn began and ended, as the service has it: the page has only seen what came to it. */
const timesOf = ({ StartedAt, UpdatedAt }: TurnView) => ({ startedAt: Date.parse(StartedAt), endedAt: Date.parse(UpdatedAt) });

/** A model call of the session, for the picture of its context window. */
export interface Filling {
  turnId: string;
  call: ModelCall;
  /** Earlier turns were summarised or left out before it. */
  isCompacted: boolean;
}
export const fillings = signal<readonly Filling[]>([]);

/** The turns that are looked at, newest last. */
const MOST_TURNS = 40;
const AT_ONCE = 4;
/** Traces of turns that have ended: they change no more, unless a failed one is sent again. */
const ended = new Map<string, Trace>();
let filled = 0;
let filledOf = '';

export async function fill(): Promise<void> {
  const [session, asked] = [sessionId.peek(), ++filled];
  if (session !== filledOf) fillings.value = [];
  filledOf = session;
  const turns = shownTurns.peek().filter(({ isTaken }) => isTaken).slice(-MOST_TURNS).map(({ record }) => record.peek());
  for (const record of turns) if (!isOver(record)) ended.delete(`${session} ${record.turnId}`);
  const missing = turns.filter(({ turnId }) => !ended.has(`${session} ${turnId}`));
  const found = new Map<string, Trace>();
  const fetchNext = async (): Promise<void> => {
    for (let record; (record = missing.shift()); ) {
      const trace = (await aptix.session(session).trace(record.turnId)) as unknown as Trace;
      found.set(record.turnId, trace);
      if (isOver(record)) ended.set(`${session} ${record.turnId}`, trace);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, () => fetchNext().catch(() => {})));
  await released();
  if (session !== sessionId.peek() || asked !== filled) return;
  fillings.value = turns.flatMap(({ turnId }) => {
    const trace = ended.get(`${session} ${turnId}`) ?? found.get(turnId);
    const calls = trace?.ModelCalls.filter(({ Summary, Usage }) => !Summary && Usage) ?? [];
    return calls.map((call, at) => ({ turnId, call, isCompacted: at === 0 && (trace?.Compactions.length ?? 0) > 0 }));
  });
}
