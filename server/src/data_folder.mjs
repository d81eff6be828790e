// The folder of a server, `DIR`: who holds it, which release has written it, and where its parts stand.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, readdirSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Fault } from './fault.mjs';
import { FILE_STORE, PRODUCT, folderOf } from './package_files.mjs';
import { Database } from './sqlite.mjs';

/** The longest that a process gets to end after SIGKILL, in ms. */
const KILLED_MS = 5000;
/** What SQLite says of a lock that somebody else has (SQLITE_BUSY). */
const BUSY = 5;
/** What a database has at most that holds nothing, in bytes: the runtime makes a new one where all was deleted. */
const EMPTY_BYTES = 16 << 10;

export class DataFolder {
  /** The folder itself, absolute. */
  root;
  #lock;

  constructor(root) {
    this.root = path.resolve(root);
  }

  in = (...names) => path.join(this.root, ...names);
  get objects() { return this.in('objects'); }
  get catalog() { return this.in('catalog'); }
  get #release() { return this.in('release.json'); }
  /** A file that is there while a backup is put into the folder. */
  get restoring() { return this.in('restoring'); }

  /**
   * Holds the folder until this process ends, in whatever way. Throws a `Fault` where another process holds it, and where a
   * newer release has written it.
   */
  async hold() {
    mkdirSync(this.root, { recursive: true, mode: 0o700 });
    // One name, whatever link leads to it: by that the process of an earlier server is known.
    this.root = realpathSync(this.root);
    for (const folder of [this.objects, this.catalog]) mkdirSync(folder, { recursive: true, mode: 0o700 });
    // A lock of the operating system's, which SQLite takes: it ends with the process, so none is left behind.
    this.#lock = new Database(this.in('lock'), { timeout: 0 });
    try {
      this.#lock.exec('BEGIN EXCLUSIVE');
    } catch (error) {
      if (error.errcode !== BUSY) throw new Fault(`${this.in('lock')} cannot be locked: ${error.message}`);
      throw new Fault(`${this.root} is held by another process of aptix-edge-server; end that one first, or take another folder`);
    }
    await this.#endRest();
    this.#refuseNewer();
  }

  free() {
    this.#lock?.close();
  }

  /** The number of the process that serves the folder, for whoever comes after a process that was killed. */
  serving(pid) {
    writeFileSync(this.in('workerd.pid'), `${pid}\n`);
  }

  ended() {
    rmSync(this.in('workerd.pid'), { force: true });
  }

  /** Where a server was killed, its workerd may still run; two of them must not write the same files. */
  async #endRest() {
    const file = this.in('workerd.pid');
    const pid = existsSync(file) ? Number(readFileSync(file, 'utf8')) : 0;
    if (pid > 0 && commandOf(pid).includes(this.in('config.capnp'))) {
      process.kill(pid, 'SIGKILL');
      for (const until = Date.now() + KILLED_MS; commandOf(pid) !== ''; await pause(20)) {
        if (Date.now() > until) throw new Fault(`process ${pid} of an earlier server of ${this.root} does not end; end it first`);
      }
    }
    this.ended();
  }

  #refuseNewer() {
    const { version, forms } = PRODUCT;
    const written = this.written;
    const newer = Object.entries(written?.Forms ?? {}).filter(([holds, number]) => number > (forms[holds]?.number ?? 0));
    if (newer.length > 0) {
      throw new Fault(
        `${this.root} was written by release ${written.Release} in newer forms (${newer.map(([holds, number]) => `${holds} ${number}`).join(', ')}), which ${version} ` +
        'does not read; serve it with that release, or restore a backup from before the upgrade into an empty folder');
    }
  }

  /** Makes the folder this release's. Objects take its forms after that alone: a start that comes to nothing before leaves it to an older one. */
  take() {
    const { version, commit, forms } = PRODUCT;
    const Forms = Object.fromEntries(Object.entries(forms).map(([holds, { number }]) => [holds, number]));
    writeFileSync(`${this.#release}.new`, `${JSON.stringify({ Release: version, Commit: commit, Forms }, null, 1)}\n`, { flush: true });
    renameSync(`${this.#release}.new`, this.#release);
  }

  /** `{ Release, Commit, Forms }` of the release that has served the folder last. */
  get written() {
    if (existsSync(this.restoring)) throw new Fault(`${this.root} has a part of a backup: a restore is under way, or came to no end; in that case remove it, and restore again`);
    return existsSync(this.#release) ? JSON.parse(readFileSync(this.#release, 'utf8')) : undefined;
  }

  /** The databases of a class's objects, sorted. */
  objectsOf(className) {
    const folder = path.join(this.objects, folderOf(className));
    if (!existsSync(folder)) return [];
    return readdirSync(folder).filter((file) => /^[0-9a-f]{64}\.sqlite$/.test(file)).sort().map((file) => path.join(folder, file));
  }

  /**
   * Removes the databases that hold nothing, before anybody serves the folder: the runtime leaves one of each object that has
   * erased itself, and of each that was only asked.
   */
  sweep() {
    for (const file of [...PRODUCT.objects.map(([, className]) => className), FILE_STORE].flatMap((name) => this.objectsOf(name))) {
      try {
        if (statSync(file).size <= EMPTY_BYTES && holdsNothing(file)) rmSync(file);
      } catch {
        // What cannot be read may hold something.
      }
    }
  }

  /** The bytes that files take. */
  get filesBytes() {
    return this.objectsOf(FILE_STORE).reduce((bytes, file) => bytes + statSync(file).size, 0);
  }
}

/** Whether no table of a database has a row. That of the runtime's own keeps one of an alarm that is over. */
function holdsNothing(file) {
  const database = new Database(file);
  try {
    const tables = database.prepare("SELECT name FROM sqlite_master WHERE type = 'table'").all();
    const which = (name) => (name === '_cf_METADATA' ? 'WHERE value IS NOT NULL' : '');
    return tables.every(({ name }) => database.prepare(`SELECT 1 FROM "${name}" ${which(name)} LIMIT 1`).get() === undefined);
  } finally {
    // With the last connection the log goes, too.
    database.close();
  }
}

/** The command line of a process; empty where it has ended. */
function commandOf(pid) {
  try {
    if (process.platform === 'linux') return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
    return execFileSync('ps', ['-o', 'args=', '-p', String(pid)], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  } catch {
    return '';
  }
}
