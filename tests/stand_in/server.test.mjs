// The stand-in, called as the Worker calls it.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { standIn } from './server.mjs';

const CHANGE_MODE = {
  type: 'function',
  name: 'agent_change_mode',
  description: 'Changes the mode.',
  parameters: { type: 'object', properties: { mode: { type: 'string', enum: ['general', 'ddr_authoring'] } } },
  strict: false,
};
const READ_FILE = {
  type: 'function', name: 'workspace_read_file', parameters: { type: 'object', properties: { path: { type: 'string' } } }, strict: false,
};

let service;
before(async () => (service = await standIn({ wordMs: 0 })));
after(() => service.close());

const post = (body, key = 'k') =>
  fetch(`${service.url}/responses`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', ...body }),
  });
const said = (instruction, ...blocks) => [
  {
    role: 'user',
    content: [`[MODE: general]\n\n[INSTRUCTION]\n${instruction}`, ...blocks].map((text) => ({ type: 'input_text', text })),
  },
];
async function events(body) {
  const answer = await post({ ...body, stream: true });
  assert.equal(answer.status, 200);
  return (await answer.text())
    .split('\n\n')
    .filter((block) => block !== '')
    .map((block) => {
      const [, name, data] = /^event: (.+)\ndata: (.+)$/.exec(block);
      const event = JSON.parse(data);
      assert.equal(event.type, name);
      return event;
    });
}
const ended = async (body) => (await events(body)).at(-1).response;

test('a plain answer is told in the live order, numbered, word by word, and shows what it was given', async () => {
  const context = '[CONTEXT]\n\n=== CHUNK 1 ===\nId: ctx_1\nPath: src/a.rs\nLines: 1-2\nLanguage: rust\n```rust\nfn a() {}\n```\n';
  const told = await events({ input: said('Explain `a`.', context, '[SOLUTION CONTEXT]\nA small crate.') });

  assert.deepEqual(told.map((event) => event.sequence_number), told.map((_, index) => index));
  const kinds = told.map((event) => event.type.replace('response.', ''));
  assert.deepEqual(kinds.filter((kind) => kind !== 'output_text.delta'), [
    'created', 'in_progress', 'output_item.added', 'content_part.added', 'output_text.done', 'content_part.done',
    'output_item.done', 'completed',
  ]);
  const deltas = told.filter((event) => event.delta !== undefined).map((event) => event.delta);
  assert.ok(deltas.length > 20 && deltas.every((delta) => delta.trim().split(/\s+/).length === 1), 'one word a delta');
  const { output, usage } = told.at(-1).response;
  assert.equal(output[0].content[0].text, deltas.join(''));
  assert.match(deltas.join(''), /Mode: general\n- Your instruction: “Explain `a`.”\n- Context: src\/a.rs\n- Solution context: A small crate./);
  assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
});

test('switching the mode calls the mode tool and then names the mode', async () => {
  const asked = await ended({ input: said('Please switch to DDR authoring mode.'), tools: [READ_FILE, CHANGE_MODE] });
  const [call] = asked.output;
  assert.equal(call.name, 'agent_change_mode');
  assert.deepEqual(JSON.parse(call.arguments), {
    mode: 'ddr_authoring', branch: false, reason: 'The user asked to switch to DDR authoring.',
  });
  const output = JSON.stringify({ success: true, mode: 'ddr_authoring', branch: false, reason: 'x' });
  const answered = await ended({
    previous_response_id: asked.id, input: [{ type: 'function_call_output', call_id: call.call_id, output }], tools: [CHANGE_MODE],
  });
  assert.match(answered.output[0].content[0].text, /We are in DDR authoring mode now/);
});

test('reading a file calls the offered reader and quotes the first line of its result', async () => {
  const asked = await ended({ input: said('Can you read README.md and sum it up?'), tools: [CHANGE_MODE, READ_FILE] });
  const [call] = asked.output;
  assert.deepEqual([call.name, JSON.parse(call.arguments)], ['workspace_read_file', { path: 'README.md' }]);
  for (const output of [JSON.stringify('# Title\nmore'), JSON.stringify({ content: '# Title\nmore' }), '# Title\nmore']) {
    const answered = await ended({
      previous_response_id: asked.id, input: [{ type: 'function_call_output', call_id: call.call_id, output }],
    });
    assert.equal(answered.output[0].content[0].text, 'I have read README.md. Its first line is: “# Title”');
  }
});

test('without a reader the stand-in says so', async () => {
  const { output } = await ended({ input: said('read README.md'), tools: [CHANGE_MODE] });
  assert.match(output[0].content[0].text, /no tool that reads files was offered/);
});

test('a request without stream is answered as one JSON response that can be continued', async () => {
  const answer = await (await post({ input: 'hello' })).json();
  assert.equal(answer.status, 'completed');
  const next = await post({
    input: 'again', previous_response_id: answer.id, prompt_cache_key: 'k'.repeat(32), include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low' }, max_output_tokens: 16, metadata: { team: 'a' }, temperature: 0.5,
    text: { verbosity: 'low', format: { type: 'json_schema', name: 'n', schema: {} } },
    context_management: [{ type: 'compaction', compact_threshold: 1000 }],
  });
  assert.equal(next.status, 200);
});

test('what the live API refuses is refused in its envelope', async () => {
  const asked = await ended({ input: said('read README.md'), tools: [READ_FILE] });
  const callId = asked.output[0].call_id;
  const row = async (body, key) => {
    const answer = await post(body, key);
    const { error } = await answer.json();
    return [answer.status, error.param, error.code, error.message];
  };
  assert.deepEqual(await row({ input: 'x', previous_response_id: 'resp_x' }), [
    400, 'previous_response_id', 'previous_response_not_found', "Previous response with id 'resp_x' not found.",
  ]);
  assert.deepEqual(await row({ input: 'x', previous_response_id: asked.id }, 'another'), [
    400, 'previous_response_id', 'previous_response_not_found', `Previous response with id '${asked.id}' not found.`,
  ]);
  assert.deepEqual(await row({ input: 'x', previous_response_id: asked.id }), [
    400, 'input', null, `No tool output found for function call ${callId}.`,
  ]);
  assert.deepEqual(await row({ input: [{ type: 'function_call_output', call_id: 'call_x', output: '{}' }] }), [
    400, 'input', null, 'No tool call found for function call output with call_id call_x.',
  ]);
  assert.deepEqual(await row({ input: 'x', tool_choice: { type: 'function', name: 'f' } }), [
    400, 'tool_choice', null, "Tool choice 'function' not found in 'tools' parameter.",
  ]);
  assert.deepEqual((await row({ input: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }] })).slice(0, 3), [
    400, 'input[0].content[0].type', 'invalid_value',
  ]);
  assert.deepEqual(await row({ input: 'x', WorkspaceId: 'w' }), [400, 'WorkspaceId', 'unknown_parameter', "Unknown parameter: 'WorkspaceId'."]);
  for (const [body, param, code] of [
    [{ prompt_cache_key: 'k'.repeat(65) }, 'prompt_cache_key', 'string_above_max_length'],
    [{ include: ['everything'] }, 'include[0]', 'invalid_value'],
    [{ max_output_tokens: 15 }, 'max_output_tokens', 'integer_below_min_value'],
    [{ max_output_tokens: '16' }, 'max_output_tokens', 'invalid_type'],
    [{ reasoning: { effort: 'lots' } }, 'reasoning.effort', 'invalid_value'],
    [{ text: { format: { type: 'json_schema', schema: {} } } }, 'text.format.name', 'missing_required_parameter'],
    [{ context_management: [{ type: 'compaction', compact_threshold: 999 }] }, 'context_management[0].compact_threshold', 'integer_below_min_value'],
    [{ context_management: [{ type: 'compaction', By: 'Service' }] }, 'context_management[0].By', 'unknown_parameter'],
    [{ metadata: { a: 1 } }, 'metadata.a', 'invalid_type'],
  ]) {
    assert.deepEqual((await row({ input: 'x', ...body })).slice(0, 3), [400, param, code]);
  }
  assert.deepEqual(await row({ previous_response_id: asked.id }), [
    400, 'input', 'missing_required_parameter', "Missing required parameter: 'input'.",
  ]);
});
