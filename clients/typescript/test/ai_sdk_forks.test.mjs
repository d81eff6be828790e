// A chat that goes on in forks: what is asked anew has no memory of what followed it, and the session before stays whole. In
// the AI SDK itself, versions 7 and 6.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import * as ai6 from 'ai6';
import * as ai7 from 'ai';
import { Rig, eventually } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, httpError, text } from '../../../tests/e2e/scripted_model.mjs';
import { AptixChatTransport, chatHandler } from '../dist/ai-sdk.js';
import { Aptix, memoryStore } from '../dist/index.js';
import { chatAt, done, shape } from './chats.mjs';

const rig = new Rig({
  vars: { DELTA_INTERVAL_MS: '0' },
  catalog: (catalog) => void (catalog.ConversationContexts.brief = { ...catalog.ConversationContexts.default, BootPrompt: 'Be brief.' }),
});
before(() => rig.start());
after(() => rig.dispose());
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
});
const said = (...items) => rig.model.script(answer(...items));
const client = () => new Aptix({ baseUrl: `${rig.url}` });
/** The final texts of a session's turns; of one that was cancelled or waits, its status. */
async function kept(sessionId) {
  const session = client().session(sessionId);
  const turns = [];
  for await (const { TurnId, Status } of session.turns()) turns.push(Status === 'completed' ? (await session.getTurn(TurnId)).Outcome.Result.PrimaryOutputText : Status);
  return turns;
}
const sessionOf = (chat) => chat.messages.at(-1).metadata.SessionId;
const words = (chat) => chat.messages.map((message) => shape(message).filter((part) => part !== '|').join(' '));
/** What the model has been shown by the newest request, as far as it is of the conversation. */
const seen = () => rig.model.lastSeen;

for (const [version, ai] of [['7', ai7], ['6', ai6]]) {
  const newChat = (options = {}) => chatAt(rig.url, ai, { ...options, transport: { forks: memoryStore(), ...options.transport } });
  async function begun(options) {
    const chat = newChat(options);
    for (const each of ['One', 'Two', 'Three']) {
      said(text(`${each}.`));
      await chat.sendMessage({ text: `${each}?` });
    }
    return chat;
  }

  test(`AI SDK ${version}: regenerate and an edited message go on in forks, and what was said stays`, async () => {
    const chat = await begun();
    assert.equal(sessionOf(chat), chat.id);
    said(text('Three anew.'));
    await chat.regenerate();
    assert.equal(chat.error, undefined);
    assert.deepEqual(words(chat), ['One?', 'One.', 'Two?', 'Two.', 'Three?', 'Three anew.']);
    assert.ok(seen().includes('Two.') && !seen().includes('Three.'), 'the model has no memory of the earlier answer');
    const second = sessionOf(chat);
    assert.deepEqual([await kept(chat.id), await kept(second)], [['One.', 'Two.', 'Three.'], ['One.', 'Two.', 'Three anew.']]);

    said(text('Four.'));
    await chat.sendMessage({ text: 'Four?' });
    assert.equal(sessionOf(chat), second, 'the chat goes on in the fork');
    said(text('Two edited.'));
    await chat.sendMessage({ text: 'Two, please?', messageId: chat.messages[2].id });
    assert.deepEqual([chat.error, words(chat)], [undefined, ['One?', 'One.', 'Two, please?', 'Two edited.']]);
    assert.ok(seen().includes('One.') && !seen().includes('Two.') && !seen().includes('Three'));
    const third = sessionOf(chat);
    assert.deepEqual((await client().session(third).get()).Parent.SessionId, second);
    assert.deepEqual([await kept(second), await kept(third)], [['One.', 'Two.', 'Three anew.', 'Four.'], ['One.', 'Two edited.']]);

    said(text('One anew.'));
    await chat.regenerate({ messageId: chat.messages[1].id });
    assert.deepEqual([words(chat), await kept(sessionOf(chat))], [['One?', 'One anew.'], ['One anew.']]);
    assert.ok(![chat.id, second, third].includes(sessionOf(chat)), 'before its first turn a session has no memory: a new one');
    assert.deepEqual([await kept(chat.id), await kept(third)], [['One.', 'Two.', 'Three.'], ['One.', 'Two edited.']]);
  });

  test(`AI SDK ${version}: a page that is reloaded goes on in the fork, in the middle of an answer, too`, async () => {
    const forks = memoryStore();
    const chat = await begun({ transport: { forks } });
    const gate = new Gate();
    said(text('Three ', gate, 'anew.'));
    void chat.regenerate();
    await eventually(() => rig.model.requests.length === 4, 'it runs');
    const stored = structuredClone(chat.messages);
    const reloaded = newChat({ id: chat.id, messages: stored, transport: { forks, shown: () => stored } });
    const resumed = reloaded.resumeStream();
    gate.open();
    await resumed;
    assert.deepEqual(words(reloaded).slice(4), ['Three?', 'Three anew.']);
    await done(chat);
    said(text('Four.'));
    await reloaded.sendMessage({ text: 'Four?' });
    assert.equal(sessionOf(reloaded), sessionOf(chat));
    // An answer that a page has of the session before is not that of the fork.
    const old = [{ id: `answer:${reloaded.messages[6].id}`, role: 'assistant', parts: [{ type: 'text', text: 'Other.' }], metadata: { SessionId: chat.id, Status: 'completed' } }];
    const other = newChat({ id: chat.id, messages: structuredClone(reloaded.messages.slice(0, 7)), transport: { forks, shown: () => old } });
    await other.resumeStream();
    assert.deepEqual(words(other).slice(6), ['Four?', 'Four.']);
  });

  test(`AI SDK ${version}: a turn that waits or runs is given up where it is asked anew, one that never was is sent`, async () => {
    const chat = newChat({ onToolCall: () => {} });
    said(text('One.'));
    await chat.sendMessage({ text: 'One?' });
    said(call('read', { path: 'a' }));
    await chat.sendMessage({ text: 'Read a.' });
    said(text('Read otherwise.'));
    await chat.sendMessage({ text: 'Read b.', messageId: chat.messages[2].id });
    assert.deepEqual([chat.error, words(chat).slice(2)], [undefined, ['Read b.', 'Read otherwise.']]);
    assert.deepEqual([await kept(chat.id), await kept(sessionOf(chat))], [['One.', 'aborted'], ['One.', 'Read otherwise.']]);

    const before = sessionOf(chat);
    const gate = new Gate();
    said(text('Slow', gate, 'ly.'));
    const sent = chat.sendMessage({ text: 'Slowly?' });
    await eventually(() => shape(chat.messages.at(-1)).includes(ai === ai7 ? 'Slow' : '') || rig.model.requests.length === 4, 'it runs');
    await chat.stop();
    await sent;
    said(text('Fast.'));
    await chat.sendMessage({ text: 'Fast?', messageId: chat.messages[4].id });
    gate.open();
    assert.deepEqual([chat.error, words(chat).slice(4)], [undefined, ['Fast?', 'Fast.']]);
    assert.deepEqual([await kept(before), await kept(sessionOf(chat))], [['One.', 'Read otherwise.', 'aborted'], ['One.', 'Read otherwise.', 'Fast.']]);

    // The service never had it: there is nothing to go on beside.
    let isAway = true;
    const fetch = (url, init) => (isAway ? Promise.reject(new TypeError('away')) : globalThis.fetch(url, init));
    const away = newChat({ client: { fetch, maxReconnects: 0 } });
    await away.sendMessage({ text: 'Hello?' });
    assert.equal(away.status, 'error');
    isAway = false;
    said(text('Hello.'));
    await away.regenerate();
    assert.deepEqual([away.error, words(away), sessionOf(away)], [undefined, ['Hello?', 'Hello.'], away.id]);
  });

  test(`AI SDK ${version}: a failed turn is asked anew, under another context where that is asked for`, async () => {
    const chat = await begun();
    rig.model.script(httpError(401, { message: 'No.', code: 'invalid_api_key' }));
    await chat.sendMessage({ text: 'Four?' });
    assert.equal(chat.error.code, 'upstream_rejected');
    said(text('Four.'));
    await chat.regenerate({ body: { ConversationContextId: 'brief' } });
    assert.deepEqual([chat.error, words(chat).at(-1)], [undefined, 'Four.']);
    assert.ok(seen().includes('Be brief.'));
    assert.deepEqual([await kept(chat.id), await kept(sessionOf(chat))], [['One.', 'Two.', 'Three.', 'failed'], ['One.', 'Two.', 'Three.', 'Four.']]);
  });

  test(`AI SDK ${version}: words that were added to a turn are asked anew with those that began it`, async () => {
    const chat = newChat({ transport: { steer: 'add' } });
    said(text('One.'));
    await chat.sendMessage({ text: 'One?' });
    const gate = new Gate();
    said(text('The long ', gate, 'answer.'));
    said(text('Short.'));
    const sent = [chat.sendMessage({ text: 'Two?' })];
    await eventually(() => rig.model.requests.length === 2, 'it runs');
    const turnId = chat.messages[2].id;
    sent.push(chat.sendMessage({ text: 'Shorter.' }));
    const session = client().session(chat.id);
    await eventually(async () => (await session.getTurn(turnId)).Steers?.length === 1, 'the words are accepted');
    gate.open();
    await Promise.all(sent);
    const users = () => chat.messages.filter(({ role }) => role === 'user');
    said(text('Short anew.'));
    await chat.regenerate();
    assert.deepEqual([chat.error, words(chat).at(-1)], [undefined, 'Short anew.']);
    const input = JSON.stringify(rig.model.requests.at(-1).conversation);
    for (const [words, isSeen] of [['One.', true], ['Two?', true], ['Shorter.', true], ['Short.', false]]) assert.equal(input.includes(`${words}`), isSeen, words);
    said(text('Long.'));
    await chat.sendMessage({ text: 'Longer.', messageId: users().at(-1).id });
    const edited = JSON.stringify(rig.model.requests.at(-1).conversation);
    assert.ok(edited.includes('Longer.') && !edited.includes('Shorter.') && edited.includes('Two?'), edited);
    assert.deepEqual([await kept(chat.id), await kept(sessionOf(chat))], [['One.', 'Short.'], ['One.', 'Long.']]);
  });

  test(`AI SDK ${version}: a page that has only the end of a conversation asks anew with all that was before`, async () => {
    const chat = await begun();
    const late = newChat({ id: chat.id, messages: structuredClone(chat.messages.slice(4)) });
    said(text('Three anew.'));
    await late.regenerate();
    assert.deepEqual([late.error, await kept(sessionOf(late))], [undefined, ['One.', 'Two.', 'Three anew.']]);
  });

  test(`AI SDK ${version}: behind a back end, whose store has the forks`, async () => {
    const forks = memoryStore();
    const handler = chatHandler(() => new AptixChatTransport({ client: client(), forks, holdText: ai === ai6 }));
    const api = 'http://back.end/api/chat';
    const transport = new ai.DefaultChatTransport({ api, fetch: (url, init) => handler(new Request(url, init)) });
    const chat = await begun();
    const page = chatAt(rig.url, ai, { id: chat.id, messages: structuredClone(chat.messages), ...{ wholeTransport: transport } });
    said(text('Three anew.'));
    await page.regenerate();
    assert.deepEqual([page.error, words(page).at(-1)], [undefined, 'Three anew.']);
    assert.deepEqual([await kept(chat.id), await kept(sessionOf(page))], [['One.', 'Two.', 'Three.'], ['One.', 'Two.', 'Three anew.']]);
    const reloaded = chatAt(rig.url, ai, { id: chat.id, messages: structuredClone(page.messages.slice(0, 5)), wholeTransport: transport });
    await reloaded.resumeStream();
    assert.deepEqual([reloaded.error, words(reloaded).at(-1)], [undefined, 'Three anew.']);
  });
}
