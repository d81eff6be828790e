// The example page of AG-UI in a real Chromium: text, a tool of the page, a question that needs consent, and reloads.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutBrowser } from '../../../tests/browser/chromium.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { buildPage } from '../examples/ag-ui/build.mjs';
import { sendMail } from './approvals.mjs';
import { inChromium } from './in_chromium.mjs';

let page;
const { rig, faults, open } = inChromium(buildPage, async () => void (page = await open()));

const say = async (words) => {
  await page.fill('input', words);
  await page.click('form button');
};
const shows = (words) => page.getByText(words, { exact: true }).first().waitFor({ timeout: 20_000 });
const answers = () => page.locator('article.assistant').allTextContents();

test('a page over AG-UI streams, runs its tool, asks its user, and goes on after reloads', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.tools.on('/send_mail', '{"sent":true}');
  const gate = new Gate();
  rig.model.script(answer(text('Hello ', gate, 'from the edge.')));
  await say('Hello?');
  await page.locator('article.assistant').filter({ hasText: 'Hello' }).waitFor();
  gate.open();
  await shows('Hello from the edge.');

  rig.model.script(answer(text('I look.'), call('read_clock', {})), answer(text('It is late.')));
  await say('What time is it?');
  await shows('It is late.');
  await shows('read_clock: done');

  const slow = new Gate();
  rig.model.script(answer(text('Half ', slow, 'and whole.')));
  await say('Slowly, please.');
  await shows('Half');
  await page.reload();
  await shows('Half');
  slow.open();
  await shows('Half and whole.');

  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('The mail is out.')));
  await say('Mail Ann.');
  await page.getByText('It leaves the house.').waitFor();
  await page.reload();
  await page.getByText('Run it').click();
  await shows('The mail is out.');
  await shows('send_mail: done');
  const said = await answers();
  assert.deepEqual(said, ['Hello from the edge.', 'I look.', 'It is late.', 'Half and whole.', 'The mail is out.']);
  assert.deepEqual([rig.tools.requests.length, faults, rig.model.leftovers], [1, [], []]);
});
