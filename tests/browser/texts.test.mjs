// Texts of humans and models as they are read: from right to left, wide, long, with formulas.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, Playground, say } from './playground.mjs';

const HEBREW = 'שלום עולם';

describe('texts', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('each text reads in its own direction, code from the left', async () => {
    const page = await playground.page();
    const directions = (place) => place.evaluate((element) => getComputedStyle(element).direction);
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill(HEBREW);
    assert.equal(await directions(box), 'rtl');
    const turn = await say(page, `${HEBREW}\n\n- ${HEBREW}\n- in English\n\n\`\`\`js\nlet a = '${HEBREW}';\n\`\`\``);
    await hasStatus(turn, 'completed');
    assert.equal(await directions(turn.locator('.question-bubble p')), 'rtl');
    assert.equal(await directions(page.locator('h1')), 'rtl');
    assert.equal(await directions(page.locator('.session span').first()), 'rtl');
    const answer = turn.locator('.markdown');
    assert.equal(await directions(answer.locator('.block').first()), 'ltr');
    const hebrew = answer.locator('li', { hasText: HEBREW }).last();
    const ends = (place) =>
      place.evaluate((element) => {
        const range = document.createRange();
        range.selectNodeContents(document.createTreeWalker(element, NodeFilter.SHOW_TEXT).nextNode());
        const [text, own] = [range.getBoundingClientRect(), element.getBoundingClientRect()];
        return text.left - own.left > own.right - text.right ? 'right' : 'left';
      });
    assert.equal(await ends(hebrew), 'right');
    assert.equal(await ends(answer.locator('li', { hasText: 'in English' })), 'left');
    assert.equal(await directions(answer.locator('.code')), 'ltr');
    await assertAccessible(page);
  });

  test('a table that is too wide scrolls in itself, without broken words', async () => {
    const page = await playground.page({ viewport: { width: 360, height: 640 } });
    const columns = Array.from({ length: 9 }, (_, at) => `Column_number_${at}`);
    const row = (cells) => `| ${cells.join(' | ')} |`;
    const turn = await say(page, ['A table:', '', row(columns), row(columns.map(() => '---')), row(columns.map((_, at) => `value ${at}`))].join('\n'));
    await hasStatus(turn, 'completed');
    const table = turn.getByRole('group', { name: 'Table' });
    const { width, scrolls, lines } = await table.evaluate((element) => ({
      width: element.getBoundingClientRect().right - innerWidth,
      scrolls: element.scrollWidth > element.clientWidth,
      lines: [...element.querySelectorAll('th')].filter(({ offsetHeight }) => offsetHeight > 45).length,
    }));
    assert.ok(width <= 0 && scrolls, `${width} pixels`);
    assert.equal(lines, 0, 'each name stands in one line');
    assert.equal(await page.evaluate(() => document.querySelector('.conversation').scrollWidth - document.querySelector('.conversation').clientWidth), 0);
    await table.focus();
    await page.keyboard.press('ArrowRight');
    await page.waitForFunction(() => document.querySelector('.table').scrollLeft > 0);
  });

  test('a long question is folded, also after a reload, and shown whole by its button', async () => {
    const page = await playground.page();
    const turn = await say(page, Array.from({ length: 60 }, (_, at) => `Line ${at + 1}`).join('\n'));
    await hasStatus(turn, 'completed');
    const height = () => turn.locator('.question-bubble').evaluate(({ offsetHeight }) => offsetHeight);
    const folded = await height();
    assert.ok(folded < 450, `${folded} pixels`);
    await assertAccessible(page);
    await turn.getByRole('button', { name: 'Show all of it' }).click();
    const whole = await height();
    assert.ok(whole > 1200, `${whole} pixels`);
    await turn.getByRole('button', { name: 'Show less' }).click();
    assert.equal(await height(), folded);
    await page.reload();
    await turn.getByRole('button', { name: 'Show all of it' }).waitFor();
    const short = await say(page, 'A short one.');
    assert.equal(await short.getByRole('button', { name: 'Show all of it' }).count(), 0);
  });
});
