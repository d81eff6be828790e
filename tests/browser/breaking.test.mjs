// Every button of "Break it" in a real Chromium: what it does is done, and what it claims is found to be true.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, openPanel, PHONE, Playground, say } from './playground.mjs';

/** Refusals that a trial asks for; the browser logs each. */
const REFUSED = [/status of 4\d\d/];

/** From now on the page's turns ask something harmless where they would say these words. */
const asksInsteadOf = (page, words) =>
  page.route(/\/execute/, (route) => route.continue({ postData: route.request().postData().replace(words, 'What can you do?') }));

describe('what is broken by hand', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ wordMs: 6, vars: { UPSTREAM_IDLE_TIMEOUT_MS: '1500' } });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const trialOf = (page, id) => page.locator(`[data-trial="${id}"]`);
  const opened = async (options) => {
    const page = await playground.page({ expected: REFUSED, ...options });
    await openPanel(page, 'Break it');
    return page;
  };
  /** Presses the button, and fails with everything that the card shows unless all its claims hold. */
  const holds = async (page, id) => {
    const trial = trialOf(page, id);
    await trial.getByRole('button', { name: 'Try it' }).click();
    await settled(trial);
  };
  const settled = async (trial) => {
    await trial.and(trial.page().locator(':is([data-state="held"], [data-state="failed"])')).waitFor({ timeout: 60_000 });
    assert.equal(await trial.getAttribute('data-state'), 'held', await trial.innerText());
    assert.equal(await trial.locator('li:not(.holds)').count(), 0);
  };

  for (const id of ['cut', 'five', 'mismatch', 'cancel', 'refuse', 'overload', 'down', 'words', 'silence', 'chain', 'window']) {
    test(`${id}: what it claims is true`, async () => {
      const page = await opened();
      await holds(page, id);
      await page.shot(`desktop-light-breaking-${id}`);
      if (id === 'words') await assertAccessible(page);
    });
  }

  test('steer: words that come in the last millisecond are added or too late, and where only one of both was seen it says so', async () => {
    const page = await opened();
    const trial = trialOf(page, 'steer');
    await trial.getByRole('button', { name: 'Try it' }).click();
    await trial.and(page.locator(':is([data-state="held"], [data-state="partly"], [data-state="failed"])')).waitFor({ timeout: 60_000 });
    const told = await trial.innerText();
    const [, added, late] = /added: (\d), too late: (\d)/.exec(told);
    assert.equal(Number(added) + Number(late), 3, told);
    const isHalf = added === '0' || late === '0';
    assert.equal(await trial.getAttribute('data-state'), isHalf ? 'partly' : 'held', told);
    assert.equal(await trial.locator('li.unseen').count(), isHalf ? 1 : 0, told);
    assert.equal(await trial.locator('li.broken').count(), 0, told);
  });

  test('a reload ends the page, not the trial: the next page finds the turn and looks', async () => {
    const page = await opened();
    const trial = trialOf(page, 'reload');
    const loaded = page.waitForEvent('load');
    await trial.getByRole('button', { name: 'Try it' }).click();
    await loaded;
    await settled(trial);
    assert.equal(await page.locator('.turn').count(), 1);
    assert.deepEqual(await page.evaluate(() => Object.keys(sessionStorage).filter((key) => !key.startsWith('aptix-edge.trials'))), []);
  });

  test('a conversation of the reader stays as it is, and what was found stays over reloads, with the session of the trials', async () => {
    const page = await playground.page({ expected: REFUSED });
    await hasStatus(await say(page, 'Reason about it.'), 'completed');
    const own = page.url();
    await openPanel(page, 'Break it');
    await page.getByText('in a session of its own, so that this conversation stays as it is').waitFor();
    await assertAccessible(page);
    await holds(page, 'five');
    await trialOf(page, 'five').getByText('5 answers, all equal').waitFor();
    await page.getByRole('heading', { level: 1, name: 'Break it' }).waitFor();
    assert.ok(await trialOf(page, 'five').getByRole('button').evaluate((button) => button === document.activeElement), 'what was pressed keeps the focus');
    const theirs = page.url();
    const loaded = page.waitForEvent('load');
    await trialOf(page, 'reload').getByRole('button', { name: 'Try it' }).click();
    await loaded;
    await settled(trialOf(page, 'reload'));
    assert.equal(page.url(), theirs);
    assert.equal(await page.locator('.turn').count(), 2);
    for (let reloads = 0; reloads < 2; reloads += 1) {
      await settled(trialOf(page, 'five'));
      await page.reload();
      await openPanel(page, 'Break it');
    }
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify(sessionStorage)), /seen|answer|slow/i);
    await page.locator('.sessions .session').filter({ hasText: 'Reason about it.' }).click();
    await hasStatus(page.locator('.turn'), 'completed');
    assert.equal(page.url(), own);
    assert.equal(await page.locator('[data-trial]:not([data-state="idle"])').count(), 0);
    assert.equal(await page.locator('.turn').count(), 1);
  });

  test('whoever leaves for a while finds the turn ended; a running turn is taken as it is', async () => {
    const page = await opened();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await trialOf(page, 'leave').getByLabel('seconds').fill('7');
    const asked = [];
    page.on('request', (request) => asked.push(request.url()));
    await trialOf(page, 'leave').getByRole('button', { name: 'Try it' }).click();
    await trialOf(page, 'leave').getByText(/^Away\. Back in [1-5] s\./).waitFor();
    assert.deepEqual(asked, []);
    await settled(trialOf(page, 'leave'));
    await hasStatus(turn, 'completed');
    assert.equal(await page.locator('.turn').count(), 1);
  });

  test('a time is typed anew in an emptied field', async () => {
    const page = await opened();
    const seconds = trialOf(page, 'leave').getByLabel('seconds');
    await seconds.focus();
    for (const key of ['End', 'Backspace', 'Backspace', '9', '0']) await page.keyboard.press(key);
    assert.equal(await seconds.inputValue(), '90');
  });

  test('a time that is too short to see the end of the turn claims nothing of it', async () => {
    const page = await opened();
    const trial = trialOf(page, 'leave');
    await trial.getByLabel('seconds').fill('1');
    await trial.getByRole('button', { name: 'Try it' }).click();
    await trial.and(page.locator('[data-state="partly"]')).waitFor();
    assert.match(await trial.locator('li.unseen').innerText(), /Not shown:[^]*still ran after 1 s/);
    assert.equal(await trial.locator('li.holds').count(), 2);
    await trial.getByText('What could be seen held.').waitFor();
    await assertAccessible(page);
  });

  test('a claim that is not true is shown as broken: a model that is no stand-in refuses nothing', async () => {
    const page = await opened();
    await asksInsteadOf(page, 'Refuse this call.');
    const trial = trialOf(page, 'refuse');
    await trial.getByRole('button', { name: 'Try it' }).click();
    await trial.and(page.locator('[data-state="failed"]')).waitFor();
    await trial.getByText('It did not hold.').waitFor();
    assert.match(await trial.locator('li.broken').innerText(), /Not true:\s+The turn fails with upstream_rejected[^]*The turn is completed/);
    assert.equal(await trial.locator('li.holds').count(), 1);
    await assertAccessible(page);
  });

  test('a service that goes down between two calls: the turn notes it, the inspector says who answered, and without the tool nothing is claimed', async () => {
    const page = await opened();
    const turn = await say(page, 'Go down in the middle.');
    await hasStatus(turn, 'completed');
    await turn.getByText('The model service does not answer; another one takes over.').waitFor();
    await openPanel(page, 'Inspector');
    await page.getByRole('img', { name: /Model call 1: [^;]*answered by model service default[^;]*;.*Model call 2: [^;]*answered by model service spare/ }).waitFor();
    await openPanel(page, 'Break it');
    await asksInsteadOf(page, 'Go down in the middle.');
    const trial = trialOf(page, 'down');
    await trial.getByRole('button', { name: 'Try it' }).click();
    await trial.and(page.locator('[data-state="partly"]')).waitFor();
    assert.equal(await trial.locator('li.unseen').count(), 3);
    assert.match(await trial.innerText(), /no tool was called/);
  });

  test('on a phone, in the dark, nothing is cut off', async () => {
    const page = await opened({ viewport: PHONE, colorScheme: 'dark' });
    await holds(page, 'cut');
    await trialOf(page, 'cut').scrollIntoViewIfNeeded();
    await page.shot('phone-dark-breaking');
    await assertAccessible(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });
});
