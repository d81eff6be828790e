// The playground on the smallest phone, with fingers, and by keyboard alone: every function is there, in sight and large enough.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, openPanel, Playground, say } from './playground.mjs';

const SMALLEST = { width: 360, height: 640 };
/** Presses of the key before a round counts as endless. */
const MOST_PRESSES = 150;

const fits = async (page) => assert.equal(await page.evaluate(() => Math.max(0, document.documentElement.scrollWidth - innerWidth)), 0, 'nothing is wider than the screen');

/** Goes once round the page with a key. Fails where something that is pressed or filled in is not come by, or not in sight then. */
async function goRound(page, key = 'Tab') {
  await page.evaluate(() => {
    globalThis.seen = new Set();
  });
  let names = [];
  for (let presses = 0; ; presses += 1) {
    assert.ok(presses < MOST_PRESSES, `no end: ${names.slice(-5)}`);
    await page.keyboard.press(key);
    const now = await page.evaluate(() => {
      const { activeElement: element } = document;
      // Behind the last one comes the browser's own.
      if (element === document.body) return 'around';
      if (globalThis.seen.has(element)) return undefined;
      globalThis.seen.add(element);
      const name = element.getAttribute('aria-label') ?? (element.textContent.trim() || element.labels?.[0]?.textContent || element.id);
      // A file's own button is hidden behind its label.
      const shown = element.matches('.hidden') ? element.parentElement : element;
      const { left, right, top, bottom } = shown.getBoundingClientRect();
      const inSight = left >= -1 && right <= innerWidth + 1 && bottom > 0 && top < innerHeight;
      const at = document.elementFromPoint((left + right) / 2, Math.min(innerHeight - 1, Math.max(1, top + Math.min(20, (bottom - top) / 2))));
      return { name, inSight: inSight && (shown.contains(at) || at?.contains(shown) === true), where: [left, right, top, bottom].map(Math.round).join() };
    });
    if (now === 'around') continue;
    if (!now) break;
    assert.ok(now.inSight, `${now.name} is out of sight: ${now.where}, covered, or cut off`);
    names = [...names, now.name];
  }
  // A toolbar is one stop, and the way to the newest comes and goes with what is in sight.
  const missed = await page.evaluate(() =>
    [...document.querySelectorAll('button, a[href], input, textarea, select, summary, [tabindex="0"]')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.disabled && !element.closest('[inert], fieldset:disabled') && element.tabIndex >= 0)
      .filter((element) => !globalThis.seen.has(element) && !element.closest('[role="toolbar"], .jump'))
      .map((element) => element.outerHTML.slice(0, 120)));
  assert.deepEqual(missed, []);
  return names;
}

/** Fails where something to press is smaller than a finger. */
async function assertFingers(page) {
  const small = await page.evaluate(() =>
    [...document.querySelectorAll('button, a.button, .files a, select, summary, input:not([type="checkbox"], [type="file"]), textarea, label:has(> input), [role="separator"]')]
      .filter((element) => element.checkVisibility({ visibilityProperty: true }) && !element.closest('[inert]'))
      .map((element) => [element, element.getBoundingClientRect()])
      .filter(([, { width, height }]) => width < 43.5 || height < 43.5)
      .map(([element, { width, height }]) => `${Math.round(width)}×${Math.round(height)} ${element.outerHTML.slice(0, 100)}`));
  assert.deepEqual(small, []);
}

describe('the playground on the smallest screen', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const withTurns = async (page) => {
    await hasStatus(await say(page, 'Reason about it.'), 'completed');
    await hasStatus(await say(page, '```js\nlet a = 1;\n```'), 'completed');
    const waiting = await say(page, 'Please read README.md.');
    await hasStatus(waiting, 'awaiting_tools');
    return waiting;
  };

  test('by keyboard alone each function is reached, in sight', async () => {
    const page = await playground.page({ viewport: SMALLEST });
    const press = (key) => page.keyboard.press(key);
    const to = async (wanted) => {
      for (let presses = 0; ; presses += 1) {
        const name = await page.evaluate(() => (document.activeElement.getAttribute('aria-label') ?? document.activeElement.textContent).trim());
        if (name.startsWith(wanted)) return;
        assert.ok(presses < MOST_PRESSES, `${wanted} is not reached`);
        await press('Tab');
      }
    };
    await withTurns(page);
    const names = await goRound(page);
    for (const name of ['Sessions', 'Mode: General', 'More', 'Conversation', 'Reasoning', 'Send result', 'Message', 'The agent waits for your answer', 'Stop']) {
      assert.ok(names.includes(name), `${name} is among ${names}`);
    }
    await goRound(page, 'Shift+Tab');
    await fits(page);
    for (const panel of ['Session', 'Context', 'Inspector', 'Break it', 'Retrieval']) {
      await to('More');
      await press('Enter');
      await to(panel);
      await press('Enter');
      await page.getByRole('complementary', { name: panel }).waitFor();
      // What comes later moves what has the focus.
      if (panel === 'Inspector') await page.getByText('tokens went into the newest of').waitFor();
      await goRound(page);
      await fits(page);
      await press('Escape');
      await page.getByRole('complementary', { name: panel }).waitFor({ state: 'detached' });
    }
    await to('More');
    await press('Enter');
    await to('Search in the conversation');
    await press('Enter');
    await page.waitForFunction(() => document.activeElement.id === 'find');
    await page.keyboard.insertText('reason');
    await page.getByRole('search').getByText(/^1 of/).waitFor();
    await goRound(page);
    await fits(page);
    await press('Escape');
    await page.getByRole('search').waitFor({ state: 'detached' });
    await to('Sessions');
    await press('Enter');
    await page.getByRole('searchbox', { name: 'Search sessions' }).waitFor();
    const list = await goRound(page);
    for (const name of ['Search sessions', 'New session', 'Sign in as a user', 'Theme', 'Keys', 'Erase Reason about it.']) assert.ok(list.some((each) => each.startsWith(name)), `${name} is among ${list}`);
    await assertAccessible(page);
  });

  test('an empty session begins with who answers, and has nothing newer to jump to', async () => {
    const page = await playground.page({ viewport: { ...SMALLEST, height: 480 } });
    const place = page.getByRole('region', { name: 'Conversation' });
    await page.getByText('Answers come from').waitFor();
    assert.equal(await place.evaluate((box) => box.scrollHeight > box.clientHeight + 100), true, 'it is longer than the screen');
    assert.equal(await place.evaluate(({ scrollTop }) => scrollTop), 0);
    await place.evaluate((box) => box.scrollTo(0, box.scrollHeight));
    await place.evaluate((box) => new Promise((passed) => (box.scrollBy(0, -60), setTimeout(passed, 100))));
    assert.equal(await page.getByRole('button', { name: 'Jump to the newest' }).count(), 0);
  });

  test('a long message leaves what sends it in sight, on a phone on its side and in a window at 400 %', async () => {
    for (const viewport of [{ width: 740, height: 320 }, { width: 320, height: 256 }]) {
      const page = await playground.page({ viewport });
      await page.getByRole('textbox', { name: 'Message' }).fill('One line.\n'.repeat(40));
      const { y, height } = await page.getByRole('button', { name: 'Send', exact: true }).boundingBox();
      assert.ok(y >= 0 && y + height <= viewport.height, `${y} to ${y + height} of ${viewport.height}`);
    }
  });

  test('what fingers press is large enough for them', async () => {
    const page = await playground.page({ viewport: SMALLEST, isTouched: true });
    assert.ok(await page.evaluate(() => matchMedia('(pointer: coarse)').matches));
    await page.getByLabel('Attach files').setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Notes\n') });
    await page.getByRole('list', { name: 'Attachments' }).waitFor();
    await assertFingers(page);
    // Enter breaks the line here.
    const send = async (words) => {
      await page.getByRole('textbox', { name: 'Message' }).fill(words);
      await page.getByRole('button', { name: 'Send', exact: true }).tap();
    };
    await send('Reason about it.');
    await hasStatus(page.locator('.turn').nth(0), 'completed');
    await send('```js\nlet a = 1;\n```');
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await send('Please read README.md.');
    await hasStatus(page.locator('.turn').nth(2), 'awaiting_tools');
    await assertFingers(page);
    await page.shot('smallest-touch-question');
    const actions = page.getByRole('toolbar').first();
    assert.equal((await actions.innerText()).replace(/\s+/g, ' '), 'Copy Regenerate Fork Compare Link');
    await fits(page);
    for (const panel of ['Session', 'Context', 'Inspector', 'Break it', 'Retrieval']) {
      await openPanel(page, panel);
      await page.getByRole('complementary', { name: panel }).waitFor();
      if (panel === 'Context') await page.getByRole('button', { name: 'Add a condition' }).tap();
      await assertFingers(page);
      await page.shot(`smallest-touch-${panel}`);
      await fits(page);
      await page.getByRole('button', { name: `Close ${panel}` }).tap();
    }
    await page.getByRole('button', { name: 'More', exact: true }).tap();
    await assertFingers(page);
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Search in the conversation' }).tap();
    await page.getByRole('search').waitFor();
    await assertFingers(page);
    await fits(page);
    await page.getByRole('button', { name: 'Close the search' }).tap();
    await page.getByRole('button', { name: 'Sessions', exact: true }).tap();
    await page.getByRole('searchbox', { name: 'Search sessions' }).waitFor();
    await assertFingers(page);
    await page.shot('smallest-touch-sessions');
    await fits(page);
    await page.getByRole('button', { name: 'Keys', exact: true }).tap();
    await page.getByRole('dialog', { name: 'Help' }).getByText('a tap chooses it for the inspector').waitFor();
    await assertFingers(page);
    await page.getByRole('button', { name: 'Close the help' }).tap();
    await page.getByRole('button', { name: 'Close the list of sessions' }).tap();
    await page.getByLabel('Result, as JSON or as plain text').fill('# First');
    await page.getByRole('button', { name: 'Send result' }).tap();
    await page.waitForFunction(() => document.activeElement.matches('.conversation'), undefined);
    await hasStatus(page.locator('.turn').nth(2), 'completed');
  });
});
