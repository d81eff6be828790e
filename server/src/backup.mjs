// `backup`: all that a server keeps, in one file, also while it serves. Each object's database is copied by SQLite itself in
// one transaction, so that it is one moment of the object.
//
// The order is sessions, workspaces, users, all else, alarms: what a user's object knows of a session is never older than the
// session, and what was acknowledged before the backup began is in it. An object that has changed after its copy was made may
// have lost its alarm since; `restore` gives it one.
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, createReadStream, createWriteStream, existsSync, fstatSync, fsyncSync, mkdtempSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import { DataFolder } from './data_folder.mjs';
import { Fault } from './fault.mjs';
import { FILE_STORE, PRODUCT, folderOf } from './package_files.mjs';
import { endedBy, onSignal } from './signals.mjs';
import { Database, backup as copy } from './sqlite.mjs';
import { END, headOf, padding } from './tar.mjs';

/** The name of the list of what is in a backup; its last entry, so that one that was cut has none. */
export const MANIFEST = 'manifest.json';
/** The database of a class's alarms. */
export const ALARMS = 'metadata.sqlite';
/** How long the copy of one database waits for a lock, in ms. */
const PATIENCE_MS = 10_000;
/** What the folder of a backup under way is called, beside the place of the backup. */
const SCRATCH = '.aptix-edge-backup-';
/** For how long nobody writes into such a folder whose backup was killed, in ms: more than any clock is wrong. */
const LEFT_MS = 24 * 60 * 60 * 1000;

/** The classes, in the order in which their objects are copied. */
export const CLASSES = () => {
  const first = ['SessionObject', 'WorkspaceIndex', 'UserObject'];
  const all = [...PRODUCT.objects.map(([, className]) => className), FILE_STORE];
  return [...first, ...all.filter((name) => !first.includes(name))];
};

/** Writes the backup of the folder `data` to the file `to`; resolves to what is said of it. */
export async function backup(data, to) {
  const folder = new DataFolder(data);
  if (!folder.written) throw new Fault(`${folder.root} is no folder of a server`);
  if (existsSync(to)) throw isThere(to);
  const began = Date.now();
  let scratch;
  const drop = () => scratch && rmSync(scratch, { recursive: true, force: true, maxRetries: 3 });
  // A copy of all that a server keeps would stay under a name that no list of files shows.
  onSignal((_, number) => {
    drop();
    process.exit(endedBy(number));
  });
  try {
    const beside = path.dirname(path.resolve(to));
    dropLeft(beside);
    scratch = mkdtempSync(path.join(beside, SCRATCH));
    const part = path.join(scratch, 'part');
    const archive = new Archive(part, began);
    const seen = new Map();
    const objects = {};
    await archive.add('release.json', folder.in('release.json'));
    if (existsSync(path.join(folder.catalog, 'catalog'))) await archive.add('catalog/catalog', path.join(folder.catalog, 'catalog'));
    for (const className of CLASSES()) {
      objects[className] = 0;
      for (const file of folder.objectsOf(className)) {
        const moment = momentOf(file);
        if (await archive.addDatabase(nameOf(className, path.basename(file)), file, path.join(scratch, 'copy'))) {
          seen.set(file, moment);
          objects[className] += 1;
        }
      }
    }
    for (const className of CLASSES()) {
      const file = path.join(folder.objects, folderOf(className), ALARMS);
      if (existsSync(file)) await archive.addDatabase(nameOf(className, ALARMS), file, path.join(scratch, 'copy'));
    }
    const Changed = [...seen].filter(([file, moment]) => momentOf(file) !== moment).map(([file]) => path.relative(folder.root, file));
    await archive.end({ Release: folder.written, Began: new Date(began).toISOString(), Objects: objects, Changed });
    take(part, to);
    const { size } = statSync(to);
    const counts = Object.entries(objects).filter(([, count]) => count > 0).map(([className, count]) => `${className} ${count}`);
    return `${to}: ${size} bytes, ${Date.now() - began} ms; ${counts.join(', ') || 'no objects'}`;
  } catch (error) {
    throw error instanceof Fault ? error : new Fault(`${to} cannot be written: ${error.message}`);
  } finally {
    drop();
  }
}

/** Removes what backups that were killed have left in a folder. */
function dropLeft(folder) {
  let names = [];
  try {
    names = readdirSync(folder);
  } catch {
    // Whether a backup can be written there shows at once.
  }
  for (const name of names.filter((each) => each.startsWith(SCRATCH))) {
    const left = path.join(folder, name);
    try {
      const written = [left, ...readdirSync(left).map((each) => path.join(left, each))].map((each) => statSync(each).mtimeMs);
      if (Math.max(...written) < Date.now() - LEFT_MS) rmSync(left, { recursive: true, force: true, maxRetries: 3 });
    } catch {
      // It is another user's, or has just ended by itself.
    }
  }
}

/** Gives a whole backup its name, which another one may have taken since this one began. */
function take(part, to) {
  try {
    closeSync(openSync(to, 'wx'));
  } catch (error) {
    throw error.code === 'EEXIST' ? isThere(to) : error;
  }
  try {
    renameSync(part, to);
  } catch (error) {
    rmSync(to, { force: true });
    throw error;
  }
}

const isThere = (file) => new Fault(`${file} is there already; a backup overwrites nothing`);

const nameOf = (className, file) => `objects/${folderOf(className)}/${file}`;

/** What changes whenever a database or its log is written. */
function momentOf(file) {
  return [file, `${file}-wal`].map((each) => {
    const stat = statSync(each, { bigint: true, throwIfNoEntry: false });
    return stat ? `${stat.mtimeNs} ${stat.size}` : '';
  }).join(' ');
}

class Archive {
  #out;
  /** Resolves when all is in the file; rejects where the disk takes no more. */
  #written;
  #file;
  #time;
  #files = [];

  constructor(file, time) {
    this.#file = file;
    this.#time = time;
    this.#out = createGzip({ level: 1 });
    this.#written = pipeline(this.#out, createWriteStream(file, { mode: 0o600 }));
    // It is waited for with each piece.
    this.#written.catch(() => {});
  }

  /** Adds a file under a name. */
  async add(name, file) {
    const bytes = createReadStream(file);
    await once(bytes, 'open');
    // Of the file that is read: another may take its name at any moment.
    const { size } = fstatSync(bytes.fd);
    const hash = createHash('sha256');
    await this.#write(headOf(name, size, this.#time));
    for await (const chunk of bytes) {
      hash.update(chunk);
      await this.#write(chunk);
    }
    await this.#write(padding(size));
    this.#files.push({ Name: name, Bytes: size, Sha256: hash.digest('hex') });
  }

  /** Adds a copy of a database, made at `place`; resolves to whether it was there. */
  async addDatabase(name, file, place) {
    let database;
    try {
      // For reading and writing, since only so is the log read of a server that was killed. Nothing is written.
      database = new Database(file, { timeout: PATIENCE_MS });
    } catch (error) {
      if (!existsSync(file)) return false;
      throw new Fault(`${file} cannot be read: ${error.message}`);
    }
    try {
      rmSync(place, { force: true });
      // All pages at once: a copy in parts begins anew with each write between them.
      await copy(database, place, { rate: 2 ** 31 - 1 }).catch((error) => {
        throw new Fault(`${file} cannot be copied: ${error.message}`);
      });
    } finally {
      database.close();
    }
    await this.add(name, place);
    return true;
  }

  async end(members) {
    const manifest = Buffer.from(JSON.stringify({ ...members, Files: this.#files }));
    await this.#write(headOf(MANIFEST, manifest.length, this.#time));
    await this.#write(manifest);
    await this.#write(padding(manifest.length));
    await this.#write(END);
    this.#out.end();
    await this.#written;
    const descriptor = openSync(this.#file, 'r');
    fsyncSync(descriptor);
    closeSync(descriptor);
  }

  async #write(bytes) {
    if (bytes.length > 0 && !this.#out.write(bytes)) await Promise.race([once(this.#out, 'drain'), this.#written]);
  }
}
