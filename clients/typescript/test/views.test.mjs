// The client's other calls against the Worker: views, erasure, workspaces, keys, signals, streams for others, the log.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import { Rig, apiKeys, clientTool, eventually } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, gated, reasoning, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix, AptixError } from '../dist/index.js';
import { readTurnEvents } from '../dist/relay.js';
import { Workspace } from '../dist/workspace.js';
import { Proxy } from '../../../tests/clients/proxy.mjs';

const KEY = 'key-of-the-client';
const rig = new Rig({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'one' }), DELTA_INTERVAL_MS: '0' } });
const log = [];
let aptix;
before(async () => {
  await rig.start();
  aptix = new Aptix({ baseUrl: `${rig.url}`, apiKey: KEY, retryDelayMs: 1, onLog: (entry) => log.push(entry) });
});
after(() => rig.dispose());
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
});
let serial = 0;
const newSession = () => aptix.session(`views-${++serial}`);
const said = (...items) => rig.model.script(answer(...items));
const read = { name: 'read', description: 'Reads.', parameters: { type: 'object', properties: {} }, run: () => 'contents' };

test('a session shows its turns, its modes and all that is kept of it, and is erased', async () => {
  const session = newSession();
  for (const turnId of ['1', '2', '3']) {
    said(text(`Answer ${turnId}.`));
    await session.turn({ Instruction: turnId }, { turnId }).final();
  }
  assert.equal((await session.get()).TurnCount, 3);
  assert.deepEqual((await Array.fromAsync(session.turns())).map(({ TurnId }) => TurnId), ['1', '2', '3']);
  assert.deepEqual((await Array.fromAsync(session.turns({ after: '2' }))).map(({ TurnId }) => TurnId), ['3']);
  assert.equal((await session.getTurn('2')).Outcome.Result.PrimaryOutputText, 'Answer 2.');
  assert.equal((await session.trace('2')).ModelCalls.length, 1);
  assert.deepEqual((await session.modes()).History, []);
  assert.equal((await session.export()).Turns.length, 3);
  assert.equal((await session.cancel('3')).Status, 'completed');
  assert.equal((await session.erase()).Turns, 3);
  await assert.rejects(session.get(), { code: 'session_not_found', status: 404, whoActs: 'client' });
  assert.equal((await aptix.health()).Status, 'ok');
});

test('a session whose receipt was lost is erased, and one that never was is not found', async () => {
  const proxy = await Proxy.before(rig.url);
  const through = new Aptix({ baseUrl: proxy.url, apiKey: KEY, retryDelayMs: 1 });
  const erase = async (cutAfter) => {
    const cuts = [cutAfter];
    proxy.fault = ({ method }) => (method === 'DELETE' && cuts.length > 0 ? { cutAfter: cuts.pop(), cut: 'reset' } : undefined);
    const { sessionId } = newSession();
    said(text('Hi.'));
    await aptix.session(sessionId).turn({ Instruction: 'x' }).final();
    const receipt = await through.session(sessionId).erase();
    assert.deepEqual(cuts, []);
    await assert.rejects(aptix.session(sessionId).get(), { code: 'session_not_found' });
    return receipt;
  };
  try {
    assert.equal((await erase(-1)).Turns, 1, 'the erasure did not arrive at first');
    assert.equal(await erase(-2), undefined, 'it did, and its receipt was lost');
    await assert.rejects(through.session('never-was').erase(), { code: 'session_not_found' });
    await assert.rejects(through.session('never-was').get(), { code: 'session_not_found' });
  } finally {
    await proxy.close();
  }
});

test('what a session waits for can be looked at, refused, cancelled, or left to another', async () => {
  const session = newSession();
  assert.equal(await session.pending(), undefined, 'there is no session yet');
  said(call('read'));
  const paused = session.turn({ Instruction: 'x', ToolsJson: JSON.stringify([clientTool('read')]) }, { turnId: 'a' });
  const events = await Array.fromAsync(paused);
  assert.deepEqual(events.map(({ type }) => type), ['result', 'tool_calls']);
  await assert.rejects(paused.final(), (error) => {
    assert.ok(error instanceof AptixError);
    assert.deepEqual([error.code, error.details], ['turn_awaiting_tools', { TurnId: 'a', ToolCalls: events[1].calls }]);
    return true;
  });
  const { turnId, ToolCalls } = await session.pending();
  assert.deepEqual([turnId, ToolCalls], ['a', events[1].calls]);
  await assert.rejects(session.turn({ Instruction: 'y' }).final(), (error) => error.details.ToolCalls[0].Name === 'read');

  said(text('Then not.'));
  assert.equal((await session.refusePending('The user went on.')).PrimaryOutputText, 'Then not.');
  assert.match(rig.model.bodies.at(-1).input[0].output, /The user went on\./);
  assert.equal(await session.pending(), undefined);
  assert.equal(await session.refusePending('Again.'), undefined);

  said(call('read'));
  for await (const { type } of session.turn({ Instruction: 'z' }, { turnId: 'c', tools: [read] })) if (type === 'tool_results') break;
  said(text('Not that either.'));
  await session.refusePending('Nor this.');
  assert.match(rig.model.bodies.at(-1).input[0].output, /Nor this\./, 'a result that was not sent is refused as well');

  said(call('read'));
  for await (const { type } of session.turn({ Instruction: 'z' }, { turnId: 'b' })) if (type === 'tool_calls') break;
  assert.equal((await session.attach('b').cancel()).Status, 'aborted');
});

test('tools: unknown names, arguments that are none, too many pauses and a tool without an end', async () => {
  const session = newSession();
  said(call('toString', {}), call('read', ['[1']), call('slow'));
  said(text('Well.'));
  const slow = { name: 'slow', timeoutMs: 20, run: () => new Promise(() => {}) };
  const odd = { name: 'toString', run: () => undefined };
  await session.turn({ Instruction: 'x' }, { tools: [read, slow, odd] }).final();
  const outputs = rig.model.bodies.at(-1).input.map(({ output }) => output);
  assert.equal(outputs[0], 'null');
  assert.match(outputs.at(-1), /took longer than 20 ms/);

  for (let round = 0; round < 3; round += 1) said(call('read'));
  await assert.rejects(session.turn({ Instruction: 'x' }, { tools: [read], maxPauses: 2 }).final(), { code: 'turn_awaiting_tools' });
});

test('whatever a tool throws, and however much several give, the turn goes on', async () => {
  const session = newSession();
  const tools = [
    { name: 'cut', run: () => Promise.reject(new Error('It ends in half of \u{1f600}'.slice(0, -1))) },
    { name: 'long', run: () => Promise.reject(new Error('x'.repeat(9_000_000))) },
    { name: 'mute', run: () => Promise.reject(Object.create(null)) },
    { name: 'much', run: () => '\u6f22'.repeat(2_000_000) },
  ];
  said(call('cut'), call('long'), call('mute'), call('much'), call('much'), call('much'));
  said(text('Well.'));
  assert.equal((await session.turn({ Instruction: 'x' }, { tools }).final()).PrimaryOutputText, 'Well.');
  const outputs = rig.model.bodies.at(-1).input.map(({ output }) => output);
  assert.match(outputs[0], /half of \ufffd"/);
  assert.match(outputs[1], /x{1000}/);
  assert.match(outputs[2], /failed/);
  assert.match(outputs[3], /\u6f22{1000}/);
  assert.match(outputs[5], /too long/);
});

test('leaving a loop or aborting stops the watching; cancelOnAbort also the turn', async () => {
  for (const cancelOnAbort of [false, true]) {
    const session = newSession();
    const gate = new Gate();
    rig.model.script(answer(text('One ', gate, 'two.')));
    const listeners = new Set();
    const token = {
      isCancellationRequested: false,
      onCancellationRequested: (listener) => (listeners.add(listener), { dispose: () => listeners.delete(listener) }),
    };
    const turn = session.turn({ Instruction: 'x' }, { signal: token, cancelOnAbort });
    const events = turn[Symbol.asyncIterator]();
    assert.equal((await events.next()).value.delta, 'One ');
    assert.throws(() => turn[Symbol.asyncIterator](), /being read already/);
    const next = events.next();
    for (const listener of listeners) listener();
    await assert.rejects(next, { name: 'AbortError' });
    await assert.rejects(turn.final(), { name: 'AbortError' });
    assert.equal(listeners.size, 0, 'no listener is left');
    assert.equal((await session.getTurn(turn.turnId)).Status, cancelOnAbort ? 'aborted' : 'running');
    gate.open();
    if (!cancelOnAbort) assert.equal((await session.attach(turn.turnId).final()).PrimaryOutputText, 'One two.');
  }
});

test('a turn left by break is no longer watched, and says so', async () => {
  const session = newSession();
  said(text('One ', 'two.'));
  const turn = session.turn({ Instruction: 'x' });
  for await (const _ of turn) break;
  await assert.rejects(turn.final(), /no longer watched/);
  assert.equal((await session.attach(turn.turnId).final()).PrimaryOutputText, 'One two.');
});

test('progress comes where it was asked for', async () => {
  said(reasoning('Hm.'), call('read'));
  said(text('Done.'));
  const kinds = [];
  for await (const event of newSession().turn({ Instruction: 'x' }, { tools: [read], progress: true })) {
    if (event.type === 'progress') kinds.push(event.progress.Kind);
  }
  assert.ok(kinds.filter((kind) => kind === 'model_call').length === 2, `${kinds}`);
});

test('a turn goes through a stream of lines to somebody else, its failure included', async () => {
  said(text('One ', 'two.'));
  const stream = newSession().turn({ Instruction: 'x' }).toReadableStream();
  const events = await Array.fromAsync(readTurnEvents(stream));
  assert.deepEqual(events.map(({ type }) => type), ['text', 'text', 'result']);

  const failing = newSession().turn({ Instruction: ' ' }).toReadableStream();
  await assert.rejects(Array.fromAsync(readTurnEvents(failing)), (error) => error instanceof AptixError && error.code === 'empty_turn');
  const cut = new Blob(['{"type":"text","segment":0,"delta":"x","position":"0.1"}\n{"typ']).stream();
  await assert.rejects(Array.fromAsync(readTurnEvents(cut)), { code: 'connection_lost' });
});

test('one submission without a loop, streamed or in one piece', async () => {
  const ids = { SessionId: newSession().sessionId, TurnId: '1' };
  said(call('read'));
  const first = { ...ids, Instruction: 'x', ToolsJson: JSON.stringify([clientTool('read')]) };
  const paused = await aptix.execute(first);
  assert.equal(paused.Kind, 'client_tool_continuation');
  said(text('It is ', 'read.'));
  const ToolResults = [{ ToolCallId: paused.ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '1' }];
  const events = await Array.fromAsync(aptix.stream({ ...ids, ToolResults }));
  assert.deepEqual(events.map(({ type }) => type), ['text', 'text', 'result']);
  const [{ position }] = events;
  const rest = await Array.fromAsync(aptix.stream({ ...ids, ToolResults }, { position }));
  assert.deepEqual(rest.map(({ delta, type }) => delta ?? type), ['read.', 'result']);

  said(text('Whole.'));
  const whole = await Array.fromAsync(aptix.stream({ ...ids, TurnId: '2', Instruction: 'x', Streaming: false }));
  assert.deepEqual(whole.map(({ type }) => type), ['result']);
});

test('a workspace is made equal to a list of documents by what has changed, in requests of bounded number and length', async () => {
  const workspace = new Workspace(aptix, 'synced');
  const documents = Array.from({ length: 250 }, (_, at) => ({ Path: `src/${at}.rs`, Contents: `fn f${at}() {}\n` }));
  const puts = () => log.filter(({ method }) => method === 'PUT').length;
  const begun = puts();
  assert.equal((await workspace.sync(documents)).sent.length, 250);
  assert.equal(puts() - begun, 3);
  assert.equal((await workspace.get()).Documents, 250);

  const asked = [];
  documents[3].Contents = () => (asked.push(3), Promise.resolve('fn changed() {}\n'));
  const progress = [];
  const kept = documents.slice(0, 240);
  const result = await workspace.sync(kept, { remove: true, onProgress: (done, all) => progress.push([done, all]) });
  assert.deepEqual([result.sent, result.removed.length, asked.length], [['src/3.rs'], 10, 2]);
  assert.deepEqual(progress.at(-1), [11, 11]);
  assert.deepEqual(await workspace.sync(kept, { remove: true }), { sent: [], removed: [], leftOut: [] });
  const spelled = kept.map(({ Path, ...document }) => ({ ...document, Path: `.//${Path}` }));
  assert.deepEqual(await workspace.sync(spelled, { remove: true }), { sent: [], removed: [], leftOut: [] });
  spelled[7].Contents = 'fn spelled() {}\n';
  assert.deepEqual(await workspace.sync(spelled, { remove: true }), { sent: ['src/7.rs'], removed: [], leftOut: [] });
  for (const Path of ['src\\a.rs', '/etc/passwd', 'src/', './']) {
    const { sent, leftOut } = await workspace.sync([{ Path, Contents: '' }]);
    assert.deepEqual([sent, leftOut.map(({ path }) => path)], [[], [Path]]);
    assert.ok(leftOut[0].error.message.includes(`"${Path}" must`), leftOut[0].error.message);
  }

  const before = puts();
  await workspace.sync(kept.map((each, at) => ({ Path: each.Path, Contents: `${at}`.padEnd(1000, 'x') })), { maxBytes: 40_000 });
  assert.ok(puts() - before >= 6 && puts() - before <= 8, `${puts() - before} requests`);
  const [put] = await workspace.put([{ Path: 'b.md', Contents: 'an invoice manager' }]);
  assert.equal(put.Sha256, createHash('sha256').update('an invoice manager').digest('hex'));
  assert.equal((await workspace.search({ Query: 'invoice manager' })).Chunks[0].Path, 'b.md');
  await workspace.remove('src/');
  assert.equal((await workspace.erase()).Documents, 1);
});

test('a key is asked for each attempt, and no body, query or key is logged', async () => {
  let asked = 0;
  const counting = new Aptix({ baseUrl: `${rig.url}api/..`, apiKey: async () => (asked++, 'wrong'), onLog: (entry) => log.push(entry) });
  await assert.rejects(counting.session('x').get(), { code: 'unauthenticated' });
  assert.equal(asked, 1);
  for (const entry of log) {
    assert.deepEqual(Object.keys(entry).filter((name) => !['method', 'path', 'attempt', 'milliseconds', 'status', 'error'].includes(name)), []);
    assert.ok(!JSON.stringify(entry).includes(KEY) && !entry.path.includes('?'));
  }
});

test('errors of a request name every fault with its place', async () => {
  const error = await newSession().turn({ Instruction: 1, Reop: 'x' }).final().catch((fault) => fault);
  assert.deepEqual([error.code, error.path, error.errors.length], ['invalid_field', '/Instruction', 2]);
  assert.equal(error.errors[1].Details.DidYouMean, 'Repo');
});
