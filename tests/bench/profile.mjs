// On what a turn's processor time is spent, by kinds of work: `node tests/bench/profile.mjs`, on Linux with `perf`.
// LOAD names the kind of turns, `json` unless it is set, or `cold`: a process from its start to its first response, for
// which `perf` needs the right to see the whole machine. Contenders and variables are those of `make bench`.
//
// A sample counts for the first kind that fits: by the function that ran where that is compiled code of the Worker,
// otherwise by the runtime's functions above it. The profiler makes every turn dearer, crossings most, so figures of
// one run are compared with each other and with no others.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { CONTENDERS } from './contenders.mjs';
import { COLD_ANSWER, startOnce } from './measurements.mjs';
import { ModelService } from './model_service.mjs';
import { Running } from './running.mjs';
import { LOADS, Load } from './workloads.mjs';

const KEY = process.env.LOAD ?? 'json';
const COLD = { key: 'cold', says: "a process's start and its first turn, JSON, 20 deltas", answer: COLD_ANSWER };
const STARTS = 20;
/** Turns before those that count, so that V8 has optimised what it does in a process of some age. */
const WARM_UP = 1500;
const TURNS = Number(process.env.TURNS ?? 1500);
const SAMPLES_PER_S = 4999;
/** `perf` reads the names of compiled functions from a file of V8's; V8's own log is left out. */
const V8_FLAGS = ['--perf-basic-prof', '--no-logfile-per-isolate', '--logfile=/dev/null'];
/** The time that `perf` takes until it counts, in ms. */
const ATTACHED_MS = 1000;

const THREADS = 'V8 compiling, on threads of its own';
const WASM = { liftoff: 'WebAssembly, compiled quickly', turbofan: 'WebAssembly, optimised' };
const JAVASCRIPT = "JavaScript, and V8's own code between it, WebAssembly and the runtime";
const REST = 'the rest of the runtime and the kernel';
/** Kinds of the runtime's work, by the functions that the stack of a sample has. */
const KINDS = [
  ['checking the module', /DecodeWasmModule|ValidateFunctions/],
  ['compiling functions when they are first called', /CompileLazy/],
  ['SQLite: statements, files, commits', /sqlite|SqlStorage|unixOpen/i],
  ['the alarm', /alarm/i],
  ['the request to the model service', /fetchImpl|api::fetch|HttpClient/],
  ['timers', /timeout/i],
  ['streams and bodies', /ReadableStream|WritableStream|IdentityTransform|Pump|tee|byob/i],
  ['headers, requests and responses', /workerd::api::(Headers|Request|Response|Body)/],
  ['the call of the object', /DurableObject|Actor/],
  ['taking the request', /HttpServer|HttpService/],
  ['collecting garbage', /Heap::|Scaveng|MarkCompact|cppgc/],
  ['promises and locks', /microtask|AsyncLock|runInLock/i],
];

const ALL = [...LOADS, COLD];
const work = ALL.find(({ key }) => key === KEY);
if (!work) throw new Error(`LOAD names ${KEY}; there are ${ALL.map(({ key }) => key).join(', ')}`);
try {
  execFileSync('perf', ['--version']);
} catch {
  throw new Error('perf is missing; Linux distributions have it in a package of that name or in linux-perf');
}

const model = await ModelService.start();
const load = new Load(model);
await model.answer(work.answer);
const profiles = [];
for (const contender of CONTENDERS) profiles.push(await (work === COLD ? profiledStarts : profiled)(contender));
model.close();
print(profiles);
process.exit(load.wrongs.length > 0 ? 1 : 0);

/** `{name, us}`: microseconds of a turn by kind. */
async function profiled(described) {
  const running = await Running.start(described, model.url, { v8Flags: V8_FLAGS });
  try {
    await load.batch(running, { ...work, turns: WARM_UP });
    const us = await during(() => load.batch(running, { ...work, turns: TURNS }), TURNS, ['-p', running.pid]);
    return { name: running.name, us };
  } finally {
    rmSync(`/tmp/perf-${running.pid}.map`, { force: true });
    await running.dispose();
  }
}

/** `{name, us}`: microseconds of a start by kind. */
async function profiledStarts(described) {
  const starts = async () => {
    for (let number = 0; number < STARTS; number += 1) await startOnce(load, model, described, number);
  };
  return { name: described.name, us: await during(starts, STARTS, ['-a']) };
}

/** Microseconds by kind that `work` takes, divided by `parts`. `seen` are perf's words for whose work it is. */
async function during(work, parts, seen) {
  const file = path.join(os.tmpdir(), `aptix-edge-${process.pid}.perf`);
  try {
    const perf = spawn('perf', ['record', '-F', SAMPLES_PER_S, '-e', 'cpu-clock', '-g', ...seen, '-o', file], { stdio: 'ignore' });
    await pause(ATTACHED_MS);
    await work();
    perf.kill('SIGINT');
    await once(perf, 'exit');
    const us = new Map();
    for await (const kind of samples(file)) us.set(kind, (us.get(kind) ?? 0) + 1e6 / SAMPLES_PER_S / parts);
    return us;
  } finally {
    rmSync(file, { force: true });
  }
}

/** The kind of each sample. */
async function* samples(file) {
  const script = spawn('perf', ['script', '-i', file, '-F', 'comm,ip,sym,dso'], { stdio: ['ignore', 'pipe', 'ignore'] });
  let thread;
  let frames = [];
  for await (const line of createInterface(script.stdout)) {
    if (line === '') {
      if (thread !== undefined && (work !== COLD || /workerd|V8/.test(thread))) yield kindOf(thread, frames);
      [thread, frames] = [undefined, []];
    } else if (thread === undefined) thread = line;
    else frames.push(line);
  }
}

function kindOf(thread, [top = '', ...above]) {
  if (/^\s*V8/.test(thread)) return THREADS;
  if (/perf-\d+\.map/.test(top)) return WASM[/-(liftoff|turbofan)\b/.exec(top)?.[1]] ?? JAVASCRIPT;
  if (/\bBuiltins_/.test(top)) return JAVASCRIPT;
  const stack = [top, ...above].join('\n');
  return KINDS.find(([, named]) => named.test(stack))?.[0] ?? REST;
}

function print(profiles) {
  const kinds = [...Object.values(WASM), JAVASCRIPT, THREADS, ...KINDS.map(([kind]) => kind), REST];
  const width = Math.max(...kinds.map((kind) => kind.length));
  const row = (title, cells) => console.log([title.padEnd(width), ...cells.map((cell) => String(cell).padStart(11))].join(' '));
  row(`µs of ${work === COLD ? '' : 'a turn: '}${work.says}`, profiles.map(({ name }) => name));
  for (const kind of kinds.filter((kind) => profiles.some(({ us }) => us.has(kind)))) {
    row(kind, profiles.map(({ us }) => Math.round(us.get(kind) ?? 0)));
  }
  row('all of it', profiles.map(({ us }) => Math.round([...us.values()].reduce((a, b) => a + b, 0))));
}
