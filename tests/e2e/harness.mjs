// The built Worker under workerd, with real SQLite objects, a scripted model and a service for HTTP tools.
// Owns starting, restarting and stopping, and the HTTP requests of the tests; it records every response, so that one
// check can look at all of them. The tests themselves judge the Worker's behaviour.
import assert from 'node:assert/strict';
import { AsyncLocalStorage } from 'node:async_hooks';
import childProcess from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, beforeEach } from 'node:test';
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as pause } from 'node:timers/promises';
import { Log, LogLevel, Miniflare } from 'miniflare';
import { BUILD_DIR, builtModules, declaration, inFront, pageFiles } from './built_worker.mjs';
import { COUNTED } from './counted_worker.mjs';
import { SPAN_EVENT, SpanTrees } from '../../tools/dev/span_trees.mjs';
import { PackageServer } from '../server/package_server.mjs';
import { release, take } from '../shared.mjs';
import { EventStream } from './event_stream.mjs';
import { HELD, MEASURED } from './measured_worker.mjs';
import { PublishedInterface } from './published_interface.mjs';
import { checkPublished } from './published_request.mjs';
import { ScriptedModel } from './scripted_model.mjs';
import { LISTENER } from '../fakes/span_listener.mjs';
import { API_KEY, BOOT_PROMPT, FILE_LINK_KEY, MODEL, TOOL_SECRET, catalogOf, httpTool } from './test_catalog.mjs';
import { ToolService } from '../fakes/tool_service.mjs';

export { API_KEY, BOOT_PROMPT, FILE_LINK_KEY, MODEL, TOOL_SECRET, apiKeys, catalogOf, clientTool, httpTool } from './test_catalog.mjs';

/** The objects' files lie in memory where possible: a write to the disk would hold up everything else in workerd. */
const SCRATCH = existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir();

/**
 * APTIX_SERVER=1: the Worker is served by the package of one's own server (`make package`) in the place of Miniflare. What
 * that lacks is refused; tests/server/end_to_end.mjs leaves out by name what would ask for it.
 */
export const BY_PACKAGE = Boolean(process.env.APTIX_SERVER);

/** The bindings of the tests that the package's server reads from a file of their own. */
const SECRETS = /^(OPENAI_API_KEY|API_KEYS(_\d)?|FILE_LINK_KEY|TICKET_KEYS)$|SECRET|TOKEN|_KEY$/;

/** The longest wait for a response, in ms: a Worker that hangs fails the test that made it hang. */
const PATIENCE_MS = 60_000;

export class Rig {
  /**
   * Every response of the Worker so far: `{method, path, status, type, text}`, and `key` where a client's key was sent.
   */
  answers = [];
  /** Every line that the Worker has logged. */
  logs = [];
  /** What the Worker has told of its spans, where it is `traced`. */
  spans = new SpanTrees();
  model;
  tools;
  url;
  #published;
  #options;
  #hidden;
  #folder;
  #miniflare;
  #server;
  /** The process that Miniflare started last. */
  #started = {};

  /**
   * `vars`: bindings of the Worker besides the usual ones, `undefined` removes one.
   * `catalog`: `false` for the built-in one, a text for exactly that, or a function that changes the test catalog.
   * `rate`: the requests that the rate limiter permits for each key in a minute; without it no limiter is bound.
   * `unbound`: names of bindings of objects that the Worker does not get.
   * `traced`: somebody listens to the Worker's spans, which come to `spans`.
   * `metered`: a place for data points is bound.
   * `measured`: the Worker also tells what it holds, to `held`.
   * `counted`: the Worker also tells its crossings (counted_worker.mjs).
   * `front`: modules that stand in front of the Worker; `buckets`: further buckets.
   * `hidden`: further words that no log and no response may contain, each as `[words, mayShow]`; responses for which
   * `mayShow(answer)` is true are exempt.
   */
  constructor({ vars = {}, catalog = () => {}, rate, unbound = [], measured = false, counted = false, traced = false, metered = false, front = [], buckets = [], hidden = [] } = {}) {
    this.#options = { vars, catalog, rate, unbound, measured, counted, traced, metered, front, buckets };
    this.#hidden = hidden;
  }

  async start() {
    this.#folder = await mkdtemp(path.join(SCRATCH, 'worker-e2e-'));
    this.model = await ScriptedModel.start();
    this.tools = await ToolService.start();
    await this.#startWorker();
    const document = await fetch(new URL('/openapi.json', this.url), { headers: ONE_REQUEST, ...patient() });
    // A deployment with invalid variables publishes no document.
    if (document.ok) this.#published = await PublishedInterface.of(await document.text());
  }

  /** Every object in the bucket for files: `[{key, size}]`. */
  async files() {
    if (BY_PACKAGE) return (await this.#inEach('FileStore', true, (store) => store.prepare('SELECT key, size FROM file').all())).flat().map(({ key, size }) => ({ key, size }));
    const bucket = await this.#miniflare.getR2Bucket('FILES');
    const { objects } = await bucket.list();
    return objects.map(({ key, size }) => ({ key, size }));
  }

  /** The process of the Worker, and of what Miniflare puts beside it. */
  get processId() {
    return BY_PACKAGE ? this.#server.workerd : this.#started.pid;
  }

  /** What the Worker holds: `{wasmBytes, references}` (measured_worker.mjs). The Worker has to be `measured`. */
  async held() {
    return (await fetch(new URL(HELD, this.url), { headers: ONE_REQUEST, ...patient() })).json();
  }

  /** The tables in the storage of all objects of a class, each as `{object, table}`; what the runtime keeps is left out. */
  async tablesOf(className) {
    const tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE '\\_cf\\_%' ESCAPE '\\'";
    const found = await this.#inEach(className, true, (database, object) => database.prepare(tables).all().map(({ name }) => ({ object, table: name })));
    return found.flat();
  }

  /** The row that a statement finds in the storage of each object of a class that has a table. */
  async rowsOf(className, table, statement) {
    const row = (database) => database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(table) && database.prepare(statement).get();
    return (await this.#inEach(className, true, row)).filter((found) => found !== undefined);
  }

  /** Alters a table in the storage of all objects of a class that have it, none of which may be in memory. */
  async alter(className, table, statement) {
    await this.#inEach(className, false, (database) => {
      if (database.prepare('SELECT 1 FROM sqlite_master WHERE name = ?').get(table)) database.exec(statement);
    });
  }

  async #inEach(className, readOnly, use) {
    const folder = BY_PACKAGE ? path.join(this.#server.data, 'objects', `aptix-edge-${className}`) : path.join(this.#folder, 'objects', `worker-${className}`);
    const files = (await readdir(folder).catch(() => [])).filter((file) => file.endsWith('.sqlite') && file !== 'metadata.sqlite');
    return files.map((file) => {
      const database = new DatabaseSync(path.join(folder, file), { readOnly });
      try {
        return use(database, file);
      } finally {
        database.close();
      }
    });
  }

  /** The OpenAPI document as the Worker publishes it. */
  get published() {
    return this.#published;
  }

  /** Kills the Worker and starts it again on the same storage, with another catalog, other variables or another front if they are given. */
  async restart({ catalog = this.#options.catalog, vars = this.#options.vars, front = this.#options.front } = {}) {
    Object.assign(this.#options, { catalog, vars, front });
    // The catalog must be in place before the Worker starts, since alarms ring at once.
    if (!BY_PACKAGE) await this.#putCatalog();
    await this.#end();
    await this.#startWorker();
  }

  /** Ends the Worker's process at this moment, in the middle of whatever it does, and starts it again on the same storage. */
  async crash() {
    if (!BY_PACKAGE) process.kill(this.processId, 'SIGKILL');
    await this.#end();
    await this.#startWorker();
  }

  #end() {
    return BY_PACKAGE ? this.#server?.kill() : this.#miniflare?.dispose();
  }

  async dispose() {
    await this.#end();
    await this.model?.close();
    await this.tools?.close();
    if (this.#folder) await rm(this.#folder, { recursive: true, force: true });
  }

  /**
   * Sends a request and reads the whole response: `{status, headers, text, json}`. A `body` that is no text is sent as
   * JSON.
   */
  async request(method, route, { body, key, headers = {}, signal } = {}) {
    const response = await fetch(new URL(route, this.url), {
      method,
      headers: {
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...ONE_REQUEST,
        ...headers,
      },
      body: body === undefined || typeof body === 'string' ? body : JSON.stringify(body),
      signal,
      redirect: 'manual',
      ...patient(signal),
    });
    return this.#answered(method, route, response, key);
  }

  post(body, more) {
    return this.request('POST', '/execute', { body, ...more });
  }

  get(route, more) {
    return this.request('GET', route, more);
  }

  /** A turn as its view shows it, or `undefined`. `turn` is what has been posted. */
  async turn({ SessionId, TurnId }, more) {
    return (await this.get(`/sessions/${SessionId}/turns/${TurnId}`, more)).json?.Result;
  }

  /** What the log says of a request that was refused; its line may come after the response. */
  async refusalLine(response) {
    const line = () => this.logs.find((one) => one.includes('"refused"') && one.includes(idOf(response)));
    return JSON.parse(await eventually(line, 'the log tells of the refusal'));
  }

  /** A turn's trace. */
  async trace({ SessionId, TurnId }, more) {
    return resultOf(await this.get(`/sessions/${SessionId}/turns/${TurnId}/trace`, more));
  }

  /** Sends documents to a workspace. */
  put(workspace, Documents, more) {
    return this.request('PUT', `/workspaces/${workspace}/documents`, { body: { Documents }, ...more });
  }

  /** Resolves when so many spans of this name have ended. */
  ended(name, times) {
    return eventually(() => this.spans.named(name).filter((span) => span.ended).length === times, `${times} of ${name} have ended`);
  }

  /** Sends a request that gets server-sent events; resolves to the stream when the response head has arrived. */
  async stream(body, { method = 'POST', route = '/execute', key, headers = {}, signal } = {}) {
    const response = await fetch(new URL(route, this.url), {
      method,
      headers: {
        ...(method === 'POST' ? { 'content-type': 'application/json' } : {}),
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
        ...ONE_REQUEST,
        ...headers,
      },
      body: method === 'POST' ? JSON.stringify(body) : undefined,
      ...patient(signal),
    });
    if (!(response.headers.get('content-type') ?? '').startsWith('text/event-stream')) {
      const answer = await this.#answered(method, route, response, key);
      assert.fail(`expected a stream from ${route}, got ${answer.status} ${answer.text}`);
    }
    assert.equal(response.status, 200);
    const type = response.headers.get('content-type');
    const record = { method, path: route, status: 200, type, text: '', key, id: idOf(response) };
    this.answers.push(record);
    const stream = new EventStream(kept(response.body, record));
    stream.headers = response.headers;
    return stream;
  }

  /**
   * Fails when the finished test left replies in the script, when a request to the model service or a response violates
   * the published document, when a response lacks its id, or when a response or log line contains hidden words.
   */
  async check() {
    assert.deepEqual(this.model.leftovers, []);
    for (const body of this.model.bodies) await checkPublished(body);
    for (const answer of this.answers) if (answer.method) await this.#published?.check(answer);
    for (const { method, id, path: route } of this.answers) if (method) assert.match(id ?? '', /^[A-Za-z0-9_-]{1,64}$/, `the id of ${route}`);
    const hidden = [[API_KEY], [TOOL_SECRET], [FILE_LINK_KEY], ...this.#hidden];
    for (const line of this.logs) {
      for (const [words] of [...hidden, [BOOT_PROMPT]]) assert.ok(!line.includes(words), `the log says ${line}`);
    }
    const ids = this.model.requests.flatMap(({ responseId }) => responseId ?? []);
    const inner = [MODEL, BOOT_PROMPT, ...ids].map((words) => [words, (record) => !isTurn(record)]);
    for (const record of this.answers) {
      const { path: route, text } = record;
      for (const [words, mayShow = () => false] of [...hidden, ...inner]) {
        assert.ok(!text.includes(words) || mayShow(record), `"${words}" leaves through ${route}: ${text}`);
      }
      const ofTheModel = isTurn(record) && /\b(resp|msg|fc|rs)_[0-9a-f]{20}/.test(text);
      assert.ok(!ofTheModel, `an id of the model service leaves through ${route}: ${text}`);
    }
  }

  clear() {
    this.clearAnswers();
    this.model.clear();
    this.tools.clear();
  }

  /** Forgets what the Worker has responded and logged. */
  clearAnswers() {
    this.answers.length = 0;
    this.logs.length = 0;
    this.spans.clear();
    this.tools.requests.length = 0;
  }

  async #answered(method, route, response, key) {
    const text = await response.text();
    const type = response.headers.get('content-type');
    this.answers.push({ method, path: route, status: response.status, type, text, key, id: idOf(response) });
    let json;
    try {
      json = JSON.parse(text);
    } catch {
      json = undefined;
    }
    return { status: response.status, headers: response.headers, text, json };
  }

  async #startWorker() {
    const { vars, catalog, unbound, traced } = this.#options;
    const bindings = {
      AUTH: 'none',
      OPENAI_BASE_URL: this.model.url,
      OPENAI_API_KEY: API_KEY,
      OPENAI_MODEL: MODEL,
      TOOL_SECRET,
      FILE_LINK_KEY,
      ...vars,
    };
    for (const [name, value] of Object.entries(bindings)) if (value === undefined) delete bindings[name];
    if (BY_PACKAGE) return this.#startServer(bindings);
    const declared = await declaration();
    const objects = declared.durableObjects.filter(([binding]) => !unbound.includes(binding));
    const worker = await this.#worker(bindings, declared, objects);
    this.#miniflare = starting.run(this.#started, () => new Miniflare({
      log: new Log(LogLevel.ERROR),
      handleStructuredLogs: ({ message }) => {
        if (message.startsWith(SPAN_EVENT)) this.spans.take(JSON.parse(message.slice(SPAN_EVENT.length)));
        else this.logs.push(message);
      },
      cf: false,
      host: '127.0.0.1',
      port: 0,
      durableObjectsPersist: path.join(this.#folder, 'objects'),
      r2Persist: path.join(this.#folder, 'files'),
      kvPersist: path.join(this.#folder, 'kv'),
      workers: [worker, ...(catalog === false ? [] : [CATALOG_STORE]), ...(traced ? [LISTENER] : [])],
    }));
    this.url = await this.#miniflare.ready;
    await this.#putCatalog();
  }

  async #startServer(bindings) {
    const { catalog, rate, metered, unbound, measured, counted, traced, front, buckets } = this.#options;
    const lacking = measured || counted || traced || [unbound, front, buckets].some((list) => list.length > 0);
    assert.ok(!lacking, 'the server of the package has nothing of the kind');
    this.#server ??= new PackageServer({ folder: this.#folder, onLine: (line) => this.logs.push(line) });
    const secrets = Object.entries(bindings).filter(([name]) => SECRETS.test(name));
    const Variables = Object.fromEntries(Object.entries(bindings).filter(([name]) => !SECRETS.test(name)));
    await this.#server.start({
      settings: { Variables, ...(rate !== undefined && { Rates: { Keys: { Limit: rate, PeriodS: 60 } } }), ...(metered && { Metering: true }) },
      secrets: Object.fromEntries(secrets.map(([name, value]) => [name, typeof value === 'string' ? value : JSON.stringify(value)])),
      ...(catalog !== false && { catalog: this.#catalogText() }),
    });
    this.url = this.#server.url;
  }

  /** The Worker under test. */
  async #worker(bindings, declared, objects) {
    const { vars, catalog, rate, measured, counted, traced, metered, front, buckets } = this.#options;
    return {
      name: 'worker',
      rootPath: BUILD_DIR,
      modulesRoot: BUILD_DIR,
      modules: [...(measured ? inFront(MEASURED) : []), ...(counted ? inFront(COUNTED) : []), ...inFront(front), ...(await builtModules())],
      compatibilityDate: declared.compatibilityDate,
      compatibilityFlags: declared.compatibilityFlags,
      bindings,
      durableObjects: Object.fromEntries(
        objects.map(([binding, className]) => [binding, { className, useSQLite: true }]),
      ),
      r2Buckets: [...declared.buckets, ...buckets],
      ...(vars.PLAYGROUND ? { assets: pageFiles() } : {}),
      ...(traced ? { streamingTails: [LISTENER.name] } : {}),
      ...(metered ? { analyticsEngineDatasets: { METERING: { dataset: 'submissions' } } } : {}),
      ...(rate === undefined ? {} : { ratelimits: { RATE_LIMITER: { namespace_id: '1', simple: { limit: rate, period: 60 } } } }),
      ...(catalog === false ? {} : { kvNamespaces: ['CATALOG'] }),
    };
  }

  async #putCatalog() {
    if (this.#options.catalog === false) return;
    const stored = await this.#miniflare.dispatchFetch(CATALOG_URL, { method: 'PUT', body: this.#catalogText() });
    assert.ok(stored.ok, `the catalog is not stored: ${stored.status}`);
  }

  #catalogText() {
    const { catalog } = this.#options;
    const services = { modelUrl: this.model.url, toolUrl: (...where) => this.tools.url(...where) };
    return typeof catalog === 'string' ? catalog : JSON.stringify(catalogOf(services, catalog));
  }
}

/** Configurations that files share: tenants, users and ids keep their tests apart, as in production. */
const shared = new Set();
const rigs = new Map();

/** A configuration (`options` of a `Rig`) whose Worker, model and tools are those of every file of the process that names it. */
export function sharedBy(options) {
  shared.add(options);
  return options;
}

/**
 * A rig for a test file, started with its first test: the one of all files where `options` are `sharedBy` them, else one of
 * its own. It is checked and emptied after each test, and stopped at the end. The start is not in `before`: when a name
 * pattern leaves no test, `before` runs but `after` does not.
 */
export function rigForFile(options) {
  const rig = shared.has(options) ? (rigs.get(options) ?? new Rig(options)) : new Rig(options);
  if (shared.has(options)) rigs.set(options, rig);
  let started;
  const start = () => (shared.has(options) ? take(options, () => rig.start(), () => rig.dispose()) : rig.start());
  beforeEach(() => (started ??= start()));
  afterEach(async () => {
    try {
      await rig.check();
    } finally {
      rig.clear();
    }
  });
  after(() => (shared.has(options) ? started && release(options) : rig.dispose()));
  return rig;
}

/** The test catalog as it is. */
export const PLAIN = sharedBy({});
/** With the server tool `look`, and an agent context whose model service keeps nothing. */
export const LOOKING = sharedBy({
  catalog: (catalog, { toolUrl }) => {
    catalog.AgentContexts.replay = { ...catalog.AgentContexts.default, Continuation: 'replay' };
    catalog.ServerTools.push(httpTool('look', toolUrl));
    catalog.Modes[0].Tools.push('look');
  },
});
/** Deltas come as the model service sends them, so that there are several. */
export const UNJOINED = sharedBy({ vars: { DELTA_INTERVAL_MS: '0' } });

/** Miniflare does not tell its process, and several Workers may run at once: whoever starts one is told here. */
const starting = new AsyncLocalStorage();
const { spawn } = childProcess;
childProcess.spawn = (...command) => {
  const started = spawn(...command);
  const owner = starting.getStore();
  if (owner) owner.pid = started.pid;
  return started;
};

const CATALOG_URL = 'http://catalog.test/';
/** A Worker that stores the catalog. Miniflare's own way to a namespace starts a thread for each Worker. */
const CATALOG_STORE = {
  name: 'catalog-store',
  routes: ['catalog.test/*'],
  kvNamespaces: ['CATALOG'],
  modules: true,
  script: "export default { async fetch(request, { CATALOG }) { await CATALOG.put('catalog', await request.text()); return new Response(); } };",
};

/**
 * Where the machine stalls, the Worker may just have closed a connection that lay idle, and a request on it is lost.
 * Compression is the runtime's, and on one machine work for nothing.
 */
const ONE_REQUEST = { connection: 'close', 'accept-encoding': 'identity' };

const idOf = (response) => response.headers.get('aptix-request-id');

let serial = 0;
/** A user turn with fresh ids; `members` replace its own. */
export function userTurn(members = {}) {
  serial += 1;
  return { SessionId: `session-${serial}`, TurnId: 'turn-1', Instruction: 'Say hello.', ...members };
}

/** Whether a response came from `/execute` or a turn's stream, which are the public contract (interface §2). */
export const isTurn = ({ path: route }) => /^\/execute|\/stream(\?|$)/.test(route);

/** The result of a successful response; fails with the whole response when it was none. */
export function resultOf(answer) {
  assert.equal(answer.status, 200, answer.text);
  assert.equal(answer.json.Successful, true, answer.text);
  return answer.json.Result;
}

/** `[status, code, …]` of a refusal; fails when the response has not the form of one. */
export function refusalOf(answer) {
  assert.ok(answer.json, `not JSON: ${answer.status} ${answer.text}`);
  assert.deepEqual(Object.keys(answer.json), ['Successful', 'Errors', 'Warnings'], answer.text);
  assert.equal(answer.json.Successful, false);
  return [answer.status, ...answer.json.Errors.map(({ ErrorCode }) => ErrorCode)];
}

/** Polls `probe` until it returns something truthy, and resolves to that. */
export async function eventually(probe, what, withinMs = 60_000) {
  for (const deadline = performance.now() + withinMs; ; await pause(20)) {
    const seen = await probe();
    if (seen) return seen;
    assert.ok(performance.now() < deadline, `waited ${withinMs} ms in vain until ${what}`);
  }
}

const patient = (signal) => ({
  signal: AbortSignal.any([AbortSignal.timeout(PATIENCE_MS), ...(signal === undefined ? [] : [signal])]),
});

async function* kept(body, record) {
  const decoder = new TextDecoder();
  for await (const chunk of body) {
    record.text += decoder.decode(chunk, { stream: true });
    yield chunk;
  }
}
