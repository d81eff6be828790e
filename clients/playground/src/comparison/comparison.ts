// Two runs beside each other: a turn that there is, and another one, or the same question asked again, perhaps under another
// conversation context. Owns how a run is made for the comparison, without leaving the open session, and how it is read.
import { signal, type Signal } from '@preact/signals';
import type { StreamEvent, SubmittedToolResult, ToolCall, TurnEvent, TurnRequest } from '../../../typescript/src/index.js';
import { branched, type TurnPlace } from '../store/branches.js';
import { attachedTo, contextsOf, forkedFrom, settingsOf, titleOf, turnBefore } from '../branching/branching.js';
import { newId } from '../store/conversation.js';
import { failureOf } from '../store/failure.js';
import { readyAnswer } from '../store/ready_answers.js';
import { requestOf as composed } from '../store/request.js';
import { aptix } from '../store/service.js';
import { noteState, used } from '../store/session_list.js';
import * as settings from '../store/settings.js';
import type { ShownTurn } from '../store/shown_turn.js';
import * as turns from '../store/turn_record.js';
import type { RehearsedTurn } from './rehearsal.js';
import { runOf, type Run } from './run.js';

export interface Side {
  /** Above it: the context, or which turn it is. */
  name: string;
  /** Where it can be opened; a rehearsed turn is in no service. */
  place?: TurnPlace;
  /** What has come so far, of a run that is made for the comparison. */
  record?: Signal<turns.TurnRecord>;
  run: Signal<Run | undefined>;
  fault: Signal<string>;
}

/** A side that is a turn of the service. */
export type PlacedSide = Side & { place: TurnPlace };
export type Sides = readonly [Side, Side];

/** A turn, alone while it is chosen with what it is compared; or the turns of a rehearsal, of which one is shown. */
export type Comparison = { turn: ShownTurn; sides?: Sides } | { rehearsed: readonly RehearsedTurn[]; shown: RehearsedTurn; sides: Sides };
export const comparison = signal<Comparison | undefined>(undefined);

export const placeOf = (turn: ShownTurn): TurnPlace => ({ session: turn.session, turn: turn.record.peek().turnId });

function sideOf(name: string, place: TurnPlace): PlacedSide {
  return { name, place, run: signal(undefined), fault: signal('') };
}

/** Shows a turn of a rehearsal: as it was recorded, and as it was rehearsed. */
export function compareRehearsed(rehearsed: readonly RehearsedTurn[], shown: RehearsedTurn): void {
  const side = (name: string, run: Run | undefined): Side => ({ name, run: signal(run), fault: signal(run ? '' : 'The turn was refused at once.') });
  comparison.value = { rehearsed, shown, sides: [side('Recorded', shown.recorded), side('Rehearsed', shown.rehearsed)] };
}

/** Compares a turn with another one that there is. */
export function compareWith(turn: ShownTurn, name: string, place: TurnPlace): void {
  const sides = [sideOf('This turn', placeOf(turn)), sideOf(name, place)] as const;
  comparison.value = { turn, sides };
  for (const side of sides) void look(side);
}

/**
 * Asks the turn's question again under a context, `''` being its own; `both`: on the left side, too, under its own. What
 * the service refuses at once is thrown, and nothing is shown.
 */
export async function compareAnew(turn: ShownTurn, context: string, both: boolean): Promise<void> {
  const opened = comparison.peek();
  // The one that may be refused comes first, so that a refusal leaves nothing behind.
  const [prepareRight, prepareLeft] = [planned(turn, context, context || 'Asked again'), planned(turn, '', 'Asked again')];
  const right = await prepareRight();
  const left = both ? await prepareLeft() : undefined;
  const sides = [left?.side ?? sideOf('This turn', placeOf(turn)), right.side] as const;
  // Whoever has closed it meanwhile finds the run in the list.
  if (comparison.peek() === opened) comparison.value = { turn, sides };
  void right.ask();
  if (left) void left.ask();
  else void look(sides[0]);
}

/** A side whose session is made, and which is yet to be asked. */
interface Prepared {
  side: PlacedSide;
  ask(): Promise<void>;
}

/** What is sent is put together at once: another session may be open when the service has made this one. */
function planned(turn: ShownTurn, context: string, name: string): () => Promise<Prepared> {
  const [parent, before] = [turn.session, turnBefore(turn)];
  const contexts = before ? {} : context ? { ConversationContextId: context } : contextsOf(turn);
  const request = { ...requestOf(turn), ...contexts };
  return async () => {
    const session = before ? await forkedFrom(before, context) : newId();
    const { turnId, asked } = turn.record.peek();
    const record = signal(turns.begun(newId(), asked));
    const side = { ...sideOf(name, { session, turn: record.peek().turnId }), record };
    branched({ id: session, parent, of: turnId, by: side.place.turn, ...(context && { context }) });
    used(session, titleOf(parent) ?? asked.text);
    noteState(session, 'running');
    return { side, ask: () => ask(side, record, request) };
  };
}

/** The whole of what the turn was asked. */
function requestOf(turn: ShownTurn): TurnRequest {
  const { text } = turn.record.peek().asked;
  const asSet = composed(text, attachedTo(turn) ?? [], { isFirst: false, sentSolution: settings.solution.peek() });
  return { ...asSet, ...settingsOf(turn) };
}

/** Follows a run to its end, answering what the page answers by itself. */
async function ask(side: PlacedSide, shown: Signal<turns.TurnRecord>, request: TurnRequest): Promise<void> {
  const { session, turn: turnId } = side.place;
  let record = shown.peek();
  let frame: number | undefined;
  const paint = () => {
    if (frame !== undefined) cancelAnimationFrame(frame);
    frame = undefined;
    shown.value = record;
  };
  try {
    let events: AsyncIterable<StreamEvent | TurnEvent> = aptix.session(session).turn(request, { turnId, progress: true });
    for (;;) {
      let waiting: readonly ToolCall[] = [];
      for await (const event of events) {
        if (event.type === 'tool_calls' || event.type === 'tool_results') continue;
        record = turns.after(turns.taken(record), event);
        if (event.type === 'result' && event.response.Kind !== 'final') waiting = event.response.ToolCalls;
        frame ??= requestAnimationFrame(paint);
      }
      paint();
      const ToolResults = answersTo(waiting);
      if (!ToolResults) break;
      record = ToolResults.reduce(turns.answered, record);
      events = aptix.stream({ SessionId: session, TurnId: turnId, ToolResults }, { progress: true });
    }
  } catch (error) {
    paint();
    shown.value = turns.failed(record, failureOf(error));
  } finally {
    await look(side);
  }
}

/** The page's own answers to all calls of a pause; `undefined` where there are none, or one is the user's to give. */
function answersTo(calls: readonly ToolCall[]): SubmittedToolResult[] | undefined {
  if (calls.length === 0) return undefined;
  const answers = calls.map(readyAnswer);
  return answers.every((answer) => answer !== undefined) ? answers : undefined;
}

/** Reads a side's run as the service keeps it. */
export async function look(side: PlacedSide): Promise<void> {
  try {
    side.run.value = runOf(await aptix.session(side.place.session).export(), side.place.turn);
    side.fault.value = side.run.value ? '' : 'The session does not have this turn any more.';
  } catch (error) {
    // Of a run that was refused the service keeps nothing, and the refusal itself is shown.
    const failure = side.record?.peek().failure;
    side.fault.value = failure?.message ?? failureOf(error).message;
  }
}
