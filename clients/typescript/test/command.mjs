// The command line as users run it: a process of its own, with an environment that holds nothing of this one's.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';

export const PROGRAM = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** Why no test can stand before a terminal here: it takes the `script` of util-linux. */
export const noTerminal = /util-linux/.test(spawnSync('script', ['--version']).stdout ?? '') ? false : 'there is no program script of util-linux';

/** A command that runs; what it says can be waited for. With `terminal` it stands in one, and says all on `out`. */
export class Command {
  out = '';
  err = '';
  #wakes = new Set();
  /** How much of what it has shown `next` has passed. */
  #passed = 0;
  constructor(args, { env = {}, cwd, input, node = process.execPath, program = PROGRAM, uid, terminal = false } = {}) {
    const { PATH, TMPDIR = '/tmp' } = process.env;
    const line = [node, program, ...args];
    const quoted = line.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
    const [run, ...rest] = terminal ? ['script', '-qefc', quoted, '/dev/null'] : line;
    this.process = spawn(run, rest, { cwd, env: { PATH, TMPDIR, ...(terminal && { TERM: 'xterm', SHELL: '/bin/sh' }), ...env }, uid, gid: uid });
    this.isTerminal = terminal;
    const hear = (name) => (bytes) => {
      this[name] += bytes;
      for (const wake of this.#wakes) wake();
    };
    this.process.stdout.setEncoding('utf8').on('data', hear('out'));
    this.process.stderr.setEncoding('utf8').on('data', hear('err'));
    this.ended = new Promise((resolve) => this.process.once('close', (code, signal) => resolve(code ?? signal)));
    this.ended.then(() => {
      this.hasEnded = true;
      for (const wake of this.#wakes) wake();
    });
    if (input !== undefined) this.process.stdin.end(input);
  }
  type(line) {
    this.process.stdin.write(`${line}${this.isTerminal ? '\r' : '\n'}`);
  }
  /** What a terminal sends when this is pasted. */
  paste(text) {
    this.process.stdin.write(`\u001b[200~${text.replaceAll('\n', '\r')}\u001b[201~`);
  }
  /** Keys that are no line. */
  keys(text) {
    this.process.stdin.write(text);
  }
  /** What it has said, without the marks of a terminal. */
  get shown() {
    return `${this.out}${this.err}`.replace(/\u001b\[[\d;?]*[A-Za-z]/g, '').replaceAll('\r\n', '\n');
  }
  /** Waits until it has said these words so often, on either stream. */
  async until(words, times = 1) {
    await this.#says(words, () => this.shown.split(words).length > times);
  }
  /** Waits until it says these words behind those that this waited for before: what is typed, a terminal shows again. */
  async next(words) {
    const at = () => this.shown.indexOf(words, this.#passed);
    await this.#says(words, () => at() >= 0);
    this.#passed = at() + words.length;
  }
  async #says(words, isSaid) {
    while (!isSaid()) {
      assert.ok(!this.hasEnded, `it ended before it said ${words}: ${this.shown}`);
      await new Promise((wake) => this.#wakes.add(wake));
    }
  }
}

/** Runs a command to its end. */
export async function command(args, options) {
  const ran = new Command(args, { input: '', ...options });
  const code = await ran.ended;
  return { code, out: ran.out, err: ran.err };
}
