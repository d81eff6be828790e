// What a page is told of failures of its own back end, and what its developer is; what a request may be.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { chatHandler } from '../dist/ai-sdk.js';
import { AptixConnectionError, AptixError } from '../dist/index.js';

const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
const post = (body, more = {}) =>
  new Request('http://app/api/chat', { method: 'POST', body: typeof body === 'string' || body instanceof ReadableStream ? body : JSON.stringify(body), duplex: 'half', ...more });
const asked = () => post({ id: 'c', messages: [message], trigger: 'submit-message' });
const of = (chunks) => ({ sendMessages: async () => ReadableStream.from(chunks), reconnectToStream: async () => null });

/** What a page is told, and what the developer is. */
async function told(transportOf, request = asked()) {
  const errors = [];
  const response = await chatHandler(transportOf, { onError: (error) => errors.push(error) })(request);
  return { status: response.status, text: await response.text(), errors };
}
const thrown = (error) => () => {
  throw error;
};

const OWN = {
  'what Node throws': Object.assign(new Error("ENOENT: no such file or directory, open '/srv/app/secrets/db.json'"), { code: 'ENOENT', syscall: 'open' }),
  'a connection that is refused': Object.assign(new AggregateError([], 'connect ECONNREFUSED 127.0.0.1:5432'), { code: 'ECONNREFUSED' }),
  'what a database throws': Object.assign(new Error('Key (email)=(ann@example.com) already exists.'), { code: '23505', status: 409 }),
  'one that looks like the service': { name: 'AptixError', code: 'budget_exceeded', message: 'secret', status: 429 },
  'one whose cause looks like a lost connection': Object.assign(new Error('secret'), { cause: { code: 'connection_lost', message: 'secret' } }),
  'a fault of the program': new TypeError("Cannot read properties of undefined (reading 'name')"),
  'a syntax error of its own': new SyntaxError('Unexpected token in secret.json'),
  nothing: undefined,
};

test('of a back end\'s own failures a page is told nothing, its developer everything', async () => {
  for (const [what, error] of Object.entries(OWN)) {
    assert.deepEqual(await told(thrown(error)), { status: 500, text: 'The turn could not be sent.', errors: [error] }, what);
    const failing = async function* () {
      yield { type: 'start' };
      throw error;
    };
    const { status, text, errors } = await told(() => of(failing()));
    assert.deepEqual([status, text.includes('"errorText":"The turn failed."'), errors], [200, true, [error]], what);
    assert.doesNotMatch(text, /secret|ann@|ECONN|undefined/);
  }
});

test('of the service\'s failures a page is told the code and the words, its developer everything', async () => {
  const refusal = new AptixError(402, [{ ErrorCode: 'budget_exceeded', Message: 'The budget is used up.' }]);
  const lost = new AptixConnectionError('The connection was lost: connect ECONNREFUSED 10.0.0.7:8787.');
  const wrapped = new TypeError('network error', { cause: lost });
  assert.deepEqual(await told(thrown(refusal)), { status: 402, text: 'budget_exceeded: The budget is used up.', errors: [refusal] });
  for (const error of [lost, wrapped]) assert.deepEqual(await told(thrown(error)), { status: 502, text: 'connection_lost: The service cannot be reached.', errors: [error] });
  const { text } = await told(() => of((async function* () {
    yield { type: 'start' };
    throw refusal;
  })()));
  assert.match(text, /"errorText":"budget_exceeded: The budget is used up\."/);
});

test('without onError the console is told; a page that has left is no failure', async (t) => {
  const written = t.mock.method(console, 'error', () => {});
  await chatHandler(thrown(OWN['what Node throws']))(asked());
  assert.deepEqual(written.mock.calls.map(({ arguments: [error] }) => error), [OWN['what Node throws']]);
  const left = new AbortController();
  const request = post({ id: 'c', messages: [message] }, { signal: left.signal });
  await chatHandler(() => {
    left.abort();
    throw left.signal.reason;
  })(request);
  assert.equal(written.mock.callCount(), 1);
});

test('a stream on which nothing comes for long says so, since what stands between would end it', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let say;
  const words = new Promise((resolve) => (say = resolve));
  const slow = async function* () {
    yield { type: 'start' };
    yield await words;
  };
  const { body } = await chatHandler(() => of(slow()))(asked());
  const reader = body.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  assert.match(await read(), /"start"/);
  for (let silences = 0; silences < 2; silences += 1) {
    await new Promise((later) => setImmediate(later));
    t.mock.timers.tick(15_000);
    assert.equal(await read(), ': \n\n');
  }
  say({ type: 'finish' });
  assert.deepEqual([await read(), await read(), (await reader.read()).done], ['data: {"type":"finish"}\n\n', 'data: [DONE]\n\n', true]);
});

test('a response begins although nothing has come for long, as where a turn is resumed while a tool runs', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let say;
  const words = new Promise((resolve) => (say = resolve));
  const slow = async function* () {
    yield await words;
    throw new AptixError(402, [{ ErrorCode: 'budget_exceeded', Message: 'The budget is used up.' }]);
  };
  const transport = { ...of([]), reconnectToStream: async () => ReadableStream.from(slow()) };
  const answer = chatHandler(() => transport, { onError: () => {} })(new Request('http://app/api/chat/c/stream'));
  await new Promise((later) => setImmediate(later));
  t.mock.timers.tick(15_000);
  const { status, body } = await answer;
  const reader = body.getReader();
  const read = async () => new TextDecoder().decode((await reader.read()).value);
  assert.deepEqual([status, await read()], [200, ': \n\n']);
  say({ type: 'start' });
  assert.deepEqual([await read(), /budget_exceeded/.test(await read()), (await reader.read()).done], ['data: {"type":"start"}\n\n', true, true]);
});

test('a response that is thrown is the answer, and what a page sends wrongly is told as that', async () => {
  const { status, errors } = await told(thrown(new Response('Sign in first.', { status: 401 })));
  assert.deepEqual([status, errors], [401, []]);
  for (const body of ['no JSON', 'null', '[]', '7', {}, { id: 'c' }, { id: 7, messages: [message] }, { id: 'c', messages: [null] }, { id: 'c', messages: [{}] }, { id: 'c', messages: [{ ...message, parts: [null] }] }, { id: 'c', messages: [{ ...message, parts: [{}] }] }]) {
    const { status, errors } = await told(thrown(new Error('not reached')), post(body));
    assert.deepEqual([status, errors], [400, []], JSON.stringify(body));
  }
  assert.equal((await told(thrown(new Error('not reached')), new Request('http://app/api/chat/%E0%A4%A/stream'))).status, 404);
});

test('a body is held no further than it may be long', async () => {
  const never = thrown(new Error('not reached'));
  assert.equal((await told(never, post({ id: 'c', messages: [], more: 'x'.repeat(17 << 20) }))).status, 413);
  let pulled = 0;
  const pull = (controller) => {
    pulled += 1;
    controller.enqueue(new Uint8Array(1 << 20).fill(32));
  };
  const endless = new ReadableStream({ pull }, { highWaterMark: 0 });
  assert.equal((await told(never, post(endless))).status, 413);
  assert.ok(pulled < 20, `${pulled} MB`);
  const short = chatHandler(never, { maxBodyBytes: 10 });
  assert.equal((await short(asked())).status, 413);
  const announced = post('{}', { headers: { 'Content-Length': '999' } });
  assert.ok([400, 413].includes((await short(announced)).status));
});
