// Whatever a service sends, in whatever pieces: reading it takes processor time in proportion to its bytes, harms no
// neighbour, takes no more memory than the table of docs/performance.md has, and what becomes of it does not depend on the
// pieces. A seed decides on the reader, on the noise, on its place and on the pieces.
//
// APTIX_SEED=n runs one seed alone, APTIX_LONG_TESTS=1 runs many more.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { quantile } from '../bench/figures.mjs';
import { MEASURABLE, cpuMs, forgetMostResident, mostResidentBytes, residentBytes } from '../bench/process_cost.mjs';
import { HostileServers } from '../fakes/mcp_servers/hostile.mjs';
import { embeddings } from '../fakes/model_service/embeddings.mjs';
import { EVENTS, commentsOf, eventsOf } from './costly_responses.mjs';
import { Rig, apiKeys, eventually, httpTool, userTurn } from './harness.mjs';
import { Random } from './hostile.mjs';
import { READERS, WAYS, hostile, modelEvents, modelJson, send } from './hostile_bytes.mjs';
import { addServer, turnWith } from './mcp_turns.mjs';
import { Neighbour, addNeighbour } from './neighbour.mjs';
import { answer, call, text } from './scripted_model.mjs';

const SEEDS = process.env.APTIX_LONG_TESTS === undefined ? 24 : 300;
const [KEY, NEIGHBOUR] = ['key-of-the-hostile-tenant', 'key-of-the-neighbour'];
const MIB = 1024 * 1024;
/** The bytes of noise that come in small pieces, and at most. */
const SMALL = 64 * 1024;
const LARGE = { stream: 24 * MIB, json: 6 * MIB };
/** The bytes of events of one kind. */
const OF_EVENTS = 6 * MIB;
/** Four times the bytes may take so much more than four times the processor time, in parts and besides in ms. */
const [MORE, MORE_MS] = [1.7, 250];
/** The most memory that the table of docs/performance.md has for any request: resident, and WebAssembly's. */
const [RESIDENT, WASM] = [130 * MIB, 93 * MIB];
/** What a neighbour's probe may take beside twice its quiet time, in ms: an answer in one piece of JSON is read in one piece. */
const MOST_MS = { stream: 100, json: 200 };
/** For so long nothing is done where a bound was not kept, in ms. */
const FLOOR_MS = 3000;
const EMBEDDINGS = '/v1/embeddings';

const vars = { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'hostile', [NEIGHBOUR]: 'neighbour' }), TURN_ALARM_MS: '300' };
let [neighbour, rig, servers, quiet] = [];

before(async () => {
  neighbour = await Neighbour.start();
  servers = await HostileServers.start();
  rig = new Rig({
    vars,
    measured: true,
    catalog: (catalog, { toolUrl }) => {
      catalog.ServerTools.push(httpTool('noisy', toolUrl, { OnError: 'ReportToModel' }));
      for (const mode of catalog.Modes) mode.Tools.push('noisy');
      addServer(catalog, 'quick', { Url: servers.url('quick'), TimeoutMs: 10_000 });
      addNeighbour(catalog, neighbour.url);
      catalog.AgentContexts.default.Retrieval = { Index: { Embeddings: { Model: 'm', Dimensions: 256, BaseUrl: toolUrl('/v1') } } };
    },
  });
  await rig.start();
  await neighbour.watch(rig, NEIGHBOUR, () => pause(300)); // Warms both of them up.
  quiet = await neighbour.watch(rig, NEIGHBOUR, () => pause(300));
});
after(async () => {
  neighbour?.close();
  await servers?.close();
  await rig?.dispose();
});

/** A turn, and what became of it: the text that the model was given for a call, or the turn's outcome. */
async function outcomeOf(turn) {
  const { Errors: [fault], Result } = turn.Streaming
    ? JSON.parse((await (await rig.stream(turn, { key: KEY })).end()).result)
    : (await rig.post(turn, { key: KEY })).json;
  return [fault?.ErrorCode ?? Result.PrimaryOutputText];
}
async function outputOf(turn) {
  const outcome = await outcomeOf(turn);
  const output = rig.model.bodies.at(-1).input.find(({ type }) => type === 'function_call_output')?.output;
  return [...outcome, output?.length > 300 ? 'much' : output];
}
const byTool = (turn, name) => {
  rig.model.script(answer(call(name, {})), answer(text('Done.')));
  return outputOf(turn);
};
let serial = 0;

/** Has each reader, of a turn that is watched or not, read what `play(response, parts)` sends, once; resolves to what became of it. */
const READ = {
  'the model service\'s stream': (play, Streaming) => {
    rig.model.otherwise({ play: ({ response }) => play(response, modelEvents()) });
    return outcomeOf(userTurn({ Streaming }));
  },
  'the model service\'s JSON': (play, Streaming) => {
    rig.model.otherwise({ play: ({ response }) => play(response, modelJson()) });
    return outcomeOf(userTurn({ Streaming }));
  },
  'an MCP server\'s events': (play) => {
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'seen' }] };
    servers.change('quick', { call: (exchange) => play(exchange.response, ['id: 1\ndata:\n\n', exchange.event(result)]) });
    return byTool(turnWith('quick'), 'quick__look');
  },
  'an MCP server\'s JSON': (play) => {
    const result = { resultType: 'complete', content: [{ type: 'text', text: 'seen' }] };
    servers.change('quick', { call: ({ response, message: { id } }) => play(response, { jsonrpc: '2.0', id, result }) });
    return byTool(turnWith('quick'), 'quick__look');
  },
  'a server tool': (play) => {
    rig.tools.play('/noisy', (response) => play(response, { seen: true }));
    return byTool(userTurn(), 'noisy');
  },
  'an embeddings service': async (play) => {
    serial += 1;
    const well = (body) => JSON.stringify(embeddings(body));
    rig.tools.think(EMBEDDINGS, well);
    const Documents = [{ Path: 'a.rs', Contents: 'fn words() {}\n' }];
    await rig.request('PUT', `/workspaces/w${serial}/documents`, { key: KEY, body: { Documents } });
    const isEmbedded = async () => (await rig.get(`/workspaces/w${serial}`, { key: KEY })).json.Result.EmbeddedChunks === 1;
    await eventually(isEmbedded, 'the document is embedded');
    rig.tools.play(EMBEDDINGS, (response, body) => play(response, embeddings(body)));
    const { json } = await rig.request('POST', `/workspaces/w${serial}/search`, { key: KEY, body: { Query: 'words' } });
    rig.tools.think(EMBEDDINGS, well);
    return [json.Result?.Chunks.length, ...json.Warnings.map(({ ErrorCode }) => ErrorCode)];
  },
};

test('whatever a service sends is read in time that its bytes are worth, and harms nobody', { timeout: 3_600_000 }, async (t) => {
  const seeds = process.env.APTIX_SEED ? [Number(process.env.APTIX_SEED)] : Array.from({ length: SEEDS }, (_, seed) => seed);
  const most = { cpuMs: 0, waitMs: 0, resident: 0, wasm: 0 };
  const met = {};
  for (const seed of seeds) {
    const random = new Random(seed * 7919 + 3);
    const names = Object.keys(READERS);
    const sent = hostile(random, names[seed % names.length]);
    const way = random.of(Object.keys(WAYS));
    const [gzip, watched] = [random.oneIn(3), random.oneIn(2)];
    const { kind } = READERS[sent.reader];
    const size = way === 'blocks' ? LARGE[kind] / 4 : SMALL;
    const says = `seed ${seed}: ${sent.says}, in ${way}${gzip ? ', compressed' : ''}${watched ? ', watched' : ''}`;
    const outcome = await judged({ sent, way, gzip, watched, kind, size, seed, says, most });
    met[outcome] = (met[outcome] ?? 0) + 1;
  }
  const outcomes = Object.keys(met).join('\n');
  if (seeds.length > 1) for (const outcome of [/stream: Well\./, /stream: upstream_protocol/, /events: Done\., "seen"/, /not JSON/]) assert.match(outcomes, outcome);
  t.diagnostic(`${seeds.length} seeds: ${JSON.stringify(met)}`);
  t.diagnostic(`at most ${Math.round(most.cpuMs)} ms of processor time, a neighbour waited ${Math.round(most.waitMs)} ms, resident memory grew by ${Math.round(most.resident / MIB)} MiB, WebAssembly's is ${Math.round(most.wasm / MIB)} MiB`);
});

/** The processor time of a turn that reads this response, in ms: the least of some, since the machine does other work. */
async function cpuOf(response) {
  const times = [];
  for (let left = 3; left > 0; left -= 1) {
    rig.model.otherwise(response);
    const before = cpuMs(rig.processId);
    assert.deepEqual(await outcomeOf(userTurn()), ['Well.']);
    times.push(cpuMs(rig.processId) - before);
    rig.clear();
  }
  return Math.min(...times);
}

test('an event of any kind takes at most four times the processor time of as many bytes of comments', { skip: !MEASURABLE }, async (t) => {
  let ofComments = await cpuOf(commentsOf(OF_EVENTS));
  const costly = [];
  for (const [name, events] of Object.entries(EVENTS)) {
    let [times, says] = [Infinity];
    // A busy machine makes either dearer now and then; what reading takes does so every time.
    for (let left = 3; left > 0 && times > 4; left -= 1) {
      if (times < Infinity) ofComments = await cpuOf(commentsOf(OF_EVENTS));
      const took = await cpuOf(eventsOf(events, OF_EVENTS));
      const comments = ofComments * (1 + events[0].length / OF_EVENTS);
      times = took / comments;
      says = `${name}: ${Math.round(took)} ms, as many bytes of comments: ${Math.round(comments)} ms`;
      t.diagnostic(says);
    }
    if (times > 4) costly.push(says);
  }
  assert.deepEqual(costly, []);
});

/** Resolves to what became of it. */
async function judged({ sent, way, gzip, watched, kind, size, seed, says, most }) {
  const read = (bytes, how = way) => READ[sent.reader](async (response, parts) => {
    const pieces = WAYS[how](sent.bytes(bytes, parts), new Random(seed));
    await send(response, kind === 'stream' ? 'text/event-stream' : 'application/json', pieces, { gzip });
  }, watched);
  const measured = async (bytes) => {
    const pid = rig.processId;
    if (MEASURABLE) forgetMostResident(pid);
    const [cpu, resident] = [cpuMs(pid), residentBytes(pid)];
    const outcome = await read(bytes);
    return { outcome, cpu: cpuMs(pid) - cpu, resident: mostResidentBytes(pid) - resident };
  };
  const small = await measured(size);
  const large = await measured(size * 4);
  most.cpuMs = Math.max(most.cpuMs, large.cpu);
  most.resident = Math.max(most.resident, large.resident);
  most.wasm = Math.max(most.wasm, (await rig.held()).wasmBytes);
  const costs = `${Math.round(small.cpu)} ms of processor time for ${size} bytes, ${Math.round(large.cpu)} ms for four times as many`;
  assert.ok(large.cpu <= small.cpu * 4 * MORE + MORE_MS, `${costs}: ${says}`);
  assert.ok(large.resident <= RESIDENT, `resident memory grows by ${Math.round(large.resident / MIB)} MiB: ${says}`);
  assert.ok(most.wasm <= WASM, `WebAssembly takes ${Math.round(most.wasm / MIB)} MiB: ${says}`);
  // The same in other pieces.
  const other = way === 'blocks' ? 'shreds' : 'blocks';
  assert.deepEqual(await read(size, other), small.outcome, `in ${other}: ${says}`);
  // A busy machine delays a probe now and then; the Worker's own computing does so every time.
  const longest = [];
  while (longest.length < 2) {
    const probes = await neighbour.watch(rig, NEIGHBOUR, () => read(size * 4));
    assert.ok([...probes.turns, ...probes.healths].every(({ status }) => status === 200), says);
    const over = (of) => Math.max(...probes[of].map(({ ms }) => ms)) - 2 * quantile(quiet[of].map(({ ms }) => ms), 0.5);
    longest.push(Math.max(over('turns'), over('healths')));
    if (longest.at(-1) <= MOST_MS[kind]) break;
  }
  if (Math.min(...longest) > MOST_MS[kind]) {
    const floor = await neighbour.watch(rig, NEIGHBOUR, () => pause(FLOOR_MS));
    const held = Math.max(...[...floor.turns, ...floor.healths].map(({ ms }) => ms));
    if (held > MOST_MS[kind] / 2) return 'not judged: the machine is busy, and a probe beside nothing is held up as well';
  }
  most.waitMs = Math.max(most.waitMs, Math.min(...longest));
  assert.ok(Math.min(...longest) <= MOST_MS[kind], `a neighbour waits ${longest.map(Math.round).join(' and ')} ms beyond its quiet time: ${says}`);
  rig.clear();
  servers.clear();
  return `${sent.reader}: ${small.outcome.map((part) => String(part?.error ?? part).slice(0, 60)).join(', ')}`;
}
