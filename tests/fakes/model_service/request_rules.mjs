// The rules for the body of `POST /v1/responses`, as the live API checks them before it looks at any state.
// Owns the shape of one body alone; chain.mjs owns references to earlier responses, parameter_rules.mjs the members
// that say how to answer.
// The order of the checks is the live one: presence of model and input, unknown members, then each member.
import { checkParameters } from './parameter_rules.mjs';
import { Refusal, missing, unknown, wrongType, wrongValue } from './refusal.mjs';

const TOP_LEVEL = new Set(
  (
    'background context_management conversation include input instructions max_output_tokens max_tool_calls ' +
    'metadata model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key ' +
    'prompt_cache_options prompt_cache_retention reasoning safety_identifier service_tier store stream ' +
    'stream_options temperature text tool_choice tools top_logprobs top_p truncation user'
  ).split(' '),
);

const ITEMS = {
  message: { required: ['content'], optional: ['role', 'id', 'status', 'phase'] },
  function_call: { required: ['call_id', 'name', 'arguments'], optional: ['id', 'status'] },
  function_call_output: { required: ['call_id', 'output'], optional: ['id', 'status'] },
  reasoning: { required: ['summary'], optional: ['id', 'content', 'encrypted_content', 'status'] },
  web_search_call: { required: ['id', 'status', 'action'], optional: [] },
  file_search_call: { required: ['id', 'status', 'queries'], optional: ['results'] },
  image_generation_call: { required: ['id', 'status', 'result'], optional: [] },
  item_reference: { required: ['id'], optional: [] },
};

const PARTS = {
  input_text: { required: ['text'], optional: [] },
  input_image: { required: [], optional: ['image_url', 'file_id', 'detail'] },
  input_file: { required: [], optional: ['file_id', 'file_data', 'file_url', 'filename', 'detail'] },
  output_text: { required: ['text'], optional: ['annotations', 'logprobs'] },
  refusal: { required: ['refusal'], optional: [] },
};
// The live error message also names kinds that this service does not accept; the message stays as the live API sends
// it.
const PART_NAMES = [
  'input_text', 'input_image', 'input_audio', 'output_text', 'refusal', 'input_file', 'computer_screenshot',
  'summary_text', 'encrypted_content',
];
const ASSISTANT_PARTS = ['output_text', 'refusal'];
const INPUT_PARTS = ['input_text', 'input_image', 'input_file'];

// Those that a catalog may name; which members each takes is not looked at.
const HOSTED_TOOLS = ['web_search', 'image_generation', 'code_interpreter', 'web_search_preview', 'file_search', 'mcp', 'shell'];

const TOOL_NAME = /^[a-zA-Z0-9_-]+$/;

/** Throws a Refusal for the first fault of `body`. */
export function checkRequest(body) {
  if (!isObject(body)) throw wrongType('body', 'an object', body);
  if (body.model === undefined || body.model === null) throw missing('model');
  if (body.input === undefined) throw missing('input');
  for (const member of Object.keys(body)) if (!TOP_LEVEL.has(member)) throw unknown(member);

  if (typeof body.model !== 'string') throw wrongType('model', 'a string', body.model);
  if (body.model === '') {
    throw new Refusal("The requested model '' does not exist.", { param: 'model', code: 'model_not_found' });
  }
  for (const member of ['stream', 'store', 'parallel_tool_calls', 'background']) typed(body, member, 'boolean');
  for (const member of ['instructions', 'previous_response_id', 'user']) typed(body, member, 'string');
  for (const member of ['reasoning', 'text', 'metadata', 'stream_options']) {
    if (body[member] !== undefined && body[member] !== null && !isObject(body[member])) {
      throw wrongType(member, 'an object', body[member]);
    }
  }
  checkParameters(body);
  checkInput(body.input);
  checkTools(body.tools);
  checkToolChoice(body.tool_choice, body.tools ?? []);
}

function checkInput(input) {
  if (typeof input !== 'string' && !Array.isArray(input)) {
    throw wrongType('input', 'one of a string or array of input items', input);
  }
  if (input.length === 0) {
    throw new Refusal(
      'One of "input" or "previous_response_id" or \'prompt\' or \'conversation\' must be provided.',
      { code: 'missing_required_parameter' },
    );
  }
  if (Array.isArray(input)) input.forEach((item, index) => checkItem(item, `input[${index}]`));
}

function checkItem(item, path) {
  if (!isObject(item)) throw wrongType(path, 'an object', item);
  const type = item.type ?? (item.role === undefined ? undefined : 'message');
  if (type === undefined) throw missing(`${path}.type`);
  if (!Object.hasOwn(ITEMS, type)) throw wrongValue(path, type, Object.keys(ITEMS));
  if (type === 'message' && !['assistant', 'system', 'developer', 'user'].includes(item.role)) {
    throw wrongValue(path, item.role, ['assistant', 'system', 'developer', 'user']);
  }
  checkMembers(item, ITEMS[type], path);
  if (item.phase !== undefined && item.role !== 'assistant') throw unknown(`${path}.phase`);
  if (type === 'message') checkContent(item.content, item.role === 'assistant' ? ASSISTANT_PARTS : INPUT_PARTS, `${path}.content`);
  if (type === 'function_call_output') checkContent(item.output, INPUT_PARTS, `${path}.output`);
  if (type === 'function_call') checkName(item.name, `${path}.name`);
  if (type === 'function_call' && typeof item.arguments !== 'string') {
    throw wrongType(`${path}.arguments`, 'a string', item.arguments);
  }
}

function checkContent(content, family, path) {
  if (typeof content === 'string') return;
  if (!Array.isArray(content)) throw wrongType(path, 'one of a string or array of content parts', content);
  content.forEach((part, index) => {
    const at = `${path}[${index}]`;
    if (!isObject(part)) throw wrongType(at, 'an object', part);
    if (part.type === undefined) throw missing(`${at}.type`);
    if (!Object.hasOwn(PARTS, part.type)) throw wrongValue(`${at}.type`, part.type, PART_NAMES);
    if (!family.includes(part.type)) throw wrongValue(at, part.type, family);
    checkMembers(part, PARTS[part.type], at);
    if (part.type === 'input_image' && part.file_id === undefined) checkUrl(part.image_url, `${at}.image_url`);
    if (part.type === 'input_file' && part.file_data !== undefined && !/^data:[^;,]+\/[^;,]+;base64,/.test(part.file_data)) {
      throw new Refusal(
        `Invalid '${at}.file_data'. Expected a base64-encoded data URL with a valid file MIME type.`,
        { param: `${at}.file_data`, code: 'invalid_value' },
      );
    }
  });
}

function checkUrl(url, path) {
  if (url === undefined) throw missing(path);
  if (typeof url !== 'string') throw wrongType(path, 'a string', url);
  if (!/^(https?:\/\/|data:image\/[a-z+]+;base64,.)/.test(url)) {
    throw new Refusal(`Invalid '${path}'. Expected a valid URL.`, { param: path, code: 'invalid_value' });
  }
}

function checkTools(tools) {
  if (tools === undefined || tools === null) return;
  if (!Array.isArray(tools)) throw wrongType('tools', 'an array of tools', tools);
  const names = new Set();
  tools.forEach((tool, index) => {
    const path = `tools[${index}]`;
    if (!isObject(tool)) throw wrongType(path, 'an object', tool);
    if (tool.type === undefined) throw missing(`${path}.type`);
    if (HOSTED_TOOLS.includes(tool.type)) return;
    if (tool.type !== 'function') throw wrongValue(`${path}.type`, tool.type, ['function', ...HOSTED_TOOLS]);
    if (tool.name === undefined) throw missing(`${path}.name`);
    checkMembers(tool, { required: ['name'], optional: ['description', 'parameters', 'strict'] }, path);
    checkName(tool.name, `${path}.name`);
    if (names.has(tool.name)) {
      throw new Refusal(`Tool names must be unique: '${tool.name}'.`, { param: path, code: 'invalid_value' });
    }
    names.add(tool.name);
  });
}

function checkName(name, path) {
  if (typeof name === 'string' && TOOL_NAME.test(name)) return;
  throw new Refusal(
    `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.`,
    { param: path, code: 'invalid_value' },
  );
}

function checkToolChoice(choice, tools) {
  if (choice === undefined || choice === null) return;
  if (typeof choice === 'string') {
    if (!['none', 'auto', 'required'].includes(choice)) throw wrongValue('tool_choice', choice, ['none', 'auto', 'required']);
    if (choice === 'required' && tools.length === 0) {
      throw new Refusal("Tool choice 'required' must be specified with 'tools' parameter.", { param: 'tool_choice' });
    }
    return;
  }
  if (!isObject(choice)) throw wrongType('tool_choice', "one of an object or 'none', 'auto', or 'required'", choice);
  if (choice.type !== 'function') throw wrongValue('tool_choice.type', choice.type, ['function']);
  if (choice.name === undefined) throw missing('tool_choice.name');
  if (!tools.some((tool) => tool.name === choice.name)) {
    const named = tools.length === 0 ? choice.type : choice.name;
    throw new Refusal(`Tool choice '${named}' not found in 'tools' parameter.`, { param: 'tool_choice' });
  }
}

function checkMembers(value, { required, optional }, path) {
  for (const member of required) if (value[member] === undefined) throw missing(`${path}.${member}`);
  for (const member of Object.keys(value)) {
    if (member !== 'type' && !required.includes(member) && !optional.includes(member)) throw unknown(`${path}.${member}`);
  }
}

function typed(body, member, type) {
  const value = body[member];
  if (value !== undefined && value !== null && typeof value !== type) throw wrongType(member, `a ${type}`, value);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);
