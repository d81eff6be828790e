// Two runs beside each other in a real Chromium: under another context, asked again, and two turns that there are. What is
// shown of each is what the service keeps of it.
import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { comparedTurn } from '../../tools/rehearse/report.mjs';
import { eventually, httpTool } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { assertAccessible, done, hasStatus, losesFirstFork, PHONE, Playground, say } from './playground.mjs';

describe('the comparison', { skip: withoutBrowser }, () => {
  let playground;
  before(async () => {
    playground = await Playground.start({
      catalog: (catalog, { toolUrl }) => {
        catalog.ServerTools.push(httpTool('weather', toolUrl), httpTool('send_mail', toolUrl, { Approval: 'Always' }));
        for (const mode of catalog.Modes) mode.Tools.push('weather', 'send_mail');
        catalog.ConversationContexts.brief = { ...catalog.ConversationContexts.default, BootPrompt: 'Be brief.' };
      },
    });
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  const dialog = (page) => page.getByRole('dialog', { name: 'Compare' });
  const open = async (page, turn) => {
    await turn.hover();
    await turn.getByRole('button', { name: 'Compare' }).click();
    await dialog(page).waitFor();
  };
  const compare = (page) => dialog(page).getByRole('button', { name: 'Compare', exact: true }).click();
  const side = (page, name, status) => dialog(page).locator(`.side[aria-label="${name}"][data-status="${status}"]`);
  const exported = async (session) => (await (await fetch(new URL(`/sessions/${session}/export`, playground.rig.url))).json()).Result;
  /** The session and the turn to which a side leads. */
  const placeOf = async (shown) => (await shown.getByRole('link', { name: 'Open it' }).getAttribute('href')).split('#')[1].split('/');
  /** A row of the figures: left, right, difference. */
  const figures = (page, name) =>
    dialog(page).locator('tbody tr').filter({ has: page.getByRole('rowheader', { name, exact: true }) }).locator('td').allInnerTexts();
  const english = (number) => number.toLocaleString('en');

  test('a question is asked under another context, from the same conversation, and what differs is marked', async () => {
    playground.rig.tools.on('/weather', JSON.stringify({ celsius: 21 }));
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const turn = await done(page, 'Call the tool weather with the word rome.');
    const parent = new URL(page.url()).hash.slice(1);
    playground.rig.tools.on('/weather', JSON.stringify({ celsius: 30 }));
    await open(page, turn);
    await assertAccessible(page);
    await dialog(page).getByLabel('Conversation context').fill('brief');
    await page.shot('desktop-light-comparison-choice');
    await compare(page);
    const [left, right] = [side(page, 'This turn', 'completed'), side(page, 'brief', 'completed')];
    await right.waitFor();
    await dialog(page).getByText('They say different things. They made different calls.').waitFor();
    const texts = dialog(page).getByRole('region', { name: 'What differs in the texts' }).locator('.words');
    assert.match((await texts.locator('del').allInnerTexts()).join(' '), /21/);
    assert.match((await texts.locator('ins').allInnerTexts()).join(' '), /30/);
    // The figures are in sight, however long the texts are.
    const topOf = async (place) => (await place.boundingBox()).y;
    assert.ok((await topOf(dialog(page).getByRole('group', { name: 'Figures of both runs' }))) < (await topOf(left)));

    const [branch, asked] = await placeOf(right);
    const fork = await exported(branch);
    assert.equal(fork.ConversationContextId, 'brief');
    assert.equal(fork.Parent.SessionId, parent);
    assert.deepEqual((await placeOf(left))[0], parent);
    const original = (await exported(parent)).Turns.at(-1);
    const again = fork.Turns.at(-1);
    assert.equal(again.TurnId, asked);
    const [one, other] = [original.Usage, again.Usage];
    assert.ok(one.PromptTokens > other.PromptTokens);
    assert.deepEqual(await figures(page, 'tokens in'), [english(one.PromptTokens), english(other.PromptTokens), `−${english(one.PromptTokens - other.PromptTokens)}`]);
    assert.deepEqual(await figures(page, 'model calls'), ['2', '2', '']);
    assert.deepEqual(await figures(page, 'tool calls'), ['1', '1', '']);
    const calls = dialog(page).getByRole('list', { name: 'Tools of: brief' }).getByRole('listitem');
    await calls.getByText('only here').waitFor();
    await calls.locator('summary').click();
    assert.match(await calls.locator('.card-body').innerText(), /"celsius": 30/);
    assert.match(await right.innerText(), /30/);
    await assertAccessible(page);
    await page.shot('desktop-light-comparison');

    await page.keyboard.press('Escape');
    await dialog(page).waitFor({ state: 'detached' });
    assert.equal(new URL(page.url()).hash, `#${parent}`);
    assert.equal(await page.locator('.turn').count(), 2);
    await page.locator('.sessions').getByRole('button', { name: /^Branch: Remember/ }).click();
    await page.getByText('Branched from Remember the word pelican.').waitFor();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await page.getByRole('button', { name: 'Context', exact: true }).click();
    await page.getByText('brief', { exact: true }).waitFor();
  });

  test('a first question is asked again on both sides at once, and the page answers its own tools', async () => {
    const page = await playground.page();
    await done(page, 'Call the tool echo with the word pelican.');
    // The page then no longer knows what it has sent.
    await page.reload();
    const turn = page.locator('.turn').first();
    await hasStatus(turn, 'completed');
    await open(page, turn);
    await dialog(page).getByLabel('Ask both sides again').check();
    await compare(page);
    const both = dialog(page).locator('.side[data-status="completed"]');
    await both.nth(1).waitFor();
    await dialog(page).getByText('Both say the same. They made the same calls.').waitFor();
    const places = [await placeOf(both.nth(0)), await placeOf(both.nth(1))];
    assert.equal(new Set([...places.map(([session]) => session), new URL(page.url()).hash.slice(1)]).size, 3);
    assert.equal((await exported(places[0][0])).Parent, undefined);
    assert.deepEqual(await figures(page, 'tokens out').then(([, , difference]) => difference), '');
  });

  test('two turns that there are stand beside each other, an answer and the one that was made again', async () => {
    const page = await playground.page({ viewport: PHONE });
    const turn = await done(page, 'What can you do?');
    await done(page, 'Reason about it.');
    const parent = new URL(page.url()).hash.slice(1);
    await turn.getByRole('button', { name: 'Regenerate' }).click();
    await page.waitForURL((url) => url.hash.length > 1 && !url.hash.includes(parent));
    await hasStatus(page.locator('.turn').first(), 'completed');
    await page.goBack();
    await hasStatus(page.locator('.turn').nth(1), 'completed');
    await open(page, page.locator('.turn').first());
    await dialog(page).getByLabel('Compare this turn with').selectOption({ label: 'Asked again in: What can you do?' });
    await compare(page);
    await dialog(page).getByText('Both say the same.').waitFor();
    await page.keyboard.press('Escape');
    await open(page, page.locator('.turn').first());
    await dialog(page).getByLabel('Compare this turn with').selectOption({ label: 'Turn 2: Reason about it.' });
    await compare(page);
    await dialog(page).getByText('They say different things.').waitFor();
    const { Turns } = await exported(parent);
    const reasoning = Turns.map(({ Usage }) => Usage.ReasoningTokens);
    const [, , difference] = await figures(page, 'of them reasoning');
    assert.equal(difference, reasoning[1] > 0 ? `+${english(reasoning[1] - reasoning[0])}` : '');
    await assertAccessible(page);
    await page.shot('phone-light-comparison');
    const overflow = await page.evaluate(() => {
      const { scrollWidth, clientWidth } = document.querySelector('dialog');
      return scrollWidth - clientWidth;
    });
    assert.ok(overflow <= 0, `${overflow} pixels`);
  });

  test('a comparison that was closed while its session was being made stays closed, and its question is asked', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const turn = await done(page, 'Which word was it?');
    let fork;
    const isHeld = new Promise((resolve) => page.route('**/fork', (route) => resolve((fork = route))));
    await open(page, turn);
    await compare(page);
    await isHeld;
    await page.keyboard.press('Escape');
    const asked = page.waitForResponse((response) => response.url().includes('/execute'));
    await fork.continue();
    assert.equal((await asked).status(), 200);
    assert.equal(await dialog(page).count(), 0);
  });

  test('a side whose fork was made, and not answered, is asked in that fork when one compares again', async () => {
    const page = await playground.page({ expected: [/status of 500/] });
    await done(page, 'Remember the word pelican.');
    const turn = await done(page, 'What can you do?');
    const ids = await losesFirstFork(page);
    await open(page, turn);
    await compare(page);
    await dialog(page).getByText('The answer is lost.').waitFor();
    await compare(page);
    await side(page, 'Asked again', 'completed').waitFor();
    assert.deepEqual([ids.length, new Set(ids).size], [2, 1]);
  });

  test('both sides are asked the same where their session was left while it was being made', async () => {
    const page = await playground.page();
    await done(page, 'Remember the word pelican.');
    const turn = await done(page, 'Which word was it?');
    const parent = new URL(page.url()).hash.slice(1);
    let fork;
    const isHeld = new Promise((resolve) => page.route('**/fork', (route) => resolve((fork = route)), { times: 1 }));
    const asked = [];
    page.on('request', (request) => request.url().includes('/execute') && asked.push(request.postDataJSON()));
    await open(page, turn);
    await dialog(page).getByLabel('Ask both sides again').check();
    await compare(page);
    await isHeld;
    await page.keyboard.press('Escape');
    await page.keyboard.press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await fork.continue();
    await eventually(() => asked.length === 2, 'both sides are asked');
    assert.deepEqual(asked.map(({ Instruction }) => Instruction), ['Which word was it?', 'Which word was it?']);
    const parents = await Promise.all(asked.map(async ({ SessionId }) => (await exported(SessionId)).Parent?.SessionId));
    assert.deepEqual(parents, [parent, parent]);
  });

  test('a context that is unknown, and a run that waits for its user, are said', async () => {
    playground.rig.tools.on('/send_mail', JSON.stringify({ sent: true }));
    const page = await playground.page({ expected: [/404/] });
    await done(page, 'What can you do?');
    const mail = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(mail, 'awaiting_tools');
    await mail.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(mail, 'completed');
    await open(page, mail);
    await dialog(page).getByLabel('Conversation context').fill('nowhere');
    await compare(page);
    await dialog(page).getByRole('alert').getByText('ConversationContext').waitFor();
    await dialog(page).getByLabel('Conversation context').fill('');
    await compare(page);
    const waits = side(page, 'Asked again', 'awaiting_tools');
    await waits.getByText('It waits for an answer of yours.').waitFor();
    const [session, turn] = await placeOf(waits);
    await fetch(new URL(`/sessions/${session}/turns/${turn}/cancel`, playground.rig.url), { method: 'POST' });
    await waits.getByRole('button', { name: 'Look again' }).click();
    await side(page, 'Asked again', 'aborted').waitFor();
    await side(page, 'Asked again', 'aborted').getByRole('link', { name: 'Open it' }).click();
    await page.getByText('Branched from').waitFor();
    await page.locator('.turn[aria-current="location"]').waitFor();
    assert.equal(await dialog(page).count(), 0);
  });

  test('a run that cannot be read, or runs on, is looked at again, and nothing is told of what differs before', async () => {
    const page = await playground.page({ expected: [/status of 403/] });
    const turn = await done(page, 'What can you do?');
    await done(page, 'Reason about it.');
    const refusal = { Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'Not now.', SystemError: false }], Warnings: [] };
    let answers = [(route) => route.fulfill({ status: 403, json: refusal })];
    await page.route('**/export', (route) => answers.shift()?.(route) ?? route.continue());
    await open(page, turn);
    await dialog(page).getByLabel('Compare this turn with').selectOption({ label: 'Turn 2: Reason about it.' });
    await compare(page);
    const failed = side(page, 'This turn', 'failed');
    await failed.getByText('Not now.').waitFor();
    answers = [async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      json.Result.Turns[0].Status = 'running';
      await route.fulfill({ response, json });
    }];
    await failed.getByRole('button', { name: 'Look again' }).click();
    const running = side(page, 'This turn', 'running');
    await running.getByRole('button', { name: 'Look again' }).waitFor();
    await dialog(page).getByText('What differs is told when both have ended.').waitFor();
    await running.getByRole('button', { name: 'Look again' }).click();
    await dialog(page).getByText('They say different things.').waitFor();
  });

  test('turns of a rehearsal stand as recorded and as rehearsed, those that drift first', async () => {
    const page = await playground.page();
    await done(page, 'What can you do?');
    await done(page, 'Call the tool echo with the word pelican.');
    const { SessionId, Turns } = await exported(new URL(page.url()).hash.slice(1));
    const [plain, calling] = Turns.map(comparedTurn);
    const turn = (Recorded, Rehearsed, Drifts) => ({ TurnId: Recorded.TurnId, Instruction: `Words of ${Recorded.TurnId}`, Drifts, Recorded, Rehearsed });
    const Sessions = [{ SessionId, Lane: 'rehearsed', Run: 1, Turns: [turn(plain, plain, false), turn(calling, plain, true)] }];
    const file = (text) => ({ name: 'rehearsal.json', mimeType: 'application/json', buffer: Buffer.from(text) });
    await page.getByRole('button', { name: 'Session', exact: true }).click();
    const input = page.getByLabel('make rehearse JSON=…');
    await input.setInputFiles(file('{}'));
    await page.getByRole('alert').getByText('This file is no report of a rehearsal.').waitFor();
    await input.setInputFiles(file(JSON.stringify({ Rehearsal: 1, Sessions })));
    await dialog(page).getByText('They say different things. They made different calls.').waitFor();
    await dialog(page).getByText(`Words of ${calling.TurnId}`).waitFor();
    assert.equal(await side(page, 'Rehearsed', 'completed').count(), 1);
    assert.equal(await dialog(page).getByRole('link', { name: 'Open it' }).count(), 0);
    await assertAccessible(page);
    await page.shot('desktop-light-comparison-rehearsal');
    await dialog(page).getByLabel('Turn', { exact: true }).selectOption({ label: `${SessionId} / ${plain.TurnId}` });
    await dialog(page).getByText('Both say the same.').waitFor();
  });
});
