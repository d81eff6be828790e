// Requests that the routes refuse before any write or call (interface §1 to §3).
// The model has no script here, so any call of it fails the test.
import assert from 'node:assert/strict';
import http from 'node:http';
import { test } from 'node:test';
import { refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const MAX_BODY_BYTES = 4096;
const rig = rigForFile({ vars: { MAX_BODY_BYTES: String(MAX_BODY_BYTES) } });

test('violations are reported all at once, in document order, each with its place', async () => {
  const got = await rig.post({
    TurnId: 'has a space',
    Instruction: 7,
    Mode: 'general',
    Instrction: 'x',
    InputArtifacts: [{ RelativePath: '/etc/passwd', FileName: 'passwd', Contents: '', Origin: 'ide' }],
    SessionId: 'x'.repeat(129),
  });
  const [status, ...codes] = refusalOf(got);
  assert.equal(status, 400);
  assert.deepEqual(
    got.json.Errors.map(({ Path }, index) => [Path, codes[index]]),
    [
      ['/TurnId', 'invalid_field'],
      ['/Instruction', 'invalid_field'],
      ['/Mode', 'forbidden_field'],
      ['/Instrction', 'unknown_field'],
      ['/InputArtifacts/0/RelativePath', 'invalid_field'],
      ['/SessionId', 'invalid_field'],
    ],
  );
  assert.equal(got.json.Errors[3].Details.DidYouMean, 'Instruction');
  assert.ok(got.json.Errors.every(({ Message, SystemError }) => Message.length > 0 && SystemError === false));
});

const REFUSED = {
  'no JSON': ['{"SessionId": ', 400, 'malformed_json'],
  'JSON that is no object': ['[]', 400, 'malformed_json'],
  'a turn that says nothing': [{ SessionId: 's', TurnId: 't' }, 400, 'empty_turn'],
  'a missing SessionId': [{ TurnId: 't', Instruction: 'x' }, 400, 'missing_field'],
  'a provider\'s id': [{ SessionId: 's', TurnId: 't', Instruction: 'x', previous_response_id: 'y' }, 400, 'forbidden_field'],
  'results beside an instruction': [
    { SessionId: 's', TurnId: 't', Instruction: 'x', ToolResults: [{ ToolCallId: 'c', ExecutionMs: 1, ResultJson: '1' }] },
    400, 'forbidden_field',
  ],
  'a result that is two things': [
    { SessionId: 's', TurnId: 't', ToolResults: [{ ToolCallId: 'c', ExecutionMs: 1, ResultJson: '1', ErrorMessage: 'x' }] },
    400, 'invalid_field',
  ],
  'tools that are no JSON': [{ SessionId: 's', TurnId: 't', Instruction: 'x', ToolsJson: '[' }, 400, 'invalid_field'],
};
for (const [name, [body, status, code]] of Object.entries(REFUSED)) {
  test(`refused: ${name}`, async () => {
    assert.deepEqual(refusalOf(await rig.post(body)), [status, code]);
  });
}

test('absolute and escaping paths are refused in every spelling', async () => {
  for (const RelativePath of ['/a', '\\a', 'C:\\a', 'c:/a', '\\\\host\\a', 'https://a/b', 'file:///a', '../a', 'a/../../b', 'a\u0000b', 'a\nb']) {
    const artifact = { RelativePath, FileName: 'a.txt', Contents: 'x', Origin: 'ide' };
    const got = await rig.post(userTurn({ InputArtifacts: [artifact] }));
    assert.deepEqual(refusalOf(got), [400, 'invalid_field'], JSON.stringify(RelativePath));
  }
});

test('a refused request leaves no session behind', async () => {
  const turn = userTurn({ Instruction: '' });
  assert.equal((await rig.post(turn)).status, 400);
  assert.deepEqual(refusalOf(await rig.get(`/sessions/${turn.SessionId}`)), [404, 'session_not_found']);
});

test('a body that announces too much is refused before it is sent', async () => {
  const got = await sendPart({ 'content-length': String(MAX_BODY_BYTES + 1) }, '{');
  assert.deepEqual(refusalOf(got), [413, 'body_too_large']);
});

test('a body that turns out too long is refused before its end', async () => {
  const got = await sendPart({ 'transfer-encoding': 'chunked' }, `{"Instruction":"${'x'.repeat(2 * MAX_BODY_BYTES)}`);
  assert.deepEqual(refusalOf(got), [413, 'body_too_large']);
});

test('a body of exactly the allowed length is taken', async () => {
  rig.model.script(answer(text('Long.')));
  const turn = userTurn({ Instruction: '' });
  turn.Instruction = 'x'.repeat(MAX_BODY_BYTES - Buffer.byteLength(JSON.stringify(turn)));
  assert.equal(Buffer.byteLength(JSON.stringify(turn)), MAX_BODY_BYTES);
  resultOf(await rig.post(turn));
});

test('only JSON is taken', async () => {
  const headers = { 'content-type': 'text/plain' };
  assert.deepEqual(refusalOf(await rig.post(JSON.stringify(userTurn()), { headers })), [415, 'unsupported_media_type']);
});

test('unknown routes and wrong methods are told apart', async () => {
  assert.deepEqual(refusalOf(await rig.get('/nowhere')), [404, 'not_found']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/a/nothing')), [404, 'not_found']);
  const wrong = await rig.get('/execute');
  assert.deepEqual(refusalOf(wrong), [405, 'method_not_allowed']);
  assert.match(wrong.headers.get('allow'), /POST/);
  assert.deepEqual(refusalOf(await rig.request('PUT', '/sessions/a')), [405, 'method_not_allowed']);
});

test('health and the error dictionary are open, and the dictionary is whole', async () => {
  resultOf(await rig.get('/health'));
  const dictionary = await rig.get('/errors');
  const entries = Object.values(resultOf(dictionary)).flat().filter((entry) => entry?.ErrorCode);
  const expected =
    'malformed_json missing_field invalid_field unknown_field forbidden_field empty_turn unauthenticated forbidden budget_exceeded ' +
    'not_found session_not_found turn_not_found context_not_found method_not_allowed turn_conflict turn_in_progress ' +
    'turn_awaiting_tools turn_not_awaiting_tools tool_results_mismatch turn_aborted body_too_large context_window_exceeded ' +
    'steer_conflict turn_ended session_exists turn_not_ended request_timeout overloaded credential_expired user_not_found identity_unavailable ' +
    'unsupported_media_type rate_limited internal catalog_invalid iteration_limit_exceeded server_tool_failed ' +
    'turn_interrupted upstream_rejected upstream_unavailable upstream_protocol upstream_failed upstream_incomplete ' +
    'upstream_timeout';
  assert.deepEqual(entries.map(({ ErrorCode }) => ErrorCode).sort(), expected.split(' ').sort());
  for (const entry of entries) {
    assert.deepEqual(
      Object.keys(entry).sort(),
      ['ErrorCode', 'HttpStatus', 'Meaning', 'Retryable', 'TurnStatusAfter', 'WhoActs'].filter((member) => member in entry),
    );
    assert.ok(['client', 'operator', 'nobody'].includes(entry.WhoActs), entry.ErrorCode);
  }
});

/** Sends a head and an incomplete body, and resolves to the response that comes nevertheless. */
function sendPart(headers, part) {
  return new Promise((resolve, reject) => {
    const request = http.request(
      new URL('/execute', rig.url),
      { method: 'POST', headers: { 'content-type': 'application/json', ...headers } },
      async (response) => {
        const chunks = [];
        for await (const chunk of response) chunks.push(chunk);
        request.destroy();
        const whole = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode, text: whole, json: JSON.parse(whole) });
      },
    );
    request.on('error', reject);
    request.setTimeout(10_000, () => request.destroy(new Error('no answer before the end of the body')));
    request.write(part);
  });
}
