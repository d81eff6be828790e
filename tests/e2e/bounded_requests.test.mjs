// A request to the model service is bounded in bytes (interface §4), and so are the steers that wait for one (§14).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOKING, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile(LOOKING);
/** Artifacts of so many bytes in all. */
const artifacts = (bytes) =>
  Array.from({ length: bytes / 900_000 }, (_, at) => ({ RelativePath: `${at}.txt`, FileName: `${at}.txt`, Origin: 'ide', Contents: 'x'.repeat(900_000) }));
const ofCall = (body) => JSON.stringify(body).length;

test('the steers that wait for a model call have 8,000,000 bytes, and one call takes them', async () => {
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  rig.model.script(answer(call('read_file', { path: 'a' })), answer(call('read_file', { path: 'b' })), answer(text('All heard.')));
  let { ToolCalls } = resultOf(await rig.post(turn));
  const steer = (SteerId) =>
    rig.request('POST', `/sessions/${turn.SessionId}/turns/${turn.TurnId}/steer`, { body: { SteerId, Instruction: 'More.', InputArtifacts: artifacts(3_600_000) } });
  const goOn = async () => {
    const ToolResults = ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' }));
    return resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults }));
  };
  for (const id of ['s1', 's2']) assert.equal((await steer(id)).status, 202);
  for (const id of ['s3', 's4', 's5']) {
    const refused = await steer(id);
    assert.deepEqual([...refusalOf(refused), refused.json.Errors[0].Details.MaxBytes], [413, 'body_too_large', 8_000_000]);
  }
  ({ ToolCalls } = await goOn());
  const taken = rig.model.bodies.at(-1);
  assert.equal(taken.input.filter(({ role }) => role === 'user').length, 2);
  assert.ok(ofCall(taken) > 7_200_000 && ofCall(taken) < 8_100_000);
  // Those that were delivered have freed their room.
  assert.equal((await steer('s3')).status, 202);
  assert.equal((await goOn()).PrimaryOutputText, 'All heard.');
});

test('a conversation that would make a request longer than 32,000,000 bytes is compacted before it', async () => {
  const { SessionId } = userTurn();
  const compacted = [];
  for (let number = 1; number <= 5; number += 1) {
    const TurnId = `t${number}`;
    rig.model.otherwise(answer(text(`Read ${number}.`)));
    const turn = { SessionId, TurnId, AgentContextId: 'replay', Instruction: `Words-${number}.`, InputArtifacts: artifacts(7_200_000) };
    const { PrimaryOutputText, UserWarnings = [] } = resultOf(await rig.post(turn));
    assert.equal(PrimaryOutputText, `Read ${number}.`);
    const { Compactions } = await rig.trace(turn);
    assert.equal(UserWarnings.length, Compactions.length > 0 ? 1 : 0);
    compacted.push(...Compactions.map(({ Reason }) => Reason));
    const { input } = rig.model.bodies.at(-1);
    assert.ok(JSON.stringify(input.at(-1)).includes(`Words-${number}.`));
    for (const body of rig.model.bodies) assert.ok(ofCall(body) <= 32_000_000, `${ofCall(body)} bytes`);
    rig.clear();
  }
  assert.deepEqual(compacted, ['threshold']);
});
