// The spans of a turn whose instance was lost, as the real runtime tells them to a streaming tail (docs/operations.md,
// Traces).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MODEL, eventually, httpTool, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

// The runtime tells the spans below an alarm until the next alarm rings: the second attempt ends before.
const rig = rigForFile({
  traced: true,
  vars: { TURN_ALARM_MS: '2000' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look_up', toolUrl));
    catalog.Modes[0].Tools.push('look_up');
  },
});

const AGENT = 'invoke_agent default';
const isOurs = ({ name }) => /^(invoke_agent|chat|execute_tool|fetch)\b/.test(name);
const hasEnded = () => rig.spans.named(AGENT).some((span) => span.ended);

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
  await eventually(hasEnded, 'the turn is taken up');
  assert.deepEqual(rig.spans.trees(AGENT, isOurs).at(-1), [AGENT, `  chat ${MODEL}`, '    fetch']);
  const again = rig.spans.named(AGENT).at(-1);
  assert.equal(again.attributes['aptix.turn.attempt'], 2);
  assert.equal(rig.spans.spans.find(({ id }) => id === again.parent).name, '(alarm)');
});
