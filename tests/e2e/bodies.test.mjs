// Bodies that come slowly, not at all, or too many at once (interface §3), and long ones on their whole way.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const rig = rigForFile({ vars: { BODY_TIMEOUT_MS: '1000' } });

/** As many of these as fill the room for long bodies, and one more. */
const LONG = { 'content-length': String(8 * 1024 * 1024) };
const FILL = 3;

test('a body that stalls is refused in time, whether its length is announced or not', async () => {
  for (const headers of [{ 'content-length': '1000' }, LONG, { 'transfer-encoding': 'chunked' }]) {
    const got = await begun(headers).answer;
    assert.deepEqual(refusalOf(got), [408, 'request_timeout'], JSON.stringify(headers));
    assert.deepEqual(got.json.Errors[0].Details, { TimeoutMs: 1000 });
  }
});

test('of too many long bodies one is refused at once, and plain turns are answered meanwhile', async () => {
  for (const round of [1, 2]) {
    const uploads = Array.from({ length: FILL + 1 }, () => begun(LONG).answer);
    const first = await Promise.race(uploads);
    assert.deepEqual(refusalOf(first), [503, 'overloaded'], `round ${round}`);
    assert.equal(first.headers['retry-after'], '2');
    rig.model.script(answer(text('Hello.')));
    resultOf(await rig.post(userTurn()));
    const statuses = (await Promise.all(uploads)).map(({ status }) => status);
    assert.deepEqual(statuses.sort(), [408, 408, 408, 503]);
  }
});

test('a client that goes away gives its room back', async () => {
  const gone = Array.from({ length: FILL }, () => begun(LONG));
  const refused = begun(LONG);
  assert.equal((await Promise.race([refused.answer, ...gone.map((each) => each.answer)])).status, 503);
  for (const each of gone) each.leave();
  await Promise.allSettled(gone.map((each) => each.answer));
  await eventually(async () => (await begun(LONG).answer).status === 408, 'there is room again');
});

test('a long request reaches the model service whole', async () => {
  rig.model.script(answer(text('Read.')));
  const Contents = Array.from({ length: 60_000 }, (_, line) => `Line ${line}: "é😀"\n`).join('');
  const turn = userTurn({ InputArtifacts: [{ RelativePath: 'a', FileName: 'a.txt', Contents, Origin: 'ide' }] });
  const calls = rig.model.requests.length;
  resultOf(await rig.post(turn));
  const { body } = rig.model.requests[calls];
  const sent = body.input.at(-1).content.find((part) => part.text.startsWith('[CONTEXT]'));
  assert.ok(sent.text.includes(Contents));
  assert.equal((await rig.post(turn)).headers.get('idempotent-replayed'), 'true');
});

/** Sends a head and the beginning of a body; `leave` closes the connection. */
function begun(headers) {
  const request = http.request(new URL('/execute', rig.url), {
    method: 'POST',
    agent: false,
    headers: { 'content-type': 'application/json', ...headers },
  });
  const whole = new Promise((resolve, reject) => {
    request.on('error', reject);
    request.on('response', async (response) => {
      const chunks = [];
      try {
        for await (const chunk of response) chunks.push(chunk);
      } catch (fault) {
        reject(fault);
        return;
      }
      request.destroy();
      const body = Buffer.concat(chunks).toString();
      resolve({ status: response.statusCode, headers: response.headers, text: body, json: JSON.parse(body) });
    });
  });
  request.setTimeout(10_000, () => request.destroy(new Error('no answer to half a body')));
  request.write('{"SessionId":"');
  return { answer: whole, leave: () => request.destroy() };
}
