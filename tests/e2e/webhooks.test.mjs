// Webhooks in the real runtime: what was sent is verified by the specification's own libraries (interface §15).
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { after, test } from 'node:test';
import { promisify } from 'node:util';
import { Webhook } from 'standardwebhooks';
import { recorded, serve } from '../local_server.mjs';
import { pythonTools } from '../python.mjs';
import { clientTool, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const SECRET = `whsec_${Buffer.from('the secret of the end-to-end tests').toString('base64')}`;
const OLD_SECRET = `whsec_${Buffer.from('the one before, of which some know').toString('base64')}`;
const received = [];
let status = 204;
const receiver = await serve(async (request, response) => {
  const message = await recorded(request, response);
  if (message) received.push(message);
  response.writeHead(status).end();
});
after(() => receiver.close());
const rig = rigForFile({
  vars: { HOOK_SECRET: SECRET, OLD_HOOK_SECRET: OLD_SECRET, TURN_ALARM_MS: '500' },
  catalog: (catalog) => {
    catalog.Webhooks = {
      done: { Url: `${receiver.origin}/hooks?of=tests`, SigningSecrets: ['HOOK_SECRET', 'OLD_HOOK_SECRET'], Headers: { 'X-Env': 'e2e' } },
    };
    for (const context of Object.values(catalog.ConversationContexts)) context.Webhooks = ['done'];
  },
  hidden: [[SECRET], [OLD_SECRET]],
});
const of = (turn) => received.filter(({ text: body }) => JSON.parse(body).data.SessionId === turn.SessionId);
const detached = (body) =>
  fetch(new URL('/execute', rig.url), {
    method: 'POST',
    headers: { 'content-type': 'application/json', prefer: 'respond-async' },
    body: JSON.stringify(body),
  });

test('a detached turn is answered at once, and the library of the specification verifies what is told of it', async () => {
  const turn = userTurn();
  rig.model.script(answer(text('Done.')));
  const accepted = await detached(turn);
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers.get('location'), `/sessions/${turn.SessionId}/turns/${turn.TurnId}`);
  assert.equal(accepted.headers.get('preference-applied'), 'respond-async');
  assert.deepEqual((await accepted.json()).Result, { SessionId: turn.SessionId, TurnId: turn.TurnId, Status: 'running' });
  await eventually(() => of(turn).length > 0, 'the webhook is told');
  const [{ path, headers, text: body }] = of(turn);
  assert.equal(path, '/hooks?of=tests');
  assert.match(headers['user-agent'], /^aptix-edge\//);
  assert.equal(headers['x-env'], 'e2e');
  for (const secret of [SECRET, OLD_SECRET]) {
    const message = new Webhook(secret).verify(body, headers);
    assert.equal(message.type, 'turn.completed');
    assert.deepEqual(message.data, {
      SessionId: turn.SessionId, TurnId: turn.TurnId, Tenant: 'local', Status: 'completed', Kind: 'final',
    });
  }
  const refused = (secret, changed, what = body) =>
    assert.throws(() => new Webhook(secret).verify(what, { ...headers, ...changed }));
  refused(`whsec_${Buffer.from('a secret that nobody gave to anybody').toString('base64')}`, {});
  refused(SECRET, { 'webhook-timestamp': String(Number(headers['webhook-timestamp']) - 400) });
  refused(SECRET, { 'webhook-id': 'msg_other' });
  refused(SECRET, {}, body.replace('completed', 'failed'));
});

test('a pause is told with its calls, and a message that was refused comes again as the same bytes', async () => {
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('ask')]) });
  rig.model.script(answer(call('ask', { question: 'Canary of the arguments' })));
  status = 503;
  try {
    resultOf(await rig.post(turn));
    await eventually(() => of(turn).length === 1, 'the webhook is told');
  } finally {
    status = 204;
  }
  await eventually(() => of(turn).length === 2, 'the webhook is told again');
  const [first, second] = of(turn);
  assert.equal(first.text, second.text);
  assert.equal(first.headers['webhook-id'], second.headers['webhook-id']);
  assert.notEqual(first.headers['webhook-signature'], second.headers['webhook-signature']);
  const { type, data } = new Webhook(SECRET).verify(second.text, second.headers);
  assert.equal(type, 'turn.awaiting_tools');
  assert.deepEqual(data.ToolCalls.map(({ Name }) => Name), ['ask']);
  assert.ok(!second.text.includes('Canary'));
  const trace = async () => resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`)).Webhooks;
  await eventually(async () => (await trace())[0].State === 'delivered', 'the trace says so');
  assert.deepEqual(await trace(), [{ Webhook: 'done', Event: type, State: 'delivered', Attempts: 2, LastStatus: 204 }]);
});

test('the library for Python verifies it, too', async (t) => {
  const python = pythonTools()?.python;
  if (!python) return t.skip('there is no Python 3.10 or later');
  const turn = userTurn();
  rig.model.script(answer(text('Done.')));
  resultOf(await rig.post(turn));
  await eventually(() => of(turn).length > 0, 'the webhook is told');
  const [{ headers, text: body }] = of(turn);
  const program = 'import json, sys, standardwebhooks as s\nb, h, k = json.load(sys.stdin)\ns.Webhook(k).verify(b, h)\nprint("verified")';
  const run = promisify(execFile)(python, ['-c', program]);
  run.child.stdin.end(JSON.stringify([body, headers, SECRET]));
  assert.equal((await run).stdout.trim(), 'verified');
});
