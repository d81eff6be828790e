// The responses that a service stores, and the rules for requests that refer to them.
// Owns `previous_response_id`: the response's owner, its open calls, and the whole conversation.
// Stored in memory, unless its request set `store: false`: a response is held from its beginning, and can be continued
// when it has ended.
import { Pairing } from './pairing.mjs';
import { Refusal } from './refusal.mjs';

export class Chain {
  #kept = new Map(); // response id -> { owner, items }
  #held = new Map(); // response id -> owner
  #pairing = new Pairing();

  /** The ids of all stored responses, whatever became of them. */
  get held() {
    return [...this.#held.keys()];
  }

  /**
   * The whole conversation that `body` continues, with its own input last, as a list of input and output items. Throws
   * a Refusal where the live API returns 400. `owner` identifies the caller: ids are valid for their owner only.
   */
  conversation(owner, body) {
    const earlier = this.#earlier(owner, body.previous_response_id);
    const input = typeof body.input === 'string' ? [{ role: 'user', content: body.input }] : body.input;
    checkAnswers(earlier, input);
    this.#pairing.check(earlier, input);
    return [...earlier, ...input];
  }

  /** Stores a response; once it has ended, a later request can refer to it. */
  keep(owner, body, conversation, response) {
    this.#pairing.give(response.output);
    if (body.store === false) return;
    this.#held.set(response.id, owner);
    if (!['completed', 'incomplete'].includes(response.status)) return;
    this.#kept.set(response.id, { owner, items: [...conversation, ...response.output] });
  }

  /** Deletes a stored response. Throws a Refusal when the owner has none of that id. */
  remove(owner, id) {
    if (this.#held.get(id) !== owner) {
      throw new Refusal(`Response with id '${id}' not found.`, { status: 404 });
    }
    this.#held.delete(id);
    this.#kept.delete(id);
  }

  /** Drops every stored response, as the live API does when its retention ends. */
  forget() {
    this.#held.clear();
    this.#kept.clear();
  }

  #earlier(owner, id) {
    if (id === undefined || id === null) return [];
    const kept = this.#kept.get(id);
    if (kept === undefined || kept.owner !== owner) {
      throw new Refusal(`Previous response with id '${id}' not found.`, {
        param: 'previous_response_id',
        code: 'previous_response_not_found',
      });
    }
    return kept.items;
  }
}

function checkAnswers(earlier, input) {
  const open = new Set();
  const closeOrRefuse = (item) => {
    if (item.type === 'function_call') open.add(item.call_id);
    if (item.type !== 'function_call_output') return;
    if (!open.delete(item.call_id)) {
      throw new Refusal(`No tool call found for function call output with call_id ${item.call_id}.`, { param: 'input' });
    }
  };
  earlier.forEach(closeOrRefuse);
  input.forEach(closeOrRefuse);
  for (const callId of open) {
    throw new Refusal(`No tool output found for function call ${callId}.`, { param: 'input' });
  }
}
