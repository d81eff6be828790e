// The benchmark: `make bench`, or `make bench QUICK=1` for a run of a minute. It measures the cost that aptix-edge adds
// to the cheapest possible turn on this platform, next to the same work written by hand in JavaScript.
//
// Prints a table and writes build/bench.json. It judges responses, never speed: a wrong response is exit code 1.
// ONLY=json,burst runs those loads alone and nothing else; AGAINST=folder compares a second build of aptix-edge.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONTENDERS, Running } from './contender.mjs';
import { coldStart, cost, growth, latency, memory } from './measurements.mjs';
import { ModelService } from './model_service.mjs';
import { MEASURABLE } from './process_cost.mjs';
import { report } from './report.mjs';
import { LOADS, Load } from './workloads.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const EXTENT = process.env.QUICK
  ? { rounds: 2, latencyRounds: 1, sessions: 1, memorySessions: 200, starts: 3 }
  : { rounds: 21, latencyRounds: 3, sessions: 3, memorySessions: 1500, starts: 9 };
const ONLY = process.env.ONLY?.split(',');

for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => process.exit(130));
const running = [];
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
  for (const contender of running) await contender.dispose();
  model.close();
}
if (load.wrongs.length > 0) {
  console.error(`\nbench: ${load.wrongs.length} WRONG ANSWERS; the figures above are worth nothing`);
  process.exit(1);
}
process.exit(0);

async function measured() {
  const wanted = LOADS.filter(({ key }) => ONLY === undefined || ONLY.includes(key));
  if (wanted.length === 0) throw new Error(`ONLY names no load; there are ${LOADS.map(({ key }) => key).join(', ')}`);
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
    loads: [],
    latency: [],
  };
  for (const described of CONTENDERS) running.push(await Running.start(described, model.url));
  for (const work of wanted) {
    say(work.says);
    const { key, says, answer } = work;
    // A batch of paced responses takes long, and batches differ little from each other.
    const rounds = answer.gapMs ? Math.ceil(EXTENT.rounds / 3) : EXTENT.rounds;
    figures.loads.push({ key, says, figures: await cost(load, model, running, work, rounds) });
  }
  if (ONLY === undefined) {
    for (const atOnce of [1, 32]) {
      say(`latency, streams at once: ${atOnce}`);
      // A single stream gives few samples, so its run is short and repeated often.
      const [deltas, rounds] = atOnce === 1 ? [40, EXTENT.latencyRounds * 8] : [200, EXTENT.latencyRounds];
      figures.latency.push({ atOnce, figures: await latency(load, model, running, { atOnce, deltas, rounds }) });
    }
    say('sessions of 300 turns');
    figures.growth = await growth(load, model, running, EXTENT.sessions);
  }
  while (running.length > 0) await running.pop().dispose();
  if (ONLY === undefined) {
    say('memory per session');
    figures.memory = await memory(load, model, EXTENT.memorySessions);
    say('cold starts');
    figures.coldStart = await coldStart(load, model, EXTENT.starts);
    say('the bundle');
    figures.bundle = await bundle();
  }
  figures.wrongAnswers = load.wrongs.length;
  return figures;
}

/** The report of .ci/bundle_size on the upload, line by line. The benchmark accepts any size. */
async function bundle() {
  const run = promisify(execFile)(path.join(ROOT, '.ci/bundle_size'), { cwd: ROOT });
  const { stdout } = await run.catch((fault) => fault);
  return (stdout || 'bundle: .ci/bundle_size failed; run it to see why').trimEnd().split('\n');
}
