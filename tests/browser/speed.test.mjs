// What an answer costs the page: as much in a long session as in a new one.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { answer, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { hasStatus, Playground, say } from './playground.mjs';

const PROSE = Array.from({ length: 400 }, (_, at) => `Paragraph ${at} of a long answer, with *some* words and \`code\` in it, as models write.\n\n`);

describe('the cost of an answer', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
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
});
