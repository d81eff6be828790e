// What the playground tells whoever sees it for the first time, and whoever has looked away.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { eventually } from '../e2e/harness.mjs';
import { answer, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, DESKTOP, hasStatus, openPanel, PHONE, Playground, say, signIn } from './playground.mjs';

/** Has the page believe that it is hidden, or looked at again. */
const hide = (page, isHidden) =>
  page.evaluate((hidden) => {
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => hidden });
    document.dispatchEvent(new Event('visibilitychange'));
  }, isHidden);
const title = (page, begin) => page.waitForFunction((words) => document.title.startsWith(words), begin);

describe('the playground at hand', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('an empty session says who answers under which context, and leads to what no icon tells', async () => {
    const page = await playground.page();
    await page.getByText('under the context default').waitFor();
    await assertAccessible(page);
    for (const name of ['Inspector', 'Break it']) {
      const button = page.getByRole('button', { name, exact: true });
      assert.ok((await button.innerText()).includes(name), 'in words');
    }
    await page.getByRole('button', { name: 'Cut it off in the middle' }).click();
    await page.getByRole('complementary', { name: 'Break it' }).waitFor();
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: 'Close Break it' }).click();
    await page.getByRole('button', { name: 'See inside' }).waitFor();
    assert.equal(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), true, 'nothing is wider than a phone');
    await page.setViewportSize(DESKTOP);
  });

  test('a heading of any depth is as large as the text, and a break in a cell breaks the line', async () => {
    const rig = await Playground.start({ catalog: (catalog, { modelUrl }) => (catalog.AgentContexts.default.BaseUrl = modelUrl) });
    try {
      const page = await rig.page();
      rig.rig.model.script(answer(text('#### Deep\n\n###### Deeper\n\n| a |\n|---|\n| one<br>two <b>x</b> |\n\nH<sub>2</sub>O, words.[^1] Not [^0-9].\n\n[^1]: https://example.com/source')));
      const turn = await say(page, 'Tell me.');
      await hasStatus(turn, 'completed');
      const sizes = await turn.locator('.markdown :is(h5, h6, p)').evaluateAll((all) => all.map((each) => parseFloat(getComputedStyle(each).fontSize)));
      assert.ok(sizes.length >= 3 && sizes.every((size) => size >= sizes.at(-1)), `${sizes}`);
      const told = await turn.locator('.markdown :is(h3, h4, h5, h6)').evaluateAll((all) => all.map((each) => each.ariaLevel));
      assert.deepEqual(told, ['3', '4'], 'no level is left out');
      await assertAccessible(page);
      assert.equal(await turn.locator('td').innerText(), 'one\ntwo <b>x</b>');
      assert.equal(await turn.locator('sub').innerText(), '2');
      assert.deepEqual(await turn.locator('sup').allInnerTexts(), ['1', '1'], 'the sign of a footnote, and its text');
      assert.equal(await turn.getByRole('link', { name: 'https://example.com/source' }).count(), 1);
      await turn.getByText('Not [^0-9].').waitFor();
    } finally {
      await rig.closePages();
      await rig.stop();
    }
  });

  test('whoever writes while a card waits is told what Enter does, and an empty result is asked about once', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Please read README.md.');
    await hasStatus(turn, 'awaiting_tools');
    const box = page.getByRole('textbox', { name: 'Message' });
    await page.getByText('Enter adds words that go with your answer').waitFor();
    assert.match(await box.getAttribute('placeholder'), /go with your answer/);
    await box.fill('And be brief.');
    await box.press('Enter');
    await turn.locator('.steer').getByText('And be brief.').waitFor();
    assert.equal(await turn.getAttribute('data-status'), 'awaiting_tools');
    await turn.getByRole('button', { name: 'Send result' }).click();
    const question = page.getByRole('dialog', { name: 'Send an empty result?' });
    await question.getByRole('button', { name: 'Cancel' }).click();
    assert.equal(await turn.getAttribute('data-status'), 'awaiting_tools');
    await turn.getByRole('button', { name: 'Send result' }).click();
    await question.getByRole('button', { name: 'Send it' }).click();
    await hasStatus(turn, 'completed');
  });

  test('A and R decide about a call whose card has the focus, and no letter that is written does', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_postcard with the word Ann.');
    await hasStatus(turn, 'awaiting_tools');
    const reason = turn.getByLabel('Reason, if you refuse');
    await reason.pressSequentially('a rare reason');
    await turn.locator('[data-step]').count();
    assert.ok(await turn.getByRole('button', { name: 'Approve' }).isVisible(), 'what is written decides nothing');
    await reason.press('Enter');
    await hasStatus(turn, 'completed');
    await turn.getByText('refused', { exact: false }).first().waitFor();

    const next = await say(page, 'Call the tool send_postcard with the word Bob.');
    await hasStatus(next, 'awaiting_tools');
    await next.locator('.question').focus();
    await page.keyboard.press('Control+a');
    assert.ok(await next.getByRole('button', { name: 'Approve' }).isVisible());
    await page.keyboard.press('a');
    await hasStatus(next, 'completed');
    await next.getByText('approved', { exact: false }).first().waitFor();
  });

  test('the title tells a page that is not looked at that its turn has ended, or waits', async () => {
    const page = await playground.page();
    await hide(page, true);
    const turn = await say(page, 'Call the tool send_postcard with the word Eve.');
    await title(page, '? ');
    await hide(page, false);
    await title(page, 'Call the tool');
    await hide(page, true);
    await turn.getByRole('button', { name: 'Approve' }).click();
    await title(page, '✓ ');
    await hide(page, false);
    await title(page, 'Call the tool');
  });

  test('a session that waits has a dot in the list of its user', async () => {
    const page = await playground.page();
    await signIn(page, 'dora');
    const turn = await say(page, 'Call the tool send_postcard with the word Joe.');
    await hasStatus(turn, 'awaiting_tools');
    await page.getByRole('button', { name: 'New session' }).click();
    await page.locator('.sessions').getByText('waits for you').waitFor();
  });

  test('the list says of each session whether it runs or waits, and of one that was left when it does so no longer', async () => {
    const page = await playground.page({ expected: [/status of 40[34] /] });
    const row = (words) => page.locator('.sessions .session').filter({ hasText: words });
    const says = (words, told) => row(words).filter({ hasText: told }).waitFor();
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    await hasStatus(await say(page, 'Please read README.md.'), 'awaiting_tools');
    await says('Please read', 'waits for you');
    await page.keyboard.press('Alt+n');
    await hasStatus(await say(page, 'Call the tool send_postcard with the word Ann.'), 'awaiting_tools');
    await says('send_postcard', 'waits for you');
    await page.keyboard.press('Alt+n');
    await (await say(page, 'Give a slow answer.')).getByText('This answer').waitFor();
    await says('slow', 'running');
    await page.keyboard.press('Alt+n');
    assert.match(await row('slow').innerText(), /running/);
    await hasStatus(await say(page, 'Reason about it.'), 'completed');
    await assertAccessible(page);
    assert.deepEqual(await row('Reason').innerText(), 'Reason about it.\nnow');
    playground.goOn();
    await row('slow').filter({ hasNotText: 'running' }).waitFor();
    // Another page of this browser knows it, too.
    await page.reload();
    await says('Please read', 'waits for you');
    await says('send_postcard', 'waits for you');
    const ids = await page.evaluate(() => JSON.parse(localStorage.getItem('aptix-edge.sessions')).map(({ id }) => id));
    // Nor is one asked for while it is being asked for since the page was loaded.
    await page.waitForLoadState('networkidle');
    asked.length = 0;
    await page.keyboard.press('Alt+n');
    const expected = ids.slice(2).map((id) => `/sessions/${id}`);
    await eventually(() => asked.length >= expected.length, 'they are asked for');
    await page.waitForTimeout(200);
    assert.deepEqual(asked.toSorted(), expected.toSorted(), 'only those that wait are asked for');

    // Nobody asks again for one that is being asked for, nor at once for one that could not be.
    const held = [];
    const isOfThem = ({ pathname }) => expected.includes(pathname);
    await page.route(isOfThem, (route) => void held.push(route));
    const looked = () => page.evaluate(() => dispatchEvent(new Event('focus'))).then(() => page.waitForTimeout(200));
    await looked();
    await eventually(() => held.length >= expected.length, 'they are asked for');
    await looked();
    assert.equal(held.length, expected.length, 'while they are being asked for');
    const body = JSON.stringify({ Kind: 'error', Errors: [{ ErrorCode: 'forbidden', Message: 'Not now.', SystemError: false }] });
    for (const route of held) await route.fulfill({ status: 403, contentType: 'application/json', body });
    await page.waitForTimeout(200);
    await looked();
    assert.equal(held.length, expected.length);
  });

  test('what is told late of a session that was opened since is not what the list says of it', async () => {
    const page = await playground.page();
    const row = page.locator('.sessions .session').filter({ hasText: 'send_postcard' });
    const turn = await say(page, 'Call the tool send_postcard with the word Ida.');
    await hasStatus(turn, 'awaiting_tools');
    const id = new URL(page.url()).hash.slice(1);
    const { promise: released, resolve: release } = Promise.withResolvers();
    const { promise: held, resolve: isHeld } = Promise.withResolvers();
    await page.route(({ pathname }) => pathname === `/sessions/${id}`, async (route) => {
      const response = await route.fetch();
      isHeld();
      await released;
      await route.fulfill({ response });
    }, { times: 1 });
    await page.keyboard.press('Alt+n');
    await held;
    await row.click();
    await turn.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(turn, 'completed');
    await page.keyboard.press('Alt+n');
    await row.filter({ hasNotText: 'waits for you' }).waitFor();
    release();
    await page.waitForTimeout(300);
    assert.doesNotMatch(await row.innerText(), /waits for you/);
  });

  test('what no other page has is seen first, on a desk and on a phone, and shows at once what it is about', async () => {
    for (const viewport of [{ width: 1280, height: 720 }, { width: 390, height: 844 }]) {
      const page = await playground.page({ viewport, address: '?stand-in&demo-catalog' });
      for (const name of ['See inside', 'Cut it off in the middle']) {
        const card = await page.getByRole('button', { name }).boundingBox();
        const composer = await page.locator('.composer').boundingBox();
        assert.ok(card.y + card.height <= composer.y, `${name} ends at ${card.y + card.height}, and the message box begins at ${composer.y}`);
      }
      await page.getByRole('button', { name: 'See inside' }).click();
      await page.getByRole('img', { name: /Timeline of .*Model call 1.*Model call 2/ }).waitFor();
      await hasStatus(page.locator('.turn'), 'completed');
    }
  });

  test('beside a panel the title can be read, and each panel is as wide as the next and begins at its top', async () => {
    const page = await playground.page({ viewport: { width: 1280, height: 720 } });
    await hasStatus(await say(page, 'What can you do with a long title of this session?'), 'completed');
    const buttons = page.getByRole('group', { name: 'Panels' });
    for (const name of ['Session', 'Context', 'Inspector', 'Break it', 'Retrieval']) assert.ok((await buttons.innerText()).includes(name), `${name} in words`);
    const widths = [];
    for (const name of ['Break it', 'Inspector', 'Session', 'Context', 'Retrieval']) {
      await openPanel(page, name);
      const body = page.getByRole('region', { name: `${name}, contents` });
      assert.equal(await body.evaluate(({ scrollTop }) => scrollTop), 0, name);
      await body.evaluate((element) => element.scrollTo(0, 400));
      widths.push((await page.getByRole('complementary', { name }).boundingBox()).width);
      const title = await page.getByRole('heading', { level: 1 }).boundingBox();
      assert.ok(title.width > 150, `the title has ${title.width} pixels beside ${name}`);
    }
    assert.deepEqual([...new Set(widths)].length, 1, `${widths}`);
  });
});
