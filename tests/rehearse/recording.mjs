// What is rehearsed in these tests: the catalog with a tool of each kind, the sessions that are recorded with it, and how the
// command is run over their exports.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, beforeEach } from 'node:test';
import { dualServer } from '../fakes/mcp_servers/dual.mjs';
import { API_KEY, catalogOf, clientTool, eventually, httpTool, resultOf, rigForFile, sharedBy } from '../e2e/harness.mjs';
import { Gate, gated } from '../e2e/scripted_model.mjs';
import { command } from '../server/package_server.mjs';
import { release, take } from '../shared.mjs';
import { PLANNED, plan } from './planned_model.mjs';

/** The MCP server that is recorded, once a test has begun. */
let mcp;
const MCP = 'the MCP server of the recording';
const HOOK_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==';

function changes(catalog, { toolUrl }) {
  const names = { type: 'object', properties: { name: { type: 'string' }, times: { type: 'integer' } } };
  const tool = (name, more) => httpTool(name, toolUrl, { Parameters: names, OnError: 'ReportToModel', ...more });
  catalog.ServerTools.push(
    tool('look'),
    tool('check'),
    tool('mail', { Approval: { When: 'Always', AllowEdit: true } }),
    tool('both', { Parallel: true }),
    tool('broken', { OnError: 'FailTurn' }),
  );
  catalog.McpServers = { dual: { Url: mcp.url, Headers: { Authorization: 'Bearer ${TOOL_SECRET}' } } };
  for (const mode of catalog.Modes) mode.Tools.push('look', 'check', 'mail', 'both', 'broken', 'dual/*');
  catalog.Webhooks = { done: { Url: toolUrl('/hook'), SigningSecrets: ['HOOK_SECRET'] } };
  Object.assign(catalog.ConversationContexts.default, { Webhooks: ['done'], Tools: [clientTool('open')] });
  catalog.AgentContexts.default.Retrieval = { Http: { Url: toolUrl('/search'), Headers: { Authorization: 'Bearer ${TOOL_SECRET}' } } };
  catalog.AgentContexts.replay = { ...catalog.AgentContexts.default, Continuation: 'replay' };
  catalog.ConversationContexts.replay = { ...catalog.ConversationContexts.default, AgentContextId: 'replay' };
}

const RECORDING = sharedBy({ vars: { HOOK_SECRET, DELTA_INTERVAL_MS: '0' }, catalog: changes, hidden: [[HOOK_SECRET]] });

/** The Worker that records, and the folder of the exports. */
export function recordingForFile() {
  let starting;
  beforeEach(async () => (mcp = await (starting ??= take(MCP, dualServer, (server) => server.close()))));
  const rig = rigForFile(RECORDING);
  const folder = mkdtempSync(path.join(os.tmpdir(), 'rehearse-'));
  beforeEach(() => rig.model.otherwise(PLANNED));
  after(() => {
    rmSync(folder, { recursive: true, force: true });
    return starting && release(MCP);
  });
  return { rig, folder, in: (name) => path.join(folder, name) };
}

/** The catalog that was recorded with, with these changes. Its MCP server stands where every request is noticed. */
export function changedCatalog({ rig, in: at }, name, change = () => {}) {
  const services = { modelUrl: rig.model.url, toolUrl: (...where) => rig.tools.url(...where) };
  const file = at(`${name}.catalog.json`);
  writeFileSync(file, JSON.stringify(catalogOf(services, (catalog, given) => {
    changes(catalog, given);
    catalog.McpServers.dual.Url = given.toolUrl('/mcp');
    change(catalog);
  })));
  return file;
}

/** The objects' files lie in memory where possible, as those of the Worker that records. */
const TMPDIR = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
export const ENVIRONMENT = { OPENAI_API_KEY: API_KEY, HOOK_SECRET, TMPDIR, NODE_NO_WARNINGS: '1' };

/** Runs the command: `{ code, out, err, report }`, `report` being its JSON. The real world's tools and hooks must not hear of it. */
export async function rehearse({ rig, in: at }, exports, args) {
  const json = at('report.json');
  rig.tools.requests.length = 0;
  rmSync(json, { force: true });
  const run = await command(['rehearse', ...exports, '--json', json, ...args], { env: ENVIRONMENT });
  assert.deepEqual(rig.tools.requests.map(({ path: asked }) => asked), [], 'an address of the catalog was reached');
  return { ...run, report: run.code === 2 ? undefined : JSON.parse(readFileSync(json, 'utf8')) };
}

/** Writes a session's export; resolves to its file. */
export async function exported({ rig, in: at }, SessionId, headers) {
  const file = at(`${SessionId}.json`);
  const response = await rig.get(`/sessions/${SessionId}/export`, { headers });
  assert.equal(response.status, 200, response.text);
  writeFileSync(file, response.text);
  return file;
}

/** Records turns of a session; `turns` are `{ Instruction, … }` by their ids. Pauses are answered by `answers`. Resolves to the file. */
export async function recorded(recording, SessionId, turns, { answers = () => '{"opened":true}', headers } = {}) {
  const { rig } = recording;
  for (const name of ['look', 'check', 'mail', 'both']) rig.tools.think(`/${name}`, async ({ Arguments }) => JSON.stringify({ tool: name, ...Arguments }));
  rig.tools.on('/broken', '{}', { status: 500 });
  rig.tools.on('/hook', '{}');
  rig.tools.on('/search', JSON.stringify({ Chunks: [{ Path: 'a/b.md', StartLine: 3, EndLine: 4, Language: 'markdown', Text: 'Found `this`.\n```\ncode\n```\n' }] }));
  for (const [TurnId, turn] of Object.entries(turns)) {
    let response = await rig.post({ SessionId, TurnId, ...turn }, { headers });
    while (response.json?.Result?.Kind === 'client_tool_continuation') {
      const ToolResults = response.json.Result.ToolCalls.map((call) => {
        const given = answers(call);
        return { ToolCallId: call.ToolCallId, ExecutionMs: 3, ...(typeof given === 'string' ? { ResultJson: given } : given) };
      });
      response = await rig.post({ SessionId, TurnId, ToolResults }, { headers });
    }
  }
  return exported(recording, SessionId, headers);
}

/** Sessions in which each kind of thing happens that a rehearsal has to answer; resolves to their files. */
export async function everyKind(recording) {
  const { rig } = recording;
  const look = (...names) => names.map((name) => ['look', [name]]);
  const decisions = [{ Approved: true }, { Approved: false, Reason: 'Not today' }, { Approved: true, Arguments: { name: 'edited', times: 2 } }];
  const files = [
    await recorded(recording, 'tools', {
      one: { Instruction: plan([look('a', 'b'), look('a')]), ConversationContextId: 'default' },
      two: { Instruction: plan([[['agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'r' }]], [['both', ['x']], ['both', ['y']]], look('a')]) },
      lost: { Instruction: plan([[['nothing', ['x']]], [['broken', ['x']]]]) },
      after: { Instruction: plan([[['dual__add', { a: 1, b: 2 }], ['dual__fail', {}]], [['dual__draw', {}]]]) },
    }),
    await recorded(recording, 'client', {
      own: { Instruction: plan([[['open', ['a']]]]) },
      brought: { Instruction: plan([[['paint', ['red']], ['look', ['c']]]]), ToolsJson: JSON.stringify([clientTool('paint')]), ToolChoiceName: 'paint' },
      failed: { Instruction: plan([[['paint', ['blue']]]]), OutputSchema: '{"type":"object","properties":{},"additionalProperties":false,"required":[]}' },
      taken: { Instruction: plan([look('d')]), ToolsJson: '[]' },
    }, { answers: ({ ArgumentsJson }) => (ArgumentsJson.includes('blue') ? { ErrorMessage: 'No blue.' } : '{"painted":"yes"}') }),
    await recorded(recording, 'approvals', {
      all: { Instruction: plan([[['mail', ['ann']]], [['mail', ['bob']]], [['mail', ['cyd']]]]) },
    }, { answers: () => JSON.stringify(decisions.shift()) }),
    await recorded(recording, 'message', {
      parts: {
        Instruction: plan([]),
        InputArtifacts: [
          { RelativePath: 'src/a.rs', FileName: 'a.rs', Contents: 'fn a() {\n}\n\n', Origin: 'ide' },
          { RelativePath: 'p', FileName: 'p.png', Contents: PIXEL, Encoding: 'base64', MimeType: 'image/png', Origin: 'user' },
        ],
        ClipboardImages: [{ Id: 'shot', MimeType: 'image/png', DataBase64: PIXEL }],
        SolutionContextText: 'Known.\n',
        WorkspaceId: 'w',
        ConversationContextId: 'replay',
      },
      later: { Instruction: plan([look('z')]), WorkspaceId: 'w' },
    }),
    await recorded(recording, 'of-a-user', { one: { Instruction: plan([look('u')]) } }, { headers: { 'aptix-user': 'Zo%C3%AB' } }),
  ];
  files.push(await steered(recording), await cancelled(recording));
  assert.ok(rig.tools.requests.some(({ path: asked }) => asked === '/hook'), 'the webhook is told of what is recorded');
  return files;
}

/** Words that come while a call is under way, and words that interrupt one. */
async function steered(recording) {
  const { rig } = recording;
  for (const [TurnId, Interrupt] of [['joined', false], ['interrupted', true]]) {
    const gate = new Gate();
    rig.model.script(gated(gate, PLANNED));
    const before = rig.model.requests.length;
    const ended = rig.post({ SessionId: 'steered', TurnId, Instruction: plan([[['look', ['s']]]]) });
    await eventually(() => rig.model.requests.length > before, 'the model is called');
    const steer = { SteerId: 's1', Instruction: `Words of ${TurnId}.`, Interrupt };
    assert.equal((await rig.request('POST', `/sessions/steered/turns/${TurnId}/steer`, { body: steer })).status, 202);
    gate.open();
    resultOf(await ended);
  }
  return exported(recording, 'steered');
}

/** A turn that is cancelled while it waits for its client, one while its model is called, and one after them. */
async function cancelled(recording) {
  const { rig } = recording;
  const cancel = (TurnId) => rig.request('POST', `/sessions/cancelled/turns/${TurnId}/cancel`);
  await rig.post({ SessionId: 'cancelled', TurnId: 'waiting', Instruction: plan([[['look', ['w']]], [['open', ['w']]]]) });
  await cancel('waiting');
  const gate = new Gate();
  rig.model.script(gated(gate, PLANNED));
  const before = rig.model.requests.length;
  const ended = rig.post({ SessionId: 'cancelled', TurnId: 'called', Instruction: plan([[['look', ['v']]]]) });
  await eventually(() => rig.model.requests.length > before, 'the model is called');
  await cancel('called');
  await ended;
  gate.open();
  return recorded(recording, 'cancelled', { last: { Instruction: plan([[['look', ['l']]]]) } });
}
