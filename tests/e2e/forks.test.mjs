// Forks in the real runtime (interface §17): a fork and its parent go on, a user's fork is in the user's list, and what one
// erases the other keeps.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile({
  vars: { TURN_ALARM_MS: '500' },
  catalog: (catalog) => {
    catalog.ConversationContexts.brief = { ...catalog.ConversationContexts.default, BootPrompt: 'Be brief.' };
  },
});

let turns = 0;
const newTurn = (members) => userTurn({ TurnId: `t${(turns += 1)}`, ...members });
const fork = (parent, body, more = {}) => rig.request('POST', `/sessions/${parent}/fork`, { body, ...more });

/** The result of a fork that was made; fails with the whole response when none was. */
function forked(response) {
  assert.equal(response.status, 201, response.text);
  return response.json.Result;
}

/** One turn, which the model answers with these words. */
async function say(members, words, more) {
  rig.model.script(answer(text(words)));
  return resultOf(await rig.post(newTurn(members), more));
}

/** A session of three turns, the second with a client's tool; resolves to its id and the turns' requests. */
async function parent(more) {
  const { SessionId } = newTurn({});
  const tools = { ToolsJson: JSON.stringify([clientTool('read')]) };
  const first = newTurn({ SessionId, Instruction: 'One.', ...tools });
  rig.model.script(answer(text('First.')));
  resultOf(await rig.post(first, more));
  rig.model.script(answer(call('read', { path: 'a' })), answer(text('Second.')));
  const second = newTurn({ SessionId, Instruction: 'Two.' });
  const { ToolCalls } = resultOf(await rig.post(second, more));
  const ToolResults = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '{"a":1.50}' }];
  resultOf(await rig.post({ SessionId, TurnId: second.TurnId, ToolResults }, more));
  await say({ SessionId, Instruction: 'Three.' }, 'Third.', more);
  return { SessionId, first, second };
}

test('a fork has its turns, both sessions go on, and a copied turn replays', async () => {
  const { SessionId, first, second } = await parent();
  const id = `${SessionId}-fork`;
  const made = await fork(SessionId, { SessionId: id, AfterTurnId: second.TurnId });
  assert.deepEqual(forked(made), { SessionId: id, ParentSessionId: SessionId, AfterTurnId: second.TurnId, Turns: 2 });
  const again = await fork(SessionId, { SessionId: id, AfterTurnId: second.TurnId });
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, 'true']);
  assert.deepEqual(refusalOf(await fork(SessionId, { SessionId: id })), [409, 'session_exists']);

  const view = resultOf(await rig.get(`/sessions/${id}`));
  assert.deepEqual([view.Parent, view.TurnCount], [{ SessionId, TurnId: second.TurnId }, 2]);
  const document = resultOf(await rig.get(`/sessions/${id}/export`));
  assert.deepEqual(document.Parent, view.Parent);
  assert.ok(!JSON.stringify(document).includes('Three.'));

  const calls = rig.model.requests.length;
  const replayed = await rig.post({ ...first, SessionId: id });
  assert.equal(replayed.headers.get('idempotent-replayed'), 'true');
  assert.equal(resultOf(replayed).SessionId, id);
  assert.equal(rig.model.requests.length, calls);

  assert.equal((await say({ SessionId: id, Instruction: 'Otherwise.' }, 'Other.')).PrimaryOutputText, 'Other.');
  assert.equal((await say({ SessionId, Instruction: 'Four.' }, 'Fourth.')).PrimaryOutputText, 'Fourth.');
  assert.equal(resultOf(await rig.request('DELETE', `/sessions/${SessionId}`)).Turns, 4);
  assert.equal((await say({ SessionId: id, Instruction: 'Still.' }, 'There.')).PrimaryOutputText, 'There.');
  assert.equal(resultOf(await rig.request('DELETE', `/sessions/${id}`)).Turns, 4);
  assert.deepEqual(refusalOf(await fork(SessionId, { SessionId: `${id}-2` })), [404, 'session_not_found']);
});

test('a fork goes on under another context', async () => {
  const { SessionId } = await parent();
  const id = `${SessionId}-brief`;
  forked(await fork(SessionId, { SessionId: id, ConversationContextId: 'brief' }));
  await say({ SessionId: id, Instruction: 'Shorter.' }, 'Short.');
  const { body } = rig.model.requests.at(-1);
  const systems = body.input.filter(({ role }) => role === 'system').map(({ content }) => content[0].text);
  assert.deepEqual([systems, body.previous_response_id], [['Be brief.'], undefined]);
  assert.ok(JSON.stringify(body.input).includes('Third.'));
  assert.deepEqual(refusalOf(await fork(SessionId, { SessionId: `${id}-2`, ConversationContextId: 'none' })), [404, 'context_not_found']);
});

test("a user's fork is in the user's list, under the parent's title", async () => {
  const as = { headers: { 'Aptix-User': 'ann' } };
  const { SessionId } = await parent(as);
  const id = `${SessionId}-fork`;
  forked(await fork(SessionId, { SessionId: id }, as));
  const { Sessions } = resultOf(await rig.get('/sessions', as));
  const shown = Sessions.filter((session) => [SessionId, id].includes(session.SessionId));
  assert.deepEqual(shown.map(({ Title }) => Title), ['One.', 'One.']);
  assert.deepEqual(refusalOf(await rig.get(`/sessions/${id}`)), [404, 'session_not_found']);
});
