// Embeddings without a model: texts that share words, or words of like meaning, have vectors that are near each other.
// Owns the vectors, and the requests that the live API refuses. A word is a direction: the hash of its stem says which,
// and words of like meaning count as one.
import { Refusal, missing, wrongType, wrongValue } from './refusal.mjs';

const MOST_INPUTS = 2048;
const MOST_DIMENSIONS = 4096;
const DIMENSIONS = 256;
/** The coordinates of a word. One alone would fall together with another word's too often. */
const SPREAD = 3;

/** Words of like meaning, each line a meaning. */
const MEANINGS = `
  car automobile vehicle
  delete remove erase discard purge
  invoice bill
  customer client buyer
  begin start launch
  end finish stop terminate
  fast quick rapid speedy
  error fault failure mistake bug
  doctor physician
  buy purchase acquire
  pay remit settle
  price cost fee
  money cash currency
  repair mend fix
  find locate search
  show display present
  send dispatch ship transmit
  make create build produce
  store save keep persist
  picture image photo
  house home residence
  job task work
  holiday vacation leave
  employee worker staff
  password passphrase credential
  secret confidential private
  test check verify
  big large huge
  small little tiny`
  .trim()
  .split('\n')
  .map((line) => line.trim().split(' '));
/** Words that say nothing of what a text is about. */
const EMPTY = new Set(
  `a an and are as at be by can do does for from has have how i if in is it its me my not of on or our that the their then
  there these they this to up was we what when where which who why will with you your pub fn let use mod self const return
  function class`.split(/\s+/),
);
const MEANING = new Map(MEANINGS.flatMap((words) => words.map((word) => [stem(word), stem(words[0])])));

/** The answer to a request, as the live API gives it; throws a Refusal where that refuses it. */
export function embeddings(body) {
  const { model, dimensions = DIMENSIONS, encoding_format: format = 'float' } = body;
  if (model === undefined) throw new Refusal('you must provide a model parameter');
  if (typeof model !== 'string') throw wrongType('model', 'a string', model);
  if (body.input === undefined) throw missing('input');
  const inputs = Array.isArray(body.input) ? body.input : [body.input];
  if (inputs.length === 0 || inputs.some((input) => typeof input !== 'string' || input === '')) {
    throw new Refusal("'$.input' is invalid. Please check the API reference: https://platform.openai.com/docs/api-reference.");
  }
  if (inputs.length > MOST_INPUTS) throw new Refusal(`'$.input' is too long. Maximum length is ${MOST_INPUTS} items, but got ${inputs.length} items.`);
  if (!Number.isInteger(dimensions)) throw wrongType('dimensions', 'an integer', dimensions);
  if (dimensions < 1 || dimensions > MOST_DIMENSIONS) throw new Refusal(`Invalid value for 'dimensions' = ${dimensions}. Must be between 1 and ${MOST_DIMENSIONS}.`, { param: 'dimensions' });
  if (!['float', 'base64'].includes(format)) throw wrongValue('encoding_format', format, ['float', 'base64']);
  const data = inputs.map((input, index) => {
    const vector = vectorOf(input, dimensions);
    return { object: 'embedding', index, embedding: format === 'float' ? [...vector] : inBase64(vector) };
  });
  const tokens = Math.ceil(inputs.join('').length / 4);
  return { object: 'list', data, model, usage: { prompt_tokens: tokens, total_tokens: tokens } };
}

/** A vector of length 1. */
function vectorOf(text, dimensions) {
  const counts = new Map();
  for (const word of wordsOf(text)) counts.set(word, (counts.get(word) ?? 0) + 1);
  // A text without a word is near to itself alone.
  if (counts.size === 0) counts.set(text, 1);
  const vector = new Float32Array(dimensions);
  for (const [word, count] of counts) {
    for (let part = 0; part < SPREAD; part += 1) {
      const hash = hashOf(`${part} ${word}`);
      vector[(hash >>> 1) % dimensions] += (hash & 1 ? 1 : -1) * (1 + Math.log(count));
    }
  }
  const length = Math.hypot(...vector) || 1;
  return vector.map((number) => number / length);
}

/** The meanings of a text's words; identifiers are read by their parts. */
function wordsOf(text) {
  const parts = text.replace(/(\p{Ll})(\p{Lu})/gu, '$1 $2').toLowerCase().match(/\p{L}+|\p{N}+/gu) ?? [];
  return parts.filter((word) => !EMPTY.has(word)).map((word) => MEANING.get(stem(word)) ?? stem(word));
}

/** A word without its ending, roughly. */
function stem(word) {
  const root = word.replace(/ies$/, 'y').replace(/(?:ations?|ing|ed|es|ers?|or|s)$/, '').replace(/e$/, '').replace(/y$/, 'i');
  return root.length < 3 ? word : root.replace(/(\p{L})\1$/u, '$1');
}

/** FNV-1a, and a last mixing, without which the lowest bits of like words are alike. */
function hashOf(text) {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(text)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x45d9f3b);
  return (hash ^ (hash >>> 16)) >>> 0;
}

/** The numbers' bytes, little-endian as on every machine that runs this. */
function inBase64(vector) {
  return Buffer.from(vector.buffer).toString('base64');
}
