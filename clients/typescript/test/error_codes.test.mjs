// Every code as the real Worker sends it: what a client throws, whether it says rightly who acts and what helps, and how
// often it tries again by itself (interface §3).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { KEY, WAYS, disposeOfRigs, rig, startRigs } from '../../../tests/e2e/ways_to_fail.mjs';
import { Aptix, AptixConnectionError, AptixError } from '../dist/index.js';

let dictionary;
before(async () => {
  await startRigs();
  dictionary = new Map((await new Aptix({ baseUrl: `${rig.url}`, apiKey: KEY }).errors()).map((entry) => [entry.ErrorCode, entry]));
});
after(disposeOfRigs);

/** Codes at which nothing was done, so that waiting a moment is all it takes. */
const PASSING = ['request_timeout', 'rate_limited', 'overloaded', 'identity_unavailable'];
const turn = { SessionId: 's', TurnId: 't', Instruction: 'x' };

/** Sends a turn to something that gives this response to every request; resolves to the error and the number of requests. */
async function thrown(body, { status = 200, headers = {} } = {}, options = {}) {
  let requests = 0;
  const fetch = async () => {
    requests += 1;
    return new Response(body, { status, headers });
  };
  const aptix = new Aptix({ baseUrl: 'http://service', fetch, retryDelayMs: 0, maxRetries: 2, retryFailedTurns: 1, ...options });
  const error = await aptix.execute(turn).then(assert.fail, (fault) => fault);
  return { error, requests };
}

for (const [code, way] of Object.entries(WAYS)) {
  test(`${code} is thrown as one error, and tried again as often as it may help`, async () => {
    const [refused] = await way();
    const { ErrorCode, HttpStatus, WhoActs, Retryable, TurnStatusAfter } = dictionary.get(code);
    const attempts = PASSING.includes(code) ? 3 : Retryable && TurnStatusAfter === 'failed' ? 2 : 1;
    // A wait that it asks for has a test of its own.
    const text = refused.text.replace(/"RetryAfterMs":\d+/, '"RetryAfterMs":0');
    const { Errors } = JSON.parse(text);
    const inOnePiece = await thrown(text, { status: refused.status, headers: { 'content-type': 'application/json' } });
    const stream = `event: result\nid: end\ndata: ${text}\n\n`;
    const inAStream = await thrown(stream, { headers: { 'content-type': 'text/event-stream' } });
    for (const [{ error, requests }, status] of [[inOnePiece, HttpStatus], [inAStream, 200]]) {
      assert.ok(error instanceof AptixError && !(error instanceof AptixConnectionError));
      const [first] = Errors;
      assert.deepEqual(
        [error.code, error.status, error.whoActs, error.retryable, error.path, error.details, error.errors],
        [ErrorCode, status, WhoActs, Retryable, first.Path, first.Details, Errors],
      );
      assert.ok(error.message.includes(first.Message));
      assert.equal(requests, attempts);
      const again = AptixError.from(JSON.parse(JSON.stringify(error)));
      assert.deepEqual([again.code, again.path, again.retryable, again.message], [code, first.Path, Retryable, error.message]);
    }
  });
}

test('what comes from something in between is no answer of the service', async () => {
  for (const [status, requests] of [[502, 3], [429, 3], [200, 3], [408, 3], [403, 1], [302, 3]]) {
    const got = await thrown(status === 302 ? null : '<html>No.</html>', { status, headers: { 'content-type': 'text/html' } }, { maxReconnects: 2 });
    // A turn whose connection failed for good is looked after once more.
    const views = requests === 1 ? 0 : 1;
    assert.deepEqual([got.error.code, got.error.status, got.requests], ['connection_lost', status, requests + views], `${status}`);
    assert.equal(got.error.retryable, requests > 1);
  }
});

test('text without its position is no answer: what a repetition brings would stand behind it once more', async () => {
  for (const position of ['', 'id: \n', 'id: x\n', 'id: 1.x\n']) {
    const stream = `event: output_text.delta\n${position}data: {"Segment":0,"Delta":"x"}\n\n`;
    const { error } = await thrown(stream, { headers: { 'content-type': 'text/event-stream' } }, { maxReconnects: 0 });
    assert.match(error.message, /no position/);
  }
});

test('a wait that the service asks for is kept, unless it is longer than a minute', async () => {
  const body = JSON.stringify({ Successful: false, Errors: [{ ErrorCode: 'rate_limited', Message: 'm', SystemError: false }], Warnings: [] });
  const began = performance.now();
  const { requests } = await thrown(body, { status: 429, headers: { 'retry-after': '1' } }, { maxRetries: 1 });
  assert.ok(requests === 2 && performance.now() - began > 990);
  const long = await thrown(body, { status: 429, headers: { 'retry-after': '61' } });
  assert.deepEqual([long.requests, long.error.retryAfterMs], [1, 61_000]);

  // The head of a stream, which has come by then, says nothing of it.
  const failed = (RetryAfterMs) => {
    const Errors = [{ ErrorCode: 'upstream_unavailable', Message: 'm', Details: { RetryAfterMs }, SystemError: true }];
    return thrown(`event: result\nid: end\ndata: ${JSON.stringify({ Successful: false, Errors, Warnings: [] })}\n\n`, { headers: { 'content-type': 'text/event-stream' } });
  };
  const begunAt = performance.now();
  assert.equal((await failed(1000)).requests, 2);
  assert.ok(performance.now() - begunAt > 990);
  const late = await failed(61_000);
  assert.deepEqual([late.requests, late.error.retryAfterMs], [1, 61_000]);
});
