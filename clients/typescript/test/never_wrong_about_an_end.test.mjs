// However a connection ends, and wherever a client is reloaded, a turn comes to the same final text, and each tool runs
// once for each call (interface §2, Delivery). Cuts are a sample of all bytes; APTIX_LONG_TESTS=1 cuts at every byte in
// every way. APTIX_SEED=n repeats one seed.
import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { eventually } from '../../../tests/e2e/harness.mjs';
import { Random } from '../../../tests/e2e/hostile.mjs';
import { Gate, answer, gated, text } from '../../../tests/e2e/scripted_model.mjs';
import { memoryStore } from '../dist/index.js';
import { CUTS, Proxy } from '../../../tests/clients/proxy.mjs';
import { Life, TURNS, View, asScripted, client, forEach, newLife, scriptedRig } from './turns.mjs';

const LONG = process.env.APTIX_LONG_TESTS !== undefined;
const AT_ONCE = 12;
const SEED = Number(process.env.APTIX_SEED ?? Date.now() % 1_000_000);
/** The cuts of each turn that are tried, unless all are. */
const SAMPLE = 30;
let rig, proxy;
before(async () => {
  rig = await scriptedRig({ KEEP_ALIVE_MS: '50' });
  proxy = await Proxy.before(rig.url);
});
after(async () => {
  await proxy?.close();
  await rig?.dispose();
});
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
  rig.model.otherwise(asScripted);
  rig.tools.on('/look', '{"found":1}');
  proxy.fault = () => undefined;
  proxy.requests.length = 0;
});

/** Loops over a turn; resolves to its events. */
async function looped(turn, view = new View()) {
  const events = [];
  for await (const event of turn) {
    events.push(event);
    view.take(event);
  }
  return { events, view };
}

for (const name of Object.keys(TURNS)) {
  test(`${name}: a turn without a fault`, async () => {
    const life = newLife(name);
    const turn = life.begin(client(rig.url));
    const { events, view } = await looped(turn);
    await life.check(turn);
    assert.equal(view.pauses, life.pauses);
    assert.deepEqual([view.text, turn.text], [life.final, life.final], 'the text that was streamed is the final one');
    assert.equal(events.at(-1).type, 'result');
  });
}

/** The length of all responses of the turn together, which is that of each life of it. */
async function lengthOf(name) {
  let bytes = 0;
  proxy.fault = () => ({ passed: (more) => (bytes += more) });
  const life = newLife(name);
  await life.check(life.begin(client(proxy.url)));
  return bytes;
}

for (const name of Object.keys(TURNS)) {
  test(`${name}: a response that is cut at any byte costs nothing`, { timeout: 1_800_000 }, async (t) => {
    const length = await lengthOf(name);
    const all = Array.from({ length: length + 2 }, (_, at) => CUTS.map((cut) => ({ at: at - 2, cut }))).flat();
    const dice = new Random(SEED);
    const cuts = LONG ? all : Array.from({ length: SAMPLE }, () => all[dice.below(all.length)]);
    t.diagnostic(`${cuts.length} of ${all.length} cuts${LONG ? '' : `, APTIX_SEED=${SEED}`}`);
    /** What is left until the cut, by session. */
    const plans = new Map();
    proxy.fault = ({ url, body }) => {
      const id = body ? JSON.parse(body).SessionId : /sessions\/([^/]+)/.exec(url)[1];
      const plan = plans.get(id);
      if (!plan || plan.done) return undefined;
      if (plan.left <= 0) plan.done = true;
      return { cutAfter: plan.left, cut: plan.cut, passed: (bytes) => (plan.done ||= (plan.left -= bytes) <= 0) };
    };
    await forEach(cuts, AT_ONCE, async ({ at, cut }) => {
      const life = newLife(name);
      plans.set(life.sessionId, { left: at, cut });
      const turn = life.begin(client(proxy.url));
      const { view } = await looped(turn);
      await life.check(turn);
      assert.deepEqual([view.text, view.pauses], [life.final, life.pauses]);
      plans.delete(life.sessionId);
    });
  });

  test(`${name}: a client that is reloaded at any event goes on by ids alone, with or without its position`, async () => {
    const { events } = await looped(newLife(name).begin(client(rig.url)));
    const reloads = events.flatMap((_, at) => [{ at, keepsPosition: false }, { at, keepsPosition: true }]);
    await forEach(reloads, AT_ONCE, async ({ at, keepsPosition }) => {
      const life = newLife(name);
      const store = memoryStore();
      const turn = life.begin(client(rig.url, { store }));
      let left = at;
      for await (const _ of turn) if (left-- === 0) break;
      const position = keepsPosition ? turn.position : undefined;
      const second = life.attach(client(rig.url, { store }), { position });
      await life.check(second);
    });
  });
}

test(`${LONG ? 1000 : 40} random orders of cuts, reloads, slow pieces and second watchers`, { timeout: 600_000 }, async () => {
  const seeds = process.env.APTIX_SEED ? [Number(process.env.APTIX_SEED)] : Array.from({ length: LONG ? 1000 : 40 }, (_, seed) => seed);
  const random = new Map();
  proxy.fault = ({ url, body }) => {
    const id = body ? JSON.parse(body).SessionId : /sessions\/([^/]+)/.exec(url)[1];
    const dice = random.get(id);
    if (!dice || dice.oneIn(3)) return undefined;
    const fault = { cutAfter: dice.below(500) - 2, cut: CUTS[dice.below(CUTS.length)] };
    return dice.oneIn(4) ? { whole: true } : dice.oneIn(4) ? { ...fault, pieces: 1 + dice.below(9) } : fault;
  };
  await forEach(seeds, AT_ONCE, async (seed) => {
    const dice = new Random(seed + 1);
    const name = Object.keys(TURNS)[dice.below(Object.keys(TURNS).length)];
    const life = newLife(name);
    random.set(life.sessionId, dice);
    const store = memoryStore();
    const options = { store, maxReconnects: 100 };
    for (let turn = life.begin(client(proxy.url, options)); ; ) {
      const events = turn[Symbol.asyncIterator]();
      let ended = false;
      while (!ended && !dice.oneIn(8)) ended = (await events.next()).done;
      if (ended) return life.check(turn);
      await events.return();
      // A turn that was never sent has nothing to attach to.
      const again = turn.position === undefined && !life.runs.size && dice.oneIn(2);
      const aptix = client(proxy.url, options);
      const known = await client(rig.url).session(life.sessionId).getTurn(life.turnId).then(() => true, () => false);
      turn = again || !known ? life.begin(aptix) : life.attach(aptix, { position: dice.oneIn(2) ? turn.position : undefined });
    }
  });
});

test('two watchers of one turn share each run of a tool', async () => {
  const life = newLife('tools in two rounds');
  const aptix = client(rig.url);
  const first = life.begin(aptix);
  const events = first[Symbol.asyncIterator]();
  await events.next();
  await Promise.all([life.check(life.attach(aptix)), life.check(life.attach(aptix)), events.return()]);
  assert.equal(life.runs.size, 3);
});

test('a watcher that comes to its calls when another one has ended the turn has none of them run again', async () => {
  const life = newLife('one tool');
  const kept = new Map();
  const store = { get: (key) => kept.get(key), update: (key, value) => void (value === undefined ? kept.delete(key) : kept.set(key, value)) };
  const aptix = client(rig.url, { store });
  const [late, left] = [life.begin(aptix), life.attach(aptix)];
  const paused = async (turn) => {
    const events = turn[Symbol.asyncIterator]();
    while ((await events.next()).value.type !== 'tool_calls');
    return events;
  };
  const [waits, leaves] = [await paused(late), await paused(left)];
  await life.check(life.attach(aptix));
  for await (const _ of { [Symbol.asyncIterator]: () => waits });
  await life.check(late);
  // One that comes now, and leaves before it sees the end itself, is the last.
  const later = life.attach(aptix)[Symbol.asyncIterator]();
  assert.equal((await later.next()).value.type, 'text');
  await leaves.return();
  assert.equal(kept.size, 1, 'one still watches');
  await later.return();
  assert.equal(kept.size, 0);
});

test('a client without the other\'s results follows the turn when it has gone on without it', async () => {
  const life = newLife('one tool');
  const late = life.begin(client(rig.url));
  let event;
  const events = late[Symbol.asyncIterator]();
  do event = (await events.next()).value;
  while (event.type !== 'tool_calls');
  // Its tool answers otherwise, and first.
  const other = new Life('one tool', life.sessionId);
  other.tools[0].run = () => 'other';
  await other.attach(client(rig.url)).final();
  for await (const _ of { [Symbol.asyncIterator]: () => events });
  await life.check(late);
});

test('a proxy that passes single bytes changes nothing', async () => {
  proxy.fault = () => ({ pieces: 1 });
  for (const name of Object.keys(TURNS)) {
    const life = newLife(name);
    const { view } = await looped(life.begin(client(proxy.url)));
    assert.equal(view.text, life.final);
  }
});

test('a proxy that holds a stream back until its end is outwaited, however long the turn runs', async () => {
  const gate = new Gate();
  rig.model.otherwise(gated(gate, answer(text('At last.'))));
  proxy.fault = ({ url }) => (url.includes('stream') || url.startsWith('/execute') ? { whole: true } : undefined);
  const turn = client(proxy.url, { idleTimeoutMs: 500, maxReconnects: 2 }).session('buffered').turn({ Instruction: 'x' });
  const final = turn.final();
  await eventually(() => proxy.requests.length > 8, 'it was given up twice');
  gate.open();
  assert.equal((await final).PrimaryOutputText, 'At last.');
  assert.equal(rig.model.requests.length, 1);
});

test('where no stream gets through at all, the stored outcome is the answer', async () => {
  proxy.fault = ({ url }) => (url.startsWith('/execute') ? { cutAfter: 3, cut: 'end' } : undefined);
  const turn = client(proxy.url).session('no-streams').turn({ Instruction: '<plain>' });
  assert.equal((await turn.final()).PrimaryOutputText, TURNS.plain.final);
});

test('a silence with comments is a living connection', async () => {
  const gate = new Gate();
  rig.model.otherwise(gated(gate, answer(text('Slow.'))));
  let comments = 0;
  proxy.fault = () => ({ passed: () => (comments += 1) });
  const patient = client(proxy.url, { idleTimeoutMs: 1000 }).session('comments').turn({ Instruction: 'x' });
  const answered = patient.final();
  // They come every 50 ms.
  await eventually(() => comments > 30, 'more time has passed than a silence may take');
  gate.open();
  assert.equal((await answered).PrimaryOutputText, 'Slow.');
  assert.equal(proxy.requests.length, 1, 'comments keep it');
});

test('a reader may take longer over an event than a silence may last', async () => {
  const gate = new Gate();
  rig.model.otherwise(answer(text('One ', gate, 'two.')));
  let chunks = 0;
  proxy.fault = () => ({ passed: () => (chunks += 1) });
  const turn = client(proxy.url, { idleTimeoutMs: 1500 }).session('slow-reader').turn({ Instruction: 'x' });
  for await (const event of turn) {
    if (event.delta !== 'One ') continue;
    // Comments come every 50 ms.
    await eventually(() => chunks > 45, 'more time has passed than a silence may take');
    gate.open();
  }
  assert.equal((await turn.final()).PrimaryOutputText, 'One two.');
  assert.equal(proxy.requests.length, 1);
});

test('comments alone and then a clean end are a cut', async () => {
  const gate = new Gate();
  rig.model.otherwise(gated(gate, answer(text('Not lost.'))));
  let first = true;
  proxy.fault = () => {
    const fault = first ? { until: 200 } : undefined;
    first = false;
    return fault;
  };
  const turn = client(proxy.url).session('clean').turn({ Instruction: 'x' });
  const final = turn.final();
  await eventually(() => proxy.requests.length > 1, 'it is asked again');
  gate.open();
  assert.equal((await final).PrimaryOutputText, 'Not lost.');
});

test('a tool that a reload has cut off is not run again, unless it says that it may be', async () => {
  for (const repeatable of [false, true]) {
    const life = newLife('one tool');
    const store = memoryStore();
    let runs = 0;
    const reload = new AbortController();
    const tools = [{ name: 'read', repeatable, run: () => (runs++ === 0 ? (reload.abort(), new Promise(() => {})) : 'done') }];
    const first = life.begin(client(rig.url, { store }), { tools, signal: reload.signal });
    await assert.rejects(first.final(), { name: 'AbortError' });
    await life.attach(client(rig.url, { store }), { tools }).final();
    assert.equal(runs, repeatable ? 2 : 1);
    const { output } = rig.model.bodies.at(-1).input[0];
    assert.match(output, repeatable ? /done/ : /interrupted and is not run again/);
  }
});

test('a service that cannot be reached is given up, with the place in the text', async () => {
  const turn = client(proxy.url, { maxReconnects: 2 }).session('gone').turn({ Instruction: '<plain>' });
  let down = false;
  proxy.fault = () => (down ? { cutAfter: -1 } : ((down = true), { cutAfter: 100, cut: 'reset' }));
  await assert.rejects(turn.final(), (error) => {
    assert.equal(error.code, 'connection_lost');
    assert.match(error.position, /^0\.\d+$/);
    assert.deepEqual([error.position, error.retryable, error.whoActs], [turn.position, true, 'nobody']);
    return true;
  });
  proxy.fault = () => undefined;
  assert.equal((await client(rig.url).session('gone').attach(turn.turnId).final()).PrimaryOutputText, TURNS.plain.final);
});
