// The recipe for back ends that hide the key: the examples for Hono, Express and Next behind `useChat`'s own transport.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import * as ai from 'ai';
import { Rig, apiKeys, eventually } from '../../../tests/e2e/harness.mjs';
import { serve } from '../../../tests/local_server.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { AptixChatTransport, chatHandler, isAnswered } from '../dist/ai-sdk.js';
import { Aptix, memoryStore } from '../dist/index.js';
import { chatOf } from './chats.mjs';

const KEY = 'key-that-no-page-may-see';
const TICKET_KEYS = JSON.stringify([{ Id: 'one', Secret: Buffer.alloc(32, 7).toString('base64') }]);
const rig = new Rig({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }), TICKET_KEYS, DELTA_INTERVAL_MS: '0' } });
const said = (...items) => rig.model.script(answer(...items));
const fetches = {};
let express;
before(async () => {
  await rig.start();
  Object.assign(process.env, { APTIX_URL: `${rig.url}`, APTIX_KEY: KEY });
  const [hono, next, { app }] = await Promise.all(['hono', 'next', 'express'].map((name) => import(`../examples/back-end/${name}.mjs`)));
  express = await serve(app);
  fetches.Hono = async (url, init) => hono.app.request(url, init);
  fetches.Next = async (url, init) => next[init?.method ?? 'GET'](new Request(url, init));
  fetches.Express = (url, init) => fetch(`${url}`.replace('http://app', express.origin), init);
});
after(async () => {
  await express?.close();
  await rig.dispose();
});

let serial = 0;
/** A page's chat, over nothing but its own back end; `heard` is all that came. */
function newChat(fetchOf, { id = `behind-${++serial}`, user = 'ann', messages } = {}) {
  const heard = [];
  const recorded = async (url, init) => {
    const response = await fetchOf(url, init);
    if (response.body === null) return response;
    const [one, other] = response.body.tee();
    heard.push(new Response(other).text().catch(() => ''));
    return new Response(one, response);
  };
  const transport = new ai.DefaultChatTransport({ api: 'http://app/api/chat', fetch: recorded, headers: user ? { 'x-user': user } : {} });
  const chat = chatOf(ai, messages, {
    id,
    transport,
    sendAutomaticallyWhen: isAnswered,
    onToolCall: ({ toolCall: { toolName: tool, toolCallId } }) => void chat.addToolOutput({ tool, toolCallId, output: 'noon' }),
  });
  return Object.assign(chat, { heard });
}
const textsOf = ({ parts }) => parts.filter(({ type }) => type === 'text').map((part) => part.text);

for (const name of ['Hono', 'Express', 'Next']) {
  test(`${name}: a chat with a tool of the page and a reload in between, of one user, and without the key`, { timeout: 60_000 }, async () => {
    const chat = newChat(fetches[name]);
    said(text('I look.'), call('read_clock', {}));
    said(text('It is noon.'));
    await chat.sendMessage({ text: 'What time is it?' });
    await eventually(() => textsOf(chat.messages.at(-1)).includes('It is noon.'), 'the page has run its tool');
    assert.deepEqual([chat.error, rig.model.bodies.at(-1).input[0].output], [undefined, '"noon"']);

    const gate = new Gate();
    said(text('Half ', gate, 'and whole.'));
    await eventually(() => chat.status === 'ready', 'the chat is done');
    const slow = chat.sendMessage({ text: 'Slowly.' });
    await eventually(() => textsOf(chat.messages.at(-1)).includes('Half '), 'it writes');
    const reloaded = newChat(fetches[name], { id: chat.id, messages: structuredClone(chat.messages.slice(0, 3)) });
    const resumed = reloaded.resumeStream();
    gate.open();
    await Promise.all([slow, resumed]);
    assert.deepEqual([reloaded.error, textsOf(reloaded.messages.at(-1))], [undefined, ['Half and whole.']]);

    // Whoever knows the id sees nothing of it, and nobody is nobody.
    const other = newChat(fetches[name], { id: chat.id, user: 'eve' });
    await other.resumeStream();
    assert.deepEqual([other.messages, other.error], [[], undefined]);
    const nobody = newChat(fetches[name], { id: chat.id, user: '' });
    await nobody.sendMessage({ text: 'x' });
    assert.match(nobody.error.message, /Sign in first/);
    const all = (await Promise.all([chat, reloaded, other, nobody].flatMap(({ heard }) => heard))).join('');
    assert.ok(all.includes('It is noon.') && !all.includes(KEY));
    assert.deepEqual(rig.model.leftovers, []);
  });
}

test('what a page sends besides words is no setting of the turn, and what is refused says so by its status', async () => {
  const post = (body, headers = { 'x-user': 'ann' }) => fetches.Hono('http://app/api/chat', { method: 'POST', headers, body: typeof body === 'string' ? body : JSON.stringify(body) });
  const message = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] };
  said(text('Hello.'));
  const ok = await post({ id: `behind-${++serial}`, messages: [message], trigger: 'submit-message', AgentContextId: 'secret', WorkspaceId: 'of-others' });
  assert.deepEqual([ok.status, ok.headers.get('x-vercel-ai-ui-message-stream')], [200, 'v1']);
  assert.match(await ok.text(), /Hello\.[^]*data: \[DONE\]\n\n$/);
  for (const [body, status] of [['no JSON', 400], [{}, 400], [{ id: 'x', messages: [] }, 400], [{ id: 'not an id!', messages: [message], trigger: 'submit-message' }, 400]]) {
    assert.equal((await post(body)).status, status, JSON.stringify(body));
  }
  const none = await fetches.Hono('http://app/api/chat/never-was/stream', { headers: { 'x-user': 'ann' } });
  assert.equal(none.status, 204);
  const failed = await post({ id: 'not an id!', messages: [message], trigger: 'submit-message' });
  assert.match(await failed.text(), /^invalid_field: /);

  const given = await fetches.Hono('http://app/ticket', { method: 'POST', headers: { 'x-user': 'ann' } });
  const { Ticket } = await given.json();
  assert.match(Ticket, /^apt1\./);
  assert.equal((await fetches.Hono('http://app/ticket', { method: 'POST' })).status, 401);
});

test('a chat goes on in a fork of its own user, whoever else has a chat of that id', { timeout: 60_000 }, async () => {
  const forks = memoryStore();
  const handler = chatHandler((request) => new AptixChatTransport({ client: new Aptix({ baseUrl: `${rig.url}`, credential: KEY, user: request.headers.get('x-user') }), forks }));
  const fetchOf = async (url, init) => handler(new Request(url, init));
  const [ann, bob] = ['ann', 'bob'].map((user) => newChat(fetchOf, { id: 'the-same', user }));
  for (const [chat, words] of [[ann, 'I am Ann.'], [bob, 'I am Bob.']]) {
    said(text('Hello.'));
    await chat.sendMessage({ text: words });
  }
  said(text('Hello again.'));
  await bob.regenerate();
  said(text('You are Ann.'));
  await ann.sendMessage({ text: 'Who am I?' });
  assert.deepEqual([ann.error, bob.error], [undefined, undefined]);
  const heard = JSON.stringify(rig.model.requests.at(-1).conversation);
  assert.ok(heard.includes('I am Ann.') && !heard.includes('Bob'), heard);
});
