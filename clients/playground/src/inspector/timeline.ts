// What happened in a turn and when, as rows of spans. Pure: a trace and what this page saw go in, rows come out.
import type { StreamEvent } from '../../../typescript/src/index.js';
import { placesOf } from '../../../typescript/src/cli/model_calls.js';
import { seconds } from '../store/turn_record.js';
import { bytes, tokens, type Inspected, type ModelCall, type TracedCall } from './trace.js';

/** Milliseconds from the beginning of the turn. */
export interface Span {
  from: number;
  to: number;
  look: 'work' | 'model' | 'wait' | 'tool' | 'pause' | 'bad' | 'stopped' | 'dropped' | 'words';
}
export interface Row {
  name: string;
  told: string;
  spans: Span[];
  /** The first byte, where this page saw it. */
  mark?: number;
  /** What went in and came out of it: of the model call with this number, or of the tool calls with these ids. */
  opens?: { call: number } | { tools: readonly string[] };
}
export interface Timeline {
  rows: Row[];
  totalMs: number;
}

type Seen = readonly { at: number; event: StreamEvent }[];

/** `elapsedMs`: how long a turn that has not ended has run, by the clock of this page. */
export function timelineOf({ trace, view }: Inspected, seen: Seen, elapsedMs: number): Timeline {
  const began = Date.parse(view.StartedAt);
  const at = (time: string) => Math.max(0, Date.parse(time) - began);
  const { ModelCalls: calls, Steers: steers = [] } = trace;
  const places = placesOf(calls);
  const running = trace.Running && { ...trace.Running, from: at(trace.Running.Since) };
  const begun = [...calls.map((call) => at(call.StartedAt)), ...(running ? [running.from] : [])];
  const firstBytes = firstBytesOf(calls, seen);
  const ended = (view as { EndedAt?: string }).EndedAt;
  const lastEnd = Math.max(0, ...calls.map((call) => at(call.StartedAt) + (call.DurationMs ?? 0)));
  const totalMs = Math.max(1, ended ? at(ended) : Math.max(lastEnd, elapsedMs, running?.from ?? 0), lastEnd);
  const rows: Row[] = [compositionRow(trace.Composition, begun.length > 0 ? Math.min(...begun) : totalMs)];
  const ordered = inOrder(calls);
  let compaction = 0;
  ordered.forEach(({ call, index, name }, place) => {
    const from = at(call.StartedAt);
    const to = call.DurationMs == null ? totalMs : from + call.DurationMs;
    const next = ordered[place + 1]?.call;
    rows.push(...wordsFor(steers.filter(({ ModelCall }) => places[ModelCall ?? -1] === index), name, at));
    if (call.Summary && !ordered[place - 1]?.call.Summary) rows.push(compactionRow(trace.Compactions[compaction++], from));
    rows.push(callRow(call, name, from, to, firstBytes.get(call.Number)));
    const asked = trace.ToolCalls.filter(({ ModelCall }) => places[ModelCall] === index);
    rows.push(...toolRows(asked, ended !== undefined, to, next ? at(next.StartedAt) : (running?.from ?? totalMs)));
  });
  const isListed = calls.some(({ DurationMs }) => DurationMs == null);
  if (running && !isListed) rows.push(...runningRow(running, ordered.filter(({ call }) => !call.Summary).length + 1, totalMs));
  rows.push(...wordsFor(steers.filter(({ ModelCall }) => ModelCall === undefined), '', at, totalMs));
  // Those that needed no summary have no time of their own.
  for (const rest of trace.Compactions.slice(compaction)) rows.splice(1, 0, compactionRow(rest, rows[0]!.spans[0]!.to));
  return { rows, totalMs };
}

/** What a turn that runs is at, which the trace lists only when it is over. */
function runningRow({ Kind, from }: { Kind: string; from: number }, call: number, until: number): Row[] {
  const known: Record<string, Pick<Row, 'name'> & Pick<Span, 'look'>> = {
    model_call: { name: `Model call ${call}`, look: 'model' },
    retry: { name: `Model call ${call}`, look: 'wait' },
    server_tool: { name: 'A tool of the service', look: 'tool' },
    compaction: { name: 'Compaction', look: 'wait' },
  };
  const row = known[Kind];
  return row ? [{ name: row.name, told: `${seconds(Math.round(until - from))}, under way`, spans: [{ from, to: until, look: row.look }] }] : [];
}

/** Whether the trace tells of a model call that it does not list yet. */
export const isCalling = ({ Running, ModelCalls }: Inspected['trace']): boolean =>
  (Running?.Kind === 'model_call' || Running?.Kind === 'retry') && !ModelCalls.some(({ DurationMs }) => DurationMs == null);

const STEERS = { pending: 'wait for the next call', delivered: 'with', kept: 'the next turn has them', refused: 'left out' } as const;

/** Words that were added, which went with the call of this name, or with none. */
function wordsFor(steers: NonNullable<Inspected['trace']['Steers']>, name: string, at: (time: string) => number, until = 0): Row[] {
  return steers.map(({ AcceptedAt, State, WaitedMs, Interrupted }) => {
    const from = at(AcceptedAt);
    const told = [WaitedMs !== undefined && `waited ${seconds(WaitedMs)}`, State === 'delivered' ? `with ${name}` : STEERS[State], Interrupted && 'a call was dropped for them'];
    return { name: 'Words that were added', told: told.filter(Boolean).join(' · '), spans: [{ from, to: Math.max(from, WaitedMs === undefined ? until : from + WaitedMs), look: 'words' }] };
  });
}

/** The calls as they were made, with their names; `index` is their place in the trace. */
export function inOrder(calls: readonly ModelCall[]): { call: ModelCall; index: number; name: string }[] {
  const ordered = calls.map((call, index) => ({ call, index })).sort((a, b) => Date.parse(a.call.StartedAt) - Date.parse(b.call.StartedAt) || a.index - b.index);
  let number = 0;
  return ordered.map((each) => ({ ...each, name: each.call.Summary ? 'Summary of earlier turns' : `Model call ${++number}` }));
}

function compactionRow(compaction: Inspected['trace']['Compactions'][number] | undefined, at: number): Row {
  if (!compaction) return { name: 'Compaction', told: 'under way', spans: [{ from: at, to: at, look: 'wait' }] };
  const { Reason, ItemsBefore, ItemsAfter, TurnsLeftOut, SummaryBytes } = compaction;
  const why = { threshold: 'the threshold was reached', refused: 'the service refused the length', service: 'done by the service' }[Reason];
  const left = TurnsLeftOut > 0 ? ` · turns left out: ${TurnsLeftOut}` : '';
  return { name: 'Compaction', told: `${why} · items: ${ItemsBefore}, then ${ItemsAfter} · summary: ${SummaryBytes} bytes${left}`, spans: [{ from: at, to: at, look: 'wait' }] };
}

function compositionRow(blocks: Inspected['trace']['Composition'], until: number): Row {
  const retrieval = blocks.find(({ DurationMs }) => DurationMs !== undefined)?.DurationMs;
  const told = retrieval === undefined ? seconds(until) : `${seconds(until)}, of it retrieval ${seconds(retrieval)}`;
  return { name: 'Preparing the message', told, spans: [{ from: 0, to: until, look: 'work' }] };
}

function callRow(call: ModelCall, name: string, from: number, to: number, firstByte: number | undefined): Row {
  const waited = call.Retries.map(({ WaitedMs }) => WaitedMs);
  const spans: Span[] = [];
  let start = from;
  for (const ms of waited) {
    spans.push({ from: start, to: Math.min(to, start + ms), look: 'wait' });
    start = Math.min(to, start + ms);
  }
  const isStopped = call.Fault?.ErrorCode === 'turn_aborted';
  spans.push({ from: start, to, look: call.Interrupted ? 'dropped' : isStopped ? 'stopped' : call.Fault ? 'bad' : 'model' });
  const statuses = call.Retries.map(({ HttpStatus }) => HttpStatus ?? 'no answer').join(', ');
  const told = [
    seconds(to - from),
    call.Service && `${call.Fault ? 'asked of' : 'answered by'} model service ${call.Service}`,
    firstByte !== undefined && `first byte after ${seconds(firstByte)}`,
    call.Usage && call.Usage.TotalTokens > 0 && `${tokens(call.Usage.PromptTokens)} in, ${tokens(call.Usage.CompletionTokens)} out`,
    waited.length > 0 && `repeated after ${statuses}, waited ${seconds(waited.reduce((a, b) => a + b, 0))}`,
    call.Interrupted && 'dropped for words that were added',
    call.Background && (call.Resumed ? `in the background, read on ${call.Resumed === 1 ? 'once' : `${call.Resumed} times`}` : 'in the background'),
    call.Rebuilt && 'the whole conversation, since the model service had forgotten it',
    call.Reduced && `reduced to: ${call.Reduced}`,
    isStopped ? 'stopped' : call.Fault && `failed: ${call.Fault.ErrorCode}`,
  ];
  return { name, told: told.filter(Boolean).join(' · '), spans, opens: { call: call.Number }, ...(firstByte !== undefined && { mark: Math.min(to, from + firstByte) }) };
}

/**
 * The service's own tools run one after the other. Then the turn pauses, once, for all that the client runs and a human
 * decides; what was approved runs after that. A tool that fails its turn leaves its call without a result.
 */
function toolRows(calls: readonly TracedCall[], isOver: boolean, from: number, until: number): Row[] {
  const rows: Row[] = [];
  let start = from;
  const run = (call: TracedCall, waited: Span[] = [], asked?: string) => {
    const { Name, ExecutionMs = 0, Successful, ResultBytes, Mcp, Approval } = call;
    const hasRun = call.RunsOn === 'server' && (!Approval || Approval.Decision !== undefined);
    const isLost = isOver && hasRun && Successful === undefined;
    const spans = [...waited];
    if (hasRun) spans.push({ from: start, to: (start = Math.min(until, start + ExecutionMs)), look: Successful === false || isLost ? 'bad' : 'tool' });
    const told = [hasRun && (isLost ? 'no result' : seconds(ExecutionMs)), ResultBytes !== undefined && hasRun && `result of ${bytes(ResultBytes)}`, Mcp && `by MCP server ${Mcp.Server}`, asked, hasRun && Successful === false && 'failed'];
    rows.push({ name: Name, told: told.filter(Boolean).join(' · '), spans, opens: { tools: [call.ToolCallId] } });
  };
  for (const call of calls) if (call.RunsOn === 'server' && !call.Approval) run(call);
  const paused = start;
  const waits = calls.flatMap(({ Approval }) => (Approval ? [Approval.WaitedMs ?? until - paused] : []));
  const mine = calls.filter(({ RunsOn, Approval }) => RunsOn === 'client' && !Approval);
  const end = Math.min(until, waits.length > 0 ? paused + Math.max(...waits) : mine.length > 0 ? until : paused);
  const pause: Span = { from: paused, to: end, look: 'pause' };
  start = end;
  for (const call of calls) if (call.Approval) run(call, [pause], decisionOf(call, end - paused));
  if (mine.length > 0) {
    const names = mine.map(({ Name, ExecutionMs }) => (ExecutionMs === undefined ? Name : `${Name} ${seconds(ExecutionMs)}`)).join(', ');
    rows.push({ name: 'Pause for the client', told: `${seconds(Math.max(0, end - paused))} · ${names}`, spans: [pause], opens: { tools: mine.map(({ ToolCallId }) => ToolCallId) } });
  }
  return rows;
}

/** What a human decided about a call, who it was, and how long the turn waited. */
function decisionOf({ Approval }: TracedCall, waitedMs: number): string {
  const { Decision, Edited, DecidedBy, WaitedMs = waitedMs } = Approval ?? {};
  const by = DecidedBy && !DecidedBy.endsWith(':none') ? ` by ${DecidedBy.replace(/^(user|actor):/, '').replace(/^key:/, 'the key ')}` : '';
  return `${Decision ?? 'waits for approval'}${Edited ? ' with changes' : ''}${by}, waited ${seconds(Math.round(WaitedMs))}`;
}

/**
 * When the first text of each call came to this page, in ms from the call's start, by the call's number. The trace does
 * not tell it. The page's clock is another one, so both ends are taken from that: a call is announced as it is made.
 */
function firstBytesOf(calls: readonly ModelCall[], seen: Seen): Map<number, number> {
  const found = new Map<number, number>();
  let announced: number | undefined;
  for (const { at, event } of seen) {
    if (event.type === 'progress' && event.progress.Kind === 'model_call') announced = at;
    if (event.type !== 'text' || announced === undefined) continue;
    const call = calls.findLast(({ Segment, Summary, Fault }) => Segment === event.segment && !Summary && !Fault);
    const since = call && sinceStart(call, calls, at - announced);
    if (since !== undefined) found.set(call!.Number, since);
    announced = undefined;
  }
  return found;
}

/**
 * A call that takes the place of one that was refused is not announced again: what was counted since the announcement
 * then began with the refused one, or with the summary before it. Where none of these fits into the call, nothing is told.
 * What can only be the call's own came to its end at the latest, however late a busy page has taken it.
 */
function sinceStart(call: ModelCall, calls: readonly ModelCall[], counted: number): number | undefined {
  const start = ({ StartedAt }: ModelCall) => Date.parse(StartedAt);
  const lasted = call.DurationMs ?? Infinity;
  const beginnings = calls.filter((each) => start(each) <= start(call) && (each.Summary || each.Segment === call.Segment));
  if (beginnings.length === 1) return Math.min(counted, lasted);
  return beginnings
    .sort((a, b) => start(b) - start(a))
    .map((each) => counted - (start(call) - start(each)))
    .find((ms) => ms >= 0 && ms <= lasted);
}

/** What took the turn's time, in ms; only what is told. */
export function spentOn({ trace, view }: Inspected): { name: string; ms: number }[] {
  const { rows, totalMs } = timelineOf({ trace, view }, [], Date.parse(view.UpdatedAt) - Date.parse(view.StartedAt));
  const of = (look: Span['look'][]) => rows.flatMap(({ spans }) => spans).filter((span) => look.includes(span.look));
  const sum = (look: Span['look'][]) => of(look).reduce((ms, { from, to }) => ms + to - from, 0);
  // What is waited for together was waited for once.
  const pauses = new Map(of(['pause']).map(({ from, to }) => [from, to - from]));
  const retrieval = trace.Composition.reduce((ms, { DurationMs = 0 }) => ms + DurationMs, 0);
  const parts = [
    { name: 'Retrieval', ms: retrieval },
    { name: 'The model', ms: sum(['model', 'bad', 'stopped', 'dropped']) },
    { name: 'Waits before repetitions', ms: sum(['wait']) },
    { name: 'Tools of the service', ms: sum(['tool']) },
    { name: 'The client and its user', ms: [...pauses.values()].reduce((all, ms) => all + ms, 0) },
  ];
  const rest = totalMs - parts.reduce((ms, part) => ms + part.ms, 0);
  return [...parts.filter(({ ms }) => ms > 0), { name: 'The service itself', ms: Math.max(0, rest) }];
}
