// Hostile requests get a refusal of the dictionary or a regular response, and never text of the model service.
// APTIX_SEED=n sets the seed of the requests; a failure prints the request that caused it.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, clientTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { CONTENT, Random, headers, method, oddlyFramed, plainTargets, request, spoiledBody, target } from './hostile.mjs';
import { exchange } from './raw_http.mjs';
import { answer, call, text } from './scripted_model.mjs';

const KEY = 'key-of-the-hostile-tests';
const SEED = Number(process.env.APTIX_SEED ?? 1);
const AT_ONCE = 16;
const rig = rigForFile({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'one' }), MAX_BODY_BYTES: '65536' } });

/** Sends the requests that `make(random, index)` builds, and calls `judge(made, answer)` with each response. */
async function attack(count, make, judge) {
  const dictionary = new Map(resultOf(await rig.get('/errors')).map((entry) => [entry.ErrorCode, entry]));
  let next = 0;
  const client = async () => {
    while (next < count) {
      const index = next;
      next += 1;
      const made = make(new Random(SEED * 1_000_003 + index), index);
      try {
        const got = await exchange(rig.url, made.bytes, { halfClose: made.broken });
        if (got !== null) rig.answers.push({ path: '/execute', status: got.status, text: got.text });
        checkForm(got, made, dictionary);
        await judge(made, got);
      } catch (fault) {
        next = count;
        const shown = JSON.stringify(made.bytes.toString('latin1').slice(0, 3000));
        throw new Error(`${fault.message}\nAPTIX_SEED=${SEED}, request ${index}: ${shown}`, { cause: fault });
      }
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, client));
}

/** Permits an InvokeResult with codes and status of the dictionary, a stream, or a refusal of HTTP itself. */
function checkForm(got, { broken = false }, dictionary) {
  if (got === null || (broken && got.json === undefined)) return assert.ok(broken, 'the connection was closed without an answer');
  const kind = got.headers.get('content-type') ?? '';
  if (kind.startsWith('text/event-stream')) {
    assert.equal(got.status, 200);
    return assert.match(got.text, /event: result\nid: end\ndata: \{"Successful":.*\}\n\n$/);
  }
  assert.match(kind, /^application\/json/, `${got.status} ${got.text}`);
  if (got.text === '') return assert.ok(got.status < 500, 'an answer to HEAD');
  if (got.json.openapi) return assert.equal(got.status, 200);
  if (got.json.Successful) {
    assert.equal(got.status, 200);
    return assert.deepEqual(Object.keys(got.json), ['Successful', 'Result', 'Errors', 'Warnings']);
  }
  assert.deepEqual(Object.keys(got.json), ['Successful', 'Errors', 'Warnings'], got.text);
  assert.ok(got.json.Errors.length > 0, got.text);
  for (const { ErrorCode, Message } of got.json.Errors) {
    assert.ok(dictionary.has(ErrorCode) && Message.length > 0, got.text);
    assert.equal(dictionary.get(ErrorCode).HttpStatus, got.status, got.text);
  }
  assert.ok(got.status < 500 || got.json.Errors[0].ErrorCode === 'upstream_rejected', got.text);
}

const isRefused = ({ status }) => status >= 400 && status < 500;
const authorized = [['Authorization', `Bearer ${KEY}`]];
const get = (route) => rig.get(route, { key: KEY });

async function assertNoSession(id) {
  const got = await get(`/sessions/${id}`);
  assert.equal(got.json?.Errors?.[0].ErrorCode, 'session_not_found', `of ${id}: ${got.text}`);
}

async function assertServes() {
  rig.model.otherwise(null);
  rig.model.script(answer(text('Still here.')));
  const turn = userTurn();
  assert.equal(resultOf(await rig.post(turn, { key: KEY })).PrimaryOutputText, 'Still here.');
  assert.ok(rig.logs.every((line) => !/panic|object_failed|RuntimeError/.test(line)), rig.logs.join('\n'));
}

test('spoiled bodies are refused and leave nothing, or are turns', { timeout: 120_000 }, async () => {
  rig.model.otherwise(answer(text('Ok.')));
  const sessions = Array.from({ length: 100 }, (_, index) => `hostile-${index}`);
  const refused = new Set();
  let taken = 0;
  await attack(
    2500,
    (random, index) => {
      const TurnId = `turn-${index}`;
      const body = spoiledBody(random, { SessionId: sessions[index % sessions.length], TurnId });
      return { TurnId, bytes: request('POST', '/execute', [...authorized, ['Content-Type', 'application/json']], body) };
    },
    ({ TurnId }, got) => {
      if (!isRefused(got)) {
        taken += got.headers.has('idempotent-replayed') ? 0 : 1;
        return;
      }
      refused.add(TurnId);
      // A message may name members, but must not quote a client's content.
      for (const { Message } of got.json.Errors) assert.ok(!Message.includes(CONTENT), Message);
    },
  );
  // The scripted model is strict and refuses some tools that the contract accepts.
  rig.model.refusals.length = 0;
  assert.ok(refused.size > 1000 && taken > 40, `${refused.size} refused, ${taken} taken`);
  assert.ok(rig.model.requests.length <= taken, `${rig.model.requests.length} calls of the model for ${taken} turns`);
  for (const session of sessions) {
    const got = await get(`/sessions/${session}/turns`);
    const turns = got.json.Successful ? got.json.Result.Turns : [];
    assert.ok(turns.length > 0 || got.json.Errors[0].ErrorCode === 'session_not_found', got.text);
    assert.deepEqual(turns.filter(({ TurnId }) => refused.has(TurnId)), []);
  }
  await assertServes();
});

test('spoiled results leave a pause as it is', { timeout: 120_000 }, async () => {
  rig.model.script(answer(call('read_file', { path: 'a' })));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const { ToolCalls } = resultOf(await rig.post(turn, { key: KEY }));
  const ids = { SessionId: turn.SessionId, TurnId: turn.TurnId };
  rig.model.otherwise(answer(text('Of another session.')));
  await attack(
    500,
    (random) => ({ bytes: request('POST', '/execute', authorized, spoiledBody(random, ids)) }),
    // With spoiled ids a request may concern another session.
    (_, got) => assert.ok(isRefused(got) || !got.text.includes(turn.SessionId), got.text),
  );
  assert.equal(resultOf(await get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`)).Status, 'awaiting_tools');
  rig.model.refusals.length = 0;
  rig.model.script(answer(text('Read.')));
  const results = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '{}' }];
  assert.equal(resultOf(await rig.post({ ...ids, ToolResults: results }, { key: KEY })).PrimaryOutputText, 'Read.');
  await assertServes();
});

test('no trick with path, method or header finds more than an endpoint', { timeout: 120_000 }, async () => {
  let found = 0;
  const plain = plainTargets('hostile:0');
  await attack(
    plain.length + 2500,
    (random, index) => {
      if (index < plain.length) return { verb: 'GET', where: plain[index], bytes: request('GET', plain[index], authorized) };
      const verb = method(random);
      const where = target(random, `hostile:${index % 20}`);
      return { verb, where, bytes: request(verb, where, headers(random, KEY)) };
    },
    ({ verb, where }, got) => {
      if (got.status !== 200) return;
      found += 1;
      assert.ok(['GET', 'HEAD'].includes(verb), `${verb} was taken`);
      // The runtime normalises the path: it resolves dot segments and nothing else.
      const path = decodeURIComponent(new URL(`http://host${where}`).pathname);
      assert.ok(['/health', '/errors', '/openapi.json'].includes(path), path);
    },
  );
  assert.ok(found > 50, `${found} found`);
  assert.deepEqual(rig.model.requests, []);
  await assertServes();
});

test('no framing and no header around a body makes it more than it is', { timeout: 120_000 }, async () => {
  rig.model.otherwise(answer(text('Ok.')));
  let taken = 0;
  await attack(
    300,
    (random, index) => {
      const SessionId = `framed-${index}`;
      const body = Buffer.from(JSON.stringify({ SessionId, TurnId: 't', Instruction: CONTENT }));
      return { SessionId, ...oddlyFramed(random, KEY, body) };
    },
    async ({ SessionId }, got) => {
      if (got?.status === 200) taken += 1;
      else await assertNoSession(SessionId);
    },
  );
  assert.ok(taken > 100, `${taken} taken`);
  assert.equal(rig.model.requests.length, taken);
  await assertServes();
});
