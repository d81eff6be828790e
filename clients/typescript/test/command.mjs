// The command line as users run it: a process of its own, with an environment that holds nothing of this one's.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** A command that runs; what it says can be waited for. */
export class Command {
  out = '';
  err = '';
  #wakes = new Set();
  constructor(args, { env = {}, cwd, input, node = process.execPath, program = PROGRAM, uid } = {}) {
    const { PATH, TMPDIR = '/tmp' } = process.env;
    this.process = spawn(node, [program, ...args], { cwd, env: { PATH, TMPDIR, ...env }, uid, gid: uid });
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
    this.process.stdin.write(`${line}\n`);
  }
  /** Waits until it has said these words, on either stream. */
  async until(words) {
    while (!`${this.out}${this.err}`.includes(words)) {
      assert.ok(!this.hasEnded, `it ended before it said ${words}: ${this.out}${this.err}`);
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
