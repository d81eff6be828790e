// Tools that the model service runs by itself: what they find is cited, what they draw is a file (interface §4, §8).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, cited, hosted, reasoning, text } from './scripted_model.mjs';

const HostedTools = [{ type: 'web_search', search_context_size: 'low' }, { type: 'image_generation' }];
const rig = rigForFile({
  catalog: (catalog) => {
    catalog.Modes[0].HostedTools = HostedTools;
    catalog.AgentContexts.replaying = { ...catalog.AgentContexts.default, Continuation: 'replay' };
    catalog.ConversationContexts.replaying = { ...catalog.ConversationContexts.default, AgentContextId: 'replaying' };
  },
});
const PNG = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=',
  'base64',
);
const SEARCH = hosted({ type: 'web_search_call', action: { type: 'search', query: 'q' } });
const PICTURE = hosted({ type: 'image_generation_call', result: PNG.toString('base64'), output_format: 'png' });
const page = (url, title) => ({ type: 'url_citation', url, title, start_index: 0, end_index: 1 });

test('pages that a text cites and does not name follow it, and the stream of it only grows', async () => {
  const found = cited('See https://a.example/x.', [page('https://a.example/x', 'A'), page('https://b.example/y', 'B')]);
  const expected = 'See https://a.example/x.\n\nSources:\n\n- [B](https://b.example/y)';
  const turn = userTurn({ Streaming: true });
  rig.model.script(answer(reasoning('Hm.'), SEARCH, found));
  const stream = await (await rig.stream(turn)).end();
  assert.deepEqual([stream.text, stream.of('output_text.discard')], [expected, []]);
  assert.equal(JSON.parse(stream.result).Result.PrimaryOutputText, expected);
  assert.deepEqual(rig.model.bodies[0].tools.slice(-2), HostedTools);
  const { ModelCalls } = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`));
  assert.deepEqual(ModelCalls[0].HostedCalls, [{ Type: 'web_search_call', Status: 'completed' }]);
});

test('a picture is a file of the turn, and goes back to the service that keeps nothing', async () => {
  const turn = userTurn({ AgentContextId: 'replaying', ConversationContextId: 'replaying' });
  rig.model.script(answer(SEARCH, PICTURE, text('A dot.')), answer(text('Gladly.')));
  const { Files: [file] } = resultOf(await rig.post(turn));
  assert.deepEqual([file.Name, file.MimeType, file.SizeBytes], ['picture_1.png', 'image/png', PNG.length]);
  const { pathname, search: query } = new URL(file.Url);
  assert.equal((await rig.get(pathname + query)).headers.get('content-type'), 'image/png');
  resultOf(await rig.post({ SessionId: turn.SessionId, TurnId: 'next', Instruction: 'Thanks.' }));
  const [, body] = rig.model.bodies;
  const hostedItems = body.input.filter(({ type }) => type?.endsWith('_call'));
  assert.deepEqual(hostedItems.map(({ type, result }) => [type, result]), [
    ['web_search_call', undefined],
    ['image_generation_call', PNG.toString('base64')],
  ]);
});
