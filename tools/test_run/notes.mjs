// The notes of a run of the tests: what each step and each file has cost, as lines of JSON. Owns their place.
import { appendFileSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** In `target/test_run`, unless TEST_RUN_NOTES names another folder. */
const FOLDER = process.env.TEST_RUN_NOTES ?? fileURLToPath(new URL('../../target/test_run', import.meta.url));
const CURRENT = `${FOLDER}/notes.jsonl`;
const LAST = `${FOLDER}/last.jsonl`;

/** `{ step, wall, processor }` or `{ file, wall, processor, passed, failed, skipped, unsteady? }`, times in seconds. */
export function note(entry) {
  mkdirSync(FOLDER, { recursive: true });
  appendFileSync(CURRENT, `${JSON.stringify(entry)}\n`);
}

/** Begins a new run. */
export function begin() {
  rmSync(CURRENT, { force: true });
}

/** The run has ended: its notes are those of the last run. */
export function keep() {
  renameSync(CURRENT, LAST);
}

export const notes = () => read(CURRENT);
/** The notes of the last whole run; none, if there was none. */
export const lastRun = () => read(LAST);

function read(file) {
  try {
    return readFileSync(file, 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
  } catch {
    return [];
  }
}
