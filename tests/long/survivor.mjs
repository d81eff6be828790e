// One client of the load with kills. Owns what it does next, and everything that was acknowledged to it: whatever it lost
// the answer to it sends again, until it is answered.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { clientTool } from '../e2e/harness.mjs';
import { planned, spoken } from '../e2e/remembering_model.mjs';

const PATIENCE_MS = 60_000;
const ToolsJson = JSON.stringify([clientTool('read')]);
const PLANS = [[], [], [['server']], [['client']], [['server', 'client']], [['server'], ['client'], ['mode']]];
const MOST_TURNS = 8;
/** A turn that lost its instance twice has failed; the same request goes on with it. */
const GOES_ON = 'turn_interrupted';

export class Survivor {
  number;
  /** The Worker was started again: what was acknowledged is asked for before anything else. */
  hasToLookBack = false;
  #url;
  #key;
  #random;
  #counted;
  #session = '';
  #sessions = 0;
  #turns = 0;
  /** The submissions of the session that were acknowledged: `{body, text}`. */
  #outcomes = [];
  /** The ids of turns whose cancellation was acknowledged. */
  #cancelled = new Set();
  #erased = [];
  /** The SHA-256 of each document, by its path. */
  #documents = new Map();

  constructor({ url, key, number, random, counted }) {
    this.number = number;
    [this.#url, this.#key, this.#random, this.#counted] = [url, key, random, counted];
    this.#beginAnew();
  }

  /** Does one thing, to its end. */
  async act() {
    if (this.hasToLookBack) {
      this.hasToLookBack = false;
      await this.lookBack();
    }
    if (this.#turns >= MOST_TURNS) return this.erase();
    switch (this.#random.below(8)) {
      case 0:
        return this.#send();
      case 1:
        return this.#cancel();
      default:
        return this.#turn();
    }
  }

  /** Asks again for everything that was acknowledged. */
  async lookBack() {
    for (const { body, text } of this.#outcomes) {
      const again = await this.#outcome(body);
      assert.equal(again.text, text, `${body.SessionId} ${body.TurnId} was acknowledged as another one`);
      assert.ok(again.replayed, `${body.SessionId} ${body.TurnId} ran again`);
      this.#counted('outcome asked for again');
    }
    for (const TurnId of this.#cancelled) {
      const { json } = await this.#ask('GET', `/sessions/${this.#session}/turns/${TurnId}`);
      assert.equal(json.Result?.Status, 'aborted', JSON.stringify(json));
    }
    for (const session of this.#erased) assert.equal((await this.#ask('GET', `/sessions/${session}`)).status, 404, `${session} came back`);
    if (this.#documents.size > 0) {
      const Documents = [...this.#documents].map(([Path, Sha256]) => ({ Path, Sha256 }));
      const { json } = await this.#ask('POST', `/workspaces/w${this.number}/compare`, { Documents });
      assert.deepEqual([json.Result?.Needed, json.Result?.Extra], [[], []], JSON.stringify(json));
    }
  }

  /** Erases the session. A receipt that was lost does not come again. */
  async erase() {
    const { status, json } = await this.#ask('DELETE', `/sessions/${this.#session}`);
    assert.ok([200, 404].includes(status), JSON.stringify(json));
    assert.equal((await this.#ask('GET', `/sessions/${this.#session}`)).status, 404);
    this.#erased.push(this.#session);
    this.#counted('session erased');
    this.#beginAnew();
  }

  #beginAnew() {
    this.#sessions += 1;
    this.#session = `k${this.number}s${this.#sessions}`;
    this.#turns = 0;
    this.#outcomes = [];
    this.#cancelled.clear();
  }

  #newTurn(plan, Streaming) {
    this.#turns += 1;
    const TurnId = `t${this.#turns}`;
    const marker = `${this.#session}-${TurnId}`;
    return { marker, body: { SessionId: this.#session, TurnId, Instruction: planned(marker, plan), Streaming, ToolsJson, WorkspaceId: `w${this.number}` } };
  }

  async #turn() {
    const plan = this.#random.of(PLANS);
    const { marker, body } = this.#newTurn(plan, this.#random.oneIn(2));
    const outputs = [];
    let { json: { Result } } = await this.#acknowledged(body);
    for (const step of plan) {
      for (const kind of step) if (kind === 'server') outputs.push(JSON.stringify({ found: marker }));
      if (!step.includes('client')) continue;
      assert.equal(Result.Kind, 'client_tool_continuation', JSON.stringify(Result));
      const ToolResults = Result.ToolCalls.map(({ ToolCallId }) => {
        const ResultJson = JSON.stringify({ read: `${marker} ${outputs.length}` });
        outputs.push(ResultJson);
        return { ToolCallId, ExecutionMs: 1, ResultJson };
      });
      ({ json: { Result } } = await this.#acknowledged({ SessionId: body.SessionId, TurnId: body.TurnId, ToolResults }));
    }
    assert.equal(Result.Kind, 'final', JSON.stringify(Result));
    assert.ok(Result.PrimaryOutputText.endsWith(spoken(marker, outputs)), `${Result.PrimaryOutputText} for ${marker}`);
    this.#counted('turn');
  }

  async #cancel() {
    const { body } = this.#newTurn([], false);
    const running = this.#outcome(body);
    running.catch(() => {});
    await pause(this.#random.below(60));
    const { status, json } = await this.#ask('POST', `/sessions/${body.SessionId}/turns/${body.TurnId}/cancel`);
    if (status === 200 && json.Result.Status === 'aborted') {
      this.#cancelled.add(body.TurnId);
      this.#counted('turn cancelled');
      await running;
      return;
    }
    const outcome = await running;
    assert.ok(outcome.json.Successful, outcome.text);
    this.#outcomes.push({ body, text: outcome.text });
  }

  async #send() {
    const Documents = Array.from({ length: 1 + this.#random.below(5) }, (_, at) => {
      return { Path: `src/${at}.rs`, Contents: `fn needle_${at}() { version(${this.#random.below(1000)}); }\n`.repeat(1 + this.#random.below(30)) };
    });
    const { status, json } = await this.#ask('PUT', `/workspaces/w${this.number}/documents`, { Documents });
    assert.equal(status, 200, JSON.stringify(json));
    for (const { Path, Contents } of Documents) this.#documents.set(Path, createHash('sha256').update(Contents).digest('hex'));
    this.#counted('documents sent');
  }

  /** Sends a submission until it has succeeded, and keeps what it was answered. */
  async #acknowledged(body) {
    for (const until = performance.now() + PATIENCE_MS; ;) {
      const outcome = await this.#outcome(body);
      const [fault] = outcome.json.Errors;
      if (fault?.ErrorCode !== GOES_ON) {
        assert.ok(outcome.json.Successful, `${body.SessionId} ${body.TurnId}: ${outcome.text}`);
        this.#outcomes.push({ body, text: outcome.text });
        return outcome;
      }
      this.#counted('turn interrupted twice');
      assert.ok(performance.now() < until, `${body.SessionId} ${body.TurnId} never ends`);
    }
  }

  /** The `InvokeResult` of a submission, byte for byte: `{text, json, replayed}`. */
  async #outcome(body) {
    const answer = await this.#ask('POST', '/execute', body);
    const [, data] = /event: result\n(?:id: .*\n)?data: (.*)\n\n$/.exec(answer.text) ?? [];
    const text = answer.isStream ? data : answer.text;
    return { text, json: JSON.parse(text), replayed: answer.replayed };
  }

  /** Sends a request until it is answered whole. */
  async #ask(method, route, body) {
    const until = performance.now() + PATIENCE_MS;
    for (let times = 0; ; times += 1) {
      try {
        const response = await fetch(new URL(route, this.#url()), {
          method,
          headers: { authorization: `Bearer ${this.#key}`, ...(body && { 'content-type': 'application/json' }) },
          body: body && JSON.stringify(body),
          signal: AbortSignal.timeout(PATIENCE_MS),
        });
        const text = await response.text();
        const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false;
        // A stream without its result is an interruption, never success.
        if (isStream && !text.includes('event: result\n')) throw new Error('the stream was cut');
        assert.ok(response.status < 500 || text.includes(GOES_ON), `${method} ${route}: ${response.status} ${text}`);
        if (times > 0 && route === '/execute') this.#counted('turn that lost its answer');
        const replayed = response.headers.get('idempotent-replayed') === 'true';
        return { status: response.status, text, isStream, replayed, json: isStream ? undefined : JSON.parse(text) };
      } catch (fault) {
        if (fault instanceof assert.AssertionError || performance.now() > until) throw fault;
        await pause(20 + this.#random.below(100));
      }
    }
  }
}
