// A turn delivered as server-sent events, checked byte by byte (interface §2, Delivery).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, clientTool, eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, call, text } from './scripted_model.mjs';

// Two tenants can run a turn under the same ids, one streamed and one not.
const [ONE, TWO] = ['key-of-tenant-one', 'key-of-tenant-two'];
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }), KEEP_ALIVE_MS: '100' },
});
const deltas = (stream) => stream.of('output_text.delta').map(({ id, data }) => [id, JSON.parse(data)]);

test('text streams as it comes, each event at its byte position, and ends in one result equal to the JSON outcome', async () => {
  const pieces = ['Grüße', ' 🦀🦀', ' an', ' 👩‍🚀', '.'];
  rig.model.script(answer(text(...pieces)), answer(text(...pieces)));
  const turn = userTurn();
  const stream = await (await rig.stream({ ...turn, Streaming: true }, { key: ONE })).end();
  const whole = await rig.post(turn, { key: TWO });

  let position = 0;
  for (const [id, { Segment, Delta }] of deltas(stream)) {
    position += Buffer.byteLength(Delta);
    assert.deepEqual([id, Segment], [`0.${position}`, 0]);
  }
  assert.equal(stream.text, pieces.join(''));
  assert.deepEqual(stream.of('output_text.discard'), []);
  assert.equal(stream.result, whole.text);
  assert.equal(resultOf(whole).PrimaryOutputText, pieces.join(''));
});

test('a delta reaches the client while the model still speaks, and silence is filled with comments', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Wait', gate, ' for it.')));
  const stream = await rig.stream(userTurn({ Streaming: true }), { key: ONE });
  await stream.until(({ text: seen }) => seen === 'Wait', 'the first delta');
  const before = stream.comments.length;
  await stream.until(({ comments }) => comments.length >= before + 2, 'two comments');
  assert.equal(stream.text, 'Wait');
  gate.open();
  await stream.end();
  assert.equal(JSON.parse(stream.result).Result.PrimaryOutputText, 'Wait for it.');
});

test('text before a server tool call is taken back, and what is kept equals the final text', async () => {
  rig.model.script(
    answer(text('Let me', ' look.'), call('agent_list_modes', {})),
    answer(text('There are', ' two.')),
  );
  const stream = await (await rig.stream(userTurn({ Streaming: true }), { key: ONE })).end();
  assert.deepEqual(stream.of('output_text.discard').map(({ data }) => JSON.parse(data)), [{ Segment: 0 }]);
  assert.deepEqual(deltas(stream).at(-1)[0], '1.14');
  assert.equal(stream.keptText, 'There are two.');
  assert.equal(JSON.parse(stream.result).Result.PrimaryOutputText, 'There are two.');
});

test('a streamed turn that needs the client ends with its calls, and its continuation is streamed too', async () => {
  rig.model.script(answer(text('I read it.'), call('read_file', { path: 'a' })), answer(text('It says A.')));
  const turn = userTurn({ Streaming: true, ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const paused = await (await rig.stream(turn, { key: ONE })).end();
  const { Kind, ToolCalls, ToolContinuationMessage } = JSON.parse(paused.result).Result;
  assert.deepEqual([Kind, ToolCalls.length], ['client_tool_continuation', 1]);
  assert.equal(ToolContinuationMessage ?? 'I read it.', 'I read it.');

  const results = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 3, ResultJson: '"A"' }];
  const continued = await (
    await rig.stream({ SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults: results }, { key: ONE })
  ).end();
  assert.equal(continued.keptText, 'It says A.');
  assert.equal(JSON.parse(continued.result).Result.PrimaryOutputText, 'It says A.');
});

test('what fails before the turn starts is plain JSON with its status', async () => {
  const got = await rig.post(userTurn({ Streaming: true, TurnId: '' }), { key: ONE });
  assert.deepEqual(refusalOf(got), [400, 'invalid_field']);
  assert.match(got.headers.get('content-type'), /^application\/json/);
});

test('what fails after the turn has started is a result on the stream', async () => {
  rig.model.otherwise(answer(text('Hal')).with({ failed: { code: 'server_error', message: 'broken' } }));
  const stream = await (await rig.stream(userTurn({ Streaming: true }), { key: ONE })).end();
  const result = JSON.parse(stream.result);
  assert.deepEqual([result.Successful, result.Errors[0].ErrorCode], [false, 'upstream_failed']);
});

test('a finished stream is resumed from any position, by POST and by GET', async () => {
  rig.model.script(answer(text('Hello', ', world', '.')));
  const turn = userTurn({ Streaming: true });
  const first = await (await rig.stream(turn, { key: ONE })).end();
  const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream`;

  for (const again of [
    await rig.stream(turn, { key: ONE, headers: { 'last-event-id': '0.5' } }),
    await rig.stream(null, { method: 'GET', route, key: ONE, headers: { 'last-event-id': '0.5' } }),
  ]) {
    await again.end();
    assert.equal(again.text, ', world.');
    assert.equal(again.result, first.result);
  }
  const whole = await (await rig.stream(null, { method: 'GET', route, key: ONE })).end();
  assert.deepEqual([whole.text, whole.result], ['Hello, world.', first.result]);
});

test('a turn that nobody watched is joined: what was said is there at once, and the rest as it comes', async () => {
  const gates = [new Gate(), new Gate()];
  const pieces = Array.from({ length: 300 }, (_, number) => `piece ${number} `);
  rig.model.script(answer(text(...pieces, gates[0], 'and one', gates[1], ' and the last.')));
  const turn = userTurn();
  const posted = rig.post(turn, { key: ONE });
  const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream`;
  await eventually(() => rig.model.requests.length > 0, 'the model is called');
  const stream = await rig.stream(null, { method: 'GET', route, key: ONE });
  await stream.until(({ text: seen }) => seen === pieces.join(''), 'what had been said');
  gates[0].open();
  await stream.until(({ text: seen }) => seen.endsWith('and one'), 'the next words');
  gates[1].open();
  await stream.end();
  const whole = resultOf(await posted).PrimaryOutputText;
  assert.equal(whole, `${pieces.join('')}and one and the last.`);
  assert.equal(stream.text, whole);
});

test('a running turn is joined from where the watcher left, while the first watcher has gone', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Hello', gate, ', world.')));
  const turn = userTurn({ Streaming: true });
  const leaving = new AbortController();
  const first = await rig.stream(turn, { key: ONE, signal: leaving.signal });
  await first.until(({ text: seen }) => seen === 'Hello', 'the first delta');
  leaving.abort();

  const second = await rig.stream(turn, { key: ONE, headers: { 'last-event-id': '0.5' } });
  const third = await rig.stream(turn, { key: ONE });
  await third.until(({ text: seen }) => seen === 'Hello', 'what had been said');
  gate.open();
  await Promise.all([second.end(), third.end()]);
  assert.deepEqual([second.text, third.text], [', world.', 'Hello, world.']);
  assert.equal(second.result, third.result);
  await eventually(() => first.ended, 'the first stream is closed');
});
