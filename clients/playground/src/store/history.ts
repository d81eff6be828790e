// What was said in a session before this page was loaded, from the session's export.
import type { AgentExecuteResponse, SessionExport } from '../../../typescript/src/index.js';
import { after, begun, failed, failureOf, type Asked, type Step, type TurnRecord } from './turn_record.js';

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
  const before: TurnRecord = { ...record, steps: [...said, ...turn.ToolCalls.map(stepOf)], endedAt };
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

/** The user's own words, without the blocks that the service puts around them. */
function askedOf({ Conversation }: ExportedTurn): Asked {
  const items = Conversation.find(({ Kind }) => Kind === 'user')?.Items ?? [];
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
