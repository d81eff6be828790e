// What the page says of a decision, or of a tool's result, is what the service has: until the service has it, it is being
// sent, over a lost network and over reloads; somebody else's that came first is shown as theirs.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { httpTool } from '../e2e/harness.mjs';
import { answer, call, text } from '../e2e/scripted_model.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, PHONE, Playground, say, tryNow } from './playground.mjs';

/** What the browser logs of requests that fail, and of a decision that came too late. */
const EXPECTED = [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION|ERR_FAILED/, /status of 409 .*\/execute/];
/** What asks the service; the page itself comes. */
const CALLS = /\/(execute|sessions|health)/;

/** What the tab keeps besides where calls were answered, which are ids. */
const waitingInTab = (page) => page.evaluate(() => Object.keys(sessionStorage).filter((key) => key !== 'aptix-edge.decided'));

describe('decisions and results of the page', { skip: withoutBrowser }, () => {
  let playground, rig;

  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { modelUrl, toolUrl }) => {
        catalog.AgentContexts.default.BaseUrl = modelUrl;
        const Parameters = { type: 'object', properties: { amount: { type: 'number' } } };
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

  const open = (options) => playground.page({ expected: EXPECTED, ...options });
  const sessionOf = (page) => new URL(page.url()).hash.slice(1);
  const offline = (page, isOffline) => page.context().setOffline(isOffline);
  const sign = (page) => page.getByText('The service cannot be reached.');
  const question = (turn, name = 'pay') => turn.getByRole('region', { name: `May the agent call ${name}?` });
  const approve = (turn) => question(turn).first().getByRole('button', { name: 'Approve' }).click();
  const refuse = (turn) => question(turn).first().getByRole('button', { name: 'Refuse' }).click();
  const given = (turn, name = 'pay') => turn.getByRole('group', { name: `Your answer to ${name}` });
  /** The line of a call that is decided. */
  const head = (turn, words) => turn.locator('summary').filter({ hasText: words });
  const payments = () => rig.tools.requests.map((request) => request.json?.Arguments ?? JSON.parse(request.text).Arguments);
  const waiting = async (page) => (await rig.get(`/sessions/${sessionOf(page)}`)).json.Result.LiveTurn;
  const decisions = async (page) => {
    const { Turns } = (await rig.get(`/sessions/${sessionOf(page)}/export`)).json.Result;
    return Turns.flatMap(({ ToolCalls }) => ToolCalls.map(({ Approval, Answer }) => Approval?.Decision ?? Answer?.ResultJson));
  };
  /** Resolves when so many looks whether the service is there have failed. */
  const failedLooks = (page, count) =>
    new Promise((resolve) => {
      let left = count;
      if (left === 0) return resolve();
      page.on('requestfailed', (request) => request.url().endsWith('/health') && --left === 0 && resolve());
    });

  /** A turn whose model calls tools; it waits for the answers. */
  async function asked(page, ...calls) {
    rig.tools.on('/pay', ...calls.map(() => '{"paid":true}'));
    rig.model.script(answer(...calls), answer(text('Done.')));
    const turn = await say(page, 'Pay.');
    await hasStatus(turn, 'awaiting_tools');
    return turn;
  }
  const payment = (amount) => call('pay', [`{"amount":${amount}}`]);
  const reading = () => call('read_file', ['{"path":"README.md"}']);

  test('a decision that is given without a network is being sent until the service has it, however long that takes', async () => {
    for (const looks of [0, 1, 3]) {
      const page = await open();
      const turn = await asked(page, payment(looks));
      await offline(page, true);
      const lost = failedLooks(page, looks);
      await approve(turn);
      await given(turn).getByText('approved · being sent').waitFor();
      await sign(page).waitFor();
      await given(turn).getByText('It waits for the network.').waitFor();
      if (looks === 0) await assertAccessible(page);
      if (looks === 0) await page.shot('answer-offline');
      await lost;
      assert.equal((await waiting(page)).Status, 'awaiting_tools');
      for (const untrue of ['you decided', 'The turn runs on', 'The connection is lost', 'The agent waits for your answer']) assert.equal(await page.getByText(untrue).count(), 0, untrue);
      await offline(page, false);
      await hasStatus(turn, 'completed');
      await head(turn, /you decided\s*approved/).waitFor();
      assert.equal(await given(turn).count(), 0);
      assert.deepEqual(payments(), [{ amount: looks }]);
      assert.deepEqual(await waitingInTab(page), []);
      rig.clear();
    }
  });

  test("a tool's result that is given without a network is kept over a reload, and sent", async () => {
    const page = await open();
    const turn = await asked(page, reading());
    await page.route(CALLS, (route) => route.abort('connectionfailed'));
    await turn.getByLabel('Result, as JSON or as plain text').fill('my own words');
    await turn.getByRole('button', { name: 'Send result' }).click();
    await given(turn, 'read_file').getByText('done · being sent').waitFor();
    await page.reload();
    await sign(page).waitFor();
    await page.unroute(CALLS);
    await tryNow(page);
    await hasStatus(turn, 'completed');
    await head(turn, 'run by this page').waitFor();
    assert.deepEqual(rig.model.bodies[1].input.map(({ output }) => output), ['"my own words"']);
    assert.deepEqual(await waitingInTab(page), []);
  });

  test('a decision whose acceptance was lost is the same one when it is sent again, also after a reload', async () => {
    for (const isReloaded of [false, true]) {
      const page = await open();
      const turn = await asked(page, payment(1));
      // The service gets it; the page never hears of it.
      await page.route(/\/execute/, async (route) => (await route.fetch(), route.abort('connectionfailed')));
      await page.route(/\/health/, (route) => route.abort('connectionfailed'));
      await approve(turn);
      await given(turn).getByText('It waits for the network.').waitFor();
      await page.unroute(/\/execute/);
      await page.unroute(/\/health/);
      if (isReloaded) await page.reload();
      else await tryNow(page);
      await hasStatus(turn, 'completed');
      await head(turn, isReloaded ? /a human decided\s*approved/ : /you decided\s*approved/).waitFor();
      assert.equal(payments().length, 1);
      assert.deepEqual(await waitingInTab(page), []);
      rig.clear();
    }
  });

  test('a file that cannot be read is no answer, and is told', async () => {
    const page = await open();
    const turn = await asked(page, reading());
    await page.evaluate(() => (Blob.prototype.text = () => Promise.reject(new DOMException('It is gone.', 'NotReadableError'))));
    await turn.getByLabel('Answer with a file').setInputFiles({ name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Of pelicans') });
    await turn.getByRole('alert').getByText('notes.md could not be read.').waitFor();
    // Of a file that stands there already a browser tells nothing when it is chosen again.
    assert.equal(await turn.getByLabel('Answer with a file').evaluate(({ files }) => files.length), 0);
    await turn.getByLabel('Result, as JSON or as plain text').fill('Nothing.');
    await turn.getByRole('button', { name: 'Send result' }).click();
    await hasStatus(turn, 'completed');
  });

  test('a file that is too large is no answer, and is told', async () => {
    const page = await open();
    const turn = await asked(page, reading());
    await turn.getByLabel('Answer with a file').setInputFiles({ name: 'large.log', mimeType: 'text/plain', buffer: Buffer.alloc((4 << 20) + 1, 'a') });
    await turn.getByRole('alert').getByText('large.log is larger than 4 MB.').waitFor();
    await turn.getByLabel('Result, as JSON or as plain text').fill('Nothing.');
    await turn.getByRole('button', { name: 'Send result' }).click();
    await hasStatus(turn, 'completed');
  });

  test('of two calls in one pause the first answer waits visibly for the other one, is kept over a reload, and can be taken back', async () => {
    const page = await open({ viewport: PHONE, colorScheme: 'dark' });
    const turn = await asked(page, payment(1), payment(2));
    const other = await playground.tab(page, { expected: EXPECTED });
    await approve(turn);
    await given(turn).getByText('approved · waits for the other calls').waitFor();
    await assertAccessible(page);
    await page.shot('answer-waits-phone');
    assert.equal(await question(turn).count(), 1);
    // Nothing is decided yet, for nobody.
    await question(other.locator('.turn')).nth(1).waitFor();
    assert.deepEqual(await decisions(page), [undefined, undefined]);
    await page.reload();
    await given(turn).getByText('approved · waits for the other calls').waitFor();
    assert.equal(await question(turn).count(), 1);
    assert.equal(await turn.getByText('you decided').count(), 0);
    await given(turn).getByRole('button', { name: 'Answer anew' }).click();
    await question(turn).nth(1).waitFor();
    await refuse(turn);
    await given(turn).getByText('refused · waits for the other calls').waitFor();
    await approve(turn);
    await hasStatus(turn, 'completed');
    assert.deepEqual(await decisions(page), ['refused', 'approved']);
    assert.deepEqual(await turn.locator('.state').allInnerTexts().then((all) => all.map((each) => each.split(' ·')[0]).filter((each) => each !== 'done')), ['refused', 'approved']);
    assert.deepEqual(await waitingInTab(page), []);
    await hasStatus(other.locator('.turn'), 'completed');
    assert.deepEqual(await other.locator('.by').filter({ hasText: 'decided' }).allInnerTexts(), ['you decided in another tab', 'you decided in another tab']);
  });

  test('an answer that waits for another one here is given up when somebody else answers all of them', async () => {
    const page = await open();
    const turn = await asked(page, payment(1), payment(2));
    const other = await playground.tab(page, { expected: EXPECTED });
    await approve(turn);
    await given(turn).waitFor();
    for (const left of [2, 1]) {
      await question(other.locator('.turn')).nth(left - 1).waitFor();
      await refuse(other.locator('.turn'));
    }
    await head(turn, /you decided in another tab\s*refused/).nth(1).waitFor();
    await hasStatus(turn, 'completed');
    assert.equal(await turn.getByText('approved').count(), 0);
    assert.deepEqual(await waitingInTab(page), []);
    assert.deepEqual(payments(), []);
  });

  test('two tabs that decide at once both show the decision that counts, and where it was made', async () => {
    const page = await open();
    const turn = await asked(page, payment(1));
    const other = await playground.tab(page, { expected: EXPECTED });
    const theirs = other.locator('.turn');
    await hasStatus(theirs, 'awaiting_tools');
    // The first tab hears nothing of the other one before its own decision has come too late.
    await page.evaluate(() => Object.defineProperty(document, 'hidden', { get: () => true, configurable: true }));
    let letGo;
    const isHeld = new Promise((resolve) => (letGo = resolve));
    await page.route(/\/execute/, async (route) => (await isHeld, route.continue()));
    await approve(turn);
    await given(turn).getByText('approved · being sent').waitFor();
    await refuse(theirs);
    await head(theirs, /you decided\s*refused/).waitFor();
    assert.equal(await turn.getByText('you decided').count(), 0);
    letGo();
    await head(turn, /you decided in another tab\s*refused/).waitFor();
    for (const each of [turn, theirs]) await hasStatus(each, 'completed');
    assert.equal(await turn.getByText('approved').count(), 0);
    assert.deepEqual(await decisions(page), ['refused']);
    assert.deepEqual(payments(), []);
  });

  test("a script that answers first is shown with who and what, and the page's own answer is not, also after a reload", async () => {
    const page = await open();
    const turn = await asked(page, payment(1));
    const posted = async (ResultJson) => {
      const { TurnId, ToolCalls } = await waiting(page);
      await rig.post({ SessionId: sessionOf(page), TurnId, ToolResults: [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 5, ResultJson }] });
    };
    await posted('{"Approved":false,"Reason":"Not to her."}');
    await approve(turn);
    await head(turn, /a human decided\s*refused/).waitFor();
    await hasStatus(turn, 'completed');
    assert.equal(await turn.getByText(/approved|you decided/).count(), 0);
    await page.reload();
    await head(turn, /a human decided\s*refused/).waitFor();
    assert.deepEqual(await waitingInTab(page), []);

    rig.clear();
    rig.model.script(answer(reading()), answer(text('Done.')));
    const second = await say(page, 'Read.');
    await hasStatus(second, 'awaiting_tools');
    await posted('"of the script"');
    await second.getByLabel('Result, as JSON or as plain text').fill('of the page');
    await second.getByRole('button', { name: 'Send result' }).click();
    await head(second, 'run by the client').click();
    await second.getByText('"of the script"').waitFor();
    assert.equal(await second.getByText('of the page').count(), 0);
    await hasStatus(second, 'completed');
  });

  test('a decision that the service refuses for another reason is asked for again, with the reason', async () => {
    const page = await open({ expected: [/status of 403/] });
    const turn = await asked(page, payment(1));
    const refusal = { Successful: false, Result: null, Warnings: [], Errors: [{ ErrorCode: 'forbidden', Message: 'The ticket may not approve.', SystemError: false }] };
    await page.route(/\/execute/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await approve(turn);
    await question(turn).getByText('The ticket may not approve.').waitFor();
    assert.equal(await turn.getAttribute('data-status'), 'awaiting_tools');
    await approve(turn);
    await hasStatus(turn, 'completed');
    await head(turn, /you decided\s*approved/).waitFor();
    // What was written for it stands there again.
    const next = await asked(page, payment(2));
    await page.route(/\/execute/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await question(next).getByLabel('Reason, if you refuse').fill('Too much.');
    await refuse(next);
    await question(next).getByText('The ticket may not approve.').waitFor();
    assert.equal(await question(next).getByLabel('Reason, if you refuse').inputValue(), 'Too much.');
    await refuse(next);
    await hasStatus(next, 'completed');
  });

  test('a decision in a session that is left before it could be sent goes by itself', async () => {
    const page = await open();
    const turn = await asked(page, payment(1));
    const left = sessionOf(page);
    await offline(page, true);
    await approve(turn);
    await given(turn).getByText('It waits for the network.').waitFor();
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await offline(page, false);
    await page.waitForFunction(() => Object.keys(sessionStorage).every((key) => key === 'aptix-edge.decided'));
    await page.getByRole('button', { name: 'Pay.', exact: false }).first().click();
    await hasStatus(page.locator('.turn'), 'completed');
    assert.equal(sessionOf(page), left);
    await head(page.locator('.turn'), /you decided\s*approved/).waitFor();
  });

  test('a turn that is stopped elsewhere takes no answer that waits here', async () => {
    const page = await open();
    const turn = await asked(page, payment(1), payment(2));
    await approve(turn);
    await given(turn).waitFor();
    const { TurnId } = await waiting(page);
    await rig.request('POST', `/sessions/${sessionOf(page)}/turns/${TurnId}/cancel`);
    await refuse(turn);
    await hasStatus(turn, 'aborted');
    assert.equal(await turn.getByText('not answered').count(), 2);
    assert.deepEqual(await waitingInTab(page), []);
    rig.clear();
  });
});
