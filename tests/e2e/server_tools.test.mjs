// Server tools over HTTP: their requests, their results, and their failures (interface §5 and §6).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { serve } from '../local_server.mjs';
import { TOOL_SECRET, clientTool, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const MAX_ITERATIONS = 4;
/** Tools whose entries name the type of what is sent. */
const TYPED = { typed: 'content-type', typed_as_usual: 'Content-Type' };
const rig = rigForFile({
  vars: { MAX_ITERATIONS: String(MAX_ITERATIONS) },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(
      httpTool('strict_tool', toolUrl),
      httpTool('lenient_tool', toolUrl, { OnError: 'ReportToModel' }),
      // Only those that never answer have a short time: any other answer may be late on a busy machine.
      httpTool('strict_silent_tool', toolUrl, {}, { TimeoutMs: 500 }),
      httpTool('lenient_silent_tool', toolUrl, { OnError: 'ReportToModel' }, { TimeoutMs: 500 }),
      ...Object.entries(TYPED).map(([name, header]) => httpTool(name, toolUrl, {}, { Headers: { [header]: 'application/vnd.api+json' } })),
    );
    catalog.Modes[0].Tools.push('strict_tool', 'lenient_tool', 'strict_silent_tool', 'lenient_silent_tool', ...Object.keys(TYPED));
  },
});

test('an HTTP tool is sent the documented request and its answer goes to the model and the client', async () => {
  rig.tools.on('/strict_tool', '{"found":["a","b"]}');
  const ask = call('strict_tool', { q: 'x' });
  rig.model.script(answer(ask), answer(text('Two.')));
  const turn = userTurn();
  const result = resultOf(await rig.post(turn));

  const [{ method, body, headers }] = rig.tools.requests;
  assert.deepEqual([method, headers.authorization], ['POST', `Bearer ${TOOL_SECRET}`]);
  assert.match(headers['content-type'], /^application\/json/);
  const { ToolCallId } = body;
  assert.deepEqual(body, {
    ToolCallId, Name: 'strict_tool', Arguments: { q: 'x' }, SessionId: turn.SessionId, TurnId: turn.TurnId,
  });
  assert.equal(result.PrimaryOutputText, 'Two.');
  assert.equal(result.ToolResults.length, 1);
  const [shown] = result.ToolResults;
  assert.deepEqual([shown.ToolCallId, JSON.parse(shown.ResultJson)], [ToolCallId, { found: ['a', 'b'] }]);
  assert.ok(Number.isInteger(shown.ExecutionMs) && shown.ExecutionMs >= 0);
  const [output] = rig.model.bodies[1].input;
  assert.deepEqual([output.call_id, JSON.parse(output.output)], [ask.callId, { found: ['a', 'b'] }]);
  assert.deepEqual(rig.model.bodies[0].tools[0], {
    type: 'function',
    name: 'strict_tool',
    description: 'The tool strict_tool.',
    parameters: { type: 'object', properties: { q: { type: 'string' } } },
    strict: false,
  });
});

const FAULTS = {
  'an HTTP error': { status: 500, text: '{"oops":1}' },
  'an answer that is not JSON': { text: '<html>' },
  'no answer in time': { text: null },
  'an answer above every cap': { text: `"${'x'.repeat(11 * 1024 * 1024)}"` },
};
for (const [name, { text: body, status = 200 }] of Object.entries(FAULTS)) {
  const [strict, lenient] = ['strict', 'lenient'].map((kind) => (body === null ? `${kind}_silent_tool` : `${kind}_tool`));
  test(`${name} fails the turn, and the session goes on`, async () => {
    rig.tools.on(`/${strict}`, body, { status });
    rig.model.script(answer(call(strict, { q: 'x' })), answer(text('Better now.')));
    const turn = userTurn({ Instruction: 'Look it up, please.' });
    assert.deepEqual(refusalOf(await rig.post(turn)), [500, 'server_tool_failed']);
    assert.equal(resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`)).Status, 'failed');
    const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'And now?' };
    assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Better now.');
    assert.match(rig.model.lastSeen, /Look it up, please\.[^]*And now\?/);
  });

  test(`${name} is reported to the model where the tool's definition says so`, async () => {
    rig.tools.on(`/${lenient}`, body, { status });
    rig.model.script(answer(call(lenient, {})), answer(text('It is down.')));
    assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'It is down.');
    const { error } = JSON.parse(rig.model.bodies[1].input[0].output);
    assert.ok(typeof error === 'string' && error.length > 0 && error.length < 2000);
    assert.ok(!error.includes(rig.tools.url('')), 'the address of a tool is not for the model');
  });
}

test('a type of content that the entry of a tool names is the only one that is sent', async () => {
  for (const name of Object.keys(TYPED)) {
    rig.tools.on(`/${name}`, '1');
    rig.model.script(answer(call(name, {})), answer(text('Ok.')));
    resultOf(await rig.post(userTurn()));
  }
  assert.deepEqual(rig.tools.requests.map(({ headers }) => headers['content-type']), Object.keys(TYPED).map(() => 'application/vnd.api+json'));
});

test('a redirect to another host is refused, so that no secret follows it', async () => {
  const seen = [];
  const elsewhere = await serve((request, response) => {
    seen.push(request.headers);
    response.end('{"stolen":true}');
  });
  try {
    rig.tools.on('/strict_tool', '', {
      status: 307,
      headers: { location: `${elsewhere.origin}/strict_tool` },
    });
    rig.model.script(answer(call('strict_tool', {})));
    assert.deepEqual(refusalOf(await rig.post(userTurn())), [500, 'server_tool_failed']);
    assert.deepEqual(seen, []);
  } finally {
    await elsewhere.close();
  }
});

test('server tools run one after the other, in the model\'s order', async () => {
  rig.tools.on('/strict_tool', '1');
  rig.tools.on('/lenient_tool', '2');
  rig.model.script(answer(call('lenient_tool', {}), call('strict_tool', {}), call('lenient_tool', {})), answer(text('Ok.')));
  resultOf(await rig.post(userTurn()));
  assert.deepEqual(rig.tools.requests.map(({ path }) => path), ['/lenient_tool', '/strict_tool', '/lenient_tool']);
  assert.deepEqual(rig.model.bodies[1].input.map(({ output }) => output), ['2', '1', '2']);
});

test('a server tool wins over a client tool of its name, with a warning', async () => {
  rig.tools.on('/strict_tool', '"server"');
  rig.model.script(answer(call('strict_tool', {})), answer(text('Ok.')));
  const got = await rig.post(userTurn({ ToolsJson: JSON.stringify([clientTool('strict_tool')]) }));
  assert.equal(resultOf(got).Kind, 'final');
  assert.ok(got.json.Warnings.length > 0, got.text);
  assert.equal(rig.model.bodies[0].tools.filter(({ name }) => name === 'strict_tool').length, 1);
});

test('a model that never stops calling tools ends the turn at the limit, and the session goes on', async () => {
  rig.tools.on('/strict_tool', '1');
  rig.model.script(...Array.from({ length: MAX_ITERATIONS }, () => answer(call('strict_tool', {}))));
  const turn = userTurn({ Instruction: 'Never stop.' });
  assert.deepEqual(refusalOf(await rig.post(turn)), [500, 'iteration_limit_exceeded']);
  assert.equal(rig.model.requests.length, MAX_ITERATIONS);
  rig.model.script(answer(text('Stopped.')));
  const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Stop.' };
  assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Stopped.');
  assert.match(rig.model.lastSeen, /Never stop\.[^]*Stop\./);
});
