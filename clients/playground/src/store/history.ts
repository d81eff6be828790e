// What was said in a session before this page was loaded, or elsewhere, from the session's export.
import { AptixError, type AgentExecuteResponse, type ClipboardImage, type InputArtifact, type SessionExport, type ToolCall, type TurnRequest, type Usage } from '../../../typescript/src/index.js';
import { APPROVAL, after, begun, failed, failureOf, inOrder, isLive, type Asked, type Decision, type SteerStep, type Step, type TurnRecord } from './turn_record.js';

type ExportedTurn = SessionExport['Turns'][number];
type Errors = ConstructorParameters<typeof AptixError>[1];
interface Part {
  type: string;
  text?: string;
  refusal?: string;
  image_url?: string;
  filename?: string;
}
/** An item of the conversation, as the model service wrote it. */
interface Item {
  type?: string;
  phase?: string;
  call_id?: string;
  content?: Part[];
  summary?: Part[];
}

export const recordsOf = (exported: SessionExport): TurnRecord[] => exported.Turns.map((turn) => recordOf(turn, exported));

function recordOf(turn: ExportedTurn, exported: SessionExport): TurnRecord {
  const record = begun(turn.TurnId, askedOf(turn), Date.parse(turn.StartedAt));
  const endedAt = Date.parse(turn.UpdatedAt);
  const { Outcome, HttpStatus = 200 } = turn.Submissions.at(-1) ?? {};
  const last = outcomeOf(Outcome);
  const changed = exported.ModeHistory.findLast(({ TurnId }) => TurnId === turn.TurnId);
  const before: TurnRecord = { ...record, steps: worked(turn, exported), endedAt, ...(changed && { mode: modeIn(exported, changed.NewMode) }) };
  // What it waits for comes with its stream.
  if (turn.Status === 'running') return { ...before, status: 'running' };
  if (turn.Status === 'awaiting_tools') return { ...before, status: 'running', pausedAt: endedAt };
  if (last?.Result) return { ...after(before, { type: 'result', response: last.Result }), endedAt };
  const text = turn.TextSoFar;
  const steps: Step[] = text ? [...before.steps, { kind: 'text', segment: -1, text, isKept: true }] : [...before.steps];
  const aborted = { code: 'turn_aborted', message: 'The turn was cancelled.' };
  const failure = turn.Status === 'aborted' ? aborted : failureOf(last?.Errors ?? [], new AptixError(HttpStatus, last?.Errors ?? []));
  return { ...failed(inOrder({ ...before, steps }), failure), endedAt, ...usageOf(turn) };
}

/** What a turn without a response has cost, as far as its model calls have told it. */
export const usageOf = ({ Usage }: { Usage?: Usage }): Pick<TurnRecord, 'usage'> => (Usage && Usage.TotalTokens > 0 ? { usage: Usage } : {});

interface Outcome {
  Result?: AgentExecuteResponse;
  Errors?: Errors;
}
const outcomeOf = (outcome: unknown): Outcome | undefined => outcome as Outcome | undefined;

/** The request of a turn as far as the service keeps it: files, workspace and scope are not among that. */
export function keptRequestOf(turn: ExportedTurn, { AgentContextId, ConversationContextId, Turns }: SessionExport): TurnRequest {
  const texts = partsOf(itemsOf(turn, 'user')).flatMap(({ text }) => text ?? []);
  const { text, pictures } = askedOf(turn);
  const solution = texts.find((each) => each.startsWith(SOLUTION));
  const tools = turn.Tools.filter(({ OnServer, Hosted }) => !OnServer && !Hosted).map(({ Definition }) => Definition);
  const images = pictures.map((address, at) => {
    const [MimeType, DataBase64] = address.slice('data:'.length).split(';base64,');
    return { Id: `picture-${at + 1}`, MimeType, DataBase64 } as ClipboardImage;
  });
  return {
    ...(text && { Instruction: text }),
    ...(images.length > 0 && { ClipboardImages: images }),
    ...(solution !== undefined && { SolutionContextText: solution.slice(SOLUTION.length) }),
    ...(tools.length > 0 && { ToolsJson: JSON.stringify(tools) }),
    ...(turn.ToolChoiceName !== undefined && { ToolChoiceName: turn.ToolChoiceName }),
    ...(turn === Turns[0] && { AgentContextId, ConversationContextId }),
  };
}
const SOLUTION = '[SOLUTION CONTEXT]\n';

type ExportedCall = ExportedTurn['ToolCalls'][number];

/** The arguments with which a call ran: a human may have changed the model's. */
export const argumentsOf = ({ ArgumentsJson, Approval }: ExportedCall): string => Approval?.ArgumentsJson ?? ArgumentsJson;

function stepsOf(call: ExportedCall, turn: ExportedTurn): Step[] {
  const { ToolCallId, Name, ArgumentsJson, Answer, Approval } = call;
  if (call.RunsOn === 'client') {
    return [{ kind: 'client_call', call: { ToolCallId, Name, ArgumentsJson }, answering: Answer ? { at: 'elsewhere', answer: Answer as never } : { at: 'asked' } }];
  }
  const state = !Answer ? (isLive({ status: turn.Status }) ? 'runs' : 'failed') : Answer.ErrorMessage === undefined ? 'done' : 'failed';
  const ran = Answer && { result: Answer, ms: Answer.ExecutionMs };
  const run: Step = { kind: 'server_tool', id: ToolCallId, name: Name, state, argumentsJson: argumentsOf(call), ...ran };
  if (!Approval) return [run];
  if (Approval.Decision === undefined) return [{ kind: 'client_call', call: questionOf(call, turn), answering: { at: 'asked' } }];
  const decision = decisionOf(call, questionOf(call, turn).ToolCallId);
  return Approval.Decision === 'refused' ? [decision] : [decision, run];
}

function decisionOf(call: ExportedCall, id: string): Decision {
  const { Decision: decided, DecidedBy, WaitedMs, ArgumentsJson } = call.Approval!;
  const isApproved = decided === 'approved';
  return {
    kind: 'decision',
    id,
    name: call.Name,
    isApproved,
    argumentsJson: argumentsOf(call),
    isEdited: ArgumentsJson !== undefined,
    ...(!isApproved && call.Answer?.ErrorMessage !== undefined && { message: call.Answer.ErrorMessage }),
    ...(DecidedBy !== undefined && { decidedBy: DecidedBy }),
    ...(WaitedMs !== undefined && { waitedMs: WaitedMs }),
  };
}

/** The pauses of a turn, each with its calls and with what was said beside them. */
const pausesOf = ({ Submissions }: ExportedTurn) =>
  Submissions.flatMap(({ Outcome }) => {
    const result = outcomeOf(Outcome)?.Result;
    return result?.Kind === 'client_tool_continuation' ? [result] : [];
  });

/** The question whether a call may run: as it was asked last, since a fork asks anew under another id, or as it would be, where the turn was stopped before an answer. */
function questionOf({ ToolCallId, Name, ArgumentsJson }: ExportedCall, turn: ExportedTurn): ToolCall {
  const isAbout = (asked: ToolCall) => asked.Name === APPROVAL && JSON.parse(asked.ArgumentsJson).ToolCallId === ToolCallId;
  const asked = pausesOf(turn).flatMap(({ ToolCalls }) => ToolCalls).findLast(isAbout);
  return asked ?? { ToolCallId: `apr_${ToolCallId}`, Name: APPROVAL, ArgumentsJson: `{"Name":${JSON.stringify(Name)},"Arguments":${ArgumentsJson}}` };
}

/** A mode's name, or its key where the catalog has it no more. */
const modeIn = ({ Catalog }: SessionExport, mode: string): string => Catalog?.Modes.find(({ Key }) => Key === mode)?.DisplayName ?? mode;

/** What happened in a turn before its answer: in the order of its conversation, then what has not come into that yet. */
function worked(turn: ExportedTurn, exported: SessionExport): Step[] {
  const calls = [...turn.ToolCalls];
  const steers = steersOf(turn);
  const placeOf = new Map(turn.Steers?.map(({ SteerId, Sequence }) => [SteerId, Sequence]));
  const said = new Map(pausesOf(turn).flatMap(({ ToolCalls: [first], ToolContinuationMessage }) => (first && ToolContinuationMessage ? [[first.ToolCallId, ToolContinuationMessage]] : [])));
  const changes = exported.ModeHistory.filter(({ TurnId }) => TurnId === turn.TurnId);
  const ofCall = (call: ExportedCall): Step[] =>
    stepsOf(call, turn).flatMap((step): Step[] => {
      const words = said.get(step.kind === 'client_call' ? step.call.ToolCallId : step.kind === 'decision' ? step.id : '');
      const change = call.Name === CHANGE_MODE && /"success":true/.test(call.Answer?.ResultJson ?? '') ? changes.shift() : undefined;
      return [
        ...(words === undefined ? [] : [{ kind: 'text' as const, segment: -1, text: words, isKept: true }]),
        step,
        ...(change ? [{ kind: 'note' as const, text: `The mode is now ${modeIn(exported, change.NewMode)}.` }] : []),
      ];
    });
  const ofItem = (item: Item): Step[] => {
    const text = (parts: Part[] = [], between: string) => parts.map((part) => part.text ?? '').join(between);
    if (item.type === 'reasoning' && item.summary?.length) return [{ kind: 'reasoning', text: text(item.summary, '\n\n') }];
    if (item.phase === 'commentary') return [{ kind: 'commentary', text: text(item.content, '') }];
    const at = item.type === 'function_call' ? calls.findIndex(({ CallId }) => CallId === item.call_id) : -1;
    return at < 0 ? [] : calls.splice(at, 1).flatMap(ofCall);
  };
  const ofSteers = (at?: number): Step[] => steers.filter(({ id }) => placeOf.get(id) === at).map((steer) => ({ kind: 'steer', ...steer }));
  const inOrder = turn.Conversation.flatMap(({ Sequence, Kind, Items }, at) => {
    if (Kind === 'steer') return ofSteers(Sequence);
    if (Kind !== 'answer') return [];
    const isAnswered = turn.Conversation[at + 1]?.Kind === 'steer';
    return [...(Items as Item[]).flatMap(ofItem), ...(isAnswered ? answerIn(Items as Item[]) : [])];
  });
  return [...inOrder, ...calls.flatMap(ofCall), ...ofSteers()];
}
/** The answer that words were added to, its messages as the service joins them. What was said beside calls is told with their pause. */
function answerIn(items: readonly Item[]): Step[] {
  if (items.some(({ type }) => type === 'function_call')) return [];
  const messages = items.filter(({ type, phase }) => type === 'message' && phase !== 'commentary').map(({ content = [] }) => content.map((part) => part.text ?? part.refusal ?? '').join(''));
  const text = messages.filter((each) => each !== '').join('\n\n');
  return text ? [{ kind: 'text', segment: -1, text, isKept: true }] : [];
}
const CHANGE_MODE = 'agent_change_mode';

/** A turn's steers, with their words: the export holds them as they were sent until they are in the conversation. */
export function steersOf(turn: ExportedTurn | undefined): (Omit<SteerStep, 'kind'> & { asked: Asked })[] {
  return (turn?.Steers ?? []).map(({ SteerId: id, State: state, Sequence, Instruction = '', ClipboardImages = [], InputArtifacts = [] }) => {
    const entry = turn!.Conversation.find((each) => Sequence !== undefined && each.Sequence === Sequence);
    const pictures = (ClipboardImages as unknown as ClipboardImage[]).map(({ MimeType, DataBase64 }) => `data:${MimeType};base64,${DataBase64}`);
    const files = (InputArtifacts as unknown as InputArtifact[]).map(({ FileName }) => FileName);
    return { id, state, asked: entry ? wordsOf(entry.Items) : { text: Instruction, pictures, files } };
  });
}

const itemsOf = ({ Conversation }: ExportedTurn, kind: string): readonly unknown[] => Conversation.find(({ Kind }) => Kind === kind)?.Items ?? [];
const partsOf = (items: readonly unknown[]): Part[] => items.flatMap((item) => (item as Item).content ?? []);
const askedOf = (turn: ExportedTurn): Asked => wordsOf(itemsOf(turn, 'user'), filesOf(turn));

/** What the trace of a turn's message says of the user's text files: beside them stand the chunks that were found for the words. */
const filesOf = ({ Composition }: ExportedTurn): string[] | undefined =>
  (Composition as { Block: string; Source: string }[] | undefined)?.flatMap(({ Block, Source }) => (Block === 'chunk' && Source.startsWith(ATTACHED) ? [Source.slice(ATTACHED.length)] : []));
const ATTACHED = 'InputArtifacts: ';

/** The user's own words, without the blocks that the service puts around them. Of words that were added, all chunks are the user's. */
function wordsOf(items: readonly unknown[], attached?: readonly string[]): Asked {
  const parts = partsOf(items);
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const first = texts[0]?.replace(/^\[MODE: [^\]]*\]\s*/, '') ?? '';
  const context = texts.find((text) => text.startsWith('[CONTEXT]')) ?? '';
  return {
    text: first.replace(/^\[INSTRUCTION\]\n/, ''),
    pictures: parts.flatMap(({ image_url }) => (image_url?.startsWith('data:image/') ? [image_url] : [])),
    files: [...(attached ?? [...context.matchAll(CHUNK)].map(([, path]) => path!)), ...parts.flatMap(({ filename }) => filename ?? [])],
  };
}
/** The head of a chunk. */
const CHUNK = /^=== CHUNK \d+ ===\nId: ctx_\d+\nPath: (.+)$/gm;
