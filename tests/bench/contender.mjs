// The contenders of the comparison. Each runs in a workerd process of its own, whose CPU time is the contender's cost.
// Owns starting and ending them; workloads.mjs decides on their work.
//
// aptix-edge is taken from `build/`, or from the directory that the variable BUILD_DIR names. AGAINST names a second
// build, which is compared in the same run with alternating rounds; this is how a change is measured.
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { childrenNamed, cpuMs, residentBytes } from './process_cost.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The objects' files lie in memory where possible, since the disk's speed is not compared. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();
const BUILD_DIR = path.resolve(process.env.BUILD_DIR ?? path.join(ROOT, 'build'));

/** The floor comes first: every figure is a ratio to it. `raw` contenders return the model service's own stream. */
export const CONTENDERS = [
  { name: 'floor', raw: true, modules: () => written('floor.mjs') },
  ...(process.env.QUICK ? [] : [{ name: 'relay', raw: true, modules: () => written('relay.mjs', 'floor.mjs') }]),
  { name: 'plain', modules: () => written('plain.mjs') },
  { name: 'aptix-edge', modules: () => built(BUILD_DIR) },
  ...(process.env.AGAINST ? [{ name: 'against', modules: () => built(path.resolve(process.env.AGAINST)) }] : []),
];

const folders = new Set();
const remove = (folder) => {
  rmSync(folder, { recursive: true, force: true });
  folders.delete(folder);
};
// Files in memory would otherwise outlive an interrupted run.
process.on('exit', () => [...folders].forEach(remove));

/** One contender, running. */
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
  #pid;
  #miniflare;
  #folder;

  /** `lasting` keeps its objects in memory, however long they idle. */
  static async start({ name, raw = false, modules }, modelUrl, { lasting = false } = {}) {
    const running = new Running();
    Object.assign(running, { name, raw });
    running.#folder = mkdtempSync(path.join(SCRATCH, 'aptix-edge-bench-'));
    folders.add(running.#folder);
    const source = await modules();
    const compatibilityDate = await declaredDate();
    const before = new Set(childrenNamed('workerd'));
    const from = performance.now();
    running.#miniflare = new Miniflare({
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ message }) => running.#heard(message),
      cf: false,
      host: '127.0.0.1',
      port: 0,
      name: 'worker',
      ...source,
      compatibilityDate,
      bindings: { AUTH: 'none', OPENAI_BASE_URL: modelUrl, OPENAI_API_KEY: 'sk-bench', OPENAI_MODEL: 'bench-model' },
      durableObjects: { SESSIONS: { className: 'SessionObject', useSQLite: true, unsafePreventEviction: lasting } },
      durableObjectsPersist: path.join(running.#folder, 'objects'),
    });
    running.url = new URL('/execute', await running.#miniflare.ready);
    running.startMs = performance.now() - from;
    const started = childrenNamed('workerd').filter((pid) => !before.has(pid));
    if (started.length > 1) throw new Error(`${started.length} workerd processes began at once; one was expected`);
    [running.#pid] = started;
    return running;
  }

  /** CPU time so far, in ms; `null` where it cannot be measured. */
  get cpuMs() {
    return this.#pid === undefined ? null : cpuMs(this.#pid);
  }

  get residentBytes() {
    return this.#pid === undefined ? null : residentBytes(this.#pid);
  }

  async dispose() {
    await this.#miniflare?.dispose();
    remove(this.#folder);
  }

  #heard(message) {
    if (!message.includes('"event":"submission"')) {
      if (!message.startsWith('AUTH=none')) console.error(`${this.name} says: ${message}`);
      return;
    }
    const { rows_read: read, rows_written: written } = JSON.parse(message);
    this.rows = { read, written };
  }
}

/** The modules of a Worker: the first file is the Worker, the others are its imports. */
const written = (...files) => ({
  modules: files.map((file) => ({ type: 'ESModule', path: fileURLToPath(new URL(`workers/${file}`, import.meta.url)) })),
  modulesRoot: fileURLToPath(new URL('workers', import.meta.url)),
});

async function built(folder) {
  const files = await readdir(folder).catch(() => []);
  if (!files.includes('index.js')) throw new Error(`no index.js in ${folder}: build the Worker first (make build)`);
  const wasm = files.filter((file) => file.endsWith('.wasm'));
  return {
    rootPath: folder,
    modulesRoot: folder,
    modules: [
      { type: 'ESModule', path: path.join(folder, 'index.js') },
      ...wasm.map((file) => ({ type: 'CompiledWasm', path: path.join(folder, file) })),
    ],
  };
}

async function declaredDate() {
  const toml = await readFile(path.join(ROOT, 'wrangler.toml'), 'utf8');
  const [, date] = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(toml);
  return date;
}
