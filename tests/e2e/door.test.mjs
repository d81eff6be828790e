// The checks before a turn (origins, rates, caps, the size of a body) and their log lines (interface §3 and §6).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, apiKeys, clientTool, eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { exchange } from './raw_http.mjs';
import { answer, call, httpError, text } from './scripted_model.mjs';

const PAGE = 'https://app.example';
const [ONE, TWO] = ['key-one', 'key-two'];
const rig = rigForFile({
  vars: { ALLOWED_ORIGINS: `${PAGE}, http://localhost:3000`, MAX_BODY_BYTES: '4096', MAX_TURNS: '2', MAX_CONTINUATIONS: '1' },
});
const rated = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }) },
  rate: 3,
});
const plain = rigForFile(PLAIN);
// wrangler passes numbers and lists in `[vars]` to the Worker with these types.
const typed = rigForFile({
  vars: { AUTH: undefined, API_KEYS: JSON.parse(apiKeys({ [ONE]: 'one' })), ALLOWED_ORIGINS: [PAGE], MAX_BODY_BYTES: 300, MAX_TURNS: 1 },
});

const preflight = (to, route, origin, method) =>
  to.request('OPTIONS', route, { headers: { origin, 'access-control-request-method': method } });
const line = (of, event) => of.logs.filter((text) => text.startsWith('{')).map(JSON.parse).find((entry) => entry.event === event);

test('a page of an allowed origin may call every endpoint, and read what it needs', async () => {
  for (const [method, route] of [['POST', '/execute'], ['DELETE', '/sessions/a'], ['GET', '/sessions/a/turns/b/stream']]) {
    const told = await preflight(rig, route, PAGE, method);
    assert.equal(told.status, 204);
    assert.equal(told.headers.get('access-control-allow-origin'), PAGE);
    assert.ok(told.headers.get('access-control-allow-methods').split(', ').includes(method));
    assert.match(told.headers.get('access-control-allow-headers'), /Authorization.*Content-Type.*Last-Event-ID/);
    assert.equal(told.headers.get('vary'), 'Origin');
  }
  rig.model.script(answer(text('Hello.')));
  const turn = userTurn();
  const answers = [
    await rig.post(turn, { headers: { origin: PAGE } }),
    await rig.post(turn, { headers: { origin: PAGE } }),
    await rig.get('/sessions/nobody', { headers: { origin: PAGE } }),
    await rig.get('/health', { headers: { origin: PAGE } }),
    await rig.post('{', { headers: { origin: PAGE } }),
  ];
  assert.deepEqual(answers.map(({ status }) => status), [200, 200, 404, 200, 400]);
  for (const { headers } of answers) {
    assert.equal(headers.get('access-control-allow-origin'), PAGE);
    assert.match(headers.get('access-control-expose-headers'), /Idempotent-Replayed, Retry-After, Server-Timing/);
  }
  assert.equal(answers[1].headers.get('idempotent-replayed'), 'true');
  const stream = await rig.stream({ ...turn, Streaming: true }, { headers: { origin: PAGE } });
  assert.equal(stream.headers.get('access-control-allow-origin'), PAGE);
  await stream.end();
});

test('a page of another origin may not, and without the variable no page may', async () => {
  for (const origin of ['https://app.example.evil.test', 'http://app.example', 'null']) {
    const told = await preflight(rig, '/execute', origin, 'POST');
    assert.deepEqual(refusalOf(told), [403, 'forbidden']);
    assert.equal(told.headers.get('access-control-allow-origin'), null);
    assert.equal((await rig.get('/health', { headers: { origin } })).headers.get('access-control-allow-origin'), null);
  }
  assert.deepEqual(refusalOf(await preflight(plain, '/execute', PAGE, 'POST')), [403, 'forbidden']);
  // A page reads what is wrong with its request, for which the browser has to send it.
  for (const [method, route, status] of [['GET', '/execute', 405], ['GET', '/nowhere', 404], ['GET', '/sessions?Limit=0', 400]]) {
    assert.equal((await preflight(rig, route, PAGE, method)).status, 204);
    const told = await rig.request(method, route, { headers: { origin: PAGE } });
    assert.deepEqual([told.status, told.headers.get('access-control-allow-origin')], [status, PAGE]);
  }
  assert.deepEqual(refusalOf(await rig.request('OPTIONS', '/execute')), [405, 'method_not_allowed']);
});

test('with AUTH=none the header Host counts, whatever else says where a request went', async () => {
  const headers = { Connection: 'close', 'MF-Original-URL': 'http://localhost/sessions/nobody' };
  const ask = (Host) => {
    const lines = Object.entries({ Host, ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
    return exchange(rig.url, Buffer.from(`GET / HTTP/1.1\r\n${lines.join('')}\r\n`));
  };
  assert.deepEqual(refusalOf(await ask('evil.example')), [403, 'forbidden']);
  assert.deepEqual(refusalOf(await ask('localhost')), [404, 'session_not_found']);
});

test('a variable may be a number or a list', async () => {
  assert.equal((await preflight(typed, '/execute', PAGE, 'POST')).status, 204);
  typed.model.script(answer(text('Hello.')));
  const turn = userTurn();
  resultOf(await typed.post(turn, { key: ONE }));
  assert.deepEqual(refusalOf(await typed.post({ ...turn, TurnId: 'turn-2' }, { key: ONE })), [403, 'forbidden']);
  const long = { ...turn, Instruction: 'x'.repeat(300) };
  assert.deepEqual(refusalOf(await typed.post(long, { key: ONE })), [413, 'body_too_large']);
});

test('a key that has used up its rate waits, and no other key does', async () => {
  const ask = (key) => rated.get('/sessions/nobody', { key });
  const permitted = [];
  let last = await ask(ONE);
  // Three in a minute. It may end between two of them, and the next one permits three more.
  for (; last.status !== 429 && permitted.length < 6; last = await ask(ONE)) permitted.push(last.status);
  assert.deepEqual(permitted, permitted.map(() => 404));
  assert.ok(permitted.length >= 3, `${permitted.length} were permitted`);
  assert.deepEqual(refusalOf(last), [429, 'rate_limited']);
  assert.equal(last.headers.get('retry-after'), '60');
  assert.equal((await ask(TWO)).status, 404);
  // Public routes and requests without a key do not count.
  resultOf(await rated.get('/health'));
  assert.deepEqual(refusalOf(await rated.get('/sessions/nobody')), [401, 'unauthenticated']);
  const refused = rated.logs.map(JSON.parse).find(({ codes }) => codes?.[0] === 'rate_limited');
  assert.deepEqual([refused.tenant, refused.key, refused.http_status], ['one', 'id-of-one', 429]);
});

test('a session has as many turns as the deployment permits, and its turns can still be repeated', async () => {
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const turn = userTurn();
  resultOf(await rig.post(turn));
  resultOf(await rig.post({ ...turn, TurnId: 'turn-2' }));
  const refused = await rig.post({ ...turn, TurnId: 'turn-3' });
  assert.deepEqual(refusalOf(refused), [403, 'forbidden']);
  assert.deepEqual(refused.json.Errors[0].Details, { MaxTurns: 2 });
  assert.equal((await rig.post(turn)).headers.get('idempotent-replayed'), 'true');
  assert.equal(resultOf(await rig.get(`/sessions/${turn.SessionId}`)).TurnCount, 2);
});

test('a turn has as many continuations as the deployment permits, and then can only be cancelled', async () => {
  rig.model.script(answer(call('look', {})), answer(call('look', {})));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('look')]) });
  const goOn = ({ ToolCalls }) =>
    rig.post({
      SessionId: turn.SessionId,
      TurnId: turn.TurnId,
      ToolResults: ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' })),
    });
  const second = resultOf(await goOn(resultOf(await rig.post(turn))));
  assert.deepEqual(refusalOf(await goOn(second)), [403, 'forbidden']);
  const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}`;
  assert.equal(resultOf(await rig.get(route)).Status, 'awaiting_tools');
  assert.equal(resultOf(await rig.request('POST', `${route}/cancel`)).Status, 'aborted');
});

test('the caps and limits of this deployment are published', async () => {
  const { json } = await rig.get('/openapi.json');
  assert.deepEqual(json['x-limits'], {
    MAX_BODY_BYTES: 4096,
    MAX_TURNS: 2,
    MAX_CONTINUATIONS: 1,
    MAX_STEERS: 100,
    MAX_ITERATIONS: 8,
    TURN_TIMEOUT_MS: 900000,
  });
  assert.equal(json.components.schemas.UserTurn.properties.Instruction.maxLength, 10_000_000);
});

test('a turn is one line of the log with its cost, a failed one too, and a refusal says why', async () => {
  plain.model.script(httpError(503, { message: 'busy' }, { 'retry-after': '0' }), answer(text('Hello.')));
  const turn = userTurn();
  const got = await plain.post(turn);
  resultOf(got);
  const done = await eventually(() => line(plain, 'submission'), 'the turn is logged');
  assert.deepEqual(
    [done.level, done.tenant, done.session, done.turn, done.http_status],
    ['info', 'local', turn.SessionId, turn.TurnId, 200],
  );
  const { timings, ...report } = done.report;
  assert.deepEqual(report, {
    attempts: 1,
    code: null,
    compactions: 0,
    model_calls: 1,
    retries: 1,
    status: 'completed',
    submission: 0,
    tool_calls: 0,
    usage: { PromptTokens: 100, CachedTokens: 40, CompletionTokens: 20, ReasoningTokens: 5, TotalTokens: 120 },
  });
  const { model } = plain.model.bodies.at(-1);
  assert.deepEqual([done.model, done.conversation_context, done.key, done.upstream], [model, 'default', 'none', undefined]);
  assert.deepEqual(Object.keys(timings).sort(), ['compose', 'model', 'persist', 'retrieve', 'tools']);
  const timing = Object.fromEntries(got.headers.get('server-timing').split(', ').map((part) => part.split(';dur=')));
  assert.deepEqual(Object.keys(timing), ['validate', 'session', 'retrieve', 'compose', 'model', 'tools', 'persist']);
  assert.equal(timing.model, `${timings.model}`);

  plain.logs.length = 0;
  plain.model.script(httpError(400, { message: 'No such model.', code: 'model_not_found' }));
  assert.deepEqual(refusalOf(await plain.post({ ...turn, TurnId: 'turn-2' })), [502, 'upstream_rejected']);
  const failed = await eventually(() => line(plain, 'submission'), 'the failed turn is logged');
  assert.deepEqual([failed.level, failed.report.status, failed.report.code], ['error', 'failed', 'upstream_rejected']);
  assert.deepEqual([failed.upstream.status, failed.upstream.code], [400, 'model_not_found']);

  plain.logs.length = 0;
  assert.deepEqual(refusalOf(await plain.post({ ...turn, Instruction: 'Other.' })), [409, 'turn_conflict']);
  const refused = await eventually(() => line(plain, 'refused'), 'the refusal is logged');
  assert.deepEqual([refused.level, refused.session, refused.codes], ['warn', turn.SessionId, ['turn_conflict']]);
  assert.equal(refused.key, 'none');
});
