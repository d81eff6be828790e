// AG-UI's own verifier on every stream that the tests have: what the clients' scenarios and the stand-in say, what model
// services have sent, and the exchanges that others have recorded, where the folder is at hand. Each as a whole, cut and
// resumed, and cut for good, after which a page that comes back sees the turn to its end.
import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as agui1 from '@ag-ui/client';
import * as agui059 from 'agui059';
import { from, lastValueFrom, toArray } from 'rxjs';
import { CUTS, Proxy } from '../../../tests/clients/proxy.mjs';
import { sessionOf } from '../../../tests/clients/turns.mjs';
import { Rig, httpTool } from '../../../tests/e2e/harness.mjs';
import { answer, raw, text } from '../../../tests/e2e/scripted_model.mjs';
import { reply, stateOf } from '../../../tools/dev/stand_in/conversation.mjs';
import { LISTED } from '../../../tools/dev/stand_in/states.mjs';
import { Aptix } from '../dist/index.js';
import { FRONT_END, VERSIONS, agentsIn, answerCalls, texts } from './agents.mjs';
import { withApproval } from './approvals.mjs';
import { TURNS, asScripted, forEach } from './turns.mjs';

const AT_ONCE = 8;
const LONG = process.env.APTIX_LONG_TESTS !== undefined;
const CLIENTS = { '1.0.0': agui1, '0.0.59': agui059 };
const read = (folder, name) => readFileSync(new URL(name, folder));

/** How a model service answers a turn: by the words of the turn, or with a stream at first and with text from then on. */
const STREAMS = [
  ...Object.keys(TURNS).map((name) => ({ name: `the scenario ${name}`, words: `<${name}>`, model: asScripted })),
  ...['Switch to DDR authoring.', 'Read README.md, please.', ...[...LISTED.matchAll(/“([^”]+)”/g)].map(([, ask]) => ask)].map((words) => ({ name: `the stand-in: ${words}`, words, model: { play: standIn } })),
  ...filesOf(new URL('../../../tests/fixtures/streams/', import.meta.url)),
  ...recorded(new URL('../../../../shared/fixtures/', import.meta.url)),
].map((stream) => ({ ...stream, toJSON: () => stream.name }));

function filesOf(folder) {
  return readdirSync(folder).filter((name) => name.endsWith('.sse')).map((name) => ({ name, bytes: read(folder, name) }));
}

function recorded(folder) {
  if (!existsSync(new URL('manifest.json', folder))) return [];
  const { cases } = JSON.parse(read(folder, 'manifest.json'));
  return cases.flatMap(({ id, exchanges }) =>
    exchanges.map(({ n, response, status, headers = {} }) => ({ name: `${id} ${n}`, isRecorded: true, status, type: headers['content-type'], bytes: read(folder, `cases/${id}/${response}`) })),
  );
}

/** The functions that a stream calls; the front end has them. */
const calledIn = (bytes) => [...`${bytes}`.matchAll(/"type": ?"function_call"[^{}]*?"name": ?"([\w-]+)"|"name": ?"([\w-]+)"[^{}]*?"type": ?"function_call"/g)].map(([, before, behind]) => before ?? behind);

const firsts = new Set();
/** What the stand-in says, and how it fails; its silences are shorter here. */
async function standIn(exchange) {
  const { conversation } = exchange.record;
  const state = stateOf(conversation);
  const isFirst = !firsts.has(exchange.key);
  firsts.add(exchange.key);
  const refusal = state?.refused?.(isFirst);
  if (refusal) throw refusal;
  const cutAfter = state?.cutAfter?.(state.found, isFirst) ?? Infinity;
  if (state?.isSilent) return answer(text('…')).with({ silentAfter: 1 }).play(exchange);
  return answer(...reply(exchange.body, conversation, state, 20_000)).with({ cutAfter }).play(exchange);
}

/** The stream of each turn that is under way, by the number in its words, and how often the model was called. */
const turns = new Map();
const byTurn = {
  async play(exchange) {
    const { conversation } = exchange.record;
    const said = conversation.findLast(({ role, content }) => role === 'user' && /\[turn \d+\]/.test(JSON.stringify(content)));
    const key = /\[turn (\d+)\]/.exec(JSON.stringify(said.content))[1];
    const turn = turns.get(key);
    turn.calls += 1;
    if (turn.stream.model) return turn.stream.model.play({ ...exchange, key });
    if (turn.calls > 1) return answer(text('Done.')).play(exchange);
    const { bytes, status = 200, type } = turn.stream;
    if (status === 200 && !/json/.test(type)) return raw([bytes]).play(exchange);
    return void exchange.response.writeHead(status, { 'content-type': type ?? 'application/json' }).end(bytes);
  },
};

const rig = new Rig({
  vars: { DELTA_INTERVAL_MS: '0', UPSTREAM_IDLE_TIMEOUT_MS: '6000', TURN_ALARM_MS: '200' },
  catalog: (catalog, urls) => {
    withApproval(catalog, urls);
    catalog.ServerTools.push(httpTool('look', urls.toolUrl));
    catalog.Modes[0].Tools.push('look');
  },
});
let agents, folder, proxy;
const faults = new Map();
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-ag-ui-streams-'));
  agents = await agentsIn(folder);
  await rig.start();
  rig.tools.on('/look', '{"found":1}');
  rig.model.otherwise(byTurn);
  proxy = await Proxy.before(rig.url);
  proxy.fault = (request) => faults.get(sessionOf(request))?.(request);
});
after(async () => {
  await proxy?.close();
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});

let serial = 0;
/** A page with one turn of a stream. */
class Page {
  constructor(version, stream) {
    this.version = version;
    this.key = `${(serial += 1)}`;
    this.threadId = `page-${this.key}`;
    this.stream = stream;
    const names = stream.bytes ? calledIn(stream.bytes).filter((name) => !name.startsWith('agent_')) : [];
    this.tools = [...FRONT_END, ...[...new Set(names)].filter((name) => !FRONT_END.some((tool) => tool.name === name)).map((name) => ({ name, description: name, parameters: { type: 'object' } }))];
    turns.set(this.key, { stream, calls: 0 });
    this.open();
    this.agent.addMessage({ id: `u${this.key}`, role: 'user', content: `${stream.words ?? 'Go on.'} [turn ${this.key}]` });
  }
  /** Opens the page, with the messages that it had. */
  open(client = {}) {
    const of = new Aptix({ baseUrl: proxy.url, retryDelayMs: 1, maxReconnects: 1, ...client });
    this.agent = new agents[this.version]({ client: of, threadId: this.threadId, initialMessages: structuredClone(this.agent?.messages ?? []) });
  }
  /** One run, all of whose events the verifier takes, and which has one end; gives that. */
  async run(how = 'runAgent') {
    const { agent } = this;
    const emitted = [];
    const name = how === 'runAgent' ? 'run' : 'connect';
    const made = agent[name].bind(agent);
    agent[name] = (input) => {
      const events = made(input);
      return new events.constructor((subscriber) =>
        events.subscribe({ next: (event) => (emitted.push(structuredClone(event)), subscriber.next(event)), error: (error) => subscriber.error(error), complete: () => subscriber.complete() }),
      );
    };
    let failed;
    await agent[how]({ tools: this.tools }, { onRunFailed: ({ error }) => void (failed = error) }).catch((error) => (failed = error));
    agent[name] = made;
    const { enforceEvents, verifyEvents } = CLIENTS[this.version];
    const checks = [...(enforceEvents ? [enforceEvents(false)] : []), verifyEvents(false), toArray()];
    await lastValueFrom(from(emitted).pipe(...checks));
    const ends = emitted.filter(({ type }) => /^RUN_(FINISHED|ERROR)$/.test(type));
    assert.deepEqual(ends, emitted.slice(-1), 'one end, which is the last event');
    if (ends[0].type === 'RUN_FINISHED') assert.equal(failed, undefined, `${failed?.message}`);
    return ends[0];
  }
  /** Runs until nothing is left to answer; gives the last end. */
  async toTheEnd(how) {
    for (let runs = 0; runs < 10; runs += 1) {
      const end = await this.run(runs === 0 ? how : 'runAgent');
      if (end.type === 'RUN_ERROR' || answerCalls(this.agent) === 0) return end;
    }
    return assert.fail('the turn does not end');
  }
  get shown() {
    const ids = this.agent.messages.map(({ id }) => id);
    assert.equal(new Set(ids).size, ids.length);
    return texts(this.agent);
  }
}

const isOfATurn = ({ url }) => /\/execute|\/stream/.test(url);
/** What a page shows at the end of an undisturbed run, and how many bytes came for it. */
async function whole(version, stream) {
  const page = new Page(version, stream);
  let bytes = 0;
  faults.set(page.threadId, (request) => (isOfATurn(request) ? { passed: (count) => void (bytes += count) } : undefined));
  const { type, code } = await page.toTheEnd();
  return { type, code, bytes, shown: page.shown };
}

/** Whether a turn comes to the same end again, whoever asks for it: the others fail the first time alone. */
const isSteady = ({ type }, stream) => type === 'RUN_FINISHED' && !/cut the answer|Be silent/i.test(stream.name);

const turnOf = (version, stream) => STREAMS.indexOf(stream) + Object.keys(VERSIONS).indexOf(version);
/** The streams of a version: all, but the two share the recorded exchanges, which are many and alike. `APTIX_LONG_TESTS` has all for both. */
const streamsOf = (version) => STREAMS.filter((stream) => LONG || !stream.isRecorded || turnOf(version, stream) % 2 === 0);

/** The cuts of a version's streams: the two share the parts among them, since the code that resumes is the same. */
const cutsOf = (version, parts) =>
  streamsOf(version).flatMap((stream) => {
    const turn = turnOf(version, stream);
    const taken = parts.filter((_, n) => LONG || (stream.isRecorded ? turn % (2 * parts.length) === 2 * n : (turn + n) % 2 === 0));
    return taken.map((part) => ({ stream, part, cut: CUTS[(STREAMS.indexOf(stream) + parts.indexOf(part)) % CUTS.length] }));
  });

for (const version of Object.keys(VERSIONS)) {
  const ends = new Map();
  test(`${version}: the verifier takes every stream as a whole`, { timeout: 240_000 }, async (t) => {
    await forEach(streamsOf(version), AT_ONCE, async (stream) => ends.set(stream.name, await whole(version, stream)));
    const count = (type) => [...ends.values()].filter((end) => end.type === type).length;
    t.diagnostic(`${ends.size} streams: ${count('RUN_FINISHED')} end well, ${count('RUN_ERROR')} in an error`);
    assert.ok(count('RUN_FINISHED') > 30 && count('RUN_ERROR') > 5);
  });

  test(`${version}: and cut anywhere and resumed, after which the same is shown`, { timeout: 240_000 }, async () => {
    await forEach(cutsOf(version, [0, 0.3, 0.6, 0.95]), AT_ONCE, async ({ stream, part, cut }) => {
      const expected = ends.get(stream.name);
      const page = new Page(version, stream);
      let left = Math.max(1, Math.floor(expected.bytes * part));
      faults.set(page.threadId, (request) => {
        if (!isOfATurn(request) || left <= 0) return undefined;
        return { cutAfter: left, cut, passed: (count) => void (left -= count) };
      });
      const { type, code } = await page.toTheEnd();
      if (!isSteady(expected, stream)) return;
      assert.equal(type, 'RUN_FINISHED', code);
      assert.deepEqual(page.shown, expected.shown);
    });
  });

  test(`${version}: and cut for good, after which a page that comes back shows the same`, { timeout: 240_000 }, async () => {
    await forEach(cutsOf(version, [0, 0.5, 0.9]), AT_ONCE, async ({ stream, part, cut }) => {
      const expected = ends.get(stream.name);
      const page = new Page(version, stream);
      let left = Math.max(1, Math.floor(expected.bytes * part));
      faults.set(page.threadId, (request) => {
        if (left <= 0) return { cutAfter: -1, cut };
        return isOfATurn(request) ? { cutAfter: left, cut, passed: (count) => void (left -= count) } : undefined;
      });
      const { type, code } = await page.toTheEnd();
      if (part === 0) assert.deepEqual([type, code], ['RUN_ERROR', 'connection_lost']);
      faults.delete(page.threadId);
      page.open();
      const end = await page.toTheEnd('connectAgent');
      if (!isSteady(expected, stream)) return;
      assert.equal(end.type, 'RUN_FINISHED', end.code);
      assert.deepEqual(page.shown, expected.shown);
    });
  });
}
