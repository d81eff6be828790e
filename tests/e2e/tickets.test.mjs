// Users and tickets over HTTP (interface §13): whose a session is says its object's name, and a ticket permits what it
// names and no more. The attacks that this file repeats are those of an outsider, of another user, and of a page.
import assert from 'node:assert/strict';
import { createHash, createHmac } from 'node:crypto';
import { test } from 'node:test';
import { apiKeys, clientTool, eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const [KEY, PLAIN] = ['key-with-all-rights', 'key-of-plain-sessions'];
const SECRETS = ['a', 'b'].map((letter) => Buffer.from(letter.repeat(32)));
const CANARIES = ['canary-user-4b1e', 'canary-actor-4b1e'];
const TICKETS = JSON.stringify([
  { Id: 'new', Secret: SECRETS[0].toString('base64') },
  { Id: 'old', Secret: SECRETS[1].toString('base64') },
]);
const keys = [
  ...JSON.parse(apiKeys({ [KEY]: 'acme' })),
  { Id: 'plain', Tenant: 'acme', Sha256: createHash('sha256').update(PLAIN).digest('hex'), May: ['Sessions'] },
];

const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: JSON.stringify(keys), TICKET_KEYS: TICKETS, ALLOWED_ORIGINS: 'https://app.example.com' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval: 'Always' }));
    catalog.Modes[0].Tools = ['send_mail'];
    catalog.ConversationContexts.other = { ...catalog.ConversationContexts.default };
    catalog.AgentContexts.default.Retrieval = { Index: {} };
  },
});

async function mint(body, { key = KEY, headers } = {}) {
  const minted = await rig.request('POST', '/tickets', { body, key, headers });
  return resultOf(minted).Ticket;
}

const contentsOf = (ticket) => JSON.parse(Buffer.from(ticket.split('.')[1], 'base64url').toString());

/** A ticket of one's own making. */
function forged(contents, secret = SECRETS[0]) {
  const signed = `apt1.${Buffer.from(JSON.stringify(contents)).toString('base64url')}`;
  return `${signed}.${createHmac('sha256', secret).update(signed).digest('base64url')}`;
}

const as = (user) => ({ key: KEY, headers: { 'aptix-user': encodeURIComponent(user) } });

let serial = 0;
const ids = () => {
  serial += 1;
  return { SessionId: `s-${serial}`, TurnId: 't-1' };
};

async function turnBy(credential, members = {}) {
  rig.model.script(answer(text('Well.')));
  return rig.post(userTurn({ ...ids(), ...members }), credential);
}

test('two users and their tenant have three sessions of one id, and nobody sees another’s', async () => {
  const { SessionId } = ids();
  const names = ['alice', 'bob/../alice', null];
  const credentials = names.map((name) => (name === null ? { key: KEY } : as(name)));
  const cacheKeys = [];
  for (const [index, credential] of credentials.entries()) {
    const missing = await rig.get(`/sessions/${SessionId}`, credential);
    assert.deepEqual(refusalOf(missing), [404, 'session_not_found']);
    resultOf(await turnBy(credential, { SessionId, TurnId: `of-${index}` }));
    cacheKeys.push(rig.model.bodies.at(-1).prompt_cache_key);
    const turns = resultOf(await rig.get(`/sessions/${SessionId}/turns`, credential)).Turns;
    assert.deepEqual(turns.map(({ TurnId }) => TurnId), [`of-${index}`]);
  }
  assert.equal(new Set(cacheKeys).size, 3);
  const cacheKey = (owner) => createHash('sha256').update(`acme\n${owner}${SessionId}`).digest('hex').slice(0, 32);
  assert.deepEqual(cacheKeys, [cacheKey('~alice\n'), cacheKey('~bob/../alice\n'), cacheKey('')]);
});

test('another user’s session, and one that never was, are answered alike at every endpoint', async () => {
  const { SessionId, TurnId } = ids();
  resultOf(await turnBy(as('alice'), { SessionId, TurnId }));
  const bob = { key: await mint({ User: 'bob', Operations: ['Watch', 'Read', 'Cancel', 'Trace', 'Export', 'Erase', 'Answer'] }) };
  const never = 'never-was-1';
  const shape = ({ status, headers, text: body }) => {
    const names = [...headers].filter(([name]) => !['date', 'server-timing', 'content-length', 'aptix-request-id'].includes(name));
    return { status, names, body: body.replaceAll(SessionId, '…').replaceAll(never, '…') };
  };
  const routes = ['', '/turns', `/turns/${TurnId}`, `/turns/${TurnId}/stream`, `/turns/${TurnId}/trace`, '/modes', '/export'];
  const requests = [
    ...routes.map((route) => (id) => rig.get(`/sessions/${id}${route}`, bob)),
    (id) => rig.request('POST', `/sessions/${id}/turns/${TurnId}/cancel`, bob),
    (id) => rig.request('DELETE', `/sessions/${id}`, bob),
    (id) => rig.post({ SessionId: id, TurnId, ToolResults: [{ ToolCallId: 'c', ExecutionMs: 1, ResultJson: '1' }] }, bob),
  ];
  for (const request of requests) {
    const [others, none] = [await request(SessionId), await request(never)];
    assert.deepEqual(refusalOf(others), [404, 'session_not_found']);
    assert.deepEqual(shape(others), shape(none));
  }
  assert.equal(resultOf(await rig.get(`/sessions/${SessionId}`, as('alice'))).TurnCount, 1);
});

test('a key acts for a user by its right alone, and names the user in UTF-8', async () => {
  const wrong = await rig.get('/sessions/s', { key: KEY, headers: { 'aptix-user': '%FF' } });
  assert.deepEqual([...refusalOf(wrong), wrong.json.Errors[0].Path], [400, 'invalid_field', '/User']);
  const refused = await rig.get('/sessions/s', { key: PLAIN, headers: { 'aptix-user': 'alice' } });
  assert.deepEqual(refusalOf(refused), [403, 'forbidden']);
  assert.equal(refused.json.Errors[0].Details.Right, 'ActAs');
  const ticket = await mint({ User: 'alice' });
  const both = await rig.get('/sessions/s', { key: ticket, headers: { 'aptix-user': 'alice' } });
  assert.deepEqual(refusalOf(both), [403, 'forbidden']);
  const turn = await rig.post(userTurn({ ...ids(), WorkspaceId: 'w' }), { key: PLAIN });
  assert.deepEqual([...refusalOf(turn), turn.json.Errors[0].Details.Operation], [403, 'forbidden', 'Search']);
  for (const member of ['User', 'Actor', 'Tenant']) {
    const named = await rig.post(userTurn({ ...ids(), [member]: 'alice' }), { key: KEY });
    assert.deepEqual([...refusalOf(named), named.json.Errors[0].Path], [400, 'forbidden_field', `/${member}`]);
  }
});

test('no other ticket holds than one that was minted, and every refusal is the same', async () => {
  const good = await mint({ User: 'alice' });
  const contents = contentsOf(good);
  assert.deepEqual(refusalOf(await rig.get('/sessions/s', { key: good })), [404, 'session_not_found']);
  const older = forged({ ...contents, K: 'old' }, SECRETS[1]);
  assert.deepEqual(refusalOf(await rig.get('/sessions/s', { key: older })), [404, 'session_not_found']);
  const wrong = [
    forged({ ...contents, K: 'gone' }),
    forged(contents, SECRETS[1]),
    `${good.slice(0, -1)}${good.endsWith('A') ? 'Q' : 'A'}`,
    `${good}.${good}`,
    forged([]),
  ];
  const texts = new Set();
  for (const ticket of wrong) {
    const refused = await rig.get('/sessions/s', { key: ticket });
    assert.deepEqual(refusalOf(refused), [401, 'unauthenticated'], ticket);
    texts.add(refused.text);
  }
  assert.equal(texts.size, 1);
  const now = Math.floor(Date.now() / 1000);
  const late = await rig.get('/sessions/s', { key: forged({ ...contents, N: now - 601, X: now - 1 }) });
  assert.deepEqual(refusalOf(late), [401, 'credential_expired']);
  assert.equal(late.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
});

test('a ticket reaches the sessions, turns, workspaces and contexts that it names', async () => {
  const key = await mint({ User: 'carol', Sessions: ['chat-*', 'one'], Contexts: ['default'], Workspaces: ['handbook'] });
  for (const SessionId of ['chat', 'chat_1', 'two', 'on', 'one1']) {
    assert.deepEqual(refusalOf(await rig.post(userTurn({ SessionId, TurnId: 't' }), { key })), [404, 'session_not_found']);
    assert.deepEqual(refusalOf(await rig.get(`/sessions/${SessionId}`, { key })), [404, 'session_not_found']);
  }
  resultOf(await turnBy({ key }, { SessionId: 'chat-', TurnId: 't-1', WorkspaceId: 'handbook' }));
  resultOf(await turnBy({ key }, { SessionId: 'one', TurnId: 't-1' }));
  const other = await rig.post(userTurn({ SessionId: 'chat-2', TurnId: 't', ConversationContextId: 'other' }), { key });
  assert.deepEqual(refusalOf(other), [404, 'context_not_found']);
  const elsewhere = await rig.post(userTurn({ SessionId: 'one', TurnId: 't-2', WorkspaceId: 'secrets' }), { key });
  assert.deepEqual([...refusalOf(elsewhere), elsewhere.json.Errors[0].Path], [403, 'forbidden', '/WorkspaceId']);

  const narrow = await mint({ Sessions: ['one'], Turns: ['t-1'], Operations: ['Read', 'Watch'] }, { key });
  resultOf(await rig.get('/sessions/one/turns/t-1', { key: narrow }));
  assert.deepEqual(refusalOf(await rig.get('/sessions/one/turns/t-9', { key: narrow })), [404, 'turn_not_found']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/one', { key: narrow })), [403, 'forbidden']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/chat-', { key: narrow })), [404, 'session_not_found']);
  const wider = await rig.request('POST', '/tickets', { key: narrow, body: { Operations: ['Execute'] } });
  assert.deepEqual(refusalOf(wider), [403, 'forbidden']);
  assert.equal(contentsOf(narrow).N, contentsOf(key).N);

  const reader = await mint({ User: 'carol', Operations: ['Search'], Workspaces: ['handbook'] });
  resultOf(await rig.request('POST', '/workspaces/handbook/search', { key: reader, body: { Query: 'x' } }));
  for (const [method, route] of [['POST', '/workspaces/other/search'], ['GET', '/workspaces/handbook'], ['DELETE', '/workspaces/handbook'], ['POST', '/workspaces/handbook/compare']]) {
    const refused = await rig.request(method, route, { key: reader, body: method === 'POST' ? { Query: 'x' } : undefined });
    assert.deepEqual(refusalOf(refused), [403, 'forbidden'], `${method} ${route}`);
  }
});

test('results need the operations of what they answer, and the stored calls say which are decisions', async () => {
  const { SessionId, TurnId } = ids();
  const path = `/sessions/${SessionId}/turns/${TurnId}`;
  const owner = { key: await mint({ User: 'dave' }) };
  rig.model.script(answer(call('send_mail', { q: 'x' }), call('read_file', { path: 'a' })));
  const paused = resultOf(await rig.post(userTurn({ SessionId, TurnId, ToolsJson: JSON.stringify([clientTool('read_file')]) }), owner));
  const results = paused.ToolCalls.map(({ ToolCallId, Name }) => ({
    ToolCallId, ExecutionMs: 1, ResultJson: Name === 'agent_approve_tool' ? '{"Approved":true}' : '"read"',
  }));
  const only = async (...Operations) => ({ key: await mint({ User: 'dave', Actor: 'erin', Operations }) });
  for (const [operations, lacking] of [[['Answer'], 'Approve'], [['Approve'], 'Answer'], [['Execute'], 'Answer'], [['Read'], 'Execute']]) {
    const refused = await rig.post({ SessionId, TurnId, ToolResults: results }, await only(...operations));
    assert.deepEqual([...refusalOf(refused), refused.json.Errors[0].Details.Operation], [403, 'forbidden', lacking]);
  }
  rig.tools.think('/send_mail', async () => '"sent"');
  rig.model.script(answer(text('Sent.')));
  resultOf(await rig.post({ SessionId, TurnId, ToolResults: results }, await only('Answer', 'Approve')));

  const trace = resultOf(await rig.get(`${path}/trace`, as('dave')));
  const callers = trace.Submissions.map(({ Caller: { Ticket, ...rest } }) => [/^tk_[0-9a-f]{32}$/.test(Ticket), rest]);
  assert.deepEqual(callers, [[true, { User: 'dave' }], [true, { User: 'dave', Actor: 'erin' }]]);
  assert.equal(trace.ToolCalls[0].Approval.DecidedBy, 'actor:erin');
  const exported = resultOf(await rig.get(`/sessions/${SessionId}/export`, as('dave')));
  assert.deepEqual(exported.Turns[0].Submissions.map(({ Caller }) => Caller), trace.Submissions.map(({ Caller }) => Caller));
});

test('a page is let in by the origins of its ticket, and never mints with a key', async () => {
  const key = await mint({ User: 'alice', Origins: ['https://app.example.com'] });
  for (const [headers, code] of [
    [{ origin: 'https://app.example.com' }, 'session_not_found'],
    [{ 'sec-fetch-site': 'same-origin' }, 'session_not_found'],
    [{ origin: 'https://evil.example' }, 'unauthenticated'],
    [{ origin: 'null' }, 'unauthenticated'],
    [{ 'sec-fetch-site': 'cross-site' }, 'unauthenticated'],
    [{}, 'unauthenticated'],
    [{ origin: 'https://app.example.com', cookie: 'session=1' }, 'session_not_found'],
  ]) {
    const got = await rig.get('/sessions/s', { key, headers });
    assert.equal(refusalOf(got)[1], code, JSON.stringify(headers));
    assert.equal(got.headers.get('set-cookie'), null);
    assert.equal(got.headers.get('access-control-allow-credentials'), null);
    assert.equal(got.headers.get('access-control-allow-origin'), headers.origin === 'https://app.example.com' ? headers.origin : null);
  }
  for (const headers of [{ origin: 'https://app.example.com' }, { 'sec-fetch-site': 'same-origin' }]) {
    assert.deepEqual(refusalOf(await rig.request('POST', '/tickets', { key: KEY, body: { User: 'a' }, headers })), [403, 'forbidden']);
  }
  const page = { 'sec-fetch-site': 'same-origin' };
  const narrower = await rig.request('POST', '/tickets', { key, body: { Operations: ['Watch'] }, headers: page });
  assert.equal(narrower.headers.get('cache-control'), 'no-store');
  assert.deepEqual(resultOf(narrower).Operations, ['Watch']);
  const preflight = await rig.request('OPTIONS', '/execute', {
    headers: { origin: 'https://app.example.com', 'access-control-request-method': 'POST', 'access-control-request-headers': 'aptix-user' },
  });
  assert.doesNotMatch(preflight.headers.get('access-control-allow-headers'), /aptix-user/i);
});

test('a ticket stands in the URL of a stream alone, for one turn and a minute', async () => {
  const { SessionId, TurnId } = ids();
  resultOf(await turnBy(as('alice'), { SessionId, TurnId }));
  const stream = `/sessions/${SessionId}/turns/${TurnId}/stream`;
  const narrow = { User: 'alice', Sessions: [SessionId], Turns: [TurnId], Operations: ['Watch'], ExpiresInS: 60 };
  const ticket = await mint(narrow);
  const events = await rig.stream(undefined, { method: 'GET', route: `${stream}?Ticket=${ticket}` });
  assert.equal(events.headers.get('referrer-policy'), 'no-referrer');
  assert.equal(events.headers.get('cache-control'), 'no-store');
  assert.equal((await events.end()).text, 'Well.');
  const rest = await rig.stream(undefined, { method: 'GET', route: `${stream}?Ticket=${ticket}&After=0.3` });
  assert.equal((await rest.end()).text, 'l.');
  // What is no position means from the start, also where no header could hold it.
  for (const After of ['%00', 'a%0D%0AX-Y:%20z', '%C3%A9']) {
    assert.equal((await (await rig.stream(undefined, { method: 'GET', route: `${stream}?Ticket=${ticket}&After=${After}` })).end()).text, 'Well.');
  }

  const refused = [
    [`${stream}?Ticket=${ticket}&Ticket=${ticket}`],
    [`${stream}?Ticket=${ticket}`, { key: ticket }],
    [`${stream}?Ticket=${ticket}`, { key: KEY }],
    [`/sessions/${SessionId}?Ticket=${ticket}`],
    [`/sessions/${SessionId}?Ticket=${ticket}`, { key: KEY }],
    [`/sessions/${SessionId}/turns/${TurnId}?Ticket=${ticket}`],
    [`${stream}?Ticket=`],
    [`/sessions?Ticket=${ticket}`],
    [`/sessions?Ticket=${ticket}&Limit=none`, { key: KEY }],
    [`/nowhere?Ticket=${ticket}`],
  ];
  for (const wider of [{ Operations: ['Watch', 'Read'] }, { Sessions: [`${SessionId}*`] }, { Sessions: [SessionId, 'b'] }, { Turns: undefined }, { Turns: [TurnId, 'u'] }, { ExpiresInS: 120 }]) {
    refused.push([`${stream}?Ticket=${await mint({ ...narrow, ...wider })}`]);
  }
  for (const [route, more] of refused) {
    const answer = await rig.get(route, more);
    assert.deepEqual(refusalOf(answer), [401, 'unauthenticated'], route);
    assert.equal(answer.headers.get('referrer-policy'), 'no-referrer', route);
  }
});

test('users, tickets and claims are in no log line and no error', async () => {
  const [User, Actor] = CANARIES;
  const ticket = await mint({ User, Actor });
  resultOf(await turnBy({ key: ticket }));
  await rig.get('/sessions/none', { key: ticket });
  await rig.get('/sessions/none', { key: `${ticket}x` });
  await rig.get('/sessions/none', as(User));
  // A line may come after the response that it is about.
  const logged = (...words) => eventually(() => rig.logs.some((line) => words.every((word) => line.includes(word))), `the log says ${words}`);
  await logged('"event":"ticket"');
  await logged('"event":"act_as"');
  await logged('"reason":"ticket: signature"');
  const hash = createHash('sha256').update(`acme\n${User}`).digest('hex').slice(0, 16);
  await logged(`"user":"${hash}"`, '"event":"submission"');
  for (const line of rig.logs) {
    for (const words of [...CANARIES, ticket, ticket.split('.')[1]]) assert.ok(!line.includes(words), line);
  }
  const refusals = rig.answers.filter(({ status }) => status >= 400);
  for (const { text: body } of refusals) for (const words of [...CANARIES, ticket]) assert.ok(!body.includes(words), body);
});
