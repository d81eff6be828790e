// What the services around a session get of its user, who decides on an approval, and the tokens of a user, over HTTP
// (interface §12, §13).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { apiKeys, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { USAGE, answer, call, text } from './scripted_model.mjs';

const KEY = 'key-of-acme';
const SECRET = Buffer.alloc(32, 7).toString('base64');
/** The tokens that each answer of the scripted model reports. */
const EACH = USAGE.total_tokens;
const SESSIONS = 12;
const LIMIT = 5 * EACH;

const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }), TICKET_KEYS: JSON.stringify([{ Id: 'k', Secret: SECRET }]), TURN_ALARM_MS: '300' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look_up', toolUrl, {}, { Headers: { 'X-User': '${USER}' } }));
    catalog.ServerTools.push(httpTool('pay', toolUrl, { Approval: { When: 'Always', By: 'Actor' } }));
    catalog.ServerTools.push(httpTool('ship', toolUrl, { Approval: { When: 'Always', By: 'Key' } }));
    catalog.Modes[0].Tools = ['look_up', 'pay', 'ship'];
    catalog.AgentContexts.default.SafetyIdentifier = 'User';
    catalog.AgentContexts.bounded = { ...catalog.AgentContexts.default, Budget: { UserTokensPerDay: LIMIT, Lease: EACH } };
    catalog.ConversationContexts.bounded = { ...catalog.ConversationContexts.default, AgentContextId: 'bounded' };
  },
});

const mint = async (body) => ({ key: resultOf(await rig.request('POST', '/tickets', { body, key: KEY })).Ticket });
const as = (user) => ({ key: KEY, headers: { 'aptix-user': encodeURIComponent(user) } });

test('tools and the model service get the user, and nothing of a user where there is none', async () => {
  rig.tools.think('/look_up', async () => '"found"');
  const user = 'zoë/1';
  const ticket = await mint({ User: user, Actor: 'support' });
  for (const credential of [ticket, { key: KEY }]) {
    rig.model.script(answer(call('look_up', { q: 'x' })), answer(text('Found.')));
    resultOf(await rig.post(userTurn({ SessionId: 'told', TurnId: 't-1' }), credential));
  }
  const [told, plain] = rig.tools.requests;
  const bodyOf = ({ body }) => (typeof body === 'string' ? JSON.parse(body) : body);
  assert.deepEqual([bodyOf(told).User, bodyOf(told).Actor, told.headers['x-user']], [user, 'support', encodeURIComponent(user)]);
  assert.deepEqual(['User' in bodyOf(plain), 'Actor' in bodyOf(plain), plain.headers['x-user'] ?? ''], [false, false, '']);
  const identifier = createHash('sha256').update(`acme\n${user}`).digest('hex');
  assert.deepEqual(rig.model.bodies.map((body) => body.safety_identifier), [identifier, identifier, undefined, undefined]);
});

test('an approval is decided by whom the catalog names, and waits on for others', async () => {
  let asked = 0;
  const [user, bob] = [await mint({ User: 'alice' }), await mint({ User: 'alice', Actor: 'bob' })];
  for (const [tool, asks, may, mayNot] of [
    ['pay', user, bob, [user, await mint({ User: 'alice', Actor: 'alice' }), as('alice')]],
    ['pay', bob, await mint({ User: 'alice', Actor: 'carol' }), [bob, user]],
    ['ship', as('alice'), as('alice'), [user, bob]],
  ]) {
    rig.tools.think(`/${tool}`, async () => '"done"');
    const ids = { SessionId: `approved-${asked += 1}`, TurnId: 't-1' };
    rig.model.script(answer(call(tool, { q: 'x' })), answer(text('Done.')));
    const [question] = resultOf(await rig.post(userTurn(ids), asks)).ToolCalls;
    const decision = { ...ids, ToolResults: [{ ToolCallId: question.ToolCallId, ExecutionMs: 1, ResultJson: '{"Approved":true}' }] };
    for (const credential of mayNot) {
      const refused = await rig.post(decision, credential);
      assert.deepEqual([...refusalOf(refused), refused.json.Errors[0].Details.Operation], [403, 'forbidden', 'Approve']);
    }
    assert.equal(resultOf(await rig.post(decision, may)).PrimaryOutputText, 'Done.');
  }
});

test('sessions of a user that spend one day’s tokens at once stay below the limit, but for one call each', async () => {
  rig.model.otherwise(answer(text('Spent.')));
  const ids = Array.from({ length: SESSIONS }, (_, number) => `spends-${number}`);
  let spent = 0;
  const refused = [];
  await Promise.all(ids.map(async (SessionId) => {
    for (let turn = 0; turn < 3; turn += 1) {
      const got = await rig.post(userTurn({ SessionId, TurnId: `t-${turn}`, ConversationContextId: 'bounded' }), as('spender'));
      if (got.status === 200) spent += resultOf(got).Usage.TotalTokens;
      else refused.push(got);
    }
  }));
  assert.ok(spent >= EACH && spent <= LIMIT + SESSIONS * EACH, `${spent} of ${LIMIT}`);
  assert.ok(refused.length > 0);
  for (const got of refused) {
    assert.deepEqual(refusalOf(got), [403, 'budget_exceeded']);
    const { Budget, ResetsAt } = got.json.Errors[0].Details;
    assert.deepEqual([Budget.UserTokensPerDay, Budget.Exceeded], [LIMIT, 'UserTokensPerDay']);
    assert.match(ResetsAt, /T00:00:00\.000Z$/);
  }
  const view = resultOf(await rig.get('/users/spender', { key: KEY }));
  assert.ok(view.Tokens.Today >= LIMIT && view.Tokens.Today <= LIMIT + SESSIONS * EACH, JSON.stringify(view));
  assert.deepEqual(view.Budgets, [{ AgentContextId: 'bounded', UserTokensPerDay: LIMIT }]);
  // Another user, and the tenant's own sessions, have tokens of their own.
  resultOf(await rig.post(userTurn({ SessionId: 'other', TurnId: 't', ConversationContextId: 'bounded' }), as('other')));
  resultOf(await rig.post(userTurn({ SessionId: 'own', TurnId: 't', ConversationContextId: 'bounded' }), { key: KEY }));
});
