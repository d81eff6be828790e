// What must not break the page for good: a browser that keeps nothing, and texts that a model writes to be drawn with effort.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { answer, call, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { hasStatus, openPanel, Playground, say } from './playground.mjs';

const nested = (marks, times) => Array.from({ length: times }, (_, at) => marks[at % marks.length]).join('');
/** What is nested so deep, or asks so often where something ends, that it cannot be drawn as it is meant. */
const TEXTS = {
  'lists in lists': '1. '.repeat(1500),
  'quotations in quotations': '> '.repeat(2000),
  'quotations without spaces': '>'.repeat(40_000),
  'a row of dashes': '- '.repeat(20_000),
  'dashes before a word': `${'- '.repeat(20_000)}x`,
  'lists and quotations': '> - 1. '.repeat(6000),
  'emphasis in emphasis': `${nested(['**b ', '*a '], 4000)}x${nested(['* ', '** '], 4000)}`,
  'emphasis in emphasis, closed': `${'*a _b '.repeat(4000)}${' c_ d*'.repeat(4000)}`,
  'a word between stars': `${'*'.repeat(20_000)}a${'*'.repeat(20_000)}`,
  'links in links': `${'[a '.repeat(5000)}${'](/b)'.repeat(5000)}`,
  'formulas without an end': '\\('.repeat(100_000),
  'formulas by themselves without an end': '\\[\n'.repeat(40_000),
  'instructions of XML without an end': 'a <?'.repeat(40_000),
};
/** The longest that one may take until the next answer stands below it, in ms. */
const LONGEST_MS = 15_000;

/** A browser in which site data is blocked: whoever asks for a storage is refused. */
const withoutStorage = () => {
  for (const name of ['localStorage', 'sessionStorage']) {
    Object.defineProperty(globalThis, name, {
      get() {
        throw new DOMException(`Failed to read the '${name}' property from 'Window': Access is denied for this document.`, 'SecurityError');
      },
    });
  }
  // As in Firefox.
  globalThis.BroadcastChannel = function () {
    throw new DOMException('The operation is insecure.', 'SecurityError');
  };
};
/** A browser without room for more. */
const withFullStorage = () => {
  Storage.prototype.setItem = () => {
    throw new DOMException('The quota has been exceeded.', 'QuotaExceededError');
  };
};

describe('the page', { skip: withoutBrowser }, () => {
  let playground, rig;
  before(async () => {
    playground = await Playground.start({ catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
    rig = playground.rig;
  });
  afterEach(async () => {
    await playground.closePages();
    rig.clear();
  });
  after(() => playground?.stop());

  /** A page whose browser is as this makes it. */
  const pageWith = async (made, options = {}) => {
    const page = await playground.page(options);
    await page.addInitScript(made);
    await page.goto('about:blank');
    await page.goto(new URL('/', rig.url).href);
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    return page;
  };

  for (const [name, made] of Object.entries({ 'site data is blocked': withoutStorage, 'the storage is full': withFullStorage })) {
    test(`works where ${name}: it talks, answers calls, keeps drafts for as long as it is open, and signs in`, async () => {
      const page = await pageWith(made, { expected: [/ERR_INTERNET_DISCONNECTED/] });
      rig.model.script(answer(call('read_file', ['{"path":"a"}'])), answer(text('Done.')), answer(text('Again.')));
      const turn = await say(page, 'Read.');
      await hasStatus(turn, 'awaiting_tools');
      await page.context().setOffline(true);
      await turn.getByLabel('Result, as JSON or as plain text').fill('a');
      await turn.getByRole('button', { name: 'Send result' }).click();
      // Nothing is promised that the browser does not keep.
      await turn.getByText('A reload would lose it').waitFor();
      await page.context().setOffline(false);
      await hasStatus(turn, 'completed');
      await page.context().setOffline(true);
      const second = await say(page, 'Again.');
      await second.getByText('A reload would lose it').waitFor();
      await page.context().setOffline(false);
      await hasStatus(second, 'completed');
      const box = page.getByRole('textbox', { name: 'Message' });
      await box.fill('A draft');
      await page.keyboard.press('Alt+n');
      await page.waitForFunction(() => document.getElementById('message').value === '');
      await page.locator('button.session').filter({ hasText: 'Read.' }).click();
      await page.waitForFunction(() => document.getElementById('message').value === 'A draft');
      await openPanel(page, 'Context');
      await page.getByRole('button', { name: 'Sign in as a user' }).click();
      await page.getByLabel('Any name that you make up').fill('ann');
      await page.keyboard.press('Enter');
      await page.getByText('Sessions of ann stand here.').waitFor();
      await page.getByRole('combobox', { name: 'Theme' }).selectOption('dark');
      assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark');
    });
  }

  test('keeps the list of sessions where there is no room for a longer one', async () => {
    const earlier = { id: 'of-before', title: 'Said before', at: 1_700_000_000_000 };
    const page = await playground.page({ kept: { 'aptix-edge.sessions': JSON.stringify([earlier]) } });
    const other = await playground.tab(page);
    await page.evaluate(withFullStorage);
    rig.model.script(answer(text('Done.')));
    await hasStatus(await say(page, 'One more.'), 'completed');
    assert.equal(await page.locator('button.session').count(), 2);
    assert.match(await page.evaluate(() => localStorage.getItem('aptix-edge.sessions')), /Said before/);
    await other.locator('button.session').filter({ hasText: 'Said before' }).waitFor({ timeout: 1000 });
  });

  test('shows what cannot be drawn as it is written, and goes on, also after a reload', async () => {
    const page = await playground.page();
    for (const [name, hostile] of Object.entries(TEXTS)) {
      rig.model.script(answer(text(hostile)), answer(text('Still here.')));
      const began = Date.now();
      await hasStatus(await say(page, name), 'completed');
      const next = await say(page, 'And now?');
      await hasStatus(next, 'completed');
      await next.getByText('Still here.').waitFor();
      const took = Date.now() - began;
      console.log(`${name}: ${took} ms`);
      assert.ok(took < LONGEST_MS, `${name} took ${took} ms`);
    }
    await page.reload();
    await page.locator('.turn').nth(2 * Object.keys(TEXTS).length - 1).waitFor();
    assert.equal(await page.getByText('Still here.').count(), Object.keys(TEXTS).length);
    // What is nested beyond the bounds stands in its innermost place.
    const deep = page.locator('.turn').nth(2).locator('blockquote').last();
    assert.match(await deep.innerText(), /^(> ?){1000,}$/);
    assert.ok((await page.locator('.turn').nth(2).locator('blockquote').count()) < 50);
  });
});
