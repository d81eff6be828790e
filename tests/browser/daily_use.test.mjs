// The playground in daily use: where the focus goes, what Esc leaves, themes, panes, and where the conversation stands.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, busy, DESKTOP, done, hasStatus, Playground, say } from './playground.mjs';

/** What has the focus: its name, else its text, else its id. */
const focused = (page) =>
  page.evaluate(() => {
    const { activeElement: element } = document;
    return element.getAttribute('aria-label') ?? (element.textContent.trim() || element.id);
  });
/** Resolves when what has the focus begins like this. */
const hasFocus = (page, words) =>
  page.waitForFunction((wanted) => {
    const { activeElement: element } = document;
    return (element.getAttribute('aria-label') ?? (element.textContent.trim() || element.id)).startsWith(wanted);
  }, words);
const press = async (page, ...keys) => {
  for (const key of keys) await page.keyboard.press(key);
};
const box = (page) => page.getByRole('textbox', { name: 'Message' });

describe('the playground in daily use', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('what was answered or erased takes the focus along to where one goes on', async () => {
    const page = await playground.page();
    await page.getByRole('button', { name: 'Context' }).click();
    await page.getByRole('checkbox', { name: 'I answer every call by hand' }).check();
    await press(page, 'Escape');
    const turn = await say(page, 'Call the tool echo with the word one.');
    await hasStatus(turn, 'awaiting_tools');
    await turn.getByLabel('Result, as JSON or as plain text').fill('one');
    await turn.getByRole('button', { name: 'Send result' }).press('Enter');
    await hasFocus(page, 'Message');
    await hasStatus(turn, 'completed');
    const fault = await say(page, 'Call the tool echo with the word two.');
    await hasStatus(fault, 'awaiting_tools');
    await fault.getByRole('button', { name: 'Send as an error' }).click();
    await hasFocus(page, 'Message');

    await page.getByRole('button', { name: 'Erase Call the tool echo' }).press('Enter');
    await agree(page);
    await page.getByText('Sessions of this browser stand here.').waitFor();
    assert.notEqual(await focused(page), '', 'something has it');
  });

  test('Esc leaves one thing after the other, and stops the turn before it closes a panel beside it', async () => {
    const page = await playground.page();
    const panel = page.getByRole('complementary', { name: 'Inspector' });
    await page.getByRole('button', { name: 'Inspector' }).click();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await press(page, 'Control+/');
    const help = page.getByRole('dialog', { name: 'Keys' });
    for (const key of ['Enter', 'Esc', '↑', '?']) await help.getByText(key, { exact: true }).first().waitFor();
    await assertAccessible(page);
    await press(page, 'Escape');
    await help.waitFor({ state: 'detached' });
    await hasFocus(page, 'Message');
    await press(page, 'Control+k');
    await page.keyboard.type('slow');
    await press(page, 'Escape');
    await hasFocus(page, 'Message');
    assert.equal(await page.getByRole('searchbox', { name: 'Search sessions' }).inputValue(), '');
    assert.equal(await turn.getAttribute('data-status'), 'running');
    await press(page, 'Escape');
    await hasStatus(turn, 'aborted');
    assert.equal(await panel.count(), 1);
    await press(page, 'Escape');
    assert.equal(await panel.count(), 0);
    await page.getByRole('button', { name: 'Inspector' }).press('Enter');
    await hasFocus(page, 'Inspector, contents');
    await press(page, 'Escape');
    await panel.waitFor({ state: 'detached' });
    await hasFocus(page, 'Inspector');
    await page.getByRole('button', { name: 'Sign in as a user' }).click();
    await page.getByLabel('Any name that you make up').press('Escape');
    assert.equal(await page.getByLabel('Any name that you make up').count(), 0);
    await hasFocus(page, 'Sign in as a user');
  });

  test('what is typed at once goes into what was opened, from its first letter', async () => {
    const page = await playground.page();
    await done(page, 'What can you do?');
    for (const key of ['Control+k', 'Control+Shift+F']) {
      // With no pause, as fast fingers type.
      await press(page, key);
      await page.keyboard.type('stand');
      assert.equal(await page.evaluate(() => document.activeElement.value), 'stand', key);
      assert.equal(await box(page).inputValue(), '');
      await press(page, 'Escape');
    }
    await page.getByRole('button', { name: 'New session' }).click();
    await page.keyboard.type('one more');
    assert.equal(await box(page).inputValue(), 'one more');
    await page.getByRole('button', { name: 'Sign in as a user' }).click();
    await page.keyboard.type('ann');
    assert.equal(await page.getByLabel('Any name that you make up').inputValue(), 'ann');
  });

  test('the first answer of the service, however late, leaves the focus where it is', async () => {
    const page = await playground.page();
    let letThrough;
    const late = new Promise((resolve) => (letThrough = resolve));
    await page.route('**/openapi.json', async (route) => (await late, route.continue()));
    await page.reload();
    await page.getByRole('button', { name: 'Session', exact: true }).press('Enter');
    await hasFocus(page, 'Session, contents');
    letThrough();
    await page.getByText(/^Version /).waitFor();
    await hasFocus(page, 'Session, contents');
  });

  test('what is said before the first answer of the service stands behind what was said before', async () => {
    const page = await playground.page();
    await done(page, 'What can you do?');
    let letThrough;
    const late = new Promise((resolve) => (letThrough = resolve));
    await page.route('**/openapi.json', async (route) => (await late, route.continue()));
    await page.reload();
    await done(page, 'Think aloud.');
    letThrough();
    await page.locator('.turn').nth(1).waitFor();
    assert.deepEqual(await page.locator('.turn .question-bubble p').allInnerTexts(), ['What can you do?', 'Think aloud.']);
  });

  test('after each button of the message box one writes on there, and a double click on Send stops nothing, one on Stop sends nothing', async () => {
    const page = await playground.page();
    await box(page).fill('Give a slow answer.');
    await page.getByRole('button', { name: 'Send', exact: true }).dblclick();
    const turn = page.locator('.turn').first();
    await turn.getByText('This answer').waitFor();
    await hasFocus(page, 'Message');
    await page.keyboard.type('And be brief.');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await turn.locator('[data-steer="pending"]').waitFor();
    await hasFocus(page, 'Message');
    assert.equal(await turn.getAttribute('data-status'), 'running');
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    await hasFocus(page, 'Message');
    await page.keyboard.type('Half a thought');
    await page.getByRole('button', { name: 'Send', exact: true }).dispatchEvent('click', { detail: 2 });
    assert.equal(await box(page).inputValue(), 'Half a thought');
  });

  test('on a Mac Alt N is a letter where one writes, and begins a new session elsewhere', async () => {
    const page = await playground.page();
    await page.addInitScript(() => Object.defineProperty(navigator, 'platform', { value: 'MacIntel' }));
    await page.reload();
    await done(page, 'What can you do?');
    await box(page).fill('A draft');
    await press(page, 'Alt+n');
    assert.equal(await box(page).inputValue(), 'A draft');
    assert.equal(await page.locator('.turn').count(), 1);
    await page.getByRole('region', { name: 'Conversation' }).focus();
    await press(page, 'Alt+n');
    await page.getByText('What should the agent do?').waitFor();
  });

  test('a panel that a key opens has the focus, gives it back, and where it hides the sessions a button brings them', async () => {
    const page = await playground.page({ viewport: { width: 1024, height: 768 } });
    await page.getByRole('button', { name: 'Session', exact: true }).press('Enter');
    await hasFocus(page, 'Session, contents');
    await press(page, 'Shift+Tab', 'Enter');
    await hasFocus(page, 'Session');
    const sessions = page.getByRole('navigation', { name: 'Sessions' });
    assert.equal(await sessions.isVisible(), true);
    const back = page.getByRole('button', { name: 'Sessions', exact: true });
    assert.equal(await back.count(), 0);
    await page.getByRole('button', { name: 'Session', exact: true }).click();
    await sessions.waitFor({ state: 'hidden' });
    await back.click();
    await sessions.waitFor();
    await assertAccessible(page);
  });

  test('on a busy page the focus does not come back from where one has gone since', async () => {
    const page = await playground.page();
    await busy(page, 1000, { timers: false });
    await page.getByRole('button', { name: 'Session', exact: true }).press('Enter');
    assert.equal(await focused(page), 'Session, contents');
    await press(page, 'Control+k');
    await page.keyboard.type('stand');
    await page.waitForTimeout(1500);
    assert.equal(await page.evaluate(() => document.activeElement.value), 'stand');
  });

  test('an arrow brings the last questions back, `?` the help, which lies over the page', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await hasStatus(await say(page, 'Two\nlines.'), 'completed');
    const words = () => box(page).inputValue();
    await press(page, 'ArrowUp');
    assert.equal(await words(), 'Two\nlines.');
    await press(page, 'ArrowUp');
    assert.equal(await words(), 'Two\nlines.', 'it moves between the lines');
    await box(page).fill('');
    await box(page).pressSequentially('Of mine?');
    await press(page, 'ArrowUp');
    assert.equal(await words(), 'Of mine?');
    await box(page).fill('');
    await hasStatus(await say(page, 'Which word?'), 'completed');
    await press(page, 'ArrowUp');
    assert.equal(await words(), 'Which word?');
    await press(page, 'ArrowDown');
    assert.equal(await words(), '');
    assert.equal(await page.getByRole('dialog').count(), 0);
    await press(page, 'Shift+Tab', '?');
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
    await page.getByRole('button', { name: 'Close the help' }).click();
    await page.getByRole('button', { name: 'Keys', exact: true }).click();
    await page.getByRole('dialog', { name: 'Keys' }).waitFor();
  });

  test('a theme is chosen and kept, stands before the page is painted, and is that of each tab', async () => {
    const page = await playground.page({ colorScheme: 'light' });
    const background = (each = page) => each.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    const [LIGHT, DARK] = ['rgb(255, 255, 255)', 'rgb(17, 19, 23)'];
    assert.equal(await background(), LIGHT);
    const other = await page.context().newPage();
    await other.goto(page.url());
    await page.getByLabel('Theme').selectOption('Dark');
    assert.equal(await background(), DARK);
    await assertAccessible(page);
    await other.waitForFunction((dark) => getComputedStyle(document.documentElement).backgroundColor === dark, DARK);

    let goOn;
    const held = new Promise((resolve) => (goOn = resolve));
    await page.route(/playground\/page-.*\.js$/, async (route) => (await held, route.continue()));
    await page.reload({ waitUntil: 'commit' });
    await page.waitForFunction(() => document.styleSheets.length > 0 && document.body !== null);
    assert.equal(await page.locator('#app > *').count(), 0, 'the page itself has not come');
    assert.equal(await background(), DARK);
    assert.deepEqual(await page.locator('meta[name="theme-color"]').evaluateAll((all) => all.map(({ content }) => content)), ['#101216', '#101216']);
    goOn();
    await page.getByLabel('Theme').waitFor();
    assert.equal(await page.getByLabel('Theme').inputValue(), 'dark');
    await page.getByLabel('Theme').selectOption('System');
    assert.equal(await background(), LIGHT);
    await page.emulateMedia({ colorScheme: 'dark' });
    assert.equal(await background(), DARK);
    await page.getByLabel('Theme').selectOption('Light');
    assert.equal(await background(), LIGHT);
  });

  test('panes are as wide as one makes them, by pointer and by keyboard, and stay so', async () => {
    const page = await playground.page({ viewport: { width: 1400, height: 800 } });
    const width = (name) => page.locator(name).evaluate((element) => element.offsetWidth);
    const isWide = (name, wanted, give = 0) =>
      page.waitForFunction(
        ([name, wanted, give]) => Math.abs((document.querySelector(name)?.offsetWidth ?? -1000) - wanted) <= give,
        [name, wanted, give],
      );
    const sessions = page.getByRole('separator', { name: 'Width of the sessions' });
    const now = (of) => of.getAttribute('aria-valuenow').then(Number);
    assert.equal(await now(sessions), 264);
    const { x, y, height } = await sessions.boundingBox();
    await page.mouse.move(x + 4, y + height / 2);
    await page.mouse.down();
    await page.mouse.move(x + 64, y + height / 2, { steps: 3 });
    await page.mouse.up();
    await isWide('.sidebar', 324, 2);
    await page.getByRole('button', { name: 'Inspector' }).click();
    const panel = page.getByRole('separator', { name: 'Width of the panel' });
    await panel.focus();
    const before = await width('.panel');
    await press(page, 'ArrowLeft', 'ArrowLeft');
    await isWide('.panel', before + 32);
    await panel.and(page.locator(`[aria-valuenow="${before + 32}"]`)).waitFor();
    await assertAccessible(page);
    await page.reload();
    await page.getByRole('button', { name: 'Inspector' }).click();
    await isWide('.sidebar', 324, 2);
    await isWide('.panel', before + 32);
    await sessions.focus();
    await press(page, 'Home');
    await isWide('.sidebar', 200);
    await press(page, 'End');
    await isWide('.sidebar', 560);
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth), 0);
    await press(page, 'Enter');
    await isWide('.sidebar', 264);
    await page.setViewportSize({ width: 800, height: 800 });
    // On a small screen a pane covers the others.
    for (const each of [sessions, panel]) await each.waitFor({ state: 'detached' });
  });

  test('who reads further up is left there while an answer comes, and jumps back to it', async () => {
    const page = await playground.page({ viewport: { ...DESKTOP, height: 500 } });
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const jump = page.getByRole('button', { name: 'Jump to the newest' });
    const list = page.locator('.conversation');
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    assert.equal(await jump.count(), 0);
    await list.hover();
    // A little, which an end that is near would swallow.
    await page.mouse.wheel(0, -40);
    await page.waitForFunction(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.conversation');
      return scrollHeight - scrollTop - clientHeight > 30;
    });
    await page.mouse.wheel(0, -160);
    await jump.waitFor();
    const top = await list.evaluate(({ scrollTop }) => scrollTop);
    playground.goOn();
    await turn.getByText('slowly enough').waitFor();
    assert.equal(await list.evaluate(({ scrollTop }) => scrollTop), top);
    await assertAccessible(page);
    await jump.click();
    await hasFocus(page, 'Message');
    await jump.waitFor({ state: 'detached' });
    await hasStatus(turn, 'completed');
    await page.waitForFunction(() => {
      const { scrollHeight, scrollTop, clientHeight } = document.querySelector('.conversation');
      return scrollHeight - scrollTop - clientHeight <= 1;
    });
  });
});
