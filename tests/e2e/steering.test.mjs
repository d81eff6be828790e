// Steering in the real runtime: words that are added to a turn that runs or waits (interface §14).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, clientTool, eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, call, silence, text } from './scripted_model.mjs';

const KEY = 'key-of-the-steering-client';
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }), TICKET_KEYS: JSON.stringify([{ Id: 'a', Secret: Buffer.alloc(32, 'a').toString('base64') }]) },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('drop_table', toolUrl, { Approval: 'Always' }));
    catalog.Modes[0].Tools.push('drop_table');
  },
});
const path = ({ SessionId, TurnId }) => `/sessions/${SessionId}/turns/${TurnId}`;
const steer = (turn, body, more = {}) => rig.request('POST', `${path(turn)}/steer`, { body, key: KEY, ...more });
const words = (SteerId, Instruction, more = {}) => ({ SteerId, Instruction, ...more });
const viewOf = async (turn) => resultOf(await rig.get(path(turn), { key: KEY }));
const said = (body) => body.input.map(({ type, content }) => (type === 'message' ? content[0].text.split('\n').at(-1) : type));

/** A streamed turn that waits at the gate of its first model call. */
async function waiting(gate, first = 'The long ', rest = 'answer.') {
  const calls = rig.model.bodies.length;
  rig.model.script(answer(text(first, gate, rest)));
  const turn = userTurn({ Streaming: true });
  const stream = await rig.stream(turn, { key: KEY, route: '/execute?Progress=true' });
  await eventually(() => rig.model.bodies.length > calls, 'the model is called');
  return { turn, stream };
}

test('words that come while the model writes reach it next, and the text before is taken back', async () => {
  const gate = new Gate();
  const { turn, stream } = await waiting(gate);
  rig.model.script(answer(text('Short.')));
  const accepted = await steer(turn, words('a', 'Shorter.'));
  assert.deepEqual([accepted.status, accepted.json.Result], [202, { SessionId: turn.SessionId, TurnId: turn.TurnId, SteerId: 'a', State: 'pending' }]);
  const again = await steer(turn, words('a', 'Shorter.'));
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [200, 'true']);
  assert.deepEqual(refusalOf(await steer(turn, words('a', 'Longer.'))), [409, 'steer_conflict']);
  gate.open();
  await stream.end();
  assert.equal(stream.keptText, 'Short.');
  const told = stream.of('progress').map(({ data }) => JSON.parse(data)).filter(({ Kind }) => Kind === 'steer');
  assert.deepEqual(told.map(({ SteerId, State }) => [SteerId, State]), [['a', 'accepted'], ['a', 'delivered']]);
  assert.deepEqual(said(rig.model.bodies.at(-1)), ['Shorter.']);
  const { Steers, Outcome } = await viewOf(turn);
  assert.deepEqual(Steers.map(({ SteerId, State, ModelCall }) => [SteerId, State, ModelCall]), [['a', 'delivered', 1]]);
  assert.equal(Outcome.Result.PrimaryOutputText, 'Short.');
  const late = await steer(turn, words('b', 'Late.'));
  assert.deepEqual([...refusalOf(late), late.json.Errors[0].Details.Status], [409, 'turn_ended', 'completed']);
});

test('an interrupt drops the call under way, and a restart loses nothing that was accepted', async () => {
  const gate = new Gate();
  const { turn, stream } = await waiting(gate);
  await stream.until(() => stream.text !== '', 'the text begins');
  rig.model.script(answer(text('Short.')));
  assert.equal((await steer(turn, words('a', 'Shorter.', { Interrupt: true }))).status, 202);
  await stream.end();
  assert.equal(stream.keptText, 'Short.');
  gate.open();
  const trace = resultOf(await rig.get(`${path(turn)}/trace`, { key: KEY }));
  assert.deepEqual([trace.Steers[0].Interrupted, trace.ModelCalls.map(({ Interrupted }) => Interrupted)], [true, [true, undefined]]);

  rig.model.script(silence());
  const cut = userTurn();
  const calls = rig.model.bodies.length;
  const lost = rig.post(cut, { key: KEY }).catch(() => undefined);
  await eventually(() => rig.model.bodies.length > calls, 'the model is called');
  assert.equal((await steer(cut, words('a', 'Rather this.'))).status, 202);
  rig.model.script(answer(text('So be it.')));
  await rig.restart();
  await lost;
  const heard = resultOf(await rig.post(cut, { key: KEY }));
  assert.equal(heard.PrimaryOutputText, 'So be it.');
  assert.deepEqual(said(rig.model.bodies.at(-1)).slice(-2), ['Say hello.', 'Rather this.']);
  assert.deepEqual((await viewOf(cut)).Steers.map(({ State }) => State), ['delivered']);
});

test('while an approval is open words are taken, and go behind the outputs', async () => {
  rig.tools.on('/drop_table', '{"did":"drop_table"}');
  rig.model.script(answer(call('drop_table', { q: 'all' }), call('read_file', {})), answer(text('Done.')));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const asked = resultOf(await rig.post(turn, { key: KEY })).ToolCalls;
  for (const [id, what] of [['a', 'First.'], ['b', 'Second.']]) assert.equal((await steer(turn, words(id, what))).status, 202);
  await rig.restart();
  const ToolResults = asked.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '{"Approved":true}' }));
  const { SessionId, TurnId } = turn;
  const final = resultOf(await rig.post({ SessionId, TurnId, ToolResults }, { key: KEY }));
  assert.equal(final.PrimaryOutputText, 'Done.');
  const outputs = Array(2).fill('function_call_output');
  assert.deepEqual(said(rig.model.bodies.at(-1)), [...outputs, 'First.', 'Second.']);
  await rig.request('DELETE', `/sessions/${SessionId}`, { key: KEY });
  assert.deepEqual(refusalOf(await steer(turn, words('a', 'First.'))), [404, 'session_not_found']);
});

test('a ticket steers with Execute and for its turns alone, and every fault is named', async () => {
  const mint = async (more) => resultOf(await rig.request('POST', '/tickets', { body: { User: 'ann', ...more }, key: KEY })).Ticket;
  const ticket = await mint({});
  rig.model.script(answer(call('read_file', {})));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  resultOf(await rig.post(turn, { key: ticket }));
  assert.equal((await steer(turn, words('a', 'This.'), { key: ticket })).status, 202);
  const watching = await mint({ Operations: ['Watch', 'Read', 'Cancel'] });
  assert.deepEqual(refusalOf(await steer(turn, words('b', 'That.'), { key: watching })), [403, 'forbidden']);
  const other = await mint({ Turns: ['another'] });
  assert.deepEqual(refusalOf(await steer(turn, words('b', 'That.'), { key: other })), [404, 'turn_not_found']);
  const refused = await steer(turn, { ToolsJson: '[]', Mode: 'x', Interupt: true }, { key: ticket });
  assert.deepEqual(refused.json.Errors.map(({ ErrorCode, Path }) => [ErrorCode, Path]).sort(), [
    ['empty_turn', undefined], ['forbidden_field', '/Mode'], ['forbidden_field', '/ToolsJson'],
    ['missing_field', '/SteerId'], ['unknown_field', '/Interupt'],
  ]);
  await rig.request('POST', `${path(turn)}/cancel`, { key: ticket });
  assert.deepEqual(refusalOf(await steer(turn, words('c', 'Late.'), { key: ticket })), [409, 'turn_ended']);
});
