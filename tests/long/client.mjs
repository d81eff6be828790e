// One client of the mixed load. Owns what it does next, and what each response must then be; it throws at the first one
// that is something else.
import assert from 'node:assert/strict';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { clientTool } from '../e2e/harness.mjs';
import { EventStream } from '../e2e/event_stream.mjs';
import { planned, spoken } from '../e2e/remembering_model.mjs';

/** workerd closes a connection after 5 s of idling and loses a request that arrives just then. */
const agent = new http.Agent({ keepAlive: true, noDelay: true, timeout: 3_000 });
const PATIENCE_MS = 60_000;
const ToolsJson = JSON.stringify([clientTool('read')]);
const PLANS = [[], [], [], [['server']], [['client']], [['server', 'client']], [['server'], ['client'], ['mode']], [['client'], ['client']]];
/** The turns of a session, at most: it is erased then at the latest. */
const MOST_TURNS = 8;
/** Codes of faults that are nobody's here: neither the model service nor a tool ever fails. */
const isOurs = (status) => status >= 500;

export class Client {
  number;
  /** The responses that receipts of its erasures count as unknown. */
  unknown = 0;
  #url;
  #key;
  #random;
  #model;
  #watch;
  #session = null;
  #sessions = 0;
  #workspace;
  /** What became of each turn of the session, by its id: `completed` or `aborted`. */
  #ended = new Map();

  constructor({ url, key, number, random, model, watch }) {
    Object.assign(this, { number });
    [this.#url, this.#key, this.#random, this.#model, this.#watch] = [url, key, random, model, watch];
    this.#workspace = `w${number % 8}`;
    this.#beginAnew();
  }

  /** Does one thing, to its end. */
  async act() {
    const random = this.#random;
    if (this.#ended.size >= MOST_TURNS || random.oneIn(12)) return this.#eraseSomehow();
    switch (random.below(12)) {
      case 0:
        return this.#upsert();
      case 1:
        return this.#search();
      case 2:
        return this.#cancelledTurn();
      case 3:
      case 4:
        return this.#cutTurn();
      case 5:
        return this.#look();
      default:
        return this.#wholeTurn();
    }
  }

  /** Erases the session, if there is one. */
  async erase() {
    const erased = await this.#ask('DELETE', `/sessions/${this.#session}`);
    assert.equal(erased.status, this.#ended.size > 0 ? 200 : 404, erased.text);
    if (erased.status === 200) {
      assert.equal(erased.json.Result.Turns, this.#ended.size, erased.text);
      assert.equal(erased.json.Result.StoredResponses.Pending, 0, erased.text);
      this.unknown += erased.json.Result.StoredResponses.Unknown;
    }
    assert.equal((await this.#ask('GET', `/sessions/${this.#session}`)).status, 404);
    this.#watch.counted('session erased');
    this.#beginAnew();
  }

  #beginAnew() {
    this.#sessions += 1;
    this.#session = `c${this.number}s${this.#sessions}`;
    this.#ended.clear();
  }

  /** A turn with fresh ids: `{turn, plan, marker}`. */
  #turn({ plan = this.#random.of(PLANS), streaming = this.#random.oneIn(2) } = {}) {
    const TurnId = `t${this.#ended.size + 1}`;
    const marker = `${this.#session}-${TurnId}`;
    const where = this.#random.oneIn(2) ? { WorkspaceId: this.#workspace } : {};
    const turn = { SessionId: this.#session, TurnId, Instruction: planned(marker, plan), Streaming: streaming, ToolsJson, ...where };
    return { turn, plan, marker, outputs: [] };
  }

  async #wholeTurn() {
    const asked = this.#turn();
    const from = performance.now();
    const kind = `${asked.turn.Streaming ? 'stream' : 'JSON'}, plan ${JSON.stringify(asked.plan)}`;
    await this.#toItsEnd(asked, await this.#outcomeOf(asked.turn));
    if (asked.plan.length === 0) this.#watch.timed(`turn without tools, ${asked.turn.Streaming ? 'stream' : 'JSON'}`, performance.now() - from);
    this.#watch.counted(kind);
  }

  /** Sends the results that are asked for until the turn ends, and holds its text to what is due. */
  async #toItsEnd(asked, outcome) {
    let result = succeeded(outcome);
    for (const step of asked.plan) {
      const calls = step.filter((kind) => kind === 'client').length;
      // What a server tool found comes before the client's results, in the order of the calls.
      for (const kind of step) if (kind === 'server') asked.outputs.push(JSON.stringify({ found: asked.marker }));
      if (calls === 0) continue;
      assert.equal(result.Kind, 'client_tool_continuation', JSON.stringify(result));
      assert.equal(result.ToolCalls.length, calls);
      const ToolResults = result.ToolCalls.map(({ ToolCallId }) => {
        const ResultJson = JSON.stringify({ read: `${asked.marker} ${asked.outputs.length}` });
        asked.outputs.push(ResultJson);
        return { ToolCallId, ExecutionMs: 1, ResultJson };
      });
      const continuation = { SessionId: asked.turn.SessionId, TurnId: asked.turn.TurnId, ToolResults };
      result = succeeded(await this.#outcomeOf(continuation, { streaming: asked.turn.Streaming }));
      // A result that comes again is the one that was stored.
      if (this.#random.oneIn(6)) assert.deepEqual(succeeded(await this.#outcomeOf(continuation, { streaming: asked.turn.Streaming })), result);
    }
    this.#mustSay(asked, result);
    this.#ended.set(asked.turn.TurnId, 'completed');
  }

  #mustSay({ marker, outputs, plan }, result) {
    assert.equal(result.Kind, 'final', JSON.stringify(result));
    const said = spoken(marker, outputs);
    const welcome = plan.flat().includes('mode') ? result.PrimaryOutputText.slice(0, -said.length) : '';
    assert.equal(result.PrimaryOutputText, welcome + said);
    assert.equal(result.ModeDisplayName.length > 0, true);
  }

  /** A stream that is cut, and taken up again in one of four ways. */
  async #cutTurn() {
    const asked = this.#turn({ plan: this.#random.of([[], [['server']]]), streaming: true });
    const { turn, marker } = asked;
    const began = await this.#open('POST', '/execute', turn);
    const wanted = this.#random.below(4);
    const enough = began.stream.until(({ events }) => events.length >= wanted, 'as many events').catch(() => {});
    await Promise.race([enough, pause(this.#random.below(400))]);
    began.leave();
    await began.stream.end().catch(() => {});
    const last = began.stream.events.findLast(({ id }) => id !== null)?.id;
    const headers = last === undefined ? {} : { 'last-event-id': last };
    const how = this.#random.below(4);
    for (const step of asked.plan) for (const _ of step) asked.outputs.push(JSON.stringify({ found: marker }));
    let outcome;
    if (how === 0) {
      outcome = await this.#outcomeOf({ ...turn, Streaming: false });
    } else if (how === 1) {
      // Nobody watches: the turn ends by itself.
      outcome = await this.#untilEnded(turn);
    } else {
      const route = how === 2 ? ['POST', '/execute', turn] : ['GET', `/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream`, undefined];
      const resumed = await this.#open(...route, headers);
      if (resumed.stream === undefined) {
        assert.equal(resumed.status, last === 'end' && how === 3 ? 204 : 404, `${resumed.status} ${resumed.text}`);
        // A request that was cut before it was received leaves nothing.
        outcome = await this.#outcomeOf({ ...turn, Streaming: false });
      } else {
        await resumed.stream.end();
        outcome = JSON.parse(resumed.stream.result);
        if (succeeded(outcome).Kind === 'final' && last !== 'end') assert.equal(joined(began.stream, resumed.stream), spoken(marker, asked.outputs), `cut at ${last}`);
      }
    }
    this.#mustSay(asked, succeeded(outcome));
    this.#ended.set(turn.TurnId, 'completed');
    this.#watch.counted(`cut stream, taken up by ${['JSON', 'its stored outcome', 'POST', 'GET'][how]}`);
  }

  /** Polls the turn until it has ended, and resolves to its stored outcome. */
  async #untilEnded(turn) {
    for (const deadline = performance.now() + PATIENCE_MS; performance.now() < deadline; await pause(50)) {
      const view = await this.#ask('GET', `/sessions/${turn.SessionId}/turns/${turn.TurnId}`);
      // A request that was cut before it was received leaves nothing.
      if (view.status === 404) return this.#outcomeOf({ ...turn, Streaming: false });
      assert.equal(view.status, 200, view.text);
      if (view.json.Result.Status !== 'running') return view.json.Result.Outcome;
    }
    return assert.fail(`${turn.SessionId} ${turn.TurnId} still runs`);
  }

  async #cancelledTurn() {
    const asked = this.#turn({ plan: this.#random.of([[], [['server']], [['client']]]) });
    const { turn } = asked;
    const running = this.#outcomeOf(turn);
    running.catch(() => {});
    await pause(this.#random.below(this.#random.of([5, 60, 300])));
    const path = `/sessions/${turn.SessionId}/turns/${turn.TurnId}/cancel`;
    const cancelled = await this.#ask('POST', path);
    const outcome = await running;
    if (cancelled.status === 404) {
      // The cancellation was received first.
      await this.#toItsEnd(asked, outcome);
      this.#watch.counted('cancelled before it was known');
      return;
    }
    assert.equal(cancelled.status, 200, cancelled.text);
    const { Status } = cancelled.json.Result;
    if (Status === 'aborted') {
      const [fault] = outcome.Errors;
      // A turn that had paused was answered before.
      if (fault !== undefined) assert.equal(fault.ErrorCode, 'turn_aborted', JSON.stringify(outcome));
      else assert.equal(outcome.Result.Kind, 'client_tool_continuation', JSON.stringify(outcome));
    } else {
      assert.equal(Status, 'completed', cancelled.text);
      if (asked.plan.length > 0) asked.outputs.push(JSON.stringify({ found: asked.marker }));
      this.#mustSay(asked, succeeded(outcome));
    }
    this.#ended.set(turn.TurnId, Status);
    this.#watch.counted(`cancelled turn: ${Status}`);
  }

  /** Erases the session at rest, or while a turn of it runs. */
  async #eraseSomehow() {
    if (this.#random.oneIn(2)) return this.erase();
    const { turn } = this.#turn();
    const running = this.#outcomeOf(turn);
    running.catch(() => {});
    // Erased after the turn was heard of, so that it is clear which of the two came first.
    const marker = `${turn.SessionId}-${turn.TurnId}`;
    for (const deadline = performance.now() + PATIENCE_MS; !this.#model.heard.has(marker); await pause(5)) {
      assert.ok(performance.now() < deadline, `the model is never asked for ${marker}`);
    }
    this.#ended.set(turn.TurnId, 'erased');
    await pause(this.#random.below(60));
    await this.erase();
    const { Result, Errors: [fault] } = await running;
    assert.ok(fault?.ErrorCode === 'turn_aborted' || Result !== undefined, JSON.stringify(fault));
    this.#watch.counted(fault === undefined ? 'erased when a turn had just ended' : 'erased while a turn ran');
    return undefined;
  }

  /** Every turn of the session is what its client knows of it. */
  async #look() {
    if (this.#ended.size === 0) return;
    const turns = await this.#ask('GET', `/sessions/${this.#session}/turns`);
    assert.equal(turns.status, 200, turns.text);
    assert.deepEqual(turns.json.Result.Turns.map(({ TurnId, Status }) => [TurnId, Status]), [...this.#ended]);
    const document = await this.#ask('GET', `/sessions/${this.#session}/export`);
    assert.equal(document.json.Result.Turns.length, this.#ended.size, document.text.slice(-300));
    this.#watch.counted('session looked at and exported');
  }

  async #upsert() {
    const Documents = Array.from({ length: 1 + this.#random.below(8) }, () => {
      const name = this.#random.below(40);
      const Contents = `fn needle_${name}() {\n    version(${this.#random.below(1000)});\n}\n\n`.repeat(1 + this.#random.below(60));
      return { Path: `src/${name}.rs`, Contents, Properties: { part: [`p${name % 4}`] } };
    });
    const unique = [...new Map(Documents.map((document) => [document.Path, document])).values()];
    const put = await this.#ask('PUT', `/workspaces/${this.#workspace}/documents`, { Documents: unique });
    assert.equal(put.status, 200, put.text);
    assert.equal(put.json.Result.Documents.length, unique.length);
    this.#watch.counted('documents sent');
  }

  async #search() {
    const RagScope = { Conditions: [{ Key: 'part', Operator: this.#random.of(['==', 'contains']), Values: ['p1', 'p2'] }] };
    const from = performance.now();
    const got = await this.#ask('POST', `/workspaces/${this.#workspace}/search`, { Query: 'needle version', ...(this.#random.oneIn(2) && { RagScope }) });
    assert.equal(got.status, 200, got.text);
    assert.ok(Array.isArray(got.json.Result.Chunks));
    this.#watch.timed('search', performance.now() - from);
    this.#watch.counted('search');
  }

  /** Sends a submission and resolves to its `InvokeResult`, however it is delivered. */
  async #outcomeOf(body, { streaming = body.Streaming } = {}) {
    if (!streaming) return (await this.#ask('POST', '/execute', body)).json;
    const { stream, json } = await this.#open('POST', '/execute', body);
    if (stream === undefined) return json;
    await stream.end();
    const outcome = JSON.parse(stream.result);
    const { PrimaryOutputText } = outcome.Result ?? {};
    if (PrimaryOutputText !== undefined) assert.equal(stream.keptText, PrimaryOutputText);
    return outcome;
  }

  async #ask(method, route, body) {
    const { response } = await this.#send(method, route, body);
    return answered(method, route, response);
  }

  /** Opens a stream: `{stream, leave}`, or the response that came instead. */
  async #open(method, route, body, headers = {}) {
    const { request, response } = await this.#send(method, route, body, headers);
    if (!(response.headers['content-type'] ?? '').startsWith('text/event-stream')) return answered(method, route, response);
    return { stream: new EventStream(response), leave: () => request.destroy() };
  }

  #send(method, route, body, headers = {}) {
    return new Promise((resolve, reject) => {
      const type = body === undefined ? {} : { 'content-type': 'application/json' };
      const request = http.request(new URL(route, this.#url), {
        method, agent, headers: { authorization: `Bearer ${this.#key}`, ...type, ...headers },
      });
      request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`${method} ${route} is not answered`)));
      request.on('error', reject);
      request.on('response', (response) => resolve({ request, response }));
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }
}

async function answered(method, route, response) {
  const chunks = [];
  for await (const chunk of response) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString();
  assert.ok(!isOurs(response.statusCode), `${method} ${route}: ${response.statusCode} ${text}`);
  return { status: response.statusCode, text, json: text === '' ? undefined : JSON.parse(text) };
}

function succeeded(outcome) {
  assert.ok(outcome?.Successful, JSON.stringify(outcome));
  return outcome.Result;
}

/** The text of a stream that was cut and of the one that went on from it, without what was taken back in either. */
function joined(...streams) {
  const segments = new Map();
  for (const { event, data } of streams.flatMap(({ events }) => events)) {
    const { Segment, Delta } = JSON.parse(data);
    if (event === 'output_text.delta') segments.set(Segment, (segments.get(Segment) ?? '') + Delta);
    if (event === 'output_text.discard') segments.delete(Segment);
  }
  return [...segments.values()].join('');
}
