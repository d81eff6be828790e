// The live API's rule on reasoning and the items behind it: whoever gives one of them back, under its id, gives the other.
// Owns what a service remembers of the items that it gave out; chain.mjs asks it about each input.
import { Refusal } from './refusal.mjs';

export class Pairing {
  #follower = new Map(); // id of a reasoning item -> id of the item right behind it
  #reasoning = new Map(); // id of an item -> id of the reasoning before it, up to the next reasoning

  /** Remembers an output. */
  give(output) {
    let reasoning = null;
    let before = null;
    for (const { id, type } of output) {
      if (before !== null) this.#follower.set(before, id);
      before = type === 'reasoning' ? id : null;
      if (type === 'reasoning') reasoning = id;
      // It stands for all that was before it.
      else if (type === 'compaction') reasoning = null;
      else if (reasoning !== null) this.#reasoning.set(id, reasoning);
    }
  }

  /** Throws a Refusal for an input that parts what belongs together; `chain` is what it continues. */
  check(chain, input) {
    const given = new Set(chain.map(({ id }) => id));
    for (const [place, { id, type }] of input.entries()) {
      if (id === undefined) continue;
      if (type === 'reasoning') {
        const follower = input[place + 1]?.id;
        if (follower === undefined || (this.#follower.get(id) ?? follower) !== follower) {
          throw new Refusal(`Item '${id}' of type 'reasoning' was provided without its required following item.`, {
            param: 'input',
          });
        }
      } else if (this.#reasoning.has(id) && !given.has(this.#reasoning.get(id))) {
        const reasoning = this.#reasoning.get(id);
        throw new Refusal(
          `Item '${id}' of type '${type}' was provided without its required 'reasoning' item: '${reasoning}'.`,
          { param: 'input' },
        );
      }
      given.add(id);
    }
  }
}
