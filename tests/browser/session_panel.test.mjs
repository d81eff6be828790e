// A session as a whole in a real Chromium: its totals, what is saved of it, and the exact bodies that the model service was
// sent for its turns.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import { httpTool } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, done, hasStatus, openPanel, PHONE, Playground, say } from './playground.mjs';

describe('a session as a whole', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { toolUrl }) => {
        catalog.ServerTools.push(httpTool('weather', toolUrl));
        for (const mode of catalog.Modes) mode.Tools.push('weather');
        catalog.AgentContexts.replaying = { ...catalog.AgentContexts.default, Continuation: 'replay' };
        catalog.ConversationContexts.replaying = { ...catalog.ConversationContexts.default, AgentContextId: 'replaying' };
      },
    });
    playground.rig.tools.on('/weather', '{"celsius":1.50}');
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const sessionOf = (page) => new URL(page.url()).hash.slice(1);
  const exportOf = async (session) => (await fetch(new URL(`/sessions/${session}/export`, playground.rig.url))).text();
  const panel = (page, name) => page.getByRole('complementary', { name });
  const figure = (page, name) => panel(page, 'Session').locator('.figures div').filter({ has: page.getByText(name, { exact: true }) }).locator('dd');
  const saved = async (page, button) => {
    const [download] = await Promise.all([page.waitForEvent('download'), panel(page, 'Session').getByRole('button', { name: button }).click()]);
    return { name: download.suggestedFilename(), text: readFileSync(await download.path(), 'utf8') };
  };

  test('the totals are those of all turns, and say what came with a branch', async () => {
    const page = await playground.page();
    await openPanel(page, 'Session');
    await page.getByText('A session begins with its first turn.').waitFor();
    await done(page, 'Call the tool weather with the word rome.');
    const second = await done(page, 'Reason about it.');
    await figure(page, 'turns').getByText('2', { exact: true }).waitFor();
    const { Turns } = JSON.parse(await exportOf(sessionOf(page))).Result;
    const sum = (of) => Turns.reduce((all, turn) => all + of(turn), 0).toLocaleString('en');
    assert.equal(await figure(page, 'tokens in').innerText(), sum(({ Usage }) => Usage.PromptTokens));
    assert.equal(await figure(page, 'tokens out').innerText(), sum(({ Usage }) => Usage.CompletionTokens));
    assert.equal(await figure(page, 'of them cached').innerText(), sum(({ Usage }) => Usage.CachedTokens));
    assert.equal(await figure(page, 'of them reasoning').innerText(), sum(({ Usage }) => Usage.ReasoningTokens));
    assert.equal(await figure(page, 'model calls').innerText(), '3');
    assert.equal(await figure(page, 'tool call').innerText(), '1');
    await assertAccessible(page);
    await page.shot('desktop-light-session');

    // What is counted is not asked for once more: an answer costs the same, however long the session is.
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await done(page, 'What can you do?');
    await figure(page, 'turns').getByText('3', { exact: true }).waitFor();
    assert.deepEqual(asked.filter((path) => path.endsWith('/export')), []);
    const whole = JSON.parse(await exportOf(sessionOf(page))).Result.Turns;
    assert.equal(await figure(page, 'tokens in').innerText(), whole.reduce((all, { Usage }) => all + Usage.PromptTokens, 0).toLocaleString('en'));
    assert.equal(await figure(page, 'model calls').innerText(), '4');

    const parent = sessionOf(page);
    await second.getByRole('button', { name: 'Regenerate' }).click();
    await page.waitForURL((url) => url.hash.length > 1 && !url.hash.includes(parent));
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    const { PromptTokens, CompletionTokens } = Turns[0].Usage;
    const told = `The first turn came with the branch: ${PromptTokens.toLocaleString('en')} tokens in and ${CompletionTokens.toLocaleString('en')} out were spent there and are not counted here.`;
    await panel(page, 'Session').getByText(told).waitFor();
    await figure(page, 'turn').getByText('1', { exact: true }).waitFor();
    await page.locator('.branched').getByRole('link').click();
    await panel(page, 'Session').getByText('asks turn 2 again').waitFor();
    await assertAccessible(page);
  });

  test('a turn that ends while the turns are counted is counted, too', async () => {
    const page = await playground.page();
    const { promise: released, resolve: release } = Promise.withResolvers();
    const { promise: held, resolve: isHeld } = Promise.withResolvers();
    await page.route('**/export', async (route) => {
      const response = await route.fetch();
      isHeld();
      await released;
      await route.fulfill({ response });
    }, { times: 1 });
    await openPanel(page, 'Session');
    await done(page, 'What can you do?');
    await held;
    await done(page, 'Reason about it.');
    const painted = () => page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    await painted();
    release();
    await figure(page, 'turns').getByText('2', { exact: true }).waitFor();
    await painted();
    assert.equal(await figure(page, 'turns').innerText(), '2');
  });

  test('the export is saved byte for byte, the conversation as Markdown, and the link opens the session', async () => {
    const page = await playground.page({ viewport: PHONE });
    await done(page, 'Call the tool weather with the word rome.');
    await done(page, 'Reason about it.');
    await openPanel(page, 'Session');
    await figure(page, 'turns').getByText('2', { exact: true }).waitFor();
    await assertAccessible(page);
    await page.shot('phone-light-session');
    const session = sessionOf(page);
    const file = await saved(page, 'Save the export');
    assert.equal(file.name, `session-${session}.json`);
    assert.equal(file.text, await exportOf(session));
    const markdown = await saved(page, 'Save as Markdown');
    assert.equal(markdown.name, `session-${session}.md`);
    for (const part of ['# Call the tool weather with the word rome.\n\n## You\n\nCall the tool', '*Tool* `weather`\n\n```json\n{"q":"rome"}\n```', '{"celsius":1.50}', '## The agent', 'I have reasoned']) {
      assert.ok(markdown.text.includes(part), `${part} is not in ${markdown.text}`);
    }
    await panel(page, 'Session').getByRole('button', { name: 'Copy the link' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    const other = await playground.page({ address: new URL(link).hash });
    await hasStatus(other.locator('.turn').nth(1), 'completed');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });

  test("a proxy's page is not saved as the export", async () => {
    const page = await playground.page({ expected: [/status of 502/] });
    await done(page, 'What can you do?');
    await openPanel(page, 'Session');
    await figure(page, 'turn').getByText('1', { exact: true }).waitFor();
    const files = [];
    page.on('download', (file) => files.push(file));
    for (const status of [200, 502]) {
      await page.route('**/export', (route) => route.fulfill({ status, contentType: 'text/html', body: '<h1>Sign in</h1>' }), { times: 1 });
      await panel(page, 'Session').getByRole('button', { name: 'Save the export' }).click();
      await panel(page, 'Session').getByRole('alert').getByText(`The answer of status ${status} is not the service's.`).waitFor();
    }
    assert.equal(files.length, 0);
    assert.equal((await saved(page, 'Save the export')).text, await exportOf(sessionOf(page)));
  });

  test('a conversation goes on under another context, and an unknown one is said', async () => {
    const page = await playground.page({ expected: [/404/] });
    await done(page, 'Remember the word pelican.');
    const parent = sessionOf(page);
    await openPanel(page, 'Session');
    const fork = panel(page, 'Session').getByRole('button', { name: 'Fork', exact: true });
    assert.equal(await fork.isDisabled(), true);
    await panel(page, 'Session').getByLabel('Conversation context').fill('nowhere');
    await fork.click();
    await panel(page, 'Session').getByRole('alert').getByText('ConversationContext').waitFor();
    await panel(page, 'Session').getByLabel('Conversation context').fill('replaying');
    await assertAccessible(page);
    await fork.click();
    await page.waitForURL((url) => url.hash.length > 1 && !url.hash.includes(parent));
    await page.getByText('The branch begins here.').waitFor();
    const said = await done(page, 'Which word did I ask you to remember?');
    await said.getByText('pelican').last().waitFor();
    const { ConversationContextId, Parent } = JSON.parse(await exportOf(sessionOf(page))).Result;
    assert.deepEqual([ConversationContextId, Parent.SessionId], ['replaying', parent]);
  });

  const inspector = (page) => panel(page, 'Inspector');
  /** What is copied of each model call of the newest turn. */
  async function bodies(page) {
    await inspector(page).getByRole('button', { name: 'Show the exact bodies' }).click();
    const tabs = inspector(page).getByRole('group', { name: 'Model call whose body is shown' }).getByRole('button');
    await tabs.first().waitFor();
    const found = [];
    for (let at = 0; at < (await tabs.count()); at += 1) {
      await tabs.nth(at).click();
      await inspector(page).getByText('These are the bytes that were sent: their SHA-256 is that of the transcript.').waitFor();
      await inspector(page).getByRole('button', { name: 'Copy it as it was sent' }).click();
      found.push(await page.evaluate(() => navigator.clipboard.readText()));
    }
    return found;
  }
  const hashOf = (text) => createHash('sha256').update(text).digest('hex');

  for (const context of ['default', 'replaying']) {
    test(`what the model was sent is shown as it was sent, in each form: ${context}`, async () => {
      const page = await playground.page();
      await openPanel(page, 'Context');
      await page.getByRole('combobox', { name: 'Conversation context' }).fill(context);
      await openPanel(page, 'Inspector');
      const sent = [];
      for (const words of ['Call the tool weather with the word rome.', 'Reason about it.', 'Lose the chain.', 'Which word, “pelican” or “naïve”?']) {
        await done(page, words);
        await inspector(page).getByRole('heading', { name: 'What the model was sent' }).click();
        sent.push(...(await bodies(page)));
      }
      const { Result } = JSON.parse(await exportOf(sessionOf(page)));
      const calls = Result.Turns.flatMap(({ ModelCalls }) => ModelCalls).sort((a, b) => a.Number - b.Number);
      // A call that found its chain lost is made again with the whole conversation.
      assert.deepEqual(sent.map(hashOf), calls.map(({ BodySha256 }) => BodySha256));
      assert.ok(calls.some(({ Input }) => Input.some(({ First, Last }) => Last > First)));
      assert.ok(sent.at(-1).includes('{\\"celsius\\":1.50}'));
      await assertAccessible(page);
      await page.shot(`desktop-light-sent-${context}`);
    });
  }
});
