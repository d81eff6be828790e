// What a receiver verifies: messages as the service sends them, and as the specification's own library signs them.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { Webhook } from 'standardwebhooks';
import { eventually, resultOf, rigForFile, userTurn } from '../../../tests/e2e/harness.mjs';
import { answer, text } from '../../../tests/e2e/scripted_model.mjs';
import { pages } from '../../../tests/docs/pages.mjs';
import { recorded, serve } from '../../../tests/local_server.mjs';
import { WebhookError, verifyWebhook } from '../dist/webhooks.js';

const secretOf = (words) => `whsec_${Buffer.from(words).toString('base64')}`;
const SECRET = secretOf('the secret of the tests of clients');
const OLD = secretOf('the one before, of which some know');
const OTHER = secretOf('one that nobody gave to anybody !');
const received = [];
const receiver = await serve(async (request, response) => {
  const message = await recorded(request, response);
  if (message) received.push(message);
  response.writeHead(204).end();
});
after(() => receiver.close());
const rig = rigForFile({
  vars: { HOOK_SECRET: SECRET, TURN_ALARM_MS: '500' },
  catalog: (catalog) => {
    catalog.Webhooks = { done: { Url: `${receiver.origin}/hooks`, SigningSecrets: ['HOOK_SECRET'] } };
    for (const context of Object.values(catalog.ConversationContexts)) context.Webhooks = ['done'];
  },
  hidden: [[SECRET]],
});

test('a message of the service is taken in every form of body and headers, and nothing else is', async () => {
  const turn = userTurn();
  rig.model.script(answer(text('Done.')));
  resultOf(await rig.post(turn));
  await eventually(() => received.length > 0, 'the webhook is told');
  const [{ headers, text: body }] = received;
  const bytes = new TextEncoder().encode(body);
  for (const form of [body, bytes, bytes.buffer]) {
    for (const heads of [headers, new Headers(headers)]) {
      const { id, event } = await verifyWebhook(form, heads, SECRET);
      assert.equal(id, headers['webhook-id']);
      assert.deepEqual([event.type, event.data.SessionId, event.data.Kind], ['turn.completed', turn.SessionId, 'final']);
    }
  }
  await verifyWebhook(body, headers, [OTHER, SECRET]);
  const refused = (what, changed, secrets = SECRET) => assert.rejects(verifyWebhook(what, { ...headers, ...changed }, secrets), WebhookError);
  await refused(body, {}, OTHER);
  await refused(body.replace('completed', 'failed'), {});
  await refused(body, { 'webhook-id': 'msg_other' });
  for (const missing of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) await refused(body, { [missing]: undefined });
  for (const wrong of ['v1,', 'v1,####', 'v1a,AAAA', 'AAAA', '']) await refused(body, { 'webhook-signature': wrong });
  for (const at of [`${Number(headers['webhook-timestamp']) - 301}`, `${Number(headers['webhook-timestamp']) + 400}`, 'NaN', '']) await refused(body, { 'webhook-timestamp': at });
  for (const secret of ['', undefined, null, 7, 'whsec_', 'whsec_  ', 'whsec_====', 'whsec_ß', 'secret', [], ['whsec_', SECRET], [SECRET, '']]) {
    for (const heads of [headers, {}, { ...headers, 'webhook-signature': '' }]) await assert.rejects(verifyWebhook(body, heads, secret), TypeError);
  }
  const hostile = ['9'.repeat(5000), '\ud800', '\0', '1e400', '-0', '٣', ' ', 'v1,\ud800', `v1,${'A'.repeat(1 << 20)}`, 'v1,'.repeat(10_000), '\u{1f600}'];
  for (const name of ['webhook-id', 'webhook-timestamp', 'webhook-signature']) for (const value of hostile) await refused(body, { [name]: value });
});

test('a message is gone through once, however many signatures a stranger has put on it', async (t) => {
  const passes = ['sign', 'verify'].map((each) => t.mock.method(crypto.subtle, each));
  const signature = `v1,${Buffer.alloc(32).toString('base64')}`;
  const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': `${Math.floor(Date.now() / 1000)}`, 'webhook-signature': Array(300).fill(signature).join(' ') };
  await assert.rejects(verifyWebhook('{}', headers, SECRET), WebhookError);
  assert.equal(passes.reduce((sum, { mock }) => sum + mock.callCount(), 0), 1);
});

test('what the library of the specification signs is taken, with the tolerance that is asked for', async () => {
  const sign = (secondsAgo, secrets) => {
    const at = new Date(Date.now() - secondsAgo * 1000);
    const body = '{"type":"ping","timestamp":"2026-11-22T16:00:00.000Z","data":{"é":"ü"}}';
    const signatures = secrets.map((secret) => new Webhook(secret).sign('msg_1', at, body)).join(' ');
    return [body, { 'Webhook-Id': 'msg_1', 'Webhook-Timestamp': [`${Math.floor(at / 1000)}`], 'Webhook-Signature': `v2,x ${signatures}` }];
  };
  for (const secrets of [[SECRET], [OLD, SECRET]]) assert.equal((await verifyWebhook(...sign(10, secrets), SECRET)).event.data.é, 'ü');
  await assert.rejects(verifyWebhook(...sign(400, [SECRET]), SECRET), /too old/);
  await verifyWebhook(...sign(400, [SECRET]), SECRET, { toleranceS: 600 });
  const [, headers] = sign(0, [SECRET]);
  const broken = new Webhook(SECRET).sign('msg_1', new Date(Number(headers['Webhook-Timestamp'][0]) * 1000), 'no JSON');
  await assert.rejects(verifyWebhook('no JSON', { ...headers, 'Webhook-Signature': broken }, SECRET), /no JSON/);
});

test('the receiver of the page takes what is signed and nothing else, and does not start without a secret', { timeout: 60_000 }, async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-receiver-'));
  const { blocks } = pages().find(({ name }) => name === 'docs/webhooks.md');
  const saved = Object.fromEntries(blocks.filter(({ marks }) => marks.file).map(({ marks, text }) => [marks.file, text]));
  const probe = await serve(() => {});
  const { port } = new URL(probe.origin);
  await probe.close();
  for (const [name, words] of Object.entries(saved)) writeFileSync(path.join(folder, name), words.replaceAll('8788', port));
  const started = (secret) => spawn(process.execPath, [path.join(folder, 'receiver.mjs')], { env: { PATH: process.env.PATH, ...(secret !== undefined && { HOOK_SECRET: secret }) }, stdio: ['ignore', 'pipe', 'ignore'] });
  const codeOf = (child) => new Promise((resolve) => child.once('close', resolve));
  try {
    for (const secret of [undefined, '', 'whsec_', 'whsec_AAAA', `whsec_${'*'.repeat(44)}`]) assert.equal(await codeOf(started(secret)), 1, `${secret}`);
    const child = started(SECRET);
    const ended = codeOf(child);
    await child.stdout.take(1).toArray();
    const body = '{"type":"ping","data":{"é":"ü"}}';
    const post = async (key, secondsAgo = 0, changed = {}) => {
      const at = new Date(Date.now() - secondsAgo * 1000);
      const signed = new Webhook(key).sign('msg_1', at, body);
      const headers = { 'webhook-id': 'msg_1', 'webhook-timestamp': `${Math.floor(at / 1000)}`, 'webhook-signature': signed, ...changed };
      return (await fetch(`http://127.0.0.1:${port}/`, { method: 'POST', headers, body })).status;
    };
    // A sender that leaves in the middle of a message ends nothing.
    const cut = net.connect(port, '127.0.0.1').resume().end('POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nhalf');
    await once(cut, 'close');
    assert.equal(await post(SECRET), 204);
    assert.deepEqual([await post(OTHER), await post(SECRET, 400), await post(SECRET, 0, { 'webhook-timestamp': 'x' }), await post(SECRET, 0, { 'webhook-signature': 'v1,' })], [401, 401, 401, 401]);
    child.kill();
    await ended;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
