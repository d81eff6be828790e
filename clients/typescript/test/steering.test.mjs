// Words for a turn that runs, and turns that nobody watches, through a proxy that loses requests and answers: a steer is
// in its turn exactly once, or refused (interface §14; §2, Detached turns).
import assert from 'node:assert/strict';
import { after, afterEach, beforeEach, test } from 'node:test';
import { UNJOINED, clientTool, eventually, rigForFile } from '../../../tests/e2e/harness.mjs';
import { Random } from '../../../tests/e2e/hostile.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { Proxy } from '../../../tests/clients/proxy.mjs';
import { client } from './turns.mjs';

const SEED = Number(process.env.APTIX_SEED ?? Date.now() % 1_000_000);
const rig = rigForFile(UNJOINED);
let proxy, aptix;
beforeEach(async () => {
  proxy ??= await Proxy.before(rig.url);
  aptix ??= client(proxy.url);
});
after(() => proxy?.close());
afterEach(() => {
  proxy.fault = () => undefined;
  proxy.requests.length = 0;
});
let serial = 0;
const newSession = () => aptix.session(`steered-${++serial}`);
const said = (...items) => rig.model.script(answer(...items));
const steersOf = async (turn) => (await aptix.session(turn.sessionId).getTurn(turn.turnId)).Steers ?? [];
/** The user's words in all bodies that the model has seen since `from`, with repetitions. */
const wordsSince = (from) =>
  rig.model.bodies.slice(from).flatMap(({ input }) => input.filter(({ role }) => role === 'user').map(({ content }) => content[0].text.split('\n').at(-1)));

test('words are added as soon as a turn is sent, and its events show that they were taken', async () => {
  const gate = new Gate();
  const turn = newSession().turn({ Instruction: 'Long.' }, { progress: true });
  said(text('The long ', gate, 'answer.'));
  said(text('Short.'));
  const seen = [];
  const watched = (async () => {
    for await (const event of turn) seen.push(event);
  })();
  // Nothing has been heard of the turn yet.
  const { SteerId, State } = await turn.steer('Shorter.');
  assert.equal(State, 'pending');
  gate.open();
  await watched;
  assert.deepEqual([turn.text, (await turn.final()).PrimaryOutputText], ['Short.', 'Short.']);
  assert.ok(seen.some(({ type }) => type === 'discard'));
  const told = seen.filter(({ progress }) => progress?.Kind === 'steer').map(({ progress }) => [progress.SteerId, progress.State]);
  assert.deepEqual(told, [[SteerId, 'accepted'], [SteerId, 'delivered']]);
});

test('a steer whose answers are lost is sent until one arrives, and is one steer', { timeout: 240_000 }, async (t) => {
  const dice = new Random(SEED);
  t.diagnostic(`APTIX_SEED=${SEED}`);
  for (let round = 0; round < 12; round += 1) {
    const from = rig.model.bodies.length;
    const gate = new Gate();
    said(text('The long ', gate, 'answer.'));
    said(text('Short.'));
    const turn = newSession().turn({ Instruction: 'Long.' });
    const final = turn.final();
    /** Lost before it arrives, when it has arrived, or somewhere within its answer. */
    const cuts = Array.from({ length: 1 + dice.below(4) }, () => ({ cutAfter: dice.below(40) - 2, cut: ['reset', 'close', 'end'][dice.below(3)] }));
    const planned = cuts.length;
    proxy.fault = ({ url }) => (url.endsWith('/steer') ? cuts.pop() : undefined);
    const steered = await turn.steer('Shorter.', { interrupt: dice.oneIn(2) });
    assert.equal(steered.SessionId, turn.sessionId);
    const sent = proxy.requests.filter(({ url }) => url.endsWith('/steer')).length;
    proxy.requests.length = 0;
    assert.equal(sent, planned + 1, 'each lost answer is one more request');
    gate.open();
    assert.equal((await final).PrimaryOutputText, 'Short.');
    assert.deepEqual((await steersOf(turn)).map(({ SteerId, State }) => [SteerId, State]), [[steered.SteerId, 'delivered']]);
    // A call that was interrupted is made again with the words before.
    assert.deepEqual(wordsSince(from).filter((words) => words !== 'Long.'), ['Shorter.']);
  }
});

test('a turn that is aborted as soon as it is sent runs no further', async () => {
  const gate = new Gate();
  rig.model.otherwise(answer(text('Never ', gate, 'ending.')));
  try {
    for (let ms = 0; ms < 8; ms += 1) {
      const left = new AbortController();
      const turn = client(rig.url).session(`aborted-${ms}`).turn({ Instruction: 'x' }, { signal: left.signal, cancelOnAbort: true });
      const final = turn.final();
      await new Promise((later) => setTimeout(later, ms));
      left.abort(new Error('left'));
      await assert.rejects(final, /left/);
      assert.equal((await client(rig.url).session(turn.sessionId).getTurn(turn.turnId)).Status, 'aborted', `after ${ms} ms`);
    }
  } finally {
    gate.open();
  }
});

test('a turn that has ended takes no words: they are refused, or are the next turn, which is one however often it is asked for', async () => {
  said(text('Done.'));
  const turn = newSession().turn({ Instruction: 'First.', SolutionContextText: 'A zoo.' }, { turnId: 'a' });
  await turn.final();
  await assert.rejects(turn.steer('Late.'), (error) => {
    assert.deepEqual([error.code, error.details.Status, error.retryable, error.whoActs], ['turn_ended', 'completed', false, 'client']);
    return true;
  });
  said(text('Heard.'));
  const next = await turn.steer('Late.', { ifEnded: 'newTurn', steerId: 'b' });
  assert.equal(next.turnId, 'b');
  assert.equal((await next.final()).PrimaryOutputText, 'Heard.');
  const repeated = await turn.steer('Late.', { ifEnded: 'newTurn', steerId: 'b' });
  assert.equal((await repeated.final()).PrimaryOutputText, 'Heard.');
  const turns = await Array.fromAsync(aptix.session(turn.sessionId).turns());
  assert.deepEqual(turns.map(({ TurnId }) => TurnId), ['a', 'b']);
});

test('words that were accepted before the end stay accepted, however late the repetition comes', async () => {
  const gate = new Gate();
  said(text('The long ', gate, 'answer.'));
  said(text('Short.'));
  const turn = newSession().turn({ Instruction: 'Long.' });
  const final = turn.final();
  await turn.steer('Shorter.', { steerId: 'a' });
  gate.open();
  await final;
  const again = await turn.steer('Shorter.', { steerId: 'a', ifEnded: 'newTurn' });
  assert.equal(again.State, 'delivered');
  await assert.rejects(turn.steer('Other words.', { steerId: 'a' }), { code: 'steer_conflict', whoActs: 'client' });
  assert.deepEqual((await steersOf(turn)).length, 1);
});

test('a turn that waits for its client takes words, pictures and files', async () => {
  said(call('read'));
  const session = newSession();
  const turn = session.turn({ Instruction: 'Read.', ToolsJson: JSON.stringify([clientTool('read')]) });
  for await (const { type } of turn) if (type === 'tool_calls') break;
  const InputArtifacts = [{ RelativePath: 'a.txt', FileName: 'a.txt', Contents: 'of a', Origin: 'user' }];
  await session.attach(turn.turnId).steer({ Instruction: 'And this.', InputArtifacts });
  said(text('Both.'));
  const tools = [{ name: 'read', run: () => 'contents' }];
  assert.equal((await session.attach(turn.turnId, { tools }).final()).PrimaryOutputText, 'Both.');
  const [output, added] = rig.model.bodies.at(-1).input;
  assert.equal(output.type, 'function_call_output');
  assert.match(JSON.stringify(added), /And this\.[^]*of a/);
});

test('a detached turn runs without anybody, and the same turn is read later, here or elsewhere', async () => {
  const gate = new Gate();
  said(text('On ', gate, 'its own.'));
  const session = newSession();
  const turn = session.turn({ Instruction: 'x' });
  const lost = [{ cutAfter: -2, cut: 'reset' }];
  proxy.fault = ({ url }) => (url.startsWith('/execute') ? lost.pop() : undefined);
  const stored = await turn.detach();
  assert.deepEqual(stored, { SessionId: turn.sessionId, TurnId: turn.turnId, Status: 'running' });
  await eventually(() => rig.model.requests.length === 1, 'it runs');
  // Whoever leaves it once more, or has come to it, is not held either.
  for (const other of [turn, session.attach(turn.turnId)]) assert.deepEqual(await other.detach(), stored);
  gate.open();
  assert.equal((await turn.final()).PrimaryOutputText, 'On its own.');
  assert.equal((await session.attach(turn.turnId).detach()).PrimaryOutputText, 'On its own.');
  const again = await session.turn({ Instruction: 'x' }, { turnId: turn.turnId }).detach();
  assert.equal(again.PrimaryOutputText, 'On its own.', 'a repetition after the end gives the outcome');
  await assert.rejects(session.turn({}).detach(), { code: 'empty_turn' });
  assert.equal(rig.model.requests.length, 1);

  said(call('read'));
  const paused = newSession().turn({ Instruction: 'Read.', ToolsJson: JSON.stringify([clientTool('read')]) });
  await paused.detach();
  await eventually(async () => (await aptix.session(paused.sessionId).pending()) !== undefined, 'it waits');
  const { turnId: TurnId, ToolCalls } = await aptix.session(paused.sessionId).pending();
  said(text('Read.'));
  const ToolResults = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '"contents"' }];
  assert.equal((await aptix.detach({ SessionId: paused.sessionId, TurnId, ToolResults })).Status, 'running');
  await eventually(async () => (await aptix.session(paused.sessionId).getTurn(TurnId)).Status === 'completed', 'it has gone on');
});
