// What a turn has been so far, as the page shows it. Pure: events go in, a new record comes out.
import type {
  AgentExecuteResponse,
  Entry,
  FileRef,
  SteerState,
  StreamEvent,
  SubmittedToolResult,
  ToolCall,
  ToolResult,
  TurnStatus,
  Usage,
} from '../../../typescript/src/index.js';
import { now } from './clock.js';

/** The service's name for the question whether one of its own calls may run (interface §12). */
export const APPROVAL = 'agent_approve_tool';

/** What the user sent. `pictures` are `data:` addresses, `files` names. */
export interface Asked {
  text: string;
  pictures: readonly string[];
  files: readonly string[];
}

export type Step =
  /** Text of a model call; `isKept` once it is sure that it stays. */
  | { kind: 'text'; segment: number; text: string; isKept: boolean }
  | { kind: 'reasoning' | 'commentary'; text: string }
  | { kind: 'server_tool'; id: string; name: string; state: 'runs' | 'done' | 'failed'; ms?: number; argumentsJson?: string; result?: ToolResult }
  | ClientCall
  | Decision
  | SteerStep
  | { kind: 'note'; text: string };

/** A call that a client answers. What is shown of it follows from `answering`, and from nothing else. */
export interface ClientCall {
  kind: 'client_call';
  call: ToolCall;
  answering: Answering;
}

export type Answering =
  /** Nobody has answered. `refused`: the answer that the service did not take, and why. */
  | { at: 'asked'; refused?: { answer: SubmittedToolResult; message: string } }
  /** Answered here; nothing is sent before the other calls of the pause are answered as well. */
  | { at: 'decided'; answer: SubmittedToolResult }
  /** Answered here, and on its way or waiting for the network: the service has it or not. */
  | { at: 'sending'; answer: SubmittedToolResult }
  /** The service has the answer of this page. */
  | { at: 'taken'; answer: SubmittedToolResult }
  /** The answer is what the service tells, whoever gave it; it is missing until it is told. */
  | { at: 'elsewhere'; answer?: SubmittedToolResult };

/** What a human has decided about a call, as the service tells it. */
export interface Decision {
  kind: 'decision';
  /** The id of the question. */
  id: string;
  name: string;
  isApproved: boolean;
  /** The arguments with which the call ran, or was to run. */
  argumentsJson: string;
  isEdited: boolean;
  /** What the model was told of a refusal. */
  message?: string;
  /** `key:`, `user:` or `actor:`, and who. */
  decidedBy?: string;
  waitedMs?: number;
}

/** Words that were added while the turn ran; `asked` is missing until they are fetched, where another tab has added them. */
export interface SteerStep {
  kind: 'steer';
  id: string;
  /** `waiting`: for the network. */
  state: 'sending' | 'waiting' | 'failed' | SteerState;
  /** The model call under way is dropped for them, as far as this page knows. */
  isInterrupt?: boolean;
  asked?: Asked;
  /** Why they could not be added. */
  message?: string;
}

export interface Failure {
  code: string;
  message: string;
  details?: Readonly<Record<string, unknown>>;
  whoActs?: string;
  /** The request in the service's log. */
  requestId?: string;
}

export interface TurnRecord {
  turnId: string;
  asked: Asked;
  /** `unsent`: the words have not left this page. `lost`: the connection is; the turn itself may run on. */
  status: TurnStatus | 'unsent' | 'lost';
  /** Times are those of the service's clock. */
  startedAt: number;
  endedAt?: number;
  /** Since when it waits for answers. */
  pausedAt?: number;
  mode?: string;
  steps: readonly Step[];
  files: readonly FileRef[];
  warnings: readonly string[];
  usage?: Usage;
  failure?: Failure;
  /** Where the text goes on after a cut. */
  position?: string;
}

export const begun = (turnId: string, asked: Asked, startedAt = now()): TurnRecord => ({
  turnId,
  asked,
  status: 'running',
  startedAt,
  steps: [],
  files: [],
  warnings: [],
});

/** What a turn is at, in one word or two. */
export const wordsFor = (status: TurnRecord['status']): string => (status === 'aborted' ? 'stopped' : status === 'awaiting_tools' ? 'waits for an answer' : status);

export const isLive = ({ status }: Pick<TurnRecord, 'status'>): boolean => status === 'running' || status === 'awaiting_tools';

/** Whether the turn has come to its end, however it did. */
export const isOver = ({ status }: TurnRecord): boolean => status === 'completed' || status === 'failed' || status === 'aborted';

const callsAt = ({ steps }: Pick<TurnRecord, 'steps'>, ...places: Answering['at'][]): ToolCall[] =>
  steps.flatMap((step) => (step.kind === 'client_call' && places.includes(step.answering.at) ? [step.call] : []));

/** The calls that still wait for an answer. */
export const unanswered = (record: TurnRecord): ToolCall[] => (record.status === 'awaiting_tools' ? callsAt(record, 'asked') : []);

/** The calls of which the service, as far as this page knows, has no answer. */
export const openCalls = (record: Pick<TurnRecord, 'steps'>): ToolCall[] => callsAt(record, 'asked', 'decided', 'sending');

/** Whether answers of this page are on their way, or wait for the network. */
export const isSending = (record: TurnRecord): boolean => callsAt(record, 'sending').length > 0;

/** The answer to a call, wherever it has come to. */
export const givenTo = ({ answering }: ClientCall): SubmittedToolResult | undefined => ('answer' in answering ? answering.answer : undefined);

/** How a call stands: `unanswered` where its turn is over, `coming` before its turn waits for it. */
export function standingOf({ answering }: ClientCall, record: TurnRecord): Answering | { at: 'unanswered' | 'coming' } {
  const isOpen = answering.at !== 'taken' && answering.at !== 'elsewhere';
  if (!isOpen || record.status === 'awaiting_tools') return answering;
  return { at: isOver(record) ? 'unanswered' : 'coming' };
}

/** The text of the answer, without what stood beside tool calls. */
export const answerOf = ({ steps }: TurnRecord): string => {
  const last = steps.findLast((step) => step.kind === 'text');
  return last?.kind === 'text' ? last.text : '';
};

const replaced = <T>(list: readonly T[], at: number, item: T): T[] => list.map((each, i) => (i === at ? item : each));
const withStep = (record: TurnRecord, step: Step): TurnRecord => ({ ...record, steps: [...record.steps, step] });

export const after = (record: TurnRecord, event: StreamEvent): TurnRecord => inOrder(afterEvent(record, event));

/** Words that no model has got yet stand below all that was said before they are got. */
const isWaiting = (step: Step): boolean => step.kind === 'steer' && step.state !== 'delivered' && step.state !== 'refused';

export function inOrder(record: TurnRecord): TurnRecord {
  const { steps } = record;
  const first = steps.findIndex(isWaiting);
  if (first < 0 || steps.slice(first).every(isWaiting)) return record;
  return { ...record, steps: [...steps.filter((step) => !isWaiting(step)), ...steps.filter(isWaiting)] };
}

function afterEvent(record: TurnRecord, event: StreamEvent): TurnRecord {
  switch (event.type) {
    case 'text': {
      const { segment, delta, position } = event;
      const at = record.steps.findIndex((step) => step.kind === 'text' && !step.isKept && step.segment === segment);
      const held = record.steps[at];
      const step: Step = { kind: 'text', segment, text: (held?.kind === 'text' ? held.text : '') + delta, isKept: false };
      const steps = held ? replaced(record.steps, at, step) : [...record.steps, step];
      return { ...record, steps, position };
    }
    case 'discard':
      return { ...record, steps: record.steps.flatMap((step, at) => (step.kind !== 'text' || step.isKept || step.segment !== event.segment ? [step] : staysRead(record, at) ? [{ ...step, isKept: true }] : [])) };
    case 'progress':
      return afterProgress(record, event.progress);
    case 'result':
      return afterResult(record, event.response);
  }
}

/**
 * Whether a text that is taken back stays to be read: words were added behind it, so that it is an answer of its own in the
 * conversation. That it was not dropped after all, the service's account tells at the end of the turn.
 */
function staysRead({ steps }: TurnRecord, at: number): boolean {
  const added = steps.slice(at).filter((step) => step.kind === 'steer');
  return added.length > 0 && !added.some(({ isInterrupt }) => isInterrupt);
}

type Progress = Extract<StreamEvent, { type: 'progress' }>['progress'];

function afterProgress(record: TurnRecord, progress: Progress): TurnRecord {
  switch (progress.Kind) {
    case 'model_call':
      return record;
    case 'reasoning':
    case 'commentary': {
      const last = record.steps.at(-1);
      if (last?.kind !== progress.Kind) return withStep(record, { kind: progress.Kind, text: progress.Text });
      return { ...record, steps: [...record.steps.slice(0, -1), { ...last, text: last.text + progress.Text }] };
    }
    case 'server_tool': {
      const { ToolCallId: id, Name: name, State, Successful, ExecutionMs: ms } = progress;
      const state = State === 'started' ? 'runs' : Successful === false ? 'failed' : 'done';
      const at = record.steps.findIndex((step) => step.kind === 'server_tool' && step.id === id);
      const step: Step = { kind: 'server_tool', id, name, state, ...(ms !== undefined && { ms }) };
      // What was fetched of it meanwhile, such as its arguments, stays.
      return at < 0 ? withStep(record, step) : { ...record, steps: replaced(record.steps, at, { ...record.steps[at], ...step }) };
    }
    case 'mode':
      return withStep({ ...record, mode: progress.ModeDisplayName }, { kind: 'note', text: `The mode is now ${progress.ModeDisplayName}.` });
    case 'retry':
      if (progress.Fallback) return withStep(record, { kind: 'note', text: 'The model service does not answer; another one takes over.' });
      return withStep(record, { kind: 'note', text: `The model service is asked again after ${seconds(progress.AfterMs)}.` });
    case 'steer':
      return steered(record, { id: progress.SteerId, state: progress.State === 'accepted' ? 'pending' : progress.State });
    case 'compaction':
      return withStep(record, { kind: 'note', text: 'The conversation has become long; older turns are summarised.' });
  }
}

function afterResult(record: TurnRecord, response: AgentExecuteResponse): TurnRecord {
  const steps = record.steps.filter((step) => step.kind !== 'text' || step.isKept);
  const text = (said: string): Step => ({ kind: 'text', segment: -1, text: said, isKept: true });
  const { position: _, ...rest } = record;
  if (response.Kind === 'client_tool_continuation') {
    const known = new Set(steps.map((step) => (step.kind === 'client_call' ? step.call.ToolCallId : '')));
    const calls = response.ToolCalls.filter(({ ToolCallId }) => !known.has(ToolCallId));
    const said = calls.length > 0 && response.ToolContinuationMessage ? [text(response.ToolContinuationMessage)] : [];
    const waiting = calls.map((call): Step => ({ kind: 'client_call', call, answering: { at: 'asked' } }));
    return { ...rest, status: 'awaiting_tools', pausedAt: record.pausedAt ?? now(), mode: response.ModeDisplayName, steps: [...steps, ...said, ...waiting] };
  }
  const results = new Map((response.ToolResults ?? []).map((result) => [result.ToolCallId, result]));
  return {
    ...rest,
    status: 'completed',
    endedAt: record.endedAt ?? now(),
    mode: response.ModeDisplayName,
    steps: [...steps.map((step) => withResult(step, results)), text(response.PrimaryOutputText)],
    files: response.Files ?? [],
    warnings: response.UserWarnings ?? [],
    ...(response.Usage && { usage: response.Usage }),
  };
}

function withResult(step: Step, results: Map<string, ToolResult>): Step {
  if (step.kind !== 'server_tool') return step;
  const result = results.get(step.id);
  if (!result) return step;
  return { ...step, result, ms: result.ExecutionMs, state: result.ErrorMessage === undefined ? 'done' : 'failed' };
}

/** The turn has ended otherwise than with a response. What was said so far stays. */
export const failed = (record: TurnRecord, failure: Failure): TurnRecord => ({
  ...record,
  status: failure.code === 'connection_lost' ? 'lost' : failure.code === 'turn_aborted' ? 'aborted' : 'failed',
  endedAt: now(),
  failure,
});

/** The words could not be sent, and wait. */
export function unsent(record: TurnRecord): TurnRecord {
  const { failure: _, endedAt: __, ...rest } = anew(record);
  return { ...rest, status: 'unsent' };
}

/** The turn before it is sent again: its text comes once more from the start. */
export function anew(record: TurnRecord): TurnRecord {
  const { position: _, ...rest } = record;
  return { ...rest, steps: record.steps.filter((step) => step.kind !== 'text' || step.isKept) };
}

const withCalls = (record: TurnRecord, moved: (answering: Answering, id: string) => Answering): TurnRecord => ({
  ...record,
  steps: record.steps.map((step) => (step.kind === 'client_call' ? { ...step, answering: moved(step.answering, step.call.ToolCallId) } : step)),
});

/** The user's answer to a call. With the last one of the pause all of them are on their way. */
export function answered(record: TurnRecord, answer: SubmittedToolResult): TurnRecord {
  const next = withCalls(record, (held, id) => (held.at === 'asked' && id === answer.ToolCallId ? { at: 'decided', answer } : held));
  if (unanswered(next).length > 0) return next;
  return withCalls(next, (held) => (held.at === 'decided' ? { ...held, at: 'sending' } : held));
}

/** The user thinks again about an answer that was not sent yet. */
export const takenBack = (record: TurnRecord, call: string): TurnRecord =>
  withCalls(record, (held, id) => (held.at === 'decided' && id === call ? { at: 'asked' } : held));

/** The service has the answers that were on their way, so the turn goes on. */
export function taken(record: TurnRecord): TurnRecord {
  if (!isSending(record)) return record;
  const { pausedAt: _, ...rest } = withCalls(record, (held) => (held.at === 'sending' ? { ...held, at: 'taken' } : held));
  return { ...rest, status: 'running' };
}

/** How long the turn has waited for an answer. */
export const pauseMs = ({ pausedAt }: TurnRecord): number => (pausedAt === undefined ? 0 : Math.max(0, Math.round(now() - pausedAt)));

/** The service has not taken the answers because of some of them, by the ids of their calls: these wait again. */
export const refused = (record: TurnRecord, messages: ReadonlyMap<string, string>): TurnRecord =>
  withCalls(record, (held, id) => {
    if (held.at !== 'sending') return held;
    const message = messages.get(id);
    return message === undefined ? { ...held, at: 'decided' } : { at: 'asked', refused: { answer: held.answer, message } };
  });

/** Somebody else has answered first. */
export const overtaken = (record: TurnRecord): TurnRecord =>
  withCalls(record, (held) => (held.at === 'taken' || held.at === 'elsewhere' ? held : { at: 'elsewhere' }));

/** The answers to these calls, in the calls' order, as far as they are given. */
export function answersTo({ steps }: TurnRecord, calls: readonly ToolCall[]): SubmittedToolResult[] {
  return calls.flatMap(({ ToolCallId }) => {
    const step = steps.find((each) => each.kind === 'client_call' && each.call.ToolCallId === ToolCallId);
    return (step?.kind === 'client_call' && givenTo(step)) || [];
  });
}

/** What is newly known of a steer. Its acceptance may be told after its delivery, which is not taken back. */
export function steered(record: TurnRecord, told: Omit<SteerStep, 'kind'>): TurnRecord {
  const at = record.steps.findIndex((step) => step.kind === 'steer' && step.id === told.id);
  const held = record.steps[at];
  if (held?.kind !== 'steer') return inOrder(withStep(record, { kind: 'steer', ...told }));
  const isLate = told.state === 'pending' && ['delivered', 'kept', 'refused'].includes(held.state);
  const { message: _, ...before } = held;
  return inOrder({ ...record, steps: replaced(record.steps, at, { ...before, ...told, state: isLate ? held.state : told.state }) });
}

/** Words that are on their way, and do not get there. */
export const withWaitingSteers = (record: TurnRecord): TurnRecord => ({
  ...record,
  steps: record.steps.map((step) => (step.kind === 'steer' && step.state === 'sending' ? { ...step, state: 'waiting' } : step)),
});

/** The words belong to another turn. */
export const withoutSteer = (record: TurnRecord, id: string): TurnRecord => ({
  ...record,
  steps: record.steps.filter((step) => step.kind !== 'steer' || step.id !== id),
});

export const failureOf = (entries: readonly Entry[], more: Pick<Failure, 'whoActs' | 'requestId'> = {}): Failure => ({
  code: entries[0]?.ErrorCode ?? 'internal',
  message: entries.map(({ Message }) => Message).join(' '),
  ...(entries[0]?.Details !== undefined && { details: entries[0].Details }),
  ...(more.whoActs !== undefined && { whoActs: more.whoActs }),
  ...(more.requestId !== undefined && { requestId: more.requestId }),
});

export const seconds = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`);
