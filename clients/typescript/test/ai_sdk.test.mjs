// The chat transport in the AI SDK itself: `AbstractChat` is the whole of `useChat` without React. Each test runs with
// version 7, and with version 6, which cannot take text back.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as ai6 from 'ai6';
import * as ai7 from 'ai';
import { eventually, httpTool } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, commentary, httpError, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';
import { sendMail, withApproval } from './approvals.mjs';
import { rigBehindProxy } from './behind_proxy.mjs';
import { chatAt, done, shape } from './chats.mjs';

const { rig, proxy } = rigBehindProxy({
  vars: { DELTA_INTERVAL_MS: '0' },
  catalog: (catalog, services) => {
    catalog.ServerTools.push(httpTool('look', services.toolUrl));
    catalog.Modes[0].Tools.push('look');
    withApproval(catalog, services);
  },
});
const said = (...items) => rig.model.script(answer(...items));

const newChat = (ai, options) => chatAt(rig.url, ai, options);
const ids = (chat) => chat.messages.map(({ id }) => id);

/** A chat that adds words, its session, and a turn that writes until the gate opens; to what is added the answer is short. */
async function longAnswer(ai) {
  const gate = new Gate();
  said(text('The long ', gate, 'answer.'));
  said(text('Short.'));
  const chat = newChat(ai, { transport: { steer: 'add' } });
  const first = chat.sendMessage({ text: 'Long.' });
  await eventually(() => rig.model.requests.length === 1, 'it runs');
  return { gate, chat, first, session: new Aptix({ baseUrl: `${rig.url}` }).session(chat.id) };
}

for (const [version, ai] of [['7', ai7], ['6', ai6]]) {
  test(`AI SDK ${version}: text, with what was taken back, and what the answer cost`, async () => {
    const chat = newChat(ai);
    rig.tools.on('/look', '{"found":1}');
    said(text('I think…'), call('look', { q: 'x' }));
    said(text('It ', 'is 42.'));
    await chat.sendMessage({ text: 'What is it?' });
    const [user, given] = chat.messages;
    assert.equal(chat.error, undefined);
    assert.equal(given.id, `answer:${user.id}`);
    assert.deepEqual(shape(given).filter((part) => part !== '|'), ['look:output-available', 'It is 42.']);
    const [tool] = given.parts.filter(({ type }) => type === 'dynamic-tool');
    assert.deepEqual(tool.output, { found: 1 });
    assert.equal(given.metadata.Usage.TotalTokens, 240);
    said(text('Hello again.'));
    await chat.sendMessage({ text: 'And now?' });
    assert.deepEqual(shape(chat.messages[3]), ['|', 'Hello again.']);
    assert.equal((await new Aptix({ baseUrl: `${rig.url}` }).session(chat.id).get()).TurnCount, 2);
  });

  test(`AI SDK ${version}: a round trip to tools of the page, in one message`, async () => {
    const chat = newChat(ai);
    said(text('I look.'), call('read', { path: 'a' }), call('read', { path: 'b' }));
    said(text('Both read.'));
    await chat.sendMessage({ text: 'Read a and b.' });
    await done(chat);
    assert.equal(chat.error, undefined);
    assert.deepEqual(shape(chat.messages[1]), ['|', 'I look.', '|', 'read:output-available', 'read:output-available', '|', 'Both read.']);
    assert.deepEqual(rig.model.bodies[1].input.map(({ output }) => output), ['{"contents":"a"}', '{"contents":"b"}']);
    assert.equal(chat.messages.length, 2);
  });

  test(`AI SDK ${version}: a call that needs consent, given and refused`, async () => {
    for (const approved of [true, false]) {
      const chat = newChat(ai);
      rig.tools.on('/send_mail', '{"sent":true}');
      said(sendMail({ to: 'Ann' }), call('read', { path: 'a' }));
      said(text(approved ? 'Sent.' : 'Not sent.'));
      await chat.sendMessage({ text: 'Mail Ann.' });
      await eventually(() => shape(chat.messages[1]).includes('read:output-available'), 'the page has run its tool');
      const part = chat.messages[1].parts.find(({ toolName }) => toolName === 'send_mail');
      assert.deepEqual([part.state, part.input], ['approval-requested', { to: 'Ann' }]);
      assert.equal(rig.model.requests.length, 1, 'nothing is sent before the decision');
      await chat.addToolApprovalResponse({ id: part.approval.id, approved, reason: approved ? 'by all means' : 'wrong recipient' });
      await eventually(() => shape(chat.messages[1]).some((said) => /sent\.$/i.test(said)), 'the turn has gone on');
      await done(chat);
      assert.equal(chat.error, undefined);
      const state = chat.messages[1].parts.find(({ toolName }) => toolName === 'send_mail').state;
      const { output } = rig.model.bodies[1].input[0];
      if (!approved) assert.match(output, /wrong recipient/);
      assert.equal(state, approved ? 'output-available' : 'output-denied');
      assert.equal(rig.tools.requests.filter(({ path }) => path === '/send_mail').length, approved ? 1 : 0);
      rig.clear();
    }
  });

  test(`AI SDK ${version}: the error of a tool of the page that was cut within a character is told`, async () => {
    const chat = newChat(ai, { onToolCall: () => {} });
    said(call('read', { path: 'a' }));
    await chat.sendMessage({ text: 'Read a.' });
    said(text('It is not there.'));
    const { toolCallId } = chat.messages[1].parts.find(({ toolName }) => toolName === 'read');
    await chat.addToolOutput({ tool: 'read', toolCallId, state: 'output-error', errorText: 'No \u{1f600}'.slice(0, -1) });
    await eventually(() => shape(chat.messages[1]).includes('It is not there.'), 'the turn has gone on');
    await done(chat);
    assert.equal(chat.error, undefined);
    assert.equal(rig.model.bodies.at(-1).input[0].output, '{"error":"No \ufffd"}');
  });

  test(`AI SDK ${version}: a result of the page that is no JSON is told to the model`, async () => {
    const chat = newChat(ai, { onToolCall: () => {} });
    said(call('read', { path: 'a' }));
    await chat.sendMessage({ text: 'Read a.' });
    said(text('It is none.'));
    const { toolCallId } = chat.messages[1].parts.find(({ toolName }) => toolName === 'read');
    await chat.addToolOutput({ tool: 'read', toolCallId, output: { wei: 10n } });
    await eventually(() => shape(chat.messages[1]).includes('It is none.'), 'the turn has gone on');
    await done(chat);
    assert.equal(chat.error, undefined);
    assert.match(rig.model.bodies.at(-1).input[0].output, /^\{"error":".*BigInt"\}$/);
  });

  test(`AI SDK ${version}: of results of the page that are together too long for a request, the model is told that one is`, async () => {
    const chat = newChat(ai, { onToolCall: () => {} });
    said(call('read', { path: 'a' }), call('read', { path: 'b' }));
    await chat.sendMessage({ text: 'Read a and b.' });
    said(text('One is too long.'));
    const asked = chat.messages[1].parts.filter(({ toolName }) => toolName === 'read');
    for (const { toolCallId } of asked) await chat.addToolOutput({ tool: 'read', toolCallId, output: 'x'.repeat(5_000_000) });
    await eventually(() => shape(chat.messages[1]).includes('One is too long.'), 'the turn has gone on');
    await done(chat);
    assert.equal(chat.error, undefined);
    const outputs = rig.model.bodies.at(-1).input.map(({ output }) => output);
    assert.match(outputs[0], /^"x{1000}/);
    assert.match(outputs[1], /too long/);
  });

  test(`AI SDK ${version}: where another tab has answered first, a page that answers otherwise shows what came of that`, async () => {
    const chat = newChat(ai);
    rig.tools.requests.length = 0;
    rig.tools.on('/send_mail', '{"sent":true}');
    said(sendMail({ to: 'Ann' }));
    const gate = new Gate();
    rig.model.script(answer(text('It is ', gate, 'out.')));
    await chat.sendMessage({ text: 'Mail Ann.' });
    const tab = () => newChat(ai, { id: chat.id, messages: structuredClone(chat.messages) });
    const [running, late] = [tab(), tab()];
    const { approval } = chat.messages[1].parts.find(({ toolName }) => toolName === 'send_mail');
    await chat.addToolApprovalResponse({ id: approval.id, approved: true });
    await eventually(() => rig.model.requests.length === 2, 'the turn has gone on');
    await running.addToolApprovalResponse({ id: approval.id, approved: false });
    await eventually(() => running.status !== 'ready', 'the answer is sent');
    gate.open();
    await done(chat);
    await done(running);
    await late.addToolApprovalResponse({ id: approval.id, approved: false });
    await eventually(() => late.status !== 'ready', 'the answer is sent');
    await done(late);
    for (const each of [chat, running, late]) {
      assert.deepEqual([each.error, shape(each.messages[1]).at(-1)], [undefined, 'It is out.']);
      assert.ok(shape(each.messages[1]).includes('send_mail:output-available'), 'it has run, whatever this page decided');
    }
    assert.equal(rig.tools.requests.length, 1);
  });

  test(`AI SDK ${version}: arguments and results are there as they were written, after a reload too`, async () => {
    const id = '{"id":12345678901234567890,"most":1e400}';
    const mail = '{"to":"Ann", "amount":1.10}';
    rig.tools.on('/look', id);
    rig.tools.on('/send_mail', '{"sent":1.10}');
    const given = [];
    const onToolCall = ({ toolCall }) => void given.push(toolCall.providerMetadata.aptix.argumentsJson);
    const chat = newChat(ai, { onToolCall });
    said(call('look', { q: 'x' }), call('read', [id]), call('send_mail', [mail]));
    await chat.sendMessage({ text: 'Look, read and mail.' });
    const written = (part) => part.callProviderMetadata?.aptix.argumentsJson;
    const partOf = (of, name) => of.messages[1].parts.find(({ toolName }) => toolName === name);
    assert.deepEqual([given, written(partOf(chat, 'read')), written(partOf(chat, 'send_mail'))], [[id], id, mail]);
    const shown = structuredClone(chat.messages);
    const reloaded = newChat(ai, { id: chat.id, messages: shown, transport: { shown: () => shown }, onToolCall: () => {} });
    await reloaded.resumeStream();
    assert.deepEqual([written(partOf(reloaded, 'read')), written(partOf(reloaded, 'send_mail'))], [id, mail]);
    said(text('Done.'));
    await chat.addToolOutput({ tool: 'read', toolCallId: partOf(chat, 'read').toolCallId, output: 1 });
    await chat.addToolApprovalResponse({ id: partOf(chat, 'send_mail').approval.id, approved: true });
    await eventually(() => shape(chat.messages[1]).includes('Done.'), 'the turn has gone on');
    await done(chat);
    assert.equal(partOf(chat, 'look').resultProviderMetadata.aptix.resultJson, id);
    assert.equal(partOf(chat, 'send_mail').resultProviderMetadata.aptix.resultJson, '{"sent":1.10}');
    assert.deepEqual(rig.tools.requests.map((request) => request.body.Arguments), [{ q: 'x' }, { to: 'Ann', amount: 1.1 }]);
    // What stands before a pause that was answered keeps it, too.
    const later = newChat(ai, { id: chat.id, messages: [], transport: { shown: () => [chat.messages[0], { ...chat.messages[1], metadata: {} }] } });
    await later.resumeStream();
    assert.equal(written(later.messages.at(-1).parts.find(({ toolName }) => toolName === 'send_mail')), mail);
  });

  test(`AI SDK ${version}: regenerate, an edited message, a pause that the user writes past`, async () => {
    const chat = newChat(ai, { onToolCall: () => {} });
    said(text('One.'));
    await chat.sendMessage({ text: 'First.' });
    said(text('Another one.'));
    await chat.regenerate();
    assert.deepEqual(chat.messages.map(shape).at(-1), ['|', 'Another one.']);
    said(text('Edited.'));
    await chat.sendMessage({ text: 'First, edited.', messageId: ids(chat)[0] });
    assert.deepEqual([chat.error, shape(chat.messages.at(-1))], [undefined, ['|', 'Edited.']]);

    said(call('read', { path: 'a' }));
    await chat.sendMessage({ text: 'Read a.' });
    assert.deepEqual(shape(chat.messages.at(-1)), ['|', 'read:input-available']);
    said(text('As you like.'));
    await newChat(ai, { id: chat.id, messages: chat.messages.slice(0, 1) }).sendMessage({ text: 'Never mind.' });
    assert.match(rig.model.lastSeen, /Never mind/);
  });

  test(`AI SDK ${version}: a page that is reloaded while a turn runs shows its answer, once`, async () => {
    const gate = new Gate();
    said(text('Half ', gate, 'and whole.'));
    const chat = newChat(ai);
    void chat.sendMessage({ text: 'Slowly.' });
    await eventually(() => rig.model.requests.length === 1, 'it runs');
    const [asked] = structuredClone(chat.messages);
    const reloaded = newChat(ai, { id: chat.id, messages: [asked] });
    const resumed = reloaded.resumeStream();
    gate.open();
    await resumed;
    assert.deepEqual(shape(reloaded.messages[1]), ['|', 'Half and whole.']);
    await done(chat);
    assert.deepEqual(ids(chat), ids(reloaded));
    // What has ended meanwhile is shown as well, in place of what was there.
    await reloaded.resumeStream();
    assert.deepEqual(shape(reloaded.messages[1]), ['|', 'Half and whole.']);
    assert.equal(reloaded.messages.length, 2);
    const whole = newChat(ai, { id: chat.id, messages: structuredClone(chat.messages), transport: { shown: () => chat.messages } });
    assert.equal(await whole.transport.reconnectToStream({ chatId: chat.id }), null, 'what is shown whole is not shown again');
    const nobody = newChat(ai);
    await nobody.resumeStream();
    assert.deepEqual([nobody.status, nobody.messages.length], ['ready', 0]);
  });

  test(`AI SDK ${version}: a page that is reloaded at a pause goes on with its tools`, async () => {
    const chat = newChat(ai, { onToolCall: () => {} });
    said(text('I look.'), call('read', { path: 'a' }));
    await chat.sendMessage({ text: 'Read a.' });
    said(text('Read.'));
    const reloaded = newChat(ai, { id: chat.id, messages: structuredClone(chat.messages.slice(0, 1)) });
    await reloaded.resumeStream();
    await done(reloaded);
    assert.deepEqual(shape(reloaded.messages[1]), ['|', 'I look.', '|', 'read:output-available', '|', 'Read.']);
  });

  test(`AI SDK ${version}: a page that is reloaded after a pause keeps what was before it, and runs no tool again`, async () => {
    const gate = new Gate();
    const chat = newChat(ai);
    said(text('I look.'), call('read', { path: 'a' }));
    said(text('It is ', gate, 'read.'));
    void chat.sendMessage({ text: 'Read a.' });
    await eventually(() => rig.model.requests.length === 2, 'the page has run its tool');
    await eventually(() => shape(chat.messages[1]).includes('read:output-available'), 'and shows it');
    const shown = structuredClone(chat.messages);
    let runs = 0;
    const reloaded = newChat(ai, { id: chat.id, messages: shown, transport: { shown: () => shown }, onToolCall: () => void (runs += 1) });
    const resumed = reloaded.resumeStream();
    gate.open();
    await resumed;
    assert.deepEqual(shape(reloaded.messages[1]), ['|', 'I look.', '|', 'read:output-available', '|', 'It is read.']);
    assert.deepEqual([runs, reloaded.messages.length, reloaded.error], [0, 2, undefined]);
    await done(chat);
  });

  test(`AI SDK ${version}: a page that is reloaded behind a tool of the service keeps it, and is told what it gave`, async () => {
    const gate = new Gate();
    const chat = newChat(ai);
    rig.tools.on('/look', '{"found":1}');
    said(text('I think…'), call('look', { q: 'x' }));
    said(text('It is ', gate, '42.'));
    void chat.sendMessage({ text: 'What is it?' });
    await eventually(() => rig.model.requests.length === 2, 'the tool has run');
    await eventually(() => chat.messages[1] && shape(chat.messages[1]).includes('look:output-available'), 'and is shown');
    const shown = structuredClone(chat.messages);
    const reloaded = newChat(ai, { id: chat.id, messages: shown, transport: { shown: () => shown } });
    const resumed = reloaded.resumeStream();
    gate.open();
    await resumed;
    await done(chat);
    for (const each of [chat, reloaded]) {
      assert.deepEqual(shape(each.messages[1]).filter((part) => part !== '|'), ['look:output-available', 'It is 42.']);
      assert.deepEqual(each.messages[1].parts.find(({ toolName }) => toolName === 'look').output, { found: 1 });
    }
  });

  test(`AI SDK ${version}: a lost connection is one that can be resumed, a failure keeps its code`, async () => {
    const chat = newChat(ai, { client: { baseUrl: proxy.url, maxReconnects: 0 } });
    proxy.fault = () => ({ cutAfter: 100, cut: 'reset' });
    said(text('One ', 'two.'));
    let finished;
    chat.onFinish = (event) => (finished = event);
    await chat.sendMessage({ text: 'x' });
    assert.deepEqual([chat.status, chat.error.message, chat.error.cause.code], ['error', 'network error', 'connection_lost']);
    proxy.fault = () => undefined;
    await chat.resumeStream();
    assert.deepEqual([chat.status, shape(chat.messages[1])], ['ready', ['|', 'One two.']]);
    void finished;

    rig.model.script(httpError(401, { message: 'No.', code: 'invalid_api_key' }));
    await chat.sendMessage({ text: 'y' });
    assert.deepEqual([chat.status, chat.error.code, chat.error.whoActs], ['error', 'upstream_rejected', 'operator']);
  });

  test(`AI SDK ${version}: stop ends the watching; with cancelOnStop, or by cancel, the turn`, async () => {
    const session = (chat) => new Aptix({ baseUrl: `${rig.url}` }).session(chat.id);
    for (const cancelOnStop of [false, true]) {
      const gate = new Gate();
      said(text('One ', gate, 'two.'));
      const chat = newChat(ai, { transport: { cancelOnStop } });
      const sent = chat.sendMessage({ text: 'x' });
      await eventually(() => rig.model.requests.length === 1, 'it runs');
      await eventually(async () => (await session(chat).get().catch(() => ({}))).LiveTurn, 'the turn is there');
      await chat.stop();
      await sent;
      if (cancelOnStop) await eventually(async () => !(await session(chat).get()).LiveTurn, 'the turn is cancelled');
      assert.equal((await session(chat).get()).LatestTurn.Status, cancelOnStop ? 'aborted' : 'running');
      if (!cancelOnStop) await chat.transport.cancel(chat.id);
      assert.equal((await session(chat).get()).LatestTurn.Status, 'aborted');
      gate.open();
      rig.model.clear();
    }
    // Whoever writes on has given up what was stopped.
    const gate = new Gate();
    said(text('One ', gate, 'two.'));
    const chat = newChat(ai);
    const sent = chat.sendMessage({ text: 'x' });
    await eventually(() => rig.model.requests.length === 1, 'it runs');
    await chat.stop();
    await sent;
    said(text('Something else.'));
    await chat.sendMessage({ text: 'y' });
    assert.deepEqual([chat.error, shape(chat.messages.at(-1))], [undefined, ['|', 'Something else.']]);
    gate.open();
  });

  test(`AI SDK ${version}: what is typed during a run is added to it, and the rest of the turn is the message behind it`, async () => {
    for (const steer of ['add', 'interrupt']) {
      const gate = new Gate();
      said(text('I look.'), call('look', { q: 'x' }));
      said(text('The long ', gate, 'answer.'));
      said(text('I read.'), call('read', { path: 'a' }));
      said(text('Short.'));
      rig.tools.on('/look', '{"found":1}');
      const chat = newChat(ai, { transport: { steer } });
      const first = chat.sendMessage({ text: 'Long.' });
      await eventually(() => rig.model.requests.length === 2, 'it writes its answer');
      const second = chat.sendMessage({ text: 'Shorter.' });
      const session = new Aptix({ baseUrl: `${rig.url}` }).session(chat.id);
      await eventually(async () => (await session.getTurn(ids(chat)[0])).Steers?.length === 1, 'the words are accepted');
      gate.open();
      await Promise.all([first, second]);
      await eventually(() => shape(chat.messages.at(-1)).includes('Short.'), 'the page has run its tool, and the turn has gone on');
      await done(chat);
      assert.equal(chat.error, undefined);
      assert.deepEqual(chat.messages.map(({ role }) => role), ['user', 'assistant', 'user', 'assistant']);
      assert.ok(!shape(chat.messages[1]).some((each) => each.includes('The long')), `${shape(chat.messages[1])}`);
      assert.ok(shape(chat.messages[1]).some((each) => each.startsWith('look:')), `${shape(chat.messages[1])}`);
      assert.deepEqual(shape(chat.messages[3]), ['|', 'I read.', '|', 'read:output-available', '|', 'Short.']);
      assert.equal((await Array.fromAsync(session.turns())).length, 1);
      // A page that is reloaded shows the last message anew, and no other.
      const reloaded = newChat(ai, { id: chat.id, messages: structuredClone(chat.messages), transport: { steer } });
      await reloaded.resumeStream();
      assert.deepEqual([ids(reloaded), shape(reloaded.messages[3]).at(-1)], [ids(chat), 'Short.']);
      rig.clear();
    }
  });

  test(`AI SDK ${version}: two additions at once, one that comes too late, and one to a turn that another page watches`, async () => {
    const { gate, chat, first, session } = await longAnswer(ai);
    const sent = [first, chat.sendMessage({ text: 'Shorter.' }), chat.sendMessage({ text: 'In French.' })];
    await eventually(async () => (await session.getTurn(ids(chat)[0])).Steers?.length === 2, 'the words are accepted');
    gate.open();
    await Promise.all(sent);
    assert.deepEqual([chat.error, chat.status, shape(chat.messages.at(-1))], [undefined, 'ready', ['|', 'Short.']]);
    assert.equal(chat.messages.filter((message) => shape(message).includes('Short.')).length, 1);

    said(text('A turn of its own.'));
    await chat.sendMessage({ text: 'Late.' });
    assert.deepEqual(shape(chat.messages.at(-1)), ['|', 'A turn of its own.']);
    assert.equal((await Array.fromAsync(session.turns())).length, 2);

    const slow = new Gate();
    said(text('The long ', slow, 'answer.'));
    said(text('Heard.'));
    const begun = chat.sendMessage({ text: 'Long.' });
    await eventually(() => rig.model.requests.length === 4, 'it runs');
    const other = newChat(ai, { id: chat.id, messages: structuredClone(chat.messages.filter(({ role }) => role === 'user')), transport: { steer: 'add' } });
    const added = other.sendMessage({ text: 'From elsewhere.' });
    await eventually(async () => (await session.getTurn(chat.messages.at(-1).role === 'user' ? ids(chat).at(-1) : ids(chat).at(-2))).Steers?.length === 1, 'the words are accepted');
    slow.open();
    await Promise.all([begun, added]);
    assert.deepEqual([other.error, shape(other.messages.at(-1)).at(-1)], [undefined, 'Heard.']);
    assert.equal((await Array.fromAsync(session.turns())).length, 3);
  });

  test(`AI SDK ${version}: words that were added to a turn, which nobody has heard of, are sent again and said once; edited ones are a turn`, async () => {
    const { gate, chat, first, session } = await longAnswer(ai);
    const [asked] = structuredClone(chat.messages);
    await session.attach(asked.id).steer('Shorter.', { steerId: 'added' });
    gate.open();
    await first;
    const added = { id: 'added', role: 'user', parts: [{ type: 'text', text: 'Shorter.' }] };
    const page = newChat(ai, { id: chat.id, messages: [asked, added], transport: { steer: 'add' } });
    await page.sendMessage();
    assert.deepEqual([page.error, page.messages.length, shape(page.messages.at(-1)).at(-1)], [undefined, 3, 'Short.']);
    assert.equal((await Array.fromAsync(session.turns())).length, 1);
    said(text('Long again.'));
    await page.sendMessage({ text: 'Longer.', messageId: 'added' });
    assert.deepEqual([page.error, shape(page.messages.at(-1)).at(-1)], [undefined, 'Long again.']);
    assert.equal((await Array.fromAsync(session.turns())).length, 2);
  });

  test(`AI SDK ${version}: stop after an addition ends the watching of both, and the page is reloaded in between`, async () => {
    const { gate, chat, first, session } = await longAnswer(ai);
    const second = chat.sendMessage({ text: 'Shorter.' });
    await eventually(async () => (await session.getTurn(ids(chat)[0])).Steers?.length === 1, 'the words are accepted');
    await chat.stop();
    await Promise.all([first, second]);
    assert.deepEqual([chat.status, chat.error], ['ready', undefined]);
    const reloaded = newChat(ai, { id: chat.id, messages: structuredClone(chat.messages), transport: { steer: 'add' } });
    const resumed = reloaded.resumeStream();
    gate.open();
    await resumed;
    assert.deepEqual([reloaded.error, shape(reloaded.messages.at(-1))], [undefined, ['|', 'Short.']]);
    assert.equal(reloaded.messages.filter(({ role }) => role === 'user').length, 2);
  });
}

test('files that a tool of the service made are parts of the message', async () => {
  const chat = newChat(ai7);
  rig.tools.on('/look', JSON.stringify({ Files: [{ Name: 'a.csv', MimeType: 'text/csv', Text: 'id;sum\n' }] }));
  said(call('look', { q: 'x' }));
  said(text('Here it is.'));
  await chat.sendMessage({ text: 'Make a table.' });
  const file = chat.messages[1].parts.find(({ type }) => type === 'file');
  assert.equal(file.mediaType, 'text/csv');
  assert.equal(await (await fetch(file.url)).text(), 'id;sum\n');
});

test('commentary is told as reasoning, files of a message go with the turn, and its body does too', async () => {
  const chat = newChat(ai7, { transport: { request: () => ({ Repo: 'r' }) } });
  said(commentary('Let me see.'), call('read', { path: 'a' }));
  said(text('A picture.'));
  const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const files = [
    { type: 'file', mediaType: 'image', url: `data:image/png;base64,${png}` },
    { type: 'file', mediaType: 'text/plain', filename: 'notes.txt', url: `data:text/plain;base64,${btoa('some notes')}` },
    // As the SDK makes it of a file whose kind the browser does not know.
    { type: 'file', mediaType: '', filename: 'main.rs', url: `data:application/octet-stream;base64,${btoa('fn main')}` },
  ];
  await chat.sendMessage({ text: 'What is this?', files }, { body: { SolutionContextText: 'A house.' } });
  await done(chat);
  assert.equal(chat.error, undefined);
  assert.ok(shape(chat.messages[1]).includes('reasoning'), `${shape(chat.messages[1])}`);
  const seen = JSON.stringify(rig.model.requests[0].conversation);
  for (const words of ['some notes', 'fn main', png, 'A house.']) assert.ok(seen.includes(words), words);
});
