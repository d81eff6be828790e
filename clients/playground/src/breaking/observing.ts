// What the trials look at: the turn on the page, the turn as it is stored, its trace. Owns waiting for a state.
import { effect } from '@preact/signals';
import type { FinalResponse, StreamEvent, Trace } from '../../../typescript/src/index.js';
import { liveTurn, send, sessionId } from '../store/conversation.js';
import type { ShownTurn } from '../store/shown_turn.js';
import { aptix } from '../store/service.js';
import { isLive } from '../store/turn_record.js';

/** The longest wait for anything; a silent model service is given up long before. */
const PATIENCE_MS = 5 * 60_000;
/** The characters after which an answer is well on its way. */
const ON_ITS_WAY = 16;

/** Resolves when `holds` does; it reads signals. */
export function until(holds: () => boolean, what: string): Promise<void> {
  const session = sessionId.peek();
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => finish(() => reject(new Error(`${what} did not come about.`))), PATIENCE_MS);
    // The effect may run its function before `stop` is assigned.
    let stop = () => {};
    let isOver = false;
    const finish = (then: () => void) => {
      isOver = true;
      clearTimeout(timer);
      queueMicrotask(() => stop());
      then();
    };
    stop = effect(() => {
      if (isOver) return;
      if (sessionId.value !== session) finish(() => reject(new Error('Another session was opened meanwhile.')));
      else if (holds()) finish(resolve);
    });
  });
}

/** The text that streams have brought, put together as every client does: discarded segments are dropped. */
export function streamedText(events: readonly { event: StreamEvent }[]): string {
  const segments = new Map<number, string>();
  for (const { event } of events) {
    if (event.type === 'text') segments.set(event.segment, (segments.get(event.segment) ?? '') + event.delta);
    if (event.type === 'discard') segments.delete(event.segment);
  }
  return [...segments.values()].join('');
}

export const statusOf = (turn: ShownTurn) => turn.record.value.status;
export const isOver = (turn: ShownTurn): boolean => !isLive(turn.record.value);
export const atEnd = (turn: ShownTurn): Promise<void> => until(() => isOver(turn), 'The end of the turn');

/** The turn that runs, or a slow one that is begun; its answer is on its way. */
export async function runningTurn(): Promise<ShownTurn> {
  const turn = liveTurn.peek() ?? send('Give a slow answer.');
  await until(() => streamedText(turn.events.value).length >= ON_ITS_WAY || isOver(turn), 'The beginning of an answer');
  if (isOver(turn)) throw new Error(`The turn ended before anything could be done to it: ${statusOf(turn)}.`);
  return turn;
}

/** Says something and waits for the end of the turn. */
export async function said(words: string): Promise<ShownTurn> {
  const turn = send(words);
  await atEnd(turn);
  return turn;
}

interface Stored {
  status: string;
  response?: FinalResponse;
  textSoFar?: string;
}

/** The turn as the service keeps it. */
export async function stored(turn: ShownTurn): Promise<Stored> {
  const view = await aptix.session(sessionId.peek()).getTurn(turn.record.peek().turnId);
  const { Outcome, TextSoFar } = view as { Outcome?: { Result?: FinalResponse }; TextSoFar?: string };
  return {
    status: view.Status,
    ...(Outcome?.Result && { response: Outcome.Result }),
    ...(TextSoFar !== undefined && { textSoFar: TextSoFar }),
  };
}

interface TracedModelCall {
  Segment: number;
  Summary?: boolean;
  Rebuilt?: boolean;
  Fault?: unknown;
  Retries?: unknown[];
  /** Who answered, where another service could have. */
  Service?: string;
}
export type Traced = Omit<Trace, 'ModelCalls'> & { ModelCalls: TracedModelCall[] };

export const traceOf = async (turn: ShownTurn): Promise<Traced> =>
  (await aptix.session(sessionId.peek()).trace(turn.record.peek().turnId)) as unknown as Traced;

/** Whether nothing was done twice: one attempt, and one model call for each segment of text. */
export function wasRunOnce({ Attempts, ModelCalls }: Traced): boolean {
  const segments = ModelCalls.filter(({ Summary, Fault }) => !Summary && !Fault).map(({ Segment }) => Segment);
  return Attempts === 1 && new Set(segments).size === segments.length;
}
