// The sessions of users in the real runtime: the list, titles, the inbox, removal, revoking and erasing (interface §13).
import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import { json } from 'node:stream/consumers';
import { test } from 'node:test';
import { clientTool, eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const SECRET = Buffer.from('the-secret-of-tickets-of-the-tests-of-users').toString('base64');
const rig = rigForFile({
  vars: { TURN_ALARM_MS: '500', TICKET_KEYS: JSON.stringify([{ Id: 't1', Secret: SECRET }]) },
  hidden: [[SECRET]],
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval: 'Always' }));
    catalog.Modes[0].Tools.push('send_mail');
  },
});

let [users, turns] = [0, 0];
const newUser = () => `user ${(users += 1)}/ö`;
/** A turn that no other request repeats. */
const newTurn = (members) => userTurn({ TurnId: `t${(turns += 1)}`, ...members });
const as = (user) => ({ headers: { 'Aptix-User': encodeURIComponent(user) } });
const ask = (user, method, route, body) => rig.request(method, route, { body, ...as(user) });
const pathOf = (user) => `/users/${encodeURIComponent(user)}`;
const list = async (user, query = '') => resultOf(await ask(user, 'GET', `/sessions${query}`)).Sessions;
const ids = async (user, query) => (await list(user, query)).map(({ SessionId }) => SessionId);
const ticketOf = async (User, more = {}) => resultOf(await rig.request('POST', '/tickets', { body: { User, ...more } })).Ticket;

/** Sends a turn but for the last byte of its body, which `finish` sends. `answered` is `{statusCode, body}`. */
async function beginTurn(user, body) {
  const request = http.request(new URL('/execute', rig.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body), ...as(user).headers },
  });
  const answered = once(request, 'response').then(async ([response]) => ({
    statusCode: response.statusCode,
    body: await json(response),
  }));
  await new Promise((resolve) => request.write(body.slice(0, -1), resolve));
  // The Worker has the head before it answers what was sent later.
  await rig.get('/health');
  return { answered, finish: () => request.end(body.slice(-1)) };
}

/** One turn of a user's session, which the model answers. */
async function say(user, SessionId, Instruction = 'Hello.', more = {}) {
  rig.model.script(answer(text('Hello, you.')));
  return resultOf(await rig.post(newTurn({ SessionId, Instruction, ...more }), as(user)));
}

test('a first turn shows at once, a later one with the next alarm, and other users see nothing of it', async () => {
  const [ann, bob] = [newUser(), newUser()];
  assert.deepEqual(await list(ann), []);
  await say(ann, 'trip', '# **Plan** a trip\nto Rome');
  const [first] = await list(ann);
  const { CreatedAt, ActiveAt, Tokens, ...shown } = first;
  assert.deepEqual(shown, { SessionId: 'trip', Title: 'Plan a trip', ModeDisplayName: 'General', Status: 'idle', Turns: 1 });
  assert.ok(Tokens > 0 && CreatedAt <= ActiveAt);
  await say(ann, 'trip');
  await eventually(async () => (await list(ann))[0].Turns === 2, 'the second turn is reported');
  assert.deepEqual(await list(bob), []);
  assert.deepEqual(refusalOf(await ask(bob, 'GET', '/sessions/trip')), refusalOf(await ask(bob, 'GET', '/sessions/trap')));
  assert.deepEqual(refusalOf(await rig.get('/sessions')), [400, 'missing_field']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/trip')), [404, 'session_not_found']);
});

test('what waits for a human is an inbox, and leaves it with the decision', async () => {
  const ann = newUser();
  rig.model.script(answer(call('send_mail', { q: 'ann' })));
  const { SessionId, TurnId, ...turn } = newTurn({ SessionId: 'mail' });
  const paused = resultOf(await rig.post({ SessionId, TurnId, ...turn }, as(ann)));
  rig.model.script(answer(call('read_file', {})));
  await rig.post(newTurn({ SessionId: 'file', ToolsJson: JSON.stringify([clientTool('read_file')]) }), as(ann));
  await say(ann, 'talk');
  await eventually(async () => (await list(ann, '?Status=awaiting_approval')).length === 1, 'the pause is in the inbox');
  const [waiting] = await list(ann, '?Status=awaiting_approval');
  assert.deepEqual([waiting.SessionId, waiting.Waiting.TurnId, waiting.Waiting.Tools], ['mail', TurnId, ['send_mail']]);
  assert.deepEqual(await ids(ann, '?Status=awaiting_tools'), ['file']);
  assert.deepEqual(await ids(ann, '?Status=idle'), ['talk']);
  const { Sessions } = resultOf(await rig.get(pathOf(ann)));
  assert.deepEqual(Sessions, { Total: 3, Running: 0, AwaitingTools: 1, AwaitingApproval: 1, Idle: 1, Failed: 0, Erasing: 0 });
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(text('Sent.')));
  const ToolResults = [{ ToolCallId: paused.ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '{"Approved":true}' }];
  resultOf(await rig.post({ SessionId, TurnId, ToolResults }, as(ann)));
  await eventually(async () => (await list(ann, '?Status=awaiting_approval')).length === 0, 'the inbox is empty');
  await ask(ann, 'POST', `/sessions/file/turns/${(await list(ann, '?Status=awaiting_tools'))[0].Waiting.TurnId}/cancel`);
  await eventually(async () => (await ids(ann, '?Status=idle')).length === 3, 'the cancelled pause is reported');
});

test('a title is changed for good, and found without the case of ASCII letters', async () => {
  const ann = newUser();
  await say(ann, 'a', 'Trip to Ürümqi');
  await say(ann, 'b', '100% of it');
  const renamed = resultOf(await ask(ann, 'PATCH', '/sessions/b', { Title: 'Percent & plus +' }));
  assert.deepEqual([renamed.SessionId, renamed.Title], ['b', 'Percent & plus +']);
  await say(ann, 'b', 'Another title?');
  await eventually(async () => (await list(ann, '?Query=percent'))[0]?.Turns === 2, 'the turn is reported');
  for (const [query, found] of [['TRIP+to', ['a']], ['%25', []], ['%C3%9Cr', ['a']], ['plus%20%2B', ['b']]]) {
    assert.deepEqual(await ids(ann, `?Query=${query}`), found, query);
  }
  assert.deepEqual(refusalOf(await ask(newUser(), 'PATCH', '/sessions/b', { Title: 'x' })), [404, 'session_not_found']);
  assert.deepEqual(refusalOf(await ask(ann, 'PATCH', '/sessions/b', { Title: '' })), [400, 'invalid_field']);
  assert.deepEqual(refusalOf(await rig.request('PATCH', '/sessions/b', { body: { Title: 'x' } })), [400, 'missing_field']);
  const reading = await ticketOf(ann, { Operations: ['Read', 'List'] });
  assert.deepEqual(refusalOf(await rig.request('PATCH', '/sessions/b', { key: reading, body: { Title: 'x' } })), [403, 'forbidden']);
  assert.deepEqual(resultOf(await rig.get('/sessions', { key: reading })).Sessions.length, 2);
});

test('a deleted session leaves the list with its receipt, and its id begins anew', async () => {
  const ann = newUser();
  await say(ann, 'a');
  await say(ann, 'b');
  const receipt = resultOf(await ask(ann, 'DELETE', '/sessions/a'));
  assert.deepEqual([receipt.SessionId, receipt.Turns, receipt.ModelCalls], ['a', 1, 1]);
  assert.deepEqual(await ids(ann), ['b']);
  assert.deepEqual(refusalOf(await ask(ann, 'DELETE', '/sessions/a')), [404, 'session_not_found']);
  await say(ann, 'a', 'Anew');
  assert.deepEqual((await list(ann)).map(({ SessionId, Turns }) => [SessionId, Turns]), [['a', 1], ['b', 1]]);
  for (const id of ['a', 'b']) resultOf(await ask(ann, 'DELETE', `/sessions/${id}`));
  assert.deepEqual(refusalOf(await rig.get(pathOf(ann))), [404, 'user_not_found']);
});

test('what was being sent when a session or its user was deleted begins nothing', async () => {
  for (const erased of ['/sessions/late', undefined]) {
    const ann = newUser();
    const body = JSON.stringify(newTurn({ SessionId: 'late' }));
    const { answered, finish } = await beginTurn(ann, body);
    const found = erased ? await ask(ann, 'DELETE', erased) : await rig.request('DELETE', pathOf(ann));
    assert.deepEqual(refusalOf(found), [404, erased ? 'session_not_found' : 'user_not_found']);
    finish();
    const { statusCode, body: told } = await answered;
    assert.deepEqual([statusCode, told.Errors[0].ErrorCode], [409, 'turn_aborted']);
    assert.deepEqual(await list(ann), []);
  }
});

test('a revocation voids what was issued before it, and nothing else', async () => {
  const ann = newUser();
  const before = await ticketOf(ann);
  const turn = (key, SessionId) => rig.post(newTurn({ SessionId }), { key });
  rig.model.script(answer(text('Hello.')));
  resultOf(await turn(before, 'a'));
  const revoked = resultOf(await rig.request('POST', `${pathOf(ann)}/revoke`));
  assert.deepEqual([revoked.User, revoked.Sessions], [ann, 1]);
  for (const refused of [await turn(before, 'a'), await turn(before, 'new'), await rig.get('/sessions', { key: before })]) {
    assert.deepEqual(refusalOf(refused), [401, 'credential_expired']);
    assert.equal(refused.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  }
  const after = await ticketOf(ann);
  await rig.restart();
  assert.deepEqual(refusalOf(await rig.get('/sessions/a', { key: before })), [401, 'credential_expired']);
  rig.model.script(answer(text('Hello.')));
  resultOf(await turn(after, 'a'));
  assert.equal(resultOf(await rig.get(pathOf(ann))).TicketsBefore, revoked.TicketsBefore);
  assert.deepEqual(refusalOf(await rig.request('POST', `${pathOf(ann)}/revoke`, { key: after })), [403, 'forbidden']);
});

test('a user with 25 sessions is erased, with a restart in the middle', async () => {
  const ann = newUser();
  const before = await ticketOf(ann, { Operations: ['Execute', 'List'] });
  for (let number = 0; number < 25; number += 1) await say(ann, `s${number}`);
  const erase = () => rig.request('DELETE', pathOf(ann));
  const first = resultOf(await erase());
  assert.deepEqual(first.Sessions, { Erased: 10, Pending: 15, Failed: 0 });
  assert.deepEqual(await list(ann), []);
  await rig.crash();
  const last = await eventually(async () => {
    const receipt = resultOf(await erase());
    return receipt.Sessions.Pending === 0 && receipt;
  }, 'all sessions are erased');
  assert.equal(last.Sessions.Erased, 25);
  // One turn, one submission, three entries and one model call each.
  const entries = last.Rows / 25;
  assert.ok(Number.isInteger(entries) && entries >= 5, `${last.Rows}`);
  assert.deepEqual([last.User, last.Files, last.Kept], [ann, 0, ['workspaces', 'logs']]);
  assert.deepEqual(refusalOf(await erase()), [404, 'user_not_found']);
  assert.deepEqual(refusalOf(await ask(ann, 'GET', '/sessions/s3')), [404, 'session_not_found']);
  assert.deepEqual(refusalOf(await rig.get('/sessions', { key: before })), [401, 'credential_expired']);
  const lines = rig.logs.filter((line) => line.includes('"user_erased"')).map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ sessions }) => sessions), [25]);
  assert.match(lines[0].user, /^[0-9a-f]{16}$/);
  // With a new credential a new life begins.
  const after = await ticketOf(ann);
  rig.model.script(answer(text('Hello.')));
  resultOf(await rig.post(newTurn({ SessionId: 's3' }), { key: after }));
  assert.deepEqual((await list(ann)).map(({ SessionId, Turns }) => [SessionId, Turns]), [['s3', 1]]);
});
