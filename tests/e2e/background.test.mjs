// Background responses in the real runtime: a cut and a lost process read the same response on, and what nobody reads is
// cancelled (interface §4, Background responses).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, USAGE, answer, text } from './scripted_model.mjs';

const rig = rigForFile({
  catalog: (catalog) => {
    catalog.AgentContexts.default.Background = 'Always';
    catalog.AgentContexts.default.DeleteStored = true;
  },
});
const path = ({ SessionId, TurnId }) => `/sessions/${SessionId}/turns/${TurnId}`;
const WORDS = ['The ', 'answer ', 'takes ', 'its ', 'time.'];
const TEXT = WORDS.join('');
const queries = () => rig.model.reads.map(({ query }) => query);

test('a cut is read on behind the newest event, and the client sees no break', async () => {
  rig.model.script(answer(text(...WORDS)).with({ cutAfter: 6 }));
  const turn = userTurn({ Streaming: true });
  const stream = await rig.stream(turn, { route: '/execute?Progress=true' });
  await stream.end();
  assert.deepEqual([stream.keptText, stream.of('output_text.discard').length], [TEXT, 0]);
  assert.deepEqual(queries(), ['stream=true&starting_after=5']);
  const told = stream.of('progress').map(({ data }) => JSON.parse(data)).filter(({ Kind }) => Kind === 'retry');
  assert.deepEqual(told, [{ Kind: 'retry', AfterMs: 200, Resumed: 1 }]);
  const { ModelCalls } = await rig.trace(turn);
  assert.deepEqual(ModelCalls.map(({ Background, Resumed, Retries }) => [Background, Resumed, Retries]), [[true, 1, []]]);
  assert.equal(resultOf(await rig.get(path(turn))).Usage.TotalTokens, USAGE.total_tokens);
  assert.equal(rig.model.bodies[0].background, true);
  // The conversation goes on from it.
  rig.model.script(answer(text('More.')));
  resultOf(await rig.post(userTurn({ SessionId: turn.SessionId, TurnId: 'next' })));
  assert.equal(rig.model.bodies[1].previous_response_id, ModelCalls[0].ResponseId);
});

test('a process that is lost while the model writes is followed by one that reads the same response to its end', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('The ', 'answer ', gate, 'takes ', 'its ', 'time.')));
  const turn = userTurn({ Streaming: true });
  const first = await rig.stream(turn);
  await first.until(() => first.text === 'The answer ', 'the text begins');
  const lastId = first.of('output_text.delta').at(-1).id;
  await rig.restart();
  const again = await rig.stream(turn, { headers: { 'Last-Event-ID': lastId } });
  gate.open();
  await again.end();
  assert.equal(again.of('output_text.discard').length, 0);
  assert.equal(again.of('output_text.delta').map(({ data }) => JSON.parse(data).Delta).join(''), 'takes its time.');
  const view = resultOf(await rig.get(path(turn)));
  assert.deepEqual([view.Outcome.Result.PrimaryOutputText, view.Attempts, view.Usage.TotalTokens], [TEXT, 1, USAGE.total_tokens]);
  assert.deepEqual([rig.model.bodies.length, queries()], [1, ['stream=true']]);
});

test('a service that streams no more is asked for the response', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('The ', gate, 'end.')).with({ cutAfter: 5 }));
  rig.model.refuseReads = 404;
  const turn = userTurn();
  const posted = rig.post(turn);
  await eventually(() => rig.model.reads.length === 1, 'the response is read on');
  rig.model.refuseReads = null;
  gate.open();
  assert.equal(resultOf(await posted).PrimaryOutputText, 'The end.');
  assert.deepEqual([queries()[0], new Set(queries().slice(1))], ['stream=true&starting_after=4', new Set([''])]);
  assert.equal(rig.model.bodies.length, 1);
});

test('a turn that is cancelled cancels its response, and an erasure does so before it deletes', async () => {
  for (const erases of [false, true]) {
    rig.model.clear();
    const gate = new Gate();
    rig.model.script(answer(text('The ', gate, 'end.')));
    const turn = userTurn({ Streaming: true });
    const stream = await rig.stream(turn);
    await stream.until(() => stream.text !== '', 'the text begins');
    const id = rig.model.requests[0].responseId;
    if (erases) {
      const { StoredResponses } = resultOf(await rig.request('DELETE', `/sessions/${turn.SessionId}`));
      assert.deepEqual([StoredResponses.Deleted, StoredResponses.Unknown], [1, 0]);
      assert.deepEqual([rig.model.cancels, rig.model.deletions], [[id], [id]]);
    } else {
      resultOf(await rig.request('POST', `${path(turn)}/cancel`));
      await eventually(() => rig.model.cancels.length > 0, 'the response is cancelled');
      assert.deepEqual(rig.model.cancels, [id]);
    }
    await stream.end();
    assert.equal(JSON.parse(stream.result).Errors[0].ErrorCode, 'turn_aborted');
    gate.open();
  }
});

test('a service that refuses background responses is asked without for the rest of the session', async () => {
  rig.model.refuseBackground = true;
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const { SessionId } = userTurn();
  for (const said of ['One.', 'Two.']) {
    const turn = userTurn({ SessionId, TurnId: said });
    assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, said);
    assert.equal((await rig.trace(turn)).ModelCalls.at(-1).Unsupported, 'background');
  }
  assert.deepEqual(rig.model.bodies.map(({ background }) => background), [true, undefined, undefined]);
});

/** A turn whose response waits at a gate: `{turn, stream, gate, id}`, `id` being the response's. */
async function waiting(members) {
  const gate = new Gate();
  rig.model.script(answer(text('The ', gate, 'end.')));
  const turn = userTurn({ Streaming: true, ...members });
  const stream = await rig.stream(turn);
  await stream.until(() => stream.text !== '', 'the text begins');
  return { turn, stream, gate, id: rig.model.requests.at(-1).responseId };
}

/** A session with an ended turn and one whose response waits, and its fork behind the ended turn. */
async function forkedWhileItWaits() {
  const { SessionId } = userTurn();
  rig.model.script(answer(text('First.')));
  const first = userTurn({ SessionId, TurnId: 'first' });
  resultOf(await rig.post(first));
  const ended = rig.model.requests.at(-1).responseId;
  const live = await waiting({ SessionId, TurnId: 'live' });
  const fork = `${SessionId}-fork`;
  const made = await rig.request('POST', `/sessions/${SessionId}/fork`, { body: { SessionId: fork } });
  assert.deepEqual([made.status, made.json.Result.AfterTurnId, made.json.Result.Turns], [201, 'first', 1]);
  return { SessionId, fork, ended, live };
}

const erase = async (session) => resultOf(await rig.request('DELETE', `/sessions/${session}`)).StoredResponses;
const answerOf = async (turn) => resultOf(await rig.get(path(turn))).Outcome.Result.PrimaryOutputText;

test('a fork takes nothing of the response that its parent waits for: the parent reads it on, whatever becomes of the fork', async () => {
  const { SessionId, fork, ended, live } = await forkedWhileItWaits();
  const view = resultOf(await rig.get(`/sessions/${fork}`));
  assert.deepEqual([view.TurnCount, view.LiveTurn], [1, undefined]);
  const other = await waiting({ SessionId: fork, TurnId: 'other' });
  assert.equal(rig.model.bodies.at(-1).previous_response_id, ended);

  // Each of both reads its own response on, and none is made again.
  await rig.restart();
  const [mine, theirs] = [await rig.stream(live.turn), await rig.stream(other.turn)];
  await eventually(() => rig.model.reads.length === 2, 'both are read on');
  assert.deepEqual(rig.model.reads.map(({ id }) => id).sort(), [live.id, other.id].sort());

  resultOf(await rig.request('POST', `${path(other.turn)}/cancel`));
  await theirs.end();
  const { Deleted, Unknown } = await erase(fork);
  assert.deepEqual([Deleted, Unknown], [1, 0]);
  assert.deepEqual([new Set(rig.model.cancels), rig.model.deletions], [new Set([other.id]), [other.id]]);

  live.gate.open();
  await mine.end();
  assert.equal(await answerOf(live.turn), 'The end.');
  assert.equal(rig.model.bodies.length, 3);
  other.gate.open();
  assert.equal((await erase(SessionId)).Deleted, 2);
});

test('a parent that is cancelled and erased leaves its fork the response that the fork waits for', async () => {
  const { SessionId, fork, ended, live } = await forkedWhileItWaits();
  const other = await waiting({ SessionId: fork, TurnId: 'other' });
  resultOf(await rig.request('POST', `${path(live.turn)}/cancel`));
  await live.stream.end();
  const { Deleted, Unknown } = await erase(SessionId);
  assert.deepEqual([Deleted, Unknown], [2, 0]);
  assert.deepEqual([new Set(rig.model.cancels), new Set(rig.model.deletions)], [new Set([live.id]), new Set([ended, live.id])]);

  await rig.restart();
  const again = await rig.stream(other.turn);
  other.gate.open();
  await again.end();
  assert.equal(await answerOf(other.turn), 'The end.');
  assert.deepEqual(new Set(rig.model.reads.map(({ id }) => id)), new Set([other.id]));
  live.gate.open();
});
