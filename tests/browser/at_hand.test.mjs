// What the playground tells whoever sees it for the first time, and whoever has looked away.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { answer, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, DESKTOP, hasStatus, PHONE, Playground, say, signIn } from './playground.mjs';

/** Has the page believe that it is hidden, or looked at again. */
const hide = (page, isHidden) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
const title = (page, begin) => page.waitForFunction((words) => document.title.startsWith(words), begin);

describe('the playground at hand', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ wordMs: 8 });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('an empty session says who answers under which context, and leads to what no icon tells', async () => {
    const page = await playground.page();
    await page.getByText('under the context default').waitFor();
    await assertAccessible(page);
    for (const name of ['Inspector', 'Break it']) {
      const button = page.getByRole('button', { name, exact: true });
      assert.ok((await button.innerText()).includes(name), 'in words');
    }
    for (const [invites, panel] of [['See inside', 'Inspector'], ['Cut it off in the middle', 'Break it']]) {
      await page.getByRole('button', { name: invites }).click();
      await page.getByRole('complementary', { name: panel }).waitFor();
    }
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: 'Close Break it' }).click();
    await page.getByRole('button', { name: 'See inside' }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is wider than a phone');
    await page.setViewportSize(DESKTOP);
  });

  test('a heading of any depth is as large as the text, and a break in a cell breaks the line', async () => {
    const rig = await Playground.start({ catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
    try {
      const page = await rig.page();
      rig.rig.model.script(answer(text('#### Deep\n\n###### Deeper\n\n| a |\n|---|\n| one<br>two <b>x</b> |\n\nH<sub>2</sub>O, words.[^1] Not [^0-9].\n\n[^1]: https://example.com/source')));
      const turn = await say(page, 'Tell me.');
      await hasStatus(turn, 'completed');
      const sizes = await turn.locator('.markdown :is(h5, h6, p)').evaluateAll((all) => all.map((each) => parseFloat(getComputedStyle(each).fontSize)));
      assert.ok(sizes.length >= 3 && sizes.every((size) => size >= sizes.at(-1)), `${sizes}`);
      const told = await turn.locator('.markdown :is(h3, h4, h5, h6)').evaluateAll((all) => all.map((each) => each.ariaLevel));
      assert.deepEqual(told, ['3', '4'], 'no level is left out');
      await assertAccessible(page);
      assert.equal(await turn.locator('td').innerText(), 'one\ntwo <b>x</b>');
      assert.equal(await turn.locator('sub').innerText(), '2');
      assert.deepEqual(await turn.locator('sup').allInnerTexts(), ['1', '1'], 'the sign of a footnote, and its text');
      assert.equal(await turn.getByRole('link', { name: 'https://example.com/source' }).count(), 1);
      await turn.getByText('Not [^0-9].').waitFor();
    } finally {
      await rig.closePages();
      await rig.stop();
    }
  });

  test('A and R decide about a call whose card has the focus, and no letter that is written does', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_postcard with the word Ann.');
    await hasStatus(turn, 'awaiting_tools');
    const reason = turn.getByLabel('Reason, if you refuse');
    await reason.pressSequentially('a rare reason');
    await turn.locator('[data-step]').count();
    assert.ok(await turn.getByRole('button', { name: 'Approve' }).isVisible(), 'what is written decides nothing');
    await reason.press('Enter');
    await hasStatus(turn, 'completed');
    await turn.getByText('refused', { exact: false }).first().waitFor();

    const next = await say(page, 'Call the tool send_postcard with the word Bob.');
    await hasStatus(next, 'awaiting_tools');
    await next.locator('.question').focus();
    await page.keyboard.press('Control+a');
    assert.ok(await next.getByRole('button', { name: 'Approve' }).isVisible());
    await page.keyboard.press('a');
    await hasStatus(next, 'completed');
    await next.getByText('approved', { exact: false }).first().waitFor();
  });

  test('the title tells a page that is not looked at that its turn has ended, or waits', async () => {
    const page = await playground.page();
    await hide(page, true);
    const turn = await say(page, 'Call the tool send_postcard with the word Eve.');
    await title(page, '? ');
    await hide(page, false);
    await title(page, 'Call the tool');
    await hide(page, true);
    await turn.getByRole('button', { name: 'Approve' }).click();
    await title(page, '✓ ');
    await hide(page, false);
    await title(page, 'Call the tool');
  });

  test('a session that waits has a dot in the list of its user', async () => {
    const page = await playground.page();
    await signIn(page, 'dora');
    const turn = await say(page, 'Call the tool send_postcard with the word Joe.');
    await hasStatus(turn, 'awaiting_tools');
    await page.getByRole('button', { name: 'New session' }).click();
    await page.locator('.sessions .dot.awaiting_approval').waitFor();
  });
});
