// The spans of turns as the real runtime tells them to a streaming tail (docs/operations.md, Traces): the tree, every
// attribute, two sessions at once, and no word of what was said.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { API_KEY, BOOT_PROMPT, MODEL, TOOL_SECRET, eventually, httpTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { isOurs } from '../fakes/span_listener.mjs';
import { Gate, USAGE, answer, call, text } from './scripted_model.mjs';

const canary = (place) => `canary-of-the-${place}-7c2d`;
const WORDS = ['instruction', 'solution', 'answer', 'argument', 'result', 'description', 'artifact'].map(canary);
const [INSTRUCTION, SOLUTION, ANSWER, ARGUMENT, RESULT, DESCRIPTION, ARTIFACT] = WORDS;
const PARENT = '00-5b8efff798038103d269b633813fc60c-eee19b7ec3c1b173-01';

const rig = rigForFile({
  traced: true,
  metered: true,
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look_up', toolUrl, { Description: DESCRIPTION, TraceContext: true }));
    catalog.Modes[0].Tools.push('look_up');
  },
});

const AGENT = 'invoke_agent default';
const trees = () => rig.spans.trees(AGENT, isOurs);
const TREE = [AGENT, `  chat ${MODEL}`, '    fetch', '  execute_tool look_up', '    fetch', `  chat ${MODEL}`, '    fetch'];

function scriptTurn() {
  rig.tools.on('/look_up', JSON.stringify({ found: RESULT }));
  rig.model.script(answer(call('look_up', { q: ARGUMENT })), answer(text(ANSWER)));
}

const turnOf = (members) =>
  userTurn({
    Instruction: INSTRUCTION,
    SolutionContextText: SOLUTION,
    InputArtifacts: [{ RelativePath: 'a.md', FileName: 'a.md', Contents: ARTIFACT, Origin: 'ide' }],
    ...members,
  });

test('a turn is one tree below its invocation, with every attribute and without a word of what was said', async () => {
  scriptTurn();
  const turn = turnOf();
  const posted = await rig.post(turn, { headers: { traceparent: PARENT, tracestate: 'vendor=1' } });
  resultOf(posted);
  for (const name of posted.headers.keys()) assert.doesNotMatch(name, /^trace/);
  await rig.ended(AGENT, 1);
  assert.deepEqual(trees(), [TREE]);
  const [agent] = rig.spans.named(AGENT);
  const invocation = rig.spans.spans.find(({ id }) => id === agent.parent);
  assert.equal(invocation.name, '(fetch)');
  const hop = await eventually(() => rig.spans.spans.find(({ id }) => id === invocation.parent), 'the door tells of its request');
  // Newer versions of the runtime name it like any other request.
  assert.ok(['durable_object_subrequest', 'fetch'].includes(hop.name), hop.name);
  assert.equal(new Set([agent.trace, invocation.trace, hop.trace]).size, 1);

  const conversation = createHash('sha256').update(`local\n${turn.SessionId}`).digest('hex').slice(0, 32);
  const { 'aptix.version': version, 'aptix.catalog': catalog, ...attributes } = agent.attributes;
  assert.match(version, /^\d+\.\d+\.\d+/);
  assert.match(catalog, /^[0-9a-f]{16}$/);
  assert.deepEqual(attributes, {
    'gen_ai.operation.name': 'invoke_agent',
    'gen_ai.agent.name': 'default',
    'gen_ai.conversation.id': conversation,
    'gen_ai.provider.name': new URL(rig.model.url).hostname,
    'gen_ai.request.model': MODEL,
    'gen_ai.output.type': 'text',
    'aptix.tenant': 'local',
    'aptix.turn.status': 'completed',
    'aptix.turn.attempt': 1,
    'aptix.model_calls': 2,
    'aptix.tool_calls': 1,
    'aptix.caller.trace_id': '5b8efff798038103d269b633813fc60c',
    'aptix.caller.span_id': 'eee19b7ec3c1b173',
  });
  const [first, last] = rig.spans.named(`chat ${MODEL}`).map((span) => span.attributes);
  const trace = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`));
  // The pinned version of the runtime does not tell it, newer ones do.
  if (trace.TraceId !== undefined) assert.equal(trace.TraceId, agent.trace);
  assert.equal(trace.CallerTraceId, '5b8efff798038103d269b633813fc60c');
  const { hostname, port } = new URL(rig.model.url);
  const { 'gen_ai.response.time_to_first_chunk': seconds, 'aptix.upstream_request_id': requestId, ...rest } = last;
  assert.ok(seconds >= 0 && seconds < 30, `${seconds}`);
  assert.deepEqual(rest, {
    'gen_ai.operation.name': 'chat',
    'gen_ai.provider.name': hostname,
    'gen_ai.conversation.id': conversation,
    'gen_ai.request.model': MODEL,
    'gen_ai.request.stream': true,
    'gen_ai.request.previous_response.id': trace.ModelCalls[0].ResponseId,
    'gen_ai.response.id': trace.ModelCalls[1].ResponseId,
    ...(last['gen_ai.response.model'] ? { 'gen_ai.response.model': last['gen_ai.response.model'] } : {}),
    'gen_ai.response.finish_reasons': 'stop',
    'gen_ai.usage.input_tokens': trace.ModelCalls[1].Usage.PromptTokens,
    'gen_ai.usage.output_tokens': trace.ModelCalls[1].Usage.CompletionTokens,
    'gen_ai.usage.cache_read.input_tokens': trace.ModelCalls[1].Usage.CachedTokens,
    'gen_ai.usage.reasoning.output_tokens': trace.ModelCalls[1].Usage.ReasoningTokens,
    'openai.api.type': 'responses',
    'server.address': hostname,
    'server.port': Number(port),
    'aptix.attempts': 1,
  });
  assert.ok(requestId === undefined || typeof requestId === 'string');
  assert.equal(first['gen_ai.response.finish_reasons'], 'tool_calls');
  const [tool] = rig.spans.named('execute_tool look_up');
  assert.deepEqual(tool.attributes, {
    'gen_ai.operation.name': 'execute_tool',
    'gen_ai.tool.name': 'look_up',
    'gen_ai.tool.call.id': trace.ToolCalls[0].ToolCallId,
    'gen_ai.tool.type': 'extension',
    'aptix.result_bytes': trace.ToolCalls[0].ResultBytes,
  });
  const [{ headers }] = rig.tools.requests;
  assert.deepEqual([headers.traceparent, headers.tracestate], [PARENT, 'vendor=1']);
  for (const words of [...WORDS, API_KEY, TOOL_SECRET, BOOT_PROMPT]) assert.ok(!rig.spans.text.includes(words), words);
  assert.ok(!rig.logs.some((line) => line.includes('metering_failed')));
});

test('equal turns have equal trees', async () => {
  for (let round = 0; round < 2; round += 1) {
    scriptTurn();
    resultOf(await rig.post(turnOf()));
  }
  await rig.ended(AGENT, 2);
  assert.deepEqual(trees(), [TREE, TREE]);
  const [one, two] = rig.spans.named(AGENT).map(({ attributes }) => ({ ...attributes, 'gen_ai.conversation.id': '' }));
  assert.deepEqual(one, two);
});

test('of two sessions at once no span is below one of the other', async () => {
  const gates = [new Gate(), new Gate()];
  rig.tools.on('/look_up', JSON.stringify({ found: RESULT }));
  rig.model.script(answer(text('One', gates[0], ' more.')), answer(text('Two', gates[1], ' more.')));
  const posted = [turnOf(), turnOf()].map((turn) => rig.post(turn));
  await eventually(() => rig.model.requests.length === 2, 'both are asked');
  gates[1].open();
  gates[0].open();
  for (const { status } of await Promise.all(posted)) assert.equal(status, 200);
  await rig.ended(AGENT, 2);
  const tree = [AGENT, `  chat ${MODEL}`, '    fetch'];
  assert.deepEqual(trees(), [tree, tree]);
  assert.equal(new Set(rig.spans.named(AGENT).map(({ trace }) => trace)).size, 2);
});

test('the usage of a model call stands on its span alone', async () => {
  rig.model.script(answer(text('Counted.')));
  resultOf(await rig.post(turnOf()));
  await rig.ended(AGENT, 1);
  const [chat] = rig.spans.named(`chat ${MODEL}`);
  assert.equal(chat.attributes['gen_ai.usage.input_tokens'], USAGE.input_tokens);
  const names = Object.keys(rig.spans.named(AGENT)[0].attributes);
  assert.ok(!names.some((name) => name.startsWith('gen_ai.usage')));
});
