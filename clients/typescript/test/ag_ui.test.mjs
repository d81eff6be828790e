// The agent of AG-UI with both versions of its client: what a front end shows, is asked and may do.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { Rig, eventually, httpTool } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, commentary, httpError, reasoning, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix, memoryStore } from '../dist/index.js';
import { FRONT_END, VERSIONS, agentsIn, answerCalls, run, texts, toTheEnd } from './agents.mjs';
import { TURNS, asScripted } from './turns.mjs';
import { sendMail, withApproval } from './approvals.mjs';

const rig = new Rig({
  vars: { DELTA_INTERVAL_MS: '0' },
  catalog: (catalog, urls) => {
    withApproval(catalog, urls);
    catalog.ServerTools.push(httpTool('look', urls.toolUrl));
    catalog.Modes[0].Tools.push('look');
  },
});
let agents;
let folder;
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-ag-ui-'));
  agents = await agentsIn(folder);
  await rig.start();
});
after(async () => {
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
  rig.tools.on('/look', '{"found":1}');
});

let serial = 0;
function newAgent(version, config = {}) {
  const client = new Aptix({ baseUrl: `${rig.url}`, retryDelayMs: 1 });
  return new agents[version]({ client, threadId: `thread-${(serial += 1)}`, ...config });
}
const say = (agent, content, id = `u${(serial += 1)}`) => agent.addMessage({ id, role: 'user', content });

for (const version of Object.keys(VERSIONS)) {
  for (const [name, { final, pauses }] of Object.entries(TURNS)) {
    test(`${version}: ${name}`, async () => {
      rig.model.otherwise(asScripted);
      const agent = newAgent(version);
      say(agent, `<${name}>`);
      assert.equal(await toTheEnd(agent, { tools: FRONT_END }), pauses);
      assert.equal(texts(agent).at(-1), final);
      assert.ok(!texts(agent).some((words) => words.startsWith('I think')), 'what was taken back is gone');
      const ids = agent.messages.map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
    });
  }

  test(`${version}: the request has the front end's tools, context and forwarded members; usage comes back`, async () => {
    rig.model.otherwise(null);
    rig.model.script(answer(text('Hi.')), answer(text('Again.')));
    const agent = newAgent(version);
    say(agent, 'Hello');
    const told = await run(agent, { tools: FRONT_END, context: [{ description: 'The page', value: 'Orders' }], forwardedProps: { SessionId: 'other', ToolChoiceName: 'read' } });
    const [{ body }] = rig.model.requests;
    assert.ok(body.tools.some(({ name }) => name === 'read') && JSON.stringify(body.input).includes('The page:\\nOrders'));
    assert.match(JSON.stringify(body.tool_choice), /read/);
    const { usage } = told.events.at(-1);
    assert.ok(usage[0].totalTokens === usage[0].inputTokens + usage[0].outputTokens);
    say(agent, 'And now without tools');
    await run(agent);
    assert.ok(!(rig.model.requests[1].body.tools ?? []).some(({ name }) => name === 'read'));
  });

  test(`${version}: a file goes with the turn, also where the browser does not know its kind`, async () => {
    rig.model.script(answer(text('Read.')));
    const agent = newAgent(version);
    // As CopilotKit makes it.
    const file = { type: 'document', source: { type: 'data', value: btoa('fn main'), mimeType: '' }, metadata: { filename: 'main.rs' } };
    say(agent, [{ type: 'text', text: 'What is this?' }, file]);
    await run(agent);
    assert.equal(texts(agent).at(-1), 'Read.');
    assert.match(JSON.stringify(rig.model.requests[0].body.input), /fn main/);
  });

  test(`${version}: a call that needs consent is an interrupt; a decision, a refusal and a walk away are its answers`, async () => {
    for (const [entry, expected, calls] of [
      [{ status: 'resolved', payload: { approved: true } }, 'The mail is out.', 1],
      [{ status: 'resolved', payload: { approved: false, reason: 'she is away' } }, 'Not sent.', 0],
      [{ status: 'cancelled' }, 'Not sent.', 0],
    ]) {
      rig.clear();
      rig.tools.on('/send_mail', '{"sent":true}');
      rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text(expected)));
      const agent = newAgent(version);
      say(agent, 'Mail Ann.');
      const paused = await run(agent);
      const [{ id, reason, message, toolCallId, responseSchema }] = paused.events.at(-1).outcome.interrupts;
      assert.deepEqual([reason, message, Object.keys(responseSchema.properties)], ['tool_call', 'It leaves the house.', ['approved', 'reason']]);
      const asked = agent.messages.flatMap(({ toolCalls = [] }) => toolCalls).find((each) => each.id === toolCallId);
      assert.deepEqual([asked.function.name, JSON.parse(asked.function.arguments)], ['send_mail', { to: 'Ann' }]);
      const resumed = await run(agent, { resume: [{ interruptId: id, ...entry }] });
      assert.equal(texts(agent).at(-1), expected);
      assert.equal(rig.tools.requests.length, calls);
      assert.deepEqual(resumed.events.filter(({ type }) => type === 'TOOL_CALL_START'), []);
      if (calls > 0) assert.deepEqual(resumed.events.filter(({ type }) => type === 'TOOL_CALL_RESULT').map((each) => [each.toolCallId, each.content]), [[toolCallId, '{"sent":true}']]);
      if (entry.payload?.reason) assert.match(JSON.stringify(rig.model.requests.at(-1).body.input), /she is away/);
    }
  });

  test(`${version}: reasoning stays where text behind it is taken back, also where the thread has reasoning of earlier turns`, async () => {
    const gate = new Gate();
    rig.model.script(
      answer(reasoning('First.'), text('One.')),
      answer(reasoning('Second.'), text('Let me ', gate, 'see.'), call('look')),
      answer(reasoning('Third.'), text('Two.')),
    );
    const agent = newAgent(version);
    say(agent, 'Hello');
    await run(agent);
    say(agent, 'And now?');
    const running = run(agent);
    await eventually(() => texts(agent).at(-1) === 'Let me ', 'it is said');
    gate.open();
    await running;
    const said = agent.messages.filter(({ role, content }) => role !== 'tool' && content).map(({ content }) => content);
    assert.deepEqual(said, ['Hello', 'First.', 'One.', 'And now?', 'Second.', 'Third.', 'Two.']);
  });

  test(`${version}: a front-end tool and a question in one pause are answered together`, async () => {
    rig.tools.on('/send_mail', '{"sent":true}');
    rig.model.script(answer(call('read', { path: 'a' }), sendMail({ to: 'Ann' })), answer(text('Both.')));
    const agent = newAgent(version);
    say(agent, 'Read a, and mail Ann.');
    const called = await run(agent, { tools: FRONT_END });
    const [{ id }] = agent.messages.at(-1).toolCalls;
    // Of the older version a success is the end, to assistant-ui, whatever call has no result.
    assert.deepEqual(called.events.at(-1).outcome, version === '0.0.59' ? undefined : { type: 'success', pendingToolCallIds: [id] });
    agent.addMessage({ id: 't1', role: 'tool', toolCallId: id, content: 'plain words' });
    const paused = await run(agent, { tools: FRONT_END });
    const [interrupt] = paused.events.at(-1).outcome.interrupts;
    await run(agent, { tools: FRONT_END, resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] });
    assert.equal(texts(agent).at(-1), 'Both.');
    assert.deepEqual([rig.tools.requests.length, rig.model.requests.length], [1, 2]);
    assert.match(JSON.stringify(rig.model.requests[1].body.input), /plain words/);
  });

  test(`${version}: who writes on gives a pause up; an aborted run ends its turn; one that was left goes on`, async () => {
    rig.model.script(answer(call('read', { path: 'a' })), answer(text('Other words.')));
    const agent = newAgent(version);
    say(agent, 'Read a.');
    await run(agent, { tools: FRONT_END });
    say(agent, 'Never mind.');
    await run(agent, { tools: FRONT_END });
    assert.equal(texts(agent).at(-1), 'Other words.');
    const session = new Aptix({ baseUrl: `${rig.url}` }).session(agent.threadId);

    const gate = new Gate();
    rig.model.script(answer(text('Half ', gate, 'and whole.')));
    say(agent, 'Slowly.');
    const running = run(agent);
    await eventually(() => texts(agent).at(-1) === 'Half ', 'it runs');
    agent.abortRun();
    const told = await running;
    assert.ok(told.isFinished && !told.failed, `${told.failed}`);
    gate.open();
    await eventually(async () => (await session.get()).LatestTurn.Status === 'aborted', 'the turn is cancelled');

    const slow = new Gate();
    rig.model.script(answer(text('Left ', slow, 'and found.')));
    say(agent, 'Slowly again.');
    const left = run(agent);
    await eventually(() => texts(agent).at(-1) === 'Left ', 'it runs');
    await agent.detachActiveRun();
    await left;
    const reloaded = newAgent(version, { threadId: agent.threadId, initialMessages: agent.messages.slice(0, -1) });
    const connected = run(reloaded, {}, 'connectAgent');
    await eventually(() => texts(reloaded).at(-1) === 'Left ', 'it is watched');
    slow.open();
    assert.ok((await connected).isFinished);
    assert.equal(texts(reloaded).at(-1), 'Left and found.');

    // Whoever leaves at once has said it all the same.
    rig.model.script(answer(text('Heard.')));
    say(agent, 'Before I go.');
    let begun;
    const begins = new Promise((resolve) => (begun = resolve));
    const gone = agent.runAgent({}, { onRunStartedEvent: begun });
    await begins;
    await agent.detachActiveRun();
    await gone;
    await eventually(async () => rig.model.leftovers.length === 0 && (await session.get()).LatestTurn.Status === 'completed', 'the words arrive');
  });

  test(`${version}: a run that comes again goes on with its turn, also where its words were added to the turn`, async () => {
    const slow = new Gate();
    rig.model.script(answer(text('Slow ', slow, 'and whole.')));
    const agent = newAgent(version);
    const { threadId } = agent;
    say(agent, 'Slowly.');
    const asked = [...agent.messages];
    const left = run(agent, { runId: 'again' });
    await eventually(() => texts(agent).at(-1) === 'Slow ', 'it runs');
    await agent.detachActiveRun();
    await left;
    const again = newAgent(version, { threadId, initialMessages: asked });
    const repeated = run(again, { runId: 'again' });
    await eventually(() => texts(again).at(-1) === 'Slow ', 'it is watched');
    slow.open();
    assert.ok((await repeated).isFinished);
    assert.equal(texts(again).at(-1), 'Slow and whole.');

    const gate = new Gate();
    rig.model.script(answer(call('read', { path: 'a' })), answer(text('Both ', gate, 'heard.')));
    say(again, 'Read a.');
    await run(again, { tools: FRONT_END });
    answerCalls(again);
    say(again, 'And be quick.');
    const said = [...again.messages];
    const lost = run(again, { tools: FRONT_END });
    await eventually(() => texts(again).at(-1) === 'Both ', 'it runs');
    await again.detachActiveRun();
    await lost;
    const back = newAgent(version, { threadId, initialMessages: said });
    const found = run(back, { tools: FRONT_END });
    await eventually(() => texts(back).at(-1) === 'Both ', 'it is watched');
    gate.open();
    assert.ok((await found).isFinished);
    const late = newAgent(version, { threadId, initialMessages: said });
    assert.ok((await run(late, { tools: FRONT_END })).isFinished);
    const { TurnCount } = await new Aptix({ baseUrl: `${rig.url}` }).session(threadId).get();
    assert.deepEqual([back, late].map((each) => texts(each).at(-1)), ['Both heard.', 'Both heard.']);
    assert.deepEqual([TurnCount, rig.model.requests.length], [2, 3]);
  });

  test(`${version}: answers that come again once their turn has ended begin no new one`, async () => {
    rig.tools.on('/send_mail', '{"sent":true}');
    rig.model.script(answer(call('read', { path: 'a' })), answer(text('It is read.')), answer(sendMail({ to: 'Ann' })), answer(text('It is sent.')));
    const agent = newAgent(version);
    const { threadId } = agent;
    say(agent, 'Read a.');
    await run(agent, { tools: FRONT_END });
    answerCalls(agent);
    const answered = [...agent.messages];
    await run(agent, { tools: FRONT_END });
    const repeated = newAgent(version, { threadId, initialMessages: answered });
    assert.ok((await run(repeated, { tools: FRONT_END })).isFinished);
    assert.equal(texts(repeated).at(-1), 'It is read.');

    say(agent, 'Mail Ann.');
    const paused = await run(agent, { tools: FRONT_END });
    const [{ id }] = paused.events.at(-1).outcome.interrupts;
    const params = { tools: FRONT_END, resume: [{ interruptId: id, status: 'resolved', payload: { approved: true } }] };
    const asked = [...agent.messages];
    await run(agent, params);
    const decided = newAgent(version, { threadId, initialMessages: asked });
    assert.ok((await run(decided, params)).isFinished);
    assert.equal(texts(decided).at(-1), 'It is sent.');
    const { TurnCount } = await new Aptix({ baseUrl: `${rig.url}` }).session(threadId).get();
    assert.deepEqual([TurnCount, rig.model.requests.length, rig.tools.requests.length], [2, 4, 1]);
  });

  test(`${version}: answers to a turn that was cancelled meanwhile begin no new one`, async () => {
    rig.model.script(answer(call('read', { path: 'a' })), answer(sendMail({ to: 'Ann' })));
    for (const words of ['Read a.', 'Mail Ann.']) {
      const agent = newAgent(version);
      say(agent, words);
      const { events } = await run(agent, { tools: FRONT_END });
      const session = new Aptix({ baseUrl: `${rig.url}` }).session(agent.threadId);
      await session.cancel((await session.get()).LiveTurn.TurnId);
      const [interrupt] = events.at(-1).outcome?.interrupts ?? [];
      if (!interrupt) answerCalls(agent);
      const resume = interrupt && [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }];
      const told = await run(agent, { tools: FRONT_END, ...(resume && { resume }) }).catch((error) => ({ failed: error }));
      assert.ok(told.error?.code === 'turn_aborted' || /cancelled/.test(`${told.failed}`), JSON.stringify(told));
      assert.equal((await session.get()).TurnCount, 1);
    }
    assert.equal(rig.model.requests.length, 2);
  });

  test(`${version}: who walks away from a question and writes on is heard once, also where the run comes again or another page has answered`, async () => {
    rig.tools.on('/send_mail', '{"sent":true}');
    rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Not sent. It is noon.')));
    const agent = newAgent(version);
    const { threadId } = agent;
    const interrupt = async (words) => {
      say(agent, words);
      const { events } = await run(agent);
      return events.at(-1).outcome.interrupts[0].id;
    };
    const walkAway = { resume: [{ interruptId: await interrupt('Mail Ann.'), status: 'cancelled' }] };
    say(agent, 'What time is it?');
    const said = [...agent.messages];
    await run(agent, walkAway);
    const again = newAgent(version, { threadId, initialMessages: said });
    assert.ok((await run(again, walkAway)).isFinished);
    assert.deepEqual([agent, again].map((each) => texts(each).at(-1)), ['Not sent. It is noon.', 'Not sent. It is noon.']);
    const session = new Aptix({ baseUrl: `${rig.url}` }).session(threadId);
    assert.deepEqual([(await session.get()).TurnCount, rig.model.requests.length], [1, 2]);

    const gate = new Gate();
    rig.model.script(answer(sendMail({ to: 'Bob' })), answer(text('It is ', gate, 'out.')), answer(text('It is one.')));
    const interruptId = await interrupt('Mail Bob.');
    const other = newAgent(version, { threadId, initialMessages: [...agent.messages] });
    const elsewhere = run(other, { resume: [{ interruptId, status: 'resolved', payload: { approved: true } }] }).catch(() => {});
    await eventually(() => texts(other).at(-1) === 'It is ', 'it runs');
    say(agent, 'And now?');
    await run(agent, { resume: [{ interruptId, status: 'cancelled' }] });
    gate.open();
    await elsewhere;
    assert.equal(texts(agent).at(-1), 'It is one.');
    assert.match(JSON.stringify(rig.model.requests.at(-1).body.input), /And now\?/);
  });

  test(`${version}: a thread that the service tells has the words of a repeated turn once`, async () => {
    rig.model.script(httpError(401, { message: 'No.' }), answer(text('Two.')), answer(text('One.')));
    const session = new Aptix({ baseUrl: `${rig.url}` }).session(`repeated-${version}`);
    const first = () => session.turn({ Instruction: 'First' }, { turnId: 'first' }).final();
    await assert.rejects(first());
    await session.turn({ Instruction: 'Second' }).final();
    await first();
    const back = newAgent(version, { threadId: session.sessionId });
    await run(back, {}, 'connectAgent');
    assert.deepEqual(back.messages.map(({ content }) => content), ['First', 'One.', 'Second', 'Two.']);
  });

  test(`${version}: a run that is aborted on its way to the service is cancelled once it has arrived`, async () => {
    const asked = [];
    let [arrive, sent] = [];
    const arrives = new Promise((resolve) => (arrive = resolve));
    const isSent = new Promise((resolve) => (sent = resolve));
    const fetch = async (url) => {
      asked.push(new URL(url).pathname.split('/').at(-1));
      if (asked.at(-1) === 'cancel') return Response.json({ Successful: true, Result: { Status: 'aborted' } });
      if (asked.at(-1) !== 'execute') return Response.json({ Successful: false, Errors: [{ ErrorCode: 'session_not_found', Message: 'No.', SystemError: false }] }, { status: 404 });
      sent();
      await arrives;
      return new Response(new ReadableStream(), { headers: { 'Content-Type': 'text/event-stream' } });
    };
    const agent = newAgent(version, { client: new Aptix({ baseUrl: 'http://service.invalid', fetch }) });
    say(agent, 'Never mind.');
    const running = run(agent);
    await isSent;
    agent.abortRun();
    for (let times = 0; times < 5; times += 1) await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual(asked.slice(1), ['execute']);
    arrive();
    assert.ok((await running).isFinished);
    assert.deepEqual(asked.slice(1), ['execute', 'cancel']);
  });

  test(`${version}: a thread that the service tells has what was said before the pause at which it waits`, async () => {
    rig.model.script(answer(text('I read a.'), call('read', { path: 'a' })), answer(text('And b.'), call('read', { path: 'b' })));
    const agent = newAgent(version);
    say(agent, 'Read both.');
    await run(agent, { tools: FRONT_END });
    answerCalls(agent);
    await run(agent, { tools: FRONT_END });
    const back = newAgent(version, { threadId: agent.threadId });
    await run(back, {}, 'connectAgent');
    assert.deepEqual([texts(back), answerCalls(back)], [['I read a.', 'And b.'], 1]);
  });

  test(`${version}: history gives a thread back to a front end without messages, and one that cannot keep or read it ends no run`, async (t) => {
    const warned = t.mock.method(console, 'warn', () => {});
    const whole = memoryStore();
    const full = { get: () => undefined, update: () => { throw new Error('It is full.'); } };
    const shut = { ...full, get: () => { throw new Error('It may not be read.'); } };
    for (const history of [whole, full, shut]) {
      rig.clear();
      rig.model.script(answer(text('One.')), answer(call('read', { path: 'a' })), answer(text('Two.')));
      const agent = newAgent(version, { history });
      for (const words of ['First', 'Second']) {
        say(agent, words);
        await toTheEnd(agent, { tools: FRONT_END });
      }
      const back = newAgent(version, { history, threadId: agent.threadId }).clone();
      assert.ok((await run(back, {}, 'connectAgent')).isFinished);
      // What the page could not keep, the service tells: words without tools.
      const said = back.messages.map(({ role, content }) => [role, content]);
      if (history === whole) assert.deepEqual(back.messages, agent.messages);
      else assert.deepEqual(said, [['user', 'First'], ['assistant', 'One.'], ['user', 'Second'], ['assistant', 'Two.']]);
      say(back, 'Third');
      rig.model.script(answer(text('Three.')));
      await toTheEnd(back);
      if (history !== shut) assert.equal((await history.get(`thread:${agent.threadId}`))?.length, history === full ? undefined : back.messages.length);
    }
    assert.ok(warned.mock.calls.every(({ arguments: [words] }) => /were not kept|could not be read/.test(words)) && warned.mock.callCount() > 0);
  });

  test(`${version}: a thread that the service tells has what its pauses have said, each once`, async () => {
    rig.model.script(
      answer(commentary('Looking.'), text('I read.'), call('read', { path: 'a' })),
      answer(text('Let me see.'), call('look')),
      answer(text('Let me see.'), call('read', { path: 'b' })),
      answer(text('Two'), text('messages.')),
    );
    const agent = newAgent(version);
    say(agent, 'Read both.');
    await toTheEnd(agent, { tools: FRONT_END });
    const back = newAgent(version, { threadId: agent.threadId });
    await run(back, {}, 'connectAgent');
    assert.deepEqual(texts(back), ['Looking.\n\nI read.', 'Let me see.', 'Two\n\nmessages.']);
    assert.deepEqual(texts(back), texts(agent), 'as whoever watched has seen it');
  });

  test(`${version}: a run that is left for another thread is kept in its own, and not in that`, async () => {
    const history = memoryStore();
    const gate = new Gate();
    rig.model.script(answer(text('Half ', gate, 'and whole.')));
    const agent = newAgent(version, { history });
    const [first, second] = [agent.threadId, `${agent.threadId}-next`];
    say(agent, 'Slowly.');
    const running = run(agent);
    await eventually(() => texts(agent).at(-1) === 'Half ', 'it runs');
    // As CopilotKit does where its `threadId` changes.
    const detached = agent.detachActiveRun();
    agent.threadId = second;
    await detached;
    await running;
    gate.open();
    const session = new Aptix({ baseUrl: `${rig.url}` }).session(first);
    await eventually(async () => (await session.get()).LatestTurn.Status === 'completed', 'the turn ends');
    assert.equal(await history.get(`thread:${second}`), undefined);
    assert.deepEqual((await history.get(`thread:${first}`)).map(({ role }) => role), ['user', 'assistant']);
  });

  test(`${version}: a failure is the run's error with its code, and a page that comes back sees what waits`, async () => {
    rig.model.script(httpError(400, { message: 'no', type: 'invalid_request_error' }));
    const agent = newAgent(version);
    say(agent, 'Hello');
    const told = await run(agent).catch((error) => ({ failed: error }));
    assert.ok(told.error?.code === 'upstream_rejected' || /refused/.test(`${told.failed}`), JSON.stringify(told));
    rig.clear();
    rig.model.script(answer(sendMail({ to: 'Ann' })));
    const other = newAgent(version);
    say(other, 'Mail Ann.');
    await run(other);
    const back = newAgent(version, { threadId: other.threadId, initialMessages: other.messages });
    const connected = await run(back, {}, 'connectAgent');
    assert.equal(connected.events.at(-1).outcome.interrupts.length, 1);
    await new Aptix({ baseUrl: `${rig.url}` }).session(other.threadId).refusePending('no').catch(() => {});
    rig.clear();
  });
}
