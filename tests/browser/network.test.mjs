// The playground without a network: what has not left waits, is kept over a reload and is sent by itself; a lost service is
// asked again by itself.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { eventually } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, busy, hasStatus, PHONE, Playground, say, tryNow } from './playground.mjs';

/** What the browser logs of requests that fail. */
const OFFLINE = [/ERR_INTERNET_DISCONNECTED|ERR_CONNECTION|ERR_FAILED/, /status of 404 .*\/export/, /status of 50[23] /];
const SLOW_ANSWER = 'This answer comes word by word, slowly enough to be cut, cancelled or resumed.';
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

describe('the playground without a network', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const open = (options) => playground.page({ expected: OFFLINE, ...options });
  const offline = (page, isOffline) => page.context().setOffline(isOffline);
  const kept = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
  const sign = (page) => page.getByText('The service cannot be reached.');
  const turnsOf = async (page) => {
    const id = new URL(page.url()).hash.slice(1);
    const { Result } = await (await fetch(new URL(`/sessions/${id}/turns`, playground.rig.url))).json();
    return Result?.Turns.length ?? 0;
  };

  const lastTurn = async (session) => (await (await fetch(new URL(`/sessions/${session}`, playground.rig.url))).json()).Result.LatestTurn.TurnId;

  test('a message that could not leave waits, and is sent once by itself when the network is back', async () => {
    const page = await open();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await offline(page, true);
    const turn = await say(page, 'Remember the word pelican.');
    await hasStatus(turn, 'unsent');
    await turn.getByRole('group', { name: 'Not sent yet' }).getByText('Waiting for the network').waitFor();
    await sign(page).waitFor();
    assert.equal(await turn.getByText('The turn runs on').count(), 0);
    const second = await say(page, 'Which word?');
    await hasStatus(second, 'unsent');
    await assertAccessible(page);
    await page.shot('desktop-light-unsent');
    assert.equal(await turnsOf(page), 1);
    await offline(page, false);
    await hasStatus(turn, 'completed');
    await hasStatus(second, 'completed');
    await second.getByText('pelican.').waitFor();
    await sign(page).waitFor({ state: 'detached' });
    assert.equal(await turnsOf(page), 3);
    assert.doesNotMatch(await kept(page), /pelican/);
  });

  test('a message that waits for the turn before it says so, and nothing of the network', async () => {
    const page = await open();
    await offline(page, true);
    const first = await say(page, 'Please read missing.md.');
    await hasStatus(first, 'unsent');
    const second = await say(page, 'What can you do?');
    await second.getByText('as soon as the service can be reached, also after a reload.').waitFor();
    await offline(page, false);
    await hasStatus(first, 'awaiting_tools');
    await second.getByText('Waiting for its turn').waitFor();
    await second.getByText('as soon as the turn before it has ended, also after a reload.').waitFor();
  });

  test('what waits for the turn before it does not begin a session anew that is erased', async () => {
    for (const [words, seen] of [['Please read missing.md.', 'No file of this name'], ['Give a slow answer.', 'This answer']]) {
      const page = await open();
      await offline(page, true);
      const first = await say(page, words);
      await hasStatus(await say(page, 'What can you do?'), 'unsent');
      await offline(page, false);
      await first.getByText(seen).waitFor();
      await page.getByText('Waiting for its turn').waitFor();
      const session = new URL(page.url()).hash.slice(1);
      await page.getByRole('button', { name: `Erase ${words}` }).click();
      await agree(page);
      await page.getByText('What should the agent do?').waitFor();
      await page.waitForTimeout(500);
      assert.equal((await fetch(new URL(`/sessions/${session}`, playground.rig.url))).status, 404, words);
      assert.doesNotMatch(await kept(page), /What can you do/);
    }
  });

  test('a reload keeps what waits: its text, and only that; then it is sent under the same id', async () => {
    const page = await open();
    // The page itself comes; all that it asks the service for does not.
    const lost = (route) => route.abort('connectionfailed');
    const calls = /\/(execute|sessions|health)/;
    await page.route(calls, lost);
    const turn = await say(page, 'Remember the word heron.');
    await hasStatus(turn, 'unsent');
    const id = await turn.getAttribute('data-turn');
    const entry = JSON.parse(await page.evaluate(() => sessionStorage.getItem('aptix-edge.outbox')));
    assert.deepEqual(entry, [{ session: new URL(page.url()).hash.slice(1), id, text: 'Remember the word heron.', attached: [] }]);
    await page.reload();
    await hasStatus(turn, 'unsent');
    assert.equal(await turn.locator('.question-bubble p').innerText(), 'Remember the word heron.');
    await page.unroute(calls, lost);
    await tryNow(page);
    await hasStatus(turn, 'completed');
    assert.equal(await turn.getAttribute('data-turn'), id);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
    await page.reload();
    await hasStatus(turn, 'completed');
    assert.equal(await page.locator('.turn').count(), 1);
  });

  test('what waits stands behind what was said before it, also where the page had that later', async () => {
    const page = await open();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const calls = /\/(execute|sessions|health)/;
    await page.route(calls, (route) => route.abort('connectionfailed'));
    await hasStatus(await say(page, 'Remember the word heron.'), 'unsent');
    await page.reload();
    await page.locator('.turn[data-status="unsent"]').waitFor();
    await page.unroute(calls);
    await tryNow(page);
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    assert.deepEqual(await page.locator('.turn .question-bubble p').allInnerTexts(), ['What can you do?', 'Remember the word heron.']);
  });

  test('a message whose answer was lost is the same turn when it is sent again, also after a reload in between', async () => {
    const page = await open();
    // The service gets it; the page never hears of it, and is reloaded in that moment.
    await page.route(/\/execute/, async (route) => (await route.fetch(), route.abort('connectionfailed')));
    await page.route(/\/health/, (route) => route.abort('connectionfailed'));
    await hasStatus(await say(page, 'What can you do?'), 'unsent');
    await page.unroute(/\/execute/);
    await page.unroute(/\/health/);
    await page.reload();
    await hasStatus(page.locator('.turn'), 'completed');
    await page.getByText('I am the stand-in for the model service.').waitFor();
    assert.equal(await turnsOf(page), 1);
    assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  });

  test('a message can be dropped; one whose files a reload has lost waits for the human', async () => {
    const page = await open({ viewport: PHONE, colorScheme: 'dark' });
    await offline(page, true);
    const turn = await say(page, 'Never mind.');
    await turn.getByRole('button', { name: 'Drop it' }).click();
    await page.getByText('What should the agent do?').waitFor();
    assert.doesNotMatch(await kept(page), /Never mind/);
    await offline(page, false);

    await page.route(/\/(execute|health)/, (route) => route.abort('connectionfailed'));
    await page.getByLabel('Attach files').setInputFiles({ name: 'dot.png', mimeType: 'image/png', buffer: Buffer.from(PIXEL, 'base64') });
    await page.getByRole('list', { name: 'Attachments' }).waitFor();
    const withPicture = await say(page, 'What do you see?');
    await hasStatus(withPicture, 'unsent');
    await page.reload();
    await withPicture.getByText('Not sent: its files are gone').waitFor();
    await withPicture.getByText('dot.png').waitFor();
    await assertAccessible(page);
    await page.shot('phone-dark-unsent');
    await page.unroute(/\/(execute|health)/);
    await withPicture.getByRole('button', { name: 'Send the words alone' }).click();
    await hasStatus(withPicture, 'completed');
    await withPicture.getByText('I am the stand-in').waitFor();
  });

  test('words in a session that is no longer open leave, too; and so do words that were added to a turn', async () => {
    const page = await open();
    await offline(page, true);
    await hasStatus(await say(page, 'Remember the word otter.'), 'unsent');
    const first = new URL(page.url()).hash;
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await offline(page, false);
    await page.waitForFunction(() => sessionStorage.length === 0);
    await page.getByRole('button', { name: 'Remember the word otter.', exact: false }).first().click();
    await hasStatus(page.locator('.turn'), 'completed');
    assert.equal(new URL(page.url()).hash, first);

    const turn = await say(page, 'Please read later.md.');
    await hasStatus(turn, 'awaiting_tools');
    await offline(page, true);
    await page.getByRole('textbox', { name: 'Message' }).fill('Which word?');
    await page.keyboard.press('Enter');
    await turn.locator('.steer[data-steer="waiting"]').waitFor();
    await offline(page, false);
    await turn.locator('.steer[data-steer="pending"]').waitFor();

    const calls = /\/(execute|sessions|health)/;
    await page.route(calls, (route) => route.abort('connectionfailed'));
    await page.getByRole('textbox', { name: 'Message' }).fill('And be brief.');
    await page.keyboard.press('Enter');
    await turn.locator('.steer[data-steer="waiting"]').waitFor();
    // The loss is known by now.
    await page.getByRole('textbox', { name: 'Message' }).fill('And polite.');
    await page.keyboard.press('Enter');
    await turn.locator('.steer').nth(2).waitFor();
    assert.equal(await turn.locator('.steer').nth(2).getAttribute('data-steer'), 'waiting');
    await page.reload();
    await sign(page).waitFor();
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await page.unroute(calls);
    await tryNow(page);
    await page.waitForFunction(() => sessionStorage.length === 0);
    const { Result } = await (await fetch(new URL(`/sessions/${first.slice(1)}/turns/${await lastTurn(first.slice(1))}`, playground.rig.url))).json();
    assert.deepEqual(Result.Steers.map(({ State }) => State), ['pending', 'pending', 'pending'], 'also where the session was left');
  });

  test('what waits over a reload, and then in a session that is left, goes with what is set for that session', async () => {
    const page = await open();
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await page.getByLabel('Workspace').fill('zoo');
    const calls = /\/(execute|sessions|health)/;
    await page.route(calls, (route) => route.abort('connectionfailed'));
    await hasStatus(await say(page, 'Remember the word ibis.'), 'unsent');
    await page.reload();
    await hasStatus(page.locator('.turn'), 'unsent');
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await page.unroute(calls);
    const sent = page.waitForRequest(/\/execute/);
    await tryNow(page);
    const { Instruction, WorkspaceId } = (await sent).postDataJSON();
    assert.deepEqual([Instruction, WorkspaceId], ['Remember the word ibis.', 'zoo']);
    await page.waitForFunction(() => sessionStorage.getItem('aptix-edge.outbox') === null);
  });

  test('words for a turn that are come back to without a network are added to it, once, and are no turn of their own', async () => {
    const page = await open();
    const turn = await say(page, 'Please read back.md.');
    await hasStatus(turn, 'awaiting_tools');
    const session = new URL(page.url()).hash.slice(1);
    await page.route(/\/(execute|sessions|health)/, (route) => route.abort('connectionfailed'));
    await page.getByRole('textbox', { name: 'Message' }).fill('And be brief.');
    await page.keyboard.press('Enter');
    await turn.locator('.steer[data-steer="waiting"]').waitFor();
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await page.getByRole('button', { name: 'Please read back.md.', exact: false }).first().click();
    await page.locator('.fault').waitFor();
    await page.unroute(/\/(execute|sessions|health)/);
    await tryNow(page);
    await turn.locator('.steer[data-steer="pending"]').waitFor();
    await page.waitForFunction(() => sessionStorage.getItem('aptix-edge.outbox') === null);
    assert.equal(await page.locator('.turn').count(), 1);
    const { Result } = await (await fetch(new URL(`/sessions/${session}/turns/${await lastTurn(session)}`, playground.rig.url))).json();
    assert.equal(Result.Steers.length, 1);
  });

  test('words that have arrived do not wait again where an earlier attempt at them ends later', async () => {
    const page = await open();
    const turn = await say(page, 'Please read once.md.');
    await hasStatus(turn, 'awaiting_tools');
    let [release, tries] = [() => {}, 0];
    const held = new Promise((resolve) => (release = resolve));
    // The first attempt is repeated, which takes longer than what the page sends once more.
    await page.route(/\/steer$/, async (route) => {
      tries += 1;
      if (tries === 3) return route.continue();
      if (tries === 2) await held;
      await route.abort('connectionfailed');
    });
    await page.getByRole('textbox', { name: 'Message' }).fill('And be brief.');
    await page.keyboard.press('Enter');
    await turn.locator('.steer[data-steer="pending"]').waitFor();
    await page.evaluate(() => {
      const inTime = window.setTimeout.bind(window);
      window.setTimeout = (act, ms, ...given) => inTime(act, ms / 100, ...given);
    });
    release();
    await eventually(() => tries >= 7, 'it is given up');
    await sign(page).waitFor({ state: 'detached' });
    assert.deepEqual(await turn.locator('.steer').evaluateAll((all) => all.map(({ dataset }) => dataset.steer)), ['pending']);
  });

  test('a lost service is asked again by itself, with a sign that goes away, and the turn goes on where its text stopped', async () => {
    const page = await open();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    // The line breaks, and nothing is let through for a while.
    await page.route(/\/(execute|sessions|health)/, (route) => route.abort('connectionfailed'));
    await page.getByRole('button', { name: 'Break it' }).click();
    await page.locator('[data-trial="cut"]').getByRole('button', { name: 'Try it' }).click();
    await sign(page).waitFor();
    await page.shot('desktop-light-lost');
    await page.unroute(/\/(execute|sessions|health)/);
    await sign(page).waitFor({ state: 'detached' });
    playground.goOn();
    await hasStatus(turn, 'completed');
    assert.equal(await turn.locator('.answer .markdown').innerText(), SLOW_ANSWER);
  });

  test('a turn that is followed anew while its text comes has each piece of it once', async () => {
    const page = await open();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    // As on a busy page, on which text waits for its frame.
    await busy(page, 1500, { timers: false });
    await page.route(/\/sessions\/[^/]+$/, (route) => route.abort('connectionfailed'), { times: 1 });
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await sign(page).waitFor();
    await sign(page).waitFor({ state: 'detached' });
    playground.goOn();
    await hasStatus(turn, 'completed');
    await page.getByRole('button', { name: 'Inspector' }).click();
    await page.getByText('Raw events').click();
    const rows = page.locator('.events tr').filter({ has: page.getByRole('cell', { name: 'text', exact: true }) });
    const pieces = async () => (await rows.locator('td:last-child').allInnerTexts()).map((each) => JSON.parse(each)).join('');
    // The list waits for its frame, too.
    await eventually(async () => (await pieces()) === SLOW_ANSWER, 'each piece is listed, and once');
  });

  test('an address that leads nowhere is not said of the session that is opened before the service has told so', async () => {
    const page = await open();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const calls = /\/(sessions|health)/;
    await page.route(calls, (route) => route.abort('connectionfailed'));
    await page.evaluate(() => (location.hash = '#nobody-has-begun-it'));
    await page.locator('.conversation .fault').waitFor();
    const [nowhere, other] = [Promise.withResolvers(), Promise.withResolvers()];
    const exports = /\/sessions\/[^/]+\/export$/;
    await page.route(exports, async (route) => (await (route.request().url().includes('nobody') ? nowhere : other).promise, route.continue()));
    const asked = page.waitForRequest(exports);
    await page.unroute(calls);
    await tryNow(page);
    await asked;
    const entry = page.locator('button.session').filter({ hasText: 'What can you do?' });
    await entry.click();
    await page.getByText('Loading the session…').waitFor();
    const told = page.waitForResponse(/nobody-has-begun-it\/export$/);
    nowhere.resolve();
    await told;
    await page.waitForTimeout(300);
    assert.deepEqual([await entry.count(), await page.locator('.conversation .fault').count()], [1, 0]);
    other.resolve();
    await hasStatus(page.locator('.turn').first(), 'completed');
  });

  test('a page that finds no service knocks again by itself', async () => {
    const page = await open();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const stopped = { Successful: false, Errors: [{ ErrorCode: 'overloaded', Message: 'The service is being stopped.', SystemError: true }], Warnings: [] };
    const answers = [(route) => route.abort('connectionfailed'), (route) => route.fulfill({ status: 503, json: stopped }), (route) => route.fulfill({ status: 502, body: '<h1>Bad gateway</h1>' })];
    for (const answer of answers) {
      await page.route(/\/(openapi.json|health|sessions)/, answer);
      await page.reload();
      await page.getByText('The service does not answer').waitFor();
      await page.unroute(/\/(openapi.json|health|sessions)/);
      await hasStatus(page.locator('.turn'), 'completed');
      assert.equal(await page.getByText('The service does not answer').count(), 0);
    }
  });
});
