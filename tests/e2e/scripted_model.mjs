// A model service for tests: strict as the live API, with replies that the tests script.
// Owns the script, the record of every request, and the faults of a response on the wire.
// It refuses with ../fakes/model_service what the live API refuses; a refused request uses up no reply.
import { setTimeout as pause } from 'node:timers/promises';
import { BackgroundResponses } from '../fakes/model_service/background.mjs';
import { Chain } from '../fakes/model_service/chain.mjs';
import { answerJson, keyOf, listen, openStream } from '../fakes/model_service/http_service.mjs';
import { Refusal } from '../fakes/model_service/refusal.mjs';
import { checkRequest } from '../fakes/model_service/request_rules.mjs';
import { frame, newResponse, responseEvents } from '../fakes/model_service/response_stream.mjs';

export { call, cited, commentary, hosted, reasoning, refusal, sealed, text } from '../fakes/model_service/response_stream.mjs';

/** The token usage of a scripted response that sets none. */
export const USAGE = {
  input_tokens: 100,
  input_tokens_details: { cached_tokens: 40 },
  output_tokens: 20,
  output_tokens_details: { reasoning_tokens: 5 },
  total_tokens: 120,
};

export class ScriptedModel {
  /**
   * Every request, refused ones included: `{url, headers, body, conversation, startedAt, abortedAt, responseId}`.
   * `conversation` is all that the model sees, earlier responses included; times are in ms, `null` for never.
   */
  requests = [];
  /** Requests that the strict rules refused. A test that expects one removes it. */
  refusals = [];
  /** Ids of the responses that the Worker asked to delete. */
  deletions = [];
  /** A status with which to refuse deletions, or `null`. */
  refuseDeletions = null;
  /** Each request to read a background response: `{id, query}`, `query` being its text. */
  reads = [];
  /** The ids of the background responses whose cancellation was asked for. */
  cancels = [];
  /** A status with which to refuse that background responses are read, or `null`. */
  refuseReads = null;
  /** Whether the service refuses the member `background`. */
  refuseBackground = false;
  /** Bodies of requests for which the script had no reply left. */
  unscripted = [];
  #chain = new Chain();
  #background = new BackgroundResponses();
  #script = [];
  #otherwise = null;
  #service;

  static async start() {
    const model = new ScriptedModel();
    model.#service = await listen(
      0,
      (...exchange) => model.#take(...exchange),
      (...deletion) => model.#remove(...deletion),
      undefined,
      { read: (...reading) => model.#read(...reading), cancel: (...cancellation) => model.#cancel(...cancellation) },
    );
    return model;
  }

  /** The base URL, ending in `/v1`. */
  get url() {
    return this.#service.url;
  }

  get bodies() {
    return this.requests.map(({ body }) => body);
  }

  /** Appends replies to the script; `answer`, `httpError`, `raw`, `silence` and `hangUp` build them. */
  script(...answers) {
    this.#script.push(...answers);
  }

  /** Sets the reply to requests beyond the script; `null` for none. */
  otherwise(answer) {
    this.#otherwise = answer;
  }

  /** All text that the latest request showed to the model, `instructions` included. */
  get lastSeen() {
    const { body, conversation } = this.requests.at(-1);
    return `${body.instructions ?? ''}\n${JSON.stringify(conversation)}`;
  }

  /** Clears the record and the script; stored responses stay. */
  clear() {
    const records = [this.requests, this.refusals, this.deletions, this.reads, this.cancels, this.unscripted, this.#script];
    for (const record of records) record.length = 0;
    this.#otherwise = null;
    this.refuseReads = null;
    this.refuseBackground = false;
    this.refuseDeletions = null;
  }

  /** The ids of all responses that are stored here, whatever became of them. */
  get held() {
    return this.#chain.held;
  }

  /** Drops every stored response, so that a follow-up gets `previous_response_not_found`. */
  forgetResponses() {
    this.#chain.forget();
  }

  /** The faults that a finished test leaves behind; empty when all is well. */
  get leftovers() {
    return [
      ...this.refusals.map(({ error }) => `the model service refused a request: ${error.message}`),
      ...this.unscripted.map(() => 'the model was called once more than the script says'),
      ...this.#script.map(() => 'an answer of the script was never asked for'),
    ];
  }

  close() {
    return this.#service.close();
  }

  async #take(request, response, body) {
    const record = {
      url: request.url,
      headers: request.headers,
      body,
      conversation: null,
      startedAt: performance.now(),
      abortedAt: null,
      responseId: null,
    };
    this.requests.push(record);
    response.once('close', () => {
      if (!response.writableFinished && !record.hungUp) record.abortedAt = performance.now();
    });
    const owner = keyOf(request);
    const conversation = this.#accepted(owner, body);
    record.conversation = conversation;
    if (body.background === true && this.refuseBackground) {
      throw new Refusal("Unknown parameter: 'background'.", { param: 'background', code: 'unknown_parameter' });
    }
    const say = this.#script.shift() ?? this.#otherwise;
    if (say === null) {
      this.unscripted.push(body);
      throw new Refusal('The script has no answer for this request.', { code: 'unscripted' });
    }
    await say.play({
      body,
      response,
      record,
      keep: (ended) => this.#chain.keep(owner, body, conversation, ended),
      begin: body.background === true ? (told) => this.#background.begin(owner, told) : null,
    });
  }

  async #read(request, response, id, query) {
    this.reads.push({ id, query: query.toString() });
    if (this.refuseReads) throw new Refusal('Not now.', { status: this.refuseReads });
    await this.#background.read(keyOf(request), id, query, response);
  }

  #cancel(request, id) {
    this.cancels.push(id);
    return this.#background.cancel(keyOf(request), id);
  }

  #remove(request, id) {
    this.deletions.push(id);
    if (this.refuseDeletions) throw new Refusal('Not now.', { status: this.refuseDeletions });
    this.#chain.remove(keyOf(request), id);
  }

  #accepted(owner, body) {
    try {
      checkRequest(body);
      return this.#chain.conversation(owner, body);
    } catch (fault) {
      if (fault instanceof Refusal) this.refusals.push({ ...fault.body, body });
      throw fault;
    }
  }
}

/** A point in a response at which the model waits until the test opens it. Put it among the deltas of an item. */
export class Gate {
  #opened = Promise.withResolvers();
  open() {
    this.#opened.resolve();
  }
  get opened() {
    return this.#opened.promise;
  }
}

/**
 * A response made of items (`text`, `call`, `reasoning`, `refusal`). `with` changes its course:
 * - `incomplete: reason`, `failed: {code, message}`: its end;
 * - `errorEvent: 'nested' | 'flat'`, `error`: an error event after the items instead of a completed response, followed
 *   by `response.failed` when nested, as on the wire;
 * - `cutAfter: n`: the connection is cut after n events; `silentAfter: n`: nothing more comes after n events;
 * - `delayMs`: before each delta; `asJson`: one JSON response although a stream was requested;
 * - `atOnce`: everything in one write, so that a reader never finds a part of it;
 * - `usage`, `headers`.
 */
export const answer = (...items) => new Answer(items, {});

class Answer {
  constructor(items, options) {
    this.items = items;
    this.options = options;
  }

  with(options) {
    return new Answer(this.items, { ...this.options, ...options });
  }

  async play({ body, response, record, keep, begin }) {
    const { cutAfter = Infinity, silentAfter = Infinity, delayMs = 0, atOnce = false } = this.options;
    if (begin) return this.#playInBackground({ body, response, record, keep, begin });
    const streamed = body.stream === true && !this.options.asJson;
    const told = newResponse(body);
    record.responseId = told.id;
    if (streamed) openStream(response, this.options.headers);
    let sent = 0;
    let held = '';
    for (const event of this.#events(told)) {
      if (event instanceof Gate) {
        await event.opened;
        continue;
      }
      if (response.destroyed) return undefined;
      if (sent >= cutAfter) return hangUpOn(response, record);
      if (sent >= silentAfter) return undefined;
      if (delayMs > 0 && event.delta !== undefined) await pause(delayMs);
      keep(told);
      if (streamed && atOnce) held += frame(event);
      else if (streamed) response.write(frame(event));
      sent += 1;
    }
    if (streamed) response.end(held);
    else answerJson(response, 200, told, this.options.headers);
    return undefined;
  }

  /** The response is made without its reader, whose connection the options spoil. */
  async #playInBackground({ body, response, record, keep, begin }) {
    const { cutAfter = Infinity, silentAfter = Infinity, delayMs = 0 } = this.options;
    const told = newResponse(body);
    record.responseId = told.id;
    const made = begin(told);
    const making = async () => {
      for (const event of this.#events(told)) {
        if (event instanceof Gate) {
          await event.opened;
          continue;
        }
        if (delayMs > 0 && event.delta !== undefined) await pause(delayMs);
        if (made.cancelled) return;
        keep(told);
        made.push(event);
      }
      made.end();
    };
    void making();
    openStream(response, this.options.headers);
    const most = Math.min(cutAfter, silentAfter);
    await made.sendTo(response, 0, { most });
    if (response.destroyed || silentAfter < Infinity) return undefined;
    return cutAfter < Infinity ? hangUpOn(response, record) : response.end();
  }

  *#events(told) {
    const { incomplete, failed, errorEvent, error, usage = USAGE } = this.options;
    const ending = incomplete
      ? { status: 'incomplete', reason: incomplete }
      : failed || errorEvent
        ? { status: 'failed', error: failed ?? { code: error.code, message: error.message } }
        : { status: 'completed' };
    for (const event of responseEvents(told, this.items, { ending, usage })) {
      if (!errorEvent || event.type !== 'response.failed') yield event;
      else if (errorEvent === 'flat') yield { type: 'error', sequence_number: event.sequence_number, param: null, ...error };
      else {
        yield { type: 'error', sequence_number: event.sequence_number, error: { param: null, ...error } };
        yield { ...event, sequence_number: event.sequence_number + 1 };
      }
    }
  }
}

/** An HTTP error in the live envelope; a string `error` is sent as it is. */
export const httpError = (status, error, headers = {}) => ({
  async play({ response }) {
    if (typeof error === 'string') response.writeHead(status, headers).end(error);
    else answerJson(response, status, { error: { type: 'invalid_request_error', param: null, code: null, ...error } }, headers);
  },
});

/**
 * Pieces of bytes or text, sent unchanged under status 200 and the content type of a stream. `cut`: the connection is
 * cut after them; `open`: it stays open; `everyMs`: the time before each.
 */
export const raw = (pieces, { headers = {}, cut = false, open = false, everyMs = 0 } = {}) => ({
  async play({ response, record }) {
    openStream(response, headers);
    for (const piece of pieces) {
      if (everyMs > 0) await pause(everyMs);
      if (response.destroyed) return;
      await new Promise((resolve) => {
        response.write(piece, resolve);
      });
    }
    if (cut) hangUpOn(response, record);
    else if (!open) response.end();
  },
});

/** No reply at all, not even a status line. */
export const silence = () => ({ async play() {} });

/** The connection is closed without a response. */
export const hangUp = () => ({
  async play({ response, record }) {
    hangUpOn(response, record);
  },
});

/** A reply that waits for a gate before its first byte. */
export const gated = (gate, inner) => ({
  async play(exchange) {
    await gate.opened;
    await inner.play(exchange);
  },
});

function hangUpOn(response, record) {
  record.hungUp = true;
  // Sends the bytes written so far, then closes the socket without the end of the body.
  response.socket.end(() => response.destroy());
}
