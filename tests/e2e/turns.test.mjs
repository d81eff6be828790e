// No turn is lost, doubled, or mixed with another (interface §2, Turns).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);
const called = (times) => eventually(() => rig.model.requests.length === times, `the model is called ${times} times`);
const statusOf = async ({ SessionId, TurnId }) =>
  (await rig.get(`/sessions/${SessionId}/turns/${TurnId}`)).json?.Result?.Status;

test('a repeated request replays the stored answer, whatever the order of its members', async () => {
  rig.model.script(answer(text('Once.')));
  const turn = userTurn({ SolutionContextText: 's' });
  const first = await rig.post(turn);
  assert.equal(first.headers.get('idempotent-replayed'), null);
  const shuffled = JSON.stringify(Object.fromEntries(Object.entries(turn).reverse()), null, 2);
  for (const again of [await rig.post(turn), await rig.post(shuffled)]) {
    assert.deepEqual([again.status, again.text], [first.status, first.text]);
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
  }
  await rig.restart();
  assert.equal((await rig.post(turn)).text, first.text);
  assert.equal(rig.model.requests.length, 1);
});

test('twenty identical requests at once call the model once and get the same answer', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('On', gate, 'ce.')));
  const turn = userTurn();
  const asked = Array.from({ length: 20 }, () => rig.post(turn));
  await called(1);
  gate.open();
  const answers = await Promise.all(asked);
  assert.equal(resultOf(answers[0]).PrimaryOutputText, 'Once.');
  assert.deepEqual(new Set(answers.map(({ status, text: body }) => `${status} ${body}`)).size, 1);
  assert.equal(rig.model.requests.length, 1);
});

test('other content under a used TurnId is a conflict and changes nothing', async () => {
  rig.model.script(answer(text('First.')));
  const turn = userTurn();
  const first = await rig.post(turn);
  assert.deepEqual(refusalOf(await rig.post({ ...turn, Instruction: 'Something else.' })), [409, 'turn_conflict']);
  assert.equal((await rig.post(turn)).text, first.text);
});

test('a second turn while one runs is refused, and taken when that one has ended', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Sl', gate, 'ow.')), answer(text('Next.')));
  const turn = userTurn();
  const running = rig.post(turn);
  await called(1);
  const next = { ...turn, TurnId: 'turn-2' };
  const refused = await rig.post(next);
  assert.deepEqual(refusalOf(refused), [409, 'turn_in_progress']);
  assert.deepEqual(refused.json.Errors[0].Details, { TurnId: turn.TurnId });
  gate.open();
  assert.equal(resultOf(await running).PrimaryOutputText, 'Slow.');
  assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Next.');
});

test('sessions run beside each other', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Sl', gate, 'ow.')), answer(text('Quick.')));
  const slow = rig.post(userTurn());
  await called(1);
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Quick.');
  gate.open();
  assert.equal(resultOf(await slow).PrimaryOutputText, 'Slow.');
});

for (const Streaming of [false, true]) {
  test(`a turn ends although its client has left (${Streaming ? 'streamed' : 'JSON'})`, async () => {
    const gate = new Gate();
    rig.model.script(answer(text('Finished', gate, ' alone.')));
    const turn = userTurn({ Streaming });
    const leaving = new AbortController();
    const left = (Streaming ? rig.stream(turn, { signal: leaving.signal }) : rig.post(turn, { signal: leaving.signal })).catch((fault) => fault);
    await called(1);
    if (Streaming) await (await left).until(({ text: seen }) => seen === 'Finished', 'the first delta');
    leaving.abort();
    await left;
    gate.open();
    await eventually(async () => (await statusOf(turn)) === 'completed', 'the turn is completed');
    assert.equal(rig.model.requests[0].abortedAt, null);
    const kept = await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`);
    assert.ok(kept.text.includes('Finished alone.'), kept.text);
  });
}

test('a turn cut by a restart is taken to its end when it is repeated', async () => {
  const never = new Gate();
  rig.model.script(answer(text('Lost', never)));
  const turn = userTurn({ Instruction: 'Do not lose this.' });
  const lost = rig.post(turn).catch((fault) => fault);
  await called(1);
  rig.model.otherwise(answer(text('Not lost.')));
  await rig.restart();
  await lost;
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'Not lost.');
  assert.equal(await statusOf(turn), 'completed');
  const said = rig.model.lastSeen.split('Do not lose this.').length - 1;
  assert.equal(said, 1, 'the model sees the instruction once');
});

test('a failed turn is run again when it is repeated, and the model sees its words once', async () => {
  rig.model.otherwise(answer(text('x')).with({ failed: { code: 'server_error', message: 'broken' } }));
  const turn = userTurn({ Instruction: 'Try this.' });
  assert.deepEqual(refusalOf(await rig.post(turn)), [502, 'upstream_failed']);
  assert.equal(await statusOf(turn), 'failed');
  rig.model.otherwise(answer(text('Now it works.')));
  const again = await rig.post(turn);
  assert.equal(resultOf(again).PrimaryOutputText, 'Now it works.');
  assert.equal(rig.model.lastSeen.split('Try this.').length - 1, 1);
});

test('a running turn can be cancelled; the session goes on and the model still sees what was said', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Long', gate)), answer(text('Next.')));
  const turn = userTurn({ Instruction: 'Begin something long.' });
  const running = rig.post(turn);
  await called(1);
  resultOf(await rig.request('POST', `/sessions/${turn.SessionId}/turns/${turn.TurnId}/cancel`));
  assert.deepEqual(refusalOf(await running), [409, 'turn_aborted']);
  assert.equal(await statusOf(turn), 'aborted');
  await eventually(() => rig.model.requests[0].abortedAt !== null, 'the call to the model is given up');
  const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Something short.' };
  assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Next.');
  assert.match(rig.model.lastSeen, /Begin something long\.[^]*Something short\./);
});
