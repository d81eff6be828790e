// `restore`: a backup becomes a folder that a server serves. Whatever ran when it was made is taken up by its alarm.
import { createHash } from 'node:crypto';
import { createReadStream, createWriteStream, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGunzip } from 'node:zlib';
import { ALARMS, CLASSES, MANIFEST } from './backup.mjs';
import { DataFolder } from './data_folder.mjs';
import { Fault } from './fault.mjs';
import { folderOf } from './package_files.mjs';
import { Database } from './sqlite.mjs';
import { entries } from './tar.mjs';
import { verify } from './verify.mjs';

/** What stands in a backup, and nothing else: no entry leaves the folder. */
const NAMES = /^(?:release\.json|catalog\/catalog|objects\/aptix-edge-\w+\/(?:[0-9a-f]{64}|metadata)\.sqlite)$/;

/** What SQLite says of a file that is damaged (SQLITE_CORRUPT); what is above it says where. */
const DAMAGED = 11;

/** Puts the backup `from` into the folder `data`, whole or not at all; resolves to `{ lines, faults }` of the folder (verify.mjs). */
export async function restore(from, data) {
  process.umask(0o077);
  if (!existsSync(from)) throw new Fault(`there is no file ${from}`);
  const folder = new DataFolder(data);
  const wasThere = existsSync(folder.root);
  if (wasThere && readdirSync(folder.root).length > 0) throw new Fault(`${folder.root} is not empty; a backup is put into an empty folder`);
  try {
    mkdirSync(folder.root, { recursive: true });
    writeFileSync(folder.restoring, '', { flag: 'wx' });
  } catch (error) {
    throw new Fault(`${folder.root} cannot be written: ${error.code === 'EEXIST' ? 'another backup is being put into it' : error.code}`);
  }
  try {
    const manifest = await unpack(from, folder);
    const ringing = ring(folder, manifest);
    rmSync(folder.restoring);
    // All is as it was copied: an object that is damaged was so before, and the others are not to be lost with it.
    const { lines, faults } = verify(folder.root);
    return { lines: [`${folder.root} has the backup of ${manifest.Began}; ${ringing} objects look at once for what is due`, ...lines], faults };
  } catch (error) {
    // An operator's own folder stays, with its owner: it may be a disk of its own.
    for (const name of wasThere ? readdirSync(folder.root) : []) rmSync(folder.in(name), { recursive: true, force: true });
    if (!wasThere) rmSync(folder.root, { recursive: true, force: true });
    throw error instanceof Fault ? error : new Fault(`${from} cannot be restored: ${error.message}`);
  }
}

async function unpack(from, folder) {
  const found = new Map();
  let manifest;
  const bytes = createGunzip();
  createReadStream(from).on('error', (error) => bytes.destroy(error)).pipe(bytes);
  for await (const { name, chunks } of entries(bytes)) {
    if (name === MANIFEST) {
      manifest = JSON.parse(Buffer.concat(await Array.fromAsync(chunks)).toString());
      continue;
    }
    if (!NAMES.test(name)) throw new Fault(`${from} has an entry ${name}, which no backup has`);
    const file = folder.in(name);
    mkdirSync(path.dirname(file), { recursive: true });
    const hash = createHash('sha256');
    const hashed = async function* () {
      for await (const chunk of chunks) {
        hash.update(chunk);
        yield chunk;
      }
    };
    await pipeline(Readable.from(hashed()), createWriteStream(file, { flags: 'wx', flush: true }));
    found.set(name, hash.digest('hex'));
  }
  if (!manifest) throw new Fault(`${from} has no list of its contents`);
  const wrong = manifest.Files.filter(({ Name, Sha256 }) => found.get(Name) !== Sha256);
  if (wrong.length > 0 || manifest.Files.length !== found.size) throw new Fault(`${from} is spoiled: ${wrong[0]?.Name ?? 'an entry'} is not as it was written`);
  return manifest;
}

/**
 * Sets an alarm for each object that has changed while the backup was made, and takes away those of objects that began
 * meanwhile; returns the number of the former.
 */
function ring(folder, { Changed }) {
  const now = BigInt(Date.now()) * 1_000_000n;
  for (const className of CLASSES()) {
    const file = folder.in('objects', folderOf(className), ALARMS);
    if (!existsSync(file)) continue;
    const there = new Set(folder.objectsOf(className).map(idOf));
    const alarms = new Database(file);
    try {
      const add = alarms.prepare('INSERT OR IGNORE INTO _cf_ALARM (actor_id, scheduled_time) VALUES (?, ?)');
      for (const name of Changed) if (path.basename(path.dirname(name)) === folderOf(className)) add.run(idOf(name), now);
      const remove = alarms.prepare('DELETE FROM _cf_ALARM WHERE actor_id = ?');
      for (const { actor_id: id } of alarms.prepare('SELECT actor_id FROM _cf_ALARM').all()) if (!there.has(id)) remove.run(id);
    } catch (error) {
      // It was so before, and `verify` names it; no object is to be lost with it.
      if ((error.errcode & 0xff) !== DAMAGED) throw error;
    } finally {
      alarms.close();
    }
  }
  return Changed.length;
}

const idOf = (file) => path.basename(file, '.sqlite');
