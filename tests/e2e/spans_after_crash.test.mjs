// The spans of a turn whose instance was lost, as the real runtime tells them to a streaming tail (docs/operations.md,
// Traces).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MODEL, eventually, httpTool, resultOf, rigForFile, userTurn } from './harness.mjs';
import { isOurs } from '../fakes/span_listener.mjs';
import { Gate, USAGE, answer, call, text } from './scripted_model.mjs';

// The runtime tells the spans below an alarm until the next alarm rings: the second attempt ends before.
// And a request that takes a turn up comes before the alarm, with the start of a Worker before it.
const rig = rigForFile({
  traced: true,
  metered: true,
  vars: { TURN_ALARM_MS: '4000' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look_up', toolUrl));
    catalog.Modes[0].Tools.push('look_up');
    catalog.AgentContexts.lasting = { ...catalog.AgentContexts.default, Background: 'Always' };
    catalog.ConversationContexts.lasting = { ...catalog.ConversationContexts.default, AgentContextId: 'lasting' };
  },
});

const AGENT = 'invoke_agent default';
const LASTING = 'invoke_agent lasting';
const CHAT = `chat ${MODEL}`;
const ended = (agent) => rig.spans.named(agent).filter((span) => span.ended);
const parentOf = ({ parent }) => rig.spans.spans.find(({ id }) => id === parent).name;

test('a turn that lost its instance has a whole tree for its second attempt', async () => {
  rig.tools.on('/look_up', '{"found":1}');
  rig.model.script(
    answer(call('look_up', { q: 'x' })),
    answer(text('Never heard.')).with({ silentAfter: 1 }),
    answer(text('Taken up.')),
  );
  const lost = rig.post(userTurn()).catch(() => {});
  await eventually(() => rig.model.requests.length === 2, 'the model is asked again');
  await rig.crash();
  await lost;
  // The crash has lost the end of the first attempt's span, and nothing else.
  await eventually(() => ended(AGENT).length > 0, 'the turn is taken up');
  assert.deepEqual(rig.spans.trees(AGENT, isOurs).at(-1), [AGENT, `  ${CHAT}`, '    fetch']);
  const again = rig.spans.named(AGENT).at(-1);
  assert.equal(again.attributes['aptix.turn.attempt'], 2);
  assert.equal(parentOf(again), '(alarm)');
});

/** A turn that loses its instance while a background response is written, and is taken up; resolves to its new spans. */
async function resumed({ refusesStreams, byRequest }) {
  const gate = new Gate();
  rig.model.script(answer(text('The ', 'answer ', gate, 'takes ', 'its ', 'time.')));
  const turn = userTurn({ ConversationContextId: 'lasting', Streaming: true });
  const stream = await rig.stream(turn);
  await stream.until(() => stream.text === 'The answer ', 'the text begins');
  await rig.crash();
  rig.spans.clear();
  rig.model.refuseReads = refusesStreams ? 503 : null;
  const again = byRequest ? rig.post({ ...turn, Streaming: false }) : null;
  await eventually(() => rig.model.reads.length === 1, 'the response is read on');
  rig.model.refuseReads = null;
  gate.open();
  await again;
  await eventually(() => ended(LASTING).length === 1, 'the turn is taken up');
  const view = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`));
  assert.equal(view.Outcome.Result.PrimaryOutputText, 'The answer takes its time.');
  return turn;
}

for (const byRequest of [false, true]) {
  test(`a background response is read on below the ${byRequest ? 'request' : 'alarm'} that takes its turn up`, async () => {
    const { SessionId, TurnId } = await resumed({ byRequest });
    assert.deepEqual(rig.spans.trees(LASTING, isOurs), [[LASTING, `  ${CHAT}`, '    fetch']]);
    const [agent] = rig.spans.named(LASTING);
    assert.equal(parentOf(agent), byRequest ? '(fetch)' : '(alarm)');
    assert.equal(agent.attributes['gen_ai.request.model'], MODEL);
    const trace = resultOf(await rig.get(`/sessions/${SessionId}/turns/${TurnId}/trace`));
    const [{ attributes }] = rig.spans.named(CHAT);
    const { 'aptix.upstream_request_id': _id, 'gen_ai.response.model': _model, 'gen_ai.conversation.id': conversation, ...rest } = attributes;
    assert.equal(conversation, agent.attributes['gen_ai.conversation.id']);
    const { hostname, port } = new URL(rig.model.url);
    assert.deepEqual(rest, {
      'gen_ai.operation.name': 'chat',
      'gen_ai.provider.name': hostname,
      'gen_ai.request.model': MODEL,
      'gen_ai.request.stream': true,
      'gen_ai.response.id': trace.ModelCalls[0].ResponseId,
      'gen_ai.response.finish_reasons': 'stop',
      'gen_ai.usage.input_tokens': USAGE.input_tokens,
      'gen_ai.usage.output_tokens': USAGE.output_tokens,
      'gen_ai.usage.cache_read.input_tokens': USAGE.input_tokens_details.cached_tokens,
      'gen_ai.usage.reasoning.output_tokens': USAGE.output_tokens_details.reasoning_tokens,
      'openai.api.type': 'responses',
      'server.address': hostname,
      'server.port': Number(port),
      'aptix.attempts': 1,
      'aptix.resumed': 1,
    });
  });
}

test('every request for a response that is read on stands below its one call', async () => {
  await resumed({ refusesStreams: true, byRequest: true });
  assert.deepEqual(rig.spans.trees(LASTING, isOurs), [[LASTING, `  ${CHAT}`, '    fetch', '    fetch']]);
  const [{ attributes }] = rig.spans.named(CHAT);
  assert.deepEqual([attributes['aptix.resumed'], attributes['error.type']], [2, undefined]);
});

test('equal turns that are taken up have equal trees', async () => {
  const told = [];
  for (let round = 0; round < 2; round += 1) {
    await resumed({ byRequest: true });
    told.push(rig.spans.named(CHAT).concat(rig.spans.named(LASTING)).map(({ name, attributes }) => {
      const { 'gen_ai.response.id': _response, 'gen_ai.conversation.id': _conversation, 'aptix.upstream_request_id': _request, ...rest } = attributes;
      return [name, rest];
    }));
  }
  assert.deepEqual(told[0], told[1]);
});
