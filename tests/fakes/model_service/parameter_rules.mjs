// The rules for the members of `POST /v1/responses` that say how to answer, and not what: those that an operator's
// ModelParameters hold, the key of the prompt cache, and compaction by the service.
import { Refusal, missing, unknown, wrongType, wrongValue } from './refusal.mjs';

const INCLUDE = [
  'file_search_call.results', 'web_search_call.results', 'web_search_call.action.sources',
  'message.input_image.image_url', 'computer_call_output.output.image_url', 'code_interpreter_call.outputs',
  'reasoning.encrypted_content', 'message.output_text.logprobs',
];
const WORDS = {
  service_tier: ['auto', 'default', 'flex', 'scale', 'priority', 'fast', 'ultrafast'],
  truncation: ['auto', 'disabled'],
  'reasoning.effort': ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'],
  'reasoning.summary': ['auto', 'concise', 'detailed'],
  'text.verbosity': ['low', 'medium', 'high'],
  'text.format.type': ['text', 'json_schema', 'json_object'],
};
// Least and most; a bound of an integer is one.
const NUMBERS = { temperature: [0, 2], top_p: [0, 1] };
const INTEGERS = { max_output_tokens: [16], max_tool_calls: [1], top_logprobs: [0, 20] };
const LONGEST = { prompt_cache_key: 64, safety_identifier: 64 };
const KEY_LENGTH = 64;
const VALUE_LENGTH = 512;
const PAIRS = 16;

/** Throws a Refusal for the first fault among the parameters of `body`. */
export function checkParameters(body) {
  for (const [member, most] of Object.entries(LONGEST)) {
    if (isGiven(body[member])) checkText(body[member], member, most);
  }
  for (const [member, [least, most]] of Object.entries(NUMBERS)) checkNumber(body[member], member, least, most);
  for (const [member, [least, most]] of Object.entries(INTEGERS)) {
    if (isGiven(body[member]) && !Number.isInteger(body[member])) throw wrongType(member, 'an integer', body[member]);
    checkNumber(body[member], member, least, most, 'integer');
  }
  for (const [path, words] of Object.entries(WORDS)) {
    const value = path.split('.').reduce((held, name) => held?.[name], body);
    if (isGiven(value) && !words.includes(value)) throw wrongValue(path, value, words);
  }
  checkInclude(body.include);
  checkMetadata(body.metadata);
  checkFormat(body.text?.format);
  checkContextManagement(body.context_management);
}

function checkInclude(include) {
  if (!isGiven(include)) return;
  if (!Array.isArray(include)) throw wrongType('include', 'an array of strings', include);
  include.forEach((name, index) => {
    if (!INCLUDE.includes(name)) throw wrongValue(`include[${index}]`, name, INCLUDE);
  });
}

function checkMetadata(metadata) {
  if (!isGiven(metadata)) return;
  const pairs = Object.entries(metadata);
  if (pairs.length > PAIRS) {
    throw new Refusal(
      `Invalid 'metadata': too many properties. Expected an object with at most ${PAIRS} properties, but got an object with ${pairs.length} properties instead.`,
      { param: 'metadata', code: 'object_above_max_properties' },
    );
  }
  for (const [name, value] of pairs) {
    checkText(name, 'metadata', KEY_LENGTH);
    checkText(value, `metadata.${name}`, VALUE_LENGTH);
  }
}

function checkFormat(format) {
  if (!isGiven(format)) return;
  if (!isObject(format)) throw wrongType('text.format', 'an object', format);
  if (format.type === undefined) throw missing('text.format.type');
  if (format.type !== 'json_schema') return;
  for (const member of ['name', 'schema']) if (format[member] === undefined) throw missing(`text.format.${member}`);
  if (!isObject(format.schema)) throw wrongType('text.format.schema', 'an object', format.schema);
}

function checkContextManagement(entries) {
  if (!isGiven(entries)) return;
  if (!Array.isArray(entries)) throw wrongType('context_management', 'an array of objects', entries);
  entries.forEach((entry, index) => {
    const path = `context_management[${index}]`;
    if (!isObject(entry)) throw wrongType(path, 'an object', entry);
    for (const member of Object.keys(entry)) {
      if (!['type', 'compact_threshold'].includes(member)) throw unknown(`${path}.${member}`);
    }
    if (entry.type === undefined) throw missing(`${path}.type`);
    if (entry.type !== 'compaction') throw wrongValue(`${path}.type`, entry.type, ['compaction']);
    checkNumber(entry.compact_threshold, `${path}.compact_threshold`, 1000, undefined, 'integer');
  });
}

function checkText(value, path, most) {
  if (typeof value !== 'string') throw wrongType(path, 'a string', value);
  if (value.length > most) {
    throw new Refusal(
      `Invalid '${path}': string too long. Expected a string with maximum length ${most}, but got a string with length ${value.length} instead.`,
      { param: path, code: 'string_above_max_length' },
    );
  }
}

function checkNumber(value, path, least, most, kind = 'decimal') {
  if (!isGiven(value)) return;
  if (typeof value !== 'number') throw wrongType(path, `${kind === 'integer' ? 'an' : 'a'} ${kind}`, value);
  const refuse = (what, bound, code) => {
    throw new Refusal(`Invalid '${path}': ${kind} ${what}. Expected a value ${bound}, but got ${value} instead.`, {
      param: path,
      code: `${kind}_${code}`,
    });
  };
  if (value < least) refuse('below minimum value', `>= ${least}`, 'below_min_value');
  if (most !== undefined && value > most) refuse('above maximum value', `<= ${most}`, 'above_max_value');
}

const isGiven = (value) => value !== undefined && value !== null;
const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
