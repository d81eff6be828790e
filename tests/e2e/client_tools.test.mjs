// The pause for the client's tools and its continuation (interface §2 and §4; AGN-033 §3.3 and §5).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PLAIN, clientTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);
const ToolsJson = JSON.stringify([clientTool('read_file'), clientTool('list_files')]);

const resultFor = ({ ToolCallId }, ResultJson = '{"ok":true}') => ({ ToolCallId, ExecutionMs: 5, ResultJson });

test('a turn pauses at client tools and goes on with their results, in one conversation', async () => {
  const ask = [call('read_file', { path: 'a' }), call('list_files', {})];
  rig.model.script(answer(text('I look.'), ...ask), answer(text('Found.')));
  const turn = userTurn({ ToolsJson });
  const got = resultOf(await rig.post(turn));

  const { ToolContinuationMessage, ...required } = got;
  assert.equal(ToolContinuationMessage ?? 'I look.', 'I look.');
  assert.deepEqual(required, {
    Kind: 'client_tool_continuation',
    SessionId: turn.SessionId,
    TurnId: turn.TurnId,
    ModeDisplayName: 'General',
    ToolCalls: got.ToolCalls.map(({ ToolCallId }, index) => ({
      ToolCallId, Name: ask[index].name, ArgumentsJson: ask[index].deltas[0],
    })),
  });
  const view = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`));
  assert.equal(view.Status, 'awaiting_tools');

  const final = resultOf(
    await rig.post({
      SessionId: turn.SessionId,
      TurnId: turn.TurnId,
      ToolResults: [
        resultFor(got.ToolCalls[0], '{"text":"A"}'),
        { ToolCallId: got.ToolCalls[1].ToolCallId, ExecutionMs: 0, ErrorMessage: 'No such folder.' },
      ],
    }),
  );
  assert.equal(final.PrimaryOutputText, 'Found.');
  assert.deepEqual(final.Usage, {
    PromptTokens: 200, CachedTokens: 80, CompletionTokens: 40, ReasoningTokens: 10, TotalTokens: 240,
  });
  const [one, two] = rig.model.requests;
  assert.equal(two.body.previous_response_id, one.responseId);
  assert.deepEqual(two.body.tools, one.body.tools);
  assert.equal(two.body.tool_choice, undefined);
  assert.deepEqual(two.body.input, [
    { type: 'function_call_output', call_id: ask[0].callId, output: '{"text":"A"}' },
    { type: 'function_call_output', call_id: ask[1].callId, output: '{"error":"No such folder."}' },
  ]);
});

test('a pause outlives a restart of the Worker', async () => {
  rig.model.script(answer(call('read_file', { path: 'a' }), call('list_files', {})), answer(text('Still here.')));
  const { SessionId, TurnId } = userTurn();
  const { ToolCalls } = resultOf(await rig.post({ SessionId, TurnId, Instruction: 'Look.', ToolsJson }));
  await rig.restart();
  const final = resultOf(await rig.post({ SessionId, TurnId, ToolResults: ToolCalls.map((each) => resultFor(each)) }));
  assert.equal(final.PrimaryOutputText, 'Still here.');
});
