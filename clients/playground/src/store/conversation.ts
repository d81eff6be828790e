// The open session and its turns. Owns the way of a turn: sent, watched, paused for answers, ended.
import { batch, computed, signal } from '@preact/signals';
import {
  AptixError,
  type AgentExecuteResponse,
  type SessionExport,
  type StreamEvent,
  type SubmittedToolResult,
  type ToolCall,
  Turn,
  type TurnEvent,
  type TurnRequest,
} from '../../../typescript/src/index.js';
import { placeIn } from './address.js';
import { addressOf, attachments, pictureAt } from './attachments.js';
import { argumentsOf, recordsOf } from './history.js';
import { droppedFiles, readyAnswer } from './ready_tools.js';
import { aptix, credentialWasRefused } from './service.js';
import { used } from './session_list.js';
import * as steering from './steering.js';
import { refresh } from './user_sessions.js';
import * as settings from './settings.js';
import type { ShownTurn } from './shown_turn.js';
import * as turns from './turn_record.js';
import type { TurnRecord } from './turn_record.js';

export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The one that the address names, until a session is opened. */
export const sessionId = signal(placeIn(location.hash)?.session ?? newId());
export const shownTurns = signal<readonly ShownTurn[]>([]);
/** The turn that panels look at; the newest one, unless another was chosen. */
export const chosenTurn = signal<ShownTurn | undefined>(undefined);
export const isLoading = signal(false);
export const loadFault = signal('');
/** The contexts that the session is bound to, once it has begun. */
export const boundContexts = signal<{ agent: string; conversation: string } | undefined>(undefined);
/** Where the session branched from another one, and behind which turn, as the service tells. */
export const parent = signal<SessionExport['Parent']>(undefined);
/** The turn that the address names. */
export const namedTurn = signal<string | undefined>(undefined);
/** What screen readers are told. */
export const announced = signal('');

export const newestTurn = computed(() => shownTurns.value.at(-1));
export const liveTurn = computed(() => shownTurns.value.find(({ record }) => turns.isLive(record.value)));
export const lookedAt = computed(() => chosenTurn.value ?? newestTurn.value);
export const mode = computed(() => shownTurns.value.findLast(({ record }) => record.value.mode !== undefined)?.record.value.mode);

function shown(first: TurnRecord, request?: TurnRequest): ShownTurn {
  const record = signal(first);
  const change = (how: (record: TurnRecord) => TurnRecord) => {
    const painter = painters.get(turn);
    if (painter) painter.change(how);
    else record.value = how(record.value);
  };
  const turn: ShownTurn = { session: sessionId.value, record, events: signal([]), change, ...(request && { request }) };
  return turn;
}
/** What puts events into a record while they come. */
const painters = new WeakMap<ShownTurn, Painter>();

/** Opens a session: a new one, or one of the list with what was said in it, at the turn of this id. */
export async function open(id: string, isKnown: boolean, turnId?: string): Promise<void> {
  leave();
  batch(() => {
    sessionId.value = id;
    shownTurns.value = [];
    chosenTurn.value = undefined;
    boundContexts.value = parent.value = undefined;
    namedTurn.value = turnId;
    loadFault.value = '';
    isLoading.value = isKnown;
    settings.sentSolution.value = '';
  });
  if (!isKnown) return;
  try {
    const exported = await aptix.session(id).export();
    if (sessionId.value !== id) return;
    batch(() => {
      shownTurns.value = recordsOf(exported).map((record) => shown(record));
      boundContexts.value = { agent: exported.AgentContextId, conversation: exported.ConversationContextId };
      parent.value = exported.Parent;
      settings.sessionHasSolution(exported.SolutionContextText ?? '');
    });
    if (turnId !== undefined) choose(turnId);
    if (liveTurn.value) follow(liveTurn.value);
  } catch (error) {
    const { code, message } = failureOf(error);
    // An id that is not used yet is a new session's, unless the address names a turn of it.
    if (sessionId.value === id && (code !== 'session_not_found' || turnId !== undefined)) loadFault.value = message;
  } finally {
    if (sessionId.value === id) isLoading.value = false;
  }
}

/** Chooses the turn that the address names, if it names one. */
export function choose(turnId: string | undefined): void {
  namedTurn.value = turnId;
  chosenTurn.value = shownTurns.value.find(({ record }) => record.value.turnId === turnId);
  if (turnId !== undefined && !chosenTurn.value) loadFault.value = 'The session does not have the turn that the address names.';
}

/** Stops watching. Turns run on; they are followed again when their session is opened. */
function leave(): void {
  for (const { watching } of shownTurns.value) watching?.abort();
}

/** Sends the user's words with everything that goes with them; `more` goes before what the panels say. */
export function send(words: string, more: TurnRequest = {}): ShownTurn {
  const held = attachments.value;
  const pictures = held.flatMap((each) => (each.kind === 'picture' ? [each.image] : []));
  const files = held.flatMap((each) => (each.kind === 'file' ? [each.artifact] : []));
  const isFirst = shownTurns.value.length === 0;
  const scope = settings.ragScope();
  const tools = settings.toolsJson();
  const solution = settings.solution.value;
  const request: TurnRequest = {
    ...(words && { Instruction: words }),
    ...(pictures.length > 0 && { ClipboardImages: pictures }),
    ...(files.length > 0 && { InputArtifacts: files }),
    ...(solution !== settings.sentSolution.value && { SolutionContextText: solution }),
    ...(settings.workspace.value && { WorkspaceId: settings.workspace.value }),
    ...(scope && { RagScope: scope }),
    ...(tools !== undefined && { ToolsJson: tools }),
    ...(isFirst && settings.agentContext.value && { AgentContextId: settings.agentContext.value }),
    ...(isFirst && settings.conversationContext.value && { ConversationContextId: settings.conversationContext.value }),
    ...more,
  };
  const asked = { text: words, pictures: pictures.map(addressOf), files: files.map(({ FileName }) => FileName) };
  const turn = shown(turns.begun(newId(), asked), request);
  batch(() => {
    settings.sentSolution.value = solution;
    attachments.value = [];
    chosenTurn.value = namedTurn.value = undefined;
    announced.value = 'The message is sent.';
    shownTurns.value = [...shownTurns.value, turn];
  });
  used(sessionId.value, words || held.map(({ name }) => name).join(', '));
  history.replaceState(null, '', `#${sessionId.value}`);
  begin(turn);
  return turn;
}

/** Adds the user's words to a turn that runs or waits. They are the next turn where this one has just ended. */
export async function add(turn: ShownTurn, words: string, interrupt = false): Promise<void> {
  const held = attachments.value;
  const pictures = held.flatMap((each) => (each.kind === 'picture' ? [each.image] : []));
  const files = held.flatMap((each) => (each.kind === 'file' ? [each.artifact] : []));
  const content = {
    ...(words && { Instruction: words }),
    ...(pictures.length > 0 && { ClipboardImages: pictures }),
    ...(files.length > 0 && { InputArtifacts: files }),
  };
  const asked = { text: words, pictures: pictures.map(addressOf), files: files.map(({ FileName }) => FileName) };
  attachments.value = [];
  announced.value = 'Your words are on their way.';
  const done = await steering.add(turn, { id: newId(), asked, content }, interrupt);
  if (done === 'taken') announced.value = 'Your words are added; the model gets them with its next call.';
  else if (done === 'failed') announced.value = 'Your words could not be added.';
  else if (sessionId.value === turn.session) {
    attachments.value = [...held, ...attachments.value];
    send(words);
  }
}

/** Sends words once more that could not be added: the same steer, wherever the first attempt has come to. */
export async function addAgain(turn: ShownTurn, id: string): Promise<void> {
  const words = steering.wordsOf(id);
  if (words && (await steering.add(turn, words, false)) === 'ended' && sessionId.value === turn.session) send(words.asked.text, words.content);
}

/** Sends a turn, for the first time or once more: the same request is the same turn. */
export function begin(turn: ShownTurn): void {
  const { turnId } = turn.record.value;
  turn.record.value = turns.anew(turn.record.value);
  if (turn.request) watch(turn, (signal) => aptix.session(sessionId.value).turn(turn.request!, { turnId, progress: true, signal }));
}

/** Whether what a turn was asked is here: of one from before this page was loaded, words and pictures are, files are not. */
export const canBeSentAgain = ({ request, record }: ShownTurn): boolean => request !== undefined || record.value.asked.files.length === 0;

/** Sends a turn once more; one from before this page was loaded as a new turn, since its request was kept nowhere. */
export function sendAgain(turn: ShownTurn): void {
  if (turn.request) return begin(turn);
  const { text, pictures } = turn.record.peek().asked;
  attachments.value = [...attachments.value, ...pictures.map(pictureAt)];
  send(text);
}

/** Watches a turn that was begun before, from where its text stands. */
export function follow(turn: ShownTurn): void {
  const { turnId, position } = turn.record.value;
  watch(turn, (signal) => aptix.session(sessionId.value).attach(turnId, { progress: true, signal, ...(position && { position }) }));
}

/** Aborts the turn itself. */
export async function cancel(turn: ShownTurn): Promise<void> {
  try {
    await aptix.session(sessionId.value).cancel(turn.record.value.turnId);
    // A turn that waits is watched by nobody.
    if (!turn.watching) turn.record.value = turns.failed(turn.record.value, { code: 'turn_aborted', message: 'The turn was cancelled.' });
    if (steering.isBehind(turn.record.peek())) void steering.refresh(turn);
  } catch (error) {
    announced.value = failureOf(error).message;
  }
}

/** The user's answer to a call. With the last one of the pause the turn goes on. */
export function answer(turn: ShownTurn, given: SubmittedToolResult): void {
  const before = turn.record.peek();
  turn.record.value = turns.answered(before, given);
  const isComplete = before.status === 'awaiting_tools' && turn.record.value.status === 'running';
  if (isComplete) goOn(turn);
}

/** The calls of a turn's pause, whose results go back together. */
const pauses = new WeakMap<ShownTurn, readonly ToolCall[]>();

function goOn(turn: ShownTurn): void {
  const ToolResults = turns.resultsOfPause(turn.record.value, pauses.get(turn) ?? []);
  const body = { SessionId: sessionId.value, TurnId: turn.record.value.turnId, ToolResults };
  watch(turn, (signal) => aptix.stream(body, { progress: true, signal }));
}

/** Whether steers may have changed their state, or another tab has added one; what came while the line was cut was missed. */
const isBoundary = (event: StreamEvent): boolean =>
  event.type === 'discard' || (event.type === 'progress' && (event.progress.Kind === 'model_call' || event.progress.Kind === 'steer'));

type Events = (signal: AbortSignal) => AsyncIterable<StreamEvent | TurnEvent> | Turn;

/** Somebody else has answered the calls meanwhile, so the turn is elsewhere. */
const MOVED_ON = ['turn_not_awaiting_tools', 'tool_results_mismatch', 'turn_conflict'];

async function watch(turn: ShownTurn, events: Events): Promise<void> {
  turn.watching?.abort();
  const watching = (turn.watching = new AbortController());
  const painter = new Painter(turn);
  painter.record = { ...turn.record.value, status: 'running' };
  const { failure: _, endedAt: __, ...cleared } = painter.record;
  painter.record = cleared;
  painter.paint();
  painters.set(turn, painter);
  let paused: AgentExecuteResponse | undefined;
  try {
    const come = events(watching.signal);
    if (come instanceof Turn) turn.handle = come;
    else delete turn.handle;
    for await (const event of come) {
      if (event.type === 'tool_calls' || event.type === 'tool_results') continue;
      painter.take(event);
      if (isBoundary(event) && steering.isBehind(painter.record)) void steering.refresh(turn);
      if (event.type === 'result' && event.response.Kind !== 'final') paused = event.response;
    }
    painter.paint();
    if (paused?.Kind === 'client_tool_continuation') pause(turn, paused.ToolCalls);
    else announced.value = 'The answer is complete.';
  } catch (error) {
    painter.paint();
    if (watching.signal.aborted) return;
    const failure = failureOf(error);
    if (MOVED_ON.includes(failure.code) && pauses.delete(turn)) return follow(turn);
    if (error instanceof AptixError && waitAgain(turn, error)) return;
    turn.record.value = turns.failed(turn.record.value, failure);
    announced.value = failure.message;
  } finally {
    if (turn.watching === watching) delete turn.watching;
    if (painters.get(turn) === painter) {
      delete turn.handle;
      painters.delete(turn);
      if (steering.isBehind(turn.record.peek())) void steering.refresh(turn);
    }
    void refresh();
  }
}

/** Puts calls back whose answers the service refused by their place; it then waits as before. */
function waitAgain(turn: ShownTurn, { errors }: AptixError): boolean {
  const places = errors.flatMap(({ Path, Message }) => {
    const [, place] = /^\/ToolResults\/(\d+)\//.exec(Path ?? '') ?? [];
    return place === undefined ? [] : [[Number(place), Message] as const];
  });
  const calls = pauses.get(turn);
  if (!calls || places.length === 0) return false;
  turn.record.value = turns.refused(turn.record.value, calls, new Map(places));
  announced.value = places.map(([, message]) => message).join(' ');
  return true;
}

/** Answers what the page answers by itself; the rest waits for the user. */
function pause(turn: ShownTurn, calls: readonly ToolCall[]): void {
  pauses.set(turn, calls);
  delete turn.watching;
  answerReady(turn);
  const waiting = turns.unanswered(turn.record.value);
  if (waiting.length === 0) return;
  const asks = waiting.some(({ Name }) => Name === turns.APPROVAL);
  announced.value = asks ? 'The agent asks for your approval.' : 'The agent waits for the result of a tool.';
}

function answerReady(turn: ShownTurn): void {
  for (const { ToolCallId, Name, ArgumentsJson } of turns.unanswered(turn.record.peek())) {
    if (settings.answersByHand.peek() || Name === turns.APPROVAL) continue;
    const began = performance.now();
    const ResultJson = readyAnswer(Name, ArgumentsJson);
    const ExecutionMs = Math.round(performance.now() - began);
    if (ResultJson !== undefined) answer(turn, { ToolCallId, ExecutionMs, ResultJson });
  }
}
// A file that is dropped may be the one that a call waits for.
droppedFiles.subscribe(() => {
  const turn = liveTurn.peek();
  if (turn) answerReady(turn);
});

/** Puts events into a turn's record: text once for each frame of the screen, all else at once. */
class Painter {
  record: TurnRecord;
  #events: { at: number; event: StreamEvent }[] = [];
  #frame: ReturnType<typeof requestAnimationFrame> | undefined;

  constructor(readonly turn: ShownTurn) {
    this.record = turn.record.value;
  }

  take(event: StreamEvent): void {
    this.#events.push({ at: Date.now(), event });
    this.record = turns.after(this.record, event);
    // A page in the background is given no frames.
    if (event.type !== 'text' || document.hidden) this.paint();
    else this.#frame ??= requestAnimationFrame(() => this.paint());
  }

  change(how: (record: TurnRecord) => TurnRecord): void {
    this.record = how(this.record);
    this.paint();
  }

  paint(): void {
    if (this.#frame !== undefined) cancelAnimationFrame(this.#frame);
    this.#frame = undefined;
    const { record, events } = this.turn;
    batch(() => {
      record.value = this.record;
      if (this.#events.length > 0) events.value = [...events.value, ...this.#events.splice(0)];
    });
  }
}

export function failureOf(error: unknown): turns.Failure {
  if (!(error instanceof AptixError)) return { code: 'page', message: String((error as Error)?.message ?? error) };
  if (error.code === 'unauthenticated') credentialWasRefused();
  return turns.failureOf(error.errors, error.whoActs);
}

/** Fetches the arguments of a turn's server calls, which only the session's export tells. */
export async function fetchArguments(turn: ShownTurn): Promise<void> {
  const { turnId } = turn.record.value;
  const { Turns } = await aptix.session(turn.session).export();
  const calls = Turns.find(({ TurnId }) => TurnId === turnId)?.ToolCalls ?? [];
  const known = new Map(calls.map((call) => [call.ToolCallId, call]));
  const steps = turn.record.value.steps.map((step) => {
    const call = step.kind === 'server_tool' ? known.get(step.id) : undefined;
    if (step.kind !== 'server_tool' || !call) return step;
    return { ...step, argumentsJson: argumentsOf(call), ...(call.Answer && { result: call.Answer }) };
  });
  turn.record.value = { ...turn.record.value, steps };
}
