// Model services that deviate from the protocol: reused ids, calls without ids, arguments that are no JSON.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOKING, Rig, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, httpError, raw, text } from './scripted_model.mjs';

const rig = rigForFile(LOOKING);
const tools = { ToolsJson: JSON.stringify([clientTool('read_file')]) };
const results = ({ SessionId, TurnId }, ids) => ({
  SessionId,
  TurnId,
  ToolResults: ids.map((ToolCallId) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '"same"' })),
});

test('a service that numbers the calls of each response anew is answered call by call', async () => {
  const turn = userTurn(tools);
  rig.model.script(
    answer(call('read_file', { path: 'a' }, { callId: 'call_0' })),
    answer(call('read_file', { path: 'b' }, { callId: 'call_0' })),
    answer(text('Both read.')),
  );
  const [first] = resultOf(await rig.post(turn)).ToolCalls;
  const [second] = resultOf(await rig.post(results(turn, [first.ToolCallId]))).ToolCalls;
  assert.notEqual(second.ToolCallId, first.ToolCallId);
  assert.equal(second.ArgumentsJson, '{"path":"b"}');
  // The first continuation can still be repeated.
  const again = await rig.post(results(turn, [first.ToolCallId]));
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  const last = await rig.post(results(turn, [second.ToolCallId]));
  assert.equal(resultOf(last).PrimaryOutputText, 'Both read.');
  assert.deepEqual(rig.model.bodies.slice(1).map(({ input }) => input[0].call_id), ['call_0', 'call_0']);
});

for (const [what, ids] of [['twice the same id', ['c', 'c']], ['an empty id', ['']]]) {
  test(`calls with ${what} are a fault of the service, and the next turn works`, async () => {
    const turn = userTurn({ ...tools, Instruction: 'Read it.' });
    rig.model.script(answer(...ids.map((callId) => call('read_file', {}, { callId }))), answer(text('Next.')));
    assert.deepEqual(refusalOf(await rig.post(turn)), [502, 'upstream_protocol']);
    const next = await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Go on.' });
    assert.equal(resultOf(next).PrimaryOutputText, 'Next.');
    assert.match(rig.model.lastSeen, /Read it\.[^]*Go on\./);
  });
}

test('a client is given JSON arguments: none become an empty object, broken ones go back to the model', async () => {
  const turn = userTurn(tools);
  rig.model.script(
    answer(call('read_file', ['{"path":'])),
    answer(call('read_file', [''])),
    answer(text('Read.')),
  );
  const [asked] = resultOf(await rig.post(turn)).ToolCalls;
  assert.equal(asked.ArgumentsJson, '{}');
  assert.match(rig.model.bodies[1].input[0].output, /not valid JSON/);
  assert.equal(resultOf(await rig.post(results(turn, [asked.ToolCallId]))).PrimaryOutputText, 'Read.');
});

test('mode keys stay inside: the mode tools are not among the shown results, other server tools are', async () => {
  rig.tools.on('/look', '{"found":1}');
  rig.model.script(
    answer(call('look', {}), call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'asked' })),
    answer(text('Done.')),
  );
  const got = await rig.post(userTurn());
  const { ToolResults, ModeDisplayName } = resultOf(got);
  assert.deepEqual([ToolResults.map(({ ResultJson }) => ResultJson), ModeDisplayName], [['{"found":1}'], 'DDR Authoring']);
  assert.ok(!got.text.includes('ddr_authoring'), got.text);
});

test('a position is meant for text that was shown: with a new turn it counts for nothing', async () => {
  rig.model.script(answer(text('Hello.')));
  const stream = await (await rig.stream(userTurn({ Streaming: true }), { headers: { 'last-event-id': '0.3' } })).end();
  assert.deepEqual([stream.text, stream.of('output_text.discard')], ['Hello.', []]);
});

test('ids may come percent-encoded in a path', async () => {
  rig.model.script(answer(text('Hello.')));
  const turn = userTurn({ SessionId: 'project:1', TurnId: 'turn:1' });
  resultOf(await rig.post(turn));
  assert.equal(resultOf(await rig.get('/sessions/project%3A1/turns/turn%3A1')).Status, 'completed');
});

test('a service that takes no output for its own calls, not even a stand-in, blocks nothing', async () => {
  const refused = httpError(400, { param: 'input', message: 'Not this input.' });
  rig.tools.on('/look', '{"found":1}');
  // Refused are the result behind the chain, the same in the whole conversation, and in the next turn its stand-in.
  rig.model.script(answer(call('look', {})), refused, refused, refused, answer(text('Fine.')));
  const turn = userTurn({ Instruction: 'Look for it.' });
  assert.deepEqual(refusalOf(await rig.post(turn)), [502, 'upstream_rejected']);
  const next = await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Then tell me.' });
  assert.equal(resultOf(next).PrimaryOutputText, 'Fine.');
  const { input, previous_response_id: chain } = rig.model.bodies.at(-1);
  assert.equal(chain, undefined);
  assert.deepEqual(input.map(({ role }) => role), ['system', 'user', 'user']);
  assert.match(JSON.stringify(input), /Look for it\.[^]*Then tell me\./);
});

for (const [what, refused, before, Unchained] of [
  ['refuses to store', httpError(400, { param: 'store', message: 'Store must be set to false' }), [], 'store_refused'],
  [
    'has zero data retention',
    httpError(400, { message: 'Previous response cannot be used for this organization due to Zero Data Retention.' }),
    [answer(text('First.'))],
    'store_refused',
  ],
]) {
  test(`a service that ${what} is found out once and used as in replay`, async () => {
    const turn = userTurn();
    const next = (TurnId) => ({ SessionId: turn.SessionId, TurnId, Instruction: 'Go on.' });
    rig.model.script(...before, refused, answer(text('Second.')), answer(text('Third.')));
    for (const _ of before) resultOf(await rig.post(turn));
    assert.equal(resultOf(await rig.post(before.length ? next('second') : turn)).PrimaryOutputText, 'Second.');
    assert.equal(resultOf(await rig.post(next('third'))).PrimaryOutputText, 'Third.');
    const replayed = rig.model.bodies.slice(-2);
    assert.deepEqual(replayed.map(({ store, previous_response_id: chain }) => [store, chain]), [[false, undefined], [false, undefined]]);
    const { ModelCalls } = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/third/trace`));
    assert.deepEqual(ModelCalls.map((made) => [made.Stored, made.Unchained]), [[false, Unchained]]);
  });
}

for (const [service, lost] of [
  ['Llama Stack', (id) => raw([`data: {"error":{"message":"400: Invalid value: Response with id ${id} not found"}}\n\n`])],
  ['vLLM', (id) => httpError(404, { message: `Response with id '${id}' not found.`, param: 'response_id' })],
]) {
  test(`a chain that is lost in the words of ${service} is begun again with the whole conversation`, async () => {
    rig.model.script(answer(text('One.')));
    const turn = userTurn({ Instruction: 'First.' });
    resultOf(await rig.post(turn));
    rig.model.script(lost(rig.model.requests[0].responseId), answer(text('Two.')));
    const next = await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Second.' });
    assert.equal(resultOf(next).PrimaryOutputText, 'Two.');
    assert.equal(rig.model.bodies.at(-1).previous_response_id, undefined);
    assert.match(rig.model.lastSeen, /First\.[^]*One\.[^]*Second\./);
  });
}

test('a response that says it is completed and reports an error is a failure', async () => {
  const output = [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'Half of' }] }];
  const response = { id: 'resp_cut', status: 'completed', error: { message: 'the connection broke' }, output };
  rig.model.script(raw([`data: ${JSON.stringify({ type: 'response.completed', response })}\n\n`]));
  assert.deepEqual(refusalOf(await rig.post(userTurn())), [502, 'upstream_failed']);
});

// The shortest stream that services send: only deltas and the last event.
const frame = (event) => `data: ${JSON.stringify(event)}\n\n`;
const delta = (piece) => frame({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: piece });
const completed = frame({
  type: 'response.completed',
  response: { id: 'resp_short', status: 'completed', output: [{ type: 'message', content: [{ type: 'output_text', text: 'abcdefghijk' }] }] },
});
const deltas = [...'abcdefghijk'].map(delta);
for (const [when, pieces] of Object.entries({
  'its last event': [...deltas, completed],
  'a last event whose end came alone': [...deltas, completed.slice(0, -2), '\n\n'],
  'a last event whose end came in two': [...deltas, completed.slice(0, -2), '\n', '\n'],
  'a last event that came byte by byte': [...deltas, ...completed],
  'everything at once': [[...deltas, completed].join('')],
})) {
  for (const [ending, how] of Object.entries({ 'keeps the connection open': { open: true }, 'cuts the connection': { cut: true } })) {
    test(`a service that ${ending} after ${when} has answered`, async () => {
      rig.model.script(raw(pieces, how), raw(pieces, how));
      assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'abcdefghijk');
      const stream = await rig.stream(userTurn({ Streaming: true }));
      assert.equal(JSON.parse((await stream.end()).result).Result.PrimaryOutputText, 'abcdefghijk');
    });
  }
}

test('an answer is read whole, whatever its size is to what is read at once', async () => {
  const atOnce = 64 * 1024;
  const said = [...deltas, completed].join('');
  for (const size of [atOnce - 1, atOnce, atOnce + 1, 2 * atOnce]) {
    // Behind the first event: a stream may not begin with so much that says nothing.
    const [first, ...others] = [...deltas, completed];
    const padded = [first, `: ${'.'.repeat(size - said.length - 4)}\n\n`, ...others].join('');
    assert.equal(padded.length, size);
    for (const how of [{}, { open: true }, { cut: true }]) {
      for (const pieces of [[padded], [padded.slice(0, -1), padded.slice(-1)]]) {
        rig.model.script(raw(pieces, how));
        assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'abcdefghijk', `${size} ${JSON.stringify(how)}`);
      }
    }
  }
});

for (const Streaming of [false, true]) {
  test(`an event without an end is refused when it is too long, ${Streaming ? '' : 'not '}watched, and no more of it is taken`, async () => {
    const [most, piece] = [256e6, 'x'.repeat(64 * 1024)];
    let sent = 0;
    const endless = async ({ response }) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      const taken = () => new Promise((resolve) => ['drain', 'close'].forEach((event) => response.once(event, resolve)));
      for (response.write('data: '); sent < most && !response.destroyed; sent += piece.length) {
        if (!response.write(piece)) await taken();
      }
      response.end();
    };
    rig.model.script({ play: endless });
    const turn = userTurn({ Streaming });
    const { Errors } = Streaming ? JSON.parse((await (await rig.stream(turn)).end()).result) : (await rig.post(turn)).json;
    assert.equal(Errors[0].ErrorCode, 'upstream_protocol');
    assert.ok(sent < most / 4, `${sent} bytes were taken`);
  });
}

test('a service that sends signs of life and nothing else for longer than its silence may be is waited for', async () => {
  const impatient = new Rig({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: '1000' } });
  await impatient.start();
  try {
    const signs = [':\n\n', ': keep-alive\n\n', '\n'];
    const living = (sign) => raw([delta('a'), ...Array(7).fill(sign), [...deltas.slice(1), completed].join('')], { everyMs: 250 });
    impatient.model.otherwise({
      play: (exchange) => living(signs[/Sign (\d)/.exec(JSON.stringify(exchange.body.input))[1]]).play(exchange),
    });
    const told = async (Instruction, Streaming) => {
      const turn = userTurn({ Streaming, Instruction });
      return Streaming ? JSON.parse((await (await impatient.stream(turn)).end()).result) : (await impatient.post(turn)).json;
    };
    await Promise.all(signs.flatMap((_, at) => [false, true].map(async (Streaming) => {
      // On a machine that stalls a sign comes too late now and then; one that counted for nothing would do so every time.
      let last;
      for (let tries = 6; tries > 0 && !last?.Successful; tries -= 1) last = await told(`Sign ${at}`, Streaming);
      assert.equal(last.Result?.PrimaryOutputText, 'abcdefghijk', JSON.stringify(last));
    })));
    await impatient.check();
  } finally {
    await impatient.dispose();
  }
});
