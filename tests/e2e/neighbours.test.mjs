// One hostile request, and one hostile answer of a service, harms nobody else: while each kind runs at its limits, another
// tenant's plain turn and `GET /health` stay under twice their quiet time plus 250 ms, or the kind's own bound (an isolate
// has one thread for all). What is looked for is the stall of a second or more that one unbounded loop brings.
//
// The quiet time is measured right before, in the same process. What else runs on the machine delays a probe now and then;
// the Worker's own computing does so every time. So the worst probe of a round counts, and of the rounds the best one. A
// bound in milliseconds is that of the machine on which it was set: on a slower one it is longer by as much, and machines
// are compared behind each round that did not keep it, since one is slower while others use it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../bench/figures.mjs';
import { COSTLY, KEY, WRONG_CATALOG, addTools } from './costly_requests.mjs';
import { COSTLY_RESPONSES } from './costly_responses.mjs';
import { Rig, apiKeys } from './harness.mjs';
import { slowness } from './machine_speed.mjs';
import { Neighbour, addNeighbour } from './neighbour.mjs';

const NEIGHBOUR = 'key-of-the-neighbour';
const ROUNDS = 3;
const QUIET_MS = 300;
/** For so long nothing is done where a bound was not kept, in ms. */
const FLOOR_MS = 3000;
/**
 * The part of what a kind needs that is made here, since the whole of it takes minutes: a stall that grows with what is
 * stored shows at a quarter of its length. `make bench-limits` takes the whole.
 */
const SCALE = 0.25;

/** What a probe may take beside twice its quiet time, in ms. */
const MOST_MS = 250;

/**
 * Kinds that are known to hold the others up for longer, with their own bound, which is about thrice what they take: a
 * busy machine stretches it.
 */
const LONGER = {
  body: 500, // the pieces of its admission take 170 ms
  export: 350, // a turn of 3.5 MB is written in one piece, 110 ms
  bodies: 550, // two such pieces come between the steps of one turn, 180 ms
  documents: 375, // 100 documents of one request are cut and indexed between two probes, 125 ms
  steers: 500, // the notes of one submission are joined and sent in one piece, 165 ms
  tools: 650, // a result with 16 MB of files is read as JSON three times, each in one piece, 220 ms
  annotations: 450, // an event of 12 MB is read in one piece, 155 ms
  'huge-delta': 600, // an event of 8 MB is read, and its outcome stored and framed, in one piece, 200 ms
};

const vars = { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'hostile', [NEIGHBOUR]: 'neighbour' }) };
let [neighbour, rig] = [];

before(async () => {
  neighbour = await Neighbour.start();
  rig = new Rig({
    vars,
    catalog: (catalog, services) => {
      addTools(catalog, services);
      addNeighbour(catalog, neighbour.url);
    },
  });
  await rig.start();
  await neighbour.watch(rig, NEIGHBOUR, () => pause(QUIET_MS)); // Warms both of them up.
});
after(async () => {
  neighbour?.close();
  await rig?.dispose();
});

for (const { key, says, prepare, run } of [...COSTLY, ...COSTLY_RESPONSES]) {
  const stored = prepare?.length === 2 ? `, with ${SCALE} of what is stored` : '';
  test(`beside ${says.replace('… ', `${key}: `)}${stored}`, async (t) => {
    const prepared = await prepare?.(rig, SCALE);
    rig.clear();
    const work = async () => {
      await run(rig, prepared);
      rig.clear();
    };
    await undisturbed(t, rig, 200, work, LONGER[key]);
  });
}

test('beside requests under an invalid catalog of 1.5 MB', async (t) => {
  const wrong = new Rig({ vars, catalog: WRONG_CATALOG });
  await wrong.start();
  try {
    // No turn runs under it, and a neighbour's turn is told so as fast as ever.
    await undisturbed(t, wrong, 500, async () => {
      for (let left = 5; left > 0; left -= 1) {
        const got = await wrong.post({ SessionId: 's', TurnId: 't', Instruction: 'x' }, { key: KEY });
        assert.equal(got.json.Errors.at(0).ErrorCode, 'catalog_invalid');
      }
    });
  } finally {
    await wrong.dispose();
  }
});

/**
 * Holds the neighbour's probes of some rounds of `work` against its quiet time and `longer`, in ms. `status` is that of its
 * turns.
 */
async function undisturbed(t, beside, status, work, longer = MOST_MS) {
  const quiet = await neighbour.watch(beside, NEIGHBOUR, () => pause(QUIET_MS));
  let slower = 1;
  const mostOf = (kind) => 2 * quantile(times(quiet[kind]), 0.5) + longer * slower;
  const isKept = ({ turns, healths }) => turns <= mostOf('turns') && healths <= mostOf('healths');
  const rounds = [];
  while (rounds.length < ROUNDS) {
    const probes = await neighbour.watch(beside, NEIGHBOUR, work);
    assert.ok(probes.turns.every((probe) => probe.status === status), `turns gave ${[...new Set(probes.turns.map((probe) => probe.status))]}`);
    assert.ok(probes.healths.every((probe) => probe.status === 200));
    const [turns, healths] = [probes.turns, probes.healths].map((list) => Math.max(...times(list)));
    rounds.push({ turns, healths });
    if (isKept(rounds.at(-1))) break;
    slower = Math.max(slower, slowness());
    if (isKept(rounds.at(-1))) break;
  }
  const most = { turns: mostOf('turns'), healths: mostOf('healths') };
  // Where nothing at all is done beside it and a probe takes half of what is permitted, the machine is what holds it up.
  const isOver = ['turns', 'healths'].some((kind) => Math.min(...rounds.map((round) => round[kind])) > most[kind]);
  const floor = isOver ? await neighbour.watch(beside, NEIGHBOUR, () => pause(FLOOR_MS)) : quiet;
  const disturbed = ['turns', 'healths'].filter((kind) => isOver && Math.max(...times(floor[kind])) > most[kind] / 2);
  if (disturbed.length > 0) return t.skip('the machine is busy: a probe beside nothing is held up as well');
  for (const kind of ['turns', 'healths']) {
    const best = Math.min(...rounds.map((round) => round[kind]));
    const told = `${kind}: at most ${Math.round(most[kind])} ms, worst of each round ${rounds.map((round) => Math.round(round[kind])).join(', ')} ms`;
    t.diagnostic(told);
    assert.ok(best <= most[kind], told);
  }
  return undefined;
}

const times = (probes) => probes.map(({ ms }) => ms);
