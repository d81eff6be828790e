// Survival on the real runtime: many clients, cuts at every position, crashes, clients that stall (interface §2).
import assert from 'node:assert/strict';
import net from 'node:net';
import { test } from 'node:test';
import { clientTool, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { slowness } from './machine_speed.mjs';
import { Gate, answer, call, text } from './scripted_model.mjs';

// A short alarm interval, so that no test waits long for recovery.
const rig = rigForFile({ vars: { TURN_ALARM_MS: '300', KEEP_ALIVE_MS: '1000' } });
const called = (times) => eventually(() => rig.model.requests.length === times, `the model is called ${times} times`);
const statusOf = async (turn) => (await rig.turn(turn))?.Status;

test('fifty identical requests at once call the model once and get equal answers, and again after a restart', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Once', gate, ' only.')));
  const turn = userTurn();
  const crowd = () => Promise.all(Array.from({ length: 50 }, () => rig.post(turn)));
  const first = crowd();
  await called(1);
  gate.open();
  const answers = await first;
  assert.equal(resultOf(answers[0]).PrimaryOutputText, 'Once only.');
  assert.equal(new Set(answers.map(({ text: body }) => body)).size, 1);

  await rig.restart();
  const again = await crowd();
  assert.deepEqual(new Set(again.map(({ text: body }) => body)), new Set([answers[0].text]));
  assert.ok(again.every(({ headers }) => headers.get('idempotent-replayed') === 'true'));
  assert.equal(rig.model.requests.length, 1);
});

test('a turn of a session that was erased and begun anew is taken up after a crash without being asked for', async () => {
  const { SessionId } = userTurn();
  rig.model.script(answer(text('First.')));
  resultOf(await rig.post({ SessionId, TurnId: 'before', Instruction: 'One.' }));
  resultOf(await rig.request('DELETE', `/sessions/${SessionId}`));
  rig.model.script(answer(text('Never heard.')).with({ silentAfter: 3 }), answer(text('Taken up.')));
  const lost = rig.post({ SessionId, TurnId: 'after', Instruction: 'Two.' }).catch(() => {});
  await called(2);
  await rig.restart();
  await lost;
  await called(3);
  await eventually(async () => (await statusOf({ SessionId, TurnId: 'after' })) === 'completed', 'the turn is taken up');
});

test('a turn of 200 deltas cut at every position goes on to the same text, live, after its end, and after a restart', async () => {
  const deltas = Array.from({ length: 200 }, (_, index) => (index % 3 === 0 ? '🦀' : index % 3 === 1 ? 'é' : `${index} `));
  const whole = deltas.join('');
  const positions = [0];
  for (const delta of deltas) positions.push(positions.at(-1) + Buffer.byteLength(delta));
  const rest = (position) => Buffer.from(whole).subarray(position).toString();

  const gate = new Gate();
  const turn = userTurn({ Streaming: true });
  rig.model.script(answer(text(...deltas.slice(0, 100), gate, ...deltas.slice(100))));
  const uncut = rig.stream(turn);
  await (await uncut).until(({ text: seen }) => seen.length === deltas.slice(0, 100).join('').length, 'half of the text');

  // Resumes from every position so far while the turn runs, half by repeated request and half by the turn's stream.
  const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream`;
  const from = (position, other) =>
    rig.stream(turn, { headers: { 'last-event-id': `0.${position}` }, ...(other ? { method: 'GET', route } : {}) });
  const live = await Promise.all(positions.slice(0, 101).map((position, index) => from(position, index % 2 === 1)));
  gate.open();
  const result = (await (await uncut).end()).result;
  assert.equal((await uncut).text, whole);
  for (const [index, stream] of live.entries()) {
    await stream.end();
    assert.deepEqual([stream.text, stream.result], [rest(positions[index]), result], `live, cut at ${positions[index]}`);
    assert.deepEqual(stream.of('output_text.discard'), []);
  }

  for (const when of ['ended', 'restarted']) {
    if (when === 'restarted') await rig.restart();
    for (const [index, position] of positions.entries()) {
      const stream = await (await from(position, index % 2 === 0)).end();
      assert.deepEqual([stream.text, stream.result], [rest(position), result], `${when}, cut at ${position}`);
    }
  }
  assert.equal(rig.model.requests.length, 1);
});

test('a position inside a character, or beyond the text, is put right by taking the segment back', async () => {
  rig.model.script(answer(text('🦀 crab')));
  const turn = userTurn({ Streaming: true });
  await (await rig.stream(turn)).end();
  for (const position of ['0.1', '0.999']) {
    const stream = await (await rig.stream(turn, { headers: { 'last-event-id': position } })).end();
    assert.deepEqual(stream.events[0], { event: 'output_text.discard', id: null, data: '{"Segment":0}' }, position);
    assert.equal(stream.text, '🦀 crab');
  }
  for (const position of ['nonsense', '', '1', '-1.5', '0.4.4']) {
    const stream = await (await rig.stream(turn, { headers: { 'last-event-id': position } })).end();
    assert.deepEqual([stream.text, stream.of('output_text.discard')], ['🦀 crab', []], position);
  }
});

test('a watcher that does not read holds up neither the turn nor another watcher', async () => {
  const gate = new Gate();
  const long = 'A sentence that is repeated until no buffer holds it. '.repeat(20_000);
  rig.model.script(answer(text('Now', gate, long)));
  const turn = userTurn({ Streaming: true });
  const body = JSON.stringify(turn);
  const { hostname, port } = new URL(rig.url);
  const stalled = net.connect(Number(port), hostname);
  stalled.write(
    `POST /execute HTTP/1.1\r\nHost: ${hostname}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
  );
  stalled.pause();
  await called(1);
  const reading = await rig.stream(turn);
  gate.open();
  assert.equal((await reading.end()).text, `Now${long}`);
  assert.equal(await statusOf(turn), 'completed');
  stalled.destroy();
});

test('a turn whose instance was lost is taken up by the alarm, without any request', async () => {
  const never = new Gate();
  rig.model.script(answer(text('Lost', never)));
  rig.model.otherwise(answer(text('Taken up.')));
  const turn = userTurn({ Instruction: 'Do not forget me.' });
  const cut = rig.post(turn).catch((fault) => fault);
  await called(1);
  await rig.restart();
  await cut;
  await called(2);
  assert.match(rig.model.lastSeen, /Do not forget me\./);
  await eventually(async () => (await statusOf(turn)) === 'completed', 'the turn is completed');
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'Taken up.');
});

test('a turn that is lost twice fails as turn_interrupted, and a repeat goes on', async () => {
  const never = new Gate();
  rig.model.otherwise(answer(text('Lost', never)));
  const turn = userTurn({ Instruction: 'Third time lucky.' });
  for (const times of [1, 2]) {
    const cut = rig.post(turn).catch((fault) => fault);
    await called(times);
    await rig.restart();
    await cut;
  }
  await eventually(async () => (await statusOf(turn)) === 'failed', 'the turn has failed');
  assert.equal((await rig.turn(turn)).Outcome.Errors[0].ErrorCode, 'turn_interrupted');
  rig.model.otherwise(answer(text('Here I am.')));
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'Here I am.');
  assert.equal(rig.model.lastSeen.split('Third time lucky.').length - 1, 1);
});

test('a watcher that held text of a lost attempt is told to take it back', async () => {
  const never = new Gate();
  rig.model.script(answer(text('Lost words', never)));
  const turn = userTurn({ Streaming: true });
  const cut = await rig.stream(turn);
  await cut.until(({ text: seen }) => seen === 'Lost words', 'the first words');
  const held = cut.of('output_text.delta').at(-1).id;
  rig.model.otherwise(answer(text('New words.')));
  await rig.restart();
  const resumed = await (await rig.stream(turn, { headers: { 'last-event-id': held } })).end();
  assert.deepEqual(resumed.of('output_text.discard').map(({ data }) => data), ['{"Segment":0}']);
  assert.equal(resumed.text, 'New words.');
  assert.equal(JSON.parse(resumed.result).Result.PrimaryOutputText, 'New words.');
});

test('a cancelled call is given up within a second, its text so far is kept, and late results are refused', async () => {
  const tools = { ToolsJson: JSON.stringify([clientTool('read_file')]) };
  /** Cancels a turn whose call waits; resolves to the turn, and to whether the call was given up within a second. */
  const cancelled = async () => {
    rig.model.script(answer(text('As far as this', new Gate())));
    const turn = userTurn({ Streaming: true, ...tools });
    const stream = await rig.stream(turn);
    await stream.until(({ text: seen }) => seen === 'As far as this', 'the text');
    const made = rig.model.requests.at(-1);
    const asked = performance.now();
    const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/cancel`;
    assert.equal(resultOf(await rig.request('POST', route)).TextSoFar, 'As far as this');
    await eventually(() => made.abortedAt !== null, 'the call is given up');
    assert.equal(JSON.parse((await stream.end()).result).Errors[0].ErrorCode, 'turn_aborted');
    assert.equal(resultOf(await rig.request('POST', route)).Status, 'aborted');
    const took = made.abortedAt - asked;
    return { turn, took, isSoon: took < 1000 || took < 1000 * slowness() };
  };
  let { turn, took, isSoon } = await cancelled();
  // A machine that stalls delays one now and then; a Worker that waits for something else does so every time.
  for (let tries = 4; tries > 0 && !isSoon; tries -= 1) ({ turn, took, isSoon } = await cancelled());
  assert.ok(isSoon, `${took} ms`);

  rig.model.script(answer(call('read_file', {})), answer(text('Next.')));
  const paused = { ...turn, TurnId: 'paused', Streaming: false };
  const [{ ToolCallId }] = resultOf(await rig.post(paused)).ToolCalls;
  resultOf(await rig.request('POST', `/sessions/${turn.SessionId}/turns/paused/cancel`));
  const late = { SessionId: turn.SessionId, TurnId: 'paused', ToolResults: [{ ToolCallId, ExecutionMs: 1, ResultJson: '1' }] };
  const refused = await rig.post(late);
  assert.deepEqual([refused.status, refused.json.Errors[0].ErrorCode], [409, 'turn_aborted']);
  resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Go on.' }));
  const [output] = rig.model.bodies.at(-1).input;
  assert.equal(output.call_id, ToolCallId);
  assert.match(output.output, /not executed/);
});
