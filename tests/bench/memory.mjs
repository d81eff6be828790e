// The memory that long requests take: the peak of workerd's resident memory while turns with one text artifact run, and
// while a short turn sends a long conversation anew, each in a process of its own, and what is left of it.
// `node tests/bench/memory.mjs` measures the Worker in build/, or in the directory that the variable BUILD_DIR names.
// Owns sampling; the Worker and the model service are those of the end-to-end tests.
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { cpuMs } from './process_cost.mjs';
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

const inMiB = (bytes) => `${Math.round(bytes / MIB)} MiB`;
const listed = (text) => text.split(',').filter(Boolean);
const artifact = (megabytes) => ({
  RelativePath: 'src',
  FileName: 'a.js',
  Contents: LINE.repeat(Math.ceil((megabytes * 1e6) / LINE.length)),
  Origin: 'ide',
});

/** Runs `work` in a process that has served a turn; resolves to what it cost, as one line. */
async function costOf(rig, work) {
  rig.model.script(answer(text('Warm.')));
  await rig.post(userTurn());
  await pause(500);
  const pid = workerd();
  // Forgets the peak so far.
  writeFileSync(`/proc/${pid}/clear_refs`, '5');
  const [before, cpu, from] = [field(pid, 'VmRSS'), cpuMs(pid), performance.now()];
  const statuses = await work();
  const [peak, tookMs, tookCpuMs] = [field(pid, 'VmHWM'), performance.now() - from, cpuMs(pid) - cpu];
  await pause(1000);
  const left = field(pid, 'VmRSS');
  return `${statuses.join(' ')}; before ${inMiB(before)}, peak ${inMiB(peak)} (+${inMiB(peak - before)}), afterwards ${inMiB(left)}; ${Math.round(tookMs)} ms, of CPU ${Math.round(tookCpuMs)} ms`;
}

async function withRig(options, work) {
  const rig = new Rig({ vars: { MAX_BODY_BYTES: String(32 * MIB), BODY_TIMEOUT_MS: '60000' }, ...options });
  await rig.start();
  try {
    await work(rig);
  } finally {
    await rig.dispose();
  }
}

for (const size of listed(process.env.SIZES ?? '1x1,5x1,10x1,20x1,8x4')) {
  const [megabytes, atOnce] = size.split('x').map(Number);
  await withRig({}, async (rig) => {
    const cost = await costOf(rig, () =>
      Promise.all(
        Array.from({ length: atOnce }, async () => {
          rig.model.script(answer(text('Done.')));
          return (await rig.post(userTurn({ InputArtifacts: [artifact(megabytes)] }))).status;
        }),
      ),
    );
    console.log(`${atOnce} x ${megabytes} MB: ${cost}`);
  });
}

// Turns of 8 MB each, and then a short one that sends them all again: in `stored` because the model service has lost the
// response that it continues, in `replay` because every call does.
for (const history of listed(process.env.HISTORIES ?? 'stored:9,replay:9')) {
  const [Continuation, turns] = history.split(':');
  const catalog = ({ AgentContexts }) => Object.assign(AgentContexts.default, { Continuation });
  await withRig({ catalog }, async (rig) => {
    const { SessionId } = userTurn();
    const turn = async (TurnId, more) => {
      rig.model.script(answer(text('Done.')));
      return (await rig.post({ SessionId, TurnId, Instruction: 'Go on.', ...more })).status;
    };
    for (let number = 0; number < turns; number += 1) {
      const status = await turn(`turn-${number}`, { InputArtifacts: [artifact(8)] });
      if (status !== 200) throw new Error(`turn ${number}: status ${status}`);
      rig.model.requests.length = 0;
    }
    rig.model.forgetResponses();
    await rig.restart();
    const cost = await costOf(rig, async () => [await turn('last')]);
    const sent = JSON.stringify(rig.model.bodies.at(-1)).length;
    console.log(`${Continuation}, ${turns} turns of 8 MB, ${Math.round(sent / 1e6)} MB sent again: ${cost}`);
  });
}
process.exit();
