// What was said in a session before this page was loaded, from the session's export.
import type { AgentExecuteResponse, ClipboardImage, InputArtifact, SessionExport } from '../../../typescript/src/index.js';
import { after, begun, failed, failureOf, type Asked, type SteerStep, type Step, type TurnRecord } from './turn_record.js';

type ExportedTurn = SessionExport['Turns'][number];
interface Part {
  type: string;
  text?: string;
  image_url?: string;
  filename?: string;
}

export const recordsOf = ({ Turns }: SessionExport): TurnRecord[] => Turns.map(recordOf);

function recordOf(turn: ExportedTurn): TurnRecord {
  const record = begun(turn.TurnId, askedOf(turn), Date.parse(turn.StartedAt));
  const endedAt = Date.parse(turn.UpdatedAt);
  const last = outcomeOf(turn.Submissions.at(-1)?.Outcome);
  const said: Step[] = turn.SaidWithCalls ? [{ kind: 'text', segment: -1, text: turn.SaidWithCalls, isKept: true }] : [];
  const before: TurnRecord = { ...record, steps: [...said, ...worked(turn)], endedAt };
  if (turn.Status === 'running') return { ...before, status: 'running' };
  if (turn.Status === 'awaiting_tools') return { ...before, status: 'running' };
  if (last?.Result) return { ...after(before, { type: 'result', response: last.Result }), endedAt };
  const text = turn.TextSoFar;
  const steps: Step[] = text ? [...before.steps, { kind: 'text', segment: -1, text, isKept: true }] : [...before.steps];
  const aborted = { code: 'turn_aborted', message: 'The turn was cancelled.' };
  const failure = turn.Status === 'aborted' ? aborted : failureOf(last?.Errors ?? []);
  return { ...failed({ ...before, steps }, failure), endedAt };
}

interface Outcome {
  Result?: AgentExecuteResponse;
  Errors?: Parameters<typeof failureOf>[0];
}
const outcomeOf = (outcome: unknown): Outcome | undefined => outcome as Outcome | undefined;

type ExportedCall = ExportedTurn['ToolCalls'][number];

/** The arguments with which a call ran: a human may have changed the model's. */
export const argumentsOf = ({ ArgumentsJson, Approval }: ExportedCall): string => Approval?.ArgumentsJson ?? ArgumentsJson;

function stepOf(call: ExportedCall): Step {
  const { ToolCallId, Name, ArgumentsJson, Answer } = call;
  if (call.RunsOn === 'client') {
    return { kind: 'client_call', call: { ToolCallId, Name, ArgumentsJson }, ...(Answer && { answer: Answer as never }) };
  }
  const state = !Answer ? 'runs' : Answer.ErrorMessage === undefined ? 'done' : 'failed';
  const ran = Answer && { result: Answer, ms: Answer.ExecutionMs };
  return { kind: 'server_tool', id: ToolCallId, name: Name, state, argumentsJson: argumentsOf(call), ...ran };
}

/** Calls and steers in their order: a steer comes before the model call that took it. */
function worked(turn: ExportedTurn): Step[] {
  const taken = new Map(turn.Steers?.map(({ SteerId, ModelCall = Infinity }) => [SteerId, ModelCall]));
  const calls = turn.ToolCalls.map((call) => ({ call: call.ModelCall, step: stepOf(call) }));
  const steers = steersOf(turn).map((steer) => ({ call: taken.get(steer.id)! - 0.5, step: { kind: 'steer' as const, ...steer } }));
  return [...calls, ...steers].sort((one, other) => (one.call === other.call ? 0 : one.call - other.call)).map(({ step }) => step);
}

/** A turn's steers, with their words: the export holds them as they were sent until they are in the conversation. */
export function steersOf(turn: ExportedTurn | undefined): (Omit<SteerStep, 'kind'> & { asked: Asked })[] {
  return (turn?.Steers ?? []).map(({ SteerId: id, State: state, Sequence, Instruction = '', ClipboardImages = [], InputArtifacts = [] }) => {
    const entry = turn!.Conversation.find((each) => Sequence !== undefined && each.Sequence === Sequence);
    const pictures = (ClipboardImages as unknown as ClipboardImage[]).map(({ MimeType, DataBase64 }) => `data:${MimeType};base64,${DataBase64}`);
    const files = (InputArtifacts as unknown as InputArtifact[]).map(({ FileName }) => FileName);
    return { id, state, asked: entry ? wordsOf(entry.Items) : { text: Instruction, pictures, files } };
  });
}

const askedOf = ({ Conversation }: ExportedTurn): Asked => wordsOf(Conversation.find(({ Kind }) => Kind === 'user')?.Items ?? []);

/** The user's own words, without the blocks that the service puts around them. */
function wordsOf(items: readonly unknown[]): Asked {
  const parts = items.flatMap((item) => (item as { content?: Part[] }).content ?? []);
  const texts = parts.flatMap(({ text }) => (text === undefined ? [] : [text]));
  const first = texts[0]?.replace(/^\[MODE: [^\]]*\]\s*/, '') ?? '';
  const context = texts.find((text) => text.startsWith('[CONTEXT]')) ?? '';
  return {
    text: first.replace(/^\[INSTRUCTION\]\n/, ''),
    pictures: parts.flatMap(({ image_url }) => (image_url?.startsWith('data:image/') ? [image_url] : [])),
    files: [...[...context.matchAll(/^Path: (.+)$/gm)].map(([, path]) => path!), ...parts.flatMap(({ filename }) => filename ?? [])],
  };
}
