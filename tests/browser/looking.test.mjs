// Looking into what a page shows: rows of the timeline open what passed through them, times are the service's, questions are
// the page's own, and contexts that were met are offered again.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { eventually, httpTool } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, done, hasStatus, openPanel, Playground, say, signIn } from './playground.mjs';

const HOUR_MS = 3_600_000;

describe('looking into', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { toolUrl }) => {
        catalog.ServerTools.push(httpTool('weather', toolUrl), httpTool('send_mail', toolUrl, { Approval: 'Always' }));
        for (const mode of catalog.Modes) mode.Tools.push('weather', 'send_mail');
        catalog.ConversationContexts.brief = { ...catalog.ConversationContexts.default, BootPrompt: 'Be brief.' };
      },
    });
    playground.rig.tools.on('/weather', JSON.stringify({ celsius: 21 }));
    playground.rig.tools.on('/send_mail', JSON.stringify({ sent: true }));
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const panel = (page, name = 'Inspector') => page.getByRole('complementary', { name });
  const row = (page, name) => panel(page).getByRole('button', { name: `Input and output: ${name}` });
  const shown = (page, name) => panel(page).getByRole('region', { name: `${name}: input and output` });
  const sessionOf = (page) => new URL(page.url()).hash.slice(1);
  const exportOf = async (page) => (await (await fetch(new URL(`/sessions/${sessionOf(page)}/export`, playground.rig.url))).json()).Result;
  const seconds = (ms) => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`);
  /** A page whose clock is wrong, at a service whose responses have the right time, as those of Cloudflare have. */
  const ofAnotherTime = async (aheadMs) => {
    const page = await playground.page();
    await page.route(/\/(openapi\.json|sessions|execute)/, async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, headers: { ...response.headers(), date: new Date().toUTCString() } });
    });
    await page.addInitScript((ms) => {
      const right = Date.now.bind(Date);
      Date.now = () => right() + ms;
    }, aheadMs);
    return page;
  };

  test('a row of the timeline opens what went in and what came out, of a model call and of a tool', async () => {
    const page = await playground.page();
    await done(page, 'Call the tool weather with the word rome.');
    await openPanel(page, 'Inspector');
    await row(page, 'weather').press('Enter');
    await shown(page, 'weather').getByText('Input: arguments of weather').waitFor();
    await shown(page, 'weather').getByText('rome').waitFor();
    await shown(page, 'weather').getByRole('group', { name: 'Output: result of weather' }).getByText('"celsius": 21').waitFor();
    await assertAccessible(page);
    await page.shot('desktop-light-row');
    await row(page, 'Model call 1').click();
    await shown(page, 'weather').waitFor({ state: 'detached' });
    const [input, output] = ['Input: the request to the model service', 'Output: what the model service gave'].map((name) => shown(page, 'Model call 1').getByRole('group', { name }));
    await input.getByText('"stream": true').waitFor();
    await output.getByText('function_call').waitFor();
    await row(page, 'Model call 2').click();
    await shown(page, 'Model call 2').getByRole('group', { name: 'Output: what the model service gave' }).getByText('output_text').waitFor();
    await shown(page, 'Model call 2').getByRole('button', { name: 'Close Model call 2' }).click();
    await shown(page, 'Model call 2').waitFor({ state: 'detached' });
  });

  test('the foot of a turn and the inspector have one duration, the service\'s, and a reload changes neither', async () => {
    const page = await playground.page();
    const turn = await done(page, 'What can you do?');
    await openPanel(page, 'Inspector');
    const { StartedAt, UpdatedAt } = (await exportOf(page)).Turns[0];
    const told = seconds(Date.parse(UpdatedAt) - Date.parse(StartedAt));
    await turn.locator('.foot').getByText(told, { exact: true }).waitFor();
    await panel(page).locator('.figures').getByText(told, { exact: true }).waitFor();
    await page.reload();
    await turn.locator('.foot').getByText(told, { exact: true }).waitFor();
  });

  for (const [words, aheadMs] of [['ahead', 2 * HOUR_MS], ['behind', -2 * HOUR_MS]]) {
    test(`a turn that runs over a reload is counted from its beginning where the browser's clock is two hours ${words}`, async () => {
      const page = await ofAnotherTime(aheadMs);
      await page.reload();
      const turn = await say(page, 'Call the tool send_mail with the word ann.');
      await hasStatus(turn, 'awaiting_tools');
      await page.reload();
      await hasStatus(turn, 'awaiting_tools');
      await openPanel(page, 'Inspector');
      // Whole seconds are what a response tells, so it may be two of them too few.
      await page.waitForFunction(() => /^[1-9]\d?(\.\d)? s$/.test(document.querySelector('.inspector .figures dd')?.textContent ?? ''));
      await page.getByRole('button', { name: 'Stop' }).click();
      await hasStatus(turn, 'aborted');
      await page.waitForFunction(() => /^(\d+ ms|[1-9]?\d(\.\d)? s)$/.test([...document.querySelectorAll('.foot span')].at(-1)?.textContent ?? ''));
    });
  }

  test("a user's list says how long ago a session was used, where the browser's clock is two hours ahead, too", async () => {
    const page = await ofAnotherTime(2 * HOUR_MS);
    await page.reload();
    await signIn(page, 'alice');
    await done(page, 'What can you do?');
    await page.reload();
    await page.locator('.session small').waitFor();
    assert.match(await page.locator('.session small').innerText(), /^(now|\d min ago)/);
  });

  test('a decision that a reload has delayed is told with all of its time', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    const asked = Date.now();
    await page.reload();
    await hasStatus(turn, 'awaiting_tools');
    const least = Date.now() - asked;
    await turn.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(turn, 'completed');
    const told = /approved · ([\d.]+) (m?s)/.exec(await turn.locator('details.good .state').first().innerText());
    // What is told in seconds has one place behind the point.
    assert.ok(Number(told[1]) * (told[2] === 's' ? 1000 : 1) >= least - 100, `${told[0]} of at least ${least} ms`);
  });

  test('nothing is erased that is not agreed to, by pointer or by keys', async () => {
    const page = await playground.page();
    await done(page, 'What can you do?');
    const erase = page.getByRole('button', { name: 'Erase What can you do?' });
    const question = page.getByRole('dialog', { name: 'Erase “What can you do?”?' });
    for (const leave of [() => page.keyboard.press('Escape'), () => page.keyboard.press('Enter'), () => question.getByRole('button', { name: 'Cancel' }).click()]) {
      await erase.click();
      await question.waitFor();
      await assertAccessible(page);
      await leave();
      await question.waitFor({ state: 'detached' });
      assert.equal(await page.locator('.turn').count(), 1);
    }
    await page.waitForFunction(() => document.activeElement?.title === 'Erase this session');
    await erase.press('Enter');
    await agree(page);
    await page.getByText('Sessions of this browser stand here.').waitFor();
  });

  test('a folder that is dropped on the conversation is said to belong elsewhere', async () => {
    const page = await playground.page();
    await page.evaluate(() => {
      // As a browser hands a folder on: a file of no type that cannot be read.
      File.prototype.arrayBuffer = () => Promise.reject(new DOMException('It is a folder.', 'NotFoundError'));
      const dataTransfer = new DataTransfer();
      dataTransfer.items.add(new File([''], 'zoo', { type: '' }));
      document.getElementById('message').dispatchEvent(new DragEvent('drop', { bubbles: true, cancelable: true, dataTransfer }));
    });
    await page.getByRole('alert').getByText('zoo could not be read. Folders go into the panel Retrieval.').waitFor();
  });

  test('a stop that does not come through is done when the service is there again, also where its session was left', async () => {
    const page = await playground.page({ expected: [/Failed to load resource/] });
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    const at = new URL(`/sessions/${sessionOf(page)}/turns/${await turn.getAttribute('data-turn')}`, playground.rig.url);
    await page.route(/\/health/, (route) => route.abort());
    await page.route(/\/cancel/, (route) => route.fulfill({ status: 502, headers: { 'retry-after': '61' }, body: 'Bad gateway' }));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The turn is stopped when the network is back.').waitFor();
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await page.unroute(/\/cancel/);
    await page.unroute(/\/health/);
    await eventually(async () => (await (await fetch(at)).json()).Result.Status === 'aborted', 'it is stopped');
  });

  test('a stop without a network says that it waits, and is done when the network is back', async () => {
    const page = await playground.page({ expected: [/ERR_INTERNET_DISCONNECTED|Failed to load resource/] });
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    await page.context().setOffline(true);
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The turn is stopped when the network is back.').waitFor();
    await page.context().setOffline(false);
    await hasStatus(turn, 'aborted');
  });

  test('a stop that does not come through for longer than one asks is done when the service is there again', async () => {
    const page = await playground.page({ expected: [/Failed to load resource/] });
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    await page.route(/\/health/, (route) => route.abort());
    // As of a proxy that is not to be asked for a minute.
    await page.route(/\/cancel/, (route) => route.fulfill({ status: 502, headers: { 'retry-after': '61' }, body: 'Bad gateway' }));
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('The turn is stopped when the network is back.').waitFor();
    await page.unroute(/\/cancel/);
    await page.unroute(/\/health/);
    await hasStatus(turn, 'aborted');
  });

  test('a stop that overtakes its turn on the way to the service stops it when it has come there', async () => {
    const page = await playground.page({ expected: [/status of 404/] });
    const { promise: released, resolve: release } = Promise.withResolvers();
    await page.route(/\/execute/, async (route) => (await released, route.continue()), { times: 1 });
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.waitForTimeout(500);
    release();
    await hasStatus(turn, 'aborted');
  });

  test('contexts that the address of `make dev` names are offered, and where none is known the field says why', async () => {
    const page = await playground.page();
    await openPanel(page, 'Context');
    await page.getByText('The service lists its contexts nowhere').waitFor();
    await page.goto(new URL('/?contexts=default,brief', page.url()).href);
    await openPanel(page, 'Context');
    await page.getByText('Known to this page: default, brief.').waitFor();
    assert.deepEqual(await page.locator('datalist option').evaluateAll((all) => all.map(({ value }) => value)), ['default', 'brief']);
  });

  test('a context that was met is offered again, after a reload and in a new session', async () => {
    const page = await playground.page();
    await openPanel(page, 'Context');
    await page.getByRole('combobox', { name: 'Conversation context' }).fill('brief');
    const turn = await done(page, 'What can you do?');
    await page.reload();
    await hasStatus(turn, 'completed');
    await page.keyboard.press('Alt+n');
    await openPanel(page, 'Context');
    await page.waitForFunction(() => [...document.querySelectorAll('datalist option')].some(({ value }) => value === 'brief'));
    await page.getByText('Known to this page: brief').waitFor();
  });

  test('a branch is told from the session whose title it has, and a search finds what both have once', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word heron.');
    const second = await done(page, 'What can you do?');
    const parent = sessionOf(page);
    await second.getByRole('button', { name: 'Regenerate' }).click();
    await page.waitForURL((url) => url.hash.length > 1 && !url.hash.includes(parent));
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await page.locator('.session small').filter({ hasText: 'asked again' }).waitFor();
    const search = page.getByRole('searchbox', { name: 'Search sessions' });
    await search.fill('heron');
    await search.press('Enter');
    await page.getByText(/^1 found in/).waitFor();
  });
});
