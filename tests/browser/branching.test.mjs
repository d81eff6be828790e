// Asking otherwise in a real Chromium: a question that is edited, an answer that is made again, a fork, links to turns. The
// conversation from which a session branches stays whole.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, done, hasStatus, losesFirstFork, PHONE, Playground, say, signIn } from './playground.mjs';

describe('asking otherwise', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => (playground = await Playground.start()));
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const sessionOf = (page) => new URL(page.url()).hash.slice(1).split('/')[0];
  const questions = (page) => page.locator('.turn .question-bubble > p').allInnerTexts();
  const resultOf = async (path) => (await (await fetch(new URL(path, playground.rig.url))).json()).Result;
  /** Resolves when the page shows another session than this. */
  const hasLeft = (page, session) => page.waitForURL((url) => url.hash.length > 1 && !url.hash.startsWith(`#${session}`));

  test('a question that is edited is asked in a branch, and the old conversation stays as it was', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const asked = await done(page, 'What can you do?');
    await done(page, 'Think aloud.');
    const parent = sessionOf(page);

    await asked.hover();
    await asked.getByRole('button', { name: 'Edit and send again' }).click();
    const box = page.getByRole('textbox', { name: 'The question, to be sent again' });
    assert.equal(await box.inputValue(), 'What can you do?');
    await assertAccessible(page);
    await page.shot('desktop-light-edit');
    await box.fill('Which word did I ask you to remember?');
    await page.keyboard.press('Enter');
    await hasLeft(page, parent);
    await page.getByText('Branched from Remember the word pelican.').waitFor();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.', 'Which word did I ask you to remember?']);
    const branch = sessionOf(page);
    const [first] = (await resultOf(`/sessions/${parent}/turns`)).Turns;
    assert.deepEqual((await resultOf(`/sessions/${branch}`)).Parent, { SessionId: parent, TurnId: first.TurnId });
    await assertAccessible(page);
    await page.shot('desktop-light-branch');

    const listed = page.locator('.sessions').getByRole('button', { name: /^Branch: Which word did I ask you to remember/ });
    assert.equal(await listed.getAttribute('aria-current'), 'page');
    await page.getByRole('link', { name: 'Remember the word pelican.' }).click();
    await page.waitForURL((url) => url.hash.startsWith(`#${parent}/`));
    await hasStatus(page.locator('.turn').nth(2), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.', 'What can you do?', 'Think aloud.']);
    assert.equal(await page.locator('.turn[aria-current="location"] .question-bubble > p').innerText(), 'What can you do?');
  });

  test('a question that is written anew stays where the branch of another one is made meanwhile', async () => {
    const page = await playground.page();
    const edit = async (turn) => {
      await turn.hover();
      await turn.getByRole('button', { name: 'Edit and send again' }).click();
    };
    const box = page.getByRole('textbox', { name: 'The question, to be sent again' });
    const other = await done(page, 'What can you do?');
    await page.keyboard.press('Alt+n');
    await done(page, 'Remember the word pelican.');
    const asked = await done(page, 'Think aloud.');
    let fork;
    const isHeld = new Promise((resolve) => page.route('**/fork', (route) => resolve((fork = route))));
    await edit(asked);
    await page.keyboard.press('Enter');
    await isHeld;
    await page.locator('.session').filter({ hasText: 'What can you do?' }).click();
    await hasStatus(other, 'completed');
    await edit(other);
    await box.fill('What can you do for a zoo?');
    const made = page.waitForResponse('**/fork');
    await fork.continue();
    await made;
    await page.waitForTimeout(300);
    assert.equal(await box.inputValue(), 'What can you do for a zoo?');
  });

  test('a fork whose answer is lost is the one that is made when it is asked for again', async () => {
    const page = await playground.page({ expected: [/status of 500/] });
    await done(page, 'Remember the word pelican.');
    const turn = await done(page, 'What can you do?');
    const parent = sessionOf(page);
    const ids = await losesFirstFork(page);
    const fork = async () => {
      await turn.hover();
      await turn.getByRole('button', { name: 'Fork from here' }).click();
    };
    await fork();
    await turn.getByText('The answer is lost.').waitFor();
    await fork();
    await hasLeft(page, parent);
    assert.deepEqual(ids, [sessionOf(page), sessionOf(page)]);
  });

  test('the first question is asked again in a session of its own, which names where it comes from, also after a reload', async () => {
    const page = await playground.page();
    const turn = await done(page, 'What can you do?');
    const parent = sessionOf(page);
    await turn.getByRole('button', { name: 'Regenerate' }).click();
    await hasLeft(page, parent);
    await hasStatus(page.locator('.turn').first(), 'completed');
    assert.deepEqual(await questions(page), ['What can you do?']);
    await page.getByText('Branched from').waitFor();
    await page.reload();
    await hasStatus(page.locator('.turn').first(), 'completed');
    const back = page.locator('.branched').getByRole('link');
    assert.ok(new URL(await back.getAttribute('href')).hash.startsWith(`#${parent}/`));
    assert.equal((await resultOf(`/sessions/${parent}`)).TurnCount, 1);
  });

  test('an answer is made again with exactly what its question had, and what is being written stays', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    await page.getByRole('button', { name: 'Context' }).click();
    await page.getByLabel('Text about the whole solution').fill('A zoo in Rust.');
    const file = { name: 'notes.md', mimeType: 'text/markdown', buffer: Buffer.from('# Of pelicans\n') };
    await page.locator('.composer input[type=file]').setInputFiles(file);
    await page.getByRole('list', { name: 'Attachments' }).getByText('notes.md').waitFor();
    const first = page.waitForRequest(/\/execute/);
    const turn = await done(page, 'What do you see?');
    const sent = (await first).postDataJSON();
    await page.getByLabel('Workspace').fill('zoo');
    await page.locator('.composer input[type=file]').setInputFiles({ ...file, name: 'later.md' });
    await page.getByRole('list', { name: 'Attachments' }).getByText('later.md').waitFor();
    const parent = sessionOf(page);
    const again = page.waitForRequest(/\/execute/);
    await turn.getByRole('button', { name: 'Regenerate' }).click();
    const { SessionId, TurnId, ...rest } = (await again).postDataJSON();
    const { SessionId: _, TurnId: __, ...expected } = sent;
    assert.deepEqual(rest, expected);
    assert.notEqual(SessionId, parent);
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await page.getByText('Solution context: A zoo in Rust.').waitFor();
    assert.equal(await page.getByLabel('Workspace').inputValue(), 'zoo', 'a branch begins with what is set in its parent');
    await page.goBack();
    await page.getByRole('list', { name: 'Attachments' }).getByText('later.md').waitFor();
    await page.goForward();
    await page.getByText('Branched from').waitFor();

    // After a reload the page has no file any more, so the question is written anew.
    await page.reload();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await page.locator('.turn').nth(1).getByRole('button', { name: 'Regenerate' }).click();
    await page.getByText('The page no longer has notes.md').waitFor();
    await page.keyboard.press('Escape');
    await page.locator('.turn').nth(1).getByRole('button', { name: 'Edit and send again' }).waitFor();
  });

  test('what is set in a branch while it is still being read stays', async () => {
    const page = await playground.page();
    const turn = await done(page, 'What can you do?');
    const { promise: released, resolve: release } = Promise.withResolvers();
    await page.route('**/export', async (route) => (await released, route.continue()));
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await page.getByLabel('Workspace').fill('zoo');
    await turn.getByRole('button', { name: 'Fork from here' }).click();
    await page.getByText('Loading the session…').waitFor();
    assert.equal(await page.getByLabel('Workspace').inputValue(), 'zoo', 'a branch begins with what is set in its parent');
    await page.getByLabel('Workspace').fill('park');
    release();
    await page.getByText('Branched from').waitFor();
    await page.getByText('Conversation context', { exact: true }).waitFor();
    await page.waitForTimeout(300);
    assert.equal(await page.getByLabel('Workspace').inputValue(), 'park');
  });

  test('a fork goes on from any turn, both sessions go on, and a turn is copied and linked to', async () => {
    const page = await playground.page();
    const first = await done(page, 'Remember the word pelican.');
    await done(page, 'What can you do?');
    const parent = sessionOf(page);
    await first.hover();
    await first.getByRole('button', { name: 'Copy the answer' }).click();
    const copied = await page.evaluate(() => navigator.clipboard.readText());
    const { Turns } = await resultOf(`/sessions/${parent}/export`);
    assert.equal(copied, Turns[0].Submissions.at(-1).Outcome.Result.PrimaryOutputText);
    await first.getByRole('button', { name: 'Copy a link to this turn' }).click();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.equal(new URL(link).hash, `#${parent}/${Turns[0].TurnId}`);

    // Where the browser does not let a page copy, the link is shown.
    await page.evaluate(() => (navigator.clipboard.writeText = () => Promise.reject(new DOMException('Write permission denied.', 'NotAllowedError'))));
    await first.getByRole('button', { name: 'Copy a link to this turn' }).click();
    const shown = page.getByRole('dialog', { name: /copy it here/ });
    assert.equal(await shown.getByRole('textbox').inputValue(), link);
    await assertAccessible(page);
    await shown.getByRole('button', { name: 'Done' }).click();
    assert.equal(await page.getByText('denied').count(), 0);

    assert.equal(await first.getByRole('toolbar').innerText().then((words) => words.replace(/\s+/g, ' ')), 'Copy Regenerate Fork Compare Link');
    await first.getByRole('button', { name: 'Fork from here' }).click();
    await hasLeft(page, parent);
    await page.getByText('Branched from').waitFor();
    const row = page.locator('.sessions .current .session');
    assert.match(await row.innerText(), /^Branch of Remember the word pelican\.\s+now$/);
    await hasStatus(page.locator('.turn').first(), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.']);
    const said = await done(page, 'Which word did I ask you to remember?');
    await said.getByText('pelican').last().waitFor();
    await page.goBack();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.', 'What can you do?']);
    await done(page, 'Think aloud.');

    const other = await playground.page({ address: new URL(link).hash });
    const named = other.locator('.turn[aria-current="location"]');
    await named.getByText('Remember the word pelican.', { exact: true }).waitFor();
    await other.goto(new URL(`/#${parent}/none`, playground.rig.url).href);
    await other.getByText('The session does not have the turn that the address names.').waitFor();
  });

  test('a link comes to its turn, however long the conversation is, and what is said next is followed', async () => {
    const page = await playground.page();
    for (const words of ['What can you do?', 'List what you show.', 'What can you do now?', 'And now?']) await done(page, words);
    const second = await page.locator('.turn').nth(1).getAttribute('data-turn');
    await page.goto(`${page.url().split('#')[0]}#${sessionOf(page)}/${second}`);
    const named = page.locator('.turn[aria-current="location"]');
    await named.waitFor();
    const top = () => named.evaluate((turn) => turn.getBoundingClientRect().top - turn.closest('.conversation').getBoundingClientRect().top);
    await page.reload();
    await named.waitFor();
    await page.waitForFunction(() => document.querySelector('.conversation').scrollTop > 0);
    assert.ok(Math.abs(await top()) < 60, `${await top()} pixels from the top`);
    await assertAccessible(page);
    const next = await done(page, 'One more.');
    await page.waitForFunction((turn) => turn.getBoundingClientRect().bottom <= innerHeight, await next.elementHandle());
  });

  test('a question that is sent again is asked, also where its session was left before the branch was made', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const asked = await done(page, 'What can you do?');
    let fork;
    const isHeld = new Promise((resolve) => page.route('**/fork', (route) => resolve((fork = route))));
    await asked.hover();
    await asked.getByRole('button', { name: 'Edit and send again' }).click();
    await page.getByRole('textbox', { name: 'The question, to be sent again' }).fill('Which word was it?');
    await page.keyboard.press('Enter');
    await isHeld;
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    const sent = page.waitForResponse((response) => response.url().includes('/execute'));
    await fork.continue();
    assert.ok((await sent).ok());
    await page.locator('.session').filter({ hasText: 'Which word was it?' }).click();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.', 'Which word was it?']);
  });

  test('all of it works by keyboard, and on a phone', async () => {
    const page = await playground.page({ viewport: PHONE });
    const turn = await done(page, 'What can you do?');
    const toolbar = turn.getByRole('toolbar', { name: 'Actions of this turn' });
    await page.shot('phone-light-actions');
    await assertAccessible(page);
    const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(overflow <= 0, `${overflow} pixels`);
    const focused = () => page.evaluate(() => document.activeElement.ariaLabel ?? document.activeElement.textContent.trim());
    for (let tries = 0; (await focused()) !== 'Copy the answer'; tries += 1) {
      assert.ok(tries < 20);
      await page.keyboard.press('Shift+Tab');
    }
    assert.equal(await toolbar.getByRole('button').first().evaluate((button) => getComputedStyle(button).opacity), '1');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'Regenerate');
    await page.keyboard.press('End');
    await page.keyboard.press('ArrowRight');
    assert.equal(await focused(), 'Copy the answer');
    for (let tries = 0; (await focused()) !== 'Edit and send again'; tries += 1) {
      assert.ok(tries < 20);
      await page.keyboard.press('Shift+Tab');
    }
    const parent = sessionOf(page);
    await page.keyboard.press('Enter');
    await page.getByRole('textbox', { name: 'The question, to be sent again' }).and(page.locator(':focus')).waitFor();
    await page.keyboard.press('Escape');
    await page.waitForFunction(() => document.activeElement.textContent.trim() === 'Edit and send again');
    await page.keyboard.press('Enter');
    await page.keyboard.type(' And why?');
    await page.keyboard.press('Enter');
    await hasLeft(page, parent);
    await page.locator('.turn .question-bubble').getByText('What can you do? And why?').waitFor();
    await hasStatus(page.locator('.turn').first(), 'completed');
  });

  test('a branch begins behind a turn that failed, and while another turn runs', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const failed = await say(page, 'Refuse this call.');
    await hasStatus(failed, 'failed');
    const third = await done(page, 'What can you do?');
    const parent = sessionOf(page);
    const running = await say(page, 'Give a slow answer.');
    await hasStatus(running, 'running');
    assert.equal(await running.getByRole('toolbar').count(), 0);
    await third.hover();
    await third.getByRole('button', { name: 'Regenerate' }).click();
    await hasLeft(page, parent);
    await hasStatus(page.locator('.turn').nth(2), 'completed');
    assert.deepEqual(await questions(page), ['Remember the word pelican.', 'Refuse this call.', 'What can you do?']);
    await page.goBack();
    playground.goOn();
    await hasStatus(page.locator('.turn').nth(3), 'completed');
    await page.locator('.turn').nth(3).getByText('slowly enough to be cut, cancelled or resumed.').waitFor();
  });

  test('what cannot be branched says why, and changes nothing', async () => {
    const page = await playground.page({ expected: [/404/] });
    await done(page, 'What can you do?');
    const turn = await done(page, 'Think aloud.');
    const parent = sessionOf(page);
    await fetch(new URL(`/sessions/${parent}`, playground.rig.url), { method: 'DELETE' });
    await turn.getByRole('button', { name: 'Fork from here' }).click();
    await turn.getByRole('alert').waitFor();
    assert.equal(sessionOf(page), parent);
    await turn.getByRole('button', { name: 'Regenerate' }).click();
    await turn.getByRole('alert').waitFor();
    assert.equal(sessionOf(page), parent);
    assert.equal(await page.locator('.turn').count(), 2);
  });
});

test("a user's branches are in the user's list, and nothing of them is left in the browser", { skip: withoutBrowser }, async () => {
  const TICKET_KEYS = JSON.stringify([{ Id: 'tests', Secret: Buffer.alloc(32, 7).toString('base64') }]);
  const playground = await Playground.start({ vars: { TICKET_KEYS, TURN_ALARM_MS: '500' }, tickets: true });
  try {
    const page = await playground.page({ address: `?demo-catalog&stand-in&tickets=${playground.ticketPort}` });
    await signIn(page, 'ann');
    await page.locator('.who').filter({ hasText: 'ann' }).waitFor();
    await hasStatus(await say(page, 'Remember the word pelican.'), 'completed');
    const second = await say(page, 'What can you do?');
    await hasStatus(second, 'completed');
    const parent = new URL(page.url()).hash;
    await second.getByRole('button', { name: 'Regenerate' }).click();
    await page.waitForURL((url) => url.hash.length > 1 && url.hash !== parent);
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    const branch = new URL(page.url()).hash;
    await page.reload();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await page.locator('.sessions').getByRole('button', { name: /^Branch: Remember the word pelican/ }).waitFor();
    const kept = () => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }]));
    assert.ok((await kept()).includes(branch.slice(1)));
    await page.getByRole('button', { name: 'ann', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in as a user' }).waitFor();
    assert.ok(!(await kept()).includes(branch.slice(1)), await kept());

    // Nor of one that was being made when the user signed out.
    await signIn(page, 'bob');
    const turn = await say(page, 'A secret of Bob.');
    await hasStatus(turn, 'completed');
    let fork;
    const isHeld = new Promise((resolve) => page.route('**/fork', (route) => resolve((fork = route))));
    await turn.getByRole('button', { name: 'Fork from here' }).click();
    await isHeld;
    await page.getByRole('button', { name: 'bob', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Sign in as a user' }).waitFor();
    const made = page.waitForResponse('**/fork');
    await fork.continue();
    await made;
    await page.waitForTimeout(300);
    assert.doesNotMatch(await kept(), /secret/);
    await playground.closePages();
  } finally {
    await playground.stop();
  }
});
