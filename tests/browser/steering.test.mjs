// Words that are added to a turn while it runs, in a real Chromium: what the page shows of them is the service's account,
// after a reload and in a second tab, too (interface §14).
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { httpTool } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, hasStatus, PHONE, Playground, say, signIn } from './playground.mjs';

describe('words while a turn runs', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { toolUrl }) => {
        const Parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
        catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Parameters, Approval: { When: 'Always' } }));
        for (const mode of catalog.Modes) mode.Tools.push('send_mail');
      },
    });
    playground.rig.tools.on('/send_mail', '{"sent":true}');
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  /** Writes while a turn runs. */
  const add = async (page, words, button) => {
    await page.getByRole('textbox', { name: 'Message' }).fill(words);
    if (button) await page.getByRole('button', { name: button, exact: true }).click();
    else await page.keyboard.press('Enter');
  };
  const steer = (turn, words, state) => turn.locator(`.steer[data-steer="${state}"]`).filter({ hasText: words });
  /** Adds words to a turn that ends before they leave; resolves to what lets them go. */
  const addedTooLate = async (page) => {
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    let release;
    const late = new Promise((resolve) => (release = resolve));
    await page.route(/\/steer$/, async (route) => (await late, route.continue()), { times: 1 });
    await add(page, 'What can you do?');
    await steer(turn, 'What can you do?', 'sending').waitFor();
    playground.goOn();
    await hasStatus(turn, 'completed');
    return release;
  };
  const sessionOf = (page) => new URL(page.url()).hash;
  /** The steers of the session's newest turn, as the service has them. */
  const stored = async (page) => {
    const id = sessionOf(page).slice(1);
    const get = async (path) => (await (await fetch(new URL(path, playground.rig.url))).json()).Result;
    const { LatestTurn } = await get(`/sessions/${id}`);
    return (await get(`/sessions/${id}/turns/${LatestTurn.TurnId}`)).Steers ?? [];
  };

  test('what is added is shown as it stands, in two tabs and after a reload, and the model gets it once', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    const other = await playground.page({ address: sessionOf(page) });
    const seen = other.locator('.turn').first();
    await seen.getByText('This answer').waitFor();
    await page.getByRole('textbox', { name: 'Message' }).fill('What can you do?');
    for (const name of ['Add', 'Interrupt', 'Stop']) await page.getByRole('button', { name, exact: true }).waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Enter');
    await steer(turn, 'What can you do?', 'pending').waitFor();
    await steer(seen, 'What can you do?', 'pending').waitFor();
    await page.shot('desktop-light-steer-pending');
    /** Whether the words that wait stand below the text that comes. */
    const isBelow = () => turn.locator('.answer').evaluate((answer) => [...answer.querySelectorAll('.markdown, .steer')].map(({ className }) => className.split(' ').find((name) => /^(markdown|steer)$/.test(name))).join());
    assert.equal(await isBelow(), 'markdown,steer');
    await page.reload();
    await steer(turn, 'What can you do?', 'pending').waitFor();
    await turn.getByText('This answer').waitFor();
    assert.equal(await isBelow(), 'markdown,steer', 'as before the reload');
    playground.goOn();
    for (const each of [turn, seen]) {
      await steer(each, 'What can you do?', 'delivered').waitFor();
      await hasStatus(each, 'completed');
      await each.getByText('I am the stand-in for the model service.').waitFor();
      await each.getByText(/This answer comes word by word.*resumed\./).waitFor();
    }
    await page.reload();
    await steer(turn, 'What can you do?', 'delivered').getByText('The model has it').waitFor();
    // Both answers are in the conversation that the model sees.
    assert.deepEqual((await turn.locator('.markdown').allInnerTexts()).map((each) => each.slice(0, 11)), ['This answer', 'I am the st']);
    assert.equal(await page.locator('.steer').count(), 1);
    assert.deepEqual((await stored(page)).map(({ State }) => State), ['delivered']);
    await assertAccessible(page);
  });

  test('an interrupt drops what is being written; a picture and a file go with it', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await page.setInputFiles('input[type=file]', { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Pelicans\n') });
    await page.getByRole('list', { name: 'Attachments' }).getByText('notes.md').waitFor();
    await add(page, 'What do you see?', 'Interrupt');
    await steer(turn, 'What do you see?', 'delivered').getByText('notes.md').waitFor();
    await turn.getByText('Context: notes.md').waitFor();
    await hasStatus(turn, 'completed');
    assert.equal(await page.getByRole('list', { name: 'Attachments' }).count(), 0);
    assert.equal(await turn.getByText('This answer').count(), 0, 'what was interrupted is dropped');
    await page.reload();
    await steer(turn, 'What do you see?', 'delivered').getByText('notes.md').waitFor();
  });

  test('a turn that waits for an approval takes words, which go with the decision; one that is stopped keeps them', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(turn, 'awaiting_tools');
    await add(page, 'Which word was it?');
    await steer(turn, 'Which word', 'pending').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Interrupt', exact: true }).count(), 0);
    await page.reload();
    await steer(turn, 'Which word', 'pending').waitFor();
    await turn.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(turn, 'completed');
    await steer(turn, 'Which word', 'delivered').waitFor();
    await turn.getByText('I was given no word to remember.').waitFor();

    const second = await say(page, 'Call the tool send_mail with the word bob.');
    await hasStatus(second, 'awaiting_tools');
    await add(page, 'Never mind him.');
    await steer(second, 'Never mind', 'pending').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await steer(second, 'Never mind', 'kept').waitFor();
    await hasStatus(second, 'aborted');
  });

  test('words that come too late are the next turn, and words that get lost are sent again as the same steer', async () => {
    const page = await playground.page({ expected: [/status of 409/, /ERR_CONNECTION_FAILED/] });
    const release = await addedTooLate(page);
    release();
    const next = page.locator('.turn').nth(1);
    await hasStatus(next, 'completed');
    await next.getByText('I am the stand-in for the model service.').waitFor();
    assert.equal(await page.locator('.steer').count(), 0);

    const third = await say(page, 'Give a slow answer.');
    await third.getByText('This answer').waitFor();
    let lost = 2;
    await page.route(/\/steer$/, async (route) => {
      await route.fetch();
      await route.abort('connectionfailed');
    }, { times: lost });
    await add(page, 'Think aloud.');
    await steer(third, 'Think aloud.', 'pending').waitFor();
    playground.goOn();
    await steer(third, 'Think aloud.', 'delivered').waitFor();
    await hasStatus(third, 'completed');
    await third.getByText('This is the answer.').waitFor();
    assert.deepEqual((await stored(page)).map(({ State }) => State), ['delivered']);
  });

  test('words that come too late for a turn whose session was left meanwhile are its next turn', async () => {
    const page = await playground.page({ expected: [/status of 409/] });
    const release = await addedTooLate(page);
    const left = sessionOf(page);
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    release();
    await page.waitForFunction(() => sessionStorage.getItem('aptix-edge.outbox') === null);
    await page.goto(new URL(left, page.url()).href);
    const next = page.locator('.turn').nth(1);
    await hasStatus(next, 'completed');
    assert.equal(await next.locator('.question-bubble p').innerText(), 'What can you do?');
    assert.equal(await page.locator('.turn').count(), 2);
  });

  test('words that come too late in a session that was left, and by then are dropped, are nothing any more', async () => {
    const page = await playground.page({ expected: [/status of 409/, /status of 404/] });
    const release = await addedTooLate(page);
    const again = new Promise((resolve) => page.route(/\/steer$/, resolve));
    await page.keyboard.press('Alt+n');
    const held = await again;
    await signIn(page, 'somebody-else');
    const refused = page.waitForResponse((response) => response.status() === 409);
    await held.continue();
    await refused;
    release();
    // So long a turn that is made and not sent is silent.
    await page.waitForTimeout(1500);
    assert.equal(await page.locator('.turn').count(), 0);
  });

  test('a stop that the service refuses says so beside the message box, until the turn is stopped', async () => {
    const page = await playground.page({ expected: [/status of 403/] });
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'The ticket may not stop it.', SystemError: false }], Warnings: [] };
    await page.route(/\/cancel$/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByRole('alert').getByText('The turn is not stopped: The ticket may not stop it.').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    assert.equal(await page.getByRole('alert').count(), 0);
  });

  test('words that the service refuses say why, and are added again on a phone in the dark', async () => {
    const page = await playground.page({ viewport: PHONE, colorScheme: 'dark', expected: [/status of 403/] });
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'The turn has had its steers.', SystemError: false }], Warnings: [] };
    await page.route(/\/steer$/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await add(page, 'What can you do?', 'Add');
    const failed = steer(turn, 'What can you do?', 'failed');
    await failed.getByText('Not added: The turn has had its steers.').waitFor();
    await assertAccessible(page);
    await page.shot('phone-dark-steer-failed');
    await failed.getByRole('button', { name: 'Add it again' }).click();
    await steer(turn, 'What can you do?', 'pending').waitFor();
    playground.goOn();
    await steer(turn, 'What can you do?', 'delivered').waitFor();
    await hasStatus(turn, 'completed');
    assert.equal(await page.locator('.steer').count(), 1);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });
});
