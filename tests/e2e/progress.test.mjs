// Commentary, progress events and pictures of tools, on the real runtime (interface §2, Delivery; §4).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOKING, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, commentary, httpError, reasoning, text } from './scripted_model.mjs';

const rig = rigForFile(LOOKING);
const PICTURE = [
  { type: 'input_text', text: 'A barn.' },
  { type: 'input_image', image_url: 'data:image/png;base64,iVBORw0KGgo=', detail: 'low' },
];
const progressOf = (stream) => stream.of('progress').map(({ data }) => JSON.parse(data));

test('a stream that asks for it tells what the turn is at, and its text is the answer alone', async () => {
  rig.tools.on('/look', '{"found":"a needle"}');
  rig.model.script(
    httpError(503, { message: 'busy' }, { 'retry-after': '0' }),
    answer(reasoning('**Pl', 'an**'), commentary('Let me ', 'look.'), call('look', {})),
    answer(commentary('One more moment.'), text('Found ', 'it.'), text('In the barn.')),
  );
  const turn = userTurn({ Streaming: true });
  const stream = await (await rig.stream(turn, { route: '/execute?Progress=true' })).end();
  const ServerTool = { Kind: 'server_tool', Name: 'look' };
  assert.deepEqual(
    progressOf(stream).map(({ ToolCallId, ExecutionMs, ...told }) => told),
    [
      { Kind: 'model_call', Iteration: 1 },
      { Kind: 'retry', AfterMs: 0 },
      { Kind: 'reasoning', Text: '**Pl' },
      { Kind: 'reasoning', Text: 'an**' },
      { Kind: 'commentary', Text: 'Let me ' },
      { Kind: 'commentary', Text: 'look.' },
      { ...ServerTool, State: 'started' },
      { ...ServerTool, State: 'finished', Successful: true },
      { Kind: 'model_call', Iteration: 2 },
      { Kind: 'commentary', Text: 'One more moment.' },
    ],
  );
  assert.ok(stream.of('progress').every(({ id }) => id === null));
  const { PrimaryOutputText } = JSON.parse(stream.result).Result;
  assert.equal(PrimaryOutputText, 'Found it.\n\nIn the barn.');
  assert.equal(stream.keptText, PrimaryOutputText);

  const route = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream?Progress=`;
  const again = await (await rig.stream(undefined, { method: 'GET', route: `${route}true` })).end();
  assert.deepEqual([progressOf(again), again.keptText], [[], PrimaryOutputText]);
  assert.deepEqual(refusalOf(await rig.get(`${route}yes`)), [400, 'invalid_field']);
});

test('pictures of the server and of the client reach the model as pictures', async () => {
  rig.tools.on('/look', JSON.stringify(PICTURE));
  rig.model.script(answer(call('look', {}), call('show', {})), answer(text('A barn.')));
  const turn = userTurn({ ToolsJson: JSON.stringify([clientTool('show')]) });
  const [{ ToolCallId }] = resultOf(await rig.post(turn)).ToolCalls;
  const { SessionId, TurnId } = turn;
  const ToolResults = [{ ToolCallId, ExecutionMs: 1, ResultJson: JSON.stringify(PICTURE) }];
  assert.equal(resultOf(await rig.post({ SessionId, TurnId, ToolResults })).PrimaryOutputText, 'A barn.');
  assert.deepEqual(rig.model.bodies[1].input.map(({ output }) => output), [PICTURE, PICTURE]);
});
