// The server of the package aptix-edge-server, as one starts it on one's own machine. Owns its start, its ends and what it has
// said; tests/server judges the server, tests/e2e the Worker that it serves.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The package as `make package` builds it. */
export const PACKAGE = path.join(ROOT, 'build-server');
const CLI = path.join(PACKAGE, 'dist/cli.mjs');
/** The longest wait for a start or an end, in ms. */
const PATIENCE_MS = 60_000;
/** What the server itself tells, besides the Worker that it serves. */
const OWN_EVENTS = ['serving', 'stopping', 'catalog_taken', 'catalog_refused', 'disk_full', 'disk_has_room', 'workerd_ended'];

/** Runs a command of the package until it ends: `{ code, out, err }`. */
export async function command(args, { env = {}, cwd } = {}) {
  const run = started(args, { env, cwd });
  const [code] = await run.ended;
  return { code, out: run.out, err: run.err };
}

/** Starts a command of the package, or of a copy of it. `onLine` gets each line that it prints. */
export function started(args, { env = {}, cwd, cli = CLI, onLine = () => {} } = {}) {
  assert.ok(existsSync(cli), `there is no ${cli}: make the package first (make package)`);
  const child = spawn(process.execPath, [cli, ...args], { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const run = { child, out: '', err: '', ended: undefined };
  for (const [name, stream] of [['out', child.stdout], ['err', child.stderr]]) {
    let rest = '';
    stream.setEncoding('utf8').on('data', (chunk) => {
      run[name] += chunk;
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      for (const line of lines) onLine(line);
    });
  }
  run.ended = new Promise((resolve) => child.once('close', (...how) => resolve(how)));
  return run;
}

export class PackageServer {
  /** Where it serves. */
  url;
  /** Its folder. */
  data;
  /** The lines of the Worker's log. */
  lines = [];
  /** What the server itself has told. */
  events = [];
  #folder;
  #cli;
  #run;
  #woken = [];

  /**
   * `folder` is where its files stand. `settings` are members of its configuration, `secrets` are written to files, `catalog`
   * is JSON text. `onLine` gets each line of the Worker's log, `cli` is the program of a copy of the package.
   */
  constructor({ folder, cli, onLine = () => {} }) {
    this.#folder = folder;
    this.#cli = cli;
    this.data = path.join(folder, 'data');
    this.onLine = onLine;
  }

  /** The file of its catalog. */
  get catalogFile() {
    return path.join(this.#folder, 'catalog.json');
  }

  async start({ settings = {}, secrets = {}, catalog, data = this.data, listen = '127.0.0.1:0', drain = '1s' } = {}) {
    this.data = data;
    mkdirSync(path.join(this.#folder, 'secrets'), { recursive: true });
    const Secrets = Object.fromEntries(Object.entries(secrets).map(([name, value]) => {
      writeFileSync(path.join(this.#folder, 'secrets', name), value, { mode: 0o600 });
      return [name, `secrets/${name}`];
    }));
    if (catalog !== undefined) writeFileSync(this.catalogFile, catalog);
    const config = path.join(this.#folder, 'server.json');
    writeFileSync(config, JSON.stringify({ Network: 'any', Secrets, ...(catalog !== undefined && { Catalog: 'catalog.json' }), ...settings }));
    this.#run = started(['serve', '--config', config, '--data', data, '--listen', listen, '--drain', drain], { cli: this.#cli, onLine: (line) => this.#take(line) });
    this.events = [];
    const serving = await this.told('serving');
    this.url = new URL(serving.address);
    return this;
  }

  /** Resolves to the first event of that kind that the server tells, or has told since its start; fails when it ends before. */
  async told(kind) {
    const late = pause(PATIENCE_MS, 'late', { ref: false });
    for (;;) {
      const found = this.events.find(({ event }) => event === kind);
      if (found) return found;
      const woken = new Promise((resolve) => this.#woken.push(resolve));
      const why = await Promise.race([this.#run.ended.then(() => 'ended'), woken, late]);
      assert.notEqual(why, 'late', `the server does not tell of ${kind}`);
      assert.ok(why !== 'ended' || this.events.some(({ event }) => event === kind), `the server ended before ${kind}:\n${this.#run.out}${this.#run.err}`);
    }
  }

  /** The number of workerd's process. */
  get workerd() {
    return Number(readFileSync(path.join(this.data, 'workerd.pid'), 'utf8'));
  }

  /** The number of the server's process. */
  get pid() {
    return this.#run.child.pid;
  }

  signal(name) {
    this.#run.child.kill(name);
  }

  /** Resolves to the exit code and the signal. */
  get ended() {
    return this.#run.ended;
  }

  /** Ends both processes at this moment; nothing where it was never started. */
  async kill() {
    if (!this.#run) return;
    if (this.#run.child.exitCode === null && this.#run.child.signalCode === null) {
      const { workerd } = this;
      this.signal('SIGKILL');
      process.kill(workerd, 'SIGKILL');
    }
    await this.ended;
  }

  #take(line) {
    const event = jsonOf(line);
    if (event !== undefined && OWN_EVENTS.includes(event.event)) this.events.push(event);
    else {
      this.lines.push(line);
      this.onLine(line);
    }
    for (const wake of this.#woken.splice(0)) wake();
  }
}

function jsonOf(line) {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
