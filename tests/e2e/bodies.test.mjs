// Bodies that come slowly, not at all, or too many at once (interface §3), and long ones on their whole way.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const rig = rigForFile({ vars: { BODY_TIMEOUT_MS: '1000' } });

const LONG = { 'content-length': String(8 * 1024 * 1024) };

test('a body that stalls is refused in time, whether its length is announced or not', async () => {
  for (const headers of [{ 'content-length': '1000' }, LONG, { 'transfer-encoding': 'chunked' }]) {
    const got = await begun(headers).answer;
    assert.deepEqual(refusalOf(got), [408, 'request_timeout'], JSON.stringify(headers));
    assert.deepEqual(got.json.Errors[0].Details, { TimeoutMs: 1000 });
  }
});

test('bodies that have not come keep nobody out, however many there are', async () => {
  const uploads = Array.from({ length: 20 }, () => begun(LONG));
  rig.model.script(answer(text('Hello.')));
  resultOf(await rig.post(`${' '.repeat(500_000)}${JSON.stringify(userTurn())}`));
  const statuses = (await Promise.all(uploads.map((each) => each.answer))).map(({ status }) => status);
  assert.deepEqual(new Set(statuses), new Set([408]));
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

/** Sends a head and the beginning of a body. */
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
  return { answer: whole };
}
