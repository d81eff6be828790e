// Faults of the model service by which a connection ends or stalls; the session survives each (interface §2 and §3). Every fault by
// what it says is in tests/turns/faults.rs.
// Each fault lasts as long as the Worker retries; then the service recovers and the session continues.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, hangUp, httpError, raw, silence, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);
/** For silence alone: on a busy machine another answer may be late, too, and would count as that. */
const impatient = rigForFile({
  vars: { UPSTREAM_IDLE_TIMEOUT_MS: '700' },
  catalog: (catalog) => {
    // No server listens on port 1.
    const dead = { ...catalog.AgentContexts.default, BaseUrl: 'http://127.0.0.1:1/v1' };
    catalog.AgentContexts.dead = dead;
  },
});
const half = answer(text('Hal', 'f an', ' answer'));

// name: [replies of the service, status and code for the client, number of calls or 'several']
const FAULTS = {
  'a wrong key': [
    httpError(401, { code: 'invalid_api_key', message: 'Incorrect API key provided.' }), 502, 'upstream_rejected', 1,
  ],
  'a wrong key, said in plain text': [
    httpError(401, '{"error":{"message":"no","code":"invalid_api_key"},"status":401}', { 'content-type': 'text/plain' }),
    502, 'upstream_rejected', 1,
  ],
  'a service that is overloaded': [
    httpError(503, { type: 'service_unavailable_error', code: 'server_is_overloaded', message: 'Overloaded.' }),
    502, 'upstream_unavailable', 'several',
  ],
  'a connection closed before any answer': [hangUp(), 502, 'upstream_unavailable', 'several'],
  'a connection cut in the middle of the text': [half.with({ cutAfter: 6 }), 502, 'upstream_protocol'],
  'a stream that ends too early': [raw(['event: response.created\n']), 502, 'upstream_protocol'],
  'an empty answer': [raw([]), 502, 'upstream_protocol'],
  'silence before any answer': [silence(), 504, 'upstream_timeout'],
  'silence in the middle of the text': [half.with({ silentAfter: 6 }), 504, 'upstream_timeout'],
};

/** What a turn is answered: the same request runs one again whose answer came too late. */
async function inTime(at, turn) {
  let got = await at.post(turn);
  for (let tries = 5; tries > 0 && at === impatient && got.status === 504; tries -= 1) got = await at.post(turn);
  return got;
}

for (const [name, [fault, status, code, calls]] of Object.entries(FAULTS)) {
  const at = code === 'upstream_timeout' ? impatient : rig;
  test(`${name} fails the turn as ${code}, and the next turn works and carries what was said`, async () => {
    at.model.otherwise(fault);
    const turn = userTurn({ Instruction: 'These words must not be lost.' });
    const got = await at.post(turn);
    assert.deepEqual(refusalOf(got), [status, code]);
    const [error] = got.json.Errors;
    assert.equal(error.SystemError, true);
    if (calls === 1) assert.equal(at.model.requests.length, 1, 'what will not change is not tried again');
    if (calls === 'several') {
      assert.ok(at.model.requests.length > 1, 'what may pass is tried again');
      assert.equal(error.Details.Attempts, at.model.requests.length);
    }
    assert.equal(resultOf(await at.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`)).Status, 'failed');

    at.model.otherwise(answer(text('Well again.')));
    const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Are you there?' };
    assert.equal(resultOf(await inTime(at, next)).PrimaryOutputText, 'Well again.');
    assert.match(at.model.lastSeen, /These words must not be lost\.[^]*Are you there\?/);
    assert.equal(at.model.lastSeen.split('These words must not be lost.').length, 2, 'and carries them once');
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

test('nobody at the address of the model service is upstream_unavailable', async () => {
  const got = await inTime(impatient, userTurn({ AgentContextId: 'dead' }));
  assert.deepEqual(refusalOf(got), [502, 'upstream_unavailable']);
  assert.ok(!got.text.includes('127.0.0.1'), 'the address is the operator\'s');
});

test('a silent call is given up, not left open', async () => {
  impatient.model.otherwise(silence());
  assert.deepEqual(refusalOf(await impatient.post(userTurn())), [504, 'upstream_timeout']);
  await eventually(() => impatient.model.requests.every(({ abortedAt }) => abortedAt !== null), 'every call is given up');
});
