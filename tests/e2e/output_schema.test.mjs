// The form that a turn asks of its answer, on the real runtime (interface §2 and §4).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, httpError, raw, text } from './scripted_model.mjs';

const rig = rigForFile({
  catalog: (catalog) => {
    catalog.AgentContexts.default.ModelParameters = { text: { format: { type: 'text' }, verbosity: 'low' } };
  },
});
const SCHEMA = { type: 'object', properties: { z: { type: 'integer' }, a: { type: 'string' } }, required: ['z', 'a'], additionalProperties: false };
const asking = (members = {}) => userTurn({ OutputSchema: JSON.stringify(SCHEMA), OutputSchemaName: 'order', ...members });
const ofTurn = { verbosity: 'low', format: { type: 'json_schema', name: 'order', schema: SCHEMA, strict: true } };
const ofCatalog = { format: { type: 'text' }, verbosity: 'low' };

test('the form goes with every call of its turn, after a pause and a restart, and the next turn has the catalog\'s', async () => {
  rig.model.script(answer(call('read_file', { path: 'a' })), answer(text('{"z":1,"a":"b"}')), answer(text('Plain.')));
  const turn = asking({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const { ToolCalls } = resultOf(await rig.post(turn));
  await rig.restart();
  const { SessionId, TurnId } = turn;
  const results = ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '"b"' }));
  assert.equal(resultOf(await rig.post({ SessionId, TurnId, ToolResults: results })).PrimaryOutputText, '{"z":1,"a":"b"}');
  resultOf(await rig.post({ SessionId, TurnId: 'next', Instruction: 'Thanks.' }));
  assert.deepEqual(rig.model.bodies.map((body) => body.text), [ofTurn, ofTurn, ofCatalog]);
  const respelt = JSON.stringify({ additionalProperties: false, required: ['z', 'a'], properties: { a: { type: 'string' }, z: { type: 'integer' } }, type: 'object' }, null, 2);
  assert.equal((await rig.post({ ...turn, OutputSchema: respelt })).headers.get('idempotent-replayed'), 'true');
  assert.deepEqual(refusalOf(await rig.post({ ...turn, OutputSchema: '{}' })), [409, 'turn_conflict']);
  const { Turns } = resultOf(await rig.get(`/sessions/${SessionId}/export`));
  assert.deepEqual([Turns[0].OutputSchema, Turns[0].OutputSchemaName, Turns[1].OutputSchema], [SCHEMA, 'order', undefined]);
});

test('a schema that the service does not take is told at its place, and the next turn works', async () => {
  const message = "Invalid schema for response_format 'order': In context=(), 'a' is not permitted.";
  const error = { message, type: 'invalid_request_error', param: 'text.format.schema', code: 'invalid_json_schema' };
  for (const refusal of [
    httpError(400, error),
    httpError(400, { ...error, param: null }),
    raw([`event: error\ndata: ${JSON.stringify({ ...error, type: 'error', sequence_number: 0, param: null })}\n\n`]),
  ]) {
    rig.clear();
    rig.model.script(refusal, answer(text('Fine.')));
    const turn = asking();
    const heard = await rig.post(turn);
    assert.deepEqual(refusalOf(heard), [502, 'upstream_rejected'], heard.text);
    assert.equal(JSON.parse(heard.text).Errors[0].Path, '/OutputSchema');
    assert.ok(!heard.text.includes('not permitted'), 'the words of the service stay there');
    assert.equal(rig.model.bodies.length, 1);
    assert.equal(resultOf(await rig.post({ ...turn, TurnId: 'next', OutputSchema: undefined, OutputSchemaName: undefined })).PrimaryOutputText, 'Fine.');
  }
});

test('what is no schema is refused before anything is called', async () => {
  for (const [members, path] of [
    [{ OutputSchema: 'no' }, '/OutputSchema'],
    [{ OutputSchema: '[]' }, '/OutputSchema'],
    [{ OutputSchema: `{"title":"${'x'.repeat(65_536)}"}` }, '/OutputSchema'],
    [{ OutputSchemaName: 'a b' }, '/OutputSchemaName'],
    [{ OutputSchema: undefined }, '/OutputSchemaName'],
  ]) {
    const heard = await rig.post(asking(members));
    assert.deepEqual(refusalOf(heard), [400, 'invalid_field'], JSON.stringify(members).slice(0, 80));
    assert.deepEqual(JSON.parse(heard.text).Errors.map(({ Path }) => Path), [path]);
  }
  assert.equal(rig.model.bodies.length, 0);
});
