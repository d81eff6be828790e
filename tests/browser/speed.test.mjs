// What an answer costs the page: as much in a long session as in a new one, and never so much at once that a key or a click
// would wait for it.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import { Aptix } from '../../clients/typescript/dist/index.js';
import { ownTime, slowness } from '../e2e/machine_speed.mjs';
import { answer, call, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { hasStatus, Playground, say } from './playground.mjs';

const PROSE = Array.from({ length: 400 }, (_, at) => `Paragraph ${at} of a long answer, with *some* words and \`code\` in it, as models write.\n\n`);
const ROW = (at) => `| row ${at} | a value **${at}** of it | \`code_${at}\` | and some more words, of several lengths, for ${at} |\n`;
const ROWS = 480;
const TABLE = `| Name | Value | Code | Remark |\n|---|:-:|---|---|\n${Array.from({ length: ROWS }, (_, at) => ROW(at)).join('')}`;
/** A table of 47 KB by so many characters as a model writes at once. */
const DELTAS = TABLE.match(/[^]{1,24}/g);
/** A task that is longer keeps a key or a click waiting (W3C Long Tasks). */
const LONGEST_TASK_MS = 50;
/** The most of a task, of the scripts of all five panels and of those of a search, in a long session: two to three times what a busy machine took. */
const MOST_OF_301_TURNS_MS = 400;

describe('the cost of an answer', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ timed: true, catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('the tenth answer of 35 KB costs about what the first one did', async () => {
    const page = await playground.page();
    const client = await page.context().newCDPSession(page);
    await client.send('Performance.enable');
    const busy = async () => (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'TaskDuration').value;
    const costs = [];
    for (let count = 0; count < 10; count += 1) {
      playground.rig.model.script(answer(text(...PROSE)).with({ delayMs: 1 }));
      const from = await busy();
      await hasStatus(await say(page, 'Tell me.'), 'completed');
      costs.push((await busy()) - from);
    }
    const told = costs.map((cost) => cost.toFixed(2)).join(', ');
    console.log(`main thread, in s: ${told}`);
    assert.ok(Math.min(...costs.slice(-3)) < 1.6 * Math.max(...costs.slice(0, 2)), told);
  });

  /**
   * The longest task of the page's main thread meanwhile, in ms of its own time: what other processes take of the machine
   * lengthens a task by the clock, which is no fault of the page.
   */
  const longestTask = async (page, work) => {
    const browser = page.context().browser();
    await browser.startTracing(page, { categories: ['toplevel'] });
    await work();
    const { traceEvents } = JSON.parse(await browser.stopTracing());
    const threads = traceEvents.filter(({ name, args }) => name === 'thread_name' && args.name === 'CrRendererMain');
    const isOfPage = ({ pid, tid }) => threads.some((thread) => thread.pid === pid && thread.tid === tid);
    const tasks = traceEvents.filter((event) => event.name === 'ThreadControllerImpl::RunTask' && event.tdur !== undefined && isOfPage(event));
    assert.ok(tasks.length > 0, 'the tasks are traced');
    return Math.max(...tasks.map(({ tdur }) => tdur / 1000));
  };

  test('a table of 47 KB streams, and is shown again, without a task over 50 ms', async () => {
    const page = await playground.page();
    playground.rig.model.otherwise(answer(text('Here I am.')));
    await hasStatus(await say(page, 'Are you there?'), 'completed');
    const open = (title) => page.locator('button.session').filter({ hasText: title }).click();
    const bound = LONGEST_TASK_MS * slowness(ownTime);
    const runs = [];
    // A compiler or a collector may fall into one run; the page itself is the same in each.
    for (let count = 0; count < 3 && !(Math.min(...runs) <= bound); count += 1) {
      playground.rig.model.script(answer(text(...DELTAS)).with({ delayMs: 1 }));
      await page.getByRole('button', { name: 'New session' }).click();
      const streams = await longestTask(page, async () => hasStatus(await say(page, `Table ${count}`), 'completed'));
      await open('Are you there?');
      await page.locator('.turn').filter({ hasText: 'Here I am.' }).waitFor();
      const again = await longestTask(page, async () => {
        await open(`Table ${count}`);
        await page.waitForFunction((rows) => document.querySelectorAll('.turn tbody tr').length === rows, ROWS);
      });
      console.log(`longest tasks, in ms: ${streams.toFixed(0)} and ${again.toFixed(0)}; bound ${bound.toFixed(0)}`);
      runs.push(Math.max(streams, again));
    }
    assert.ok(Math.min(...runs) <= bound, `${runs.join(', ')} ms`);
  });

  /** What is shown while it comes and again, each time in tasks that are short enough; `said` brings it, `isShown` tells that it is there. */
  const isQuick = async (name, said, isShown) => {
    const page = await playground.page();
    playground.rig.model.otherwise(answer(text('Here I am.')));
    await hasStatus(await say(page, 'Are you there?'), 'completed');
    const open = (title) => page.locator('button.session').filter({ hasText: title }).click();
    const bound = LONGEST_TASK_MS * slowness(ownTime);
    const runs = [];
    for (let count = 0; count < 3 && !(Math.min(...runs) <= bound); count += 1) {
      await page.getByRole('button', { name: 'New session' }).click();
      const comes = await longestTask(page, async () => {
        await said(page, `${name} ${count}`);
        await isShown(page);
      });
      await open('Are you there?');
      await page.locator('.turn').filter({ hasText: 'Here I am.' }).waitFor();
      const again = await longestTask(page, async () => {
        await open(`${name} ${count}`);
        await isShown(page);
      });
      console.log(`${name}, longest tasks, in ms: ${comes.toFixed(0)} and ${again.toFixed(0)}; bound ${bound.toFixed(0)}`);
      runs.push(Math.max(comes, again));
    }
    assert.ok(Math.min(...runs) <= bound, `${runs.join(', ')} ms`);
  };
  /** The code that is in sight has its colours, and all of its lines are there. */
  const isColoured = (lines) => async (page) => {
    await page.locator('.turn pre .lines [class^="hljs-"]').first().waitFor();
    assert.equal(await page.evaluate(() => document.querySelector('.turn pre code').textContent.trimEnd().split('\n').length), lines);
  };

  test('code of 5,000 lines streams, and is shown again, without a task over 50 ms', async () => {
    const lines = Array.from({ length: 5000 }, (_, at) => `  if (values[${at}] > limit && name !== "none of ${at}") total += Math.max(${at}, values[${at}]); // one more\n`);
    const pieces = ['```js\n', ...lines.join('').match(/[^]{1,400}/g), '```\n'];
    await isQuick('Code', async (page, words) => {
      playground.rig.model.script(answer(text(...pieces)).with({ delayMs: 1 }));
      await hasStatus(await say(page, words), 'completed');
    }, isColoured(5000));
  });

  test('a table of 30 columns and 200 rows streams, and is shown again, without a task over 50 ms', async () => {
    const row = (cell) => `|${Array.from({ length: 30 }, (_, at) => ` ${cell(at)} |`).join('')}\n`;
    const rows = Array.from({ length: 200 }, (_, row_) => row((at) => `${row_ * at} and`));
    const broad = `${row((at) => `c${at}`)}${row(() => '---')}${rows.join('')}`;
    await isQuick('Broad table', async (page, words) => {
      playground.rig.model.script(answer(text(...broad.match(/[^]{1,200}/g))).with({ delayMs: 1 }));
      await hasStatus(await say(page, words), 'completed');
    }, async (page) => void (await page.waitForFunction(() => document.querySelectorAll('.turn tbody tr').length === 200)));
  });

  test("a tool's result of 53 KB in its card, closed and opened, costs no task over 50 ms", async () => {
    const result = JSON.stringify({ rows: Array.from({ length: 700 }, (_, at) => ({ id: at, name: `row ${at}`, isOpen: at % 2 === 0, tags: ['a', 'b'], amount: at * 1.5 })) });
    await isQuick('Result', async (page, words) => {
      playground.rig.model.script(answer(call('echo', [result])), answer(text('Done.')));
      await hasStatus(await say(page, words), 'completed');
    }, async (page) => {
      await page.locator('.turn summary').filter({ hasText: 'echo' }).click();
      await isColoured(7004)(page);
    });
  });

  test('panels of a session of 301 turns open, and titles of 1,000 sessions are searched, without drawing all turns anew', async () => {
    const TURNS = 301;
    playground.rig.model.otherwise(answer(text('A short answer with *some* words and `code` in it.')));
    const session = new Aptix({ baseUrl: playground.rig.url.href }).session('long');
    for (let count = 0; count < TURNS; count += 1) await session.turn({ Instruction: `Question ${count}` }).final();
    const others = Array.from({ length: 999 }, (_, at) => ({ id: `other-${at}`, title: `What is said of ${at} in another session`, at: Date.now() - at * 60_000 }));
    const kept = { 'aptix-edge.sessions': JSON.stringify([{ id: 'long', title: 'Question 0', at: Date.now() }, ...others]) };
    const page = await playground.page({ address: '#long', kept });
    await page.waitForFunction((turns) => document.querySelectorAll('.turn').length === turns, TURNS);
    const client = await page.context().newCDPSession(page);
    await client.send('Performance.enable');
    const script = async () => 1000 * (await client.send('Performance.getMetrics')).metrics.find(({ name }) => name === 'ScriptDuration').value;
    // What Playwright looks for, it looks for in the page's own thread: nothing is looked for while tasks are traced.
    const tasks = {};
    const scripts = {};
    const timed = async (name, work) => {
      const before = await script();
      tasks[name] = await longestTask(page, async () => {
        await work();
        await setTimeout(300);
      });
      scripts[name] = (await script()) - before;
    };
    for (const name of ['Inspector', 'Session', 'Context', 'Break it', 'Retrieval']) {
      const { x, y, width, height } = await page.getByRole('button', { name, exact: true }).boundingBox();
      await timed(name, () => page.mouse.click(x + width / 2, y + height / 2));
      await page.getByRole('heading', { name, exact: true }).waitFor();
    }
    await page.getByRole('searchbox', { name: 'Search sessions' }).focus();
    await timed('search', () => page.keyboard.type('said of 77', { delay: 30 }));
    assert.equal(await page.locator('button.session').count(), 11);
    const told = `longest tasks, in ms: ${JSON.stringify(tasks)}; scripts: ${JSON.stringify(scripts)}`;
    console.log(told);
    const { search, ...panels } = scripts;
    const factor = slowness(ownTime);
    // A conversation that becomes narrower is laid out anew, whole.
    assert.ok(Math.max(...Object.values(tasks)) <= MOST_OF_301_TURNS_MS * factor, told);
    assert.ok(search <= MOST_OF_301_TURNS_MS * factor && Object.values(panels).reduce((sum, ms) => sum + ms) <= MOST_OF_301_TURNS_MS * factor, told);
  });
});
