// Calls of the service's tools that need consent (interface §12): who is asked, what an answer does, and that
// nobody is asked twice.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { answer, text } from '../../../tests/e2e/scripted_model.mjs';
import { memoryStore } from '../dist/index.js';
import { REAL, declared, sendMail, withApproval } from './approvals.mjs';
import { client } from './turns.mjs';

const rig = new Rig({ catalog: withApproval });
before(() => rig.start());
after(() => rig.dispose());
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
});
const ToolsJson = JSON.stringify(declared.map((tool) => ({ type: 'function', ...tool })));
let serial = 0;

/** A turn that wants to send a mail, by a client that decides so; resolves to what the model was told of it. */
async function mailed(onApproval) {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Done.')));
  const session = client(rig.url).session(`approval-${++serial}`);
  await session.turn({ Instruction: 'Mail Ann.', ToolsJson }, { onApproval, ...(!onApproval && { tools: [] }) }).final();
  const posts = rig.tools.requests.filter(({ path }) => path === '/send_mail');
  return { output: rig.model.bodies.at(-1).input[0].output, posts };
}

test('a user is asked with the call, and what is decided happens', async () => {
  const asked = [];
  const agreed = await mailed((request, { toolCallId }) => (asked.push([request, toolCallId]), true));
  const [[{ Name, Arguments, Message, AllowEdit }, toolCallId]] = asked;
  assert.deepEqual([Name, Arguments, Message, AllowEdit], ['send_mail', { to: 'Ann' }, 'It leaves the house.', false]);
  assert.match(agreed.output, REAL ? /"sent":true/ : /"Approved":true/);
  if (REAL) assert.deepEqual(agreed.posts.map(({ body }) => body.Arguments), [{ to: 'Ann' }]);
  if (REAL) assert.match(toolCallId, /^apr_/);

  rig.clear();
  const refused = await mailed(() => ({ Approved: false, Reason: 'wrong recipient' }));
  assert.match(refused.output, /wrong recipient/);
  assert.equal(refused.posts.length, 0);
});

test('where nobody can be asked, or the question fails, the call is refused', async () => {
  for (const onApproval of [undefined, () => Promise.reject(new Error('The window is closed.'))]) {
    const { output, posts } = await mailed(onApproval);
    assert.match(output, /error/);
    assert.equal(posts.length, 0);
    rig.clear();
  }
});

test('a decision outlives a reload; a question that was cut off is asked again', async () => {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Done.')));
  const store = memoryStore();
  const reload = new AbortController();
  let asked = 0;
  const session = () => client(rig.url, { store }).session('reloaded');
  const first = session().turn({ Instruction: 'Mail Ann.', ToolsJson }, {
    signal: reload.signal,
    onApproval: () => ((asked += 1), reload.abort(), new Promise(() => {})),
  });
  await assert.rejects(first.final(), { name: 'AbortError' });
  const second = session().attach(first.turnId, { onApproval: () => (asked += 1) > 0 });
  for await (const { type } of second) if (type === 'tool_results') break;
  await session().attach(first.turnId, { onApproval: () => assert.fail('asked once more') }).final();
  assert.equal(asked, 2);
});
