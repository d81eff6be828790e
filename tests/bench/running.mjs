// A contender, running: a workerd process of its own, whose CPU time is the contender's cost.
// Owns starting and ending it; workloads.mjs decides on its work.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { cpuMs, residentBytes } from './process_cost.mjs';
import { LISTENER, MAIN, WORKERDS, configuration } from './workerd.mjs';

/** The objects' files lie in memory where possible, since the disk's speed is not compared. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();

// Processes, and files in memory, would otherwise outlive an interrupted run.
const alive = new Set();
process.on('exit', () => [...alive].forEach((running) => running.end()));

export class Running {
  name;
  raw;
  /** The URL for turns. */
  url;
  /** Time from the start until it takes connections, in ms. */
  startMs;
  /**
   * The rows that the last logged turn read and wrote, `{read, written}`; `null` for a contender that does not log
   * them.
   */
  rows = null;
  #process;
  #folder;
  #listener;

  /**
   * `lasting` keeps its objects in memory, however long they idle; `workerd` is a key of WORKERDS; with `heard`, a Worker
   * in the same process takes all events of its spans; `v8Flags` are flags of V8.
   */
  static async start({ name, raw = false, modules, flags = [], behindFront = false }, modelUrl, how = {}) {
    const { lasting = false, workerd = MAIN, heard = false, v8Flags = [] } = how;
    const running = new Running();
    Object.assign(running, { name, raw });
    const config = running.#written(await modules(), { flags, v8Flags, modelUrl, lasting, heard, behindFront });
    const from = performance.now();
    running.#process = spawn(WORKERDS[workerd].program, ['serve', '--binary', config, '--control-fd=3', ...(heard ? ['--experimental'] : [])], {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    });
    const [, output, errors, control] = running.#process.stdio;
    for (const log of [output, errors]) createInterface(log).on('line', (line) => running.#heard(line));
    const sockets = ['http', ...(heard ? [LISTENER.socket] : [])];
    const [http, listener] = await Promise.race([
      portsOf(control, sockets),
      once(running.#process, 'exit').then(() => Promise.reject(new Error(`${name}: workerd did not start`))),
    ]);
    running.url = `http://127.0.0.1:${http}/execute`;
    running.#listener = `http://127.0.0.1:${listener}/`;
    running.startMs = performance.now() - from;
    return running;
  }

  /** The number of events of its spans so far; it has to be `heard`. */
  async events() {
    return (await fetch(this.#listener)).json();
  }

  /** CPU time so far, in ms; `null` where it cannot be measured. */
  get cpuMs() {
    return cpuMs(this.#process.pid);
  }

  get pid() {
    return this.#process.pid;
  }

  get residentBytes() {
    return residentBytes(this.#process.pid);
  }

  async dispose() {
    const ended = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await ended; // Until then it can still write into its folder.
    this.end();
  }

  end() {
    this.#process?.kill('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
    alive.delete(this);
  }

  /** Writes the configuration, which holds the modules, into a folder of its own; returns its path. */
  #written(modules, { flags, v8Flags, modelUrl, lasting, heard, behindFront }) {
    this.#folder = mkdtempSync(path.join(SCRATCH, 'aptix-edge-bench-'));
    alive.add(this);
    const objects = path.join(this.#folder, 'objects');
    mkdirSync(objects);
    const variables = {
      AUTH: 'none', OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: 'sk-bench', OPENAI_MODEL: 'bench-model',
    };
    const config = path.join(this.#folder, 'config.bin');
    writeFileSync(config, configuration({ modules, flags, v8Flags, variables, objects, lasting, heard, behindFront }));
    return config;
  }

  #heard(message) {
    if (!message.includes('"event":"submission"')) {
      if (!message.includes('AUTH=none')) console.error(`${this.name} says: ${message}`);
      return;
    }
    const { rows_read: read, rows_written: written } = JSON.parse(message);
    this.rows = { read, written };
  }
}

/** The ports of the sockets, in their order, when workerd has named all of them. */
async function portsOf(control, sockets) {
  const ports = new Map();
  for await (const line of createInterface(control)) {
    const { socket, port } = JSON.parse(line);
    ports.set(socket, port);
    if (sockets.every((name) => ports.has(name))) break;
  }
  return sockets.map((name) => ports.get(name));
}
