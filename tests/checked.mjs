// A check whose verdict depends on files alone, such as one of types, is not made again for the same files. Owns the notes of
// what has passed, in `target/`, by the contents of the files.
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const NOTES = fileURLToPath(new URL('../target/test_run/checked/', import.meta.url));

/**
 * Calls `check` unless it has passed for what `inputs` hold now: files and folders, and texts such as versions in `more`. The
 * inputs are all that the verdict depends on, the lock of the checking program among them.
 */
export async function unlessChecked(name, inputs, check, more = '') {
  const hash = createHash('sha256').update(`${process.version} ${more}`);
  for (const input of inputs) add(hash, input);
  const now = hash.digest('hex');
  const note = path.join(NOTES, name);
  if (read(note) === now) return;
  await check();
  mkdirSync(NOTES, { recursive: true });
  writeFileSync(note, now);
}

function add(hash, input) {
  if (statSync(input).isDirectory()) {
    for (const name of readdirSync(input).sort()) if (!['node_modules', '__pycache__'].includes(name)) add(hash, path.join(input, name));
  } else hash.update(`${input}\0`).update(readFileSync(input)).update('\0');
}

function read(file) {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
}
