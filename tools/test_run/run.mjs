// Runs files of tests in JavaScript in lanes (lane.mjs), says what became of them, and notes what each has cost.
// usage: node tools/test_run/run.mjs [--lanes=N] [--end=MS] FILE…
//
// A machine that others use stalls for seconds, and a test that waits for something short then fails. So a file that failed
// runs once more by itself when all others have ended. What fails again fails the run; what passes then is named as
// unsteady: a fault of the test, which has to be mended.
import { fork } from 'node:child_process';
import { statSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { lastRun, note } from './notes.mjs';

const HERE = fileURLToPath(new URL('.', import.meta.url));
/** A lane whose file does not end although its time is over, in ms. */
const LONGEST_MS = 660_000;
/** Files that run again. Where more have failed, it is the change that is wrong. */
const MOST_AGAIN = 6;
/** A lane makes much and keeps little: with more room for what is young, less of it is looked at again and again. */
const MEMORY = ['--min-semi-space-size=32', '--max-semi-space-size=64'];
const REPORTERS = ['spec', path.join(HERE, 'verdicts.mjs')].flatMap((reporter) => ['--test-reporter', reporter, '--test-reporter-destination', 'stdout']);

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'));
/** The longest that a lane takes to end behind its last file, in ms: a test may have left something that runs. */
const longestEndMs = Number(/--end=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 60_000);
const lanes = Number(/--lanes=(\d+)/.exec(process.argv.join(' '))?.[1] ?? 4);
const results = new Map(names.map((file) => [file, { file }]));

// The longest first, so that no lane is alone with one at the end.
const known = new Map(lastRun().flatMap(({ file, wall }) => (file ? [[file, wall]] : [])));
const expected = (file) => known.get(file) ?? statSync(file).size / 1000;
let waiting = names.toSorted((one, other) => expected(other) - expected(one));

const running = new Set();
for (const signal of ['SIGINT', 'SIGTERM']) {
  process.on(signal, () => {
    for (const lane of running) end(lane, 'SIGTERM');
    process.exit(130);
  });
}
await Promise.all(Array.from({ length: Math.min(lanes, names.length) }, () => work()));
await again([...results.values()].filter(({ file, failed }) => file && failed?.length !== 0));
for (const result of results.values()) if (result.file) note(result);
process.exitCode = told([...results.values()]);

/** Works through the files that wait, in one lane after another, each of at most so many files. */
async function work(most = Infinity) {
  while (waiting.length > 0) await laneOf(most);
}

/** Runs what has failed again, each file by itself. */
async function again(failures) {
  if (failures.length > MOST_AGAIN) return;
  for (const first of failures) {
    console.log(`${first.file} failed, and runs again by itself`);
    const second = { file: first.file };
    results.set(first.file, second);
    waiting = [first.file];
    await work(1);
    if (second.failed?.length === 0) second.unsteady = first.failed ?? [];
    for (const cost of ['processor', 'wall']) second[cost] = (second[cost] ?? 0) + (first[cost] ?? 0);
  }
}

/** Resolves when the lane has ended, after at most so many files. */
function laneOf(most) {
  const { promise, resolve } = Promise.withResolvers();
  // A group of its own, so that what it has started ends with it.
  const lane = fork(path.join(HERE, 'lane.mjs'), { execArgv: [...MEMORY, ...REPORTERS], stdio: ['ignore', 'pipe', 'pipe', 'ipc'], detached: true });
  running.add(lane);
  let output = '';
  for (const stream of [lane.stdout, lane.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const say = () => {
    process.stdout.write(output);
    output = '';
  };
  const ran = [];
  let current;
  let timer;
  let left = most;
  lane.on('message', ({ ready, done, verdicts, ...more }) => {
    if (verdicts) Object.assign(results.get(verdicts), more);
    if (done) Object.assign(results.get(done), more);
    if (!ready) return;
    clearTimeout(timer);
    say();
    current = left > 0 ? waiting.shift() : undefined;
    left -= 1;
    if (current) {
      ran.push(current);
      timer = setTimeout(() => end(lane, 'SIGKILL'), LONGEST_MS);
    } else {
      timer = setTimeout(() => {
        const last = results.get(ran.at(-1));
        (last?.failed ?? []).push({ name: ran.at(-1), why: 'a file of its lane has left something that runs' });
        end(lane, 'SIGKILL');
      }, longestEndMs);
    }
    lane.send({ file: current });
  });
  lane.on('close', (code, signal) => {
    clearTimeout(timer);
    running.delete(lane);
    say();
    const result = results.get(current);
    if (result) (result.failed ??= []).push({ name: current, why: `its process ended (${signal ?? code})` });
    // A test that failed makes the exit code; without one, something went wrong after its test had ended.
    else if (code !== 0 && !ran.some((file) => results.get(file).failed?.length !== 0)) results.set(lane, { failed: [], code });
    end(lane, 'SIGKILL');
    resolve();
  });
  return promise;
}

function end(lane, signal) {
  try {
    process.kill(-lane.pid, signal);
  } catch {
    // All have ended.
  }
}

/** Says what failed; the exit code. */
function told(all) {
  const failures = all.flatMap(({ file, failed = [{ name: file, why: 'it was not run' }] }) => failed.map((failure) => ({ file, ...failure })));
  const passed = all.reduce((sum, each) => sum + (each.passed ?? 0), 0);
  console.log(`${names.length} files: ${passed} tests passed, ${failures.length} failed`);
  const say = (mark, { file, name, why }) => console.log(`${mark} ${file}: ${name}: ${why.split('\n')[0]}`);
  for (const failure of failures) say('✖', failure);
  for (const { file, unsteady = [] } of all) for (const failure of unsteady) say('unsteady', { file, ...failure });
  return failures.length > 0 || all.some(({ code }) => code) ? 1 : 0;
}
