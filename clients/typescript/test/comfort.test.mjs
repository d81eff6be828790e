// What spares a user time: mistakes that are told at once, and what is known of each request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inspect } from 'node:util';
import { UNJOINED, eventually, rigForFile } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, gated, text } from '../../../tests/e2e/scripted_model.mjs';
import { serve } from '../../../tests/local_server.mjs';
import { Aptix, AptixConnectionError, AptixError } from '../dist/index.js';
import { readTurnEvents } from '../dist/relay.js';
import { client } from './turns.mjs';

const rig = rigForFile(UNJOINED);
let serial = 0;
const newSession = (options = {}, more = {}) => client(rig.url, options).session(`comfort-${++serial}`, more);
const said = (...items) => rig.model.script(answer(...items));

test('a baseUrl without a scheme is refused when the client is made', () => {
  const refused = (baseUrl, words) => assert.throws(() => new Aptix({ baseUrl }), (error) => error instanceof TypeError && words.test(error.message) && !/secret/.test(inspect(error)), `${baseUrl}`);
  for (const baseUrl of ['localhost:8787', 'agent.example.com', '', 'ftp://agent.example.com', '127.0.0.1', undefined]) refused(baseUrl, /http:/);
  // It may have a password all the same, which no words show.
  for (const baseUrl of ['ftp://ann:secret@x', 'ann:secret@x', 'https:/ann:secret@x', 'https://ann:secret@x:port', 'https://ann:secret/@x']) refused(baseUrl, /http:/);
  // What a page reads as an address of another host, however it is written.
  for (const baseUrl of ['https://ann:secret@x', 'HTTP://ann@x/api', '//ann:secret@x', '///ann:secret@x', '/\\ann:secret@x', '/\t/ann:secret@x', 'https:///ann:secret@x']) refused(baseUrl, /no user and no password/);
  for (const baseUrl of ['/', '/api', '//x/api', '/ann@x', '/of/ann@x', 'https://x/ann@x', 'http://localhost:8787', 'HTTPS://agent.example.com/of/ours/']) new Aptix({ baseUrl });
});

test('a port of this machine where nobody listens is told at once; where somebody did, the connection is lost', async () => {
  const { origin, close, port } = await serve((_, response) => response.end(JSON.stringify({ Successful: true, Result: { Status: 'ok' } })));
  const log = [];
  const options = { retryDelayMs: 1, maxReconnects: 2, onLog: (entry) => log.push(entry) };
  const known = new Aptix({ baseUrl: origin, ...options });
  await known.health();
  await close();
  for (const baseUrl of [origin, `http://localhost:${port}`]) {
    log.length = 0;
    await assert.rejects(new Aptix({ baseUrl, ...options }).health(), (error) => {
      assert.ok(error instanceof AptixConnectionError);
      const again = AptixError.from(JSON.parse(JSON.stringify(error)));
      for (const told of [error, again]) assert.deepEqual([told.message, told.retryable, told.code], [`Nobody listens at ${baseUrl}.`, false, 'connection_lost']);
      return true;
    });
    await assert.rejects(new Aptix({ baseUrl, ...options }).session('s').turn({ Instruction: 'x' }).final(), /Nobody listens/);
    assert.equal(log.length, 2, 'each was one attempt');
  }
  // As Node and axios tell of whoever gives the credential.
  const credential = () => Promise.reject(Object.assign(new Error('No tickets here'), { code: 'ECONNREFUSED' }));
  await assert.rejects(new Aptix({ baseUrl: origin, credential, ...options }).health(), { message: 'No credential came: No tickets here', retryable: true });
  log.length = 0;
  await assert.rejects(known.health(), { code: 'connection_lost', retryable: true });
  assert.equal(log.length, 3, 'it may be restarting');
  // Of another machine, whatever its name begins with, the port may come and go.
  const fetch = () => Promise.reject(new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } }));
  for (const baseUrl of ['http://localhost.example.com', 'http://127.example.com']) {
    await assert.rejects(new Aptix({ baseUrl, fetch, ...options }).health(), { code: 'connection_lost', retryable: true });
  }
});

test('a turn that is made and not read is told of, once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const warned = t.mock.method(console, 'warn', () => {});
  const session = newSession();
  const turn = session.turn({ Instruction: 'x' });
  session.attach('other');
  t.mock.timers.tick(1000);
  assert.equal(warned.mock.callCount(), 1);
  assert.match(warned.mock.calls[0].arguments[0], new RegExp(`${turn.turnId} was made and is not read`));
  t.mock.timers.reset();
  said(text('Hi.'));
  await session.turn({ Instruction: 'x' }).final();
});

test('a result comes with its response, and each request with its headers, through the middleware', async () => {
  const seen = [];
  const named = (name) => async (url, init, next) => {
    seen.push([name, init.method, init.headers['X-Of'], init.headers['X-Session']]);
    const { status, headers, body } = await next(url, init);
    const more = new Headers(headers);
    more.set('Aptix-Request-Id', `${name} ${more.get('Aptix-Request-Id') ?? ''}`);
    return new Response(body, { status, headers: more });
  };
  const session = newSession({ middleware: [named('outer'), named('inner')], headers: { 'X-Of': 'client' } }, { headers: { 'X-Session': 'yes' } });
  said(text('Hi.'));
  const turn = session.turn({ Instruction: 'x' }, { headers: { 'X-Of': 'turn' } });
  await turn.final();
  assert.match(turn.requestId, /^outer inner/);
  assert.deepEqual(seen, [['outer', 'POST', 'turn', 'yes'], ['inner', 'POST', 'turn', 'yes']]);
  const { data, response, requestId } = await session.get().withResponse();
  assert.deepEqual([data.TurnCount, response.status], [1, 200]);
  assert.match(requestId, /^outer inner/);
  assert.deepEqual(seen.at(-1), ['inner', 'GET', 'client', 'yes']);
  assert.equal((await session.get()).TurnCount, 1);
  assert.equal(await session.get().then(({ TurnCount }) => TurnCount + 1).finally(() => {}), 2);

  // One after the other: a rejection that nobody awaits yet would end the test.
  const failing = [() => session.getTurn('none'), () => session.getTurn('none').withResponse(), () => session.turn({}).final()];
  for (const fails of failing) {
    await assert.rejects(async () => await fails(), (error) => {
      assert.match(error.requestId, /^outer inner/);
      assert.equal(AptixError.from(JSON.parse(JSON.stringify(error))).requestId, error.requestId);
      return true;
    });
  }
});

test('an attempt has a longest time, and everything together has a deadline, which ends no turn', async () => {
  const { origin, close } = await serve(() => {});
  const attempts = [];
  const counts = [(url, init, next) => (attempts.push(url), next(url, init))];
  const slow = new Aptix({ baseUrl: origin, timeoutMs: 30, maxReconnects: 2, retryDelayMs: 1, middleware: counts });
  await assert.rejects(slow.session('s').cancel('t'), /no answer within 30 ms/);
  assert.equal(attempts.length, 3);
  await assert.rejects(slow.request({ method: 'POST', path: '/x' }, { deadlineMs: 50, timeoutMs: undefined }), /took longer than 50 ms/);
  await close();

  const gate = new Gate();
  rig.model.script(gated(gate, answer(text('At last.'))));
  const session = newSession({ timeoutMs: 5000 });
  const turn = session.turn({ Instruction: 'x' }, { deadlineMs: 1000, cancelOnAbort: true, signal: new AbortController().signal });
  await assert.rejects(turn.final(), (error) => error instanceof AptixConnectionError && /longer than 1000 ms/.test(error.message));
  assert.equal((await session.getTurn(turn.turnId)).Status, 'running');
  // A stream may take longer than an attempt, once it is there.
  let isThere = false;
  const middleware = [async (url, init, next) => ((isThere = true), next(url, init))];
  const again = client(rig.url, { timeoutMs: 1000, maxReconnects: 0, middleware }).session(session.sessionId).attach(turn.turnId, { progress: true });
  const began = performance.now();
  const final = again.final();
  await eventually(() => isThere && performance.now() - began > 1100, 'more time has passed than an attempt may take');
  gate.open();
  assert.equal((await final).PrimaryOutputText, 'At last.');
});

test('textStream is the text as it grows, what is taken back is gone from it, and its last one is the answer', async () => {
  const tools = [{ name: 'read', run: () => 1 }];
  said(text('I ', 'read.'), call('read'));
  said(text('It is ', 'read.'));
  const turn = newSession().turn({ Instruction: 'x' }, { tools });
  const deltas = [];
  const kinds = [];
  turn.on('text', ({ delta }) => deltas.push(delta)).on('tool_calls', ({ calls }) => kinds.push(calls[0].Name));
  const texts = await Array.fromAsync(turn.textStream);
  assert.deepEqual(texts.slice(-2), ['It is ', 'It is read.']);
  assert.deepEqual([texts[0], deltas.join('|'), kinds], ['I ', 'I |read.|It is |read.', ['read']]);
  assert.equal((await turn.final()).PrimaryOutputText, texts.at(-1));
  assert.throws(() => turn.textStream, /being read already/);
  await assert.rejects(Array.fromAsync(newSession().turn({}).textStream), { code: 'empty_turn' });
});

test('whatever comes in place of a turn\'s events is an error with a code', async () => {
  const page = '<!doctype html>\n<title>502 Bad Gateway</title>\n';
  const read = (source) => Array.fromAsync(readTurnEvents(source));
  const lost = (pattern, status = 0) => (error) => {
    assert.ok(error instanceof AptixConnectionError, `${error}`);
    assert.deepEqual([error.code, error.status, pattern.test(error.message)], ['connection_lost', status, true], error.message);
    return true;
  };
  const html = (status) => new Response(page, { status, headers: { 'content-type': 'text/html' } });
  await assert.rejects(read(html(502)), lost(/status 502 holds no events of a turn: <!doctype html>/, 502));
  await assert.rejects(read(html(200)), lost(/no event of a turn: <!doctype/, 200));
  for (const source of [page, '<html>', 'null\n', '{"Successful":true}\n', '[]\n', '{"type":1}\n']) await assert.rejects(read(new Blob([source]).stream()), lost(/./));
  await assert.rejects(read(new Response(null)), lost(/no body/, 200));
  await assert.rejects(read(new Blob([]).stream()), lost(/end before the turn/));
  const Errors = [{ ErrorCode: 'unauthenticated', Message: 'No.', SystemError: false }];
  await assert.rejects(read(Response.json({ Successful: false, Errors }, { status: 401 })), { code: 'unauthenticated', status: 401 });
  await assert.rejects(read(new Blob([`${JSON.stringify({ Successful: false, Errors })}\n`]).stream()), { code: 'unauthenticated' });
  const broken = new ReadableStream({ pull: (controller) => controller.error(new TypeError('network')) });
  await assert.rejects(read(broken), lost(/connection was lost: network/));
  said(text('One ', 'two.'));
  const events = await read(new Response(newSession().turn({ Instruction: 'x' }).toReadableStream()));
  assert.deepEqual(events.map(({ type }) => type), ['text', 'text', 'result']);
});
