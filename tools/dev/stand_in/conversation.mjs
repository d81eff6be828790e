// The stand-in's replies: its tool calls and its texts.
// Owns the words; tests/fakes/model_service owns the wire format. It invents nothing: every reply quotes its input.
import { call, text } from '../../../tests/fakes/model_service/response_stream.mjs';
import { fitting } from './fitting.mjs';
import { LISTED, stateAsked } from './states.mjs';

// The modes that the product is shipped with, for a mode tool that lists none itself.
const KNOWN_MODES = ['general', 'ddr_authoring', 'workflow_authoring'];
/** The most characters that a summary quotes of a message. */
const LINE = 200;

/**
 * The output items for `conversation` (input and output items, newest last) under the request `body`. `state` is the
 * one that is shown, `windowTokens` the context window.
 */
export function reply(body, conversation, state, windowTokens) {
  const items = chosen(body, conversation, state, windowTokens);
  const { type, schema } = body.text?.format ?? {};
  const isAnswer = items.length === 1 && items[0].kind === 'text';
  if (type !== 'json_schema' || !isAnswer) return items;
  return [words(JSON.stringify(fitting(schema, lastUserMessage(conversation).instruction)))];
}

function chosen(body, conversation, state, windowTokens) {
  const results = trailingResults(conversation);
  if (results.length > 0) return [words(results.map((result) => afterTool(result)).join('\n\n'))];
  if (state?.items !== undefined) return state.items({ ...state, windowTokens, words, tools: body.tools ?? [] });

  const given = lastUserMessage(conversation);
  if (isRecord(given.instruction)) return [words(summary(given.instruction))];
  const tools = body.tools ?? [];
  const named = toolAsked(given.instruction, tools);
  if (named !== null) return named;
  if (/\bwhich word\b/i.test(given.instruction)) return [words(remembered(conversation))];
  const probed = codeName(given.instruction, conversation) ?? nextNumber(given.instruction, conversation);
  if (probed !== null) return [words(probed)];
  const wanted = switchAsked(given.instruction);
  if (wanted !== null) return [switchMode(wanted, tools)];
  const path = fileAsked(given.instruction);
  if (path !== null) return [readFile(path, tools)];
  return [words(shown(given, body))];
}

/** The state of a model service that the newest message asks for; `null` when it asks for none. */
export function stateOf(conversation) {
  const { instruction } = lastUserMessage(conversation);
  return conversation.at(-1)?.role === 'user' && !isRecord(instruction) ? stateAsked(instruction) : null;
}

/** Whether the newest message asks for a service that goes down when a tool has given its output, and that is so. */
export function isDown(conversation) {
  const { instruction } = lastUserMessage(conversation);
  return conversation.at(-1)?.type === 'function_call_output' && stateAsked(instruction)?.goesDown === true;
}

/** A text item whose deltas are words, each with the white space that follows it. */
const words = (whole) => text(...(whole.match(/\s*\S+\s*?(?=\s|$)|\s+$/g) ?? [whole]));

function switchMode(wanted, tools) {
  const tool = tools.find(({ name }) => name === 'agent_change_mode');
  if (tool === undefined) return words(`I cannot switch to ${wanted}: no tool for changing the mode was offered.`);
  return call(tool.name, { mode: modeKey(wanted, tool), branch: false, reason: `The user asked to switch to ${wanted}.` });
}

function readFile(path, tools) {
  const own = tools.filter(({ name }) => !name.startsWith('agent_'));
  const tool = own.find(({ name }) => /read/i.test(name)) ?? own.find(({ name }) => /file|open/i.test(name));
  if (tool === undefined) return words(`I cannot read ${path}: no tool that reads files was offered.`);
  const members = Object.keys(tool.parameters?.properties ?? {});
  const member = members.includes('path') ? 'path' : members.find((name) => /path|file|name/i.test(name)) ?? 'path';
  return call(tool.name, { [member]: path });
}

/** Calls of the tool that the user names, one with each word that the user names; `null` when the user names none. */
function toolAsked(instruction, tools) {
  const [, name] = /\bcall the tool [`'"“]?([\w-]+)/i.exec(instruction) ?? [];
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined) return null;
  const { required = [], properties = {} } = tool.parameters ?? {};
  const [member = 'word'] = [...required, ...Object.keys(properties)];
  return wordsIn(instruction).map((word) => call(name, { [member]: word }));
}

/** `the word a`, or `the words a, b and c`; without either the instruction itself. */
function wordsIn(instruction) {
  const [, listed] = /\bthe words? ((?:[`'"“]?[\w-]+[`'"”]?(?:, | and )?)+)/i.exec(instruction) ?? [];
  if (listed === undefined) return [instruction];
  const named = listed.split(/, | and /).map((word) => /[\w-]+/.exec(word)?.[0]).filter(Boolean);
  return /\bthe words /i.test(instruction) ? named : named.slice(0, 1);
}

/** The word that an earlier message asks to remember, or a summary tells of. */
function remembered(conversation) {
  const earlier = conversation.slice(0, -1).filter(({ role }) => role === 'user').map(({ content }) => textIn(content));
  const [, word] = /.*\bremember the word [`'"“]?([\w-]+)/is.exec(earlier.join('\n')) ?? [];
  return word === undefined ? 'I was given no word to remember.' : `${word}.`;
}

/** The code name that the system message gives, with the number of the instruction: what `make check-catalog` asks for. */
function codeName(instruction, conversation) {
  const [, which] = /\b(first|second) code name\b/.exec(instruction) ?? [];
  if (which === undefined) return null;
  const told = conversation.filter(({ role }) => role === 'system').map(({ content }) => textIn(content)).join('\n');
  const [, name] = new RegExp(`\\b${which} code name is ([\\w-]+)`).exec(told) ?? [];
  const [, number = ''] = /\bthe number (\d+)/.exec(instruction) ?? [];
  return `${name ?? 'I was told no code name'} ${number}`.trim();
}

/** The number after the last one that was said before the instruction. */
function nextNumber(instruction, conversation) {
  if (!/\bnumber that comes after the last number\b/.test(instruction)) return null;
  const before = conversation.slice(0, conversation.findLastIndex(({ role }) => role === 'user'));
  const said = before.filter(({ role }) => role === 'user' || role === 'assistant').map(({ content }) => textIn(content));
  const last = said.join('\n').match(/\d+/g)?.at(-1);
  return last === undefined ? 'I was given no number.' : String(Number(last) + 1);
}

/** Whether a message is a record that is to be summarised, because the conversation has become too long. */
const isRecord = (instruction) => /^\[(RECORD|SUMMARY SO FAR)\]\n/.test(instruction);

/** A summary of a record: what the user said, each time shortened to a line. */
function summary(record) {
  const [before, after = before] = record.split('[RECORD]\n');
  const earlier = [...before.matchAll(/“([^”]+)”/g)];
  const said = [...after.matchAll(/\[INSTRUCTION\]\n(.+)/g)];
  const lines = [...new Set([...earlier, ...said].map(([, line]) => line.slice(0, LINE)))];
  return `The user said, in this order: ${lines.map((line) => `“${line}”`).join(', ')}.`;
}

function afterTool({ asked, output }) {
  const answer = parsed(output);
  if (asked.name === 'agent_change_mode') {
    const mode = modeWords(answer?.mode ?? parsed(asked.arguments)?.mode ?? '');
    if (answer?.success === true) return `We are in ${mode} mode now. Tell me what to start with.`;
    return `There is no mode called ${mode}. You can choose from: ${(answer?.validModes ?? []).map(modeName).join(', ')}.`;
  }
  if (typeof answer?.error === 'string') return `The tool ${asked.name} reported an error: ${answer.error}`;
  const content = textOf(answer) ?? output;
  const first = content.split('\n').find((line) => line.trim() !== '') ?? '(nothing)';
  const of = Object.values(parsed(asked.arguments) ?? {}).find((value) => typeof value === 'string');
  return `I have read ${of ?? `the result of ${asked.name}`}. Its first line is: “${first.trim()}”`;
}

function shown(given, body) {
  const lines = [
    'I am the stand-in for the model service. I repeat what I was given and make nothing up.',
    '',
    `- Mode: ${given.mode ?? 'none'}`,
    `- Your instruction: ${given.instruction === '' ? 'none' : `“${given.instruction}”`}`,
  ];
  if (given.paths.length > 0) lines.push(`- Context: ${given.paths.join(', ')}`);
  if (given.solution !== null) lines.push(`- Solution context: ${given.solution}`);
  if (given.attached > 0) lines.push(`- Images and files: ${given.attached}`);
  if (body.tools?.length > 0) lines.push(`- Tools: ${body.tools.map(({ name }) => name).join(', ')}`);
  lines.push(
    '',
    'Try “switch to DDR authoring”, a mode for design records, “remember the word pelican” and later “which word?”, “read README.md” with a tool that reads files. Or ask for a state of a model service:',
    '',
    LISTED,
  );
  return lines.join('\n');
}

/** The tool outputs at the end of the conversation, each with its call. */
function trailingResults(conversation) {
  const last = conversation.findLastIndex((item) => item.type !== 'function_call_output');
  return conversation.slice(last + 1).map((item) => ({
    asked: conversation.findLast(({ type, call_id }) => type === 'function_call' && call_id === item.call_id),
    output: textIn(item.output),
  }));
}

function lastUserMessage(conversation) {
  const content = conversation.findLast(({ role }) => role === 'user')?.content ?? '';
  const parts = typeof content === 'string' ? [{ type: 'input_text', text: content }] : content;
  const texts = parts.filter(({ type }) => type === 'input_text').map((part) => part.text);
  const [, mode = null, rest = texts[0] ?? ''] = /^\[MODE: ([^\]]*)\]\s*([^]*)$/.exec(texts[0] ?? '') ?? [];
  const block = (header) => texts.find((each) => each.startsWith(header)) ?? null;
  return {
    mode,
    instruction: rest.replace(/^\[INSTRUCTION\]\n/, '').trim(),
    paths: [...(block('[CONTEXT]') ?? '').matchAll(/^Path: (.+)$/gm)].map(([, path]) => path),
    solution: block('[SOLUTION CONTEXT]')?.split('\n')[1] ?? null,
    attached: parts.length - texts.length,
  };
}

function switchAsked(instruction) {
  const [, wanted] = /\bswitch\s+(?:me\s+|over\s+|back\s+)*to\s+(?:the\s+)?([^.,;!?\n]+)/i.exec(instruction) ?? [];
  return wanted === undefined ? null : wanted.replace(/\s+(?:mode)?(?:\s+please)?\s*$/i, '').trim();
}

function fileAsked(instruction) {
  const [, path] = /\bread\s+(?:the\s+)?(?:file\s+)?[`'"“]?([\w./-]*\w\.\w+|README|LICENSE|Makefile)/i.exec(instruction) ?? [];
  return path ?? null;
}

/**
 * The key for the user's name of a mode: from the tool's own list first, then its description, then the shipped modes.
 */
function modeKey(wanted, tool) {
  const said = wanted.toLowerCase().replace(/[^a-z0-9]+/g, '_').replace(/^_|_$/g, '');
  const property = tool.parameters?.properties?.mode ?? {};
  const described = `${tool.description ?? ''} ${property.description ?? ''}`.match(/[a-z][a-z0-9]*(?:_[a-z0-9]+)*/g) ?? [];
  const listed = [...(property.enum ?? []), ...described.filter((word) => word.includes('_')), ...KNOWN_MODES];
  return listed.find((key) => key === said) ?? listed.find((key) => key.startsWith(`${said}_`)) ?? said;
}

const modeWords = (key) => key.replaceAll('_', ' ').replace(/\bddr\b/, 'DDR');
const modeName = (mode) => modeWords(typeof mode === 'string' ? mode : mode?.key ?? mode?.Key ?? '');

/** The text of a message or a tool's output. */
const textIn = (content) => (typeof content === 'string' ? content : content.map(({ text: part }) => part ?? '').join(''));

/** The text in a tool's result: the result itself if it is a string, else a text member of the object. */
function textOf(answer) {
  if (typeof answer === 'string') return answer;
  if (typeof answer !== 'object' || answer === null) return null;
  const named = Object.entries(answer).find(([name, value]) => /^(contents?|text|data)$/i.test(name) && typeof value === 'string');
  return (named ?? Object.entries(answer).find(([, value]) => typeof value === 'string'))?.[1] ?? null;
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
