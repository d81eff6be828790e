// Tenants in the real runtime (interface §6): where their objects are asked for, whose files a link opens, and which services
// hear of them. workerd has no jurisdictions, so names of objects stand for them, and without that nothing is asked.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { ASKED, PLACED } from './placed_worker.mjs';
import { answer, call, text } from './scripted_model.mjs';

const SECRET = Buffer.from('the-secret-of-tickets-of-the-tests-of-tenants').toString('base64');
const TENANTS = { acme: { Jurisdiction: 'eu' }, beta: { Jurisdiction: 'us' }, gamma: { Placement: 'apac', Contexts: ['far'] } };
const said = (tenants, more = {}) => ({
  AUTH: undefined,
  API_KEYS: apiKeys({ 'key-acme': 'acme', 'key-beta': 'beta', 'key-gamma': 'gamma', 'key-delta': 'delta' }),
  TICKET_KEYS: JSON.stringify([{ Id: 't1', Secret: SECRET }]),
  TURN_ALARM_MS: '300',
  TENANTS: JSON.stringify(tenants),
  JURISDICTIONS: 'simulated',
  ...more,
});
const rig = rigForFile({
  vars: said(TENANTS),
  buckets: ['FILES_EU'],
  front: PLACED,
  hidden: [[SECRET]],
  catalog: (catalog, { toolUrl }) => {
    catalog.AgentContexts.default.Residence = ['eu', 'us'];
    catalog.AgentContexts.far = { ...catalog.AgentContexts.default, Residence: [] };
    catalog.ConversationContexts.far = { ...catalog.ConversationContexts.default, AgentContextId: 'far' };
    catalog.ServerTools.push(httpTool('make', toolUrl));
    catalog.Modes[0].Tools.push('make');
  },
});
const keyOf = (tenant) => ({ key: `key-${tenant}` });
const asUser = (tenant, user) => ({ ...keyOf(tenant), headers: { 'Aptix-User': user } });
/** The objects that were asked for since the last call. */
const asked = async () => (await fetch(new URL(ASKED, rig.url), { headers: { connection: 'close' } })).json();
const say = async (who, members = {}) => {
  rig.model.script(answer(text('Hello, you.')));
  return resultOf(await rig.post(userTurn({ SessionId: 's', ...members }), who));
};
const ids = (() => {
  let turns = 0;
  return () => ({ TurnId: `t${(turns += 1)}` });
})();

test('every object of a tenant stands in its jurisdiction, and equal ids of two are two sessions', async () => {
  await asked();
  for (const tenant of ['acme', 'beta']) {
    const key = keyOf(tenant);
    for (const who of [key, asUser(tenant, 'ann')]) {
      await say(who, { ...ids(), Instruction: `I am of ${tenant}.` });
      assert.equal((await rig.request('POST', '/sessions/s/fork', { body: { SessionId: 'f' }, ...who })).status, 201);
    }
    resultOf(await rig.put('w', [{ Path: 'a.md', Contents: 'alpha' }], key));
    resultOf(await rig.request('POST', '/workspaces/w/search', { body: { Query: 'alpha' }, ...key }));
    const { Ticket } = resultOf(await rig.request('POST', '/tickets', { body: { User: 'ann', Workspaces: ['w'], Operations: ['List', 'Search'] }, ...key }));
    assert.equal(resultOf(await rig.get('/sessions', { key: Ticket })).Sessions.length, 2);
    resultOf(await rig.request('POST', '/workspaces/w/search', { body: { Query: 'alpha' }, key: Ticket }));
    const { Turns } = resultOf(await rig.get('/sessions/s/turns', key));
    assert.equal(Turns.length, 1);
    resultOf(await rig.request('DELETE', '/users/ann', key));
    await eventually(async () => (await rig.get('/users/ann', key)).status !== 200 || resultOf(await rig.request('DELETE', '/users/ann', key)), 'the user is erased');
    const places = await asked();
    assert.deepEqual(new Set(places.map(({ binding }) => binding)), new Set(['SESSIONS', 'USERS', 'WORKSPACES']));
    const at = `@${TENANTS[tenant].Jurisdiction}/${tenant}/`;
    for (const { jurisdiction, hint, name } of places) assert.ok(name.startsWith(at) && !jurisdiction && !hint, name);
    const lines = rig.logs.map((line) => JSON.parse(line)).filter((line) => line.tenant === tenant && line.session);
    assert.ok(lines.length > 0 && lines.every(({ jurisdiction }) => jurisdiction === TENANTS[tenant].Jurisdiction));
  }
});

test('a placement is a hint at every object that is asked for, and no name changes', async () => {
  await asked();
  await say(asUser('gamma', 'bob'), { ...ids(), ConversationContextId: 'far' });
  const places = await asked();
  assert.deepEqual(new Set(places.map(({ binding }) => binding)), new Set(['SESSIONS', 'USERS']));
  for (const { hint, name } of places) assert.ok(hint === 'apac' && name.startsWith('gamma/'), name);
  await say(keyOf('delta'), ids());
  assert.deepEqual((await asked()).map(({ binding, name, hint }) => [binding, name, hint]), [['SESSIONS', 'delta/s', undefined]]);
});

test('contexts that a tenant has not are unknown, and agent contexts elsewhere are refused before a service hears a word', async () => {
  const calls = rig.model.requests.length;
  for (const members of [{}, { ConversationContextId: 'default' }, { ConversationContextId: 'none' }]) {
    assert.deepEqual(refusalOf(await rig.post(userTurn(members), keyOf('gamma'))), [404, 'context_not_found']);
  }
  const refused = await rig.post(userTurn({ SessionId: 'away', ConversationContextId: 'far' }), asUser('acme', 'cid'));
  assert.deepEqual(refusalOf(refused), [404, 'context_not_found']);
  assert.equal(refused.json.Errors[0].Details.Reason, 'residence');
  assert.deepEqual(refusalOf(await rig.get('/sessions/away', asUser('acme', 'cid'))), [404, 'session_not_found']);
  assert.deepEqual(resultOf(await rig.get('/sessions', asUser('acme', 'cid'))).Sessions, []);
  assert.equal(rig.model.requests.length, calls);
});

test('a file is in the bucket of its tenant or nowhere, and a link opens no other', async () => {
  const make = async (tenant, members) => {
    rig.tools.on('/make', JSON.stringify({ Files: [{ Name: 'a.txt', MimeType: 'text/plain', Text: `of ${tenant}` }] }));
    rig.model.script(answer(call('make', { q: 'x' })), ...(tenant === 'beta' ? [] : [answer(text('Made.'))]));
    return rig.post(userTurn({ SessionId: 'files', ...ids(), ...members }), keyOf(tenant));
  };
  const linkOf = async (tenant) => new URL(resultOf(await make(tenant)).Files[0].Url);
  const [eu, plain] = [await linkOf('acme'), await linkOf('delta')];
  const open = async (url) => {
    const response = await fetch(url, { headers: { connection: 'close' } });
    return [response.status, await response.text()];
  };
  assert.deepEqual(await open(eu), [200, 'of acme']);
  assert.deepEqual(await open(plain), [200, 'of delta']);
  assert.deepEqual([eu.searchParams.get('Bucket'), plain.searchParams.get('Bucket')], ['eu', null]);
  for (const [url, Bucket] of [[eu, undefined], [eu, 'us'], [plain, 'eu']]) {
    const turned = new URL(url);
    if (Bucket) turned.searchParams.set('Bucket', Bucket);
    else turned.searchParams.delete('Bucket');
    assert.equal((await open(turned))[0], 404);
  }
  assert.deepEqual((await rig.files()).length, 1, 'the other one is in another bucket');
  // No bucket of `us` is bound.
  assert.deepEqual(refusalOf(await make('beta')), [500, 'server_tool_failed']);
  assert.equal(resultOf(await rig.request('DELETE', '/sessions/files', keyOf('acme'))).Files, 1);
  assert.equal((await open(eu))[0], 404);
});

test('a tenant whose jurisdiction changes has other sessions, and its own when it is changed back', async () => {
  await say(keyOf('acme'), { SessionId: 'kept', ...ids() });
  const moved = { ...TENANTS, acme: { Jurisdiction: 'us' } };
  await rig.restart({ vars: said(moved) });
  assert.deepEqual(refusalOf(await rig.get('/sessions/kept', keyOf('acme'))), [404, 'session_not_found']);
  await rig.restart({ vars: said(TENANTS) });
  assert.equal(resultOf(await rig.get('/sessions/kept', keyOf('acme'))).SessionId, 'kept');
});

test('without jurisdictions in the runtime no object is asked, and a malformed variable is named by its place', async () => {
  await rig.restart({ vars: said(TENANTS, { JURISDICTIONS: undefined }) });
  for (const [method, route, body] of [['GET', '/sessions/s'], ['POST', '/execute', userTurn()], ['GET', '/workspaces/w']]) {
    const refused = await rig.request(method, route, { body, ...keyOf('acme') });
    assert.deepEqual(refusalOf(refused), [500, 'internal']);
    assert.equal(refused.json.Errors[0].Message, 'TENANTS: this runtime has no jurisdictions');
  }
  assert.deepEqual(await asked(), []);
  await say(keyOf('delta'), ids());
  await rig.restart({ vars: said({ acme: { Jurisdiction: 'moon' } }) });
  await asked();
  for (const route of ['/sessions/s', '/workspaces/w', '/', '/nowhere']) {
    const refused = await rig.get(route, keyOf('delta'));
    assert.deepEqual(refusalOf(refused), [500, 'internal'], route);
    assert.match(refused.json.Errors[0].Message, /TENANTS\.acme\.Jurisdiction must be one of eu/);
  }
  for (const route of ['/health', '/errors', '/openapi.json']) assert.equal((await rig.get(route)).status, 200, route);
  assert.deepEqual(await asked(), []);
  await rig.restart({ vars: said(TENANTS) });
});
