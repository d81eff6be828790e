// The real runtime produces every code of the error dictionary, with the dictionary's HTTP status and turn status
// (interface §3).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { refusalOf, resultOf } from './harness.mjs';
import { KEY, WAYS, disposeOfRigs, rig, startRigs } from './ways_to_fail.mjs';

let dictionary;
before(async () => {
  await startRigs();
  dictionary = new Map(resultOf(await rig.get('/errors')).map((entry) => [entry.ErrorCode, entry]));
});
after(disposeOfRigs);

test('the dictionary lists what can come, and nothing else', () => {
  assert.deepEqual([...dictionary.keys()].sort(), Object.keys(WAYS).sort());
});

for (const [code, way] of Object.entries(WAYS)) {
  test(`${code} comes as the dictionary says`, async () => {
    const [refused, turn, at = rig] = await way();
    const entry = dictionary.get(code);
    assert.deepEqual(refusalOf(refused), [entry.HttpStatus, code], refused.text);
    const ours = refused.status >= 500;
    assert.equal(refused.json.Errors[0].SystemError, ours);
    if (!turn) return;
    const { Status } = resultOf(await at.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`, { key: KEY }));
    assert.equal(Status, entry.TurnStatusAfter);
  });
}
