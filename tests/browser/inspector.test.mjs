// The inspector in a real Chromium: what it shows of real turns is what the service tells of them.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { httpTool } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, busy, done, hasStatus, openPanel, PHONE, Playground, say } from './playground.mjs';

describe('the inspector', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { toolUrl }) => {
        catalog.ServerTools.push(httpTool('weather', toolUrl));
        catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Approval: 'Always' }));
        for (const mode of catalog.Modes) mode.Tools.push('weather', 'send_mail');
      },
    });
    playground.rig.tools.on('/weather', JSON.stringify({ celsius: 21 }));
    playground.rig.tools.on('/send_mail', JSON.stringify({ sent: true }));
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const opened = async (options) => {
    const page = await playground.page(options);
    await page.getByRole('button', { name: 'Inspector' }).click();
    return page;
  };
  const panel = (page) => page.getByRole('complementary', { name: 'Inspector' });
  /** What the picture of the turn says, once it says this. */
  const timeline = async (page, told) => {
    const picture = panel(page).getByRole('img', { name: /^Timeline of/ });
    await picture.and(page.getByRole('img', { name: told })).waitFor({ timeout: 20_000 }).catch(async () => {
      assert.match(await picture.getAttribute('aria-label'), told);
    });
    return picture.getAttribute('aria-label');
  };
  const traceOf = async (page, at) => {
    const [session, turn] = [new URL(page.url()).hash.slice(1), await page.locator('.turn').nth(at).getAttribute('data-turn')];
    return (await (await fetch(new URL(`/sessions/${session}/turns/${turn}/trace`, playground.rig.url))).json()).Result;
  };

  test('a turn that its user has stopped is called stopped, not failed, and both say what it has cost', async () => {
    const page = await opened();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    await turn.getByText('This turn was stopped.').waitFor();
    const told = await timeline(page, /Model call 1: .*stopped/);
    assert.doesNotMatch(told, /fail|abort/);
    await panel(page).getByText('Turn 1 of 1 · stopped').waitFor();
    assert.equal(await panel(page).locator('.span.bad').count(), 0);
    assert.equal(await panel(page).locator('.span.stopped').count(), 1);
    const tokens = async () => /[\d,]+ in, [\d,]+ out/.exec(await turn.locator('.foot').innerText())?.[0];
    await turn.locator('.foot').getByText(' in, ').waitFor();
    const live = await tokens();
    const figures = await panel(page).locator('.figures dd').allInnerTexts();
    assert.equal(live, `${figures[2]} in, ${figures[3]} out`);
    await page.reload();
    await hasStatus(turn, 'aborted');
    assert.equal(await tokens(), live);
  });

  test('a turn with a tool: its calls, their tokens, first bytes and sizes are those of the trace', async () => {
    const page = await opened();
    await panel(page).getByRole('button', { name: 'Send an example' }).click();
    await timeline(page, /Model call 1: .*; Pause for the client: .* · echo .*; Model call 2: /);
    await page.keyboard.press('Alt+n');
    await done(page, 'Call the tool weather with the word rome.');
    const told = await timeline(page, /Model call 2: .*first byte after/);
    const trace = await traceOf(page, 0);
    const [first, second] = trace.ModelCalls;
    assert.match(told, /Preparing the message: .*; Model call 1: .*; weather: .* · result of 14 B; Model call 2: /);
    for (const { Usage } of [first, second]) {
      const { PromptTokens, CompletionTokens } = Usage;
      assert.ok(told.includes(`${PromptTokens.toLocaleString('en')} in, ${CompletionTokens} out`), told);
    }
    assert.equal(await panel(page).locator('.timeline .span.model').count(), 2);
    assert.equal(await panel(page).locator('.timeline .span.tool').count(), 1);
    assert.equal(await panel(page).locator('.timeline .mark').count(), 1);

    const blocks = panel(page).locator('.blocks li');
    const system = trace.Composition.find(({ Block }) => Block === 'system');
    await blocks.filter({ hasText: 'ConversationContext.BootPrompt' }).getByText(`${system.Bytes} B`).waitFor();
    await panel(page).getByRole('button', { name: 'Model call 1', exact: true }).click();
    await panel(page).getByText('were sent to the model, the whole conversation.').waitFor();
    const { LeftOut } = first.Composition.find(({ Block }) => Block === 'previous_response_id');
    await blocks.filter({ hasText: 'previous response id' }).getByText(`Left out: ${LeftOut}.`).waitFor();
    await panel(page).getByText('What the time went into').click();
    await panel(page).getByText('Tools of the service').waitFor();
    await assertAccessible(page);
    await page.shot('desktop-light-inspector-tool');
  });

  test('why one turn could not be asked for is not said of another one', async () => {
    const page = await opened({ expected: [/status of 403/] });
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'Not this one.', SystemError: false }], Warnings: [] };
    await page.route('**/trace', (route) => route.fulfill({ status: 403, json: refusal }));
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await panel(page).getByText('Not this one.').waitFor();
    await page.unroute('**/trace');
    await page.route('**/trace', () => {});
    await hasStatus(await say(page, 'And now?'), 'completed');
    await panel(page).getByText('Asking for its trace…').waitFor();
    assert.equal(await panel(page).getByText('Not this one.').count(), 0);
  });

  test('a trace that comes while something is pressed moves it only after the click', async () => {
    const page = await opened();
    const { promise: pressed, resolve: press } = Promise.withResolvers();
    await page.exposeFunction('isPressed', press);
    await page.evaluate(() => addEventListener('pointerdown', () => globalThis.isPressed(), { once: true, capture: true }));
    const held = [];
    await page.route('**/trace', (route) => void held.push(pressed.then(async () => route.fulfill({ response: await route.fetch() }))));
    await done(page, 'What can you do?');
    const heading = panel(page).getByRole('heading', { name: 'What the model was sent' });
    const { y } = await heading.boundingBox();
    await heading.hover();
    await page.mouse.down();
    await Promise.all(held);
    await page.waitForFunction(() => performance.getEntriesByType('resource').some(({ name }) => name.endsWith('/trace')));
    await page.evaluate(() => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))));
    assert.equal((await heading.boundingBox()).y, y);
    await page.mouse.up();
    await panel(page).getByRole('button', { name: 'Show the exact bodies' }).waitFor();
    await timeline(page, /Model call 1/);
    assert.ok((await heading.boundingBox()).y > y);
  });

  test('the context window is that of the open session, also before all of its traces have come', async () => {
    const page = await opened();
    const calls = (count) => panel(page).getByText(`of ${count} model calls,`);
    const earlier = await (await done(page, 'What can you do?')).getAttribute('data-turn');
    await done(page, 'Reason about it.');
    await page.keyboard.press('Alt+n');
    await done(page, 'Think aloud.');
    // Then the page has no trace of the session that is opened next.
    await page.reload();
    await page.getByRole('button', { name: 'Inspector' }).click();
    await calls(1).waitFor();
    const { promise: released, resolve: release } = Promise.withResolvers();
    await page.route(`**/${earlier}/trace`, async (route) => (await released, route.continue()));
    await page.locator('.session').filter({ hasText: 'What can you do?' }).click();
    await panel(page).getByText('Turn 2 of 2').waitFor();
    await panel(page).getByRole('heading', { name: 'Context window over the session' }).waitFor();
    assert.equal(await calls(1).count(), 0);
    release();
    await calls(2).waitFor();
  });

  test('repetitions, pauses, mode changes and compactions have their place, and each turn can be chosen', async () => {
    const page = await opened({ colorScheme: 'dark' });
    await done(page, 'Be overloaded once.');
    await timeline(page, /repeated after 503, waited/);
    assert.equal(await panel(page).locator('.timeline .span.wait').count(), 1);

    const asked = await say(page, 'Please read README.md.');
    await hasStatus(asked, 'awaiting_tools');
    await timeline(page, /Pause for the client: .*read_file/);
    await asked.getByLabel('Result, as JSON or as plain text').fill('# The first line');
    await asked.getByRole('button', { name: 'Send result' }).click();
    await hasStatus(asked, 'completed');
    await timeline(page, /Pause for the client: .*; Model call 2: .*first byte/);

    await done(page, 'Switch to DDR authoring.');
    const history = panel(page).locator('.mode-history');
    await history.getByText('The user asked to switch to DDR authoring.').waitFor();
    assert.equal(await history.locator('code').allInnerTexts().then((modes) => modes.join(' ')), 'general ddr_authoring');

    await done(page, 'Fill the window.');
    await done(page, 'What can you do?');
    await timeline(page, /Model call 1: .*context_window_exceeded; Compaction: the service refused the length · items: \d+, then \d+ · summary: \d+ bytes; Summary of earlier turns: .*; Model call 2/);
    await panel(page).locator('.window .compacted').waitFor();
    const calls = await panel(page).locator('.window g:has(.in)').count();
    assert.equal(calls, 7);
    assert.equal(await panel(page).locator('.window .chosen').count(), 1);
    await assertAccessible(page);
    await page.shot('desktop-dark-inspector');
    await panel(page).getByText('Raw events').scrollIntoViewIfNeeded();
    await page.shot('desktop-dark-inspector-below');

    await panel(page).getByRole('button', { name: 'Turn 3' }).click();
    await panel(page).getByText('Turn 3 of 5 · completed').waitFor();
    await panel(page).locator('.window .chosen').nth(1).waitFor();
    await panel(page).getByRole('button', { name: 'Earlier turn' }).click();
    await timeline(page, /Pause for the client/);
    await page.locator('.turn').first().click();
    await timeline(page, /repeated after 503/);
  });

  test('an approval shows how long a human took, and what was decided', async () => {
    const page = await opened();
    const mail = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(mail, 'awaiting_tools');
    await timeline(page, /send_mail: waits for approval, waited/);
    assert.equal(await panel(page).locator('.timeline .span.tool').count(), 0);
    await mail.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(mail, 'completed');
    await timeline(page, /send_mail: .* · approved, waited .*; Model call 2/);
    const [{ Approval }] = (await traceOf(page, 0)).ToolCalls;
    await panel(page).getByText('What the time went into').click();
    const told = await panel(page).locator('.plain-table div').filter({ hasText: 'The client and its user' }).locator('dd').innerText();
    assert.equal(told, Approval.WaitedMs < 1000 ? `${Approval.WaitedMs} ms` : `${(Approval.WaitedMs / 1000).toFixed(Approval.WaitedMs < 10_000 ? 1 : 0)} s`);
  });

  test('raw events have their positions, the request can be sent again as it is written, and requests tell their time', async () => {
    const page = await opened();
    const turn = await done(page, "It's what you can do?");
    await panel(page).getByText('without a key', { exact: true }).waitFor();
    await panel(page).getByText('Raw events').click();
    const rows = panel(page).locator('.events tbody tr');
    const last = rows.last().locator('td');
    assert.deepEqual([await last.nth(1).innerText(), await last.nth(2).innerText()], ['result', 'end']);
    assert.match(await rows.nth(1).locator('td').nth(2).innerText(), /^0\.\d+$/);
    await panel(page).getByRole('button', { name: 'Copy them as lines of JSON' }).click();
    const lines = (await page.evaluate(() => navigator.clipboard.readText())).split('\n').map((line) => JSON.parse(line));
    assert.equal(lines.length, await rows.count());
    const said = lines.flatMap(({ event }) => (event.type === 'text' ? [event.delta] : [])).join('');
    assert.equal(said, lines.at(-1).event.response.PrimaryOutputText);

    await panel(page).getByText('The request as code').click();
    const code = panel(page).locator('.fold').filter({ hasText: 'The request as code' }).locator('pre');
    const curl = await code.innerText();
    const [, body] = /-d '([^]*)'$/.exec(curl);
    const sent = JSON.parse(body.replaceAll("'\\''", "'"));
    assert.equal(sent.TurnId, await turn.getAttribute('data-turn'));
    const again = await fetch(new URL('/execute', playground.rig.url), { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ ...sent, Streaming: false }) });
    assert.equal(again.headers.get('idempotent-replayed'), 'true');
    await panel(page).getByRole('button', { name: 'fetch', exact: true }).click();
    assert.match(await code.innerText(), /^const response = await fetch\("http/);
    await panel(page).getByRole('button', { name: 'TypeScript client' }).click();
    assert.match(await code.innerText(), /session\.turn\(\{[^]*"Instruction": "It's what you can do\?"/);
    await panel(page).getByText('HTTP requests of this page').click();
    await panel(page).locator('.requests').getByText('POST /execute').waitFor();
    await assertAccessible(page);
    await page.shot('desktop-light-inspector-code');

    await page.reload();
    await hasStatus(page.locator('.turn'), 'completed');
    await page.getByRole('button', { name: 'Inspector' }).click();
    await panel(page).getByText('Raw events').click();
    await panel(page).getByRole('button', { name: 'Replay its events' }).click();
    await rows.last().getByText('end', { exact: true }).waitFor();
  });

  test('on a busy page the exact bodies stay that were asked for as soon as they could be', async () => {
    const page = await playground.page();
    await done(page, 'What can you do?');
    await busy(page, 1500);
    await page.getByRole('button', { name: 'Inspector' }).click();
    await panel(page).getByRole('heading', { name: 'What the model was sent' }).click();
    await panel(page).getByRole('button', { name: 'Show the exact bodies' }).click();
    const body = panel(page).getByRole('group', { name: 'Body of the request to the model service' });
    await body.waitFor();
    await page.waitForTimeout(4000);
    assert.equal(await body.count(), 1);
  });

  test('on a phone nothing is cut off', async () => {
    const page = await playground.page({ viewport: PHONE });
    await done(page, 'Call the tool weather with the word rome.');
    await openPanel(page, 'Inspector');
    await timeline(page, /Model call 2/);
    await assertAccessible(page);
    await page.shot('phone-light-inspector');
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });
});
