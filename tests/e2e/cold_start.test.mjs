// What a cold start costs, which is what the size of the bundle is paid with: the processor time of a fresh process until
// its first answer, beside that of the least possible Worker (tests/bench/workers/floor.mjs). A ratio, since a machine's
// speed is no matter of the code; of processor time, since other work on the machine takes none of it; and of the least of
// some starts each, since other work makes a start dearer (it shares caches and cores) and none cheaper.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTENDERS } from '../bench/contenders.mjs';
import { ModelService } from '../bench/model_service.mjs';
import { MEASURABLE } from '../bench/process_cost.mjs';
import { Running } from '../bench/running.mjs';
import { Load } from '../bench/workloads.mjs';

const STARTS = 5;
/** 1.3 times the most that was measured (5.1 to 6.3): a change that makes the first answer that much dearer is found. */
const MOST = 8;
/** Starts of the floor that differ by more than this factor are no floor. */
const DISTURBED = 1.5;

test('the first answer of a cold process costs little more than that of the least possible Worker', { skip: !MEASURABLE && 'this system tells no processor time' }, async (t) => {
  const model = await ModelService.start();
  const load = new Load(model);
  const contenders = ['floor', 'aptix-edge'].map((wanted) => CONTENDERS.find(({ name }) => name === wanted));
  const costs = contenders.map(() => []);
  try {
    await model.answer({ deltas: 20 });
    for (let start = 0; start < STARTS; start += 1) {
      for (const [index, described] of contenders.entries()) {
        const running = await Running.start(described, model.url, { workerd: 'pinned' });
        try {
          await load.turn(running, { SessionId: `cold-${start}`, TurnId: 'turn-1', Instruction: 'Say what is known.' });
          costs[index].push(running.cpuMs);
        } finally {
          await running.dispose();
        }
      }
    }
  } finally {
    model.close();
  }
  assert.deepEqual(load.wrongs, []);
  const [floor, own] = costs.map((list) => Math.min(...list));
  // The least possible Worker does the same each time, so what differs is the machine's.
  const spread = Math.max(...costs[0]) / Math.min(...costs[0]);
  if (own > MOST * floor && spread > DISTURBED) return t.skip(`the machine is busy: the floor differs by a factor of ${spread.toFixed(1)}`);
  t.diagnostic(`${own.toFixed(0)} ms, ${(own / floor).toFixed(2)} times the ${floor.toFixed(0)} ms of the floor`);
  return assert.ok(own <= MOST * floor, `${own} ms are more than ${MOST} times ${floor} ms`);
});
