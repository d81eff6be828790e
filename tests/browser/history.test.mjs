// What was said in a session before the playground was loaded, from exports as the service sends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const entryPoints = [fileURLToPath(new URL('../../clients/playground/src/store/history.ts', import.meta.url))];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });
const { recordsOf } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

test('a turn that was stopped has the mode that it had come to', () => {
  const turn = { TurnId: 't', Status: 'aborted', StartedAt: '2026-01-01T00:00:00.000Z', UpdatedAt: '2026-01-01T00:00:01.000Z', Conversation: [], Composition: [], ModelCalls: [], Tools: [], ToolCalls: [], Submissions: [{}] };
  const change = { PreviousMode: 'general', NewMode: 'code', TurnId: 't' };
  const [{ mode }] = recordsOf({ SessionId: 's', Catalog: { Modes: [{ Key: 'code', DisplayName: 'Coding' }] }, ModeHistory: [change], Turns: [turn] });
  assert.equal(mode, 'Coding');
});

test('a question that a fork puts anew is there once, under its own id, with what was said beside it', () => {
  const question = { ToolCallId: 'apr_c.1', Name: 'agent_approve_tool', ArgumentsJson: '{"ToolCallId":"c","Name":"pay","Arguments":{},"AllowEdit":false}' };
  const told = (Result) => ({ HttpStatus: 200, Outcome: { Successful: true, Result: { SessionId: 's', TurnId: 't', ModeDisplayName: 'General', ...Result }, Errors: [], Warnings: [] } });
  const pause = told({ Kind: 'client_tool_continuation', ToolCalls: [question], ToolContinuationMessage: 'I pay.' });
  const final = told({ Kind: 'final', PrimaryOutputText: 'Paid.' });
  const made = { ModelCall: 0, CallId: 'c', ToolCallId: 'c', Name: 'pay', ArgumentsJson: '{}', RunsOn: 'server', Approval: { AllowEdit: false } };
  const stepsOf = (Status, call, ...Submissions) => {
    const turn = { TurnId: 't', Status, StartedAt: '2026-01-01T00:00:00.000Z', UpdatedAt: '2026-01-01T00:00:01.000Z', Conversation: [], Composition: [], ModelCalls: [], Tools: [], ToolCalls: [call], Submissions };
    const [{ steps }] = recordsOf({ SessionId: 's', ModeHistory: [], Turns: [turn] });
    return steps.map(({ kind, text, call: asked, id }) => [kind, text ?? asked?.ToolCallId ?? id]);
  };
  // The fork has left the outcome behind by which its parent was asked.
  assert.deepEqual(stepsOf('awaiting_tools', made, {}, pause), [['text', 'I pay.'], ['client_call', 'apr_c.1']]);
  const decided = { ...made, Approval: { AllowEdit: false, Decision: 'approved' }, Answer: { ToolCallId: 'c', ExecutionMs: 1, ResultJson: '1' } };
  assert.deepEqual(stepsOf('completed', decided, {}, pause, final), [
    ['text', 'I pay.'], ['decision', 'apr_c.1'], ['server_tool', 'c'], ['text', 'Paid.'],
  ]);
});

test('an answer of several messages to which words were added has the blank lines between them', () => {
  const message = (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] });
  const Conversation = [
    { Sequence: 1, Kind: 'answer', Items: [message('It is blue.'), message('And green.')] },
    { Sequence: 2, Kind: 'steer', Items: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Shorter.' }] }] },
  ];
  const Steers = [{ SteerId: 'a', State: 'delivered', Sequence: 2 }];
  const turn = { TurnId: 't', Status: 'running', StartedAt: '2026-01-01T00:00:00.000Z', UpdatedAt: '2026-01-01T00:00:01.000Z', Conversation, Composition: [], ModelCalls: [], Tools: [], ToolCalls: [], Submissions: [{}], Steers };
  const [{ steps }] = recordsOf({ SessionId: 's', ModeHistory: [], Turns: [turn] });
  assert.deepEqual(steps.map(({ kind, text, asked }) => [kind, text ?? asked.text]), [['text', 'It is blue.\n\nAnd green.'], ['steer', 'Shorter.']]);
});
