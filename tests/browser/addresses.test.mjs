// What an address of the page leads to: a session, a turn, or nothing that is there, which is said; and what a browser's keys say
// while something is composed.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, done, hasStatus, openPanel, Playground, say, signIn } from './playground.mjs';

const TICKET_KEYS = JSON.stringify([{ Id: 'tests', Secret: Buffer.alloc(32, 7).toString('base64') }]);

describe('addresses of the page', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({ vars: { TICKET_KEYS }, tickets: true });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const nowhere = (page) => page.getByText('The service has no session of this address for you');
  const wrongTurn = (page) => page.getByText('The session does not have the turn that the address names.');

  test('an address of a session that is not there says so, is in no list, and goes on as a new one when one writes', async () => {
    const page = await playground.page({ expected: [/status of 404/] });
    await done(page, 'What can you do?');
    const id = new URL(page.url()).hash.slice(1);
    await playground.rig.request('DELETE', `/sessions/${id}`);
    await page.reload();
    await nowhere(page).waitFor();
    await assertAccessible(page);
    assert.equal(await page.getByText('What should the agent do?').count(), 0);
    assert.equal(await page.locator('button.session').count(), 0);
    await done(page, 'Again.');
    assert.equal(await nowhere(page).count(), 0);
    await page.goto(new URL('/#nobody-has-begun-it', playground.rig.url).href);
    await nowhere(page).waitFor();
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    assert.equal(await nowhere(page).count(), 0);
  });

  test('an address that can be no session says so, and what is sent begins a new one', async () => {
    const page = await playground.page({ address: '#not a session!' });
    const told = page.getByText('The address names no session');
    await told.waitFor();
    await done(page, 'What can you do?');
    assert.equal(await told.count(), 0);
    assert.match(new URL(page.url()).hash, /^#[A-Za-z0-9._:-]+$/);
  });

  test('a session that could not be read when it was opened is shown later as it would have been', async () => {
    const page = await playground.page({ expected: [/status of 403/] });
    await openPanel(page, 'Context');
    const solution = page.getByLabel('Text about the whole solution');
    await solution.fill('All of it is about pelicans.');
    const turn = await done(page, 'What can you do?');
    await done(page, 'And now?');
    const place = `${new URL(page.url()).hash}/${await turn.getAttribute('data-turn')}`;
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'Not now.', SystemError: false }], Warnings: [] };
    await page.route(/\/export$/, (route) => route.fulfill({ status: 403, json: refusal }), { times: 1 });
    await page.evaluate((hash) => history.replaceState(null, '', hash), place);
    await page.reload();
    await page.getByText('Not now.').waitFor();
    await page.evaluate(() => dispatchEvent(new Event('focus')));
    await page.locator('.turn[aria-current="location"]').waitFor();
    if ((await solution.count()) === 0) await openPanel(page, 'Context');
    assert.equal(await solution.inputValue(), 'All of it is about pelicans.');
  });

  test('a turn that is not there is told until one goes to another one, or writes', async () => {
    const page = await playground.page();
    const turn = await done(page, 'What can you do?');
    const [session, id] = [new URL(page.url()).hash, await turn.getAttribute('data-turn')];
    const go = (hash) => page.evaluate((to) => (location.hash = to), hash);
    for (const goOn of [() => go(`${session}/${id}`), () => done(page, 'And now?')]) {
      await go(`${session}/no-such-turn`);
      await wrongTurn(page).waitFor();
      await goOn();
      await wrongTurn(page).waitFor({ state: 'detached' });
    }
  });

  test('an Enter that ends a composition sends nothing, in the order of Safari, too', async () => {
    const page = await playground.page();
    const box = page.getByRole('textbox', { name: 'Message' });
    await box.fill('日本');
    const press = (init) => box.evaluate((it, how) => it.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true, cancelable: true, ...how })), init);
    await press({ keyCode: 229 });
    await press({ keyCode: 13, isComposing: true });
    assert.equal(await page.locator('.turn').count(), 0);
    assert.equal(await box.inputValue(), '日本');
    await press({ keyCode: 13 });
    await hasStatus(page.locator('.turn'), 'completed');
  });

  test('an Esc that ends a composition leaves nothing, in the order of Safari, too', async () => {
    const page = await playground.page();
    await page.keyboard.press('Control+Shift+F');
    const close = page.getByTitle('Close (Esc)');
    await close.waitFor();
    const press = (init) => page.evaluate((how) => document.dispatchEvent(new KeyboardEvent('keydown', { key: 'Escape', ...how })), init);
    await press({ keyCode: 229 });
    await press({ keyCode: 27, isComposing: true });
    assert.ok(await close.isVisible());
    await press({ keyCode: 27 });
    await close.waitFor({ state: 'detached' });
  });

  test('a ticket that is refused of added words or of the list says what to open, too', async () => {
    const page = await playground.page({ address: `?tickets=${playground.ticketPort}`, expected: [/status of 401/] });
    const refused = (route) =>
      route.fulfill({ status: 401, json: { Successful: false, Result: null, Warnings: [], Errors: [{ ErrorCode: 'unauthenticated', Message: 'Send a valid key.', SystemError: false }] } });
    await signIn(page, 'ann');
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await page.route(/\/steer$/, refused, { times: 1 });
    await page.getByRole('textbox', { name: 'Message' }).fill('And more.');
    await page.getByRole('button', { name: 'Add', exact: true }).click();
    await turn.getByText('open the address that it printed last').waitFor();
    await page.route(/\/sessions\?/, refused);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await page.getByRole('alert').getByText('open the address that it printed last').waitFor();
    await page.unroute(/\/sessions\?/);
    playground.goOn();
    await hasStatus(turn, 'completed');
  });

  test('where nobody gives tickets any more, or the service does not know them, the page says what to open', async () => {
    const page = await playground.page({ address: `?tickets=${playground.ticketPort}`, expected: [/status of 401/, /ERR_FAILED|ERR_CONNECTION/] });
    await signIn(page, 'ann');
    await hasStatus(await say(page, 'I am Ann.'), 'completed');
    await page.route(/\/execute/, (route) =>
      route.fulfill({ status: 401, json: { Successful: false, Result: null, Warnings: [], Errors: [{ ErrorCode: 'unauthenticated', Message: 'Send a valid key.', SystemError: false }] } }),
    );
    const refused = await say(page, 'And now?');
    await hasStatus(refused, 'failed');
    await refused.getByText('open the address that it printed last').waitFor();
    await page.unroute(/\/execute/);
    await page.route(new RegExp(`127.0.0.1:${playground.ticketPort}`), (route) => route.abort('connectionfailed'));
    await page.reload();
    const late = await say(page, 'And now?');
    await hasStatus(late, 'failed');
    await late.getByText('Nobody gives this page tickets any more.').waitFor();
    assert.equal(await page.getByText('The service cannot be reached.').count(), 0);
  });
});
