// One session in two tabs, and at the hands of a script: each tab shows what the service has, who decided, and stops what
// another one began.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { slowness } from '../e2e/machine_speed.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, hasStatus, Playground, say, withMail } from './playground.mjs';

/** The longest time after which a second tab shows the same, in ms; on a machine that is busy it is longer by as much. */
const SOON_MS = 1000 * slowness();

describe('a session in two tabs', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: withMail(),
    });
    playground.rig.tools.on('/send_mail', '{"sent":true}');
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const sessionOf = (page) => new URL(page.url()).hash.slice(1);
  const post = (body) => playground.rig.post(body);
  /** Counts what a page asks the service for. */
  const counted = (page) => {
    const asked = [];
    page.on('request', (request) => asked.push(new URL(request.url()).pathname));
    return asked;
  };
  /** What an answer shows, and apart from it how long the turn took: each tab measures by what came to it. */
  const answerIn = async (turn) => {
    // In one reading: the time is told anew when the service has told it.
    const words = await turn.locator('.answer').innerText();
    const [told, time, unit] = /\b([\d.]+) (m?s)\b/.exec(words);
    return { words: words.replace(told, ''), seconds: time / (unit === 's' ? 1 : 1000) };
  };
  /** Another tab of the page's browser, which hears of nothing, as one that sleeps. */
  const sleeping = async (page) => {
    const tab = await page.context().newPage();
    await tab.addInitScript(() => addEventListener('storage', (event) => event.stopImmediatePropagation(), { capture: true }));
    await tab.goto(new URL('/', page.url()).href);
    await tab.getByRole('textbox', { name: 'Message' }).waitFor();
    return tab;
  };
  const soon = (place) => place.waitFor({ timeout: SOON_MS });

  test('what one tab says, the other shows within a second and streams, without asking over and over', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const other = await playground.tab(page);
    await hasStatus(other.locator('.turn'), 'completed');
    const asked = counted(other);
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    const seen = other.locator('.turn').nth(1);
    await soon(seen.getByText('This answer'));
    assert.equal(await seen.locator('.question-bubble p').innerText(), 'Give a slow answer.');
    playground.goOn();
    await hasStatus(seen, 'completed');
    await hasStatus(turn, 'completed');
    const [mine, theirs] = await Promise.all([turn, seen].map(answerIn));
    assert.equal(theirs.words, mine.words);
    assert.ok(Math.abs(theirs.seconds - mine.seconds) <= SOON_MS / 1000, `${theirs.seconds} s there, ${mine.seconds} s here`);
    assert.ok(asked.length <= 6, asked.join('\n'));
  });

  test('a tab that slept while another one wrote its sessions leaves them in the list', async () => {
    const page = await playground.page();
    const tab = await sleeping(page);
    await hasStatus(await say(page, 'The one.'), 'completed');
    await hasStatus(await say(tab, 'The other.'), 'completed');
    const titles = await page.evaluate(() => JSON.parse(localStorage.getItem('aptix-edge.sessions')).map(({ title }) => title));
    assert.deepEqual(titles, ['The other.', 'The one.']);
  });

  test('a tab that slept while another one made a branch leaves it a branch', async () => {
    const page = await playground.page();
    const tab = await sleeping(page);
    for (const each of [page, tab]) {
      const turn = await say(each, 'What can you do?');
      await hasStatus(turn, 'completed');
      await turn.getByRole('button', { name: 'Fork from here' }).click();
      await each.getByText('Branched from').waitFor();
    }
    assert.equal(await page.evaluate(() => JSON.parse(localStorage.getItem('aptix-edge.branches')).length), 2);
  });

  test('a turn that another tab began is stopped here, and both say so', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const other = await playground.tab(page);
    const turn = await say(page, 'Give a slow answer.');
    await other.getByText('This answer').waitFor();
    await other.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    await hasStatus(other.locator('.turn').nth(1), 'aborted');
    for (const each of [page, other]) await each.getByText('This turn was stopped.').waitFor();
  });

  test('a decision of the other tab says who and what, and so does one of a script', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    const other = await playground.tab(page);
    const seen = other.locator('.turn').first();
    await hasStatus(seen, 'awaiting_tools');
    await turn.getByRole('button', { name: 'Change the arguments' }).click();
    await turn.getByLabel('Arguments, a JSON object').fill('{"to": "bob"}');
    await turn.getByRole('button', { name: 'Approve' }).click();
    await soon(seen.getByText('you decided in another tab'));
    assert.match(await seen.locator('summary').first().innerText(), /send_mail\s+you decided in another tab\s+approved with changes/);
    await seen.locator('summary').first().click();
    assert.match(await seen.locator('details[open] pre').first().innerText(), /"to": "bob"/);
    await hasStatus(seen, 'completed');
    await hasStatus(turn, 'completed');
    assert.match(await turn.locator('summary').first().innerText(), /you decided\s+approved with changes/);
    assert.equal(await seen.getByText('not answered').count(), 0);
    await assertAccessible(other);

    const refused = await say(page, 'Call the tool send_mail with the word eve.');
    await hasStatus(refused, 'awaiting_tools');
    const session = sessionOf(page);
    const { json } = await playground.rig.get(`/sessions/${session}`);
    const { TurnId, ToolCalls } = json.Result.LiveTurn;
    await post({ SessionId: session, TurnId, ToolResults: [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 5, ResultJson: '{"Approved":false,"Reason":"Not to her."}' }] });
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await refused.getByText('a human decided').waitFor();
    assert.match(await refused.locator('summary').first().innerText(), /send_mail\s+a human decided\s+refused/);
    await hasStatus(refused, 'completed');
    await refused.locator('summary').first().click();
    await refused.locator('details[open]').getByText('Reason: Not to her.').waitFor();
  });

  test('a turn that a script began is seen when somebody comes back to the page, and an erased session is no more', async () => {
    // The browser logs the refusal of what was erased, as it has to.
    const page = await playground.page({ expected: [/status of 404/] });
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const session = sessionOf(page);
    const running = post({ SessionId: session, TurnId: 'by-script', Instruction: 'Give a slow answer.' });
    await playground.rig.get(`/sessions/${session}/turns/by-script`);
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    const seen = page.locator('[data-turn="by-script"]');
    await seen.getByText('This answer').waitFor();
    assert.equal(await seen.getAttribute('data-status'), 'running');
    playground.goOn();
    await running;
    await hasStatus(seen, 'completed');
    await playground.rig.request('DELETE', `/sessions/${session}`);
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.getByText('This session was erased elsewhere.').waitFor();
    assert.equal(await page.locator('.turn').count(), 0);
  });

  test('a session that one tab erases is no more in the other one within a second, nor in its list', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    // The browser logs the refusal, as it has to.
    const other = await playground.tab(page, { expected: [/status of 404/] });
    await hasStatus(other.locator('.turn'), 'completed');
    await other.getByRole('textbox', { name: 'Message' }).fill('Not sent yet');
    await page.getByRole('button', { name: 'Erase What can you do?' }).click();
    await agree(page);
    await page.getByText('Sessions of this browser stand here.').waitFor();
    await soon(other.getByText('This session was erased elsewhere.'));
    assert.equal(await other.locator('.turn').count(), 0);
    await other.getByText('Sessions of this browser stand here.').waitFor();
    assert.deepEqual(await other.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith('aptix-edge.unsent.'))), []);
  });

  test('words that two tabs send at once: one is the turn, the other one is told and shown what runs', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const other = await playground.tab(page, { expected: [/status of 409/] });
    await hasStatus(other.locator('.turn'), 'completed');
    // A tab that hears nothing of the other one.
    await other.evaluate(() => Object.defineProperty(document, 'hidden', { get: () => true }));
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    const late = await say(other, 'Which word?');
    await hasStatus(late, 'failed');
    await late.getByText('turn_in_progress').waitFor();
    const seen = other.locator('.turn').filter({ has: other.locator('.question-bubble', { hasText: 'Give a slow answer.' }) });
    await hasStatus(seen, 'running');
    playground.goOn();
    await hasStatus(seen, 'completed');
  });
});
