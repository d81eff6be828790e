// The playground as its users have it: a newcomer's walk, reloads, small screens, the keyboard, screen readers.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { after, afterEach, before, describe, test } from 'node:test';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { unlessChecked } from '../checked.mjs';
import { apiKeys } from '../e2e/harness.mjs';
import { withoutBrowser } from './chromium.mjs';
import { agree, assertAccessible, DESKTOP, hasStatus, openPanel, PHONE, Playground, say, withMail } from './playground.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PAGE = path.join(ROOT, 'build-playground');
const SLOW_ANSWER = 'This answer comes word by word, slowly enough to be cut, cancelled or resumed.';
const KEY = 'key-of-the-playground';
const LONG = process.env.APTIX_LONG_TESTS !== undefined;
/** A picture of one dot. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==';

test('the page is less than 215 KB gzipped, and its types hold', async () => {
  assert.ok(existsSync(path.join(PAGE, 'index.html')), 'the page is not built: make build');
  // The licences are beside the page, and no part of it.
  const files = readdirSync(path.join(PAGE, 'playground')).filter((file) => !file.startsWith('licences-'));
  const bytes = files.map((file) => gzipSync(readFileSync(path.join(PAGE, 'playground', file)), { level: 9 }).length);
  const all = bytes.reduce((sum, each) => sum + each, 0);
  assert.ok(all < 215_000, `${all} bytes`);
  const inputs = ['clients/playground', 'clients/typescript/src', 'clients/typescript/tsconfig.json', 'package-lock.json'].map((name) => path.join(ROOT, name));
  await unlessChecked('playground', inputs, () => execFileSync(path.join(ROOT, 'node_modules/.bin/tsc'), ['-p', 'clients/playground'], { cwd: ROOT, stdio: 'inherit' }));
});

describe('the playground', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start({
      catalog: withMail({ Message: 'The mail leaves at once.' }),
    });
    const receipt = { sent: true, Files: [{ Name: 'receipt.txt', MimeType: 'text/plain', Text: 'The mail has left.\n' }] };
    playground.rig.tools.on('/send_mail', JSON.stringify(receipt));
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('a newcomer talks, changes the mode, answers a tool, approves a call and gets its file', async () => {
    const page = await playground.page();
    await assertAccessible(page);
    const first = await say(page, 'What can you do?');
    await hasStatus(first, 'completed');
    await first.getByText('I am the stand-in for the model service.').waitFor();
    assert.match(await first.locator('.foot').innerText(), /General[^]*\d+ in, \d+ out/);
    assert.equal(await page.getByRole('heading', { level: 1 }).innerText(), 'What can you do?');

    const changed = await say(page, 'Switch to DDR authoring.');
    await hasStatus(changed, 'completed');
    await changed.getByText('The mode is now DDR Authoring.').waitFor();
    await page.getByRole('button', { name: 'Mode: DDR Authoring' }).click();
    const general = page.getByRole('button', { name: 'General For everything else.' });
    await general.waitFor();
    await assertAccessible(page);
    await general.click();
    await page.getByRole('button', { name: 'Mode: General' }).waitFor();
    await hasStatus(page.locator('.turn').nth(2), 'completed');

    const tool = await say(page, 'Please read README.md.');
    await hasStatus(tool, 'awaiting_tools');
    await assertAccessible(page);
    await tool.getByLabel('Result, as JSON or as plain text').fill('# The first line');
    await tool.getByRole('button', { name: 'Send result' }).click();
    await hasStatus(tool, 'completed');
    await tool.getByText('Its first line is').waitFor();
    await tool.locator('summary').filter({ hasText: 'read_file' }).click();
    assert.match(await tool.locator('.card-body').innerText(), /"path": "README.md"[^]*# The first line/);

    const echo = await say(page, 'Call the tool echo with the word pelican.');
    await hasStatus(echo, 'completed');
    await echo.getByText('run by this page').waitFor();

    const mail = await say(page, 'Call the tool send_mail with the word ann.');
    await hasStatus(mail, 'awaiting_tools');
    const question = mail.getByRole('region', { name: 'May the agent call send_mail?' });
    assert.equal(await question.locator('pre').innerText(), '{\n  "to": "ann"\n}');
    await question.getByText('The mail leaves at once.').waitFor();
    await assertAccessible(page);
    await page.shot('desktop-light-approval');
    await question.getByRole('button', { name: 'Change the arguments' }).click();
    await question.getByLabel('Arguments, a JSON object').fill('{"to": "bob"}');
    await question.getByRole('button', { name: 'Approve' }).click();
    await hasStatus(mail, 'completed');
    assert.deepEqual(playground.rig.tools.requests.map(({ body }) => body.Arguments), [{ to: 'bob' }]);
    await mail.getByText('approved with changes').waitFor();
    await mail.locator('summary').filter({ hasText: 'run by the service' }).click();
    const [download] = await Promise.all([page.waitForEvent('download'), mail.getByRole('link', { name: 'receipt.txt' }).click()]);
    assert.equal(readFileSync(await download.path(), 'utf8'), 'The mail has left.\n');
    await assertAccessible(page);

    const refused = await say(page, 'Call the tool send_mail with the word eve.');
    await hasStatus(refused, 'awaiting_tools');
    await refused.getByLabel('Reason, if you refuse').fill('Not to her.');
    await refused.getByRole('button', { name: 'Refuse' }).click();
    await hasStatus(refused, 'completed');
    await refused.getByText('Not to her.').last().waitFor();
    assert.equal(playground.rig.tools.requests.length, 1);
  });

  test('modes that are told late of a session that was left are not those of the open one', async () => {
    const page = await playground.page();
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const left = new URL(page.url()).hash.slice(1);
    const { promise: released, resolve: release } = Promise.withResolvers();
    await page.route(new RegExp(`/${left}/export$`), async (route) => {
      const response = await route.fetch();
      const json = await response.json();
      json.Result.Catalog.Modes[0].DisplayName = 'Elsewhere';
      await released;
      await route.fulfill({ response, json });
    });
    await page.getByRole('button', { name: 'Mode: General' }).click();
    await page.getByText('Asking the service…').waitFor();
    await page.keyboard.press('Alt+n');
    await hasStatus(await say(page, 'Think aloud.'), 'completed');
    await page.getByRole('button', { name: 'Mode: General' }).click();
    const general = page.getByRole('button', { name: /^General.* For everything else\.$/ });
    await general.waitFor();
    release();
    await page.waitForTimeout(300);
    assert.deepEqual([await general.count(), await page.getByText('Elsewhere', { exact: true }).count()], [1, 0]);
  });

  test('everything is done by keyboard', async () => {
    const page = await playground.page();
    const press = async (...keys) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    const focused = () => page.evaluate(() => (document.activeElement.textContent || document.activeElement.id).trim());
    const until = async (key, words) => {
      for (let tries = 0; !(await focused()).startsWith(words); tries += 1) {
        assert.ok(tries < 40, `${words} is not reached by ${key}; ${await focused()} is`);
        await press(key);
      }
    };
    await page.keyboard.type('Call the tool send_mail with the word zoe.');
    await press('Enter');
    const turn = page.locator('.turn').last();
    await hasStatus(turn, 'awaiting_tools');
    await until('Shift+Tab', 'The agent waits for your answer');
    await press('Enter');
    await until('Tab', 'Approve');
    await press('Enter');
    await hasStatus(turn, 'completed');
    await until('Shift+Tab', 'send_mail');
    await press('Enter');
    await turn.locator('details[open]').waitFor();
    await press('Alt+n');
    await page.getByText('What should the agent do?').waitFor();
    await press('Control+k');
    await page.keyboard.type('ZOE');
    await until('Tab', 'Call the tool send_mail');
    await press('Enter');
    await hasStatus(page.locator('.turn').last(), 'completed');
    await until('Tab', 'Context');
    await press('Enter');
    await page.getByRole('complementary', { name: 'Context' }).waitFor();
    await press('Escape');
    assert.equal(await page.getByRole('complementary').count(), 0);
    // The button that has opened it, a frame later.
    await page.waitForFunction(() => document.activeElement.textContent.trim() === 'Context');
  });

  test('what goes with a turn is sent: pictures, files, a solution context, a workspace; and a dropped file is read', async () => {
    const page = await playground.page();
    const hand = (event, name, type, base64) =>
      page.evaluate(
        ([kind, file, mimeType, data]) => {
          const bytes = Uint8Array.from(atob(data), (character) => character.charCodeAt(0));
          const dataTransfer = new DataTransfer();
          dataTransfer.items.add(new File([bytes], file, { type: mimeType }));
          const more = kind === 'paste' ? { clipboardData: dataTransfer } : { dataTransfer };
          const made = kind === 'paste' ? new ClipboardEvent(kind, { bubbles: true, cancelable: true, ...more }) : new DragEvent(kind, { bubbles: true, cancelable: true, ...more });
          document.getElementById('message').dispatchEvent(made);
        },
        [event, name, type, base64],
      );
    await hand('paste', 'dot.png', 'image/png', PIXEL);
    await hand('drop', 'notes.md', 'text/markdown', Buffer.from('# Of pelicans\n').toString('base64'));
    for (const name of ['dot.png', 'notes.md']) await page.getByRole('list', { name: 'Attachments' }).getByText(name).waitFor();
    await page.getByRole('button', { name: 'Context' }).click();
    // The tools of an earlier turn stay until others come: nothing brings those of the context back.
    await page.getByLabel('Offer the tools of this page').locator('..').getByText('the session keeps those that it was last given').waitFor();
    await page.getByLabel('Text about the whole solution').fill('A zoo in Rust.');
    await page.getByLabel('Workspace').fill('zoo');
    await page.getByRole('button', { name: 'Add a condition' }).click();
    await page.getByLabel('Key of condition 1').fill('Path');
    await page.getByLabel('Values of condition 1').fill('src/');
    await page.getByLabel('Operator of condition 1').selectOption('contains');
    await assertAccessible(page);
    await page.shot('desktop-light-context');
    const request = page.waitForRequest(/\/execute/);
    const turn = await say(page, 'What do you see?');
    const sent = (await request).postDataJSON();
    assert.deepEqual(sent.RagScope, { Conditions: [{ Key: 'Path', Operator: 'contains', Values: ['src/'] }] });
    assert.equal(sent.WorkspaceId, 'zoo');
    await hasStatus(turn, 'completed');
    for (const seen of ['Context: notes.md', 'Solution context: A zoo in Rust.', 'Images and files: 1']) await turn.getByText(seen).waitFor();
    await turn.getByRole('img', { name: 'Attached picture 1' }).waitFor();
    const read = await say(page, 'Please read notes.md.');
    await hasStatus(read, 'completed');
    await read.getByText('Its first line is: “# Of pelicans”').waitFor();
    const later = await say(page, 'Please read later.md.');
    await hasStatus(later, 'awaiting_tools');
    await hand('drop', 'later.md', 'text/markdown', Buffer.from('# Later\n').toString('base64'));
    await later.getByText('Its first line is: “# Later”').waitFor();
  });

  test('words that an office program copies with a picture of them are pasted as words', async () => {
    const page = await playground.page();
    const isTaken = await page.evaluate(() => {
      const clipboardData = new DataTransfer();
      clipboardData.items.add(new File([new Uint8Array(4)], 'image.png', { type: 'image/png' }));
      clipboardData.setData('text/html', '<table><tr><td>A cell</td></tr></table>');
      clipboardData.setData('text/plain', 'A cell');
      const pasted = new ClipboardEvent('paste', { bubbles: true, cancelable: true, clipboardData });
      document.getElementById('message').dispatchEvent(pasted);
      return pasted.defaultPrevented;
    });
    assert.equal(isTaken, false, 'the browser writes the words');
    assert.equal(await page.getByRole('list', { name: 'Attachments' }).count(), 0);
  });

  test('what a model writes runs nothing and loads nothing, and its code is coloured and copied', async () => {
    const page = await playground.page();
    const elsewhere = [];
    page.on('request', (request) => {
      if (!request.url().startsWith(playground.rig.url.href) && !request.url().startsWith('data:')) elsewhere.push(request.url());
    });
    const hostile = [
      '<img src=x onerror="alert(1)"><script>alert(1)</script><style>*{display:none}</style>',
      '![beacon](https://evil.example/a.png) [link](javascript:alert(1)) [right](https://example.com/)',
      '```rust\nfn main() { println!("<b>{}</b>", 1); }\n```',
      'The end.',
    ];
    const turn = await say(page, hostile.join('\n\n'));
    await hasStatus(turn, 'completed');
    const answer = turn.locator('.markdown').last();
    await answer.getByText('<img src=x onerror="alert(1)">').waitFor();
    assert.equal(await answer.locator('img, script, style, [onerror], [href^="javascript"]').count(), 0);
    assert.equal(await answer.getByRole('link', { name: 'right' }).getAttribute('rel'), 'noopener noreferrer');
    await answer.locator('.hljs-keyword').first().waitFor();
    await answer.getByRole('button', { name: 'Copy' }).click();
    await answer.getByRole('button', { name: 'Copied' }).waitFor();
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), 'fn main() { println!("<b>{}</b>", 1); }');
    assert.deepEqual(elsewhere, []);
  });

  test('reasoning and commentary are folded; this browser keeps ids and titles, and nothing that was said', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Reason about it.');
    await hasStatus(turn, 'completed');
    assert.equal(await turn.getByText('I am asked to show reasoning.').isVisible(), false);
    await turn.getByText('Reasoning', { exact: true }).click();
    await turn.getByText('I am asked to show reasoning.').waitFor();
    const aloud = await say(page, 'Think aloud.');
    await hasStatus(aloud, 'completed');
    await aloud.getByText('Commentary', { exact: true }).click();
    await aloud.getByText('this is no part of the answer').waitFor();
    await assertAccessible(page);
    const kept = await page.evaluate(() => JSON.stringify([Object.values(localStorage), Object.values(sessionStorage), document.cookie]));
    assert.match(kept, /Reason about it/);
    assert.doesNotMatch(kept, /Think aloud|I show it|part of the answer/);
    await page.getByRole('button', { name: 'Erase Reason about it.' }).click();
    await agree(page);
    await page.getByText('Sessions of this browser stand here.').waitFor();
  });

  test('a list of 20,000 sessions is bounded on the page and in the browser', async () => {
    const sessions = Array.from({ length: 20_000 }, (_, at) => ({ id: `session-${at}`, title: `Session ${at}`, at: 1_700_000_000_000 - at }));
    const page = await playground.page({ kept: { 'aptix-edge.sessions': JSON.stringify(sessions) } });
    const shown = page.locator('.session');
    assert.equal(await shown.count(), 100);
    await page.getByRole('button', { name: 'Show more of 1,000 sessions' }).click();
    assert.equal(await shown.count(), 200);
    await assertAccessible(page);
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('session 99');
    await page.getByText('Session 991', { exact: true }).waitFor();
    assert.equal(await shown.count(), 11);
    await page.getByRole('searchbox', { name: 'Search sessions' }).fill('');
    assert.equal(await shown.count(), 100);
    await hasStatus(await say(page, 'What can you do?'), 'completed');
    const kept = await page.evaluate(() => JSON.parse(localStorage.getItem('aptix-edge.sessions')).map(({ title }) => title));
    assert.deepEqual([kept.length, kept[0], kept[1], kept.at(-1)], [1000, 'What can you do?', 'Session 0', 'Session 998']);
  });

  for (const [name, viewport] of Object.entries({ desktop: DESKTOP, phone: PHONE })) {
    for (const colorScheme of ['light', 'dark']) {
      // Each size and each scheme once; the other two pairs are of `make test-long`.
      if (!LONG && (viewport === DESKTOP) !== (colorScheme === 'light')) continue;
      test(`on a ${colorScheme} ${name} nothing is cut off, and axe finds nothing`, async () => {
        const page = await playground.page({ viewport, colorScheme });
        await page.shot(`${name}-${colorScheme}-empty`);
        await assertAccessible(page);
        const code = await say(page, '## Show it\n\n```rust\n/// The price with tax.\nfn gross(net: u64, tax: u64) -> u64 {\n    net + net * tax / 100 // no cents\n}\n```\n\n| net | gross |\n|---|--:|\n| 100 | 119 |');
        await hasStatus(code, 'completed');
        await code.locator('.hljs-comment').last().waitFor();
        await page.shot(`${name}-${colorScheme}-code`);
        await assertAccessible(page);
        await page.keyboard.press('Alt+n');
        await hasStatus(await say(page, 'Switch to DDR authoring.'), 'completed');
        const file = { name: 'README.md', mimeType: 'text/markdown', buffer: Buffer.from('# The zoo\n') };
        await page.getByLabel('Attach files').setInputFiles(file);
        await page.getByRole('list', { name: 'Attachments' }).waitFor();
        await hasStatus(await say(page, 'Please read README.md.'), 'completed');
        await hasStatus(await say(page, 'Call the tool send_mail with the word ann.'), 'awaiting_tools');
        await page.shot(`${name}-${colorScheme}`);
        await assertAccessible(page);
        const overflow = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
        assert.ok(overflow <= 0, `${overflow} pixels`);
        if (viewport === PHONE) {
          await page.getByRole('button', { name: 'Sessions', exact: true }).click();
          await page.getByRole('searchbox', { name: 'Search sessions' }).waitFor();
          await page.shot(`${name}-${colorScheme}-sessions`);
          await assertAccessible(page);
          await page.getByRole('button', { name: 'Close the list of sessions' }).click();
        }
        await openPanel(page, 'Context');
        await page.getByLabel('Workspace').waitFor();
        await page.shot(`${name}-${colorScheme}-context`);
        await assertAccessible(page);
      });
    }
  }
});

describe('the playground while an answer comes', { skip: withoutBrowser }, () => {
  let playground;

  before(async () => {
    playground = await Playground.start();
  });
  afterEach(() => playground.closePages());
  after(() => playground?.stop());

  test('each suggestion of an empty session leads where it says, up to the file of an approved call', async () => {
    const plain = await playground.page();
    const offered = plain.locator('.welcome .suggestions strong');
    assert.deepEqual(await offered.allInnerTexts(), ['What can you do?', 'Please read README.md.'], 'what fits every catalog');
    const page = await playground.page({ address: '?demo-catalog&stand-in' });
    const suggested = page.locator('.welcome .suggestions button');
    const suggest = async (words, until) => {
      await suggested.filter({ hasText: words }).click();
      const turn = page.locator('.turn');
      await until(turn);
      return turn;
    };
    assert.equal(await suggested.count(), 6);
    for (const [words, until] of [
      ['What can you do?', (turn) => turn.getByText('I am the stand-in').waitFor()],
      ['Switch to DDR authoring.', (turn) => turn.getByText('We will work out a Detailed Design Record').waitFor()],
      ['Please read README.md.', (turn) => turn.getByRole('button', { name: 'Answer with a file' }).waitFor()],
      ['Reason about it.', (turn) => turn.locator('summary', { hasText: 'Reasoning' }).waitFor()],
      ['Give a slow answer.', (turn) => turn.getByText('This answer comes').waitFor()],
    ]) {
      await suggest(words, until);
      await page.keyboard.press('Alt+n');
    }
    const turn = await suggest('Call the tool send_postcard', (asked) => asked.getByRole('button', { name: 'Approve' }).click());
    const [download] = await Promise.all([page.waitForEvent('download'), turn.getByRole('link', { name: 'postcard to Ann.txt' }).click()]);
    assert.match(readFileSync(await download.path(), 'utf8'), /To Ann/);
    assert.equal(await page.locator('.sessions li').count(), 6);
  });

  test('a reload in the middle of an answer shows the words, and then the whole answer once', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer comes').waitFor();
    assert.equal(await turn.getAttribute('data-status'), 'running');
    await page.reload();
    await page.getByText('Give a slow answer.').last().waitFor();
    playground.goOn();
    await hasStatus(page.locator('.turn'), 'completed');
    assert.equal((await page.locator('.answer .markdown').allInnerTexts()).join('|'), SLOW_ANSWER);

    const waiting = await say(page, 'Please read notes.txt.');
    await hasStatus(waiting, 'awaiting_tools');
    await page.reload();
    await page.getByLabel('Result, as JSON or as plain text').fill('A note.');
    await page.getByRole('button', { name: 'Send result' }).click();
    await page.getByText('Its first line is: “A note.”').waitFor();
    assert.equal(await page.locator('.turn').count(), 2);
  });

  test('a file that is taken away before it was sent is read by no tool', async () => {
    const page = await playground.page();
    await page.getByLabel('Attach files').setInputFiles({ name: 'secret.md', mimeType: 'text/markdown', buffer: Buffer.from('# Mine') });
    await page.getByRole('button', { name: 'Remove secret.md' }).click();
    const turn = await say(page, 'Please read secret.md.');
    await turn.getByText('No file of this name was dropped on this page.').waitFor();
  });

  test('a turn is stopped, and one that failed says why and can be sent again', async () => {
    const page = await playground.page();
    const turn = await say(page, 'Give a slow answer.');
    await turn.getByText('This answer').waitFor();
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(turn, 'aborted');
    const waiting = await say(page, 'Please read README.md.');
    await hasStatus(waiting, 'awaiting_tools');
    await page.getByRole('button', { name: 'Stop' }).click();
    await hasStatus(waiting, 'aborted');
    await waiting.getByText('not answered').waitFor();
    assert.equal(await waiting.getByLabel('Result, as JSON or as plain text').count(), 0);
    const attach = async (name, mimeType) => {
      await page.getByLabel('Attach files').setInputFiles({ name, mimeType, buffer: Buffer.from(PIXEL, 'base64') });
      await page.getByRole('list', { name: 'Attachments' }).waitFor();
    };
    await attach('a.pdf', 'application/pdf');
    await hasStatus(await say(page, 'Be overloaded.'), 'failed');
    await attach('a.png', 'image/png');
    const failed = await say(page, 'Be overloaded.');
    await hasStatus(failed, 'failed');
    await failed.getByText('upstream_unavailable').waitFor();
    await assertAccessible(page);
    await failed.getByRole('button', { name: 'Send it again' }).click();
    await hasStatus(failed, 'running');
    await hasStatus(failed, 'failed');
    // The page keeps no requests: words and pictures come with the session, files do not.
    await page.reload();
    await hasStatus(failed, 'failed');
    assert.equal(await page.getByRole('button', { name: 'Send it again' }).count(), 1);
    await failed.getByRole('button', { name: 'Send it again' }).click();
    const anew = page.locator('.turn').nth(4);
    await hasStatus(anew, 'failed');
    assert.equal(await anew.locator('.question-bubble p').innerText(), 'Be overloaded.');
    assert.equal(await anew.getByRole('img').getAttribute('src'), `data:image/png;base64,${PIXEL}`);
  });
});

test('where keys are asked for, the page asks for one, keeps it in memory and forgets it with a reload', { skip: withoutBrowser }, async () => {
  const playground = await Playground.start({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }) } });
  try {
    const page = await playground.page({ address: '#asked-early', expected: [/401/, /404/] });
    const dialog = page.getByRole('dialog', { name: 'Your key' });
    await assertAccessible(page);
    // The browser lets a page prevent it once or twice.
    for (let times = 0; times < 5; times += 1) await page.keyboard.press('Escape');
    await dialog.waitFor();
    let early;
    await page.route('**/export', (route) => (early ? route.continue() : void (early = route)));
    await dialog.getByLabel('API key').fill('a wrong one');
    await dialog.getByRole('button', { name: 'Continue' }).click();
    const turn = await say(page, 'What can you do?');
    await dialog.getByText('The service does not know this key.').waitFor();
    await dialog.getByLabel('API key').fill(KEY);
    await page.keyboard.press('Enter');
    await dialog.waitFor({ state: 'detached' });
    // The earlier key is refused once more, which says nothing of this one.
    const refused = early.request();
    await early.continue();
    assert.equal((await refused.response()).status(), 401);
    await page.locator('.column > .fault').waitFor();
    assert.equal(await dialog.count(), 0);
    const again = await say(page, 'What can you do?');
    await hasStatus(again, 'completed');
    assert.ok(turn);
    const kept = await page.evaluate(() => JSON.stringify([{ ...localStorage }, { ...sessionStorage }, document.cookie, location.href]));
    assert.ok(!kept.includes(KEY), kept);
    await page.reload();
    await dialog.waitFor();
    await playground.closePages();
  } finally {
    await playground.stop();
  }
});

/** The status of a target, and what its head says of kind and keeping. */
async function headOf(playground, target, method) {
  const response = await fetch(new URL(target, playground.rig.url), { method });
  const kind = response.headers.get('content-type').split(';')[0];
  return { answer: [response.status, kind, response.headers.get('cache-control')], headers: response.headers, text: await response.text() };
}

test('the page and its files are served to GET and HEAD, and without PLAYGROUND they are not', async () => {
  const script = `/playground/${readdirSync(path.join(PAGE, 'playground')).find((file) => file.startsWith('page') && file.endsWith('.js'))}`;
  const playground = await Playground.start({ browser: false });
  try {
    for (const method of ['GET', 'HEAD']) {
      const page = await headOf(playground, '/', method);
      assert.deepEqual(page.answer, [200, 'text/html', 'no-cache'], method);
      assert.match(page.headers.get('content-security-policy'), /^default-src 'none'; /);
      assert.equal(page.text, method === 'GET' ? readFileSync(path.join(PAGE, 'index.html'), 'utf8') : '');
      const again = await fetch(new URL('/', playground.rig.url), { method, headers: { 'if-none-match': page.headers.get('etag') } });
      assert.deepEqual([again.status, await again.text()], [304, '']);
      const file = await headOf(playground, script, method);
      assert.deepEqual(file.answer, [200, 'text/javascript', 'public, max-age=31536000, immutable'], method);
    }
    assert.deepEqual((await headOf(playground, '/playground/nothing.js', 'GET')).answer, [404, 'application/json', 'no-store']);
  } finally {
    await playground.stop();
  }
  const without = await Playground.start({ vars: { PLAYGROUND: 'off' }, browser: false });
  try {
    for (const target of ['/', '/index.html', script]) {
      const { answer, text } = await headOf(without, target, 'GET');
      assert.deepEqual([...answer, JSON.parse(text).Errors[0].ErrorCode], [404, 'application/json', 'no-store', 'not_found'], target);
    }
  } finally {
    await without.stop();
  }
});
