// The playground with users: who signs in has sessions of their own, which the service lists, and leaves nothing behind that
// others see. Tickets come from the back end of `make dev`, or a key acts for the user.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, test } from 'node:test';
import { ROOT, pages } from '../docs/pages.mjs';
import { eventually } from '../e2e/harness.mjs';
import { serve } from '../local_server.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, hasStatus, PHONE, Playground, say, signIn, tryNow } from './playground.mjs';

const TICKET_KEYS = JSON.stringify([{ Id: 'tests', Secret: Buffer.alloc(32, 7).toString('base64') }]);
/** How often a session tells what has changed: in these tests, soon. */
const TURN_ALARM_MS = '500';

const entries = (page) => page.locator('.sessions .session > span');
const kept = (page) => page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));

/** Loads the page again until its list shows this: the service tells of a turn's end a moment later. */
async function listShows(page, place) {
  for (let tries = 0; (await place.count()) === 0; tries += 1) {
    assert.ok(tries < 50, `${place} does not come`);
    await page.reload();
    await page.getByRole('group', { name: 'Which sessions' }).waitFor();
    await page.waitForLoadState('networkidle');
  }
}

/** How often a list of sessions is looked at by itself, in ms. */
const LOOK_MS = 15_000;

describe('the playground with tickets', { skip: withoutBrowser }, () => {
  let playground;
  let address;

  before(async () => {
    playground = await Playground.start({ vars: { TICKET_KEYS, TURN_ALARM_MS }, tickets: true });
    address = `?demo-catalog&stand-in&tickets=${playground.ticketPort}`;
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('two users side by side have each their own sessions, of the service and not of the browser', async () => {
    const page = await playground.page({ address });
    await page.getByRole('button', { name: 'Sign in as a user' }).click();
    await assertAccessible(page);
    await page.getByRole('button', { name: 'Sign in as a user' }).click();
    await signIn(page, 'Zoë/~%');
    await page.getByText('Sessions of Zoë/~% stand here.').waitFor();
    const request = page.waitForRequest(/\/execute/);
    await hasStatus(await say(page, 'Remember the word pelican.'), 'completed');
    const { authorization, 'aptix-user': header } = (await request).headers();
    assert.match(authorization, /^Bearer apt1\./);
    assert.equal(header, undefined);
    const session = new URL(page.url()).hash;

    await page.getByRole('button', { name: 'Zoë/~%' }).click();
    const [other] = await Promise.all([page.context().waitForEvent('page'), page.getByRole('link', { name: 'Another user in another tab' }).click()]);
    await signIn(other, 'bob');
    assert.deepEqual(await entries(other).allInnerTexts(), []);
    await other.goto(new URL(session, other.url()).href);
    await other.reload();
    assert.equal(await other.locator('.turn').count(), 0, 'the same id is another session');
    await hasStatus(await say(other, 'What can you do?'), 'completed');
    assert.deepEqual(await entries(other).allInnerTexts(), ['What can you do?']);

    await page.reload();
    await page.getByText('Remember the word pelican.').first().waitFor();
    await listShows(page, entries(page).getByText('Remember the word pelican.'));
    assert.deepEqual(await entries(page).allInnerTexts(), ['Remember the word pelican.']);
    await hasStatus(await say(page, 'Which word?'), 'completed');
    const held = await kept(page);
    assert.doesNotMatch(held, /apt1\.|pelican/);
    assert.ok(!held.includes(authorization.slice(7)));
    await assertAccessible(page);
    await page.shot('desktop-light-user');
  });

  test('a session is renamed, found by its title, and erased', async () => {
    const page = await playground.page({ address });
    await signIn(page, 'rosa');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await page.keyboard.press('Alt+n');
    await hasStatus(await say(page, 'Remember the word heron.'), 'completed');
    // The other tab opens the address as nobody, who has no such session.
    const other = await playground.tab(page, { expected: [/status of 404/] });
    await signIn(other, 'rosa');
    await entries(other).getByText('Remember the word heron.').waitFor();
    await page.getByRole('button', { name: 'Rename Remember the word heron.' }).click();
    await page.getByRole('textbox', { name: 'The title of this session' }).fill('A list of birds');
    await page.keyboard.press('Enter');
    await entries(page).getByText('A list of birds').waitFor();
    // The other tab hears of it, and does not wait for its next look at the list.
    await entries(other).getByText('A list of birds').waitFor({ timeout: LOOK_MS / 2 });
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'A list of birds');
    const search = page.getByRole('searchbox', { name: 'Search sessions' });
    await search.fill('birds');
    await entries(page).getByText('What can you do?').waitFor({ state: 'detached' });
    assert.deepEqual(await entries(page).allInnerTexts(), ['A list of birds']);
    await search.fill('nothing has this');
    await page.getByText('No session has these words in its title.').waitFor();
    await search.fill('');
    await entries(page).getByText('What can you do?').waitFor();
    await page.getByRole('button', { name: 'Erase What can you do?' }).click();
    await agree(page);
    await entries(page).getByText('What can you do?').waitFor({ state: 'detached' });
    await page.reload();
    await entries(page).getByText('A list of birds').waitFor();
    assert.deepEqual(await entries(page).allInnerTexts(), ['A list of birds']);
  });

  test('what waits for approval stands in an inbox, from which it is approved elsewhere', async () => {
    const asking = await playground.page({ address });
    await signIn(asking, 'ines');
    await hasStatus(await say(asking, 'What can you do?'), 'completed');
    await asking.keyboard.press('Alt+n');
    await hasStatus(await say(asking, 'Call the tool send_postcard with the word Ann.'), 'awaiting_tools');
    const page = await playground.page({ address });
    await signIn(page, 'ines');
    await listShows(page, page.getByRole('button', { name: 'To approve (1)' }));
    await page.getByRole('button', { name: 'To approve (1)' }).click();
    assert.deepEqual(await entries(page).allInnerTexts(), ['Call the tool send_postcard with the word Ann.']);
    await page.locator('.sessions').getByText('waits for you').waitFor();
    await assertAccessible(page);
    await page.setViewportSize(PHONE);
    await page.getByRole('button', { name: 'Sessions', exact: true }).click();
    await assertAccessible(page);
    await page.shot('phone-light-inbox');
    await entries(page).click();
    await page.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(page.locator('.turn'), 'completed');
    await page.getByRole('button', { name: 'Sessions', exact: true }).click();
    await page.getByText('Nothing waits for your approval.').waitFor();
  });

  test('an inbox of more than a hundred says that there are more', async () => {
    const page = await playground.page({ address });
    const entry = (at) => ({ SessionId: `asks-${at}`, Title: `Asks ${at}`, ActiveAt: new Date().toISOString(), Status: 'awaiting_approval' });
    let held = 101;
    await page.route(/\/sessions\?Status=awaiting_approval/, (route) => {
      const isFirst = !route.request().url().includes('After=');
      const all = Array.from({ length: held }, (_, at) => entry(at));
      const Result = isFirst ? { Sessions: all.slice(0, 100), ...(held > 100 && { Next: 'a1.asks-99' }) } : { Sessions: all.slice(100) };
      return route.fulfill({ json: { Successful: true, Result, Errors: [], Warnings: [] } });
    });
    await signIn(page, 'busy');
    await page.getByRole('button', { name: 'To approve (100+)' }).waitFor();
    held = 100;
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByRole('button', { name: 'To approve (100)' }).waitFor();
  });

  test('erased is who asks for it, with a receipt, and nobody else', async () => {
    const page = await playground.page({ address });
    const stays = await playground.page({ address });
    await signIn(stays, 'stays');
    await hasStatus(await say(stays, 'What can you do?'), 'completed');
    await signIn(page, 'goes');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await page.keyboard.press('Alt+n');
    await hasStatus(await say(page, 'Remember the word pelican.'), 'completed');
    await page.getByRole('button', { name: 'goes', exact: true }).click();
    await page.getByRole('button', { name: 'Erase me' }).click();
    await agree(page);
    await page.getByText('goes is erased.').waitFor();
    assert.match(await page.locator('.user [role=status]').innerText(), /2 sessions, \d+ rows, 0 files\. Kept: workspaces, logs\./);
    await assertAccessible(page);
    await signIn(page, 'goes');
    await page.getByText('Sessions of goes stand here.').waitFor();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await stays.reload();
    await entries(stays).getByText('What can you do?').waitFor();
  });

  test('who cannot be erased is told so', { timeout: 60_000 }, async () => {
    const page = await playground.page({ address });
    await signIn(page, 'sticks');
    const Result = { User: 'sticks', Sessions: { Erased: 1, Pending: 1, Failed: 1 }, Rows: 6, Files: 0, Kept: ['workspaces', 'logs'] };
    await page.route(/\/users\//, (route) => route.fulfill({ json: { Successful: true, Result, Errors: [], Warnings: [] } }));
    await page.getByRole('button', { name: 'sticks', exact: true }).click();
    await page.getByRole('button', { name: 'Erase me' }).click();
    await agree(page);
    await page.getByText('sticks is not erased yet.').waitFor();
    assert.match(await page.locator('.user [role=status]').innerText(), /1 session, 6 rows, 0 files\. Not erased: 1\. Kept: workspaces, logs\./);
  });

  test('words of a user that wait are sent as that user, or not at all', async () => {
    const page = await playground.page({ address, expected: [/net::ERR/, /status of 404/] });
    await signIn(page, 'vera');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const service = /\/(execute|sessions|health)/;
    await page.route(service, (route) => route.abort('connectionfailed'));
    for (const words of ['The first of Vera.', 'The second of Vera.']) {
      await page.keyboard.press('Alt+n');
      await hasStatus(await say(page, words), 'unsent');
    }
    await page.keyboard.press('Alt+n');
    const asked = [];
    let release;
    const held = new Promise((resolve) => (release = resolve));
    // Before the service is there: the page asks for that by itself, too.
    await page.route(/\/execute/, async (route) => {
      asked.push(route.request().postDataJSON().Instruction);
      await held;
      await route.continue();
    });
    await page.unroute(service);
    const first = page.waitForResponse(/\/execute/);
    await tryNow(page);
    await eventually(() => asked.length > 0, 'the first one is sent');
    await page.getByRole('button', { name: 'vera', exact: true }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    release();
    await first;
    await page.waitForTimeout(500);
    assert.deepEqual(asked, ['The first of Vera.']);
  });

  test('who signs in while somebody else is being erased stays signed in', async () => {
    const page = await playground.page({ address });
    await signIn(page, 'leaves');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/\/users\//, async (route) => (await held, route.continue()));
    await page.getByRole('button', { name: 'leaves', exact: true }).click();
    await page.getByRole('button', { name: 'Erase me' }).click();
    await agree(page);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await signIn(page, 'comes');
    const erased = page.waitForResponse(/\/users\//);
    release();
    // The end of a body that nobody reads any more may never be told.
    await erased;
    await page.waitForTimeout(500);
    assert.equal(await page.locator('.who').innerText(), 'comes');
  });

  test('a list that was asked for before a session began does not take it away', async () => {
    const page = await playground.page({ address });
    await signIn(page, 'lea');
    await page.getByText('Sessions of lea stand here.').waitFor();
    await page.waitForLoadState('networkidle');
    let release;
    const held = new Promise((resolve) => (release = resolve));
    let answers = 0;
    await page.route(/\/sessions\?/, async (route) => {
      await held;
      await route.fulfill({ json: { Successful: true, Result: { Sessions: [] }, Errors: [], Warnings: [] } });
      answers += 1;
    }, { times: 2 });
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await entries(page).getByText('Give a slow answer.').waitFor();
    release();
    await eventually(() => answers === 2, 'the lists have come');
    await page.waitForTimeout(200);
    assert.deepEqual(await entries(page).allInnerTexts(), ['Give a slow answer.']);
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
  });

  test('a list that was asked for before a session was erased does not bring it back', async () => {
    const page = await playground.page({ address });
    await signIn(page, 'mia');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    await entries(page).getByText('What can you do?').waitFor();
    await page.waitForLoadState('networkidle');
    const SessionId = new URL(page.url()).hash.slice(1);
    const entry = { SessionId, Title: 'What can you do?', ActiveAt: new Date().toISOString(), Status: 'completed' };
    let release;
    const held = new Promise((resolve) => (release = resolve));
    let answers = 0;
    await page.route(/\/sessions\?/, async (route) => {
      await held;
      const Sessions = route.request().url().includes('awaiting_approval') ? [] : [entry];
      await route.fulfill({ json: { Successful: true, Result: { Sessions }, Errors: [], Warnings: [] } });
      answers += 1;
    }, { times: 2 });
    const asked = page.waitForRequest(/\/sessions\?/);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await asked;
    await page.getByRole('button', { name: 'Erase What can you do?' }).click();
    await agree(page);
    await page.getByText('Sessions of mia stand here.').waitFor();
    release();
    await eventually(() => answers === 2, 'the lists have come');
    await page.waitForTimeout(200);
    assert.equal(await entries(page).count(), 0);
  });

  test('a workspace that is chosen is one that the ticket names', async () => {
    const page = await playground.page({ address });
    await signIn(page, 'wim');
    await page.getByRole('button', { name: 'Context' }).click();
    await page.getByLabel('Workspace').fill('zoo');
    await hasStatus(await say(page, 'What can you do?'), 'completed');
  });
});

test('a key that may act for users does so by a header, and one that may not says so', { skip: withoutBrowser }, async () => {
  const keys = { acting: undefined, plain: ['Sessions'] };
  const API_KEYS = JSON.stringify(
    Object.entries(keys).map(([key, May]) => ({ Id: key, Tenant: 'acme', Sha256: createHash('sha256').update(key).digest('hex'), May })),
  );
  const playground = await Playground.start({ vars: { AUTH: undefined, API_KEYS, TICKET_KEYS, TURN_ALARM_MS } });
  try {
    for (const key of Object.keys(keys)) {
      const page = await playground.page({ expected: [/403/] });
      await page.getByLabel('API key').fill(key);
      await page.keyboard.press('Enter');
      await signIn(page, 'zoë');
      if (key === 'plain') {
        await page.locator('.sidebar').getByRole('alert').waitFor();
        continue;
      }
      const request = page.waitForRequest(/\/execute/);
      await hasStatus(await say(page, 'What can you do?'), 'completed');
      const { authorization, 'aptix-user': header } = (await request).headers();
      assert.deepEqual([authorization, header], ['Bearer acting', 'zo%C3%AB']);
      await page.getByRole('button', { name: 'Inspector' }).click();
      await page.getByText('The request as code').click();
      await page.getByText("-H 'Aptix-User: zo%C3%AB'").waitFor();
      await page.getByText('zoë, by the key acting').waitFor();
    }
    await playground.closePages();
  } finally {
    await playground.stop();
  }
});

test('the page and the back end of docs/users.md give each user their own sessions', { skip: withoutBrowser }, async () => {
  const { port, close } = await serve(() => {});
  await close();
  const playground = await Playground.start({ vars: { TICKET_KEYS, TURN_ALARM_MS, ALLOWED_ORIGINS: `http://127.0.0.1:${port}` } });
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-users-'));
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(path.join(ROOT, 'clients/typescript'), path.join(folder, 'node_modules/aptix-edge'));
  const service = new URL(playground.rig.url).host;
  for (const { marks, text } of pages().find(({ name }) => name === 'docs/users.md').blocks) {
    const here = text.replaceAll('127.0.0.1:8787', service).replaceAll('5173', `${port}`);
    if (/server\.mjs|page\.html/.test(marks.file)) writeFileSync(path.join(folder, path.basename(marks.file)), here);
  }
  const backEnd = spawn(process.execPath, [path.join(folder, 'server.mjs')], { stdio: ['ignore', 'pipe', 'inherit'] });
  try {
    const [told] = await Promise.race([once(backEnd.stdout, 'data'), once(backEnd.stdout, 'end')]);
    assert.ok(told, 'the back end has begun');
    for (const [name, words] of [['alice', 'Remember the word pelican.'], ['bob', 'What can you do?']]) {
      const page = await playground.pageOf(`http://127.0.0.1:${port}/`, { username: name, password: 'any' });
      await page.getByRole('textbox', { name: 'Message' }).fill(words);
      await page.keyboard.press('Enter');
      const sessions = page.getByRole('navigation').getByRole('button');
      await sessions.waitFor();
      assert.deepEqual(await sessions.allInnerTexts(), [words]);
      assert.notEqual(await page.locator('pre').innerText(), '');
    }
    await playground.closePages();
  } finally {
    backEnd.kill();
    rmSync(folder, { recursive: true, force: true });
    await playground.stop();
  }
});
