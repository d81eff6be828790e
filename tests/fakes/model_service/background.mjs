// Background responses: they are made without their reader, who can read them again, ask for them, and cancel them.
// Owns what `GET /v1/responses/{id}` and `POST /v1/responses/{id}/cancel` do; whoever makes a response sets its pace.
import { answerJson, openStream } from './http_service.mjs';
import { Refusal } from './refusal.mjs';
import { frame } from './response_stream.mjs';

export class BackgroundResponses {
  #made = new Map(); // response id -> MadeResponse
  #streamedForMs;

  /** `streamedForMs`: for how long the events of a response can be read again. */
  constructor({ streamedForMs = 300_000 } = {}) {
    this.#streamedForMs = streamedForMs;
  }

  /** Begins the response `told`, which its maker changes until it ends. */
  begin(owner, told) {
    told.background = true;
    const made = new MadeResponse(owner, told);
    this.#made.set(told.id, made);
    return made;
  }

  /** Answers a request to read a response: `query` is a URLSearchParams. */
  async read(owner, id, query, response) {
    const made = this.#known(owner, id);
    if (query.get('stream') !== 'true') return answerJson(response, 200, made.told);
    if (performance.now() - made.begunAt > this.#streamedForMs) {
      throw new Refusal('This response can no longer be streamed because it is more than 5 minutes old');
    }
    const after = query.get('starting_after');
    openStream(response);
    await made.sendTo(response, after === null ? 0 : Number(after) + 1);
    return response.destroyed ? undefined : response.end();
  }

  /** Cancels a response and returns its object. */
  cancel(owner, id) {
    const made = this.#known(owner, id);
    made.cancel();
    return made.told;
  }

  /** Forgets all responses. */
  clear() {
    this.#made.clear();
  }

  #known(owner, id) {
    const made = this.#made.get(id);
    if (made?.owner !== owner) throw new Refusal(`Response with id '${id}' not found.`, { status: 404 });
    return made;
  }
}

/** A response that is being made, with its events so far. */
class MadeResponse {
  begunAt = performance.now();
  cancelled = false;
  #events = [];
  #ended = false;
  #changed = Promise.withResolvers();

  constructor(owner, told) {
    this.owner = owner;
    this.told = told;
  }

  push(event) {
    this.#events.push(event);
    this.#change();
  }

  end() {
    this.#ended = true;
    this.#change();
  }

  cancel() {
    if (this.#ended) throw new Refusal('Cannot cancel a completed response.');
    this.cancelled = true;
    this.told.status = 'cancelled';
    this.end();
  }

  /** Sends the events from one on as they come; at most `most` of them. Returns their number. */
  async sendTo(response, from, { most = Infinity } = {}) {
    for (let number = from; ; number += 1) {
      if (number - from >= most) return number - from;
      while (number >= this.#events.length && !this.#ended) await this.#changed.promise;
      if (number >= this.#events.length || response.destroyed) return number - from;
      response.write(frame(this.#events[number]));
    }
  }

  #change() {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
