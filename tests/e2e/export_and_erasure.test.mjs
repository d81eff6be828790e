// The export of a session in one document, and its erasure with a receipt (interface §1).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import net from 'node:net';
import { test } from 'node:test';
import { BOOT_PROMPT, apiKeys, clientTool, eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, call, text } from './scripted_model.mjs';

const [ONE, TWO] = ['key-one', 'key-two'];
/** Ten of them are longer than a restart on a busy machine: after ten a response that is not deleted is given up. */
const TURN_ALARM_MS = '5000';
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }), TURN_ALARM_MS },
  catalog: (catalog, { toolUrl }) => {
    catalog.AgentContexts.default.DeleteStored = true;
    catalog.AgentContexts.keeping = { ...catalog.AgentContexts.default, DeleteStored: false };
    catalog.ServerTools.push(httpTool('look', toolUrl));
    catalog.Modes[0].Tools.push('look');
  },
});
const key = ONE;
const erase = (session, more = { key }) => rig.request('DELETE', `/sessions/${session}`, more);
const exported = async (session) => resultOf(await rig.get(`/sessions/${session}/export`, { key }));

/** A session with four kinds of turn: server tool, mode change, client tool with its continuation, paused. */
async function richSession() {
  rig.tools.on('/look', '{"found":"a needle"}');
  rig.model.script(
    answer(call('look', { q: 'the haystack' })),
    answer(call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'A decision comes.' })),
    answer(text('Here is the needle.')),
    answer(call('read', { path: 'a.md' })),
    answer(text('Read.')),
    answer(call('read', { path: 'b.md' })),
  );
  const { SessionId } = userTurn();
  const tools = { ToolsJson: JSON.stringify([clientTool('read')]) };
  resultOf(await rig.post({ SessionId, TurnId: 't1', Instruction: 'Find it.', SolutionContextText: 'A barn.', ...tools }, { key }));
  const { ToolCalls } = resultOf(await rig.post({ SessionId, TurnId: 't2', Instruction: 'Read a.' }, { key }));
  const ToolResults = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 4, ResultJson: '"contents of a"' }];
  resultOf(await rig.post({ SessionId, TurnId: 't2', ToolResults }, { key }));
  resultOf(await rig.post({ SessionId, TurnId: 't3', Instruction: 'Read b.', Streaming: false }, { key }));
  return SessionId;
}

test('an export holds everything that was said, called, answered and changed', async () => {
  const session = await richSession();
  const document = await exported(session);
  const whole = JSON.stringify(document);
  for (const kept of [
    'Find it.', 'A barn.', BOOT_PROMPT, 'the haystack', 'a needle', 'A decision comes.', 'Here is the needle.',
    'Read a.', 'a.md', 'contents of a', 'Read.', 'Read b.', 'b.md', ...rig.model.requests.map(({ responseId }) => responseId),
  ]) {
    assert.ok(whole.includes(kept), `"${kept}" is not in the export`);
  }
  assert.deepEqual(document.Turns.map(({ TurnId, Status, Submissions }) => [TurnId, Status, Submissions.length]), [
    ['t1', 'completed', 1],
    ['t2', 'completed', 2],
    ['t3', 'awaiting_tools', 1],
  ]);
  assert.deepEqual([document.Mode, document.ModeHistory.length, document.SolutionContextText], ['ddr_authoring', 1, 'A barn.']);
  const view = resultOf(await rig.get(`/sessions/${session}/turns/t1`, { key }));
  assert.deepEqual(document.Turns[0].Submissions[0].Outcome, view.Outcome);
  assert.deepEqual(refusalOf(await rig.get(`/sessions/${session}/export`, { key: TWO })), [404, 'session_not_found']);
  rig.model.clear();
});

test('an export of a long session comes whole, and is one document', async () => {
  rig.model.otherwise(answer(text('x'.repeat(50_000))));
  const { SessionId } = userTurn();
  for (let turn = 1; turn <= 40; turn += 1) {
    resultOf(await rig.post({ SessionId, TurnId: `t${turn}`, Instruction: 'More.' }, { key }));
  }
  const document = await exported(SessionId);
  assert.deepEqual(document.Turns.map(({ TurnId }) => TurnId), Array.from({ length: 40 }, (_, i) => `t${i + 1}`));
  assert.ok(document.Turns.every(({ Submissions }) => Submissions[0].Outcome.Result.PrimaryOutputText.length === 50_000));
});

test('an export breaks off whose session is erased while it is read, also where one of the same id has begun since', async () => {
  const { SessionId } = userTurn();
  const say = async (TurnId) => resultOf(await rig.post({ SessionId, TurnId, Instruction: 'More.' }, { key }));
  rig.model.script(answer(text('x'.repeat(5_000_000))));
  rig.model.otherwise(answer(text('Short.')));
  for (let turn = 1; turn <= 3; turn += 1) await say(`t${turn}`);
  // A client that reads slowly: the first turn is longer than what waits for it on the way, so the rest waits at the service.
  const socket = net.connect(Number(rig.url.port), rig.url.hostname);
  const pieces = [];
  let erased = false;
  const bytes = () => pieces.reduce((sum, { length }) => sum + length, 0);
  socket.on('error', () => {}).on('data', (piece) => pieces.push(piece) && !erased && bytes() > 100_000 && socket.pause());
  socket.write(`GET /sessions/${SessionId}/export HTTP/1.1\r\nHost: ${rig.url.host}\r\nAuthorization: Bearer ${key}\r\nConnection: close\r\n\r\n`);
  await eventually(() => socket.isPaused(), 'the export begins');
  resultOf(await erase(SessionId));
  erased = true;
  rig.model.otherwise(answer(text('Anew.')));
  for (let turn = 1; turn <= 4; turn += 1) await say(`n${turn}`);
  socket.resume();
  await once(socket, 'close');
  const heard = Buffer.concat(pieces).toString();
  const parts = ['"TurnId":"t1"', 'Anew.', '"Texts":{'].map((part) => heard.includes(part));
  assert.deepEqual(parts, [true, false, false], 'no whole document, and nothing of the other session');
});

test('an erased session is gone, with a receipt, and so are its responses at the model service', async () => {
  const session = await richSession();
  const responses = rig.model.requests.map(({ responseId }) => responseId);
  assert.deepEqual(refusalOf(await erase(session, { key: TWO })), [404, 'session_not_found']);
  const { ErasedAt, ...receipt } = resultOf(await erase(session));
  assert.ok(Math.abs(Date.parse(ErasedAt) - Date.now()) < 60_000, ErasedAt);
  assert.deepEqual(receipt, {
    SessionId: session,
    Turns: 3,
    Submissions: 4,
    ConversationEntries: 13,
    ModelCalls: 6,
    ToolCalls: 4,
    ModeChanges: 1, Files: 0,
    StoredResponses: { Deleted: 6, Pending: 0, Refused: 0, Unreachable: 0, Unknown: 0 },
  });
  assert.deepEqual([...rig.model.deletions].sort(), [...responses].sort());
  for (const rest of ['', '/turns', '/turns/t1', '/modes', '/export']) {
    assert.deepEqual(refusalOf(await rig.get(`/sessions/${session}${rest}`, { key })), [404, 'session_not_found'], rest);
  }
  assert.deepEqual(refusalOf(await erase(session)), [404, 'session_not_found']);

  // The same id is now a new session without the old conversation.
  rig.model.script(answer(text('Hello.')));
  resultOf(await rig.post({ SessionId: session, TurnId: 't1', Instruction: 'Who are you?' }, { key }));
  assert.ok(!rig.model.lastSeen.includes('needle'));
  assert.equal((await exported(session)).Turns.length, 1);
});

test('erasing a running session cancels its turn first', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Hel', gate, 'lo.')));
  const turn = userTurn();
  const running = rig.post(turn, { key });
  await eventually(() => rig.model.requests.length > 0, 'the model is called');
  const receipt = resultOf(await erase(turn.SessionId));
  assert.deepEqual([receipt.Turns, receipt.ModelCalls], [1, 1]);
  assert.deepEqual(refusalOf(await running), [409, 'turn_aborted']);
  assert.deepEqual(refusalOf(await rig.get(`/sessions/${turn.SessionId}`, { key })), [404, 'session_not_found']);
  gate.open();
});

test('what the model service does not delete at once is deleted later, also after a restart', async () => {
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const turn = userTurn();
  resultOf(await rig.post(turn, { key }));
  resultOf(await rig.post({ ...turn, TurnId: 'turn-2' }, { key }));
  rig.model.refuseDeletions = 500;
  const { StoredResponses } = resultOf(await erase(turn.SessionId));
  assert.deepEqual(StoredResponses, { Deleted: 0, Pending: 2, Refused: 0, Unreachable: 0, Unknown: 0 });
  assert.deepEqual(refusalOf(await rig.get(`/sessions/${turn.SessionId}`, { key })), [404, 'session_not_found']);

  await rig.restart();
  rig.model.deletions.length = 0;
  rig.model.refuseDeletions = null;
  // The alarm continues the erasure; a repeated request does so, too, and reports the progress.
  const again = await erase(turn.SessionId);
  if (again.status === 200) assert.deepEqual(resultOf(again).StoredResponses, { Deleted: 2, Pending: 0, Refused: 0, Unreachable: 0, Unknown: 0 });
  await eventually(() => new Set(rig.model.deletions).size === 2, 'both responses are deleted');
  await eventually(async () => (await erase(turn.SessionId)).status === 404, 'the erasure has ended');
});

test('after the receipt the model service holds nothing that the receipt does not count', async () => {
  rig.model.forgetResponses();
  rig.tools.on('/look', '1');
  const { SessionId } = userTurn();
  let turns = 0;
  const post = (more = {}) => rig.post({ SessionId, TurnId: `t${(turns += 1)}`, Instruction: 'Go on.', ...more }, { key });
  const failing = { code: 'server_error', message: 'broken' };
  for (const script of [
    [answer(call('look', {})), answer(text('Looked.'))],
    [answer(text('Half')).with({ incomplete: 'max_output_tokens' })],
    [answer(call('look', {})).with({ incomplete: 'max_output_tokens' })],
    [answer(text('Broken')).with({ failed: { code: 'invalid_prompt', message: 'no' } })],
    [answer(text('Cut')).with({ cutAfter: 2 }), answer(text('Again.')), answer(text('Again.'))],
    [answer(text('Error')).with({ errorEvent: 'nested', error: failing }), answer(text('Again.')), answer(text('Again.'))],
    [answer(text('As JSON.')).with({ asJson: true })],
  ]) {
    rig.model.script(...script);
    await post();
    rig.model.clear();
  }
  // One that is cancelled in the middle.
  const gate = new Gate();
  rig.model.script(answer(text('Hel', gate, 'lo.')));
  const running = post();
  await eventually(() => rig.model.requests.length > 0, 'the model is called');
  const route = `/sessions/${SessionId}/turns/t${turns}/stream`;
  const stream = await rig.stream(null, { method: 'GET', route, key });
  await stream.until(({ text: seen }) => seen === 'Hel', 'the first words');
  resultOf(await rig.request('POST', `/sessions/${SessionId}/turns/t${turns}/cancel`, { key }));
  await running;
  await stream.end();
  gate.open();
  const held = rig.model.held.length;
  assert.ok(held >= 9, `${held} responses`);
  const { StoredResponses } = resultOf(await erase(SessionId));
  assert.deepEqual(StoredResponses, { Deleted: held, Pending: 0, Refused: 0, Unreachable: 0, Unknown: 0 });
  assert.deepEqual(rig.model.held, []);
});

test('a context that does not ask for it leaves the model service alone', async () => {
  rig.model.script(answer(text('One.')));
  const turn = userTurn({ AgentContextId: 'keeping' });
  resultOf(await rig.post(turn, { key }));
  assert.equal(resultOf(await erase(turn.SessionId)).StoredResponses, undefined);
  assert.deepEqual(rig.model.deletions, []);
});
