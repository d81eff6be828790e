// What a reload keeps of a turn: as much as the service does. And what the page says of failures and of its human.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, Playground, say, withMail } from './playground.mjs';

describe('what a reload keeps', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: withMail(),
    });
    playground.rig.tools.on('/send_mail', '{"sent":true}');
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  /** The steps of a turn by their summaries, in their order. */
  const steps = (turn) => turn.locator('.answer > details > summary').evaluateAll((all) => all.map((each) => each.innerText.replace(/\s+/g, ' ').trim()));

  test('reasoning, commentary, the change of the mode and the request are there as before', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'Reason about it.'), 'completed');
    await hasStatus(await say(page, 'Think aloud.'), 'completed');
    await hasStatus(await say(page, 'Switch to DDR authoring.'), 'completed');
    await page.reload();
    const turns = page.locator('.turn');
    await hasStatus(turns.nth(2), 'completed');
    await turns.nth(0).getByText('Reasoning', { exact: true }).click();
    await turns.nth(0).getByText('I am asked to show reasoning.').waitFor();
    await turns.nth(1).getByText('Commentary', { exact: true }).click();
    await turns.nth(1).getByText('this is no part of the answer').waitFor();
    await turns.nth(2).getByText('The mode is now DDR Authoring.').waitFor();
    await page.getByRole('button', { name: 'Inspector' }).click();
    await turns.nth(0).click();
    await page.getByText('The request as code').click();
    const code = page.locator('.fold-body .code').last();
    await page.getByText('Put together from what the service keeps').waitFor();
    const request = JSON.parse(/-d '([^]*)'$/.exec(await code.locator('code').innerText())[1].replaceAll(`'\\''`, `'`));
    assert.equal(request.Instruction, 'Reason about it.');
    assert.deepEqual(JSON.parse(request.ToolsJson).map(({ name }) => name).sort(), ['clock', 'echo', 'read_file']);
    assert.equal(request.ConversationContextId, 'default');
    await assertAccessible(page);
  });

  test('reasoning that came before a reload in the middle of an answer is there at its end', async () => {
    const page = await playground.page();
    let isCut = false;
    await page.route(/\/execute/, async (route) => {
      isCut = true;
      await route.continue();
    });
    const turn = await say(page, 'Reason about it.');
    await page.waitForFunction(() => sessionStorage.length === 0);
    assert.ok(isCut);
    await page.reload();
    await hasStatus(turn, 'completed');
    await turn.getByText('Reasoning', { exact: true }).click();
    await turn.getByText('I am asked to show reasoning.').waitFor();
  });

  test('a refusal reads as a refusal, an approval as an approval, and the inspector has the time that the human took', async () => {
    const page = await playground.page();
    const refused = await say(page, 'Call the tool send_mail with the word eve.');
    await hasStatus(refused, 'awaiting_tools');
    await page.getByRole('button', { name: 'Inspector' }).click();
    /** How long the turn has waited, in ms, as soon as the picture tells it behind these words. */
    const waited = async (words, least = 1) => {
      const told = await page.waitForFunction(([after, atLeast]) => {
        const label = document.querySelector('svg.timeline')?.getAttribute('aria-label') ?? '';
        const [, figure, unit] = new RegExp(`${after}, waited ([\\d.]+) (ms|s)`).exec(label) ?? [];
        const ms = Number(figure) * (unit === 's' ? 1000 : 1);
        return ms >= atLeast && { ms };
      }, [words, least]);
      return (await told.jsonValue()).ms;
    };
    const from = Date.now();
    // Time passes in the picture while nobody decides.
    await waited('waits for approval', (await waited('waits for approval')) + 900);
    const until = Date.now();
    await refused.getByLabel('Reason, if you refuse').fill('Not to her.');
    await refused.getByRole('button', { name: 'Refuse' }).click();
    await hasStatus(refused, 'completed');
    // By the service's clock, which counts no way to the page; seconds are told by a tenth.
    assert.ok((await waited('send_mail: refused')) >= until - from - 50);
    const approved = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(approved, 'awaiting_tools');
    await approved.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(approved, 'completed');
    const shown = [await steps(refused), await steps(approved)];
    await page.reload();
    await hasStatus(approved, 'completed');
    const again = [await steps(refused), await steps(approved)];
    assert.match(again[0].join(), /^send_mail you decided refused · [\d.]+ m?s$/);
    assert.match(again[1].join(), /^send_mail you decided approved · [\d.]+ m?s,send_mail run by the service done · \d+ m?s$/);
    const withoutTimes = (all) => all.flat().map((each) => each.replace(/ · .*/, ''));
    assert.deepEqual(withoutTimes(again), withoutTimes(shown), 'the same history, and who made it');
    await refused.locator('summary').click();
    await refused.locator('details[open]').getByText('Reason: Not to her.').waitFor();
    await page.getByRole('button', { name: 'Inspector' }).click();
    await refused.click();
    assert.ok((await waited('send_mail: refused')) >= until - from - 50);
    await assertAccessible(page);
    await page.shot('desktop-light-refusal');
  });

  test('a call that waits after a reload is a question, and not a tool that runs', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_mail with the word zoe.');
    await hasStatus(turn, 'awaiting_tools');
    await page.reload();
    await hasStatus(turn, 'awaiting_tools');
    assert.deepEqual(await steps(turn), []);
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    await page.reload();
    await hasStatus(turn, 'aborted');
    assert.deepEqual(await steps(turn), ['send_mail waited for you not answered']);
  });

  test('a failure tells its details and the request in the log, and who has to act after a reload, too', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Refuse this call.');
    await hasStatus(turn, 'failed');
    const details = turn.locator('.details');
    const told = await details.innerText();
    assert.match(told, /HttpStatus\s+400/);
    assert.match(told, /Code\s+invalid_value/);
    const [, id] = /Request in the service’s log\s+([\w-]{1,64})/.exec(told);
    assert.ok(playground.rig.logs.some((line) => JSON.stringify(line).includes(id)), id);
    await turn.getByText('The operator has to act.').waitFor();
    await assertAccessible(page);
    await page.reload();
    await hasStatus(turn, 'failed');
    assert.match(await details.innerText(), /HttpStatus\s+400/);
    await turn.getByText('The operator has to act.').waitFor();
  });
});
