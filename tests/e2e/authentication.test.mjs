// Authentication, and the separation of tenants (interface §6).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Rig, apiKeys, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const [ONE, TWO] = ['key-of-tenant-one', 'key-of-tenant-two'];
const rig = rigForFile({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }) } });
const closed = new Rig({ vars: { AUTH: undefined, API_KEYS: undefined } });
after(() => closed.dispose());

test('without any configuration everything but the open routes is closed', async () => {
  await closed.start();
  const turn = userTurn();
  for (const key of [undefined, 'any-key']) {
    assert.deepEqual(refusalOf(await closed.post(turn, { key })), [401, 'unauthenticated']);
    assert.deepEqual(refusalOf(await closed.get(`/sessions/${turn.SessionId}`, { key })), [401, 'unauthenticated']);
  }
  resultOf(await closed.get('/health'));
  resultOf(await closed.get('/errors'));
  assert.deepEqual(closed.model.requests, []);
});

test('a configured key opens, any other does not', async () => {
  rig.model.script(answer(text('Welcome.')));
  const turn = userTurn();
  for (const key of [undefined, '', 'wrong', `${ONE} `.repeat(2).trim(), ONE.toUpperCase()]) {
    assert.deepEqual(refusalOf(await rig.post(turn, { key })), [401, 'unauthenticated'], `key ${key}`);
  }
  const headers = { authorization: `Basic ${Buffer.from(`x:${ONE}`).toString('base64')}` };
  assert.deepEqual(refusalOf(await rig.post(turn, { headers })), [401, 'unauthenticated']);
  assert.equal(resultOf(await rig.post(turn, { key: ONE })).PrimaryOutputText, 'Welcome.');
});

test('tenants are apart: equal ids are different sessions, and nobody sees another\'s', async () => {
  rig.model.script(answer(text('For one.')), answer(text('For two.')));
  const turn = userTurn({ Instruction: 'My secret is 4711.' });
  resultOf(await rig.post(turn, { key: ONE }));
  const route = `/sessions/${turn.SessionId}`;
  const one = `${route}/turns/${turn.TurnId}`;
  for (const path of [route, `${route}/modes`, one, `${one}/stream`]) {
    assert.deepEqual(refusalOf(await rig.get(path, { key: TWO })), [404, 'session_not_found'], path);
  }
  const other = await rig.post({ ...turn, Instruction: 'Hello.' }, { key: TWO });
  assert.equal(resultOf(other).PrimaryOutputText, 'For two.');
  assert.ok(!rig.model.lastSeen.includes('4711'));
  assert.ok((await rig.get(one, { key: ONE })).text.includes('For one.'));
  assert.ok((await rig.get(one, { key: TWO })).text.includes('For two.'));
});
