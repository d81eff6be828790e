// The memory that long requests take: the peak of workerd's resident memory while turns with one text artifact run, each
// in a process of its own, and what is left of it. `node tests/bench/memory.mjs` measures the Worker in build/, or in
// the directory that the variable BUILD_DIR names.
// Owns sampling; the Worker and the model service are those of the end-to-end tests.
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { Rig, userTurn } from '../e2e/harness.mjs';
import { answer, text } from '../e2e/scripted_model.mjs';

const MIB = 1024 * 1024;
const LINE = 'export const total = (items) => items.reduce((sum, { price }) => sum + price, 0); // "sum"\n';

const workerd = () =>
  execFileSync('ps', ['--ppid', String(process.pid), '-o', 'pid=,comm='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
    .find(([, name]) => name?.startsWith('workerd'))?.[0];
const field = (pid, name) => Number(new RegExp(`^${name}:\\s+(\\d+)`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]) * 1024;

for (const [megabytes, atOnce] of (process.env.SIZES ?? '1x1,5x1,10x1,20x1,8x4').split(',').map((each) => each.split('x').map(Number))) {
  const rig = new Rig({ vars: { MAX_BODY_BYTES: String(32 * MIB), BODY_TIMEOUT_MS: '60000' } });
  await rig.start();
  try {
    rig.model.script(answer(text('Warm.')));
    await rig.post(userTurn());
    const pid = workerd();
    const before = field(pid, 'VmRSS');
    const Contents = LINE.repeat(Math.ceil((megabytes * 1e6) / LINE.length));
    const statuses = await Promise.all(
      Array.from({ length: atOnce }, async () => {
        rig.model.script(answer(text('Done.')));
        const InputArtifacts = [{ RelativePath: 'src', FileName: 'a.js', Contents, Origin: 'ide' }];
        return (await rig.post(userTurn({ InputArtifacts }))).status;
      }),
    );
    const peak = field(pid, 'VmHWM');
    await pause(1000);
    const left = field(pid, 'VmRSS');
    const inMiB = (bytes) => `${Math.round(bytes / MIB)} MiB`;
    console.log(`${atOnce} x ${megabytes} MB: ${statuses.join(' ')}; before ${inMiB(before)}, peak ${inMiB(peak)} (+${inMiB(peak - before)}), afterwards ${inMiB(left)}`);
  } finally {
    await rig.dispose();
  }
}
process.exit();
