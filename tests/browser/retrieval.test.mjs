// The retrieval page in a real Chromium: a folder goes in as it is, and what is found is what a turn is given.
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { apiKeys } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, busy, hasStatus, openPanel, PHONE, Playground } from './playground.mjs';

const FILES = {
  'README.md': '# The zoo\n\nPelicans are fed at noon.\n',
  'src/feeding.rs': `${'// Who is fed, and when.\n'.repeat(3)}fn feed_pelican(fish: u32) -> u32 {\n    fish - 1\n}\n`,
  'src/long.rs': 'fn walk() {}\n'.repeat(200),
  'logo.png': Buffer.from([0x89, 0x50, 0, 0, 1]),
  '.git/config': '[core]\n',
  'node_modules/left/index.js': 'pelican();\n',
};

const KEY = 'key-of-the-panels';

describe('the retrieval page', { skip: withoutBrowser }, () => {
  let playground;
  let zoo;
  before(async () => {
    playground = await Playground.start();
    zoo = path.join(mkdtempSync(path.join(os.tmpdir(), 'retrieval-page-')), 'zoo');
    for (const [name, contents] of Object.entries(FILES)) {
      mkdirSync(path.dirname(path.join(zoo, name)), { recursive: true });
      writeFileSync(path.join(zoo, name), contents);
    }
  });
  afterEach(() => playground.closePages());
  after(async () => {
    await playground?.stop();
    if (zoo) rmSync(path.dirname(zoo), { recursive: true });
  });

  const panel = (page) => page.getByRole('complementary', { name: 'Retrieval' });
  const opened = async (options) => {
    const page = await playground.page(options);
    await openPanel(page, 'Retrieval');
    await assertAccessible(page);
    return page;
  };
  const upload = async (page, told) => {
    await panel(page).getByLabel('Choose a folder').setInputFiles(zoo);
    await panel(page).getByRole('status').filter({ hasText: told }).waitFor();
  };
  const search = async (page, words) => {
    await panel(page).getByLabel('What to search for').fill(words);
    await page.keyboard.press('Enter');
    const found = panel(page).getByRole('list', { name: 'Chunks that were found' });
    await panel(page).getByText(`chunks for “${words}”, best first`).waitFor();
    return found.locator('.chunk');
  };

  test('a folder is uploaded, its chunks seen, searched and given to a turn; again, only what has changed is sent', async () => {
    const page = await opened();
    await upload(page, '3 sent');
    const told = await panel(page).getByText('3 sent').innerText();
    for (const why of ['1 binary, or not UTF-8', '1 hidden', '1 built or installed']) assert.ok(told.includes(why), told);
    assert.equal(await panel(page).getByLabel('Workspace').inputValue(), 'zoo');
    const figures = await panel(page).locator('.figures dd').allInnerTexts();
    assert.deepEqual(figures, ['3', '5', String(Object.values(FILES).slice(0, 3).reduce((sum, { length }) => sum + length, 0).toLocaleString('en'))]);

    await panel(page).getByRole('button', { name: 'src/long.rs' }).click();
    const chunks = panel(page).getByRole('list', { name: 'Chunks of src/long.rs' });
    await chunks.getByText('Lines 161 to 200').waitFor();
    assert.equal(await chunks.locator('.chunk').count(), 3);
    await assertAccessible(page);
    await panel(page).getByRole('button', { name: 'src/long.rs' }).click();

    const found = await search(page, 'When is the pelican fed?');
    assert.equal(await found.count(), 2);
    assert.deepEqual((await found.locator('.place strong').allInnerTexts()).toSorted(), ['README.md', 'src/feeding.rs']);
    assert.ok((await found.locator('mark').allInnerTexts()).includes('pelican'));
    await assertAccessible(page);
    await page.shot('desktop-light-retrieval');
    await panel(page).getByRole('button', { name: 'Ask the agent this' }).click();
    const turn = page.locator('.turn');
    await hasStatus(turn, 'completed');
    await turn.getByText(/Context: .*src\/feeding\.rs/).waitFor();
    assert.match(await turn.getByText(/Context: /).innerText(), /README\.md/);
    assert.equal(await turn.locator('.question-bubble .chip').count(), 0);
    await page.reload();
    await hasStatus(turn, 'completed');
    assert.equal(await turn.locator('.question-bubble .chip').count(), 0, 'what was found was not attached');
    await openPanel(page, 'Retrieval');
    await panel(page).getByRole('heading', { name: 'Documents' }).waitFor();

    writeFileSync(path.join(zoo, 'src/walking.rs'), 'fn walk_llama() {}\n');
    rmSync(path.join(zoo, 'src/long.rs'));
    await panel(page).getByLabel('Remove what the folder does not have').check();
    await upload(page, '1 sent · 2 unchanged · 1 removed');
    await panel(page).getByRole('button', { name: 'src/walking.rs' }).waitFor();
    assert.equal(await panel(page).getByRole('button', { name: 'src/long.rs' }).count(), 0);
    await panel(page).getByRole('button', { name: 'Erase the workspace' }).click();
    await agree(page);
    await panel(page).getByRole('heading', { name: 'Documents' }).waitFor({ state: 'detached' });
  });

  test('files are dropped beside the message box, and are documents, not attachments', async () => {
    const page = await opened({ colorScheme: 'dark' });
    await panel(page).getByLabel('Workspace').fill('dropped');
    await panel(page).getByLabel('Workspace').press('Tab');
    const data = await page.evaluateHandle(() => {
      const transfer = new DataTransfer();
      transfer.items.add(new File(['A heron stands still.\n'], 'heron.md', { type: 'text/markdown' }));
      return transfer;
    });
    for (const type of ['dragover', 'drop']) await panel(page).locator('.take').dispatchEvent(type, { dataTransfer: data });
    await panel(page).getByText('1 sent').waitFor();
    await panel(page).getByRole('button', { name: 'heron.md' }).waitFor();
    assert.equal(await page.getByRole('list', { name: 'Attachments' }).count(), 0);
    assert.equal(await page.getByText('Drop files to attach them').count(), 0);
  });

  test('a folder that is read for long goes into the workspace that was named when it was given', async () => {
    const page = await opened();
    const name = async (words) => {
      await panel(page).getByLabel('Workspace').fill(words);
      await panel(page).getByLabel('Workspace').press('Tab');
    };
    await name('kept');
    await upload(page, 'sent');
    await name('long');
    await page.evaluate(() => {
      const { arrayBuffer } = File.prototype;
      const late = new Promise((resolve) => (window.read = resolve));
      File.prototype.arrayBuffer = async function () {
        await late;
        return arrayBuffer.call(this);
      };
    });
    await panel(page).getByLabel('Remove what the folder does not have').check();
    await panel(page).getByLabel('Choose files').setInputFiles({ name: 'heron.md', mimeType: 'text/markdown', buffer: Buffer.from('A heron.\n') });
    await panel(page).getByText('Reading the folder…').waitFor();
    await name('kept');
    await page.evaluate(() => window.read());
    await panel(page).getByText('Drop a folder or files here').waitFor();
    await panel(page).getByRole('button', { name: 'src/feeding.rs' }).waitFor();
    assert.equal(await panel(page).locator('.document').count(), 3);
    await name('long');
    await panel(page).getByRole('button', { name: 'heron.md' }).waitFor();
  });

  test('a folder is dropped with all that is in it', async () => {
    const page = await opened();
    const { x, y, width, height } = await panel(page).locator('.take').boundingBox();
    const at = { x: x + width / 2, y: y + height / 2 };
    const browser = await page.context().newCDPSession(page);
    const data = { items: [], files: [zoo], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop']) await browser.send('Input.dispatchDragEvent', { type, ...at, data });
    await panel(page).getByText('3 sent · left out: ').waitFor();
    await panel(page).getByRole('button', { name: 'src/feeding.rs' }).waitFor();
    assert.equal(await panel(page).getByLabel('Workspace').inputValue(), 'zoo');
    assert.equal(await panel(page).getByRole('button', { name: 'node_modules' }).count(), 0);
  });

  test('a page that is busy tells what was sent, too', async () => {
    const page = await opened();
    await busy(page, 2000);
    await upload(page, ' sent');
  });

  test('what a workspace held before an upload does not come back where it is told late', async () => {
    const page = await opened();
    await panel(page).getByLabel('Workspace').fill('late');
    await panel(page).getByLabel('Workspace').press('Tab');
    await panel(page).getByText('documents', { exact: true }).waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers();
    const isLate = (route) => route.fetch().then(async (response) => (await released, route.fulfill({ response })));
    // The look of a panel that is opened anew.
    await page.route(/\/workspaces\/late$/, isLate, { times: 1 });
    await openPanel(page, 'Session');
    const asked = page.waitForRequest(/\/workspaces\/late$/);
    await openPanel(page, 'Retrieval');
    await asked;
    await upload(page, 'sent');
    await panel(page).getByRole('heading', { name: 'Documents' }).waitFor();
    release();
    await page.waitForTimeout(500);
    assert.equal(await panel(page).locator('.document').count(), 3);
  });

  test('a search within a scope says that it was, where nothing is found', async () => {
    const page = await opened();
    await upload(page, 'sent');
    await openPanel(page, 'Context');
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Key of condition 1').fill('Path');
    await page.getByLabel('Values of condition 1').fill('elsewhere.md');
    await openPanel(page, 'Retrieval');
    await panel(page).getByLabel('What to search for').fill('pelican');
    await page.keyboard.press('Enter');
    await panel(page).getByText('Nothing in this scope has any of these words.').waitFor();
    await panel(page).getByLabel('Within the scope of the context').uncheck();
    await search(page, 'pelican');
  });

  test('of more documents than the service names, and more chunks than it finds, it is said that there are', async () => {
    const page = await opened();
    const told = (Result) => (route) => route.fulfill({ json: { Successful: true, Result, Errors: [], Warnings: [] } });
    const Chunks = Array.from({ length: 100 }, (_, at) => ({ Path: '0.md', StartLine: at + 1, EndLine: at + 1, Text: 'A line.\n' }));
    await page.route(/\/workspaces\/large$/, told({ Documents: 25_000, Chunks: 30_000, Bytes: 1_000_000 }));
    await page.route(/\/workspaces\/large\/compare$/, told({ Needed: [], Extra: Array.from({ length: 501 }, (_, at) => `${at}.md`) }));
    await page.route(/\/workspaces\/large\/search/, told({ Chunks }));
    await panel(page).getByLabel('Workspace').fill('large');
    await panel(page).getByLabel('Workspace').press('Tab');
    await panel(page).getByText('The first 500 of 25,000 are shown.').waitFor();
    await panel(page).getByRole('button', { name: '0.md', exact: true }).click();
    await panel(page).getByText('the best 100 chunks').waitFor();
  });

  test('where the service explains a score, the terms, their fields and the sum are shown', async () => {
    const page = await opened({ viewport: PHONE });
    const Explain = { Chunk: 3.5, Document: 1.25, Place: 1, Terms: [{ Term: 'pelican', Score: 2.5, Fields: ['Text', 'Path'] }] };
    const asked = [];
    await page.route(/\/search\?/, async (route) => {
      asked.push(new URL(route.request().url()).search);
      const response = await route.fetch();
      const json = await response.json();
      for (const chunk of json.Result.Chunks) Object.assign(chunk, { Score: 1.1875, Explain });
      await route.fulfill({ response, json });
    });
    await upload(page, 'sent');
    const found = (await search(page, 'pelican')).first();
    assert.deepEqual(asked, ['?Explain=true']);
    assert.equal(await found.locator('.why li').innerText(), 'pelican 2.50 text, path');
    await found.getByText('3.50 for its own text and 1.25 for its document, divided by 4: better chunks of this document: 1').waitFor();
    await found.getByRole('meter', { name: 'Score 1.19 of at best 1.19' }).waitFor();
    await assertAccessible(page);
    await found.scrollIntoViewIfNeeded();
    await page.shot('phone-light-retrieval');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });

  test('what was sent before an upload has failed is shown', async () => {
    const page = await opened({ expected: [/status of 403/] });
    await panel(page).getByLabel('Workspace').fill('half');
    await panel(page).getByLabel('Workspace').press('Tab');
    await page.waitForLoadState('networkidle');
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'No more of them.', SystemError: false }], Warnings: [] };
    await page.route(/\/documents$/, async (route) => (await route.fetch(), route.fulfill({ status: 403, json: refusal })), { times: 1 });
    await panel(page).getByLabel('Choose a folder').setInputFiles(zoo);
    await panel(page).getByRole('alert').getByText('No more of them.').waitFor();
    await panel(page).locator('.document').first().waitFor();
    assert.equal(await panel(page).getByRole('alert').count(), 1);
  });

  test('why an upload has failed stays told on a busy page', async () => {
    const page = await opened({ expected: [/status of 403/] });
    await busy(page, 1000);
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'Not into this one.', SystemError: false }], Warnings: [] };
    await page.route(/\/compare$/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await panel(page).getByLabel('Choose a folder').setInputFiles(zoo);
    await panel(page).getByRole('alert').getByText('Not into this one.').waitFor();
    // The panel has looked by then.
    await panel(page).getByText('documents', { exact: true }).waitFor();
    assert.equal(await panel(page).getByRole('alert').count(), 1);
  });

  test('a search that the service puts off is made again, and what is no answer of its own is told as that', async () => {
    const page = await opened({ expected: [/status of 403/, /status of 429/] });
    await upload(page, /sent|unchanged/);
    const later = { Successful: false, Errors: [{ ErrorCode: 'rate_limited', Message: 'Later.', SystemError: false }], Warnings: [] };
    await page.route(/\/search\?/, (route) => route.fulfill({ status: 429, json: later }), { times: 1 });
    await search(page, 'pelican');
    await page.route(/\/search\?/, (route) => route.fulfill({ status: 403, body: '<h1>Not from here</h1>' }), { times: 1 });
    await panel(page).getByLabel('What to search for').fill('noon');
    await page.keyboard.press('Enter');
    await panel(page).getByRole('alert').getByText("The answer of status 403 is not the service's.").waitFor();
  });

  test('what was found is of the workspace that is named, and of the newest search', async () => {
    const page = await opened({ expected: [/status of 503/] });
    await upload(page, /sent|unchanged/);
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/\/search\?/, async (route) => (await held, route.continue()), { times: 1 });
    const late = page.waitForResponse((response) => response.url().includes('/search') && response.request().postDataJSON().Query === 'walk');
    await panel(page).getByLabel('What to search for').fill('walk');
    await page.keyboard.press('Enter');
    await search(page, 'When is the pelican fed?');
    release();
    await late;
    await page.waitForTimeout(500);
    await panel(page).getByText('chunks for “When is the pelican fed?”, best first').waitFor({ timeout: 1000 });
    // Whatever is there of another workspace, and also where that cannot be asked for.
    await page.route(/\/workspaces\/other/, (route) => route.fulfill({ status: 503, json: { Successful: false, Errors: [{ ErrorCode: 'overloaded', Message: 'Not now.', SystemError: true }], Warnings: [] } }));
    await panel(page).getByLabel('Workspace').fill('other');
    await panel(page).getByLabel('Workspace').press('Tab');
    await panel(page).getByRole('alert').waitFor();
    assert.deepEqual([await panel(page).locator('.chunk').count(), await panel(page).locator('.document').count(), await panel(page).locator('.figures').count()], [0, 0, 0]);
  });
});

test('with a key the panels work as without one', { skip: withoutBrowser }, async () => {
  const playground = await Playground.start({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }) } });
  try {
    const page = await playground.page();
    await page.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Retrieval' }).click();
    await page.getByLabel('Choose files').setInputFiles({ name: 'heron.md', mimeType: 'text/markdown', buffer: Buffer.from('A heron.\n') });
    await page.getByText('1 sent').waitFor();
    await page.getByLabel('What to search for').fill('heron');
    await page.keyboard.press('Enter');
    await page.getByText('1 chunk for “heron”').waitFor();
    await page.getByRole('button', { name: 'Break it' }).click();
    await page.getByRole('button', { name: 'Try it: Send the same request' }).click();
    await page.locator('[data-trial="five"]:is([data-state="held"], [data-state="failed"])').waitFor();
    assert.equal(await page.locator('[data-trial="five"]').getAttribute('data-state'), 'held');
    await page.getByRole('button', { name: 'Inspector' }).click();
    await page.getByText('The request as code').click();
    const code = page.locator('.fold[open] pre');
    assert.match(await code.innerText(), /-H "Authorization: Bearer \$APTIX_KEY"/);
    assert.ok(!(await page.content()).includes(KEY));
    await playground.closePages();
  } finally {
    await playground.stop();
  }
});
