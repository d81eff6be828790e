// Calls of the service's tools that need consent (interface §12): who is asked, what an answer does, and that
// nobody is asked twice.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { formatJson, memoryStore } from '../dist/index.js';
import { sendMail, withApproval } from './approvals.mjs';
import { client } from './turns.mjs';

const rig = new Rig({ catalog: withApproval });
before(() => rig.start());
after(() => rig.dispose());
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
});
let serial = 0;

/** A turn that wants to send a mail, by a client that decides so; resolves to what the model was told of it. */
async function mailed(onApproval) {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Done.')));
  const session = client(rig.url).session(`approval-${++serial}`);
  await session.turn({ Instruction: 'Mail Ann.' }, { onApproval, ...(!onApproval && { tools: [] }) }).final();
  const posts = rig.tools.requests.filter(({ path }) => path === '/send_mail');
  return { output: rig.model.bodies.at(-1).input[0].output, posts };
}

test('a user is asked with the call, and what is decided happens', async () => {
  const asked = [];
  const agreed = await mailed((request, { toolCallId }) => (asked.push([request, toolCallId]), true));
  const [[{ Name, Arguments, Message, AllowEdit }, toolCallId]] = asked;
  assert.deepEqual([Name, Arguments, Message, AllowEdit], ['send_mail', { to: 'Ann' }, 'It leaves the house.', false]);
  assert.match(agreed.output, /"sent":true/);
  assert.deepEqual(agreed.posts.map(({ body }) => body.Arguments), [{ to: 'Ann' }]);
  assert.match(toolCallId, /^apr_/);

  rig.clear();
  const refused = await mailed(() => ({ Approved: false, Reason: 'wrong recipient' }));
  assert.match(refused.output, /wrong recipient/);
  assert.equal(refused.posts.length, 0);
});

/** As a model may write them: read and written again, they are others. */
const WRITTEN = '{"to":"Ann", "amount":1.10,"limit":1e2,"memo":"rent"}';

/** What the tool was sent, as text, and how often; `decide` answers the question. */
async function ran(tool, decide) {
  rig.clear();
  rig.tools.on(`/${tool}`, '{"done":true}');
  rig.model.script(answer(call(tool, [WRITTEN])), answer(text('Done.')));
  const session = client(rig.url).session(`approval-${++serial}`);
  await session.turn({ Instruction: 'Pay.' }, { onApproval: decide }).final();
  return rig.tools.requests.map((request) => /"Arguments":(.*),"SessionId"/s.exec(request.text)?.[1]);
}

test('whoever decides has the text that runs, and what is no edit sends no arguments', async () => {
  const noEdits = [
    () => true,
    ({ Arguments }) => ({ Approved: true, Arguments }),
    ({ Arguments }) => ({ Approved: true, Arguments: structuredClone(Arguments) }),
    ({ ArgumentsJson }) => ({ Approved: true, ArgumentsJson }),
    ({ ArgumentsJson }) => ({ Approved: true, ArgumentsJson: formatJson(ArgumentsJson) }),
  ];
  for (const decide of noEdits) {
    // Arguments are refused where the tool permits no edit.
    for (const tool of ['send_mail', 'pay']) {
      const seen = [];
      const sent = await ran(tool, (request, { argumentsJson }) => (seen.push(request.ArgumentsJson, argumentsJson), decide(request)));
      assert.deepEqual([sent, seen], [[WRITTEN], [WRITTEN, WRITTEN]]);
    }
  }
});

test('an edit as text changes nothing besides, one as an object is sent, and a text that is no JSON refuses the call', async () => {
  const edited = WRITTEN.replace('rent', 'March');
  assert.deepEqual(await ran('pay', () => ({ Approved: true, ArgumentsJson: edited })), [edited]);
  const changed = '{"to":"Bob","amount":1.1,"limit":100,"memo":"rent"}';
  assert.deepEqual(await ran('pay', ({ Arguments }) => ({ Approved: true, Arguments: { ...Arguments, to: 'Bob' } })), [changed]);
  const inPlace = ({ Arguments }) => ((Arguments.to = 'Bob'), { Approved: true, Arguments });
  assert.deepEqual(await ran('pay', inPlace), [changed]);
  for (const wrong of ['{"to":', '{} , "Approved":false', '']) {
    assert.deepEqual(await ran('pay', () => ({ Approved: true, ArgumentsJson: wrong })), []);
    assert.match(rig.model.bodies.at(-1).input[0].output, /The user refused this call/);
  }
});

test('whoever gives a decision that the service refuses is asked again and told why, and a program that repeats it has the error', async () => {
  const twice = '{"to":"Ann","to":"Bob"}';
  const told = [];
  const sent = await ran('pay', ({ Refusal }) => (told.push(Refusal), Refusal ? true : { Approved: true, ArgumentsJson: twice }));
  assert.deepEqual([sent, told.length, told[0]], [[WRITTEN], 2, undefined]);
  assert.match(told[1], /twice/);

  // Neither the same client nor another one over the same store sends it again.
  const store = memoryStore();
  rig.model.script(answer(call('pay', [WRITTEN])), answer(text('Done.')));
  const session = () => client(rig.url, { store }).session('refused-twice');
  const turn = session().turn({ Instruction: 'Pay.' }, { onApproval: () => ({ Approved: true, ArgumentsJson: twice }) });
  await assert.rejects(turn.final(), { code: 'invalid_field' });
  let asked = 0;
  await session().attach(turn.turnId, { onApproval: () => (asked += 1) > 0 }).final();
  assert.equal(asked, 1);
});

test('who decides otherwise each time is asked as often as a turn may pause', async () => {
  rig.tools.on('/pay', '{"done":true}');
  rig.model.script(answer(call('pay', [WRITTEN])), answer(text('Done.')));
  const session = client(rig.url).session('refused-each-time');
  let asked = 0;
  const otherwise = () => (assert.ok(asked < 9, 'asked without end'), { Approved: true, ArgumentsJson: `{"to":"Ann","to":"${(asked += 1)}"}` });
  const turn = session.turn({ Instruction: 'Pay.' }, { onApproval: otherwise, maxPauses: 3 });
  await assert.rejects(turn.final(), { code: 'invalid_field' });
  assert.equal(asked, 3);
  await session.attach(turn.turnId, { onApproval: () => true }).final();
});

test('where two watch a turn, one question is asked again for both when the service refuses its answer', async () => {
  rig.tools.on('/pay', '{"done":true}');
  rig.model.script(answer(call('pay', [WRITTEN])), answer(text('Done.')));
  const [asked, joined, askedAgain, looked] = [new Gate(), new Gate(), new Gate(), new Gate()];
  let refusals = 0;
  let isLate = false;
  /** The second to be refused hears of it while the first one's human is being asked. */
  const late = async (url, init, next) => {
    const response = await next(url, init);
    if (response.status === 400 && (refusals += 1) === 2) {
      await askedAgain.opened;
      isLate = true;
    }
    return response;
  };
  const { get, update } = memoryStore();
  const store = { get: (key) => (isLate && setImmediate(() => looked.open()), get(key)), update };
  const told = [];
  const onApproval = async ({ Refusal }) => {
    asked.open();
    if (told.push(Refusal) === 1) return joined.opened.then(() => ({ Approved: true, ArgumentsJson: '{"to":"Ann","to":"Bob"}' }));
    askedAgain.open();
    return looked.opened.then(() => true);
  };
  const session = client(rig.url, { store, middleware: [late] }).session('watched-twice');
  const first = session.turn({ Instruction: 'Pay.' }, { onApproval });
  const one = first.final();
  await asked.opened;
  const second = session.attach(first.turnId, { onApproval }).on('tool_calls', () => joined.open());
  const ends = await Promise.all([one, second.final()]);
  assert.deepEqual(ends.map(({ PrimaryOutputText }) => PrimaryOutputText), ['Done.', 'Done.']);
  assert.deepEqual([refusals, told.length, /twice/.test(told[1])], [2, 2, true]);
});

test('a tool of the client has its arguments as the model wrote them', async () => {
  const written = '{"id":12345678901234567890, "most":1e400,"name":"\u0041"}';
  rig.model.script(answer(call('look_up', [written])), answer(text('Done.')));
  const given = [];
  const look = { name: 'look_up', parameters: { type: 'object' }, run: ({ name }, { argumentsJson, toolCallId }) => void given.push(name, argumentsJson, typeof toolCallId) };
  await client(rig.url).session(`approval-${++serial}`).turn({ Instruction: 'Look.' }, { tools: [look] }).final();
  assert.deepEqual(given, ['A', written, 'string']);
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
  const first = session().turn({ Instruction: 'Mail Ann.' }, {
    signal: reload.signal,
    onApproval: () => ((asked += 1), reload.abort(), new Promise(() => {})),
  });
  await assert.rejects(first.final(), { name: 'AbortError' });
  const second = session().attach(first.turnId, { onApproval: () => (asked += 1) > 0 });
  for await (const { type } of second) if (type === 'tool_results') break;
  await session().attach(first.turnId, { onApproval: () => assert.fail('asked once more') }).final();
  assert.equal(asked, 2);
});
