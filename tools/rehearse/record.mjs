// Recorded sessions, read from exports: what each turn was asked, what it called and was answered, who steered it and when.
import { readFileSync, readdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { readMessage } from './user_message.mjs';

/** The files among these paths and in the folders among them. Throws what the file system throws. */
export function filesIn(paths) {
  return paths.flatMap((each) =>
    statSync(each).isDirectory() ? readdirSync(each).filter((name) => name.endsWith('.json')).sort().map((name) => path.join(each, name)) : [each]);
}

/** The session of a file, or throws an `Error` that says what the file lacks. */
export function readSession(file) {
  // A decoder leaves out the mark that some programs write first.
  const document = JSON.parse(new TextDecoder().decode(readFileSync(file)));
  const exported = document?.Result ?? document;
  if (typeof exported?.SessionId !== 'string' || !Array.isArray(exported.Turns)) throw new Error('it is no export of a session');
  const turns = exported.Turns.filter(({ Status }) => Status !== 'running');
  let tools;
  return {
    file,
    id: exported.SessionId,
    context: exported.ConversationContextId,
    user: turns.flatMap(({ Submissions }) => Submissions).find(({ Caller }) => Caller?.User !== undefined)?.Caller.User,
    servers: listsOf(turns),
    nameOf: namesOf(turns),
    turns: turns.map((turn) => {
      const read = turnOf(turn);
      // None where there were some before: the client has taken them back.
      const own = clientTools(turn) ?? (tools && '[]');
      // Latched tools stay, and those of a session that has none of its own are the context's.
      if (exported.ClientTools && own !== tools) read.request.ToolsJson = tools = own;
      return read;
    }),
  };
}

function turnOf(exported) {
  const { TurnId: id, Status: status, Conversation, Composition, ModelCalls, Steers = [], OutputSchema, OutputSchemaName } = exported;
  const { request, retrieved } = readMessage(Conversation.find(({ Kind }) => Kind === 'user')?.Items ?? [], Composition);
  const modelCalls = [...ModelCalls].sort((one, other) => one.Number - other.Number);
  // Of the turn's first call alone.
  const ToolChoiceName = modelCalls.find(({ Summary }) => !Summary)?.ToolChoice;
  return {
    id,
    status,
    exported,
    retrieved,
    calls: exported.ToolCalls.map(withoutSettlement),
    request: {
      ...request,
      ...(ToolChoiceName !== undefined && { ToolChoiceName }),
      ...(OutputSchema !== undefined && { OutputSchema: JSON.stringify(OutputSchema), OutputSchemaName }),
    },
    /** The model calls that ended with an output. */
    heard: modelCalls.filter(isHeard).length,
    steers: Steers.map((steer) => steerOf(steer, Conversation, modelCalls)),
  };
}

/** What the service says of a call that its turn left open, as soon as a later turn needs an output for it. */
const SETTLED = /^(It is not known whether the tool was executed|The tool was not executed): (the turn|another turn) /;

/** The call as its tool left it: the service's own words about one that has no result are none. */
function withoutSettlement({ Answer, ...call }) {
  return Answer && !SETTLED.test(Answer.ErrorMessage ?? '') ? { ...call, Answer } : call;
}

const isHeard = ({ Interrupted, Fault }) => !Interrupted && (Fault ?? null) === null;

/** `before`: how many model calls had ended with an output when the model got it; `undefined` where it never did. */
function steerOf({ SteerId, State, Interrupted, ModelCall, Sequence, Instruction, InputArtifacts, ClipboardImages }, conversation, modelCalls) {
  const entry = Sequence === undefined ? undefined : conversation.find((each) => each.Sequence === Sequence);
  const content = entry ? readMessage(entry.Items).request : { Instruction, InputArtifacts, ClipboardImages };
  if (ModelCall === undefined) return { request: { SteerId, ...content }, isKept: State === 'kept' };
  // Only calls whose output was kept have a number, and summaries have none.
  const places = modelCalls.flatMap((call, place) => (call.Summary || !isHeard(call) ? [] : [place]));
  const before = modelCalls.slice(0, places[ModelCall] ?? modelCalls.length).filter(isHeard).length;
  // Words that came before the first call can come only while it is under way.
  return { request: { SteerId, ...content }, before, interrupts: Boolean(Interrupted) || before === 0 };
}

function clientTools({ Tools }) {
  const own = Tools.filter(({ OnServer, Hosted }) => !OnServer && !Hosted).map(({ Definition }) => Definition);
  return own.length > 0 ? JSON.stringify(own) : undefined;
}

/** The name by which the model sees a server's tool. */
function namesOf(turns) {
  const names = new Map(turns.flatMap(({ Tools }) => Tools.flatMap(({ Name, Mcp }) => (Mcp ? [[`${Mcp.Server}/${Mcp.Tool}`, Name]] : []))));
  return (server, tool) => names.get(`${server}/${tool}`);
}

/** The tools of each MCP server that the turns offered, as the server lists them; those of later turns come first. */
function listsOf(turns) {
  // A server may be called `constructor`.
  const servers = Object.create(null);
  for (const { Tools } of [...turns].reverse()) {
    for (const { Mcp, Definition } of Tools) {
      if (!Mcp) continue;
      const list = (servers[Mcp.Server] ??= []);
      if (list.some(({ name }) => name === Mcp.Tool)) continue;
      const { description, parameters: inputSchema } = Definition;
      list.push({ name: Mcp.Tool, ...(description !== undefined && { description }), inputSchema });
    }
  }
  return servers;
}
