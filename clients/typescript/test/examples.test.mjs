// The examples run: the chat in a terminal as a process of its own, and the extension through the compiler.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { serve } from '../../../tests/local_server.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { sendMail, withApproval } from './approvals.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const EXAMPLES = path.join(ROOT, 'examples');
const rig = new Rig({ catalog: withApproval });
let folder;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-examples-'));
  return rig.start();
});
after(async () => {
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** The chat of the example, in a folder of its own. */
class Terminal {
  said = '';
  #wake = () => {};
  constructor(session, url = `${rig.url}`) {
    const env = { ...process.env, APTIX_URL: url, SESSION: session };
    this.process = spawn(process.execPath, [path.join(EXAMPLES, 'chat.mjs')], { cwd: folder, env });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on('data', (bytes) => {
        this.said += bytes;
        this.#wake();
      });
    }
    this.ended = new Promise((ended) => this.process.once('close', ended));
    this.ended.then(() => this.#wake(true));
  }
  type(line) {
    this.process.stdin.write(`${line}\n`);
  }
  async until(words) {
    while (!this.said.includes(words)) {
      const ended = await new Promise((wake) => (this.#wake = wake));
      assert.ok(!ended, `it ended before it said ${words}: ${this.said}`);
    }
  }
}

test('the chat in a terminal reads a file, asks before it writes one, and goes on after it was killed', { timeout: 60_000 }, async () => {
  assert.ok(readFileSync(path.join(EXAMPLES, 'chat.mjs'), 'utf8').trimEnd().split('\n').length < 60);
  writeFileSync(path.join(folder, 'a.txt'), 'contents of a');
  rig.model.script(answer(text('I read.'), call('read_file', { path: 'a.txt' }), call('read_file', { path: '/etc/passwd' })));
  rig.model.script(answer(call('write_file', { path: 'b.txt', text: 'new' })), answer(text('It is ', 'written.')));
  const terminal = new Terminal('terminal');
  await terminal.until('> ');
  terminal.type('Copy a.');
  await terminal.until('Write b.txt?');
  terminal.type('y');
  await terminal.until('It is written.');
  const outputs = rig.model.bodies[1].input.map(({ output }) => output);
  assert.equal(JSON.parse(outputs[0]), 'contents of a');
  assert.match(outputs[1], /outside this folder/);
  assert.equal(readFileSync(path.join(folder, 'b.txt'), 'utf8'), 'new');

  const gate = new Gate();
  rig.model.script(answer(text('Slow ', gate, 'and safe.')));
  terminal.type('Slowly.');
  await terminal.until('Slow ');
  terminal.process.kill('SIGKILL');
  await terminal.ended;
  const again = new Terminal('terminal');
  await again.until('Slow ');
  gate.open();
  await again.until('Slow and safe.');
  again.process.stdin.end();
  assert.equal(await again.ended, 0);
  assert.deepEqual(rig.model.leftovers, []);
});

test('the chat puts an approval as a question alone', { timeout: 60_000 }, async () => {
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.model.script(answer(sendMail({ to: 'Ann' })), answer(text('It is sent.')));
  const terminal = new Terminal('asking');
  await terminal.until('> ');
  terminal.type('Mail Ann.');
  await terminal.until('Run send_mail {\n  "to": "Ann"\n}? (y/n) ');
  assert.doesNotMatch(terminal.said, /agent_approve_tool|ToolCallId/);
  terminal.type('y');
  await terminal.until('It is sent.');
  terminal.process.stdin.end();
  assert.equal(await terminal.ended, 0);
});

test('the chat says at once that nobody listens, and how to start a service', { timeout: 60_000 }, async () => {
  const { origin, close } = await serve(() => {});
  await close();
  const began = performance.now();
  const terminal = new Terminal('nobody', origin);
  assert.equal(await terminal.ended, 1);
  assert.equal(terminal.said, `Nobody listens at ${origin}. Start the service with: make client dev\n`);
  // The client's own attempts would take 13 s.
  assert.ok(performance.now() - began < 10_000);
});

test('the extension compiles, and becomes one file of CommonJS', async () => {
  const extension = path.join(EXAMPLES, 'vscode');
  try {
    execFileSync(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', extension], { encoding: 'utf8' });
  } catch (error) {
    assert.fail(error.stdout);
  }
  const manifest = JSON.parse(readFileSync(path.join(extension, 'package.json'), 'utf8'));
  const { outputFiles } = await build({
    entryPoints: [path.join(extension, 'src/extension.ts')], bundle: true, platform: 'node', format: 'cjs', external: ['vscode'], write: false,
  });
  const file = path.join(folder, path.basename(manifest.main));
  writeFileSync(file, outputFiles[0].contents);
  // What the editor gives an extension is not here: that it loads is what can be seen.
  const stub = `require.cache[require.resolve('${file}')]; const M = require('module'); const load = M._load; M._load = (name, ...rest) => name === 'vscode' ? {} : load(name, ...rest);`;
  execFileSync(process.execPath, ['-e', `${stub} if (typeof require('${file}').activate !== 'function') process.exit(1);`]);
});
