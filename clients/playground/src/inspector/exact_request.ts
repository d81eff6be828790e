// The bodies that the model service was sent, built again from the export (interface §1): from the transcript of each model
// call and the texts and entries that it names. Pure, but for the hash by which a body proves to be the one that was sent.
// JSON is taken as it is written: a number that is read and written again may be another one.
import { membersOf } from '../../../typescript/src/json_text.js';
import { forReplay } from './replayed_items.js';

export interface SentCall {
  number: number;
  startedAt: string;
  isSummary: boolean;
  body: string;
  bytes: number;
  /** Whether the body is the one that was sent, byte for byte; `undefined` where the browser cannot tell. */
  isExact: boolean | undefined;
}

/** The transcript of a model call, as far as its body needs it. */
interface Transcript {
  Number: number;
  StartedAt: string;
  Summary?: boolean;
  BodySha256: string;
  Template?: string;
  ToolsSent?: boolean;
  ToolChoice?: string;
  PreviousResponseId?: string | null;
  Input?: { First: number; Last: number; Form?: unknown }[];
  Summarised?: string;
}

interface Entry {
  kind: string;
  items: string;
}

/** All calls of a turn, in their order. Those that an older version has stored cannot be built again, and are left out. */
export async function sentCalls(exportJson: string, turnId: string): Promise<SentCall[]> {
  const result = membersOf(membersOf(exportJson).get('Result') ?? '');
  const texts: Record<string, string> = JSON.parse(result.get('Texts') ?? '{}');
  const turns = elementsOf(result.get('Turns') ?? '[]').map(membersOf);
  const entries = new Map<number, Entry>();
  for (const entry of turns.flatMap((turn) => elementsOf(turn.get('Conversation') ?? '[]'))) {
    const members = membersOf(entry);
    entries.set(Number(members.get('Sequence')), { kind: JSON.parse(members.get('Kind')!), items: members.get('Items') ?? '[]' });
  }
  const turn = turns.find((each) => each.get('TurnId') === JSON.stringify(turnId));
  const tools = elementsOf(turn?.get('Tools') ?? '[]').map((tool) => membersOf(tool).get('Definition') ?? 'null');
  const calls = elementsOf(turn?.get('ModelCalls') ?? '[]').map((call) => JSON.parse(call) as Transcript);
  const built = calls.filter(({ Template }) => Template !== undefined && texts[Template] !== undefined).sort((a, b) => a.Number - b.Number);
  return Promise.all(
    built.map(async (call) => {
      const body = bodyOf(call, texts, tools, entries);
      const { bytes, sha256 } = await measured(body);
      const isExact = sha256 === undefined ? undefined : sha256 === call.BodySha256;
      return { number: call.Number, startedAt: call.StartedAt, isSummary: call.Summary === true, body, bytes, isExact };
    }),
  );
}

/** What went into something, or came out of it. */
export interface Passed {
  label: string;
  json?: string;
  text?: string;
}

/** What passed through a model call, or through calls of tools, as far as the export has it. */
export async function passedThrough(exportJson: string, turnId: string, of: { call: number } | { tools: readonly string[] }): Promise<Passed[]> {
  const turn = elementsOf(membersOf(membersOf(exportJson).get('Result') ?? '').get('Turns') ?? '[]')
    .map(membersOf)
    .find((each) => each.get('TurnId') === JSON.stringify(turnId));
  if (!turn) return [];
  if ('tools' in of) return elementsOf(turn.get('ToolCalls') ?? '[]').map((call) => JSON.parse(call) as ToolCall).filter(({ ToolCallId }) => of.tools.includes(ToolCallId)).flatMap(passedTool);
  const calls = await sentCalls(exportJson, turnId);
  const call = calls.find(({ number }) => number === of.call);
  if (!call) return [];
  const answer = call.isSummary ? undefined : answerTo(turn, of.call);
  return [{ label: 'Input: the request to the model service', json: call.body }, ...(answer === undefined ? [] : [{ label: 'Output: what the model service gave', json: answer }])];
}

interface ToolCall {
  ToolCallId: string;
  Name: string;
  ArgumentsJson: string;
  Approval?: { ArgumentsJson?: string };
  Answer?: { ResultJson?: string | null; ErrorMessage?: string | null };
}

function passedTool({ Name, ArgumentsJson, Approval, Answer }: ToolCall): Passed[] {
  const input = { label: `Input: arguments of ${Name}`, json: Approval?.ArgumentsJson ?? ArgumentsJson };
  if (!Answer) return [input];
  const label = `Output: result of ${Name}`;
  return [input, Answer.ErrorMessage != null ? { label, text: Answer.ErrorMessage } : { label, json: Answer.ResultJson ?? 'null' }];
}

/** The items that a call's response has brought: the answer that follows what the call has sent, and precedes what the next one has. */
function answerTo(turn: ReadonlyMap<string, string>, number: number): string | undefined {
  const calls = elementsOf(turn.get('ModelCalls') ?? '[]').map((call) => JSON.parse(call) as Transcript).filter(({ Summary }) => !Summary).sort((a, b) => a.Number - b.Number);
  const lastOf = ({ Input = [] }: Transcript) => Math.max(0, ...Input.map(({ Last }) => Last));
  const at = calls.findIndex(({ Number: each }) => each === number);
  const next = calls[at + 1];
  const answers = elementsOf(turn.get('Conversation') ?? '[]').map(membersOf).filter((entry) => entry.get('Kind') === '"answer"');
  const isOurs = (sequence: number) => sequence > lastOf(calls[at]!) && (!next || sequence < lastOf(next));
  return answers.find((entry) => isOurs(Number(entry.get('Sequence'))))?.get('Items');
}

function bodyOf(call: Transcript, texts: Record<string, string>, tools: readonly string[], entries: ReadonlyMap<number, Entry>): string {
  const { Template, ToolsSent, ToolChoice, PreviousResponseId, Summarised } = call;
  const members = [
    ToolsSent && `"tools":[${tools.join(',')}]`,
    ToolChoice !== undefined && `"tool_choice":{"type":"function","name":${JSON.stringify(ToolChoice)}}`,
    PreviousResponseId != null && `"previous_response_id":${JSON.stringify(PreviousResponseId)}`,
  ].filter(Boolean);
  const input = Summarised === undefined ? inputOf(call, entries) : texts[Summarised];
  // Texts stand before it, in which quotes are escaped, so this is the member itself.
  const [before = '', ...behind] = texts[Template!]!.split('"input":[]');
  return `${before}"input":[${input}]${members.length > 0 ? ',' : ''}${members.join(',')}${behind.join('"input":[]')}`;
}

function inputOf({ Input = [] }: Transcript, entries: ReadonlyMap<number, Entry>): string {
  const items = Input.flatMap(({ First, Last }) => {
    const sent: string[] = [];
    for (let place = First; place <= Last; place += 1) {
      const { kind = '', items: stored = '[]' } = entries.get(place) ?? {};
      if (kind === 'answer') sent.push(...forReplay(elementsOf(stored)));
      else sent.push(stored.slice(1, -1));
    }
    return sent;
  });
  return items.filter(Boolean).join(',');
}

/** A string, or a mark of the structure. */
const TOKEN = /"[^"\\]*(?:\\.[^"\\]*)*"|[[\]{},]/gs;

/** The elements of the array that a JSON text is, each as it is written. */
export function elementsOf(json: string): string[] {
  const elements: string[] = [];
  let depth = 0;
  let from = 0;
  for (const { 0: token, index } of json.matchAll(TOKEN)) {
    if (depth === 1 && (token === ',' || token === ']')) {
      elements.push(json.slice(from, index).trim());
      from = index + 1;
    }
    if (token === '[' || token === '{') {
      if (depth === 0) from = index + 1;
      depth += 1;
    } else if (token === ']' || token === '}') depth -= 1;
  }
  return elements.filter(Boolean);
}

async function measured(body: string): Promise<{ bytes: number; sha256?: string }> {
  const bytes = new TextEncoder().encode(body);
  // A page without https has no hashes, but on this machine.
  if (!globalThis.crypto?.subtle) return { bytes: bytes.length };
  const hash = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
  return { bytes: bytes.length, sha256: Array.from(hash, (byte) => byte.toString(16).padStart(2, '0')).join('') };
}
