// Users against the Worker: a page with tickets, a back end that acts for users and looks after them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, eventually } from '../../../tests/e2e/harness.mjs';
import { answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';
import { User } from '../dist/users.js';
import { withApproval } from './approvals.mjs';
import { rigBehindProxy } from './behind_proxy.mjs';

const KEY = 'key-of-the-back-end';
const TICKET_KEYS = JSON.stringify([{ Id: 'one', Secret: Buffer.alloc(32, 7).toString('base64') }]);
const { rig, proxy } = rigBehindProxy({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }), TICKET_KEYS, TURN_ALARM_MS: '200' }, catalog: withApproval });
const client = (options, baseUrl = `${rig.url}`) => new Aptix({ baseUrl, retryDelayMs: 1, ...options });
const backEnd = (options, baseUrl) => client({ credential: KEY, ...options }, baseUrl);
/** A page of this user, and how often it has asked for a ticket. */
function pageOf(name, grant = {}) {
  const page = { asked: 0 };
  const credential = () => ((page.asked += 1), backEnd().ticket({ User: name, ...grant }));
  return Object.assign(page, { aptix: client({ credential }) });
}
async function turn(aptix, sessionId, ...items) {
  rig.model.script(answer(...(items.length > 0 ? items : [text('Hi.')])));
  return aptix.session(sessionId).turn({ Instruction: `The first words of ${sessionId}` }).final();
}
const titles = async (aptix, options) => (await Array.fromAsync(aptix.sessions(options))).map(({ Title }) => Title);

test('a page has the sessions of its user, whom a back end may act for', async () => {
  const zoe = pageOf('zoë/1');
  await turn(zoe.aptix, 'chat');
  const renamed = await zoe.aptix.session('chat').rename('Über alles');
  assert.deepEqual([renamed.SessionId, renamed.Title, renamed.Turns], ['chat', 'Über alles', 1]);
  assert.deepEqual(await titles(zoe.aptix), ['Über alles']);
  assert.equal(zoe.asked, 1);
  assert.deepEqual(await titles(backEnd({ user: 'zoë/1' })), ['Über alles']);
  assert.equal((await backEnd({ user: 'zoë/1' }).session('chat').get()).TurnCount, 1);
  for (const other of [pageOf('bob').aptix, backEnd({ user: 'bob' }), backEnd()]) {
    await assert.rejects(other.session('chat').get(), { code: 'session_not_found' });
  }
  await assert.rejects(Array.fromAsync(backEnd().sessions()), { code: 'missing_field', path: '/User' });
});

test('a list goes through all its pages, and finds by status and by words', async () => {
  const { aptix } = pageOf('lists');
  for (let at = 0; at < 5; at += 1) await turn(aptix, `s-${at}`);
  const all = ['s-4', 's-3', 's-2', 's-1', 's-0'].map((id) => `The first words of ${id}`);
  for (const limit of [1, 2, 5, 100]) assert.deepEqual(await titles(aptix, { limit, order: 'Created' }), all, `${limit}`);
  assert.deepEqual(await titles(aptix, { query: 'OF S-3' }), ['The first words of s-3']);
  rig.model.script(answer(call('send_mail', {})));
  const asks = aptix.session('asks').turn({ Instruction: 'Ask me.' });
  await assert.rejects(asks.final(), { code: 'turn_awaiting_tools' });
  await eventually(async () => (await titles(aptix, { status: 'awaiting_approval' })).length === 1, 'it stands in the inbox');
  await assert.rejects(titles(aptix, { limit: 0 }), { code: 'invalid_field' });
});

test('what was issued before a revocation is replaced, and lost where nothing can replace it', async () => {
  const page = pageOf('revoked');
  await turn(page.aptix, 'chat');
  const { Ticket } = await backEnd().ticket({ User: 'revoked' });
  const stolen = client({ credential: Ticket });
  await stolen.session('chat').get();
  const { TicketsBefore } = await new User(backEnd(), 'revoked').revoke();
  assert.ok(Date.parse(TicketsBefore) <= Date.now(), 'what is issued from now on holds');
  await assert.rejects(stolen.session('chat').get(), { code: 'credential_expired', status: 401, whoActs: 'client', retryable: false });
  await page.aptix.session('chat').get();
  assert.equal(page.asked, 2);
});

test('a user is erased with all sessions, and a lost receipt is no failure', async () => {
  const acting = backEnd({ user: 'leaves' });
  for (const id of ['a', 'b']) await turn(acting, id);
  assert.equal((await new User(backEnd(), 'leaves').get()).User, 'leaves');
  let receipt;
  await eventually(async () => (receipt = await new User(backEnd(), 'leaves').erase()).Sessions.Pending === 0, 'all are erased');
  assert.deepEqual([receipt.User, receipt.Sessions, receipt.Kept], ['leaves', { Erased: 2, Pending: 0, Failed: 0 }, ['workspaces', 'logs']]);
  await assert.rejects(acting.session('a').get(), { code: 'session_not_found' });
  await assert.rejects(new User(backEnd(), 'nobody').get(), { code: 'user_not_found' });

  await turn(backEnd({ user: 'leaves, too' }), 'a');
  let cuts = 1;
  proxy.fault = ({ method }) => (method === 'DELETE' && cuts-- > 0 ? { cutAfter: -2, cut: 'reset' } : undefined);
  const lost = await new User(backEnd({}, proxy.url), 'leaves, too').erase();
  assert.ok(lost === undefined || lost.Sessions.Erased === 1);
  await assert.rejects(backEnd({ user: 'leaves, too' }).session('a').get(), { code: 'session_not_found' });
});

test('a guest watches one session, and no more', async () => {
  const owner = backEnd({ user: 'owner' });
  await turn(owner, 'shared');
  await turn(owner, 'private');
  const grant = { Actor: 'guest:dave', Sessions: ['shared'], Operations: ['Watch', 'Read'] };
  const guest = pageOf('owner', grant).aptix;
  const [{ TurnId }] = await Array.fromAsync(guest.session('shared').turns());
  assert.equal((await guest.session('shared').attach(TurnId).final()).PrimaryOutputText, 'Hi.');
  await assert.rejects(guest.session('private').get(), { code: 'session_not_found' });
  await assert.rejects(guest.session('shared').turn({ Instruction: 'x' }).final(), { code: 'forbidden', details: { Operation: 'Execute' } });
  const narrower = await guest.ticket({ Operations: ['Watch'], ExpiresInS: 60 });
  assert.deepEqual([narrower.User, narrower.Operations], ['owner', ['Watch']]);
  await assert.rejects(guest.ticket({ Operations: ['Execute'] }), { code: 'forbidden', path: '/Operations' });
});
