// What a plain turn does, as exact counts: statements with their rows, timers, bytes that are copied, and each crossing
// between WebAssembly and the runtime by name. A feature that makes every turn dearer is seen in its own change.
//
// `UPDATE_GOLDENS=1` writes tests/goldens/turn_counts.json anew. The counts are those of the release build; they depend
// on no time (counted_worker.mjs), and what is counted is what most of five equal turns do.
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { COUNTS, crossings } from './counted_worker.mjs';
import { resultOf, rigForFile } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const GOLDEN = new URL('../goldens/turn_counts.json', import.meta.url);
const UPDATE = Boolean(process.env.UPDATE_GOLDENS);
/** Each kind of turn by the name that it has in the file. A follow-up is the turn of a session that has had others. */
const KINDS = {
  'a follow-up, JSON': { fresh: false, Streaming: false },
  'a new session, JSON': { fresh: true, Streaming: false },
  'a follow-up, streamed': { fresh: false, Streaming: true },
};
const TURNS = 5;
/** A turn is done when nothing was counted for this long, in ms. */
const QUIET_MS = 50;

// An alarm that rings during a turn would count.
const rig = rigForFile({ counted: true, vars: { TURN_ALARM_MS: '3600000' } });
const golden = UPDATE ? {} : JSON.parse(await readFile(GOLDEN, 'utf8'));

for (const [kind, { fresh, Streaming }] of Object.entries(KINDS)) {
  test(`${kind}: its statements, rows, timers, copies and crossings`, async (t) => {
    rig.model.otherwise(answer(text('One', ' word', ' after', ' the', ' other.')).with({ atOnce: true }));
    const turn = async () => {
      const body = { ...ids(fresh), Instruction: 'One more.', Streaming };
      await countsOf();
      if (Streaming) await (await rig.stream(body)).end();
      else resultOf(await rig.post(body));
      return countsOf();
    };
    // The first turns of a process make buffers and callbacks that later ones use again.
    for (let number = 0; number < TURNS; number += 1) await turn();
    const seen = [];
    for (let number = 0; number < TURNS; number += 1) seen.push(await turn());
    const counts = mostly(seen);
    const calls = crossings(counts);
    t.diagnostic(`${calls.out} calls out of WebAssembly, ${calls.in} into it`);
    if (UPDATE) {
      golden[kind] = counts;
      await writeFile(GOLDEN, `${JSON.stringify(golden, null, 1)}\n`);
      return;
    }
    const differences = changed(golden[kind] ?? {}, counts);
    assert.equal(differences.length, 0, [
      `${kind}, does other work than before:`,
      ...differences.map(({ name, before, now }) => `  ${name.padEnd(48)} ${String(before).padStart(6)} before, ${now} now`),
      'Every turn pays for this. Where the change is meant, write the counts anew, and commit them with it:',
      '  make build && UPDATE_GOLDENS=1 node_modules/.bin/node --test tests/e2e/turn_counts.test.mjs',
    ].join('\n'));
  });
}

let serial = 0;
/** Ids of one length, since their bytes are counted. */
function ids(fresh) {
  serial += 1;
  const number = String(serial).padStart(6, '0');
  return { SessionId: fresh ? `session-${number}` : 'session-000000', TurnId: `turn-${number}` };
}

/** What was counted since the last call, once nothing more is. */
async function countsOf() {
  const asked = async () => (await fetch(new URL(COUNTS, rig.url))).json();
  for (let counts = await asked(); ; ) {
    await pause(QUIET_MS);
    const more = await asked();
    if (flat(more).length === 0) return counts;
    counts = added(counts, more);
  }
}

/** Of each count what most of the turns agree on; names in alphabetical order. */
function mostly(turns) {
  const tables = turns.map((turn) => new Map(flat(turn)));
  const names = [...new Set(tables.flatMap((table) => [...table.keys()]))].sort();
  const result = {};
  for (const name of names) {
    const values = tables.map((table) => table.get(name) ?? 0);
    const often = (value) => values.filter((other) => other === value).length;
    const value = values.toSorted((one, other) => often(other) - often(one))[0];
    if (value !== 0) put(result, name, value);
  }
  return result;
}

function changed(before, now) {
  const [was, is] = [new Map(flat(before)), new Map(flat(now))];
  return [...new Set([...was.keys(), ...is.keys()])]
    .map((name) => ({ name, before: was.get(name) ?? 0, now: is.get(name) ?? 0 }))
    .filter((one) => one.before !== one.now);
}

/** A tree of numbers as pairs of a path and its number. */
function flat(tree, path = []) {
  return Object.entries(tree).flatMap(([name, value]) =>
    typeof value === 'number' ? [[[...path, name].join(' › '), value]] : flat(value, [...path, name]),
  );
}

function put(tree, name, value) {
  const path = name.split(' › ');
  const last = path.pop();
  path.reduce((inner, part) => (inner[part] ??= {}), tree)[last] = value;
}

function added(one, other) {
  const all = structuredClone(one);
  const before = new Map(flat(one));
  for (const [name, value] of flat(other)) put(all, name, (before.get(name) ?? 0) + value);
  return all;
}
