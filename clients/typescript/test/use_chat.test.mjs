// The example page in a real Chromium: React, `useChat`, the transport, and the Worker behind another origin.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutBrowser } from '../../../tests/browser/chromium.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';
import { buildPage } from '../examples/use-chat/build.mjs';
import { sendMail } from './approvals.mjs';
import { inChromium } from './in_chromium.mjs';

let page;
const { rig, faults, open } = inChromium(buildPage, async () => void (page = await open()));

const say = async (words) => {
  await page.fill('input', words);
  await page.getByText('Send').click();
};
const shows = (words) => page.getByText(words, { exact: false }).first().waitFor({ timeout: 20_000 });
const answers = () => page.locator('article.assistant').allTextContents();

test('a page streams an answer, runs its tool, and is reloaded in the middle of another', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Hello ', gate, 'from the edge.')));
  await say('Hello?');
  await shows('Hello ');
  gate.open();
  await shows('Hello from the edge.');

  rig.model.script(answer(text('I look.'), call('read_clock', {})), answer(text('It is late.')));
  await say('What time is it?');
  await shows('It is late.');
  assert.match((await answers()).at(-1), /read_clock: output-available/);

  const slow = new Gate();
  rig.model.script(answer(text('Half ', slow, 'and whole.')));
  await say('Slowly, please.');
  await shows('Half ');
  await page.reload();
  await shows('Half ');
  slow.open();
  await shows('Half and whole.');
  const shown = await answers();
  assert.equal(shown.length, 3, `${shown}`);
  assert.deepEqual(shown.at(-1), 'Half and whole.');
  assert.match(shown[1], /It is late\./);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('a page has an answer made anew in a fork, and goes on there after a reload', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.model.script(answer(text('A first try.')));
  await say('Try, please.');
  await shows('A first try.');
  rig.model.script(answer(text('A second try.')));
  await page.getByText('Again').click();
  await shows('A second try.');
  assert.ok(!(await answers()).includes('A first try.'));
  assert.ok(!rig.model.lastSeen.includes('A first try.'));
  await page.reload();
  await shows('A second try.');
  rig.model.script(answer(text('It was the second.')));
  await say('Which try was it?');
  await shows('It was the second.');
  assert.ok(rig.model.lastSeen.includes('Which try was it?'));
  const session = new Aptix({ baseUrl: `${rig.url}` }).session(await page.evaluate(() => sessionStorage.chat));
  assert.equal((await session.get()).LatestTurn.Status, 'completed');
  assert.equal((await Array.fromAsync(session.turns())).length, 4, 'the session before is as it was');
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('a page asks its user about a call that needs consent', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('The mail is out.')));
  await say('Mail Ann.');
  await shows('It leaves the house.');
  await page.getByText('Run it').click();
  await shows('The mail is out.');
  assert.equal(rig.tools.requests.length, 1);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});
