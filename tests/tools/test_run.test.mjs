// What `make test` says of itself: what each step and file cost, what was skipped and why, whether budgets and minutes are
// kept; and that a lane tells of each file what became of it.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { report } from '../../tools/test_run/report.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (name) => readFileSync(path.join(ROOT, name), 'utf8');
const budgets = JSON.parse(read('tests/budgets.json'));

const MADE_UP = { minutes: { warm: 7, first: 15 }, steps: { format: { seconds: 10 }, scripts: { seconds: 100 } } };
const RUN = { wall: 400, busy: 120, cores: 2, factor: 1, isFirst: false };
const steps = (format, scripts) => [{ step: 'format', wall: 5, processor: format }, { step: 'scripts', wall: 200, processor: scripts }];

test('the dearest files come first, ten of them or all; skipped tests are counted by their reasons', () => {
  const files = Array.from({ length: 12 }, (_, n) => ({ file: `f${n}`, wall: 1, processor: n, passed: 1, failed: [], skipped: { 'no browser': n % 2, later: n === 3 ? 2 : 0 } }));
  const told = (options) => report([...steps(1, 1), ...files], RUN, MADE_UP, options).lines;
  const namesIn = (lines) => lines.flatMap((line) => / (f\d+)$/.exec(line)?.[1] ?? []);
  assert.deepEqual(namesIn(told()), Array.from({ length: 10 }, (_, n) => `f${11 - n}`));
  assert.equal(namesIn(told({ all: true })).length, 12);
  assert.deepEqual(told().slice(-4, -1), ['8 tests skipped', '     6  no browser', '     2  later']);
});

test('a step that goes well over its budget is a fault, and on a slower machine as much later', () => {
  const faults = (format, more) => report(steps(format, 100), { ...RUN, ...more }, MADE_UP).faults;
  assert.deepEqual(faults(14), []);
  assert.match(faults(16).join(), /^the step "format" used 16\.0 s of processor time; its budget is 10 s/);
  assert.deepEqual(faults(28, { factor: 2 }), []);
  assert.equal(faults(31, { factor: 2 }).length, 1);
  assert.match(report([{ step: 'new', wall: 1, processor: 1 }], RUN, MADE_UP).faults.join(), /^the step "new" has no budget/);
});

test('minutes that are not true are a fault, unless others use the machine', () => {
  const judged = (more) => report(steps(1, 119), { ...RUN, ...more }, MADE_UP);
  assert.deepEqual(judged({ wall: 620 }).faults, []);
  assert.deepEqual(judged({ wall: 640 }).faults, ['it took 10 min 40 s, and the Makefile says 7 minutes']);
  assert.deepEqual(judged({ wall: 640, isFirst: true }).faults, []);
  assert.deepEqual(judged({ wall: 640, factor: 1.1 }).faults, []);
  const busy = judged({ wall: 640, busy: 500 });
  assert.deepEqual([busy.faults, busy.lines.at(-1)], [[], 'the minutes are not judged: others used 30 % of the machine']);
});

test('the pages say the minutes by which a run is judged, and each step of the Makefile has its budget', () => {
  const { warm, first } = budgets.minutes;
  const makefile = read('Makefile');
  assert.ok(makefile.includes(`end to end; ${warm} minutes, the first time ${first};`));
  assert.ok(makefile.includes(`make test: about ${warm} minutes; ${first} where nothing is compiled yet`));
  assert.match(read('CONTRIBUTING.md').replaceAll(/\s+/g, ' '), new RegExp(`; ${warm} minutes on two cores, ${first} the first time`));
  const named = [...makefile.matchAll(/\$\(step\) (?:'([^']+)'|(\S+))/g)].map(([, quoted, plain]) => quoted ?? plain);
  assert.deepEqual(Object.keys(budgets.steps).sort(), [...new Set(named)].sort());
  for (const [step, { seconds, why }] of Object.entries(budgets.steps)) assert.ok(seconds > 0 && why.length > 20, step);
});

/** What run.mjs says of files with these contents, and its exit code. */
async function ran(contents, ...options) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'test-run-'));
  try {
    const files = Object.entries(contents).map(([name, text]) => {
      const file = path.join(folder, `${name}.mjs`);
      writeFileSync(file, text);
      return file;
    });
    const args = [path.join(ROOT, 'tools/test_run/run.mjs'), '--lanes=1', ...options, ...files];
    const env = { ...process.env, TEST_RUN_NOTES: folder, NODE_TEST_CONTEXT: undefined };
    const { code, stdout } = await new Promise((resolve) => execFile(process.execPath, args, { env }, (error, out) => resolve({ code: error?.code ?? 0, stdout: out })));
    const notes = readFileSync(path.join(folder, 'notes.jsonl'), 'utf8').split('\n').filter(Boolean).map((line) => JSON.parse(line));
    return { code, stdout, notes: Object.fromEntries(notes.map((note) => [path.basename(note.file, '.mjs'), note])) };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

test('files of one lane have hooks of their own, and what each cost and came to is noted', async () => {
  const hooked = (name) => `import { afterEach, beforeEach, test } from 'node:test';
    beforeEach(() => console.log('before ${name}'));
    for (const n of [1, 2]) test('${name}' + n, () => console.log('${name}' + n));
    test('not here', { skip: 'there is no browser' }, () => {});`;
  const burning = `import { test } from 'node:test'; test('burns', () => { for (const from = process.cpuUsage(); process.cpuUsage(from).user < 300_000; ); });`;
  const { code, stdout, notes } = await ran({ a: hooked('a'), b: hooked('b'), c: burning });
  assert.equal(code, 0, stdout);
  for (const name of ['a', 'b']) {
    assert.match(stdout, new RegExp(`before ${name}\n${name}1\nbefore ${name}\n${name}2\n`));
    assert.deepEqual([notes[name].passed, notes[name].failed, notes[name].skipped], [2, [], { 'there is no browser': 1 }]);
  }
  assert.ok(notes.c.processor >= 0.29 && notes.c.wall >= 0.29, JSON.stringify(notes.c));
});

test('a file that fails, is none, or ends its process is named, and the others run', async () => {
  const passing = `import { test } from 'node:test'; test('is well', () => {});`;
  const { code, stdout, notes } = await ran({
    fails: `import { test } from 'node:test'; test('goes wrong', () => { throw new Error('on purpose'); });`,
    broken: 'nothing of the kind',
    exits: `import { test } from 'node:test'; test('leaves', () => process.exit(0));`,
    throws: `import { test } from 'node:test'; test('is never over', () => new Promise(() => setTimeout(() => { throw new Error('caught by nobody'); })));`,
    rejects: `import { test } from 'node:test'; test('is never over', () => new Promise(() => void Promise.reject(new Error('awaited by nobody'))));`,
    passes: passing,
  });
  assert.equal(code, 1);
  assert.match(stdout, /✖ \S+fails\.mjs: goes wrong: on purpose\n/);
  assert.match(stdout, /✖ \S+exits\.mjs: \S+exits\.mjs: its process ended \(0\)\n/);
  for (const name of ['throws', 'rejects']) assert.match(stdout, new RegExp(`✖ \\S+${name}\\.mjs: \\S+${name}\\.mjs: its process ended \\(1\\)\\n`));
  assert.match(stdout, /\n\S*Error: caught by nobody\n[^]*\n\S*Error: awaited by nobody\n/);
  assert.equal(notes.broken.failed.length, 1);
  assert.deepEqual([notes.passes.passed, notes.passes.failed], [1, []]);
});

test('a lane that a test keeps from ending is ended, and named', async () => {
  const leaving = `import { test } from 'node:test'; test('leaves a timer', () => void setInterval(() => {}, 1000));`;
  const { code, stdout } = await ran({ leaves: leaving }, '--end=300');
  assert.equal(code, 1);
  assert.match(stdout, /leaves\.mjs: \S+: a file of its lane has left something that runs/);
});

test('a file that failed runs again by itself: what passes then is unsteady and named, unless many have failed', async () => {
  const first = (name) => `import { existsSync, writeFileSync } from 'node:fs';
    import { test } from 'node:test';
    test('is well the second time', () => {
      const mark = new URL('${name}.mark', import.meta.url);
      if (existsSync(mark)) return;
      writeFileSync(mark, '');
      throw new Error('stalled');
    });`;
  const one = await ran({ a: first('a'), b: `import { test } from 'node:test'; test('is well', () => {});` });
  assert.equal(one.code, 0, one.stdout);
  assert.match(one.stdout, /\n2 files: 2 tests passed, 0 failed\nunsteady \S+a\.mjs: is well the second time: stalled\n/);
  assert.match(report([...steps(1, 1), ...Object.values(one.notes)], RUN, MADE_UP).lines.join('\n'), /unsteady, to be mended: \S+a\.mjs: is well the second time: stalled/);
  const many = await ran(Object.fromEntries([...'abcdefg'].map((name) => [name, first(name)])));
  assert.equal(many.code, 1);
  assert.match(many.stdout, /\n7 files: 0 tests passed, 7 failed\n/);
});
