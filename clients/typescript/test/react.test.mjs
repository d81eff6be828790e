// The hook for React in a real Chromium: the page of docs/react.md as it stands there, and the Worker behind another origin.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { withoutBrowser } from '../../../tests/browser/chromium.mjs';
import { pages } from '../../../tests/docs/pages.mjs';
import { eventually } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, gated, httpError, text } from '../../../tests/e2e/scripted_model.mjs';
import { sendMail } from './approvals.mjs';
import { inChromium } from './in_chromium.mjs';

const DIST = fileURLToPath(new URL('../dist/', import.meta.url));
const blockOf = (file) => pages().find(({ name }) => name === 'docs/react.md').blocks.find(({ marks }) => marks.file === `../my-agent/${file}`).text;

/** A page that hands out the hook, with a tool that is answered by hand, and can be left or hidden, and come back to. */
const BARE = `
  import { Activity, useLayoutEffect, useState } from 'react';
  import { createRoot } from 'react-dom/client';
  import { Aptix } from 'aptix-edge';
  import { useSession } from 'aptix-edge/react';
  const { searchParams } = new URL(location.href);
  const client = new Aptix({ baseUrl: searchParams.get('service'), retryDelayMs: 100 });
  window.runs = 0;
  const tools = [{ name: 'look', parameters: { type: 'object' }, run: () => new Promise((resolve) => ((window.runs += 1), (window.finish = resolve))) }];
  function Session() {
    const [count, setCount] = useState(0);
    window.setCount = setCount;
    const counted = { name: 'count', parameters: { type: 'object' }, run: () => count };
    window.hook = useSession(client, searchParams.get('session'), { tools: [...tools, counted] });
    useLayoutEffect(() => void (searchParams.has('begin') && window.hook.send(searchParams.get('begin'))), []);
    return null;
  }
  function Page() {
    const [isThere, setThere] = useState(true);
    const [mode, setMode] = useState('visible');
    window.show = setThere;
    window.mode = setMode;
    return isThere && <Activity mode={mode}><Session /></Activity>;
  }
  createRoot(document.body).render(<Page />);
`;
let page;
const { rig, faults, open } = inChromium(
  async (folder) => {
    // As an application in development: effects are run twice there. What is lost is given up sooner than after 14 s.
    const source = blockOf('page.tsx').replace(/<Chat (.*?) \/>\)/, '<StrictMode><Chat $1 /></StrictMode>)').replace('new Aptix({', '$& retryDelayMs: 100,');
    assert.ok(source.includes('StrictMode') && source.includes('retryDelayMs'));
    writeFileSync(path.join(folder, 'index.html'), blockOf('page.html'));
    await build({
      stdin: { contents: `import { StrictMode } from 'react';\n${source}`, loader: 'tsx', resolveDir: DIST },
      outfile: path.join(folder, 'page.js'), bundle: true, format: 'esm', jsx: 'automatic',
      alias: { 'aptix-edge/react': path.join(DIST, 'react.js'), 'aptix-edge': path.join(DIST, 'index.js') },
      define: { 'process.env.NODE_ENV': '"development"' },
    });
    writeFileSync(path.join(folder, 'bare.html'), '<!doctype html><body></body><script type="module" src="bare.js"></script>');
    await build({
      stdin: { contents: BARE, loader: 'jsx', resolveDir: DIST }, outfile: path.join(folder, 'bare.js'), bundle: true, format: 'esm', jsx: 'automatic',
      alias: { 'aptix-edge/react': path.join(DIST, 'react.js'), 'aptix-edge': path.join(DIST, 'index.js') },
      define: { 'process.env.NODE_ENV': '"development"' },
    });
  },
  async () => void (page = await open()),
);
const say = async (words) => {
  await page.fill('input', words);
  await page.getByRole('button', { name: 'Send' }).click();
};
const press = (name) => page.getByRole('button', { name, exact: true }).click();
const shows = (words) => page.getByText(words, { exact: true }).first().waitFor({ timeout: 20_000 });
const isReady = () => page.getByRole('button', { name: 'Stop' }).waitFor({ state: 'detached', timeout: 20_000 });
const said = () => page.locator('p').allTextContents();
/** Cancels the turn of a session that runs, past the page. */
const cancelElsewhere = async (id) => {
  const at = new URL(`/sessions/${id}`, rig.url);
  const { Result } = await (await fetch(at)).json();
  await fetch(`${at}/turns/${Result.LiveTurn.TurnId}/cancel`, { method: 'POST' });
};
const read = async (place = '') => (await (await fetch(new URL(`/sessions/react${place}`, rig.url))).json()).Result;

test('a page streams an answer, and is whole again after a reload in the middle of the next one', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.model.script(answer(text('Hello from the edge.')));
  await say('Hello?');
  await shows('Hello from the edge.');
  await isReady();
  const slow = new Gate();
  rig.model.script(answer(text('Half ', slow, 'and whole.')));
  await say('Slowly, please.');
  await shows('Half');
  await page.reload();
  await shows('Half');
  slow.open();
  await shows('Half and whole.');
  await isReady();
  assert.deepEqual(await said(), ['Hello?', 'Hello from the edge.', 'Slowly, please.', 'Half and whole.']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('a question outlives a reload, is decided once, and a turn that waits for one can be stopped', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('The mail is out.')));
  await say('Mail Ann.');
  await page.getByText('It leaves the house.').waitFor();
  await page.reload();
  await page.getByText('Run send_mail with {"to":"Ann"}?').waitFor();
  await press('Run');
  await shows('The mail is out.');
  await isReady();
  assert.deepEqual((await said()).slice(-2), ['Mail Ann.', 'The mail is out.']);
  assert.equal(rig.tools.requests.length, 1);

  rig.model.script(answer(sendMail({ to: 'Bob' })));
  await say('Mail Bob.');
  await page.getByText('Run send_mail with {"to":"Bob"}?').waitFor();
  await press('Stop');
  await isReady();
  assert.equal(await page.locator('fieldset').count(), 0);
  assert.equal((await read()).LatestTurn.Status, 'aborted');
  assert.deepEqual([rig.tools.requests.length, faults, rig.model.leftovers], [1, [], []]);
});

test('words that are added to a turn stand between what was read and what follows, also after a reload', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const first = new Gate();
  rig.model.script(answer(text('It is blue', first, '.')), answer(text('And green.')));
  await say('Which colour?');
  await shows('It is blue');
  await say('Two, please.');
  await shows('Two, please.');
  const { TurnId } = (await read()).LiveTurn;
  while (!(await read(`/turns/${TurnId}`)).Steers?.length);
  first.open();
  await shows('And green.');
  await isReady();
  const wanted = ['Which colour?', 'It is blue.', 'Two, please.', 'And green.'];
  assert.deepEqual((await said()).slice(-4), wanted);
  await page.reload();
  await shows('And green.');
  assert.deepEqual((await said()).slice(-4), wanted);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('what the network has lost is sent again as the same turn, by a click or when the network is back', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.model.script(answer(text('It came once.')));
  await page.context().setOffline(true);
  await say('Is anybody there?');
  await page.getByText('Connecting…').waitFor();
  await page.getByRole('alert').waitFor({ timeout: 60_000 });
  await page.context().setOffline(false);
  await shows('It came once.');
  await isReady();
  assert.equal(await page.getByRole('alert').count(), 0);
  assert.deepEqual((await said()).slice(-2), ['Is anybody there?', 'It came once.']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('what was stopped while the network was away is not sent when that is back', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const { page, until } = await bare('stopped-unsent');
  const lost = /\/(execute|cancel)\b/;
  await page.route(lost, (route) => route.abort());
  await page.evaluate(() => void window.hook.send('Never mind.'));
  await until("window.hook.status === 'running'");
  await page.evaluate(() => window.hook.stop());
  await page.waitForFunction("window.hook.status === 'ready' && window.hook.error", undefined, { timeout: 60_000 });
  await page.unroute(lost);
  await page.evaluate(() => window.hook.resume());
  assert.deepEqual(await page.evaluate(() => [window.hook.status, window.hook.error]), ['ready', undefined]);
  assert.equal((await fetch(new URL('/sessions/stopped-unsent', rig.url))).status, 404);
  assert.deepEqual(faults, []);
});

test('what has ended while the network was away is shown as the service has it, and is not sent again', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('It is blue', gate, '.')), answer(text('And green.')));
  const { page, until, texts } = await bare('ended-unseen');
  const at = new URL('/sessions/ended-unseen', rig.url);
  const post = (url, body) => fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  const live = async () => (await (await fetch(at)).json()).Result?.LiveTurn;
  // The words arrive, and nothing of what follows comes back.
  let sent;
  const lost = /\/(execute|turns)\b/;
  await page.route(lost, async (route) => {
    if (route.request().method() === 'POST') sent ??= post(new URL('/execute', rig.url), route.request().postData());
    await route.abort();
  });
  await page.evaluate(() => window.hook.send('Which colour?'));
  await eventually(async () => (await live()) !== undefined, 'the turn runs');
  await post(`${at}/turns/${(await live()).TurnId}/steer`, JSON.stringify({ SteerId: 'second', Instruction: 'Two, please.' }));
  gate.open();
  await (await sent).text();
  await page.waitForFunction("window.hook.error?.code === 'connection_lost'", undefined, { timeout: 60_000 });
  await page.unroute(lost);
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.status === 'ready' && window.hook.messages.length > 1");
  assert.deepEqual(await texts(), ['Which colour? done', 'It is blue. done', 'Two, please. done', 'And green. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that the network has lost on their way to a turn stay to be seen, and are sent again with it, once', { skip: withoutBrowser, timeout: 180_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('It is blue', gate, '.')), answer(text('And green.')));
  const { page, until, texts } = await bare('lost-words');
  const failed = (words) => page.waitForFunction((words) => window.hook.messages.some(({ text, state }) => text === words && state === 'failed'), words, { timeout: 60_000 });
  const begin = /\/execute\b/;
  for (const way of [begin, '**/steer']) await page.route(way, (route) => route.abort());
  await page.evaluate(() => void window.hook.send('Which colour?'));
  await until("window.hook.status === 'running'");
  await page.evaluate(() => void window.hook.send('Two, please.'));
  await failed('Which colour?');
  // The turn is sent again while what was added to it is on its way.
  await page.unroute(begin);
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.messages.at(-1)?.text === 'It is blue'");
  await failed('Two, please.');
  await page.unroute('**/steer');
  await page.evaluate(() => window.hook.resume());
  await eventually(async () => (await steersOf('lost-words')).length === 1, 'the words are there');
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'And green.'");
  assert.deepEqual((await texts()).filter((each) => each.startsWith('Two')), ['Two, please. done']);
  await page.reload();
  await until("window.hook?.status === 'ready'");
  assert.deepEqual(await texts(), ['Which colour? done', 'It is blue. done', 'Two, please. done', 'And green. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('an answer to which words were added before a reload stays to be read', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('It is blue', gate, '.')), answer(text('And green.')));
  const { page, until, texts } = await bare('waiting-words');
  await page.evaluate(() => void window.hook.send('Which colour?'));
  await until("window.hook.messages.at(-1)?.text === 'It is blue'");
  await page.evaluate(() => void window.hook.send('Two, please.'));
  await eventually(async () => (await steersOf('waiting-words')).length === 1, 'the words are there');
  await page.reload();
  await until("window.hook?.messages.some(({ text }) => text === 'It is blue')");
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'And green.'");
  assert.deepEqual(await texts(), ['Which colour? done', 'It is blue. done', 'Two, please. done', 'And green. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that come too late for a turn are added to the one that has begun by then', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Another day', gate, '.')), answer(text('And another.')));
  const { page, until, texts } = await bare('too-late');
  await page.evaluate(() => void window.hook.send('Mail Ann.'));
  await until("window.hook.status === 'waiting'");
  await cancelElsewhere('too-late');
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/steer', async (route) => {
    if (route.request().postData()?.includes('And this.')) await held;
    await route.continue();
  });
  await page.evaluate(() => void (window.hook.send('Not today.'), window.hook.send('And this.')));
  await until("window.hook.messages.at(-1)?.text === 'Another day'");
  assert.ok((await texts()).includes('And this. done'));
  release();
  await eventually(async () => (await steersOf('too-late')).length === 1, 'the words are there');
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'And another.'");
  assert.deepEqual(await texts(), ['Mail Ann. done', 'Not today. done', 'Another day. done', 'And this. done', 'And another. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that are on their way to a turn when it is stopped begin no other one', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('One', gate, '.')));
  const { page, until, texts } = await bare('stopped-words');
  await page.evaluate(() => void window.hook.send('First.'));
  await until("window.hook.messages.at(-1)?.text === 'One'");
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/steer', async (route) => (await held, await route.continue()));
  await page.evaluate(() => void window.hook.send('Second.'));
  await until("window.hook.messages.at(-1)?.text === 'Second.'");
  await page.evaluate(() => window.hook.stop());
  await until("window.hook.status === 'ready'");
  release();
  await until("window.hook.messages.at(-1)?.state === 'failed'");
  gate.open();
  assert.deepEqual(await texts(), ['First. done', 'One stopped', 'Second. failed']);
  assert.equal((await (await fetch(new URL('/sessions/stopped-words', rig.url))).json()).Result.TurnCount, 1);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that are stopped before what was said has come are not said', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(text('One.')));
  const { page, until, texts } = await bare('stopped-early');
  await page.evaluate(() => window.hook.send('First.'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  const release = await loadedLate({ page, until });
  await page.evaluate(() => void (window.hook.send('Second.'), window.hook.stop()));
  release();
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.state === 'failed'");
  assert.deepEqual(await texts(), ['First. done', 'One. done', 'Second. failed']);
  assert.equal((await (await fetch(new URL('/sessions/stopped-early', rig.url))).json()).Result.TurnCount, 1);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

/** Loads the page anew, and what was said before comes when the function is called to which this resolves. */
async function loadedLate({ page, until }) {
  let release;
  const held = new Promise((resolve) => (release = resolve));
  await page.route('**/export', async (route) => (await held, await route.continue()));
  await page.reload();
  await until("window.hook?.status === 'loading'");
  return release;
}

/** What has been added to the turn of a session that runs. */
async function steersOf(session) {
  const at = new URL(`/sessions/${session}`, rig.url);
  const { LiveTurn } = (await (await fetch(at)).json()).Result;
  return (await (await fetch(`${at}/turns/${LiveTurn.TurnId}`)).json()).Result.Steers ?? [];
}

/** The bare page of a session, as soon as it is ready; `until(expression)` waits for something of `hook`. */
async function bare(session) {
  const page = await open(`bare.html?session=${session}`);
  const until = (expression) => page.waitForFunction(expression, undefined, { timeout: 20_000 });
  await until("window.hook?.status === 'ready'");
  return { page, until, texts: () => page.evaluate(() => window.hook.messages.map(({ text, state }) => `${text} ${state}`)) };
}

test('a decision that is no JSON fails in the page, and one that the service refuses is asked for again with its words', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.tools.requests.length = 0;
  rig.tools.on('/pay', '"paid"');
  rig.model.script(answer(call('pay', { to: 'Ann' })), answer(text('Paid.')));
  const { page, until, texts } = await bare('edited');
  await page.evaluate(() => window.hook.send(' \n'));
  await page.evaluate(() => window.hook.send('Pay.'));
  await until("window.hook.status === 'waiting'");
  const decide = (ArgumentsJson) => page.evaluate((ArgumentsJson) => window.hook.approvals[0].decide({ Approved: true, ArgumentsJson }), ArgumentsJson);
  await assert.rejects(decide('{"to":'), /SyntaxError/);
  await decide('{"to":"Bob","to":"Eve"}');
  await until("window.hook.approvals[0]?.Refusal?.includes('twice')");
  await decide('{"to":"Bob"}');
  await until("window.hook.status === 'ready'");
  assert.deepEqual(await texts(), ['Pay. done', 'Paid. done']);
  assert.deepEqual([rig.tools.requests.map(({ body }) => body.Arguments), faults, rig.model.leftovers], [[{ to: 'Bob' }], [], []]);
});

test('words behind a turn that was stopped elsewhere while it asked are the next turn, and nobody has to decide first', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Another day.')));
  const { page, until, texts } = await bare('stopped-elsewhere');
  await page.evaluate(() => void window.hook.send('Mail Ann.'));
  await until("window.hook.status === 'waiting'");
  await cancelElsewhere('stopped-elsewhere');
  await page.evaluate(() => void window.hook.send('Not today.'));
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'Another day.'");
  assert.deepEqual(await texts(), ['Mail Ann. done', 'Not today. done', 'Another day. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words behind a turn that was answered elsewhere are the next turn, and nobody is asked once more', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.tools.on('/send_mail', '"sent"');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('Sent.')), answer(text('Another day.')));
  const { page, until, texts } = await bare('answered-elsewhere');
  await page.evaluate(() => void window.hook.send('Mail Ann.'));
  await until("window.hook.status === 'waiting'");
  const { Result } = await (await fetch(new URL('/sessions/answered-elsewhere', rig.url))).json();
  const { TurnId, ToolCalls } = Result.LiveTurn;
  const ToolResults = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '{"Approved":true}' }];
  const body = JSON.stringify({ SessionId: 'answered-elsewhere', TurnId, ToolResults });
  const sent = await fetch(new URL('/execute', rig.url), { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  assert.match(await sent.text(), /Sent\./);
  await page.evaluate(() => void window.hook.send('Another mail.'));
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'Another day.'");
  assert.deepEqual(await texts(), ['Mail Ann. done', 'Sent. done', 'Another mail. done', 'Another day. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that came while another page\'s turn ran are seen as failed, and sent when that has ended', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('One', gate, '.')), answer(text('Two.')));
  const [other, { page, until, texts }] = [await bare('two-tabs'), await bare('two-tabs')];
  await other.page.evaluate(() => window.hook.send('First.'));
  await other.until("window.hook.messages.length === 2");
  await page.evaluate(() => window.hook.send('Second.'));
  await until("window.hook.error?.code === 'turn_in_progress'");
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.status === 'running'");
  assert.ok((await texts()).includes('Second. failed'));
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.length === 4");
  assert.deepEqual(await texts(), ['First. done', 'One. done', 'Second. done', 'Two. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words behind another page\'s turn are sent when that has failed, too', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  const gate = new Gate();
  rig.model.script(gated(gate, httpError(401, { message: 'No.', code: 'invalid_api_key' })), answer(text('Two.')));
  const [other, { page, until, texts }] = [await bare('failed-elsewhere'), await bare('failed-elsewhere')];
  const before = rig.model.requests.length;
  await other.page.evaluate(() => void window.hook.send('First.'));
  await eventually(() => rig.model.requests.length > before, 'the model is called');
  await page.evaluate(() => window.hook.send('Second.'));
  await until("window.hook.error?.code === 'turn_in_progress'");
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.status === 'running'");
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.length === 3");
  assert.deepEqual(await texts(), ['First. done', 'Second. done', 'Two. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words whose turn has failed are seen as failed after a reload, too, and not in a session that is erased', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(httpError(401, { message: 'No.', code: 'invalid_api_key' }));
  const { page, until, texts } = await bare('failed');
  await page.evaluate(() => void window.hook.send('First.'));
  await until("window.hook.error && window.hook.status === 'ready'");
  assert.deepEqual(await texts(), ['First. failed']);
  await page.reload();
  await until("window.hook?.status === 'ready'");
  assert.deepEqual(await texts(), ['First. failed']);
  await fetch(new URL('/sessions/failed', rig.url), { method: 'DELETE' });
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.status === 'ready'");
  assert.deepEqual([await texts(), faults, rig.model.leftovers], [[], [], []]);
});

test('a tool that runs while the component is away gives its result, and is not run again', { skip: withoutBrowser, timeout: 120_000 }, async () => {
  rig.model.script(answer(call('look', {})), answer(text('Seen.')), answer(call('look', {})), answer(text('Seen again.')));
  const { page, until, texts } = await bare('away');
  await page.evaluate(() => window.hook.send('Look.'));
  await until('window.finish');
  await page.evaluate(() => window.show(false));
  await page.evaluate(() => window.show(true));
  await until("window.hook.status === 'running'");
  await page.evaluate(() => window.finish('blue'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /blue/);
  // With nobody there, the result is sent as well.
  await page.evaluate(() => (delete window.finish, window.hook.send('Again.')));
  await until('window.finish');
  await page.evaluate(() => (window.show(false), window.finish('green')));
  while (rig.model.leftovers.length > 0) await new Promise((later) => setTimeout(later, 20));
  await page.evaluate(() => window.show(true));
  await until("window.hook.messages.at(-1)?.text === 'Seen again.' && window.hook.status === 'ready'");
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /green/);
  assert.deepEqual([await page.evaluate(() => window.runs), (await texts()).length, faults], [2, 4, []]);
});

test('a turn that is stopped while a tool of the page runs has ended, and nobody waits for the tool', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(call('look', {})), answer(text('Another day.')));
  const { page, until, texts } = await bare('stopped-in-a-tool');
  await page.evaluate(() => void window.hook.send('Look.'));
  await until('window.finish');
  await page.evaluate(() => window.hook.stop());
  await until("window.hook.status === 'ready'");
  await page.evaluate(() => void window.hook.send('Not today.'));
  await until("window.hook.status === 'ready' && window.hook.messages.at(-1)?.text === 'Another day.'");
  assert.deepEqual(await texts(), ['Look. done', 'Not today. done', 'Another day. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that are sent as the component leaves arrive, and are answered where it comes back', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(text('Heard.')), answer(text('That too.')));
  const { page, until, texts } = await bare('left');
  await page.evaluate(() => void (window.hook.send('Before I go.'), window.show(false)));
  await eventually(() => rig.model.leftovers.length === 1, 'the turn runs');
  // What a page that is gone says still reaches the service.
  await page.evaluate(() => void window.hook.send('And this.'));
  await eventually(() => rig.model.leftovers.length === 0, 'the next turn runs');
  await page.evaluate(() => window.show(true));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 4");
  assert.deepEqual(await texts(), ['Before I go. done', 'Heard. done', 'And this. done', 'That too. done']);
  assert.deepEqual(faults, []);
});

test('what was said before is there where words are sent, and the component is hidden, before it has come', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('One.')), gated(gate, answer(text('Two.'))));
  const { page, until, texts } = await bare('early');
  await page.evaluate(() => window.hook.send('First.'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  const release = await loadedLate({ page, until });
  await page.evaluate(() => void (window.hook.send('Second.'), window.mode('hidden')));
  await page.evaluate(() => new Promise((later) => setTimeout(later)));
  release();
  await eventually(() => rig.model.leftovers.length === 0, 'the turn runs');
  await page.evaluate(() => window.mode('visible'));
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.length > 1");
  assert.deepEqual(await texts(), ['First. done', 'One. done', 'Second. done', 'Two. done']);
  assert.deepEqual(faults, []);
});

test('words that are sent before the component has begun to listen stand behind what was said before', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const { page, until, texts } = await bare('at-once');
  await page.evaluate(() => window.hook.send('First.'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  await page.goto(`${page.url()}&begin=Second.`);
  await until("window.hook?.status === 'ready' && window.hook.messages.at(-1)?.text === 'Two.'");
  assert.deepEqual(await texts(), ['First. done', 'One. done', 'Second. done', 'Two. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('words that are said while the session is loaded once more are answered once', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(text('Once.')));
  const { page, until, texts } = await bare('anew');
  await page.evaluate(() => void (window.hook.resume(), window.hook.send('How often?')));
  await until("window.hook.status === 'ready' && window.hook.messages.length > 1");
  assert.deepEqual(await texts(), ['How often? done', 'Once. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('a session that is loaded twice at once is read once, and each answer is there once', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Half ', gate, 'and whole.')));
  const { page, until, texts } = await bare('twice');
  await page.evaluate(() => window.hook.send('Slowly.'));
  await until("window.hook.messages.at(-1)?.text === 'Half '");
  await page.evaluate(() => void (window.hook.resume(), setTimeout(() => window.hook.resume()), window.dispatchEvent(new Event('online')), window.hook.resume()));
  await until("window.hook.status === 'running' && window.hook.messages.at(-1)?.text === 'Half '");
  gate.open();
  await until("window.hook.status === 'ready' && window.hook.messages.length > 1");
  assert.deepEqual(await texts(), ['Slowly. done', 'Half and whole. done']);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('an answer without words has its response after a reload, too', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer());
  const { page, until } = await bare('wordless');
  await page.evaluate(() => window.hook.send('Draw.'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  const shown = () => page.evaluate(() => window.hook.messages.map(({ id, text, response }) => [id, text, response]));
  const before = await shown();
  assert.equal(before[1][2].UserWarnings.length, 1);
  await page.reload();
  await until("window.hook?.status === 'ready'");
  assert.deepEqual(await shown(), before);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('what was said in a session that is erased is shown no more', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  rig.model.script(answer(text('One.')));
  const { page, until, texts } = await bare('erased');
  await page.evaluate(() => window.hook.send('First.'));
  await until("window.hook.status === 'ready' && window.hook.messages.length === 2");
  await fetch(new URL('/sessions/erased', rig.url), { method: 'DELETE' });
  await page.evaluate(() => window.hook.resume());
  await until("window.hook.status === 'ready'");
  assert.deepEqual([await texts(), faults, rig.model.leftovers], [[], [], []]);
});

test('a tool that runs late in a turn is the one of the newest rendering, and what is sent meanwhile is words alone', { skip: withoutBrowser, timeout: 60_000 }, async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Let me see', gate, '.'), call('count', {})), answer(text('Counted.')));
  const { page, until, texts } = await bare('newest');
  await page.evaluate(() => window.hook.send('Count.'));
  await until("window.hook.messages.at(-1)?.text === 'Let me see'");
  await page.evaluate(() => (window.setCount(7), window.hook.send({ Instruction: 'And this.', Language: 'de' })));
  await until("window.hook.messages.some(({ text }) => text === 'And this.')");
  gate.open();
  await until("window.hook.status === 'ready'");
  assert.deepEqual(await page.evaluate(() => window.hook.error?.message), undefined);
  assert.equal((await texts()).at(-1), 'Counted. done');
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /"output":"7"/);
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /And this/);
  assert.deepEqual([faults, rig.model.leftovers], [[], []]);
});

test('the page is sound TypeScript', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-tsx-'));
  try {
    const modules = path.join(folder, 'node_modules');
    const installed = fileURLToPath(new URL('../node_modules/', import.meta.url));
    mkdirSync(path.join(modules, '@types'), { recursive: true });
    symlinkSync(fileURLToPath(new URL('..', import.meta.url)), path.join(modules, 'aptix-edge'));
    for (const name of ['react', 'react-dom']) symlinkSync(path.join(installed, '@types', name), path.join(modules, '@types', name));
    writeFileSync(path.join(folder, 'page.tsx'), blockOf('page.tsx'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--jsx', 'react-jsx', '--module', 'esnext', '--moduleResolution', 'bundler', '--target', 'es2022', 'page.tsx'];
    const { stdout } = spawnSync(process.execPath, [path.join(installed, 'typescript/bin/tsc'), ...options], { cwd: folder, encoding: 'utf8' });
    assert.equal(stdout, '');
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

const npm = (...args) => spawnSync('npm', args, { cwd: fileURLToPath(new URL('../../../', import.meta.url)), encoding: 'utf8', timeout: 90_000 });
const noRegistry = npm('ping', '--fetch-retries=0', '--fetch-timeout=5000').status === 0 ? false : 'no registry of packages is reached';

test('what the page installs has one React, and a copy of the client', { skip: noRegistry, timeout: 120_000 }, () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-installed-'));
  try {
    const [, written] = /^npm (install .*)$/m.exec(pages().find(({ name }) => name === 'docs/react.md').blocks.find(({ text }) => text.includes('npm install')).text);
    const { status, stderr } = npm(...written.replace('../my-agent', folder).split(' '), '--no-audit', '--no-fund');
    assert.equal(status, 0, stderr);
    assert.ok(!lstatSync(path.join(folder, 'node_modules/aptix-edge')).isSymbolicLink());
    const found = readdirSync(path.join(folder, 'node_modules'), { recursive: true }).filter((name) => /(^|[/])node_modules[/]react[/]package\.json$|^react[/]package\.json$/.test(name));
    assert.deepEqual(found, ['react/package.json']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
