// A long table for its reader, for a screen reader and for whoever copies it: one table, although its rows are boxes of their own.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { answer, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, Playground, say } from './playground.mjs';

const COUNT = 130;
const row = (cells) => `| ${cells.join(' | ')} |\n`;
const table = (head, cells) => row(head) + row(head.map(() => '---')) + Array.from({ length: COUNT }, (_, at) => row(cells(at))).join('');
const PLAIN = table(['Name', 'Share', 'Remark'], (at) => [`row ${at}`, `**${at}** percent`, `words for ${at}`]);
const MATH = table(['Name', 'Share'], (at) => [`row ${at}`, `$x_{${at}}$`]);
const UNEVEN = table(['Name', 'Another', 'Remark'], (at) => [`row ${at}`, `another_${at}`, `some more words than there are in the other columns, for ${at}`]);
const WIDE = table(
  Array.from({ length: 9 }, (_, at) => `Column_number_${at}`),
  (at) => Array.from({ length: 9 }, (_, column) => `value_${column}_${at}`),
);

describe('a long table', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const shown = async (markdown, options) => {
    const page = await playground.page(options);
    playground.rig.model.script(answer(text(...markdown.match(/[^]{1,400}/g))));
    const turn = await say(page, 'Tell me.');
    await hasStatus(turn, 'completed');
    await page.waitForFunction((count) => document.querySelectorAll('.turn tbody tr').length === count, COUNT);
    return { page, turn };
  };
  /** The left edges of the cells of each row, in whole pixels; one text for all rows that stand in the same columns. */
  const edges = (page) =>
    page.evaluate(() => [...new Set([...document.querySelectorAll('.turn tr')].map((each) => [...each.cells].map((cell) => Math.round(cell.getBoundingClientRect().left)).join(' ')))]);

  test('is one table to a screen reader, with all its rows', async () => {
    const { page } = await shown(PLAIN);
    const client = await page.context().newCDPSession(page);
    const { nodes } = await client.send('Accessibility.getFullAXTree');
    const count = (role) => nodes.filter((node) => !node.ignored && node.role?.value === role).length;
    assert.deepEqual(['table', 'row', 'columnheader', 'cell'].map(count), [1, COUNT + 1, 3, COUNT * 3]);
    await assertAccessible(page);
  });

  test('of many columns takes the room beside the answer, and one of few stays in its column', async () => {
    const overhang = async (markdown) => {
      const { turn } = await shown(markdown, { viewport: { width: 1600, height: 900 } });
      const [table, column] = [await turn.locator('.answer .table').boundingBox(), await turn.locator('.answer').boundingBox()];
      return Math.round(table.width - column.width);
    };
    assert.ok((await overhang(WIDE)) >= 100);
    assert.equal(await overhang(PLAIN), 0);
  });

  test('is copied as one table, as text and as HTML', async () => {
    const { page } = await shown(PLAIN);
    await page.evaluate(() => getSelection().selectAllChildren(document.querySelector('.turn table')));
    await page.keyboard.press('ControlOrMeta+C');
    const [plain, html] = await page.evaluate(async () => {
      const [item] = await navigator.clipboard.read();
      return Promise.all(['text/plain', 'text/html'].map(async (type) => (await item.getType(type)).text()));
    });
    const lines = plain.split('\n').filter((line) => line.trim() !== '');
    assert.equal(lines.length, COUNT + 1);
    assert.match(lines[0], /^Name\tShare\tRemark\s*$/);
    assert.match(lines[COUNT], new RegExp(`^row ${COUNT - 1}\t.* percent\twords for ${COUNT - 1}\\s*$`));
    assert.deepEqual(['<table', '<tr'].map((tag) => html.split(tag).length - 1), [1, COUNT + 1]);
  });

  test('has the same columns in all rows, also on a page of another width, and its formulas are drawn', async () => {
    const { page, turn } = await shown(MATH);
    await page.waitForFunction((count) => document.querySelectorAll('.turn math').length === count, COUNT);
    for (const width of [1280, 700, 390]) {
      await page.setViewportSize({ width, height: 800 });
      assert.equal((await edges(page)).length, 1, `${width} pixels`);
      const overhang = await turn.locator('.table').evaluate((element) => element.scrollWidth - element.clientWidth);
      assert.equal(overhang, 0, `${width} pixels`);
    }
  });

  test('gets columns that fit when its place has become wider', async () => {
    const { page } = await shown(UNEVEN, { viewport: { width: 390, height: 800 } });
    const narrow = await page.locator('.turn td').last().getAttribute('width');
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.waitForFunction((before) => [...document.querySelectorAll('.turn td')].at(-1).getAttribute('width') !== before, narrow);
    const wider = await edges(page);
    assert.equal(wider.length, 1);
    await page.reload();
    await page.waitForFunction((count) => document.querySelectorAll('.turn tbody tr').length === count, COUNT);
    assert.deepEqual(await edges(page), wider, 'the same as where it was never narrow');
  });

  test('that is too wide scrolls in itself, and breaks no word', async () => {
    const { page, turn } = await shown(WIDE, { viewport: { width: 360, height: 640 } });
    const { hangsOut, scrolls, broken } = await turn.locator('.table').evaluate((element) => ({
      hangsOut: element.getBoundingClientRect().right > innerWidth,
      scrolls: element.scrollWidth > element.clientWidth,
      broken: [...element.querySelectorAll('th, td')].filter(({ offsetHeight }) => offsetHeight > 45).length,
    }));
    assert.deepEqual({ hangsOut, scrolls, broken }, { hangsOut: false, scrolls: true, broken: 0 });
    assert.equal((await edges(page)).length, 1);
  });

  test('has nothing in it that an address of its head would put there, also in a browser that writes attributes as they are', async () => {
    const page = await playground.page();
    await page.evaluate(() => {
      const { get, set } = Object.getOwnPropertyDescriptor(Element.prototype, 'innerHTML');
      const older = (html) => html.replace(/="[^"]*"/g, (value) => value.replaceAll('&lt;', '<').replaceAll('&gt;', '>'));
      Object.defineProperty(Element.prototype, 'innerHTML', { set, get() { return older(get.call(this)); } });
    });
    playground.rig.model.script(answer(text('| [Name](https://example.com/<tbody><h1>Spoofed</h1>) |\n|---|\n| Ann |\n')));
    const turn = await say(page, 'Tell me.');
    await hasStatus(turn, 'completed');
    assert.equal(await turn.locator('td').innerText(), 'Ann');
    assert.equal(await turn.locator('.answer h1').count(), 0);
  });

  test('is searched, and the row that is found is brought into sight', async () => {
    const { page } = await shown(PLAIN);
    await page.keyboard.press('ControlOrMeta+Shift+F');
    await page.keyboard.type('words for 3');
    await page.getByText(/1 of 11/).waitFor();
    await page.waitForFunction(() => {
      const { top, bottom } = [...document.querySelectorAll('.turn td')].find(({ textContent }) => textContent === 'words for 3').getBoundingClientRect();
      return top >= 0 && bottom <= innerHeight;
    });
  });
});
