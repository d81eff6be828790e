// The measurements, one function each: the contenders that run, their order, and the figures that are kept.
// Contenders take turns within a round, so that other load on the machine affects all of them alike.
import { difference, median, quantile, ratio } from './figures.mjs';
import { CONTENDERS } from './contenders.mjs';
import { Running } from './running.mjs';
import { COUNTED, COUNTS, crossings } from '../e2e/counted_worker.mjs';

/**
 * CPU time per turn under one load: `{[name]: {cpuMs, ratio, wallMs, modelBusy, clientBusy, rounds}}`, medians over
 * rounds; each ratio is computed within its round.
 */
export async function cost(load, model, running, work, rounds) {
  // To warm up, which need not take as long as a slow stream.
  const { gapMs = 0 } = work.answer;
  await model.answer({ ...work.answer, gapMs: Math.min(gapMs, 5) });
  for (const contender of running) await load.batch(contender, { ...work, turns: work.turns / 2 });
  await model.answer(work.answer);
  const seen = new Map(running.map(({ name }) => [name, []]));
  for (let round = 0; round < rounds; round += 1) {
    for (const contender of rotated(running, round)) {
      const { answers, ...batch } = await load.batch(contender, work);
      seen.get(contender.name).push(batch);
    }
  }
  const floor = seen.get(running[0].name);
  return each(running, ({ name }) => {
    const batches = seen.get(name);
    const middle = (of) => median(batches.map(of));
    return {
      cpuMs: middle(({ cpuMs }) => cpuMs),
      ratio: median(batches.map(({ cpuMs }, round) => ratio(cpuMs, floor[round].cpuMs))),
      wallMs: middle(({ wallMs, turns }) => wallMs / turns),
      modelBusy: middle(({ modelBusy }) => modelBusy),
      clientBusy: middle(({ clientBusy }) => clientBusy),
      rounds: batches.map(({ cpuMs }) => cpuMs),
    };
  });
}

/**
 * What a listener to spans adds to a turn, of the contenders that `names` has: `{[name]: {cpuMs, heardMs, ratio, addedMs,
 * events}}`. Each contender runs twice, once with a listener, and a ratio or a difference is one of two batches of the
 * same round; `events` is the number of events of a turn.
 */
export async function heard(load, model, names, work, rounds) {
  await model.answer(work.answer);
  const pairs = [];
  const all = () => pairs.flatMap(({ alone, listened }) => [alone, listened]);
  try {
    for (const described of CONTENDERS.filter(({ name }) => names.test(name))) {
      const pair = { name: described.name, seen: [] };
      pairs.push(pair);
      pair.alone = await Running.start(described, model.url);
      pair.listened = await Running.start(described, model.url, { heard: true });
    }
    for (const contender of all()) await load.batch(contender, work);
    for (let round = 0; round < rounds; round += 1) {
      for (const { alone, listened, seen } of rotated(pairs, round)) {
        const before = await listened.events();
        const spent = new Map();
        for (const contender of rotated([alone, listened], round)) {
          spent.set(contender, (await load.batch(contender, work)).cpuMs);
        }
        const events = ((await listened.events()) - before) / work.turns;
        seen.push({ cpuMs: spent.get(alone), heardMs: spent.get(listened), events });
      }
    }
  } finally {
    for (const contender of all()) await contender?.dispose();
  }
  return each(pairs, ({ seen }) => ({
    cpuMs: median(seen.map(({ cpuMs }) => cpuMs)),
    heardMs: median(seen.map(({ heardMs }) => heardMs)),
    ratio: median(seen.map(({ cpuMs, heardMs }) => ratio(heardMs, cpuMs))),
    addedMs: median(seen.map(({ cpuMs, heardMs }) => difference(heardMs, cpuMs))),
    events: median(seen.map(({ events }) => events)),
    rounds: seen,
  }));
}

/**
 * The delay of deltas, and of the first one, with `atOnce` streams of `deltas`, `gapMs` apart: `{[name]: {p50Ms,
 * p99Ms, firstMs, firstOverDirectMs}}`. `direct` is a connection to the model service itself.
 */
export async function latency(load, model, running, { key, atOnce, deltas, gapMs, fresh }, rounds) {
  const answer = { deltas, gapMs, stamped: true };
  const work = { key, atOnce, turns: atOnce, Streaming: true, fresh, answer };
  await model.answer(work.answer);
  const all = [{ name: 'direct', raw: true, url: `${model.url}/responses`, cpuMs: null }, ...running];
  const seen = new Map(all.map(({ name }) => [name, []]));
  for (let round = -1; round < rounds; round += 1) {
    for (const contender of rotated(all, round + 1)) {
      const { answers } = await load.batch(contender, work);
      if (round >= 0) seen.get(contender.name).push(...answers); // The first round only warms up.
    }
  }
  const first = (name) => median(seen.get(name).map(({ firstMs }) => firstMs ?? null));
  return each(all, ({ name }) => {
    const relay = seen.get(name).flatMap(({ relayMs }) => relayMs ?? []);
    return {
      p50Ms: quantile(relay, 0.5),
      p99Ms: quantile(relay, 0.99),
      firstMs: first(name),
      firstOverDirectMs: difference(first(name), first('direct')),
    };
  });
}

/**
 * Whether turns become more expensive as their session grows: `{[name]: {firstCpuMs, lastCpuMs, ratio, rows}}`, from
 * the first 50 and the last 50 turns of sessions of 300; `rows` is the rows of the last turn.
 */
export async function growth(load, model, running, sessions) {
  await model.answer({ deltas: 20 });
  const seen = new Map(running.map(({ name }) => [name, []]));
  const rows = {};
  for (let number = 0; number < sessions; number += 1) {
    for (const contender of running) {
      const stretch = (turns) => load.batch(contender, { key: `long-${number}`, atOnce: 1, turns });
      const first = await stretch(50);
      await stretch(200);
      const last = await stretch(50);
      seen.get(contender.name).push([first.cpuMs, last.cpuMs]);
      rows[contender.name] = contender.rows ?? rowsOf(last.answers.at(-1));
    }
  }
  return each(running, ({ name }) => {
    const pairs = seen.get(name);
    return {
      firstCpuMs: median(pairs.map(([first]) => first)),
      lastCpuMs: median(pairs.map(([, last]) => last)),
      ratio: median(pairs.map(([first, last]) => ratio(last, first))),
      rows: rows[name],
    };
  });
}

/**
 * Resident memory per session: `{[name]: {bytesPerSession, atStartBytes}}`, the growth over `sessions` that stay in
 * memory.
 */
export async function memory(load, model, sessions) {
  await model.answer({ deltas: 20 });
  const seen = {};
  for (const described of CONTENDERS) {
    const contender = await Running.start(described, model.url, { lasting: true });
    try {
      const begin = (turns) => load.batch(contender, { key: 'memory', atOnce: 8, turns, fresh: true });
      const atStartBytes = contender.residentBytes;
      await begin(200);
      const before = contender.residentBytes;
      await begin(sessions);
      const grown = difference(contender.residentBytes, before);
      seen[described.name] = { bytesPerSession: grown === null ? null : grown / sessions, atStartBytes };
    } finally {
      await contender.dispose();
    }
  }
  return seen;
}

/**
 * The calls between WebAssembly and the runtime that a follow-up turn makes, of the contenders that have any:
 * `{[name]: {json, stream}}`, each `{out, in}`, the median of nine turns.
 */
export async function crossingsOfTurns(load, model) {
  await model.answer({ deltas: 20 });
  const seen = {};
  for (const described of CONTENDERS.filter(({ name }) => /aptix-edge|against/.test(name))) {
    const modules = async () => [...COUNTED, ...(await described.modules())];
    const contender = await Running.start({ ...described, modules }, model.url);
    const counts = async () => crossings(await (await fetch(new URL(COUNTS, contender.url))).json());
    const follow = async (Streaming) => {
      const turns = [];
      for (let number = 0; number < 9; number += 1) {
        await load.batch(contender, { key: 'counted', atOnce: 1, turns: 1, Streaming });
        turns.push(await counts());
      }
      return { out: median(turns.map((turn) => turn.out)), in: median(turns.map((turn) => turn.in)) };
    };
    try {
      await follow(false); // The first turns make buffers and callbacks that later ones use again.
      seen[described.name] = { json: await follow(false), stream: await follow(true) };
    } finally {
      await contender.dispose();
    }
  }
  return seen;
}

/**
 * The first response of a fresh process: `{[name]: {startMs, answerMs, overFloorMs, cpuMs, cpuOverFloorMs}}`. `startMs`
 * is the time from the process's start, loading of the modules included, until it takes connections; `answerMs` the time
 * from then to the response; `overFloorMs` is of both, as is `cpuMs`, the CPU time.
 */
export async function coldStart(load, model, starts) {
  await model.answer(COLD_ANSWER);
  const seen = new Map(CONTENDERS.map(({ name }) => [name, []]));
  for (let start = 0; start < starts; start += 1) {
    for (const described of rotated(CONTENDERS, start)) {
      seen.get(described.name).push(await startOnce(load, model, described, start));
    }
  }
  const middle = (name, of) => median(seen.get(name).map(of));
  const whole = ({ startMs, answerMs }) => (answerMs === null ? null : startMs + answerMs);
  const overFloor = (name, of) => difference(middle(name, of), middle(CONTENDERS[0].name, of));
  return each(CONTENDERS, ({ name }) => ({
    startMs: middle(name, (start) => start.startMs),
    answerMs: middle(name, (start) => start.answerMs),
    overFloorMs: overFloor(name, whole),
    cpuMs: middle(name, (start) => start.cpuMs),
    cpuOverFloorMs: overFloor(name, (start) => start.cpuMs),
  }));
}

/** What the model service answers the first turn of a process with. */
export const COLD_ANSWER = { deltas: 20 };

/** One start of a contender, its first response, and its end: `{startMs, answerMs, cpuMs}`. */
export async function startOnce(load, model, described, number) {
  const contender = await Running.start(described, model.url);
  try {
    const turn = { SessionId: `cold-${number}`, TurnId: 'turn-1', Instruction: 'Say what is known.' };
    const { ms } = await load.turn(contender, turn);
    return { startMs: contender.startMs, answerMs: ms ?? null, cpuMs: contender.cpuMs };
  } finally {
    await contender.dispose();
  }
}

const each = (named, figures) => Object.fromEntries(named.map((one) => [one.name, figures(one)]));

/** Rotates the list, so that each round begins with another contender. */
const rotated = (list, by) => list.map((_, index) => list[(index + by) % list.length]);

/** The floor reports its rows in response headers, since it writes no log. */
const rowsOf = ({ headers }) =>
  headers['rows-written'] === undefined
    ? null
    : { read: Number(headers['rows-read']), written: Number(headers['rows-written']) };
