// The open session and its turns. Owns the way of a turn: sent, or kept until it can be, watched, paused for answers, ended.
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
import { FAULTS, NO_SESSION, sessionNamed, WRONG_TURN } from './address.js';
import * as answering from './answering.js';
import { pictureAt, type Attachment } from './attachments.js';
import * as connection from './connection.js';
import { failureOf } from './failure.js';
import { usageOf } from './history.js';
import { merged } from './merging.js';
import * as outbox from './outbox.js';
import { Painter } from './painter.js';
import { readyAnswer } from './ready_answers.js';
import { droppedFiles } from './ready_tools.js';
import { aptix } from './service.js';
import { unlist, used } from './session_list.js';
import * as steering from './steering.js';
import { tell } from './tabs.js';
import { askedWith, attachedIn, contentOf, requestOf, waitingAs } from './request.js';
import { refresh } from './user_sessions.js';
import * as settings from './settings.js';
import { handleOf, type ShownTurn } from './shown_turn.js';
import * as turns from './turn_record.js';
import type { TurnRecord } from './turn_record.js';
import { user } from './user.js';

export const newId = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(8)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The one that the address names, until a session is opened. */
export const sessionId = signal(sessionNamed() ?? newId());
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
  const turn: ShownTurn = { session: sessionId.value, record, events: signal([]), change, isTaken: false, isPartial: false, ...(request && { request }) };
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
  });
  // Behind that: what is kept of the session that is left is what it was not sent.
  settings.sentSolution.value = '';
  if (!isKnown) return;
  restore();
  let isRead = true;
  try {
    const exported = await aptix.session(id).export();
    if (sessionId.value !== id) return;
    batch(() => {
      takeOver(exported);
      settings.sessionHasSolution(exported.SolutionContextText ?? '');
    });
    if (turnId !== undefined) choose(turnId);
  } catch (error) {
    const { code, message } = failureOf(error);
    if (sessionId.value !== id) return;
    isRead = code === 'session_not_found';
    if (!isRead) loadFault.value = message;
    // Words that wait begin it.
    else if (shownTurns.peek().length === 0) isNowhere(id);
  } finally {
    if (sessionId.value === id) {
      isLoading.value = false;
      // Of a session that could not be read nobody knows whether its turn takes words.
      if (isRead) restoreSteers();
      sendWaiting();
    }
  }
}

/** Chooses the turn that the address names, if it names one. */
export function choose(turnId: string | undefined): void {
  namedTurn.value = turnId;
  chosenTurn.value = shownTurns.value.find(({ record }) => record.value.turnId === turnId);
  if (turnId !== undefined && !chosenTurn.value) loadFault.value = WRONG_TURN;
  else forgetAddress();
}

/** What is wrong with an address is so until one goes on elsewhere, or writes here. */
function forgetAddress(): void {
  if (FAULTS.includes(loadFault.peek())) loadFault.value = '';
}

/** The address names a session that is not there, which no list is to show either. */
export function isNowhere(id: string): void {
  loadFault.value = NO_SESSION;
  unlist(id);
}

/** Fetches what has become of the open session elsewhere, and shows it. What this page watches, its stream tells. */
export async function catchUp(): Promise<void> {
  const id = sessionId.peek();
  const exported = await aptix.session(id).export();
  if (sessionId.peek() !== id) return;
  // It could not be read when it was opened.
  const isFirst = boundContexts.peek() === undefined && loadFault.peek() !== '';
  batch(() => {
    takeOver(exported);
    loadFault.value = '';
    if (isFirst) settings.sessionHasSolution(exported.SolutionContextText ?? '');
  });
  if (isFirst && namedTurn.peek() !== undefined) choose(namedTurn.peek());
  restoreSteers();
  sendWaiting();
}

/** Shows the session as the service has it. */
function takeOver(exported: SessionExport): void {
  const taken = new Set(exported.Turns.map(({ TurnId }) => TurnId));
  shownTurns.value = merged(shownTurns.peek(), exported, shown);
  for (const turn of shownTurns.peek()) {
    if (!taken.has(turn.record.peek().turnId)) continue;
    hasLeft(turn);
    answering.settle(turn);
  }
  parent.value = exported.Parent;
  boundContexts.value = { agent: exported.AgentContextId, conversation: exported.ConversationContextId };
  const live = liveTurn.peek();
  if (live && !live.watching && live.record.peek().status === 'running') follow(live);
}

/** Stops watching. Turns run on; they are followed again when their session is opened. */
export function leave(): void {
  for (const { watching } of shownTurns.value) watching?.abort();
}

/** Sends the user's words with what is attached to them and everything that goes with them; `more` goes before what the panels say. */
export function send(words: string, held: readonly Attachment[] = [], more: TurnRequest = {}, id = newId()): ShownTurn {
  const turn = shown(turns.begun(id, askedWith(words, held)), composed(words, held, more));
  batch(() => {
    settings.sentSolution.value = settings.solution.value;
    chosenTurn.value = namedTurn.value = undefined;
    announced.value = 'The message is sent.';
    forgetAddress();
    shownTurns.value = [...shownTurns.value, turn];
  });
  used(sessionId.value, words || held.map(({ name }) => name).join(', '));
  history.replaceState(null, '', `#${sessionId.value}`);
  outbox.words.put(waitingAs(turn.session, id, words, held, turn.request!));
  begin(turn);
  return turn;
}

const composed = (words: string, held: readonly Attachment[], more: TurnRequest = {}): TurnRequest => ({
  ...requestOf(words, held, { isFirst: shownTurns.peek().length === 0, sentSolution: settings.sentSolution.peek() }),
  ...more,
});

/** Has words wait that could not be sent. */
function keepUnsent(turn: ShownTurn): void {
  turn.watching?.abort();
  turn.change(turns.unsent);
  announced.value = 'Waiting for the network. The message is sent by itself.';
}
connection.isLost.subscribe((isLost) => {
  if (!isLost) return;
  for (const turn of shownTurns.peek()) {
    if (turn.record.peek().status === 'running' && !turn.isTaken && turn.request) keepUnsent(turn);
    else turn.change(turns.withWaitingSteers);
    if (answering.areReady(turn)) keepAnswers(turn);
  }
});

/** The service has the turn, so that nothing of it waits any longer. */
function hasLeft(turn: ShownTurn): void {
  turn.isTaken = true;
  outbox.words.take(turn.record.peek().turnId);
}

/** Shows the words of the open session that a reload found waiting. */
function restore(): void {
  const known = new Set(shownTurns.peek().map(({ record }) => record.peek().turnId));
  for (const entry of outbox.words.in(sessionId.peek())) {
    const { id, text, attached, steers, whole } = entry;
    if (known.has(id) || steers !== undefined) continue;
    const asked = whole?.asked ?? { text, pictures: [], files: attached };
    const request = whole?.request ?? (attached.length === 0 ? composed(text, []) : undefined);
    // What is set for this session goes with them also when another one is open by then.
    if (request && !whole) outbox.words.put({ ...entry, whole: { request, asked } });
    shownTurns.value = [...shownTurns.peek(), shown(turns.unsent(turns.begun(id, asked)), request)];
  }
}

/** Adds the words that were found waiting for a turn, as after a reload. Where they come too late, they are a turn. */
function restoreSteers(): void {
  const steers = new Map(shownTurns.peek().flatMap(({ record }) => record.peek().steps.flatMap((step) => (step.kind === 'steer' ? [[step.id, step.state]] : []))));
  for (const entry of outbox.words.in(sessionId.peek())) {
    const { steers: turnId, ...words } = entry;
    if (turnId === undefined) continue;
    const live = shownTurns.peek().find(({ record }) => record.peek().turnId === turnId && turns.isLive(record.peek()));
    const { asked, request: content } = words.whole ?? { asked: { text: words.text, pictures: [], files: words.attached }, request: contentOf(words.text, []) };
    const isWhole = words.whole !== undefined || words.attached.length === 0;
    const state = steers.get(words.id);
    if (state === 'sending' || state === 'waiting') continue;
    if (state !== undefined) outbox.words.take(words.id);
    else if (live && isWhole) void addWords(live, { id: words.id, asked, content });
    else outbox.words.put({ ...words, ...(words.whole && { whole: { asked, request: composed(words.text, [], content) } }) });
  }
  restore();
}

/** Sends the oldest of the words that wait; the next ones follow when its turn has ended. */
export function sendWaiting(): void {
  // Of a session that is being read nobody knows yet whether a turn of it is live.
  if (connection.isLost.peek() || isLoading.peek() || liveTurn.peek()) return;
  const next = shownTurns.peek().find(({ record, request }) => record.peek().status === 'unsent' && request);
  if (next) begin(next);
}

/** Sends words that wait without the files that a reload has lost. */
export function sendWithoutFiles(turn: ShownTurn): void {
  const { asked } = turn.record.peek();
  turn.request = composed(asked.text, []);
  turn.change((record) => ({ ...record, asked: { ...asked, files: [] } }));
  sendWaiting();
}

/** Gives words up that have not left. */
export function drop(turn: ShownTurn): void {
  const { turnId } = turn.record.peek();
  turn.watching?.abort();
  outbox.words.take(turnId);
  // What the dropped words were to tell, the next ones do.
  if (turn.request?.SolutionContextText !== undefined) settings.sentSolution.value = undefined;
  shownTurns.value = shownTurns.value.filter((each) => each !== turn);
  if (shownTurns.value.length === 0) unlist(turn.session);
  announced.value = 'The message is dropped.';
}

/** Adds the user's words to a turn that runs or waits. They are the next turn where this one has just ended. */
export async function add(turn: ShownTurn, words: string, held: readonly Attachment[] = [], interrupt = false): Promise<void> {
  announced.value = 'Your words are on their way.';
  await addWords(turn, { id: newId(), asked: askedWith(words, held), content: contentOf(words, held) }, interrupt);
}

/**
 * Whether the page shows the turn still. Where its session was left meanwhile, and be it opened again, what becomes of words for
 * it is told by those that wait there, and by nobody else.
 */
const isShown = (turn: ShownTurn): boolean => shownTurns.peek().includes(turn);

async function addWords(turn: ShownTurn, words: steering.Words, interrupt = false): Promise<void> {
  const { id, asked, content } = words;
  const attached = [...asked.pictures.map(() => 'picture'), ...asked.files];
  outbox.words.put({ session: turn.session, id, text: asked.text, attached, steers: turn.record.peek().turnId, whole: { request: content, asked } });
  const done = await steering.add(turn, words, interrupt);
  // What waits by this id now is none of this attempt's.
  if (done === 'settled') return;
  if (done === 'taken' || (done !== 'waiting' && isShown(turn))) outbox.words.take(id);
  if (done === 'taken') tell(turn.session);
  announced.value = {
    taken: 'Your words are added; the model gets them with its next call.',
    waiting: 'Waiting for the network. Your words are added by themselves.',
    failed: 'Your words could not be added.',
    ended: announced.value,
  }[done];
  // The id of the steer names the turn, so that it is one, whoever finds first that the words came too late.
  if (done !== 'ended' || !isShown(turn) || shownTurns.peek().some(({ record }) => record.peek().turnId === id)) return;
  send(asked.text, attachedIn(content), {}, id);
}

/** Sends words once more that could not be added: the same steer, wherever the first attempt has come to. */
export async function addAgain(turn: ShownTurn, id: string): Promise<void> {
  const words = steering.wordsOf(id);
  if (words) await addWords(turn, words);
}

/** Sends a turn, for the first time or once more: the same request is the same turn, behind a pause that with its answers. */
export function begin(turn: ShownTurn): void {
  const { turnId } = turn.record.value;
  turn.record.value = turns.anew(turn.record.value);
  if (!turn.request) return;
  if (!turn.isTaken && connection.isLost.peek()) {
    keepUnsent(turn);
    return connection.askNow();
  }
  const events: Events = answering.wereSent(turn)
    ? (signal) => aptix.stream(answering.requestOf(turn), { progress: true, signal })
    : (signal) => aptix.session(turn.session).turn(turn.request!, { turnId, progress: true, signal });
  watch(turn, events, () => tell(turn.session));
}

/** Whether what a turn was asked is here: of one from before this page was loaded, words and pictures are, files are not. */
export const canBeSentAgain = ({ request, record }: ShownTurn): boolean => request !== undefined || record.value.asked.files.length === 0;

/** Sends a turn once more; one from before this page was loaded as a new turn, since its request was kept nowhere. */
export function sendAgain(turn: ShownTurn): void {
  if (turn.request) return begin(turn);
  const { text, pictures } = turn.record.peek().asked;
  send(text, pictures.map(pictureAt));
}

/** Watches a turn that was begun before, from where its text stands. */
export function follow(turn: ShownTurn): void {
  // What has come by now does not come once more.
  painters.get(turn)?.paint();
  const { turnId, position } = turn.record.value;
  watch(turn, (signal) => aptix.session(turn.session).attach(turnId, { progress: true, signal, ...(position && { position }) }));
}

/** The turn that is being stopped: without a network it takes until that is back. */
export const stopping = signal<string | undefined>(undefined);
/** Why a turn runs on that was to be stopped. */
export const notStopped = signal<{ turn: ShownTurn; message: string } | undefined>(undefined);
/** The same, where the network was away for longer than one asks. */
let unstopped: ShownTurn | undefined;
// Nothing of a user is asked for by the next one.
user.subscribe(() => (unstopped = undefined));

/** Stops the turn that could not be stopped without a network, wherever one has gone since. */
export async function stopAgain(): Promise<void> {
  if (unstopped) await cancel(unstopped);
}

/** Aborts the turn itself. */
export async function cancel(turn: ShownTurn): Promise<void> {
  stopping.value = turn.record.peek().turnId;
  unstopped = notStopped.value = undefined;
  try {
    const view = await handleOf(turn).cancel();
    tell(turn.session);
    // A turn that waits is watched by nobody. It may have been answered, and ended, before it could be stopped.
    if (!turn.watching && view.Status === 'aborted') turn.record.value = { ...turns.failed(turn.record.value, { code: 'turn_aborted', message: 'The turn was cancelled.' }), ...usageOf(view) };
    // Where that cannot be read just now, it is stopped all the same.
    else if (!turn.watching && sessionId.peek() === turn.session) await catchUp().catch(() => {});
    // Its session was left since, and opened again.
    if (!isShown(turn) && sessionId.peek() === turn.session) void catchUp().catch(() => {});
    answering.settle(turn);
    if (steering.isBehind(turn.record.peek())) void steering.refresh(turn);
  } catch (error) {
    const failure = failureOf(error);
    if (!isUnreachable(failure, error)) return void (notStopped.value = { turn, message: failure.message });
    announced.value = failure.message;
    unstopped = turn;
    connection.noteLoss();
  } finally {
    if (!unstopped) stopping.value = undefined;
  }
}

/** The user's answer to a call. With the last one of the pause all of them are sent. */
export function answer(turn: ShownTurn, given: SubmittedToolResult): void {
  if (turn.record.peek().status !== 'awaiting_tools') return;
  answering.give(turn, given);
  if (answering.areReady(turn)) sendAnswers(turn);
  else announced.value = 'Your answer is sent together with those to the other calls.';
}

export const takeBack = answering.takeBack;

/** Sends the answers of a pause that has all of them: the same request, wherever an earlier attempt has come to. */
export function sendAnswers(turn: ShownTurn): void {
  if (!answering.areReady(turn) || turn.watching) return;
  if (connection.isLost.peek()) {
    keepAnswers(turn);
    return connection.askNow();
  }
  const body = answering.requestOf(turn);
  void watch(turn, (signal) => aptix.stream(body, { progress: true, signal }));
}

/** Has answers wait that could not be sent. What happens behind them while the page hears nothing is fetched at the end. */
function keepAnswers(turn: ShownTurn): void {
  turn.watching?.abort();
  delete turn.watching;
  turn.isPartial = true;
  announced.value = 'Waiting for the network. Your answer is sent by itself.';
}

/** Whether steers may have changed their state, or another tab has added one; what came while the line was cut was missed. */
const isBoundary = (event: StreamEvent): boolean =>
  event.type === 'discard' || (event.type === 'progress' && (event.progress.Kind === 'model_call' || event.progress.Kind === 'steer'));

type Events = (signal: AbortSignal) => AsyncIterable<StreamEvent | TurnEvent> | Turn;

/** `isTaken` is called once the service has what was sent. */
async function watch(turn: ShownTurn, events: Events, isTaken?: () => void): Promise<void> {
  turn.watching?.abort();
  const watching = (turn.watching = new AbortController());
  const painter = new Painter(turn);
  const { failure: _, endedAt: __, ...cleared } = turn.record.value;
  // A turn whose calls are being answered waits until the service has the answers.
  painter.record = turns.isSending(cleared) ? cleared : { ...cleared, status: 'running' };
  painter.paint();
  painters.set(turn, painter);
  let paused: AgentExecuteResponse | undefined;
  try {
    const come = events(watching.signal);
    if (come instanceof Turn) turn.handle = come;
    else delete turn.handle;
    for await (const event of come) {
      watching.signal.throwIfAborted();
      hasLeft(turn);
      isTaken?.();
      isTaken = undefined;
      if (turns.isSending(painter.record)) answering.areTaken(turn);
      if (event.type === 'tool_calls' || event.type === 'tool_results') continue;
      painter.take(event);
      // What stays of it, the service tells at the end.
      if (event.type === 'discard' && painter.record.steps.some(({ kind }) => kind === 'steer')) turn.isPartial = true;
      if (isBoundary(event) && steering.isBehind(painter.record)) void steering.refresh(turn);
      if (event.type === 'result' && event.response.Kind !== 'final') paused = event.response;
    }
    painter.paint();
    if (paused?.Kind === 'client_tool_continuation') pause(turn, paused.ToolCalls);
    else announced.value = 'The answer is complete.';
  } catch (error) {
    if (painters.get(turn) === painter) painter.paint();
    if (watching.signal.aborted) return;
    painters.delete(turn);
    delete turn.watching;
    const failure = failureOf(error);
    if (turns.isSending(turn.record.peek())) answersFailed(turn, failure, error);
    else end(turn, failure, error);
  } finally {
    if (turn.watching === watching) delete turn.watching;
    if (painters.get(turn) === painter || !painters.has(turn)) {
      delete turn.handle;
      painters.delete(turn);
      if (steering.isBehind(turn.record.peek())) void steering.refresh(turn);
    }
    if (!watching.signal.aborted && sessionId.peek() === turn.session) afterwards(turn);
    void refresh();
  }
}

/** Nothing can be reached where an answer of the service was to come. */
const isUnreachable = ({ code }: turns.Failure, error: unknown): boolean =>
  code === 'connection_lost' && !(error instanceof AptixError && error.status > 0 && error.status < 500);

/** Somebody else has answered the calls, or ended the turn. */
const OVERTAKEN = ['turn_not_awaiting_tools', 'tool_results_mismatch', 'turn_conflict', 'turn_aborted'];

/** The service has told nothing of having taken the answers to a pause. */
function answersFailed(turn: ShownTurn, failure: turns.Failure, error: unknown): void {
  if (isUnreachable(failure, error)) {
    connection.noteLoss();
    keepAnswers(turn);
  } else if (OVERTAKEN.includes(failure.code)) {
    answering.areOvertaken(turn);
    announced.value = 'Somebody else has answered first.';
    void catchUp().catch(() => {});
  } else if (error instanceof AptixError && error.status !== 200) {
    announced.value = answering.areRefused(turn, error);
  } else {
    // What fails within a stream has begun.
    answering.areTaken(turn);
    end(turn, failure, error);
  }
}

/** What another turn of the session keeps from being begun. */
const HELD_UP = ['turn_in_progress', 'turn_awaiting_tools', 'turn_conflict'];

/** A turn has not come to its response, or the page has lost sight of it. */
function end(turn: ShownTurn, failure: turns.Failure, error: unknown): void {
  const isLost = isUnreachable(failure, error);
  if (isLost) connection.noteLoss();
  if (isLost && !turn.isTaken && turn.request) return keepUnsent(turn);
  // What fails within a stream has begun.
  if (error instanceof AptixError && error.status === 200) hasLeft(turn);
  const ended = turns.failed(turn.record.value, failure);
  turn.record.value = turn.isTaken ? ended : { ...ended, status: 'failed' };
  announced.value = failure.message;
  if (!turn.isTaken) outbox.words.take(ended.turnId);
  // The page is to show the turn that was in the way.
  if (HELD_UP.includes(failure.code)) void catchUp().catch(() => {});
}

/** The watching of a turn is over: what was missed is fetched, and words that wait may go. */
function afterwards(turn: ShownTurn): void {
  const { status } = turn.record.peek();
  if (turn.isPartial && (status === 'completed' || status === 'failed' || status === 'aborted')) void catchUp().catch(() => {});
  else if (turn.isTaken && (status === 'failed' || status === 'aborted')) void fetchCost(turn);
  sendWaiting();
}

/** What a turn without a response has cost, which no stream tells. */
async function fetchCost(turn: ShownTurn): Promise<void> {
  const view = await aptix.session(turn.session).getTurn(turn.record.peek().turnId).catch(() => undefined);
  if (view) turn.change((record) => (turns.isOver(record) ? { ...record, ...usageOf(view) } : record));
}

/** Answers what the page answers by itself; the rest waits for the user. */
function pause(turn: ShownTurn, calls: readonly ToolCall[]): void {
  delete turn.watching;
  answering.paused(turn, calls);
  answerReady(turn);
  sendAnswers(turn);
  const waiting = turns.unanswered(turn.record.value);
  if (waiting.length === 0) return;
  const asks = waiting.some(({ Name }) => Name === turns.APPROVAL);
  announced.value = asks ? 'The agent asks for your approval.' : 'The agent waits for the result of a tool.';
}

function answerReady(turn: ShownTurn): void {
  for (const call of turns.unanswered(turn.record.peek())) {
    const given = readyAnswer(call);
    if (given) answer(turn, given);
  }
}
// A file that is dropped may be the one that a call waits for.
droppedFiles.subscribe(() => {
  const turn = liveTurn.peek();
  if (turn) answerReady(turn);
});
