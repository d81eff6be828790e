// Modes over a session's life: change, welcome, instructions, tools, history (interface §5; AGN-011).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { httpTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile({
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('file_ddr', toolUrl));
    catalog.Modes[0].Tools.push('agent_list_modes');
    catalog.Modes[1].Tools.push('file_ddr');
  },
});
const toDdr = (reason = 'The user asked.') => call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason });
const outputOf = (body, index = 0) => JSON.parse(body.input[index].output);
const toolNames = (body) => body.tools.map(({ name }) => name);

test('a mode change shows at once in text, name and instructions, and in the tools of the next turn', async () => {
  rig.model.script(answer(toDdr()), answer(text('What is it about?')), answer(text('Go on.')));
  const turn = userTurn({ Instruction: 'Switch to DDR authoring.' });
  const result = resultOf(await rig.post(turn));
  assert.equal(result.ModeDisplayName, 'DDR Authoring');
  assert.equal(result.PrimaryOutputText, 'Welcome to DDR authoring.\n\nWhat is it about?');

  const [one, two] = rig.model.bodies;
  assert.equal(one.instructions, undefined);
  assert.deepEqual(outputOf(two), { success: true, mode: 'ddr_authoring', branch: false, reason: 'The user asked.' });
  assert.equal(two.instructions, 'Write in the form of a design decision record.');
  assert.deepEqual(toolNames(two), toolNames(one));

  const next = resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'A cache.' }));
  assert.deepEqual([next.ModeDisplayName, next.PrimaryOutputText], ['DDR Authoring', 'Go on.']);
  const three = rig.model.bodies[2];
  assert.match(three.input[0].content[0].text, /^\[MODE: ddr_authoring\]\n\n\[INSTRUCTION\]\nA cache\.$/);
  assert.equal(three.instructions, 'Write in the form of a design decision record.');
  assert.ok(toolNames(three).includes('file_ddr') && !toolNames(two).includes('file_ddr'));
  assert.ok(toolNames(three).includes('agent_change_mode'));
});

test('the history of modes is kept with reason and turn', async () => {
  rig.model.script(answer(toDdr('To write one.')), answer(text('Yes.')));
  const turn = userTurn();
  resultOf(await rig.post(turn));
  const modes = await rig.get(`/sessions/${turn.SessionId}/modes`);
  const [entry, ...others] = entriesOf(resultOf(modes));
  assert.deepEqual(others, []);
  assert.ok(!Number.isNaN(Date.parse(entry.Timestamp)), entry.Timestamp);
  assert.deepEqual(
    { ...entry, Timestamp: null },
    {
      PreviousMode: 'general', NewMode: 'ddr_authoring', Timestamp: null, Reason: 'To write one.', TurnId: turn.TurnId,
      Branch: false,
    },
  );
});

test('an unknown mode is answered with the valid ones and changes nothing', async () => {
  rig.model.script(answer(call('agent_change_mode', { mode: 'poetry', branch: false, reason: 'r' })), answer(text('No.')));
  const turn = userTurn();
  const result = resultOf(await rig.post(turn));
  assert.deepEqual([result.ModeDisplayName, result.PrimaryOutputText], ['General', 'No.']);
  const { success, validModes } = outputOf(rig.model.bodies[1]);
  assert.equal(success, false);
  assert.match(JSON.stringify(validModes), /general.*ddr_authoring/);
  assert.deepEqual(entriesOf(resultOf(await rig.get(`/sessions/${turn.SessionId}/modes`))), []);
});

test('of several changes in one response each is answered and the last successful one wins', async () => {
  const to = (mode) => call('agent_change_mode', { mode, branch: false, reason: 'r' });
  rig.model.script(answer(to('general'), to('ddr_authoring'), to('poetry')), answer(text('Fine.')));
  const got = await rig.post(userTurn());
  assert.equal(resultOf(got).ModeDisplayName, 'DDR Authoring');
  assert.deepEqual([0, 1, 2].map((index) => outputOf(rig.model.bodies[1], index).success), [true, true, false]);
  assert.ok(got.json.Warnings.length > 0, got.text);
});

test('a mode change outlives the failure of its turn', async () => {
  rig.model.script(answer(toDdr()));
  rig.model.otherwise(answer(text('x')).with({ failed: { code: 'server_error', message: 'broken' } }));
  const turn = userTurn();
  assert.equal((await rig.post(turn)).status, 502);
  rig.model.otherwise(answer(text('Here.')));
  const next = resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Again.' }));
  assert.equal(next.ModeDisplayName, 'DDR Authoring');
});

test('the modes can be listed by the model', async () => {
  rig.model.script(answer(call('agent_list_modes', {})), answer(text('Two.')));
  resultOf(await rig.post(userTurn()));
  const listed = JSON.stringify(outputOf(rig.model.bodies[1]));
  for (const shown of ['general', 'General', 'ddr_authoring', 'DDR Authoring', 'When a design decision record is written.']) {
    assert.ok(listed.includes(shown), `${shown} in ${listed}`);
  }
});

test('the welcome message is the head of the segment it stands before', async () => {
  rig.model.script(answer(toDdr()), answer(text('What is it about?')));
  const stream = await (await rig.stream(userTurn({ Streaming: true }))).end();
  const { PrimaryOutputText } = JSON.parse(stream.result).Result;
  assert.equal(stream.keptText, PrimaryOutputText);
  assert.equal(stream.of('output_text.delta').at(-1).id, `1.${Buffer.byteLength(PrimaryOutputText)}`);
});

/** The list of mode changes, either the result itself or a member of it. */
function entriesOf(result) {
  return Array.isArray(result) ? result : Object.values(result).find((value) => Array.isArray(value)) ?? [];
}
