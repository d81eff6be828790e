// The pause for the client's tools and its continuation (interface §2 and §4; AGN-033 §3.3 and §5).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientTool, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile({
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look_up', toolUrl));
    catalog.Modes[0].Tools.push('look_up');
  },
});
const ToolsJson = JSON.stringify([clientTool('read_file'), clientTool('list_files')]);

/** A turn paused at `read_file` and `list_files`; resolves to the turn, its pending calls and its result. */
async function paused(...more) {
  rig.model.script(answer(text('I look.'), call('read_file', { path: 'a' }), call('list_files', {})), ...more);
  const turn = userTurn({ ToolsJson });
  const result = resultOf(await rig.post(turn));
  const ids = { SessionId: turn.SessionId, TurnId: turn.TurnId };
  return { turn, ids, calls: result.ToolCalls, result };
}
const resultFor = ({ ToolCallId }, ResultJson = '{"ok":true}') => ({ ToolCallId, ExecutionMs: 5, ResultJson });
const outputs = (body) => body.input.map(({ type, call_id, output }) => [type, call_id, output]);

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

test('server and client calls of one response are answered together, in the model\'s order', async () => {
  const ask = [call('read_file', { path: 'a' }), call('look_up', { q: 'x' }), call('list_files', {})];
  rig.tools.on('/look_up', '{"found":1}');
  rig.model.script(answer(...ask), answer(text('Done.')));
  const turn = userTurn({ ToolsJson });
  const got = resultOf(await rig.post(turn));
  assert.deepEqual(got.ToolCalls.map(({ Name }) => Name), ['read_file', 'list_files']);

  const ToolResults = got.ToolCalls.map((each, index) => resultFor(each, `{"client":${index}}`));
  const final = resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults }));
  assert.deepEqual(outputs(rig.model.bodies[1]).map(([type, id, output]) => [type, id, JSON.parse(output)]), [
    ['function_call_output', ask[0].callId, { client: 0 }],
    ['function_call_output', ask[1].callId, { found: 1 }],
    ['function_call_output', ask[2].callId, { client: 1 }],
  ]);
  assert.equal(rig.tools.requests.length, 1);
  assert.deepEqual(final.ToolResults.map(({ ResultJson }) => JSON.parse(ResultJson)), [{ found: 1 }]);
});

test('a pause outlives a restart of the Worker', async () => {
  const { ids, calls } = await paused(answer(text('Still here.')));
  await rig.restart();
  const final = resultOf(await rig.post({ ...ids, ToolResults: calls.map((each) => resultFor(each)) }));
  assert.equal(final.PrimaryOutputText, 'Still here.');
});

test('results that do not match the pending calls are refused with the difference, and the right set still works', async () => {
  const { ids, calls } = await paused(answer(text('Right.')));
  const [first, second] = calls.map((each) => resultFor(each));
  const wrong = {
    'too few': [first],
    'too many': [first, second, resultFor({ ToolCallId: 'call_unknown' })],
    'another order': [second, first],
    'one id twice': [first, first],
    'a foreign id': [first, resultFor({ ToolCallId: 'call_unknown' })],
  };
  for (const [name, ToolResults] of Object.entries(wrong)) {
    const got = await rig.post({ ...ids, ToolResults });
    assert.deepEqual(refusalOf(got), [409, 'tool_results_mismatch'], name);
    assert.ok(Object.keys(got.json.Errors[0].Details).length > 0, name);
  }
  assert.equal(rig.model.requests.length, 1, 'no model is called for a wrong set');
  assert.equal(resultOf(await rig.get(`/sessions/${ids.SessionId}/turns/${ids.TurnId}`)).Status, 'awaiting_tools');
  assert.equal(resultOf(await rig.post({ ...ids, ToolResults: [first, second] })).PrimaryOutputText, 'Right.');
});

test('a user turn during the pause is refused and told what is awaited', async () => {
  const { turn, ids, calls } = await paused(answer(text('Done.')), answer(text('Next.')));
  const next = { ...turn, TurnId: 'turn-2' };
  const got = await rig.post(next);
  assert.deepEqual(refusalOf(got), [409, 'turn_awaiting_tools']);
  assert.deepEqual(got.json.Errors[0].Details, { TurnId: turn.TurnId, ToolCalls: calls });
  resultOf(await rig.post({ ...ids, ToolResults: calls.map((each) => resultFor(each)) }));
  assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Next.');
});

test('a continuation is repeated like any request, and results after the end are refused', async () => {
  const { ids, calls } = await paused(answer(text('Done.')));
  const continuation = { ...ids, ToolResults: calls.map((each) => resultFor(each)) };
  const first = await rig.post(continuation);
  const second = await rig.post(continuation);
  assert.equal(second.text, first.text);
  assert.equal(second.headers.get('idempotent-replayed'), 'true');
  assert.equal(rig.model.requests.length, 2);
  const others = { ...ids, ToolResults: calls.map((each) => resultFor(each, '"another"')) };
  assert.deepEqual(refusalOf(await rig.post(others)), [409, 'turn_conflict']);

  rig.model.script(answer(text('Plain.')));
  const plain = userTurn();
  resultOf(await rig.post(plain));
  const late = { SessionId: plain.SessionId, TurnId: plain.TurnId, ToolResults: continuation.ToolResults };
  assert.deepEqual(refusalOf(await rig.post(late)), [409, 'turn_not_awaiting_tools']);
  assert.deepEqual(refusalOf(await rig.post({ ...late, TurnId: 'another' })), [404, 'turn_not_found']);
  assert.deepEqual(refusalOf(await rig.post({ ...late, SessionId: 'nobodys' })), [404, 'session_not_found']);
});

test('an aborted pause sets the session free, and the model still knows what was said', async () => {
  const { turn } = await paused(answer(text('Next.')));
  resultOf(await rig.request('POST', `/sessions/${turn.SessionId}/turns/${turn.TurnId}/cancel`));
  assert.equal(resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`)).Status, 'aborted');
  const next = { SessionId: turn.SessionId, TurnId: 'turn-2', Instruction: 'Something else.' };
  assert.equal(resultOf(await rig.post(next)).PrimaryOutputText, 'Next.');
  assert.match(rig.model.lastSeen, /Say hello\.[^]*Something else\./);
});

test('a call of a tool that was not offered is answered to the model as an error', async () => {
  rig.model.script(answer(call('never_offered', {})), answer(text('Sorry.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'Sorry.');
  const [[type, , output]] = outputs(rig.model.bodies[1]);
  assert.deepEqual([type, typeof JSON.parse(output).error], ['function_call_output', 'string']);
});
