// The views of a session: its turns in pages, and the trace of a turn (interface §1).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOKING, BOOT_PROMPT, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { USAGE, answer, call, httpError, text } from './scripted_model.mjs';

const rig = rigForFile(LOOKING);

test('a session is shown with its mode, its turns, what it waits for, and the tokens of its newest call', async () => {
  const usage = { ...USAGE, input_tokens: 250, total_tokens: 270 };
  rig.model.script(answer(call('read_file', { path: 'a' })), answer(text('Read.')).with({ usage }));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const shown = async () => {
    const { CreatedAt, UpdatedAt, ...view } = resultOf(await rig.get(`/sessions/${turn.SessionId}`));
    assert.ok(Date.parse(CreatedAt) <= Date.parse(UpdatedAt), `${CreatedAt} ${UpdatedAt}`);
    return view;
  };
  const session = {
    SessionId: turn.SessionId, ModeDisplayName: 'General', AgentContextId: 'default', ConversationContextId: 'default', TurnCount: 1,
  };
  const { ToolCalls } = resultOf(await rig.post(turn));
  const waiting = { TurnId: turn.TurnId, Status: 'awaiting_tools', ToolCalls };
  assert.deepEqual(await shown(), { ...session, ContextTokens: 100, LatestTurn: waiting, LiveTurn: waiting });
  const ToolResults = ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '"A"' }));
  resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults }));
  const completed = { TurnId: turn.TurnId, Status: 'completed' };
  assert.deepEqual(await shown(), { ...session, ContextTokens: 250, LatestTurn: completed });
});

test('turns are listed oldest first, in pages that meet without a gap', async () => {
  rig.model.otherwise(answer(text('Noted.')));
  const { SessionId } = userTurn();
  const ids = Array.from({ length: 7 }, (_, index) => `turn:${index + 1}`);
  for (const TurnId of ids) resultOf(await rig.post({ SessionId, TurnId, Instruction: 'One more.' }));
  const route = `/sessions/${SessionId}/turns`;
  const page = async (query) => resultOf(await rig.get(`${route}${query}`));
  const whole = await page('');
  assert.deepEqual([whole.Turns.map(({ TurnId }) => TurnId), whole.More], [ids, false]);
  assert.ok(whole.Turns.every(({ Status, Usage }) => Status === 'completed' && Usage.TotalTokens > 0));

  const seen = [];
  for (let query = '?Limit=3', more = true; more; query = `?Limit=3&After=${encodeURIComponent(seen.at(-1))}`) {
    const { Turns, More } = await page(query);
    seen.push(...Turns.map(({ TurnId }) => TurnId));
    more = More;
  }
  assert.deepEqual(seen, ids);
  assert.deepEqual((await page(`?After=${ids.at(-1)}`)).Turns, []);
  assert.deepEqual(refusalOf(await rig.get(`${route}?Limit=101`)), [400, 'invalid_field']);
  assert.deepEqual(refusalOf(await rig.get(`${route}?Page=2`)), [400, 'unknown_field']);
  assert.deepEqual(refusalOf(await rig.get(`${route}?After=nobody`)), [404, 'turn_not_found']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/nobodys/turns')), [404, 'session_not_found']);
});

test('the trace of a turn says what was composed, called, retried and run, and repeats no content', async () => {
  rig.tools.on('/look', '{"found":"a needle"}');
  rig.model.script(
    httpError(503, { message: 'busy' }, { 'retry-after': '0' }),
    answer(call('look', { for: 'the haystack' })),
    answer(text('Here is the needle.')),
  );
  const turn = userTurn({ Instruction: 'Find the haystack.', SolutionContextText: 'A barn.' });
  resultOf(await rig.post(turn));
  const trace = await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`);
  const { Composition, ModelCalls, ToolCalls, Status } = resultOf(trace);
  assert.equal(Status, 'completed');
  assert.deepEqual(
    Composition.map(({ Block, Bytes, LeftOut }) => [Block, LeftOut === undefined ? Bytes > 0 : LeftOut]),
    [['system', true], ['mode', true], ['instruction', true], ['solution_context', true]],
  );
  assert.deepEqual(ModelCalls.map(({ Segment, Retries, Rebuilt }) => [Segment, Retries, Rebuilt]), [
    [0, [{ HttpStatus: 503, WaitedMs: 0 }], false],
    [1, [], false],
  ]);
  assert.ok(ModelCalls.every(({ BodySha256, BodyBytes }) => /^[0-9a-f]{64}$/.test(BodySha256) && BodyBytes > 0));
  assert.deepEqual(
    ToolCalls.map(({ ModelCall, Name, RunsOn, Successful }) => [ModelCall, Name, RunsOn, Successful]),
    [[0, 'look', 'server', true]],
  );
  for (const content of ['haystack', 'needle', 'barn', BOOT_PROMPT]) assert.ok(!trace.text.includes(content), content);
});
