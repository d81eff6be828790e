// The benchmark: `make bench`, or `make bench QUICK=1` for a run of two minutes. It measures the cost that aptix-edge
// adds to the cheapest possible turn on this platform, next to the same work written by hand in JavaScript and on the
// Agents SDK.
//
// Prints a table and writes build/bench.json. It judges responses, never speed: a wrong response is exit code 1.
// ONLY=json,latency,cold measures those parts alone; contenders.mjs and workerd.mjs have variables of their own.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONTENDERS } from './contenders.mjs';
import { coldStart, cost, crossingsOfTurns, growth, heard, latency, memory } from './measurements.mjs';
import { ModelService } from './model_service.mjs';
import { MEASURABLE } from './process_cost.mjs';
import { report } from './report.mjs';
import { Running } from './running.mjs';
import { BESIDE, MAIN, WORKERDS } from './workerd.mjs';
import { DELAYS, LOADS, Load } from './workloads.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const QUICK = Boolean(process.env.QUICK);
const EXTENT = QUICK
  ? { share: 0.2, sessions: 1, memorySessions: 200, starts: 3 }
  : { share: 1, sessions: 3, memorySessions: 1500, starts: 9 };
const ONLY = process.env.ONLY?.split(',');
const KEYS = [...LOADS, ...DELAYS].map(({ key }) => key);
const PARTS = [...KEYS, 'latency', 'beside', 'growth', 'traced', 'crossings', 'memory', 'cold', 'bundle'];

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
const unknown = ONLY?.find((part) => !PARTS.includes(part));
if (unknown !== undefined) throw new Error(`ONLY names ${unknown}; there are ${PARTS.join(', ')}`);
const model = await ModelService.start();
const load = new Load(model);
const say = (what) => console.error(`bench: ${what}`);
try {
  const figures = await measured();
  const file = path.join(ROOT, 'build/bench.json');
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(figures, null, 2)}\n`);
  console.log(report(figures).join('\n'));
  if (!MEASURABLE) console.log('\nThis system has no /proc: CPU and memory were NOT measured.');
  console.log(`\nall figures: ${path.relative(process.cwd(), file)}`);
} finally {
  model.close();
}
if (load.wrongs.length > 0) {
  console.error(`\nbench: ${load.wrongs.length} WRONG ANSWERS; the figures above are worth nothing`);
  process.exit(1);
}
process.exit(0);

/** Whether this run measures a part: one that ONLY names, or without it each that is not too long for QUICK. */
function wanted({ key, group = key, thorough = false }) {
  return ONLY === undefined ? !(thorough && QUICK) : ONLY.includes(key) || ONLY.includes(group);
}

async function measured() {
  const figures = {
    at: new Date().toISOString(),
    machine: {
      cpu: os.cpus()[0]?.model,
      cores: os.cpus().length,
      system: `${os.type()} ${os.release()}`,
      loadBefore: os.loadavg()[0],
    },
    extent: EXTENT,
    cpuMeasured: MEASURABLE,
    names: CONTENDERS.map(({ name }) => name),
    workerd: WORKERDS[MAIN],
    beside: { workerd: WORKERDS[BESIDE], loads: [] },
    loads: [],
    latency: [],
  };
  const loads = LOADS.filter(wanted);
  await sideBySide(CONTENDERS, MAIN, async (running) => {
    figures.loads = await costs(running, loads);
    for (const work of DELAYS.filter((work) => wanted({ ...work, group: 'latency' }))) {
      say(`latency, ${work.says}`);
      figures.latency.push({ ...work, figures: await latency(load, model, running, work, rounds(work)) });
    }
    if (wanted({ key: 'growth' })) {
      say('sessions of 300 turns');
      figures.growth = await growth(load, model, running, EXTENT.sessions);
    }
  });
  if (wanted({ key: 'beside', thorough: true })) {
    say(`workerd ${WORKERDS[BESIDE].version}`);
    const few = CONTENDERS.filter(({ name }, index) => index === 0 || /aptix-edge|against/.test(name));
    await sideBySide(few, BESIDE, async (running) => {
      figures.beside.loads = await costs(running, (loads.length > 0 ? loads : LOADS).filter((work) => work.beside));
    });
  }
  if (wanted({ key: 'traced' })) {
    say('a listener to spans');
    const work = LOADS.find(({ key }) => key === 'json');
    figures.traced = await heard(load, model, /^(floor|plain|aptix-edge|against.*)$/, work, rounds(work));
  }
  if (wanted({ key: 'crossings' })) {
    say('crossings between WebAssembly and the runtime');
    figures.crossings = await crossingsOfTurns(load, model);
  }
  if (wanted({ key: 'memory' })) {
    say('memory per session');
    figures.memory = await memory(load, model, EXTENT.memorySessions);
  }
  if (wanted({ key: 'cold' })) {
    say('cold starts');
    figures.coldStart = await coldStart(load, model, EXTENT.starts);
  }
  if (wanted({ key: 'bundle' })) {
    say('the bundle');
    figures.bundle = await bundle();
  }
  figures.wrongAnswers = load.wrongs.length;
  return figures;
}

/** Runs `measure` on the contenders, each in a process of its own, and ends them. */
async function sideBySide(contenders, workerd, measure) {
  const running = [];
  try {
    for (const described of contenders) running.push(await Running.start(described, model.url, { workerd }));
    await measure(running);
  } finally {
    for (const contender of running) await contender.dispose();
  }
}

async function costs(running, loads) {
  const seen = [];
  for (const work of loads) {
    say(work.says);
    seen.push({ key: work.key, says: work.says, figures: await cost(load, model, running, work, rounds(work)) });
  }
  return seen;
}

/** Two rounds at least, since a ratio is a median over rounds. */
function rounds(work) {
  return Math.max(2, Math.round(work.rounds * EXTENT.share));
}

/** The report of tools/setup/bundle_size on the upload, line by line. The benchmark accepts any size. */
async function bundle() {
  const run = promisify(execFile)(path.join(ROOT, 'tools/setup/bundle_size'), { cwd: ROOT });
  const { stdout } = await run.catch((fault) => fault);
  return (stdout || 'bundle: tools/setup/bundle_size failed; run it to see why').trimEnd().split('\n');
}
