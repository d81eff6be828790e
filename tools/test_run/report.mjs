// What a run of `make test` cost: each step and each file of tests in JavaScript, the tests that were skipped and why, those
// that are unsteady, and whether it kept its budgets (tests/budgets.json).
// usage: node tools/test_run/report.mjs begin
//        node tools/test_run/report.mjs end STATUS [--all]   the exit status of the run; with --all, not only the ten dearest
import { existsSync, readFileSync } from 'node:fs';
import os from 'node:os';
import { pathToFileURL } from 'node:url';
import { ownTime, slowness } from '../../tests/e2e/machine_speed.mjs';
import { begin, keep, note, notes } from './notes.mjs';

const DEAREST = 10;
/** By this factor a budget may be exceeded: processor time differs from run to run where processors are shared. */
const MARGIN = 1.5;
/** The share of the machine from which on others use it so much that the time of a run says nothing. */
const OTHERS = 0.15;
const BUDGETS = new URL('../../tests/budgets.json', import.meta.url);

/** The lines of the report, and what is wrong: `{ lines, faults }`. `run`: see `summary`. */
export function report(entries, run, budgets, { all = false } = {}) {
  const steps = entries.filter(({ step }) => step);
  const files = entries.filter(({ file }) => file);
  const used = steps.reduce((sum, { processor }) => sum + processor, 0);
  const { lines, faults } = summary(used, run, budgets);
  return {
    lines: [
      ...table('step', steps, ({ step }) => step, all),
      ...table('file', files, ({ file }) => file, all),
      ...skipped(files),
      ...unsteady(files),
      ...lines,
    ],
    faults: [...faults, ...exceeded(steps, run, budgets)],
  };
}

function table(title, entries, name, all) {
  const dearest = entries.filter(({ processor }) => processor !== undefined).toSorted((one, other) => other.processor - one.processor);
  if (dearest.length === 0) return [];
  const shown = all ? dearest : dearest.slice(0, DEAREST);
  const head = `${'processor'.padStart(11)} ${'time'.padStart(9)}  ${title}${shown.length < dearest.length ? `, the ${shown.length} dearest of ${dearest.length}; REPORT=1 shows all` : ''}`;
  return [head, ...shown.map((entry) => `${seconds(entry.processor).padStart(11)} ${seconds(entry.wall).padStart(9)}  ${name(entry)}`)];
}

const seconds = (value) => `${value.toFixed(1)} s`;

function skipped(files) {
  const reasons = new Map();
  for (const { skipped: of = {} } of files) for (const [reason, times] of Object.entries(of)) reasons.set(reason, (reasons.get(reason) ?? 0) + times);
  const total = [...reasons.values()].reduce((sum, times) => sum + times, 0);
  return [`${total} tests skipped`, ...[...reasons].map(([reason, times]) => `${String(times).padStart(6)}  ${reason}`)];
}

/** What failed in the run, and passed when its file ran again by itself. */
function unsteady(files) {
  return files.flatMap(({ file, unsteady: failures = [] }) => failures.map(({ name, why }) => `unsteady, to be mended: ${file}: ${name}: ${why.split('\n')[0]}`));
}

/**
 * Whether the run kept the minutes that the Makefile says, where that can be told. `run`: `{ wall, busy, cores, factor,
 * isFirst }`, `busy` being the processor time of the whole machine meanwhile, and `factor` how much slower the machine is
 * than the one on which the budgets were set.
 */
function summary(used, { wall, busy, cores, factor, isFirst }, { minutes }) {
  const said = isFirst ? minutes.first : minutes.warm;
  const lines = [`${inMinutes(wall)}, of which the Makefile says ${said} minutes${isFirst ? ' where nothing is compiled yet' : ''}; ${inMinutes(used)} of processor time`];
  const others = Math.max(0, busy - used) / (wall * cores);
  if (cores < 2 || others > OTHERS) {
    return { lines: [...lines, `the minutes are not judged: ${cores < 2 ? 'the machine has one processor' : `others used ${Math.round(others * 100)} % of the machine`}`], faults: [] };
  }
  const isTrue = wall <= said * 60 * factor * MARGIN;
  return { lines, faults: isTrue ? [] : [`it took ${inMinutes(wall)}, and the Makefile says ${said} minutes`] };
}

const inMinutes = (value) => `${Math.floor(value / 60)} min ${Math.round(value % 60)} s`;

function exceeded(steps, { factor }, { steps: budgets }) {
  return steps.flatMap(({ step, processor }) => {
    const budget = budgets[step]?.seconds;
    if (budget === undefined) return [`the step "${step}" has no budget in tests/budgets.json`];
    if (processor <= budget * factor * MARGIN) return [];
    return [`the step "${step}" used ${seconds(processor)} of processor time; its budget is ${budget} s (tests/budgets.json), and this machine is slower by ${factor.toFixed(2)}`];
  });
}

const busyTime = () => os.cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + (user + nice + sys + irq) / 1000, 0);
const at = (path) => existsSync(new URL(`../../${path}`, import.meta.url));

function end(status, options) {
  const entries = notes();
  const { began, busy, ...first } = entries.find((entry) => entry.began);
  const run = { ...first, wall: (Date.now() - began) / 1000, busy: busyTime() - busy, cores: os.availableParallelism(), factor: Math.max(first.factor, slowness(ownTime)) };
  const { lines, faults } = report(entries, run, JSON.parse(readFileSync(BUDGETS, 'utf8')), options);
  for (const line of lines) console.log(`make test: ${line}`);
  keep();
  if (status !== 0) return status;
  for (const fault of faults) console.error(`make test: ${fault}`);
  if (faults.length > 0) return 1;
  console.log('make test: everything passed');
  return 0;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [command, status, ...flags] = process.argv.slice(2);
  if (command === 'begin') {
    begin();
    note({ began: Date.now(), busy: busyTime(), factor: slowness(ownTime), isFirst: !(at('target/debug') && at('build/.complete')) });
  } else process.exitCode = end(Number(status), { all: flags.includes('--all') });
}
