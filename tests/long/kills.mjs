// The load with kills: CLIENTS (24) clients of two tenants talk, use tools, cancel, erase and send documents, while the
// Worker's process is ended at KILLS (30) random moments and started again on the same storage; a part of `make test-long`.
//
// A client that loses its answer sends the same request again. It fails when an outcome is another than was due, and when
// what was acknowledged is not there any more: after each start and at the end every acknowledged outcome is asked for
// again, byte for byte. The seed is printed at the beginning (APTIX_SEED repeats one).
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { eventually } from '../e2e/harness.mjs';
import { Random } from '../e2e/hostile.mjs';
import { RememberingModel } from '../e2e/remembering_model.mjs';
import { Survivor } from './survivor.mjs';
import { keyOf, loadedRig } from './loaded_rig.mjs';

const CLIENTS = Number(process.env.CLIENTS ?? 24);
const KILLS = Number(process.env.KILLS ?? 30);
const SEED = Number(process.env.APTIX_SEED ?? Date.now() % 1_000_000);
const TENANTS = ['one', 'two'];
/** The longest time from a start to the next kill, in ms. */
const LONGEST_MS = 3000;

console.log(`load with kills: ${CLIENTS} clients, ${KILLS} kills, APTIX_SEED=${SEED}`);
const random = new Random(SEED);
const model = await RememberingModel.start(new Random(SEED));
Object.assign(model, { longMs: 200 });
const rig = await loadedRig(model, TENANTS, 500);

const [met, faults] = [{}, []];
const counted = (what, number = 1) => {
  met[what] = (met[what] ?? 0) + number;
};
let isOver = false;
const clients = Array.from({ length: CLIENTS }, (_, number) => {
  const key = keyOf(TENANTS[number % TENANTS.length]);
  return new Survivor({ url: () => rig.url, key, number, random: new Random(SEED * 1000 + number), counted });
});
const running = clients.map(async (client) => {
  try {
    while (!isOver && faults.length === 0) await client.act();
  } catch (fault) {
    faults.push(`client ${client.number}: ${fault.stack}`);
  }
});

try {
  for (let kill = 1; kill <= KILLS && faults.length === 0; kill += 1) {
    await pause(random.below(random.of([100, 800, LONGEST_MS])));
    await rig.crash();
    rig.clearAnswers();
    if (kill % 10 === 0) console.log(`  ${kill} kills, ${model.calls} model calls`);
    // Each client asks before it goes on; now and then all are asked while the load goes on.
    for (const client of clients) client.hasToLookBack = true;
  }
  isOver = true;
  await Promise.all(running);
  assert.ok(faults.length === 0, `${faults.length} clients failed, first ${faults[0]}`);
  await rig.crash();
  for (const client of clients) await client.lookBack();
  for (const client of clients) await client.erase();
  assert.deepEqual(model.refusals, [], 'requests that the model service refused');
  await eventually(() => model.open === 0, 'no call of the model goes on');
  await eventually(async () => (await rig.tablesOf('SessionObject')).length === 0, 'no table of a session is left');
  assert.deepEqual(await rig.files(), []);
  console.log(`${model.calls} model calls:`);
  for (const [what, number] of Object.entries(met).sort()) console.log(`  ${what.padEnd(44)} ${number}`);
  for (const what of ['turn', 'turn that lost its answer', 'session erased', 'turn cancelled', 'documents sent', 'outcome asked for again']) {
    assert.ok(met[what] > 0, `it never happened: ${what}`);
  }
  console.log('load with kills: everything held');
} catch (fault) {
  isOver = true;
  console.error(`load with kills FAILED, APTIX_SEED=${SEED}: ${fault.stack}`);
  process.exitCode = 1;
} finally {
  await rig.dispose();
  await model.close();
}
process.exit();
