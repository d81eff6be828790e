// What is typed and not sent, and what is set: by session, kept over reloads, gone when it is sent, and nobody else's.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { agree, hasStatus, Playground, say, signIn } from './playground.mjs';

const TICKET_KEYS = JSON.stringify([{ Id: 'tests', Secret: Buffer.alloc(32, 7).toString('base64') }]);
const FILE = { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Of pelicans\n') };

const box = (page) => page.getByRole('textbox', { name: 'Message' });
const words = (page) => box(page).inputValue();
const stored = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
const openSession = (page, title) => page.locator('.session').filter({ hasText: title }).click();
const startNew = (page) => page.keyboard.press('Alt+n');

/** Resolves when the field with this label says this. */
const holds = (page, label, value) =>
  page.waitForFunction(([words, wanted]) => [...document.querySelectorAll('label')].some(({ textContent, control }) => textContent === words && control.value === wanted), [label, value]);

/** Resolves when the message box says this. */
const says = (page, wanted) => page.waitForFunction((text) => document.getElementById('message').value === text, wanted);

describe('drafts and settings', { skip: withoutBrowser }, () => {
  let playground;
  let address;

  before(async () => {
    playground = await Playground.start({ vars: { TICKET_KEYS }, tickets: true });
    address = `?tickets=${playground.ticketPort}`;
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('each session has its own draft, over reloads and in a new session, until it is sent', async () => {
    const page = await playground.page();
    await box(page).fill('A draft of no session yet');
    await page.reload();
    await says(page, 'A draft of no session yet');
    await hasStatus(await say(page, 'The first one.'), 'completed');
    assert.equal(await words(page), '');
    await box(page).fill('More for the first one');
    await startNew(page);
    await says(page, '');
    await page.getByLabel('Attach files').setInputFiles(FILE);
    await page.getByRole('list', { name: 'Attachments' }).waitFor();
    await box(page).fill('Something new');
    await openSession(page, 'The first one.');
    await says(page, 'More for the first one');
    assert.equal(await page.getByRole('list', { name: 'Attachments' }).count(), 0);
    await startNew(page);
    await says(page, 'Something new');
    await page.getByRole('list', { name: 'Attachments' }).getByText('notes.md').waitFor();
    await openSession(page, 'The first one.');
    await page.reload();
    await says(page, 'More for the first one');

    const other = await page.context().newPage();
    await other.goto(page.url());
    await says(other, 'More for the first one');
    // What the other tab has written this one writes no more: it may come late, and that one be further on.
    await page.evaluate(() => {
      const { setItem } = Storage.prototype;
      window.written = [];
      Storage.prototype.setItem = function (...given) {
        window.written.push(given[0]);
        return setItem.apply(this, given);
      };
    });
    await box(other).fill('More, and more');
    await says(page, 'More, and more');
    assert.deepEqual(await page.evaluate(() => window.written.filter((key) => key.includes('unsent'))), []);
    await hasStatus(page.locator('.turn').last(), 'completed');
    await page.keyboard.press('Enter');
    await page.locator('.turn').nth(1).waitFor();
    await says(other, '');
    await page.reload();
    await page.locator('.turn').nth(1).waitFor();
    assert.equal(await words(page), '');
    assert.doesNotMatch(await stored(page), /More, and more|Of pelicans/);
  });

  test('what is attached goes with the words that are written with it, and with no others', async () => {
    const page = await playground.page();
    const attached = page.getByRole('list', { name: 'Attachments' }).getByText('notes.md');
    await page.getByLabel('Attach files').setInputFiles(FILE);
    await attached.waitFor();
    await page.getByRole('button', { name: 'What can you do? a streamed answer' }).click();
    const turns = page.locator('.turn');
    await hasStatus(turns.nth(0), 'completed');
    await page.getByRole('button', { name: 'Mode: General' }).click();
    await page.getByRole('button', { name: /^DDR/ }).click();
    await hasStatus(turns.nth(1), 'completed');
    assert.deepEqual([await page.locator('.turn .chip').count(), await attached.count()], [0, 1]);
    await hasStatus(await say(page, 'What is in it?'), 'completed');
    await turns.nth(2).locator('.question-bubble').getByText('notes.md').waitFor();
    assert.equal(await attached.count(), 0);
  });

  test('a file that is still being read stays where it was attached, is of nobody else, and is attached once', async () => {
    const page = await playground.page({ address });
    const attached = page.getByRole('list', { name: 'Attachments' });
    const slowDisk = () =>
      page.evaluate(() => {
        const { arrayBuffer } = File.prototype;
        const late = new Promise((resolve) => (window.read = resolve));
        File.prototype.arrayBuffer = async function () {
          await late;
          return arrayBuffer.call(this);
        };
      });
    await hasStatus(await say(page, 'The first one.'), 'completed');
    await startNew(page);
    await slowDisk();
    await page.getByLabel('Attach files').setInputFiles(FILE);
    await openSession(page, 'The first one.');
    await page.locator('.turn').waitFor();
    await hasStatus(await say(page, 'It waits for no file.'), 'completed');
    await page.evaluate(() => window.read());
    await page.waitForTimeout(200);
    assert.equal(await attached.count(), 0);
    await startNew(page);
    await attached.getByText('notes.md').waitFor();
    await hasStatus(await say(page, 'What is in it?'), 'completed');
    await startNew(page);
    assert.equal(await attached.count(), 0);

    await slowDisk();
    await page.getByLabel('Attach files').setInputFiles({ ...FILE, name: 'secret.md' });
    await signIn(page, 'eve');
    await page.evaluate(() => window.read());
    await page.waitForTimeout(200);
    assert.equal(await page.getByText('secret.md').count(), 0);
  });

  test('what is set belongs to its session; a new one begins with what is set, and a solution context that was sent is kept nowhere', async () => {
    const page = await playground.page();
    const field = (label) => page.getByLabel(label);
    await page.getByRole('button', { name: 'Context' }).click();
    await field('Workspace').fill('zoo');
    await field('Text about the whole solution').fill('A zoo in Rust.');
    await page.getByRole('checkbox', { name: 'echo' }).uncheck();
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await field('Key of condition 1').fill('Path');
    await field('Values of condition 1').fill('src/');
    await page.reload();
    await page.getByRole('button', { name: 'Context' }).click();
    assert.equal(await field('Workspace').inputValue(), 'zoo');
    assert.equal(await field('Text about the whole solution').inputValue(), 'A zoo in Rust.');
    const request = page.waitForRequest(/\/execute/);
    await hasStatus(await say(page, 'Of the zoo.'), 'completed');
    const sent = (await request).postDataJSON();
    assert.deepEqual([sent.WorkspaceId, sent.SolutionContextText, sent.RagScope.Conditions[0].Values], ['zoo', 'A zoo in Rust.', ['src/']]);
    assert.doesNotMatch(sent.ToolsJson, /"echo"/);
    assert.doesNotMatch(await stored(page), /A zoo in Rust/);

    await startNew(page);
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...localStorage })), /A zoo in Rust/);
    assert.equal(await field('Workspace').inputValue(), 'zoo');
    assert.equal(await field('Text about the whole solution').inputValue(), 'A zoo in Rust.');
    await field('Workspace').fill('park');
    await field('Text about the whole solution').fill('');
    await page.getByRole('checkbox', { name: 'echo' }).check();
    await hasStatus(await say(page, 'Of the park.'), 'completed');
    await openSession(page, 'Of the zoo.');
    await page.locator('.turn').waitFor();
    await holds(page, 'Text about the whole solution', 'A zoo in Rust.');
    assert.equal(await field('Workspace').inputValue(), 'zoo');
    assert.equal(await page.getByRole('checkbox', { name: 'echo' }).isChecked(), false);
    assert.equal(await field('Values of condition 1').inputValue(), 'src/');
    await page.reload();
    await page.getByRole('button', { name: 'Context' }).click();
    assert.equal(await field('Workspace').inputValue(), 'zoo');
    await openSession(page, 'Of the park.');
    await holds(page, 'Workspace', 'park');

    for (const title of ['Of the zoo.', 'Of the park.']) {
      await page.getByRole('button', { name: `Erase ${title}` }).click();
      await agree(page);
    }
    await page.getByText('Sessions of this browser stand here.').waitFor();
    assert.doesNotMatch(await page.evaluate(() => Object.keys(localStorage).join()), /unsent/);
  });

  test('a draft of 200 KB is neither laid out nor written with each key, and a reload has all of it', async () => {
    const page = await playground.page();
    const box = page.getByLabel('Message', { exact: true });
    const long = 'All work and no play. '.repeat(9000);
    await box.fill(long);
    await page.waitForFunction(() => Object.values({ ...sessionStorage }).some((kept) => kept.length > 190_000));
    await page.evaluate(() => {
      window.counted = { written: 0, laidOut: 0 };
      const { setItem } = Storage.prototype;
      Storage.prototype.setItem = function (...given) {
        if (given[1].length > 190_000) window.counted.written += 1;
        return setItem.apply(this, given);
      };
      const { get } = Object.getOwnPropertyDescriptor(Element.prototype, 'scrollHeight');
      Object.defineProperty(Element.prototype, 'scrollHeight', { get() {
        if (this.id === 'message') window.counted.laidOut += 1;
        return get.call(this);
      } });
      // As fast as keys come, without a wait for each.
      const message = document.getElementById('message');
      message.focus();
      for (const letter of 'Johnny') {
        message.value += letter;
        message.dispatchEvent(new InputEvent('input', { bubbles: true }));
      }
    });
    const { written, laidOut } = await page.evaluate(() => window.counted);
    assert.ok(written <= 1 && laidOut === 0, `written ${written} times, laid out ${laidOut} times`);
    await page.reload();
    await page.waitForFunction((whole) => document.getElementById('message')?.value === whole, `${long}Johnny`);
    assert.equal(await box.evaluate(({ clientHeight }) => clientHeight > 200), true, 'the box is as high as it gets');
  });

  test('what a user typed, attached and set stays in the tab, and is gone for the next one who sits there', async () => {
    const page = await playground.page({ address });
    await box(page).fill('Of nobody');
    await signIn(page, 'ann');
    await page.getByText('Sessions of ann stand here.').waitFor();
    await says(page, '');
    await hasStatus(await say(page, 'I am Ann.'), 'completed');
    await box(page).fill('A secret of Ann');
    await page.reload();
    await says(page, 'A secret of Ann');
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...localStorage })), /secret/);
    await page.getByLabel('Attach files').setInputFiles(FILE);
    await page.getByRole('list', { name: 'Attachments' }).waitFor();
    await page.getByRole('button', { name: 'Context' }).click();
    await page.getByLabel('Workspace').fill('of-ann');
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('of Ann');
    await page.keyboard.press('Control+Shift+F');
    await page.getByRole('searchbox', { name: 'Search in the conversation' }).fill('of Ann');
    await page.getByRole('button', { name: 'ann', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await says(page, 'Of nobody');
    assert.equal(await page.getByRole('searchbox', { name: 'Search sessions' }).inputValue(), '');
    assert.equal(await page.getByRole('search').count(), 0);
    await signIn(page, 'bob');
    await page.getByText('Sessions of bob stand here.').waitFor();
    await says(page, '');
    assert.equal(await page.getByLabel('Workspace').inputValue(), '');
    assert.equal(await page.getByText('notes.md').count(), 0);
    assert.doesNotMatch(await stored(page), /secret|of-ann/);
  });
});
