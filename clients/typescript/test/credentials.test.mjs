// When a client asks for a ticket, and which one it shows: with a service of this file that knows tickets, and a clock that
// only the tests move.
import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { inspect } from 'node:util';
import { AptixChatTransport } from '../dist/ai-sdk.js';
import { Aptix, AptixError } from '../dist/index.js';
import { Workspace } from '../dist/workspace.js';

const BEGIN = Date.parse('2026-11-23T12:00:00Z');
const SECOND = 1000;
const LIFE_S = 600;
beforeEach(() => mock.timers.enable({ apis: ['Date'], now: BEGIN }));
afterEach(() => mock.timers.reset());
const pass = (ms) => mock.timers.setTime(Date.now() + ms);
const base64url = (value) => Buffer.from(JSON.stringify(value)).toString('base64url');
const isoOf = (seconds) => new Date(seconds * SECOND).toISOString();

/** What gives tickets: the answer of `POST /tickets`, unless `form` makes something else of it. */
class BackEnd {
  asked = 0;
  /** Tickets that end before their time. */
  revoked = new Set();
  constructor(form = (answer) => answer) {
    this.form = form;
  }
  credential = async () => {
    this.asked += 1;
    const [N, X] = [Date.now() / SECOND, Date.now() / SECOND + LIFE_S];
    this.newest = `apt1.${base64url({ U: 'zoë', N, X, I: this.asked })}.c2lnbmF0dXJl`;
    return this.form({ Ticket: this.newest, ExpiresAt: isoOf(X) });
  };
}

/** A service that lets in whoever shows a ticket of its day. `answers` gives the bodies; without them it is `{}`. */
class Service {
  requests = [];
  constructor(backEnd, answers = () => '{}') {
    this.backEnd = backEnd;
    this.answers = answers;
  }
  fetch = async (url, { method, headers, body }) => {
    const { pathname, search } = new URL(url);
    const shown = headers.Authorization?.replace('Bearer ', '');
    const { X } = shown?.startsWith('apt1.') ? JSON.parse(Buffer.from(shown.split('.')[1], 'base64url')) : {};
    const isLate = X !== undefined && (X * SECOND <= Date.now() || this.backEnd.revoked.has(shown));
    const code = shown === undefined ? 'unauthenticated' : isLate ? 'credential_expired' : undefined;
    this.requests.push({ method, target: pathname + search, shown, headers, body, code });
    if (code) return refusal(401, code);
    const answer = this.answers({ method, path: pathname, position: headers['Last-Event-ID'], body: body && JSON.parse(body) });
    return answer instanceof Response ? answer : new Response(`{"Successful":true,"Result":${answer}}`, { headers: { 'content-type': 'application/json' } });
  };
  client(options = {}) {
    return new Aptix({ baseUrl: 'http://service', fetch: this.fetch, credential: this.backEnd.credential, retryDelayMs: 0, ...options });
  }
  get codes() {
    return this.requests.map(({ code }) => code ?? 'ok');
  }
}
const refusal = (status, ErrorCode) =>
  new Response(JSON.stringify({ Successful: false, Errors: [{ ErrorCode, Message: 'No.', SystemError: false }], Warnings: [] }), { status });

const started = (form, answers) => {
  const backEnd = new BackEnd(form);
  const service = new Service(backEnd, answers);
  return { backEnd, service, session: service.client().session('s') };
};

const FORMS = {
  'the answer of POST /tickets': undefined,
  'a ticket, whose end it holds itself': ({ Ticket }) => Ticket,
  'a JWT, whose end it holds itself': ({ ExpiresAt }) => `eyJhbGciOiJub25lIn0.${base64url({ exp: Date.parse(ExpiresAt) / SECOND, sub: 'ï¿¾' })}.c2ln`,
};
for (const [name, form] of Object.entries(FORMS)) {
  test(`${name} serves until 30 s before its end, and is asked for once by all that need it`, async () => {
    const { backEnd, service, session } = started(form);
    await Promise.all(Array.from({ length: 10 }, () => session.get()));
    assert.equal(backEnd.asked, 1);
    pass((LIFE_S - 30) * SECOND - 1);
    await session.get();
    assert.equal(backEnd.asked, 1, 'there are more than 30 s');
    pass(1);
    await Promise.all([session.get(), session.get()]);
    assert.equal(backEnd.asked, 2);
    assert.deepEqual(new Set(service.codes), new Set(['ok']));
    assert.equal(new Set(service.requests.map(({ shown }) => shown)).size, 2);
  });
}

test('a credential is in nothing that is printed, be it a client, a session, a turn or a workspace', () => {
  const aptix = new Aptix({ baseUrl: 'http://service', apiKey: 'printed-by-nobody', headers: { 'X-Also': 'printed-by-nobody' } });
  const session = aptix.session('s');
  const all = { aptix, session, turn: session.attach('t'), workspace: new Workspace(aptix, 'w') };
  for (const [name, each] of Object.entries(all)) assert.doesNotMatch(inspect(each, { depth: 12 }) + JSON.stringify(each), /printed-by-nobody/, name);
});

test('a ticket that the service takes no longer is replaced once, by one asking for all that met it', async () => {
  const { backEnd, service, session } = started();
  await session.get();
  backEnd.revoked.add(backEnd.newest);
  await Promise.all(Array.from({ length: 10 }, () => session.get()));
  assert.equal(backEnd.asked, 2);
  assert.deepEqual(service.codes, ['ok', ...Array(10).fill('credential_expired'), ...Array(10).fill('ok')]);
});

test('one that is refused again is an error, never a loop', async () => {
  const { backEnd, service, session } = started();
  backEnd.revoked = { has: () => true };
  for (const asking of [1, 2]) {
    await assert.rejects(session.get(), { code: 'credential_expired', status: 401, whoActs: 'client' });
    assert.deepEqual([backEnd.asked, service.requests.length], [2 * asking, 2 * asking]);
  }
});

test('a credential that nothing can replace is refused once', async () => {
  const backEnd = new BackEnd();
  const { Ticket } = await backEnd.credential();
  const service = new Service(backEnd);
  pass(LIFE_S * SECOND);
  await assert.rejects(service.client({ credential: Ticket }).session('s').get(), { code: 'credential_expired' });
  assert.equal(service.requests.length, 1);
});

test('what has no end, as a key, is asked for with each attempt, under either name', async () => {
  for (const name of ['credential', 'apiKey']) {
    const service = new Service(new BackEnd());
    let asked = 0;
    const aptix = service.client({ credential: undefined, [name]: () => `key.${asked++}` });
    for (let at = 0; at < 3; at += 1) await aptix.session('s').get();
    assert.deepEqual(service.requests.map(({ shown }) => shown), ['key.0', 'key.1', 'key.2']);
  }
});

test('an asking that fails is a lost connection; one that gives nothing leaves the refusal to the service', async () => {
  let answers = [new TypeError('fetch failed'), undefined];
  const service = new Service(new BackEnd());
  const credential = () => {
    const next = answers.shift();
    if (next instanceof Error) throw next;
    return next;
  };
  const session = service.client({ credential, maxReconnects: 1 }).session('s');
  await assert.rejects(session.get(), { code: 'unauthenticated' });
  assert.deepEqual(service.codes, ['unauthenticated'], 'nothing was sent before there was an answer');
  answers = [new TypeError('fetch failed'), new TypeError('fetch failed')];
  await assert.rejects(session.get(), { code: 'connection_lost', message: 'No credential came: fetch failed' });
  const own = new AptixError(403, [{ ErrorCode: 'forbidden', Message: 'Signed out.', SystemError: false }]);
  answers = [own];
  await assert.rejects(session.get(), own);
});

test('a credential that no header can have is refused unsent and unsaid; a line break around it is none of it', async () => {
  for (const credential of ['secret\nkey', 'secret\u2013key', 'secret\u0000key']) {
    const service = new Service(new BackEnd());
    await assert.rejects(service.client({ credential }).session('s').get(), (error) => error.code === 'connection_lost' && !/secret/.test(inspect(error)));
    assert.equal(service.requests.length, 0);
  }
  const service = new Service(new BackEnd());
  await service.client({ credential: ' a.key\r\n' }).session('s').get();
  assert.deepEqual(service.requests.map(({ shown }) => shown), ['a.key']);
});

test('whoever leaves while a ticket is asked for leaves at once, and the others get theirs', async () => {
  const backEnd = new BackEnd();
  const { credential } = backEnd;
  let give;
  const open = new Promise((resolve) => (give = resolve));
  const service = new Service(backEnd, () => streamOf(0, true));
  const aptix = service.client({ credential: () => open.then(credential) });
  const leaving = new AbortController();
  const left = aptix.session('s').turn({ Instruction: 'x' }, { signal: leaving.signal }).final();
  const other = aptix.session('s').turn({ Instruction: 'x' }).final();
  leaving.abort();
  await assert.rejects(left, { name: 'AbortError' });
  give();
  assert.equal((await other).PrimaryOutputText, 'abc');
  assert.deepEqual([backEnd.asked, service.requests.length], [1, 1]);
});

const FINAL = { Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText: 'abc', Status: 'completed' };
/** A stream of the text `abc` from a place on: one letter and no end, or all that is left. */
function streamOf(from, isWhole) {
  const letters = [...'abc'].map((letter, at) => `event: output_text.delta\nid: 0.${at + 1}\ndata: {"Segment":0,"Delta":"${letter}"}\n\n`);
  const result = `event: result\nid: end\ndata: ${JSON.stringify({ Successful: true, Result: FINAL, Errors: [], Warnings: [] })}\n\n`;
  const body = isWhole ? [...letters.slice(from), result] : letters.slice(from, from + 1);
  return new Response(body.join(''), { headers: { 'content-type': 'text/event-stream' } });
}
const positionOf = (position) => (position === undefined ? 0 : Number(position.split('.')[1]));

test('a turn that outlives its tickets is resumed with new ones, however many it takes', async () => {
  const { backEnd, service, session } = started(undefined, ({ path, position }) => {
    const from = positionOf(position);
    if (path === '/execute' || path.endsWith('/stream')) {
      // The answer takes longer than the ticket: after a letter the connection is cut, and the ticket no longer holds.
      backEnd.revoked.add(backEnd.newest);
      return streamOf(from, from === 2);
    }
    return '{}';
  });
  const turn = session.turn({ Instruction: 'x' });
  assert.equal((await turn.final()).PrimaryOutputText, 'abc');
  assert.equal(turn.text, 'abc');
  assert.deepEqual(service.codes, ['ok', 'credential_expired', 'ok', 'credential_expired', 'ok']);
  assert.deepEqual(service.requests.map(({ headers }) => headers['Last-Event-ID']), [undefined, '0.1', '0.1', '0.2', '0.2']);
  assert.equal(new Set(service.requests.map(({ body }) => body)).size, 1, 'each time the same bytes');
  assert.equal(backEnd.asked, 3);
});

const view = { SessionId: 's', LiveTurn: { TurnId: 't', Status: 'running' }, LatestTurn: { TurnId: 't', Status: 'running' } };
/** Every kind of call, as a page makes it. */
const CALLS = {
  'a turn': (aptix) => aptix.session('s').turn({ Instruction: 'x' }).final(),
  'an attached turn': (aptix) => aptix.session('s').attach('t', { position: '0.1' }).final(),
  'a cancellation': (aptix) => aptix.session('s').cancel('t'),
  'a synchronised workspace': (aptix) => new Workspace(aptix, 'w').sync([{ Path: 'a', Contents: 'b' }], { remove: true }),
  'a list of sessions': (aptix) => Array.fromAsync(aptix.sessions()),
  'a chat that sends': (aptix) => chat(aptix, (transport) => transport.sendMessages(message)),
  'a chat that resumes': (aptix) => chat(aptix, (transport) => transport.reconnectToStream({ chatId: 's' })),
  'a chat that cancels': (aptix) => new AptixChatTransport({ client: aptix }).cancel('s'),
};
const message = { trigger: 'submit-message', chatId: 's', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }] };
const chat = async (aptix, send) => Array.fromAsync(await send(new AptixChatTransport({ client: aptix })));
const answerTo = ({ path, position }) => {
  if (path === '/execute' || path.endsWith('/stream')) return streamOf(positionOf(position), true);
  if (path.endsWith('/compare')) return '{"Needed":["a"],"Extra":["old"]}';
  if (path.endsWith('/documents')) return '{"Documents":[{"Path":"a"}]}';
  if (path === '/sessions') return '{"Sessions":[]}';
  return JSON.stringify(view);
};
for (const [name, call] of Object.entries(CALLS)) {
  test(`${name} gets over an end of its ticket at each of its requests`, async () => {
    for (let at = 0, all = 1; at < all; at += 1) {
      const { backEnd, service } = started(undefined, answerTo);
      let sent = 0;
      const fetch = (url, init) => {
        if (sent++ === at) backEnd.revoked.add(backEnd.newest);
        return service.fetch(url, init);
      };
      await call(service.client({ fetch }));
      all = service.codes.filter((code) => code === 'ok').length;
      assert.deepEqual([service.codes.filter((code) => code === 'credential_expired').length, backEnd.asked], [1, 2]);
      assert.equal(service.codes.length, all + 1);
    }
  });
}

test('a user is named by a header in each request, percent-encoded, and nobody is where none is given', async () => {
  const named = new Service(new BackEnd(), answerTo);
  for (const call of Object.values(CALLS)) await call(named.client({ user: 'zoë/~%2F', headers: { 'X-Own': '1' } }));
  for (const { headers } of named.requests) assert.deepEqual([headers['Aptix-User'], headers['X-Own']], ['zo%C3%AB%2F~%252F', '1']);
  const unnamed = new Service(new BackEnd(), answerTo);
  for (const call of Object.values(CALLS)) await call(unnamed.client());
  assert.ok(unnamed.requests.every(({ headers }) => !('Aptix-User' in headers)));
  assert.throws(() => named.client({ user: '\ud800' }), URIError, 'what no UTF-8 can hold is refused before anything is sent');
});

test('a list goes through its pages, and asks only for what was asked', async () => {
  const pages = { undefined: { Sessions: [{ SessionId: 'a' }, { SessionId: 'b' }], Next: 'n&1' }, 'n&1': { Sessions: [{ SessionId: 'c' }] } };
  const { service } = started();
  service.answers = () => JSON.stringify(pages[new URLSearchParams(service.requests.at(-1).target.split('?')[1]).get('After') ?? undefined]);
  const listed = await Array.fromAsync(service.client().sessions({ status: 'awaiting_approval', query: 'é &', limit: 2, order: 'Created' }));
  assert.deepEqual(listed.map(({ SessionId }) => SessionId), ['a', 'b', 'c']);
  const query = 'Status=awaiting_approval&Query=%C3%A9%20%26&Order=Created&Limit=2';
  assert.deepEqual(service.requests.map(({ target }) => target), [`/sessions?${query}`, `/sessions?${query}&After=n%261`]);
});
