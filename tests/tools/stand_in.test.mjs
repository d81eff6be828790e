// The stand-in, called as the Worker calls it; tests/e2e/states.test.mjs has what the Worker makes of its states.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { standIn } from '../../tools/dev/stand_in/service.mjs';
import { stateAsked } from '../../tools/dev/stand_in/states.mjs';

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

test('a plain answer lists the states that can be asked for, and each is understood as the one that it is', async () => {
  const { output } = await ended({ input: said('What can you do?') });
  const listed = [...output[0].content[0].text.matchAll(/^- “(.+)”: (.+)$/gm)].map(([, ask, shows]) => [ask, shows]);
  assert.deepEqual(listed.map(([ask]) => ask), [
    'Think aloud.', 'Reason about it.', 'Give a slow answer.', 'Be overloaded once.', 'Be overloaded.',
    'Refuse this call.', 'Cut the answer after 5 words.', 'Fill the window.', 'Search the web for pelicans.', 'Lose the chain.', 'Go down in the middle.', 'Be silent.',
  ]);
  for (const [ask, shows] of listed) assert.equal(stateAsked(ask)?.shows, shows);
  assert.equal(stateAsked('Say that again, slowly.'), null);
});

test('commentary has its phase, reasoning its summary, a search its stages and citations', async () => {
  const comments = await ended({ input: said('Think aloud.') });
  assert.deepEqual(comments.output.map(({ phase }) => phase), ['commentary', undefined]);

  const reasons = await events({ input: said('Reason about it.') });
  assert.deepEqual(reasons.at(-1).response.output.map(({ type }) => type), ['reasoning', 'message']);
  assert.ok(reasons.some(({ type }) => type === 'response.reasoning_summary_text.delta'));

  const searched = await events({ input: said('Please search the web for grey herons.') });
  const stages = searched.map(({ type }) => type).filter((type) => type.startsWith('response.web_search_call'));
  assert.deepEqual(stages, ['in_progress', 'completed'].map((stage) => `response.web_search_call.${stage}`));
  const [search, message] = searched.at(-1).response.output;
  assert.deepEqual(search.action, { type: 'search', query: 'grey herons' });
  const [{ text, annotations }] = message.content;
  assert.equal(annotations.length, 2);
  assert.deepEqual(annotations, searched.filter(({ type }) => type.endsWith('annotation.added')).map(({ annotation }) => annotation));
  assert.equal(text.slice(annotations[0].start_index, annotations[0].end_index), 'the domain');
  // They can be sent back.
  const again = await post({ input: [...said('x'), search, message, ...said('y')] });
  assert.equal(again.status, 200, await again.text());
});

test('an overloaded service refuses every call, or only the first of two equal ones', async () => {
  for (const [instruction, statuses] of [['Be overloaded.', [503, 503, 503]], ['Be overloaded once.', [503, 200, 503, 200]]]) {
    for (const status of statuses) {
      const answer = await post({ input: said(instruction) });
      const { error } = await answer.json();
      assert.deepEqual([answer.status, error?.code], [status, status === 503 ? 'server_is_overloaded' : undefined]);
    }
  }
});

test('a call is refused for good, and an answer cut after its words, the first of two times', async () => {
  const refused = await post({ input: said('Refuse this call.') });
  assert.deepEqual([refused.status, (await refused.json()).error.code], [400, 'invalid_value']);

  const cut = await post({ input: said('Cut the answer after 3 words.'), stream: true });
  const told = [];
  const reading = (async () => {
    for await (const piece of cut.body.pipeThrough(new TextDecoderStream())) told.push(piece);
  })();
  await assert.rejects(reading, { message: 'terminated' });
  const words = [...told.join('').matchAll(/"delta":"([^"]*)"/g)].map(([, delta]) => delta);
  assert.equal(words.join(''), 'The first time');
  const whole = await ended({ input: said('Cut the answer after 3 words.') });
  assert.match(whole.output[0].content[0].text, /^The first time this answer was cut after 3 words\..* end\.$/);
});

test('the window is counted: a full one refuses what comes next, and a summary tells of the instructions', async () => {
  const filled = await ended({ input: said('Fill the window.') });
  assert.ok(filled.usage.output_tokens >= 32_000);
  const refused = await post({ previous_response_id: filled.id, input: said('Go on.') });
  assert.deepEqual([refused.status, (await refused.json()).error.code], [400, 'context_length_exceeded']);
  // A picture is not counted by its bytes.
  const picture = { type: 'input_image', image_url: `data:image/png;base64,${'A'.repeat(1 << 20)}`, detail: 'auto' };
  assert.equal((await post({ input: [{ role: 'user', content: [picture] }] })).status, 200);

  const record = '[SUMMARY SO FAR]\nThe user said, in this order: “Remember the word walrus.”.\n\n[RECORD]\n[USER]\n[MODE: general]\n\n[INSTRUCTION]\nGo on.\n\n';
  const { output } = await ended({ input: [{ role: 'user', content: record }] });
  assert.equal(output[0].content[0].text, 'The user said, in this order: “Remember the word walrus.”, “Go on.”.');
});

test('every tool that a catalog has the service run is taken', async () => {
  for (const type of ['web_search', 'web_search_preview', 'file_search', 'image_generation', 'code_interpreter', 'mcp', 'shell']) {
    assert.equal((await post({ input: 'Hello', tools: [{ type }] })).status, 200, type);
  }
});

test('a lost chain is forgotten at once, a silent service sends nothing', async () => {
  for (const background of [false, true]) {
    const lost = await ended({ input: said('Lose the chain.'), background });
    const next = await post({ previous_response_id: lost.id, input: said('Go on.') });
    assert.equal((await next.json()).error?.code, 'previous_response_not_found', String(background));
  }

  const given = new AbortController();
  const nothing = fetch(`${service.url}/responses`, {
    method: 'POST', headers: { authorization: 'Bearer k' }, body: JSON.stringify({ model: 'm', input: said('Be silent.') }), signal: given.signal,
  });
  // A later request is answered first.
  const first = await Promise.race([nothing, post({ input: said('Hello.') }).then(() => 'the later one')]);
  assert.equal(first, 'the later one');
  given.abort();
  await assert.rejects(nothing);
});

test('a service that goes down in the middle is down as soon as a tool has run, for as long as that turn lasts; a spare one is not', async () => {
  const listModes = { type: 'function', name: 'agent_list_modes', parameters: { type: 'object', properties: {} }, strict: false };
  const [call] = (await ended({ input: said('Go down in the middle.'), tools: [listModes] })).output;
  assert.equal(call.name, 'agent_list_modes');
  const output = { type: 'function_call_output', call_id: call.call_id, output: '{"modes":[]}' };
  const rest = { input: [...said('Go down in the middle.'), call, output], tools: [listModes], model: 'm' };
  for (const attempt of [1, 2]) assert.equal((await post(rest)).status, 503, `attempt ${attempt}`);
  const spare = await standIn({ wordMs: 0, isSpare: true });
  const answer = await fetch(`${spare.url}/responses`, { method: 'POST', headers: { authorization: 'Bearer k' }, body: JSON.stringify(rest) });
  assert.match((await answer.json()).output[0].content[0].text, /^I have read the result of agent_list_modes/);
  spare.close();
  assert.equal((await post({ input: [...rest.input, ...said('Hello.')] })).status, 200);
  const { output: [words] } = await ended({ input: said('Go down in the middle.') });
  assert.match(words.content[0].text, /^I cannot go down between two calls/);
});

test('a word is remembered within the conversation, and a tool is called by its name', async () => {
  const first = await ended({ input: said('Remember the word walrus.') });
  const asked = { input: said('Which word was it?') };
  assert.equal((await ended({ ...asked, previous_response_id: first.id })).output[0].content[0].text, 'walrus.');
  assert.equal((await ended(asked)).output[0].content[0].text, 'I was given no word to remember.');
  const note = { type: 'function', name: 'note', parameters: { type: 'object', properties: { word: { type: 'string' } } }, strict: false };
  const { output } = await ended({ input: said('Call the tool note with the word walrus.'), tools: [READ_FILE, note] });
  assert.deepEqual([output[0].name, output[0].arguments], ['note', '{"word":"walrus"}']);
});

test('texts of like meaning have vectors that are near each other, in either form and any length', async () => {
  const embed = async (body, key = 'k') => {
    const headers = { 'content-type': 'application/json', ...(key ? { authorization: `Bearer ${key}` } : {}) };
    const answer = await fetch(`${service.url}/embeddings`, { method: 'POST', headers, body: JSON.stringify(body) });
    return { status: answer.status, ...(await answer.json()) };
  };
  const input = ['How do I erase a bill?', 'fn delete_invoices() {}', 'The weight of a parcel.'];
  const { data, usage, model } = await embed({ model: 'stand-in', input });
  const [question, near, far] = data.map(({ embedding }) => embedding);
  const product = (one, other) => one.reduce((sum, number, at) => sum + number * other[at], 0);
  assert.deepEqual([question.length, model, usage.prompt_tokens > 0], [256, 'stand-in', true]);
  assert.ok(Math.abs(product(question, question) - 1) < 1e-6);
  assert.ok(product(question, near) > 0.9 && product(question, far) < 0.3, `${product(question, near)}, ${product(question, far)}`);

  const short = { model: 'm', input: input[0], dimensions: 24 };
  const written = (await embed({ ...short, encoding_format: 'base64' })).data[0].embedding;
  const numbers = new Float32Array(new Uint8Array(Buffer.from(written, 'base64')).buffer);
  assert.deepEqual([...numbers], (await embed(short)).data[0].embedding);

  for (const [body, status, words] of [
    [{ input: 'x' }, 400, /model parameter/],
    [{ model: 'm' }, 400, /input/],
    [{ model: 'm', input: ['x', ''] }, 400, /input/],
    [{ model: 'm', input: Array(2049).fill('x') }, 400, /2048/],
    [{ model: 'm', input: 'x', dimensions: 0 }, 400, /dimensions/],
    [{ model: 'm', input: 'x', encoding_format: 'hex' }, 400, /base64/],
  ]) {
    const refused = await embed(body);
    assert.deepEqual([refused.status, refused.error?.type], [status, 'invalid_request_error'], JSON.stringify(refused));
    assert.match(refused.error.message, words);
  }
  assert.equal((await embed(short, null)).status, 401);
});
