// What a user is shown before a call runs (interface §12): the text that runs, whole, with nothing in it that cannot be
// seen; and what an edit changes.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { httpTool } from '../e2e/harness.mjs';
import { Gate, answer, call, httpError, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, PHONE, Playground, say } from './playground.mjs';

/** The tool's arguments as the model writes them. */
const PAYMENT = '{"amount":1.10, "limit":1e2,"account":100000000000000000000,"memo":"rent","to":{"bank":"\\u0041","tags":[]}}';
const LAID_OUT = `{
  "amount": 1.10,
  "limit": 1e2,
  "account": 100000000000000000000,
  "memo": "rent",
  "to": {
    "bank": "\\u0041",
    "tags": []
  }
}`;

describe('the approval card', { skip: withoutBrowser }, () => {
  let playground, rig;

  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { modelUrl, toolUrl }) => {
        catalog.AgentContexts.default.BaseUrl = modelUrl;
        const Parameters = { type: 'object', properties: { amount: { type: 'number', maximum: 5 } } };
        catalog.ServerTools.push(httpTool('pay', toolUrl, { Parameters, Approval: { When: 'Always', AllowEdit: true } }));
        for (const mode of catalog.Modes) mode.Tools.push('pay');
      },
    });
    rig = playground.rig;
  });
  afterEach(async () => {
    await playground.closePages();
    assert.deepEqual(rig.model.leftovers, []);
    rig.clear();
  });
  after(() => playground?.stop());

  /** A turn whose model calls `pay` with these arguments; resolves to the turn and to its question. */
  async function asked(page, argumentsJson) {
    rig.tools.on('/pay', '{"paid":true}');
    rig.model.script(answer(call('pay', [argumentsJson])), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    return { turn, question: turn.getByRole('region', { name: 'May the agent call pay?' }) };
  }
  const sent = () => rig.tools.requests.map((request) => /"Arguments":(.*),"SessionId"/s.exec(request.text)?.[1]);
  const approve = (question) => question.getByRole('button', { name: 'Approve' }).click();
  const decided = async (page, decide) => {
    const request = page.waitForRequest(/\/execute/);
    await decide();
    return (await request).postDataJSON().ToolResults[0].ResultJson;
  };

  test('the text that runs is shown token by token, and an approval without an edit sends no arguments', async () => {
    const page = await playground.page();
    const { turn, question } = await asked(page, PAYMENT);
    assert.equal(await question.locator('pre').innerText(), LAID_OUT);
    await question.getByRole('button', { name: 'Change the arguments' }).click();
    assert.equal(await question.getByLabel('Arguments, a JSON object').inputValue(), LAID_OUT);
    assert.equal(await decided(page, () => approve(question)), '{"Approved":true}');
    await hasStatus(turn, 'completed');
    assert.deepEqual(sent(), [PAYMENT]);
    await turn.locator('summary').filter({ hasText: 'you decided' }).click();
    assert.equal(await turn.locator('details[open] pre').innerText(), LAID_OUT);
  });

  test('a turn that somebody else has answered, and that has ended, is not shown as stopped by who comes too late', async () => {
    const page = await playground.page();
    const { turn } = await asked(page, '{"amount":1}');
    const [SessionId, TurnId] = [new URL(page.url()).hash.slice(1), await turn.getAttribute('data-turn')];
    const { Result } = await (await fetch(new URL(`/sessions/${SessionId}`, rig.url))).json();
    const [{ ToolCallId }] = Result.LiveTurn.ToolCalls;
    const body = JSON.stringify({ SessionId, TurnId, ToolResults: [{ ToolCallId, ExecutionMs: 1, ResultJson: '{"Approved":true}' }] });
    await (await fetch(new URL('/execute', rig.url), { method: 'POST', headers: { 'Content-Type': 'application/json' }, body })).text();
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'completed');
    await turn.getByText('Done.').waitFor();
    assert.equal(await turn.getByText('This turn was stopped.').count(), 0);
  });

  test('the arguments of a call that ran are shown while the turn goes on, and stay', async () => {
    const page = await playground.page();
    rig.tools.on('/pay', '{"paid":true}');
    const [first, second] = [new Gate(), new Gate()];
    rig.model.script(answer(call('pay', ['{"amount":1}'])), answer(text('It ', first, 'is ', second, 'done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    await approve(turn);
    await turn.locator('.markdown').getByText('It').waitFor();
    const card = turn.locator('details').filter({ hasText: 'run by the service' });
    await card.locator('summary').click();
    await card.getByText('"amount": 1').waitFor();
    first.open();
    await turn.locator('.markdown').getByText('It is').waitFor();
    assert.match(await card.innerText(), /"amount": 1/);
    second.open();
    await hasStatus(turn, 'completed');
    assert.match(await card.innerText(), /"amount": 1[^]*"paid": true/);
  });

  test('a turn that failed behind a decision runs on when it is sent again, and nothing is decided or run twice', async () => {
    const page = await playground.page();
    rig.tools.on('/pay', '{"paid":true}');
    rig.model.script(answer(call('pay', ['{"amount":1}'])), httpError(401, { message: 'No.', code: 'invalid_api_key' }), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    await approve(turn);
    await hasStatus(turn, 'failed');
    await turn.getByRole('button', { name: 'Send it again' }).click();
    await hasStatus(turn, 'completed');
    await turn.getByText('Done.').waitFor();
    assert.equal(rig.tools.requests.length, 1);
    assert.equal(await page.locator('.turn').count(), 1);
  });

  test('the second half of a double click decides nothing about a call that has come since', async () => {
    const page = await playground.page();
    rig.tools.on('/pay', '{"paid":true}');
    rig.model.script(answer(call('pay', ['{"amount":1}'])), answer(call('pay', ['{"amount":2}'])), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    await approve(turn);
    const next = turn.locator('.question').filter({ hasText: '"amount": 2' });
    for (const name of ['Approve', 'Refuse']) {
      await next.getByRole('button', { name }).dispatchEvent('click', { detail: 2 });
      assert.equal(await next.count(), 1, name);
    }
    await next.getByRole('button', { name: 'Refuse' }).click();
    await hasStatus(turn, 'completed');
    assert.deepEqual(sent(), ['{"amount":1}']);
  });

  test('a decision takes the focus to the next card, and the last one to the message box', async () => {
    const page = await playground.page();
    rig.tools.on('/pay', '{"paid":true}', '{"paid":true}');
    rig.model.script(answer(call('pay', ['{"amount":1}']), call('pay', ['{"amount":2}'])), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    const questions = turn.getByRole('region', { name: 'May the agent call pay?' });
    assert.equal(await questions.count(), 2);
    const hasFocus = (selector) => page.waitForFunction((wanted) => document.activeElement.matches(wanted), selector);
    await questions.first().getByRole('button', { name: 'Approve' }).press('Enter');
    await hasFocus('.question');
    assert.equal(await questions.locator('pre').innerText(), '{\n  "amount": 2\n}');
    await page.keyboard.press('Tab');
    await questions.getByRole('button', { name: 'Refuse' }).press('Enter');
    await hasFocus('#message');
    await hasStatus(turn, 'completed');
  });

  test('Enter that is held on a card sends nothing of what is being written', async () => {
    const page = await playground.page();
    const { turn, question } = await asked(page, '{"amount":1}');
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill('Half a thought');
    await question.getByRole('button', { name: 'Refuse' }).focus();
    await page.keyboard.down('Enter');
    await page.waitForFunction(() => document.activeElement.id === 'message');
    await page.keyboard.down('Enter');
    await page.keyboard.up('Enter');
    await hasStatus(turn, 'completed');
    assert.equal(await box.inputValue(), 'Half a thought');
  });

  test('an edit leaves the tokens that it does not touch, and after a reload the card shows what ran', async () => {
    const page = await playground.page();
    const { turn, question } = await asked(page, PAYMENT);
    await question.getByRole('button', { name: 'Change the arguments' }).click();
    const edited = LAID_OUT.replace('"rent"', '"March"');
    await question.getByLabel('Arguments, a JSON object').fill(edited);
    assert.equal(await decided(page, () => approve(question)), `{"Approved":true,"Arguments":${edited}}`);
    await hasStatus(turn, 'completed');
    await turn.locator('summary').filter({ hasText: 'approved with changes' }).waitFor();
    assert.deepEqual(sent(), [edited]);
    await page.reload();
    await page.locator('summary').filter({ hasText: 'run by the service' }).click();
    assert.equal(await page.locator('details[open] pre').first().innerText(), edited);
  });

  test('what is written on behind the Enter of a refusal decides nothing about the next call', async () => {
    const page = await playground.page();
    rig.model.script(answer(call('pay', ['{"amount":1}']), call('pay', ['{"amount":2}'])), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    const questions = turn.getByRole('region', { name: 'May the agent call pay?' });
    await questions.first().getByLabel('Reason, if you refuse').fill('no');
    await page.keyboard.press('Enter');
    await questions.nth(1).waitFor({ state: 'detached' });
    await page.keyboard.type('again no');
    assert.equal(await questions.getByLabel('Reason, if you refuse').inputValue(), 'again no');
    await page.keyboard.press('Enter');
    await hasStatus(turn, 'completed');
    assert.deepEqual(sent(), []);
  });

  test('an edit that the service refuses can be changed, or the call refused', async () => {
    const page = await playground.page({ expected: [/400/] });
    const { turn, question } = await asked(page, PAYMENT);
    await question.getByRole('button', { name: 'Change the arguments' }).click();
    const box = question.getByLabel('Arguments, a JSON object');
    await box.fill('{"amount": 9.90}');
    await approve(question);
    await question.getByText('Arguments.amount must keep to "maximum": 5').waitFor();
    assert.equal(await box.inputValue(), '{"amount": 9.90}');
    await assertAccessible(page);
    await box.fill('{"amount": 4.90}');
    await approve(question);
    await hasStatus(turn, 'completed');
    assert.deepEqual(sent(), ['{"amount": 4.90}']);
  });

  test('spaces wrap, and characters that are not seen or turn the order are written out', async () => {
    const page = await playground.page();
    const command = `ls${' '.repeat(600)}; rm -rf /`;
    const { question } = await asked(page, JSON.stringify({ command, name: 'a\u202eb\u200bc\u00a0d\u{e0041}e', 'k\u2066': '\ufeff' }));
    const box = question.locator('pre');
    const shown = await box.innerText();
    assert.ok(shown.includes('"a\\u202eb\\u200bc\\u00a0d\\udb40\\udc41e"'), shown);
    assert.ok(shown.includes('"k\\u2066": "\\ufeff"'), shown);
    assert.doesNotMatch(shown, /[^\x20-\x7e\n]/);
    const marked = await box.locator('mark').allTextContents();
    assert.deepEqual(marked, [' '.repeat(600), '\\u202e', '\\u200b', '\\u00a0', '\\udb40\\udc41', '\\u2066', '\\ufeff']);
    const hidden = await box.evaluate((pre) => {
      const range = document.createRange();
      const texts = document.createTreeWalker(pre, NodeFilter.SHOW_TEXT);
      while (!texts.currentNode.data?.includes('; rm')) texts.nextNode();
      const node = texts.currentNode;
      range.setStart(node, node.data.indexOf('; rm'));
      range.setEnd(node, node.data.indexOf('; rm') + 10);
      const [{ right, bottom }, frame] = [range.getBoundingClientRect(), pre.getBoundingClientRect()];
      return { right: right - frame.right, bottom: bottom - frame.bottom, wide: pre.scrollWidth - pre.clientWidth };
    });
    assert.ok(hidden.right <= 0 && hidden.wide <= 0, JSON.stringify(hidden));
    await assertAccessible(page);
    await page.shot('approval-unseen');
    await question.getByRole('button', { name: 'Refuse' }).click();
    await hasStatus(page.locator('.turn').last(), 'completed');
  });

  test('what is below the fold is said, and nothing is approved before its end was shown', async () => {
    const lines = (count) => JSON.stringify({ lines: Array.from({ length: count }, (_, at) => `line ${at}`) });
    for (const { colorScheme, viewport, see } of [
      { colorScheme: 'light', see: (page) => page.keyboard.press('End') },
      { colorScheme: 'dark', see: (_, question) => question.getByRole('button', { name: 'Go to the end' }).press('Enter') },
      { colorScheme: 'light', viewport: PHONE, see: (_, question) => question.locator('pre').evaluate((box) => box.scrollTo(0, box.scrollHeight)) },
    ]) {
      const page = await playground.page({ colorScheme, viewport });
      const { turn, question } = await asked(page, lines(3000));
      const button = question.getByRole('button', { name: 'Approve' });
      const box = question.locator('pre');
      const status = page.locator('[role=status]');
      const [, below] = /… ([\d,]+) more lines below\. Scroll to the end of the arguments to approve\./.exec(await question.innerText());
      const count = Number(below.replace(',', ''));
      assert.ok(count > 2900 && count < 3004, below);
      assert.equal(await button.getAttribute('aria-disabled'), 'true');
      const described = await button.evaluate((it) => document.getElementById(it.getAttribute('aria-describedby')).textContent);
      assert.match(described, /more lines below/);
      if (!viewport) await assertAccessible(page);
      await page.shot(`approval-folded-${colorScheme}-${viewport ? 'phone' : 'desktop'}`);

      await button.focus();
      await page.keyboard.press('Enter');
      assert.ok(await box.evaluate((it) => it === document.activeElement), 'the text has the focus');
      assert.match(await status.innerText(), /more lines below\. Scroll to the end/);
      await page.keyboard.press('PageDown');
      await question.getByText(/… [\d,]+ more lines below/).filter({ hasNotText: below }).waitFor();
      assert.equal(await button.getAttribute('aria-disabled'), 'true');
      assert.equal(await turn.getAttribute('data-status'), 'awaiting_tools');
      assert.deepEqual(sent(), []);

      await see(page, question);
      await question.getByText('This is the end of the arguments.').waitFor();
      assert.match(await status.innerText(), /The end of the arguments is shown\. You can approve\./);
      assert.equal(await button.getAttribute('aria-disabled'), 'false');
      await button.focus();
      await page.keyboard.press('Enter');
      await hasStatus(turn, 'completed');
      assert.equal(sent().length, 1);
      rig.clear();
    }
    // What is edited has an end as well, and a short text is all there.
    const page = await playground.page();
    const { turn, question } = await asked(page, lines(100));
    await question.getByRole('button', { name: 'Change the arguments' }).click();
    const button = question.getByRole('button', { name: 'Approve' });
    assert.equal(await button.getAttribute('aria-disabled'), 'true');
    await question.getByLabel('Arguments, a JSON object').fill('{}');
    await approve(question);
    await hasStatus(turn, 'completed');
    assert.deepEqual(sent(), ['{}']);
  });

  test('cards of other calls show arguments and results as they are written, and so does what a ready tool repeats', async () => {
    const page = await playground.page();
    const raw = '{"path":"a\u202e","id":12345678901234567890,"most":1e400}';
    const whole = '{\n  "path": "a\\u202e",\n  "id": 12345678901234567890,\n  "most": 1e400\n}';
    rig.model.script(answer(call('read_file', [raw]), call('echo', [raw])), answer(text('Done.')));
    const turn = await say(page, 'Read.');
    await hasStatus(turn, 'awaiting_tools');
    assert.equal(await turn.getByRole('region', { name: 'The agent calls read_file' }).locator('pre').innerText(), whole);
    await turn.getByLabel('Result, as JSON or as plain text').fill(raw);
    await turn.getByRole('button', { name: 'Send result' }).click();
    await hasStatus(turn, 'completed');
    for (const summary of await turn.locator('summary').all()) await summary.click();
    assert.deepEqual(await turn.locator('details[open] pre').allInnerTexts(), [whole, whole, whole, whole]);
    assert.deepEqual(rig.model.bodies[1].input.map(({ output }) => output), [raw, raw]);
  });
});
