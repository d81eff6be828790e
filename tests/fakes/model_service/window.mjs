// The context window of a model: what a request takes of it, and the refusal of what does not fit.
// Owns the count, which is an estimate: four characters are a token, and a picture or a file is a flat number of them.
import { Refusal } from './refusal.mjs';

const CHARACTERS_PER_TOKEN = 4;
/** What stands for the contents of a picture or a file, so that they count as about 250 tokens. */
const CONTENTS = 'x'.repeat(1000);

/** The tokens of some input or output items. */
export const tokensOf = (items) => Math.ceil(JSON.stringify(items, withoutContents).length / CHARACTERS_PER_TOKEN);

/** The usage that a response to `conversation` reports. */
export function usageOf(conversation, output) {
  const [input_tokens, output_tokens] = [tokensOf(conversation), tokensOf(output)];
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  };
}

/** Throws a Refusal when `conversation`, the chain included, has more than `most` tokens. */
export function checkWindow(conversation, most) {
  if (tokensOf(conversation) > most) {
    throw new Refusal('Your input exceeds the context window of this model. Please adjust your input and try again.', {
      param: 'input',
      code: 'context_length_exceeded',
    });
  }
}

const withoutContents = (name, value) => (typeof value === 'string' && /^data:[^,]*;base64,/.test(value) ? CONTENTS : value);
