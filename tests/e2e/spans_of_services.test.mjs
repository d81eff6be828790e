// The spans of turns that use every service, and of those that are steered, cancelled, cut, forked or refused, as the
// real runtime tells them to a streaming tail (docs/operations.md, Traces): whose request stands below which span, and no
// word of what was said, wherever it was said.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { dualServer } from '../fakes/mcp_servers/dual.mjs';
import { embeddings } from '../fakes/model_service/embeddings.mjs';
import { serve } from '../local_server.mjs';
import { API_KEY, BOOT_PROMPT, MODEL, TOOL_SECRET, eventually, httpTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { isOurs } from '../fakes/span_listener.mjs';
import { Gate, answer, call, httpError, reasoning, text } from './scripted_model.mjs';

const canary = (place) => `canary-of-the-${place}-51fe`;
const HOOK_SECRET = `whsec_${Buffer.from('a secret that no span may hold').toString('base64')}`;
const mcp = await dualServer();
const deliveries = [];
const receiver = await serve((request, response) => {
  deliveries.push(request.url);
  request.resume();
  response.writeHead(204).end();
});
after(() => Promise.all([mcp.close(), receiver.close()]));

const rig = rigForFile({
  traced: true,
  metered: true,
  vars: { HOOK_SECRET, TURN_ALARM_MS: '500' },
  catalog: (catalog, { toolUrl }) => {
    catalog.McpServers = { dual: { Url: mcp.url, Headers: { 'X-Key': '${TOOL_SECRET}' } } };
    catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval: { When: 'Always', Message: canary('question') } }));
    catalog.Modes[0].Tools.push('send_mail', 'dual/*');
    catalog.Modes[0].Instructions = canary('mode');
    catalog.AgentContexts.default.Retrieval = { Index: { Embeddings: { Model: 'm-one', Dimensions: 256, BaseUrl: toolUrl('/v1') } } };
    catalog.Webhooks = { done: { Url: `${receiver.origin}/hooks`, SigningSecrets: ['HOOK_SECRET'], Headers: { 'X-Env': canary('header') } } };
    catalog.ConversationContexts.default.Webhooks = ['done'];
  },
});

const AGENT = 'invoke_agent default';
const CHAT = `chat ${MODEL}`;
const OURS = /^(invoke_agent|chat|execute_tool|retrieval|embeddings)\b/;
const tree = (number) => rig.spans.trees(AGENT, isOurs).at(number);
const last = (name) => rig.spans.named(name).at(-1).attributes;

/** A test at whose end no span holds what was said, and no name an id. */
const told = (name, play) => test(name, () => play().then(assertNothingSaid));

function assertNothingSaid() {
  const events = rig.spans.text;
  const found = events.match(/canary-of-the-[a-z-]+/g);
  assert.equal(found, null, `spans hold ${found}`);
  for (const words of [API_KEY, TOOL_SECRET, BOOT_PROMPT, HOOK_SECRET, HOOK_SECRET.slice(6)]) assert.ok(!events.includes(words), words);
  const ids = rig.spans.spans.filter(({ name }) => OURS.test(name) && /session-|turn-\d|resp_|call_|apr_/.test(name));
  assert.deepEqual(ids, []);
}

told('a turn with a search, an MCP tool, a human and a webhook has every request below the span that made it', async () => {
  rig.tools.think('/v1/embeddings', (body) => JSON.stringify(embeddings(body)));
  rig.tools.on('/send_mail', JSON.stringify({ sent: canary('result') }));
  const workspace = '/workspaces/of-spans';
  const Documents = [{ Path: `${canary('path')}.md`, Contents: `# Pigeons\n\n${canary('document')}\n` }];
  resultOf(await rig.request('PUT', `${workspace}/documents`, { body: { Documents } }));
  await eventually(async () => resultOf(await rig.get(workspace)).EmbeddedChunks === 1, 'the document is embedded');
  rig.model.script(
    answer(reasoning(canary('thought')), call('dual__add', { a: 1, b: 2 }), call('dual__fail'), call('send_mail', { q: canary('argument') })),
    answer(text(canary('answer'))),
  );
  const turn = userTurn({ WorkspaceId: 'of-spans', Instruction: `Pigeons? ${canary('instruction')}` });
  const [{ ToolCallId }] = resultOf(await rig.post(turn)).ToolCalls;
  const ResultJson = JSON.stringify({ Approved: true });
  const { SessionId, TurnId } = turn;
  resultOf(await rig.post({ SessionId, TurnId, ToolResults: [{ ToolCallId, ExecutionMs: 5, ResultJson }] }));
  await rig.ended(AGENT, 2);
  await eventually(() => deliveries.length === 2, 'the webhook is told twice');
  const [paused, continued] = rig.spans.trees(AGENT, isOurs).map((lines) => lines.map((line) => line.trimEnd()));
  // The first call of a server is greeted, by requests whose number is the server's.
  const once = paused.filter((line, index) => line !== '    fetch' || paused[index - 1] !== line);
  const called = (name) => [`  execute_tool ${name}`, '    fetch'];
  const ours = once.filter((line) => !/^ {2}fetch/.test(line));
  const retrieval = ours.slice(1, ours.indexOf(`  ${CHAT}`));
  assert.deepEqual(retrieval.filter((line) => OURS.test(line.trim())).map((line) => line.trim()), ['retrieval', 'embeddings m-one']);
  assert.deepEqual(ours.slice(ours.indexOf(`  ${CHAT}`)), [`  ${CHAT}`, '    fetch', ...called('dual__add'), ...called('dual__fail')]);
  assert.deepEqual(continued, [AGENT, ...called('send_mail'), `  ${CHAT}`, '    fetch']);

  const { hostname, port } = new URL(mcp.url);
  const { 'gen_ai.tool.call.id': id, 'aptix.result_bytes': bytes, ...added } = last('execute_tool dual__add');
  assert.ok(id && bytes > 0);
  assert.deepEqual(added, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'dual__add',
    'gen_ai.tool.type': 'extension',
    'mcp.method.name': 'tools/call',
    'mcp.protocol.version': '2026-07-28',
    'server.address': hostname,
    'server.port': Number(port),
  });
  assert.equal(last('execute_tool dual__fail')['error.type'], 'tool_error');
  assert.equal(last('execute_tool send_mail')['aptix.approval'], 'approved');
  const { 'gen_ai.data_source.id': source, ...retrieved } = last('retrieval');
  assert.match(source, /^[0-9a-f]{32}$/);
  assert.deepEqual(retrieved, { 'gen_ai.operation.name': 'retrieval', 'gen_ai.retrieval.top_k': 8, 'aptix.chunks': 1 });
  const tools = new URL(rig.tools.url('/'));
  assert.deepEqual(last('embeddings m-one'), {
    'gen_ai.operation.name': 'embeddings',
    'gen_ai.provider.name': tools.hostname,
    'gen_ai.request.model': 'm-one',
    'server.address': tools.hostname,
    'server.port': Number(tools.port),
  });
  const { 'aptix.waited_ms': waited, 'aptix.turn.status': status } = last(AGENT);
  assert.deepEqual([waited >= 0, status], [true, 'completed']);
  // Deliveries are no part of the turn, which had ended. The tail may hear of a request after its receiver did. On a machine
  // that stalls an attempt may be repeated, and one delivery may be sent beside the end of another's invocation, after
  // which the runtime tells of no span. So the test counts on one.
  const hooks = () => rig.spans.spans.filter(({ attributes }) => JSON.stringify(attributes).includes(receiver.origin));
  await eventually(() => hooks().length > 0, 'a delivery has a span');
  const within = (span) => {
    const parent = rig.spans.spans.find(({ id: known }) => known === span.parent);
    return parent ? [parent.name, ...within(parent)] : [];
  };
  for (const hook of hooks()) assert.ok(!within(hook).some((name) => OURS.test(name)), within(hook).join(' < '));
});

told('a steer that interrupts and a cancellation end the spans of what they stop', async () => {
  for (const [stop, error, status] of [['steer', 'interrupted', 'completed'], ['cancel', 'turn_aborted', 'aborted']]) {
    assertNothingSaid();
    rig.spans.clear();
    const gate = new Gate();
    rig.model.script(answer(text('The ', gate, canary('answer'))));
    const turn = userTurn({ Streaming: true });
    const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/${stop}`;
    const stream = await rig.stream(turn);
    await stream.until(() => stream.text !== '', 'the text begins');
    if (stop === 'steer') rig.model.script(answer(text('Short.')));
    const body = stop === 'steer' ? { SteerId: 'a', Instruction: canary('steer'), Interrupt: true } : undefined;
    assert.ok((await rig.request('POST', route, { body })).status < 300);
    await stream.end();
    gate.open();
    await rig.ended(AGENT, 1);
    const first = rig.spans.named(CHAT)[0].attributes;
    assert.deepEqual([first['error.type'], first['aptix.attempts']], [error, 1]);
    assert.ok(first['gen_ai.response.id'], 'what the call had learnt');
    assert.equal(last(AGENT)['aptix.turn.status'], status);
    const calls = stop === 'steer' ? 2 : 1;
    assert.deepEqual(tree(-1), [AGENT, ...Array.from({ length: calls }, () => [`  ${CHAT}`, '    fetch']).flat()]);
  }
});

told('each attempt of a call is a request below its one span, and a turn that fails says by what', async () => {
  const refusal = { message: canary('refusal'), type: 'invalid_request_error', code: 'odd' };
  rig.model.script(httpError(503, { message: canary('failure') }, { 'retry-after-ms': '1' }), answer(text('Yes.')), httpError(400, refusal));
  const turn = userTurn();
  resultOf(await rig.post(turn));
  await rig.ended(AGENT, 1);
  assert.deepEqual(tree(-1), [AGENT, `  ${CHAT}`, '    fetch', '    fetch']);
  assert.deepEqual([last(CHAT)['aptix.attempts'], last(CHAT)['error.type']], [2, undefined]);
  assert.equal((await rig.post(userTurn())).status, 502);
  await rig.ended(AGENT, 2);
  assert.deepEqual([last(CHAT)['error.type'], last(CHAT)['gen_ai.response.finish_reasons']], ['400', 'error']);
  assert.deepEqual([last(AGENT)['error.type'], last(AGENT)['aptix.turn.status']], ['upstream_rejected', 'failed']);
});

told('a fork has no span of a turn, and its turns have those of their own session', async () => {
  rig.model.script(answer(text(canary('answer'))), answer(text('More.')));
  const turn = userTurn({ Instruction: canary('instruction') });
  resultOf(await rig.post(turn));
  const child = `${turn.SessionId}-child`;
  const made = await rig.request('POST', `/sessions/${turn.SessionId}/fork`, { body: { SessionId: child } });
  assert.equal(made.status, 201, made.text);
  resultOf(await rig.post(userTurn({ SessionId: child, TurnId: 'turn-2' })));
  await rig.ended(AGENT, 2);
  assert.deepEqual(rig.spans.trees(AGENT, isOurs), [[AGENT, `  ${CHAT}`, '    fetch'], [AGENT, `  ${CHAT}`, '    fetch']]);
  const [of, ofChild] = rig.spans.named(AGENT);
  assert.notEqual(of.trace, ofChild.trace);
  assert.notEqual(of.attributes['gen_ai.conversation.id'], ofChild.attributes['gen_ai.conversation.id']);
});
