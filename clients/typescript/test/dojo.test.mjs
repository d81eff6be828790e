// The scenarios of AG-UI's dojo in a real Chromium, over CopilotKit's core and both versions of AG-UI's client: text, tools of
// the page, steps that a human chooses, a page made by a tool, a question before a server's tool; and reloads in each.
import assert from 'node:assert/strict';
import { copyFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { withoutBrowser } from '../../../tests/browser/chromium.mjs';
import { eventually } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';
import { VERSIONS } from './agents.mjs';
import { sendMail } from './approvals.mjs';
import { inChromium } from './in_chromium.mjs';

const PAGE = fileURLToPath(new URL('dojo_page.js', import.meta.url));
const FRAME = fileURLToPath(new URL('../examples/ag-ui/index.html', import.meta.url));
const { rig, faults, open } = inChromium(async (folder) => {
  for (const [version, client] of Object.entries(VERSIONS)) {
    const alias = { '@ag-ui/client': fileURLToPath(new URL(`../node_modules/${client}`, import.meta.url)) };
    await build({ entryPoints: [PAGE], outfile: path.join(folder, version, 'page.js'), bundle: true, format: 'esm', alias });
    copyFileSync(FRAME, path.join(folder, version, 'index.html'));
  }
});

let serial = 0;
/** A page with a scenario, in a thread of its own. */
class Dojo {
  static async open(version, scenario) {
    rig.clear();
    rig.tools.on('/send_mail', '{"sent":true}');
    const dojo = new Dojo();
    dojo.thread = `${scenario}-${(serial += 1)}`;
    dojo.page = await open(`${version}/?scenario=${scenario}&thread=${dojo.thread}`);
    dojo.url = dojo.page.url();
    // A thread that is new is none that the service knows.
    dojo.page.on('console', (line) => line.type() === 'error' && !/404/.test(line.text()) && faults.push(line.text()));
    await dojo.#connected();
    return dojo;
  }
  leave() {
    return this.page.goto('about:blank');
  }
  async come() {
    await this.page.goto(this.url);
    await this.#connected();
  }
  #connected() {
    return this.page.locator('body[data-connected], article.question, article.assistant').first().waitFor();
  }
  async say(words) {
    await this.page.fill('form input', words);
    await this.page.click('form button');
  }
  async reload() {
    await this.page.reload();
    await this.#connected();
  }
  press(name) {
    return this.page.getByRole('button', { name }).click();
  }
  shows(words) {
    return this.page.getByText(words, { exact: true }).first().waitFor({ timeout: 20_000 });
  }
  /** Everything that was said and called, as the page shows it. */
  async shown() {
    const articles = await this.page.locator('article').all();
    return Promise.all(articles.map(async (article) => `${await article.getAttribute('class')}: ${await article.textContent()}`));
  }
  runs() {
    return this.page.evaluate(() => globalThis.runs);
  }
  async close() {
    assert.deepEqual([faults, rig.model.leftovers], [[], []]);
    await this.page.context().close();
  }
}

const said = () => rig.model.requests.at(-1).body.input;
const results = () => said().filter(({ type }) => type === 'function_call_output').map(({ output }) => JSON.parse(output));
const withoutIds = (rows) => rows.map((row) => row.replace(/^result: \w+: /, 'result: '));
const STEPS = ['Beat the eggs', 'Heat the oven', 'Bake it'].map((description) => ({ description, status: 'enabled' }));
const HAIKU = { japanese: ['海', '風', '月'], english: ['The sea', 'the wind', 'the moon'], image_name: 'Osaka.jpg', gradient: 'linear-gradient(red, blue)' };

for (const version of Object.keys(VERSIONS)) {
  const scenario = (name, what, run) =>
    test(`${version}, ${name}: ${what}`, { skip: withoutBrowser, timeout: 120_000 }, async () => {
      const dojo = await Dojo.open(version, name);
      await run(dojo);
      await dojo.close();
    });

  scenario('agentic_chat', 'text streams, the page changes its background, and the agent goes on', async (dojo) => {
    const gate = new Gate();
    rig.model.script(answer(text('Hello ', gate, 'Bob.')));
    await dojo.say('Hi');
    await dojo.shows('Hello');
    gate.open();
    await dojo.shows('Hello Bob.');
    const [{ body }] = rig.model.requests;
    const { parameters } = body.tools.find(({ name }) => name === 'change_background');
    assert.deepEqual([Object.keys(parameters.properties), parameters.required], [['background'], ['background']]);
    assert.match(JSON.stringify(body.input), /Name of the user:\\nBob/);

    const slow = new Gate();
    rig.model.script(answer(text('I paint.'), call('change_background', { background: 'rgb(1, 2, 3)' })), answer(text('It is ', slow, 'dark.')));
    await dojo.say('Make it dark');
    await dojo.shows('It is');
    assert.equal(await dojo.page.evaluate(() => document.body.style.background), 'rgb(1, 2, 3)');
    assert.deepEqual(results(), [{ status: 'success', message: 'Background changed to rgb(1, 2, 3)' }]);
    await dojo.reload();
    slow.open();
    await dojo.shows('It is dark.');
    assert.deepEqual([await dojo.runs(), rig.model.requests.length], [{}, 3]);
    assert.deepEqual(withoutIds(await dojo.shown()), [
      'user: Hi', 'assistant: Hello Bob.', 'user: Make it dark', 'assistant: I paint.', 'call: change_background {"background":"rgb(1, 2, 3)"}',
      'result: {"status":"success","message":"Background changed to rgb(1, 2, 3)"}', 'assistant: It is dark.',
    ]);
  });

  scenario('agentic_chat', 'a page that was left in the middle or at the end comes back with the thread, and stops a turn', async (dojo) => {
    const gate = new Gate();
    rig.model.script(answer(text('Half ', gate, 'and whole.')));
    await dojo.say('Slowly');
    await dojo.shows('Half');
    await dojo.reload();
    await dojo.shows('Half');
    gate.open();
    await dojo.shows('Half and whole.');
    await dojo.reload();
    await dojo.shows('Half and whole.');
    assert.deepEqual(await dojo.shown(), ['user: Slowly', 'assistant: Half and whole.']);

    const never = new Gate();
    rig.model.script(answer(text('On ', never, 'and on.')), answer(text('Stopped.')));
    await dojo.say('Without an end');
    await dojo.shows('On');
    await dojo.press('Stop');
    await eventually(() => rig.model.requests[1].abortedAt !== null, 'the call of the model ends');
    never.open();
    await dojo.say('Are you there?');
    await dojo.shows('Stopped.');
  });

  scenario('human_in_the_loop', 'the chosen steps go back, and a refusal', async (dojo) => {
    rig.model.script(answer(text('A plan.'), call('generate_task_steps', { steps: STEPS })), answer(text('Without eggs.')));
    await dojo.say('Brownies');
    await dojo.page.getByText('Beat the eggs', { exact: true }).click();
    await dojo.press('Confirm');
    await dojo.shows('Without eggs.');
    assert.deepEqual(results(), [{ accepted: true, steps: STEPS.slice(1) }]);
    rig.model.script(answer(call('generate_task_steps', { steps: STEPS })), answer(text('Nothing then.')));
    await dojo.say('Once more');
    await dojo.press('Reject');
    await dojo.shows('Nothing then.');
    assert.deepEqual(results(), [{ accepted: false }]);
  });

  scenario('human_in_the_loop', 'a page that is reloaded asks once more, and sends one answer', async (dojo) => {
    rig.model.script(answer(text('A plan.'), call('generate_task_steps', { steps: STEPS })), answer(text('All of it.')));
    await dojo.say('Brownies');
    await dojo.page.getByRole('button', { name: 'Confirm' }).waitFor();
    await dojo.reload();
    await dojo.press('Confirm');
    await dojo.shows('All of it.');
    assert.deepEqual([results(), await dojo.runs()], [[{ accepted: true, steps: STEPS }], { generate_task_steps: 1 }]);
    const rows = withoutIds(await dojo.shown());
    assert.deepEqual(rows.map((row) => row.slice(0, 25)), ['user: Brownies', 'assistant: A plan.', 'call: generate_task_steps', 'result: {"accepted":true,', 'assistant: All of it.']);
  });

  scenario('tool_based_generative_ui', 'a haiku needs no answer; what the user says next reaches the model with its result', async (dojo) => {
    rig.model.script(answer(call('generate_haiku', HAIKU)));
    await dojo.say('A haiku');
    await dojo.page.locator('article.result').waitFor();
    assert.deepEqual([await dojo.runs(), rig.model.requests.length], [{ generate_haiku: 1 }, 1]);
    const gate = new Gate();
    rig.model.script(answer(text('About ', gate, 'the sea.')));
    await dojo.say('What is it about?');
    await dojo.shows('About');
    await dojo.leave();
    gate.open();
    const session = new Aptix({ baseUrl: `${rig.url}` }).session(dojo.thread);
    await eventually(async () => (await session.get()).LatestTurn.Status === 'completed', 'the turn ends without the page');
    await dojo.come();
    await dojo.shows('About the sea.');
    assert.deepEqual([results(), said().length, rig.model.requests.length], [['Haiku generated!'], 2, 2]);
    assert.match(JSON.stringify(said()[1]), /What is it about\?/);
    await dojo.reload();
    await dojo.shows('About the sea.');
    assert.deepEqual(withoutIds(await dojo.shown()), [
      'user: A haiku', `call: generate_haiku ${JSON.stringify(HAIKU)}`, 'result: Haiku generated!', 'user: What is it about?', 'assistant: About the sea.',
    ]);
  });

  scenario('tool_based_generative_ui', 'a result that a reload lost is given up with the next words', async (dojo) => {
    rig.model.script(answer(text('For you.'), call('generate_haiku', HAIKU)));
    await dojo.say('A haiku');
    await dojo.page.locator('article.result').waitFor();
    await dojo.reload();
    rig.model.script(answer(text('About the sea.')));
    await dojo.say('What is it about?');
    await dojo.shows('About the sea.');
    assert.match(JSON.stringify(said()), /What is it about\?/);
    assert.deepEqual(await dojo.runs(), {});
    assert.deepEqual(await dojo.shown(), ['user: A haiku', 'assistant: For you.', `call: generate_haiku ${JSON.stringify(HAIKU)}`, 'user: What is it about?', 'assistant: About the sea.']);
  });

  for (const [button, words, result] of [['Approve', 'The mail is out.', '{"sent":true}'], ['Deny', 'Not sent.', '{"approved":false,"reason":"she is away"}']]) {
    for (const when of ['', ', after a reload']) {
      scenario('interrupt', `a server's tool waits for its user: ${button}${when}`, async (dojo) => {
        rig.model.script(answer(text('I mail her.'), sendMail({ to: 'Ann' })), answer(text(words)));
        await dojo.say('Mail Ann');
        await dojo.shows('Approve');
        if (when) await dojo.reload();
        await dojo.press(button);
        await dojo.shows(words);
        assert.deepEqual([rig.tools.requests.length, rig.model.requests.length], [button === 'Approve' ? 1 : 0, 2]);
        const expected = ['user: Mail Ann', 'assistant: I mail her.', 'call: send_mail {"to":"Ann"}', `result: ${result}`, `assistant: ${words}`];
        // The call's result stands in front of the words that come before it.
        await dojo.page.getByText(result).waitFor();
        assert.deepEqual(withoutIds(await dojo.shown()), expected);
      });
    }
  }
}
