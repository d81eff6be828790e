// Fall-backs of model services, on the real runtime (interface §4): the first service is down, the spare one answers.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { LOOKING, MODEL, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { ScriptedModel, answer, call, httpError, hangUp, reasoning, text } from './scripted_model.mjs';

const spare = await ScriptedModel.start();
after(() => spare.close());

const rig = rigForFile({
  vars: { FALLBACK_REST_MS: '0', DELTA_INTERVAL_MS: '0' },
  catalog: (catalog, tools) => {
    LOOKING.catalog(catalog, tools);
    catalog.AgentContexts.default.Fallbacks = ['spare'];
    catalog.AgentContexts.spare = { BaseUrl: spare.url, ApiKeySecret: 'OPENAI_API_KEY', Model: 'spare-model' };
  },
});

const down = httpError(503, { message: 'down' });

test('a turn goes on at the spare service between two model calls, and runs no tool twice', async () => {
  rig.tools.on('/look', '{"found":"a needle"}');
  rig.model.script(answer(reasoning('A plan.'), call('look', {})), down, down);
  spare.script(answer(call('ask', {})), answer(text('Found ', 'it.')));
  const turn = userTurn({ Streaming: true, ToolsJson: JSON.stringify([clientTool('ask')]) });
  const first = await (await rig.stream(turn, { route: '/execute?Progress=true' })).end();
  const progress = first.of('progress').map(({ data }) => JSON.parse(data));
  assert.deepEqual(progress.filter(({ Fallback }) => Fallback), [{ Kind: 'retry', AfterMs: 0, Fallback: true }]);
  const paused = JSON.parse(first.result);
  assert.deepEqual(paused.Warnings.map(({ ErrorCode }) => ErrorCode), ['fallback_used']);
  const [body] = spare.bodies;
  assert.deepEqual([body.model, body.previous_response_id, JSON.stringify(body).includes('rs_')], ['spare-model', undefined, false]);
  assert.equal(rig.tools.requests.length, 1);

  const results = { ...turn, ToolResults: paused.Result.ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' })) };
  const given = { SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults: results.ToolResults };
  const second = await (await rig.stream(given)).end();
  const done = JSON.parse(second.result);
  assert.deepEqual([done.Result.PrimaryOutputText, done.Warnings.map(({ ErrorCode }) => ErrorCode)], ['Found it.', ['fallback_used']]);
  const again = await (await rig.stream(given)).end();
  assert.equal(again.result, second.result);
  const { ModelCalls } = await rig.trace(turn);
  assert.deepEqual(ModelCalls.map(({ Service, Retries }) => [Service, Retries.map(({ Service }) => Service)]), [
    ['default', []],
    ['spare', ['default', 'default']],
    ['spare', []],
  ]);
  assert.equal(spare.bodies[1].previous_response_id != null, true);
  spare.requests.length = 0;
});

test('where both are down the first failure is told, and a wrong key is not covered', async () => {
  rig.model.script(httpError(429, { message: 'busy', code: 'rate_limit_exceeded' }, { 'retry-after': '90' }));
  spare.script(hangUp(), hangUp(), hangUp());
  assert.deepEqual(refusalOf(await rig.request('POST', '/execute', { body: userTurn() })), [502, 'upstream_unavailable']);
  // The first service rests for as long as it asked, as far as the isolate knows.
  await rig.restart();
  rig.model.script(httpError(401, { message: 'no', code: 'invalid_api_key' }));
  spare.requests.length = 0;
  assert.deepEqual(refusalOf(await rig.request('POST', '/execute', { body: userTurn() })), [502, 'upstream_rejected']);
  assert.equal(spare.requests.length, 0);
});

test('the next turn begins at the first service again, which gets the whole conversation', async () => {
  rig.model.script(down, down, answer(text('Two.')));
  spare.script(answer(text('One.')));
  const turn = userTurn();
  assert.equal(resultOf(await rig.request('POST', '/execute', { body: turn })).PrimaryOutputText, 'One.');
  const next = userTurn({ SessionId: turn.SessionId, TurnId: 'turn-2' });
  const got = await rig.request('POST', '/execute', { body: next });
  assert.equal(resultOf(got).PrimaryOutputText, 'Two.');
  assert.deepEqual(got.json.Warnings, []);
  const { body } = rig.model.requests.at(-1);
  assert.deepEqual([body.model, JSON.stringify(body.input).includes('One.')], [MODEL, true]);
});
