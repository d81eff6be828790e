// The sources of the catalog, and the effects of a faulty one (interface §6).
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { API_KEY, MODEL, Rig, catalogOf, clientTool, eventually, httpTool, refusalOf, resultOf, userTurn } from './harness.mjs';
import { answer, call, cited, refusal, silence, text } from './scripted_model.mjs';

let rig;
afterEach(async () => {
  await rig?.dispose();
});
async function started(options) {
  rig = new Rig(options);
  await rig.start();
}

test('without a catalog of its own a deployment has the built-in one', async () => {
  await started({ catalog: false });
  rig.model.script(answer(text('Hello.')));
  const result = resultOf(await rig.post(userTurn()));
  assert.deepEqual([result.PrimaryOutputText, result.ModeDisplayName], ['Hello.', 'General']);
  const [{ body, headers }] = rig.model.requests;
  assert.deepEqual([body.model, headers.authorization], [MODEL, `Bearer ${API_KEY}`]);
  assert.equal(body.input[0].role, 'system');
  await rig.check();
});

test('the conversation context decides on model and mode', async () => {
  await started({
    catalog: (catalog) => {
      Object.assign(catalog.ConversationContexts.default, { Model: 'model-of-the-conversation', Mode: 'ddr_authoring' });
    },
  });
  rig.model.script(answer(text('Hello.')));
  assert.equal(resultOf(await rig.post(userTurn())).ModeDisplayName, 'DDR Authoring');
  assert.equal(rig.model.bodies[0].model, 'model-of-the-conversation');
});

test('headers, query and parameters of the catalog go with a call', async () => {
  await started({
    vars: { GATEWAY_KEY: 'gw-secret-1' },
    catalog: (catalog) => {
      Object.assign(catalog.AgentContexts.default, {
        Headers: { 'api-key': '${GATEWAY_KEY}', 'OpenAI-Project': 'p' }, Query: { 'api-version': '2026-01 preview' },
        ModelParameters: { reasoning: { effort: 'low' }, max_output_tokens: 4000 },
        Compaction: { By: 'Service', Threshold: 200_000 },
      });
      catalog.ConversationContexts.default.ModelParameters = { max_output_tokens: 500, include: ['web_search_call.results'] };
    },
  });
  rig.model.script(answer(text('Hello.')));
  resultOf(await rig.post(userTurn()));
  const [{ url, headers, body }] = rig.model.requests;
  assert.equal(url, '/v1/responses?api-version=2026-01%20preview');
  assert.deepEqual(
    [headers.authorization, headers['api-key'], headers['openai-project']], [undefined, 'gw-secret-1', 'p'],
  );
  assert.deepEqual([body.reasoning, body.max_output_tokens, body.include], [{ effort: 'low' }, 500, ['web_search_call.results']]);
  assert.deepEqual(body.context_management, [{ type: 'compaction', compact_threshold: 200_000 }]);
  assert.match(body.prompt_cache_key, /^[0-9a-f]{32}$/);
  await rig.check();
});

test('with Continuation replay nothing is stored and the whole conversation is sent each time', async () => {
  await started({ catalog: (catalog) => Object.assign(catalog.AgentContexts.default, { Continuation: 'replay' }) });
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const turn = userTurn({ Instruction: 'First.' });
  resultOf(await rig.post(turn));
  resultOf(await rig.post({ ...turn, TurnId: 'turn-2', Instruction: 'Second.' }));
  const [one, two] = rig.model.bodies;
  assert.deepEqual([one.store, two.store, two.previous_response_id], [false, false, undefined]);
  assert.match(JSON.stringify(two.input), /First\.[^]*One\.[^]*Second\./);
  assert.deepEqual(rig.model.leftovers, []);
});

const toDdr = call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'asked' });

test('a mode whose text is JSON gives that JSON and nothing beside it, and a refusal is an answer with a warning', async () => {
  const schema = { type: 'object', properties: { title: { type: 'string' } }, required: ['title'], additionalProperties: false };
  const format = { type: 'json_schema', name: 'record', strict: true, schema };
  await started({ catalog: ({ Modes }) => Object.assign(Modes[1], { ModelParameters: { text: { format } } }) });
  const page = { type: 'url_citation', url: 'https://a.example', title: 'A', start_index: 0, end_index: 1 };
  rig.model.script(answer(toDdr), answer(cited('{"title":"A cache"}', [page])), answer(refusal('I will', ' not.')));
  const turn = userTurn({ Streaming: true });
  const stream = await (await rig.stream(turn)).end();
  assert.deepEqual([stream.keptText, JSON.parse(stream.result).Result.PrimaryOutputText], ['{"title":"A cache"}', '{"title":"A cache"}']);
  assert.deepEqual(rig.model.bodies.map(({ text: asked }) => asked), [undefined, { format }]);
  const refused = resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Another.' }));
  assert.deepEqual([refused.Kind, refused.PrimaryOutputText, refused.UserWarnings.length], ['final', 'I will not.', 1]);
  await rig.check();
});

test('a mode that has left the catalog gives way with the next turn; a byte order mark before the catalog does no harm', async () => {
  await started();
  rig.model.script(answer(toDdr), answer(text('Yes.')), answer(text('On.')));
  const turn = userTurn();
  assert.equal(resultOf(await rig.post(turn)).ModeDisplayName, 'DDR Authoring');
  const without = catalogOf({ modelUrl: rig.model.url }, ({ Modes }) => Modes.pop());
  await rig.restart({ catalog: `\ufeff${JSON.stringify(without)}` });
  const next = resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Go on.' }));
  assert.deepEqual([next.ModeDisplayName, next.PrimaryOutputText, next.UserWarnings?.length], ['General', 'On.', 1]);
  const { History } = resultOf(await rig.get(`/sessions/${turn.SessionId}/modes`));
  assert.deepEqual(History.map(({ PreviousMode, NewMode }) => [PreviousMode, NewMode]), [['general', 'ddr_authoring'], ['ddr_authoring', 'general']]);
  await rig.check();
});

test('a catalog that is not JSON is catalog_invalid', async () => {
  await started({ catalog: '{"AgentContexts": ' });
  assert.deepEqual(refusalOf(await rig.post(userTurn())), [500, 'catalog_invalid']);
  assert.deepEqual(rig.model.requests, []);
});

test('a catalog with faults is catalog_invalid and names every one of them', async () => {
  await started({
    catalog: (catalog) => {
      catalog.ConversationContexts.default.AgentContextId = 'missing-context';
      catalog.ConversationContexts.default.Mode = 'missing-mode';
      catalog.Modes[0].Tools.push('missing_tool');
    },
  });
  const got = await rig.post(userTurn());
  const [status, ...codes] = refusalOf(got);
  assert.deepEqual([status, ...new Set(codes)], [500, 'catalog_invalid']);
  for (const name of ['missing-context', 'missing-mode', 'missing_tool']) assert.ok(got.text.includes(name), got.text);
  assert.deepEqual(rig.model.requests, []);
});

test('a wrong catalog stops what would run, and destroys nothing', async () => {
  const right = (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('report', toolUrl));
    catalog.Modes[0].Tools.push('report');
  };
  await started({ catalog: right, vars: { TURN_ALARM_MS: '200' } });
  const Files = [{ Name: 'a.txt', MimeType: 'text/plain', Text: 'kept' }];
  rig.tools.on('/report', JSON.stringify({ Files }));
  rig.model.script(answer(call('report', {})), answer(text('Done.')), answer(call('read_file', { path: 'a' })));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const done = await rig.post(turn);
  const waiting = { SessionId: turn.SessionId, TurnId: 'waiting', Instruction: 'Read.' };
  const { ToolCalls } = resultOf(await rig.post(waiting));
  const other = userTurn({ SessionId: 'interrupted' });
  rig.model.script(silence());
  rig.post(other).catch(() => {});
  await eventually(() => rig.model.requests.length === 4, 'the model is called');

  await rig.restart({ catalog: '{}' });
  const results = ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' }));
  for (const request of [{ ...waiting, Instruction: undefined, ToolResults: results }, userTurn(), other]) {
    assert.deepEqual(refusalOf(await rig.post(request)), [500, 'catalog_invalid']);
  }
  const session = `/sessions/${turn.SessionId}`;
  assert.deepEqual(refusalOf(await rig.request('DELETE', session)), [500, 'catalog_invalid']);
  const again = await rig.post(turn);
  assert.deepEqual([again.text, again.headers.get('idempotent-replayed')], [done.text, 'true']);
  assert.equal((await rig.files()).length, 1);
  assert.equal(resultOf(await rig.get(`${session}/turns/waiting`)).Status, 'awaiting_tools');
  assert.equal(resultOf(await rig.request('POST', `${session}/turns/waiting/cancel`)).Status, 'aborted');
  assert.equal(resultOf(await rig.get('/sessions/interrupted')).LiveTurn.Status, 'running');
  await eventually(() => rig.logs.some((line) => line.includes('"event":"alarm_failed"')), 'the alarm tells what it waits for');

  rig.model.script(answer(text('At last.')));
  await rig.restart({ catalog: right });
  // The alarm resumes the turn; no client has sent a request.
  await eventually(() => rig.model.requests.length === 5, 'it goes on');
  await eventually(async () => resultOf(await rig.get('/sessions/interrupted')).LatestTurn.Status === 'completed', 'it ends');
  assert.equal(resultOf(await rig.request('DELETE', session)).Files, 1);
});
