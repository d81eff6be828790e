// The mixed load: 80 clients of four tenants for MINUTES (8), each with a session of its own that it talks to, cuts,
// cancels, erases and begins anew; a part of `make test-long`. What a turn must say is known in advance.
//
// It fails when the Worker answers with a 5xx of its own, when a result is lost or another than was due, when a turn is in
// a state that its client cannot explain, when anything is left at the end, or when the Worker holds more and more in the
// second half: WebAssembly memory, references to objects of JavaScript, open files of objects. Whatever of the Worker's
// grows shows in one of these. The runtime's own memory grows with the turns of a process, as it does under an object of
// plain JavaScript (docs/performance.md); resident memory, which holds it, has the bound of RUNTIME_GROWTH alone.
// The figures are printed at the end, the seed (APTIX_SEED repeats one) at the beginning.
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../e2e/harness.mjs';
import { Random } from '../e2e/hostile.mjs';
import { RememberingModel } from '../e2e/remembering_model.mjs';
import { quantile } from '../bench/figures.mjs';
import { openFiles, residentBytes } from '../bench/process_cost.mjs';
import { Client } from './client.mjs';
import { keyOf, loadedRig } from './loaded_rig.mjs';

const MINUTES = Number(process.env.MINUTES ?? 8);
const CLIENTS = Number(process.env.CLIENTS ?? 80);
const SEED = Number(process.env.APTIX_SEED ?? Date.now() % 1_000_000);
const TENANTS = ['one', 'two', 'three', 'four'];
const SAMPLE_MS = 2000;
const MIB = 1024 * 1024;
/**
 * What the Worker holds, and how much more of it the last quarter may have than the third one: in parts, and besides. The
 * number of turns that happen to run at once moves all but the first.
 */
const HELD = [
  { key: 'wasmBytes', says: 'WebAssembly memory', growth: 1.05, besides: MIB, shown: inMiB },
  { key: 'references', says: 'references to objects', growth: 1.1, besides: 100, shown: String },
  { key: 'files', says: 'open files', growth: 1.1, besides: 20, shown: String },
];
/** The same for resident memory, the runtime's included. */
const RUNTIME_GROWTH = { key: 'rss', says: 'resident memory', growth: 1.25, besides: 8 * MIB, shown: inMiB };

console.log(`mixed load: ${CLIENTS} clients, ${MINUTES} minutes, APTIX_SEED=${SEED}`);
const model = await RememberingModel.start(new Random(SEED));
const rig = await loadedRig(model, TENANTS, 2000, { measured: true });

const [count, times, faults] = [{}, {}, []];
const watch = {
  counted: (what) => {
    count[what] = (count[what] ?? 0) + 1;
  },
  timed: (what, ms) => (times[what] ??= []).push(ms),
};
const until = performance.now() + MINUTES * 60_000;
const clients = Array.from({ length: CLIENTS }, (_, number) => {
  const random = new Random(SEED * 1000 + number);
  return new Client({ url: rig.url, key: keyOf(TENANTS[number % TENANTS.length]), number, random, model, watch });
});
const samples = [];
const sampling = (async () => {
  while (performance.now() < until) {
    await pause(SAMPLE_MS);
    const pid = rig.processId;
    samples.push({ rss: residentBytes(pid) ?? 0, files: openFiles(pid) ?? 0, ...(await rig.held()) });
    rig.clearAnswers();
    if (samples.length % 30 === 0) console.log(`  ${samples.length * SAMPLE_MS / 1000} s: ${shown(samples.at(-1))}, ${model.calls} model calls`);
  }
})();
await Promise.all(
  clients.map(async (client) => {
    try {
      while (performance.now() < until && faults.length === 0) await client.act();
      await client.erase();
    } catch (fault) {
      faults.push(`client ${client.number}: ${fault.stack}`);
    }
  }),
);
if (faults.length === 0) await sampling;

try {
  report();
  assert.ok(faults.length === 0, `${faults.length} clients failed, first ${faults[0]}`);
  assert.deepEqual(model.refusals, [], 'requests that the model service refused');
  await eventually(() => model.open === 0, 'no call of the model goes on');
  assert.deepEqual(await rig.files(), []);
  await eventually(async () => (await rig.tablesOf('SessionObject')).length === 0, 'no table of a session is left');
  const unknown = clients.reduce((sum, client) => sum + client.unknown, 0);
  assert.ok(model.leftovers <= unknown, `${model.leftovers} responses are left at the model service, receipts count ${unknown}`);
  for (const { key, says, growth, besides, shown: inWords } of [...HELD, RUNTIME_GROWTH]) {
    const values = samples.map((sample) => sample[key]);
    const quarter = Math.floor(values.length / 4);
    const [third, last] = [values.slice(2 * quarter, 3 * quarter), values.slice(3 * quarter)].map((part) => quantile(part, 0.5));
    console.log(`${says}: third quarter ${inWords(third)}, last quarter ${inWords(last)}, most ${inWords(Math.max(...values))}`);
    assert.ok(last <= third * growth + besides, `${says} grows in the second half`);
  }
  console.log('mixed load: everything held');
} catch (fault) {
  console.error(`mixed load FAILED, APTIX_SEED=${SEED}: ${fault.message}`);
  process.exitCode = 1;
} finally {
  await rig.dispose();
  await model.close();
}
process.exit();

function report() {
  console.log(`\n${model.calls} model calls, ${Object.values(count).reduce((sum, each) => sum + each, 0)} actions:`);
  for (const [what, number] of Object.entries(count).sort()) console.log(`  ${what.padEnd(44)} ${number}`);
  for (const [what, list] of Object.entries(times).sort()) {
    const at = (q) => `${Math.round(quantile(list, q))} ms`;
    console.log(`  ${what.padEnd(44)} p50 ${at(0.5)}, p99 ${at(0.99)}, most ${at(1)}`);
  }
}

function shown({ rss, wasmBytes, references, files }) {
  return `resident ${inMiB(rss)}, WebAssembly ${inMiB(wasmBytes)}, ${references} references, ${files} open files`;
}

function inMiB(bytes) {
  return `${(bytes / MIB).toFixed(1)} MiB`;
}
