// A model service that remembers every response it stores, until it is asked to delete it. Its replies follow from the
// instruction, so that a client knows in advance what it will be told, whatever happens in between.
//
// An instruction names its marker and its plan, `planned` writes it. The plan's calls come first, each response making
// one list of calls; when all have been answered, the text quotes marker and outputs: `spoken` gives it.
import { setTimeout as pause } from 'node:timers/promises';
import { Chain } from '../fakes/model_service/chain.mjs';
import { keyOf, listen, openStream } from '../fakes/model_service/http_service.mjs';
import { Refusal } from '../fakes/model_service/refusal.mjs';
import { checkRequest } from '../fakes/model_service/request_rules.mjs';
import { call, frame, newResponse, responseEvents, text } from '../fakes/model_service/response_stream.mjs';

const CALLS = {
  server: (marker) => call('look', { q: marker }),
  client: (marker) => call('read', { path: marker }),
  mode: () => call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'As planned.' }),
};

/** An instruction. `plan` is a list of lists of `server`, `client` and `mode`; a list is what one response calls. */
export const planned = (marker, plan = []) => `<${marker}> plan=${plan.map((calls) => calls.join('+')).join(',')};`;

/** The text that ends the turn, given the outputs of all its calls but those that change the mode, in order. */
export const spoken = (marker, outputs) => `To ${marker}: ${outputs.map((output) => `[${output}] `).join('')}this is all.`;


export class RememberingModel {
  /** The ids of what it stores, from the moment when `response.created` is sent. */
  stored = new Set();
  /** Requests that the strict rules refused, one line each. */
  refusals = [];
  /** When a marker was last heard of, by the marker; `performance.now()`. */
  heard = new Map();
  calls = 0;
  open = 0;
  /** The longest pause before a delta, in ms, and between a request and its response; one response in eight has a long one. */
  slowMs = 20;
  longMs = 500;
  #chain = new Chain();
  #service;
  #random;

  /** `random` decides on pauses. */
  static async start(random) {
    const model = new RememberingModel();
    model.#random = random;
    model.#service = await listen(
      0,
      (...exchange) => model.#take(...exchange),
      (request, id) => model.#remove(request, id),
    );
    return model;
  }

  get url() {
    return this.#service.url;
  }

  close() {
    return this.#service.close();
  }

  /** The number of responses that it still stores. */
  get leftovers() {
    return this.stored.size;
  }

  /** Takes note of the marker in an instruction. */
  hear(instruction) {
    const [, marker] = PLAN.exec(instruction) ?? [];
    if (marker !== undefined) this.heard.set(marker, performance.now());
  }

  async #take(request, response, body) {
    this.calls += 1;
    this.open += 1;
    response.once('close', () => {
      this.open -= 1;
    });
    const owner = keyOf(request);
    const conversation = this.#accepted(owner, body);
    this.hear(instructionOf(conversation));
    await this.#pause();
    if (response.destroyed) return;
    const told = newResponse(body);
    openStream(response);
    let isLong = this.#random.oneIn(8);
    for (const event of responseEvents(told, reply(conversation), { usage: null })) {
      if (event.delta !== undefined) await (isLong ? pause(this.longMs) : this.#pause());
      isLong &&= event.delta === undefined;
      if (response.destroyed) return;
      if (event.type === 'response.created' && body.store !== false) this.stored.add(told.id);
      this.#chain.keep(owner, body, conversation, told);
      response.write(frame(event));
    }
    response.end();
  }

  #remove(request, id) {
    if (!this.stored.delete(id)) throw new Refusal(`Response with id '${id}' not found.`, { status: 404 });
    try {
      this.#chain.remove(keyOf(request), id);
    } catch {
      // It was cut off before its end, and is no link of a chain.
    }
  }

  #accepted(owner, body) {
    try {
      checkRequest(body);
      return this.#chain.conversation(owner, body);
    } catch (fault) {
      this.refusals.push(fault.message);
      throw fault;
    }
  }

  async #pause() {
    const ms = this.#random.below(this.slowMs * 2) - this.slowMs;
    if (ms > 0) await pause(ms);
  }
}

const PLAN = /<([^>]+)> plan=([^;]*);/;

const instructionOf = (conversation) => JSON.stringify(conversation.findLast(({ role }) => role === 'user')?.content);

function reply(conversation) {
  const from = conversation.findLastIndex(({ role }) => role === 'user');
  const [, marker, plan] = PLAN.exec(instructionOf(conversation)) ?? [];
  if (marker === undefined) return [text('No plan was given.')];
  const since = conversation.slice(from + 1);
  const steps = plan === '' ? [] : plan.split(',').map((calls) => calls.split('+'));
  const called = since.filter(({ type }) => type === 'function_call');
  const done = called.length;
  let before = 0;
  for (const step of steps) {
    if (before === done) return step.map((kind) => CALLS[kind](marker));
    before += step.length;
  }
  const quoted = called.filter(({ name }) => name !== 'agent_change_mode').map(({ call_id }) => call_id);
  const outputs = since.filter(({ type, call_id }) => type === 'function_call_output' && quoted.includes(call_id));
  return [text(...spoken(marker, outputs.map(({ output }) => output)).match(/.{1,8}/g))];
}
