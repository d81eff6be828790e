// Searching: in the conversation, folded text included, and in what was said in all sessions, which the service is asked for.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, Playground, say, signIn } from './playground.mjs';

const TICKET_KEYS = JSON.stringify([{ Id: 'tests', Secret: Buffer.alloc(32, 7).toString('base64') }]);

/** Whether the place at which one is can be seen. */
const isSeen = (page) =>
  page.waitForFunction(() => {
    const [now] = CSS.highlights.get('found-now') ?? [];
    if (!now) return false;
    const { left, top, right, bottom, height } = now.getBoundingClientRect();
    const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
    return height > 0 && (now.commonAncestorContainer.closest ? now.commonAncestorContainer : now.commonAncestorContainer.parentElement).contains(at);
  });
const bar = (page) => page.getByRole('search');
const told = (page, words) => bar(page).getByRole('status').getByText(words, { exact: true }).waitFor();

describe('searching', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start({ vars: { TICKET_KEYS }, tickets: true });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('words are marked in the conversation and stepped through, in folded texts, too', async () => {
    const page = await playground.page();
    const long = Array.from({ length: 60 }, (_, at) => (at === 50 ? 'Here a *Pelican* stands.' : `Line ${at}`)).join('\n');
    await hasStatus(await say(page, long), 'completed');
    await hasStatus(await say(page, 'Reason about it.'), 'completed');
    const tool = await say(page, 'Call the tool echo with the word pelican.');
    await hasStatus(tool, 'completed');

    await page.keyboard.press('Control+Shift+F');
    await page.waitForFunction(() => document.activeElement.id === 'find');
    await page.keyboard.insertText('PELICAN stands');
    await told(page, '1 of 1');
    await isSeen(page);
    assert.equal(await page.getByRole('button', { name: 'Show less' }).count(), 0);
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('line  55');
    await told(page, '1 of 2');
    // The question has unfolded.
    await page.getByRole('button', { name: 'Show less' }).waitFor();
    await isSeen(page);
    await assertAccessible(page);
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('i show it');
    await told(page, '1 of 1');
    await isSeen(page);
    assert.equal(await page.locator('details.folded').evaluate(({ open }) => open), true);

    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('pelican');
    await bar(page).getByRole('status').filter({ hasText: /^1 of ([5-9]|\d\d)$/ }).waitFor();
    const all = Number((await bar(page).getByRole('status').innerText()).split(' of ')[1]);
    for (let place = 1; place <= all; place += 1) {
      await told(page, `${place} of ${all}`);
      await isSeen(page);
      await page.keyboard.press('Enter');
    }
    await told(page, `1 of ${all}`);
    await page.keyboard.press('Shift+Enter');
    await told(page, `${all} of ${all}`);
    await bar(page).getByRole('button', { name: 'The next one' }).click();
    await told(page, `1 of ${all}`);
    assert.equal(await page.locator('details.card').evaluate(({ open }) => open), true, 'the card of the tool is open');

    // What comes meanwhile is found, too, and moves nothing.
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('cancelled or resumed');
    await told(page, 'None');
    await page.getByRole('textbox', { name: 'Message' }).fill('Give a slow answer.');
    await page.keyboard.press('Enter');
    await page.locator('.turn').last().getByText('This answer').waitFor();
    playground.goOn();
    await told(page, '1 of 1');
    await page.keyboard.press('Escape');
    await bar(page).waitFor({ state: 'detached' });
    await page.waitForFunction(() => ['found', 'found-now'].every((name) => !(CSS.highlights.get(name)?.size > 0)));
    assert.equal(await page.evaluate(() => document.activeElement.id), 'message');
    await hasStatus(page.locator('.turn').last(), 'completed');
  });

  test('a place is gone to where its card is drawn anew as it opens', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'Call the tool echo with the word pelican.'), 'completed');
    for (const words of [Array.from({ length: 60 }, (_, at) => `Line ${at}`).join('\n\n'), 'What can you do?']) await hasStatus(await say(page, words), 'completed');
    await page.evaluate(() => {
      const card = document.querySelector('details.card');
      // As colours of code are put in the place of its text.
      const drawAnew = () => card.querySelectorAll('code').forEach((code) => code.replaceChildren(...[...code.childNodes].map((node) => node.cloneNode(true))));
      new MutationObserver((_, changes) => (changes.disconnect(), drawAnew())).observe(card, { attributes: true, attributeFilter: ['open'] });
    });
    await page.keyboard.press('Control+Shift+F');
    await page.keyboard.insertText('"pelican"');
    await bar(page).getByRole('status').filter({ hasText: /^1 of / }).waitFor();
    assert.equal(await page.locator('details.card').evaluate(({ open }) => open), true);
    await isSeen(page);
  });

  test('a place that is brought into sight stays there where something unfolds in the same frame', async () => {
    const page = await playground.page();
    const long = Array.from({ length: 60 }, (_, at) => `Line ${at}`).join('\n\n');
    await hasStatus(await say(page, long), 'completed');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const top = await page.evaluate(() => {
      const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
      const box = document.querySelector('.conversation');
      return frame().then(async () => {
        box.querySelector('.turn').style.paddingBottom = '1000px';
        box.scrollTop = 10;
        await frame();
        await frame();
        return box.scrollTop;
      });
    });
    assert.equal(top, 10);
  });

  test('what was said in all sessions is searched, with progress, and opened where it stands', async () => {
    const page = await playground.page();
    for (const words of ['A heron.', 'A stork.', 'Nothing of it.']) {
      await hasStatus(await say(page, `${words}\n\nBehind the title: ${words === 'Nothing of it.' ? 'an owl' : 'a wading bird'}.`), 'completed');
      await page.keyboard.press('Alt+n');
    }
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('heron');
    await page.locator('.sessions .session').filter({ hasText: 'A heron.' }).waitFor();
    assert.equal(await page.locator('.sessions .session').count(), 1, 'titles at once');
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('Wading  bird');
    await page.getByText('No session has these words in its title.').waitFor();
    await page.getByRole('button', { name: 'Search what was said, too' }).waitFor();
    await page.keyboard.press('Enter');
    const results = page.getByRole('region', { name: 'Found in what was said' });
    await results.getByText('2 found in 3 sessions.').waitFor();
    assert.deepEqual(await results.locator('.session > span').allInnerTexts(), ['A stork.', 'A heron.']);
    assert.equal(await results.locator('mark').first().innerText(), 'wading bird');
    await assertAccessible(page);
    await results.getByRole('button', { name: 'A heron.' }).click();
    await page.locator('.turn').waitFor();
    await told(page, '1 of 2');
    await isSeen(page);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.doesNotMatch(kept, /wading/i);
  });

  test('a search can be cancelled and gone on with; what cannot be read is counted, and what is erased is not', async () => {
    const sessions = Array.from({ length: 120 }, (_, at) => ({ id: `of-the-search-${at}`, title: `Session ${at}`, at: 1_700_000_000_000 - at }));
    const page = await playground.page({ kept: { 'aptix-edge.sessions': JSON.stringify(sessions) }, expected: [/404/, /403/, /net::ERR/] });
    let goOn;
    const held = new Promise((resolve) => (goOn = resolve));
    let asked = 0;
    let most = 0;
    let now = 0;
    await page.route(/\/export$/, async (route) => {
      asked += 1;
      most = Math.max(most, (now += 1));
      if (asked > 10 && asked <= 13) await held;
      now -= 1;
      if (asked === 1) return route.fulfill({ status: 403, json: { Successful: false, Errors: [], Warnings: [] } });
      return route.continue().catch(() => {});
    });
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('pelican');
    await page.getByRole('button', { name: 'Search what was said, too' }).click();
    const results = page.getByRole('region', { name: 'Found in what was said' });
    await results.getByText('Reading: 10 of 50 sessions.').waitFor();
    await assertAccessible(page);
    await results.getByRole('button', { name: 'Cancel' }).click();
    await results.getByText('Nothing found in 10 sessions. 1 could not be read.').waitFor();
    goOn();
    assert.ok(most <= 3, `${most} at once`);
    await results.getByRole('button', { name: 'Read up to 50 more sessions' }).click();
    await results.getByText('Nothing found in 60 sessions. 1 could not be read.').waitFor();
    await results.getByRole('button', { name: 'Read up to 50 more sessions' }).click();
    await results.getByRole('button', { name: 'Read up to 50 more sessions' }).click();
    await results.getByText('Nothing found in 120 sessions. 1 could not be read.').waitFor();
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('heron');
    assert.equal(await results.count(), 0, 'other words are another search');
  });

  test('one that was slow when a search was cancelled is read by the next step, and no other one twice', async () => {
    const sessions = Array.from({ length: 70 }, (_, at) => ({ id: `of-the-step-${at}`, title: `Session ${at}`, at: 1_700_000_000_000 - at }));
    const page = await playground.page({ kept: { 'aptix-edge.sessions': JSON.stringify(sessions) }, expected: [/404/, /net::ERR/] });
    const asked = [];
    let isHeld = true;
    await page.route(/\/export$/, async (route) => {
      asked.push(/of-the-step-(\d+)/.exec(route.request().url())[1]);
      if (isHeld && asked.at(-1) === '0') return;
      await route.continue().catch(() => {});
    });
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('pelican');
    await page.getByRole('button', { name: 'Search what was said, too' }).click();
    const results = page.getByRole('region', { name: 'Found in what was said' });
    await results.getByText('Reading: 49 of 50 sessions.').waitFor();
    await results.getByRole('button', { name: 'Cancel' }).click();
    isHeld = false;
    await results.getByRole('button', { name: 'Read up to 50 more sessions' }).click();
    await results.getByText('Nothing found in 70 sessions.').waitFor();
    const times = (id) => asked.filter((each) => each === id).length;
    assert.deepEqual(sessions.map((_, at) => times(String(at))), sessions.map((_, at) => (at === 0 ? 2 : 1)));
  });

  test("what a user's branch has of its session is found once, also where no title has the words", async () => {
    const page = await playground.page({ address: `?tickets=${playground.ticketPort}` });
    await signIn(page, 'branching');
    const turn = await say(page, 'Of mine.\n\nA grebe.');
    await hasStatus(turn, 'completed');
    await turn.getByRole('button', { name: 'Fork from here' }).click();
    await page.getByText('Branched from').waitFor();
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('grebe');
    await page.getByText('No session has these words in its title.').waitFor();
    await page.getByRole('button', { name: 'Search what was said, too' }).click();
    await page.getByText('1 found in 2 sessions.').waitFor();
  });

  test("a user's search finds what that user said, and nobody else's", async () => {
    const address = `?tickets=${playground.ticketPort}`;
    const page = await playground.page({ address, expected: [/status of 403/] });
    const search = async (words) => {
      await page.getByRole('searchbox', { name: 'Search sessions' }).fill(words);
      await page.getByRole('button', { name: 'Search what was said, too' }).click();
    };
    const results = page.getByRole('region', { name: 'Found in what was said' });
    await signIn(page, 'ann');
    await page.getByText('Sessions of ann stand here.').waitFor();
    await hasStatus(await say(page, 'Of mine.\n\nA kingfisher.'), 'completed');
    // A list that cannot be read is asked for again.
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'Not now.', SystemError: false }], Warnings: [] };
    await page.route(/\/sessions\?Limit=100$/, (route) => route.fulfill({ status: 403, json: refusal }));
    await search('kingfisher');
    await results.getByText('1 could not be read.').waitFor();
    await page.unroute(/\/sessions\?Limit=100$/);
    await results.getByRole('button', { name: 'Read up to 50 more sessions' }).click();
    await results.getByText('1 found in 1 session.').waitFor();
    await page.getByRole('button', { name: 'ann', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    assert.equal(await results.count(), 0);
    await signIn(page, 'bob');
    await page.getByText('Sessions of bob stand here.').waitFor();
    await search('kingfisher');
    await results.getByText('Nothing found in 0 sessions.').waitFor();
  });
});
