// Every fault of the model service; the session survives each (interface §2 and §3).
// Each fault lasts as long as the Worker retries; then the service recovers and the session continues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, hangUp, httpError, raw, reasoning, silence, text } from './scripted_model.mjs';

const IDLE_MS = 1500;
const rig = rigForFile({
  vars: { UPSTREAM_IDLE_TIMEOUT_MS: String(IDLE_MS) },
  catalog: (catalog) => {
    // No server listens on port 1.
    const dead = { ...catalog.AgentContexts.default, BaseUrl: 'http://127.0.0.1:1/v1' };
    catalog.AgentContexts.dead = dead;
  },
});
const half = answer(text('Hal', 'f an', ' answer'));
const broken = { code: 'server_error', message: 'The server had an error.' };

// name: [replies of the service, status and code for the client, number of calls or 'several']
const FAULTS = {
  'a wrong key': [
    httpError(401, { code: 'invalid_api_key', message: 'Incorrect API key provided.' }), 502, 'upstream_rejected', 1,
  ],
  'a wrong key, said in plain text': [
    httpError(401, '{"error":{"message":"no","code":"invalid_api_key"},"status":401}', { 'content-type': 'text/plain' }),
    502, 'upstream_rejected', 1,
  ],
  'a model that does not exist': [
    httpError(400, { code: 'model_not_found', param: 'model', message: 'The requested model does not exist.' }),
    502, 'upstream_rejected', 1,
  ],
  'a spent quota': [
    httpError(429, { type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your current quota.' }),
    502, 'upstream_rejected', 1,
  ],
  'a rate limit that does not clear': [
    httpError(429, { type: 'tokens', code: 'rate_limit_exceeded', message: 'Slow down.' }), 502, 'upstream_unavailable', 'several',
  ],
  'a service that is overloaded': [
    httpError(503, { type: 'service_unavailable_error', code: 'server_is_overloaded', message: 'Overloaded.' }),
    502, 'upstream_unavailable', 'several',
  ],
  'a connection closed before any answer': [hangUp(), 502, 'upstream_unavailable', 'several'],
  'a connection cut in the middle of the text': [half.with({ cutAfter: 6 }), 502, 'upstream_protocol'],
  'a stream that ends too early': [raw(['event: response.created\n']), 502, 'upstream_protocol'],
  'an empty answer': [raw([]), 502, 'upstream_protocol'],
  'an answer that is a web page': [raw(['<!DOCTYPE html><p>Hello</p>']), 502, 'upstream_protocol'],
  'events that are no JSON': [raw(['event: response.created\ndata: {"type":\n\n']), 502, 'upstream_protocol'],
  'silence before any answer': [silence(), 504, 'upstream_timeout'],
  'silence in the middle of the text': [half.with({ silentAfter: 6 }), 504, 'upstream_timeout'],
  'an error event of the nested kind': [half.with({ errorEvent: 'nested', error: { type: 'server_error', ...broken } }), 502, 'upstream_failed'],
  'an error event of the flat kind': [half.with({ errorEvent: 'flat', error: broken }), 502, 'upstream_failed'],
  'a failed response': [half.with({ failed: broken }), 502, 'upstream_failed'],
  'a tool call that was cut': [
    answer(call('agent_list_modes', ['{"a'])).with({ incomplete: 'max_output_tokens' }), 502, 'upstream_incomplete',
  ],
};

for (const [name, [fault, status, code, calls]] of Object.entries(FAULTS)) {
  test(`${name} fails the turn as ${code}, and the next turn works and carries what was said`, async () => {
    rig.model.otherwise(fault);
    const turn = userTurn({ Instruction: 'These words must not be lost.' });
    const got = await rig.post(turn);
    assert.deepEqual(refusalOf(got), [status, code]);
    const [error] = got.json.Errors;
    assert.equal(error.SystemError, true);
    if (calls === 1) assert.equal(rig.model.requests.length, 1, 'what will not change is not tried again');
    if (calls === 'several') {
      assert.ok(rig.model.requests.length > 1, 'what may pass is tried again');
      assert.equal(error.Details.Attempts, rig.model.requests.length);
    }
    assert.equal(resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`)).Status, 'failed');

    rig.model.otherwise(answer(text('Well again.')));
    const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Are you there?' };
    assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Well again.');
    assert.match(rig.model.lastSeen, /These words must not be lost\.[^]*Are you there\?/);
    assert.equal(rig.model.lastSeen.split('These words must not be lost.').length, 2, 'and carries them once');
  });
}

test('an upstream failure tells the operator what happened', async () => {
  rig.model.otherwise(
    httpError(401, { code: 'invalid_api_key', message: 'Incorrect API key provided.' }, { 'x-request-id': 'req_e2e_1' }),
  );
  const [{ Details }] = (await rig.post(userTurn())).json.Errors;
  assert.deepEqual(Details, {
    HttpStatus: 401, Code: 'invalid_api_key', Type: 'invalid_request_error', RequestId: 'req_e2e_1', Attempts: 1,
  });
});

test('an input the model service refused does not stand in the way of the next turn', async () => {
  const refused = httpError(400, { code: 'invalid_value', param: 'input[0].content[1]', message: 'The image is not valid.' });
  // However little of the earlier conversation is sent with it.
  rig.model.script(answer(text('Hello.')), refused, refused, refused, answer(text('Well again.')));
  const turn = userTurn({ Instruction: 'Something fine.' });
  resultOf(await rig.post(turn));
  assert.deepEqual(refusalOf(await rig.post({ ...turn, TurnId: 't2', Instruction: 'Something refused.' })), [502, 'upstream_rejected']);
  assert.equal(resultOf(await rig.post({ ...turn, TurnId: 't3', Instruction: 'Again.' })).PrimaryOutputText, 'Well again.');
  assert.match(rig.model.lastSeen, /Something fine\.[^]*Hello\.[^]*Again\./);
  assert.ok(!rig.model.lastSeen.includes('Something refused.'));
});

test('nobody at the address of the model service is upstream_unavailable', async () => {
  const got = await rig.post(userTurn({ AgentContextId: 'dead' }));
  assert.deepEqual(refusalOf(got), [502, 'upstream_unavailable']);
  assert.ok(!got.text.includes('127.0.0.1'), 'the address is the operator\'s');
});

test('a failure that passes is not seen by the client', async () => {
  const failure = httpError(500, { type: 'server_error', ...broken });
  rig.model.script(failure, failure, answer(text('Third time lucky.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Third time lucky.');
  const [one, two, three] = rig.model.bodies;
  assert.deepEqual([two, three], [one, one]);
});

test('a rate limit is waited for as long as the service asks', async () => {
  const limit = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Please try again in 2s.' };
  rig.model.script(httpError(429, limit, { 'retry-after': '2' }), answer(text('Thank you.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Thank you.');
  const [one, two] = rig.model.requests;
  assert.ok(two.startedAt - one.startedAt >= 1900, `tried again after ${two.startedAt - one.startedAt} ms`);
});

test('a wait longer than a minute ends the turn at once, and the client is told when to come back', async () => {
  const limit = { type: 'tokens', code: 'rate_limit_exceeded', message: 'Please try again in 2 min.' };
  rig.model.script(httpError(429, limit, { 'retry-after': '120' }));
  const got = await rig.post(userTurn());
  assert.deepEqual(refusalOf(got), [502, 'upstream_unavailable']);
  assert.deepEqual([got.headers.get('retry-after'), got.json.Errors[0].Details.RetryAfterMs], ['120', 120000]);
  assert.equal(rig.model.requests.length, 1);
});

test('behind LiteLLM the wait, the id and a spent quota are read where it puts them', async () => {
  const of = (error, wait) => {
    const message = `litellm.RateLimitError: OpenAIException - ${JSON.stringify({ error })}`;
    return httpError(429, JSON.stringify({ error: { type: 'throttling_error', code: '429', message } }), {
      'llm_provider-x-request-id': 'req_provider_1',
      'llm_provider-retry-after': wait,
      'x-litellm-call-id': 'c8107ea9-64c5-44e7-bf62-f9e19125cc25',
    });
  };
  const limit = { type: 'requests', code: 'rate_limit_exceeded', message: 'Rate limit reached' };
  rig.model.script(of(limit, '120'));
  const [limited] = (await rig.post(userTurn())).json.Errors;
  assert.deepEqual(limited.ErrorCode, 'upstream_unavailable');
  assert.deepEqual(limited.Details, {
    HttpStatus: 429, Code: '429', Type: 'throttling_error', RequestId: 'req_provider_1', Attempts: 1, RetryAfterMs: 120000,
  });
  rig.model.script(of({ type: 'insufficient_quota', code: 'insufficient_quota', message: 'You exceeded your current quota.' }, '1'));
  const spent = await rig.post(userTurn());
  assert.deepEqual(refusalOf(spent), [502, 'upstream_rejected']);
  assert.equal(spent.json.Errors[0].Details.Attempts, 1);
});

test('a failure inside the stream is repeated, unless a client has seen text of it', async () => {
  const failed = half.with({ failed: broken });
  rig.model.script(failed, failed, answer(text('Third time lucky.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Third time lucky.');
  rig.model.script(answer().with({ failed: broken }), failed);
  const stream = await (await rig.stream(userTurn({ Streaming: true }))).end();
  assert.deepEqual(JSON.parse(stream.result).Errors[0].ErrorCode, 'upstream_failed');
  assert.equal(rig.model.requests.length, 5);
});

test('a rate limit without a time is tried again', async () => {
  rig.model.script(httpError(429, { code: 'rate_limit_exceeded', message: 'Slow down.' }), answer(text('Thank you.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Thank you.');
});

test('an answer cut for its length is an answer, with a warning for the user', async () => {
  rig.model.script(half.with({ incomplete: 'max_output_tokens' }));
  const result = resultOf(await rig.post(userTurn()));
  assert.deepEqual([result.Kind, result.PrimaryOutputText], ['final', 'Half an answer']);
  assert.equal(result.UserWarnings.length, 1);
});

test('slow text is no silence', async () => {
  rig.model.script(answer(text('One', ' two', ' three', ' four')).with({ delayMs: IDLE_MS * 0.4 }));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'One two three four');
});

test('a silent call is given up, not left open', async () => {
  rig.model.otherwise(silence());
  assert.deepEqual(refusalOf(await rig.post(userTurn())), [504, 'upstream_timeout']);
  await eventually(() => rig.model.requests.every(({ abortedAt }) => abortedAt !== null), 'every call is given up');
});

test('other framings of the same stream are read', async () => {
  rig.model.script(
    answer(reasoning('Thinking.'), text('With', ' CRLF.')).with({ newline: '\r\n' }),
    answer(text('With comments.')).with({ extraFrames: '\uFEFF: PROCESSING\n\nretry: 10\n\n' }),
  );
  const turn = userTurn();
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'With CRLF.');
  assert.equal(resultOf(await rig.post({ ...turn, TurnId: 't2' })).PrimaryOutputText, 'With comments.');
});
