// What a request costs at its limits: processor time and memory of each kind, as the rows of the table in docs/performance.md. `make
// bench-limits` runs it; KINDS=scope,bodies measures those alone.
//
// Each kind runs in a workerd of its own, on what another one has prepared for it, after a small turn has warmed it up. Processor time
// and the growth of resident memory, at its most and a second later, are the process's, so they hold the runtime's and
// Miniflare's part; the WebAssembly memory, which never shrinks, is that of the Worker alone.
import os from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { Neighbour, addNeighbour } from '../e2e/neighbour.mjs';
import { COSTLY, KEY, WRONG_CATALOG, addTools } from '../e2e/costly_requests.mjs';
import { COSTLY_RESPONSES } from '../e2e/costly_responses.mjs';
import { Rig, apiKeys, userTurn } from '../e2e/harness.mjs';
import { answer, text } from '../e2e/scripted_model.mjs';
import { MEASURABLE, cpuMs, forgetMostResident, mostResidentBytes, residentBytes } from './process_cost.mjs';

const MIB = 1024 * 1024;
const KINDS = process.env.KINDS?.split(',');
const NEIGHBOUR = 'key-of-the-neighbour';
const vars = { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'hostile', [NEIGHBOUR]: 'neighbour' }) };
const WRONG = {
  key: 'catalog',
  says: 'a request under an invalid catalog of 1.5 MB',
  catalog: WRONG_CATALOG,
  run: (rig) => rig.post(userTurn(), { key: KEY }),
};

if (!MEASURABLE) throw new Error('This system has no /proc: nothing can be measured.');
console.error(`load of the machine: ${os.loadavg().map((load) => load.toFixed(1)).join(', ')} on ${os.cpus().length} cores`);
console.log('| a request at its limits | processor time | `GET /health` waits | memory, at most | … a second later | WebAssembly memory |');
console.log('|---|---|---|---|---|---|');
for (const kind of [...COSTLY, ...COSTLY_RESPONSES, WRONG]) if (KINDS?.includes(kind.key) ?? true) console.log(await row(kind));
console.error(`load of the machine: ${os.loadavg().map((load) => load.toFixed(1)).join(', ')}`);
process.exit();

/**
 * One row. The request runs twice, alone for its cost, and beside a neighbour for the longest time that `GET /health` had
 * to wait.
 */
async function row({ says, catalog, prepare, run }) {
  const neighbour = await Neighbour.start();
  const changed = (document, services) => {
    addTools(document, services);
    addNeighbour(document, neighbour.url);
  };
  const rig = new Rig({ measured: true, vars, catalog: catalog ?? changed });
  await rig.start();
  try {
    const prepared = await prepare?.(rig, 1);
    // A process of its own, so that what preparing took does not count.
    await rig.restart();
    rig.model.otherwise(answer(text('Warm.')));
    await rig.post(userTurn(), { key: KEY });
    rig.clear();
    await pause(1000);
    const pid = rig.processId;
    forgetMostResident(pid);
    const before = { cpu: cpuMs(pid), resident: residentBytes(pid) };
    await run(rig, prepared);
    const cpu = cpuMs(pid) - before.cpu;
    const most = mostResidentBytes(pid) - before.resident;
    await pause(1000);
    const after = residentBytes(pid) - before.resident;
    const wasm = (await rig.held()).wasmBytes;
    rig.clear();
    const { healths } = await neighbour.watch(rig, NEIGHBOUR, () => run(rig, prepared));
    const longest = Math.max(...healths.map((probe) => probe.ms));
    return `| ${says} | ${inMs(cpu)} | ${inMs(longest)} | ${inMiB(most)} | ${inMiB(after)} | ${inMiB(wasm)} |`;
  } finally {
    neighbour.close();
    await rig.dispose();
  }
}

function inMs(ms) {
  return ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`;
}

function inMiB(bytes) {
  return `${Math.max(0, Math.round(bytes / MIB))} MiB`;
}
