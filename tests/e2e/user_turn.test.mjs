// A user turn from request to response: the requests to the model service, and the outcome for the client (interface §2
// and §4).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { API_KEY, BOOT_PROMPT, MODEL, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, refusal, sealed, text } from './scripted_model.mjs';

const rig = rigForFile({
  catalog: (catalog) => {
    catalog.ConversationContexts.second = { ...catalog.ConversationContexts.default };
  },
});
const cacheKey = (session) => createHash('sha256').update(`local\n${session}`).digest('hex').slice(0, 32);
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

test('a first turn sends the documented request and answers with one final result', async () => {
  rig.model.script(answer(text('Hello', ', world.')));
  const turn = userTurn({
    Instruction: 'Explain `a`.',
    InputArtifacts: [
      { RelativePath: 'src', FileName: 'a.rs', Contents: 'fn a() {}\n', Origin: 'ide' },
      { RelativePath: 'docs/b.md', FileName: 'b.md', Contents: 'Fenced:\n```\nx\n```', Origin: 'user' },
    ],
    ClipboardImages: [{ Id: 'i1', MimeType: 'image/png', DataBase64: PIXEL }],
    SolutionContextText: 'A small crate.',
    ToolsJson: JSON.stringify([clientTool('read_file')]),
    ToolChoiceName: 'read_file',
  });
  const got = await rig.post(turn);

  assert.deepEqual(got.json, {
    Successful: true,
    Result: {
      Kind: 'final',
      SessionId: turn.SessionId,
      TurnId: turn.TurnId,
      ModeDisplayName: 'General',
      PrimaryOutputText: 'Hello, world.',
      Usage: { PromptTokens: 100, CachedTokens: 40, CompletionTokens: 20, ReasoningTokens: 5, TotalTokens: 120 },
    },
    Errors: [],
    Warnings: [],
  });
  assert.equal(got.status, 200);
  assert.match(got.headers.get('content-type'), /^application\/json/);

  const [{ body, headers }] = rig.model.requests;
  assert.equal(headers.authorization, `Bearer ${API_KEY}`);
  const [changeMode] = body.tools.slice(-1);
  assert.deepEqual(body, {
    model: MODEL,
    input: [
      { type: 'message', role: 'system', content: [{ type: 'input_text', text: BOOT_PROMPT }] },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: '[MODE: general]\n\n[INSTRUCTION]\nExplain `a`.' },
          {
            type: 'input_text',
            text:
              '[CONTEXT]\n\n' +
              '=== CHUNK 1 ===\nId: ctx_1\nPath: src/a.rs\nLines: 1-1\nLanguage: rust\n```rust\nfn a() {}\n```\n\n' +
              '=== CHUNK 2 ===\nId: ctx_2\nPath: docs/b.md\nLines: 1-4\nLanguage: markdown\n````markdown\nFenced:\n```\nx\n```\n````\n',
          },
          { type: 'input_text', text: '[SOLUTION CONTEXT]\nA small crate.' },
          { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
        ],
      },
    ],
    tools: [{ ...clientTool('read_file'), strict: false }, changeMode],
    tool_choice: { type: 'function', name: 'read_file' },
    store: true,
    stream: true,
    prompt_cache_key: cacheKey(turn.SessionId),
  });
  assert.deepEqual([changeMode.type, changeMode.name, changeMode.strict], ['function', 'agent_change_mode', false]);
});

test('a second turn chains to the first and sends only what is new', async () => {
  rig.model.script(answer(text('One.')), answer(text('Two.')), answer(text('Three.')));
  const first = userTurn({ SolutionContextText: 'A small crate.', ToolsJson: JSON.stringify([clientTool('read_file')]) });
  resultOf(await rig.post(first));
  resultOf(await rig.post({ ...userTurn({ Instruction: 'And then?' }), SessionId: first.SessionId, TurnId: 'turn-2' }));
  const third = { SessionId: first.SessionId, TurnId: 'turn-3', Instruction: 'Now?', SolutionContextText: 'A large crate.' };
  assert.equal(resultOf(await rig.post(third)).PrimaryOutputText, 'Three.');

  const [one, two, three] = rig.model.requests;
  assert.deepEqual(two.body, {
    model: MODEL,
    input: [{ type: 'message', role: 'user', content: [{ type: 'input_text', text: '[MODE: general]\n\n[INSTRUCTION]\nAnd then?' }] }],
    tools: one.body.tools,
    previous_response_id: one.responseId,
    store: true,
    stream: true,
    prompt_cache_key: cacheKey(first.SessionId),
  });
  assert.equal(three.body.previous_response_id, two.responseId);
  assert.deepEqual(three.body.input, [
    {
      type: 'message',
      role: 'user',
      content: [
        { type: 'input_text', text: '[MODE: general]\n\n[INSTRUCTION]\nNow?' },
        { type: 'input_text', text: '[SOLUTION CONTEXT]\nA large crate.' },
      ],
    },
  ]);
});

test('a turn without an instruction begins with the mode alone', async () => {
  rig.model.script(answer(text('An image.')));
  resultOf(
    await rig.post({
      ...userTurn(),
      Instruction: undefined,
      ClipboardImages: [{ Id: 'i1', MimeType: 'image/png', DataBase64: PIXEL }],
    }),
  );
  assert.deepEqual(rig.model.bodies[0].input.at(-1).content, [
    { type: 'input_text', text: '[MODE: general]' },
    { type: 'input_image', image_url: `data:image/png;base64,${PIXEL}`, detail: 'auto' },
  ]);
});

test('new client tools replace the session\'s, and none given keeps them', async () => {
  rig.model.script(answer(text('1')), answer(text('2')), answer(text('3')));
  const { SessionId } = userTurn();
  const offered = () => rig.model.bodies.at(-1).tools.map(({ name }) => name);
  const nested = { type: 'function', function: { name: 'nested_tool', parameters: { type: 'object', properties: {} } } };

  resultOf(await rig.post(userTurn({ SessionId, TurnId: 't1', ToolsJson: JSON.stringify([clientTool('first_tool')]) })));
  assert.deepEqual(offered(), ['first_tool', 'agent_change_mode']);
  resultOf(await rig.post(userTurn({ SessionId, TurnId: 't2' })));
  assert.deepEqual(offered(), ['first_tool', 'agent_change_mode']);
  resultOf(await rig.post(userTurn({ SessionId, TurnId: 't3', ToolsJson: JSON.stringify([nested]) })));
  assert.deepEqual(offered(), ['nested_tool', 'agent_change_mode']);
});

test('a tool choice must name an offered tool', async () => {
  const got = await rig.post(userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]), ToolChoiceName: 'write_file' }));
  assert.deepEqual(refusalOf(got), [400, 'invalid_field']);
  assert.equal(got.json.Errors[0].Path, '/ToolChoiceName');
  assert.deepEqual(rig.model.requests, []);
});

test('a context that the catalog does not hold is not found, and nothing is begun', async () => {
  for (const member of ['AgentContextId', 'ConversationContextId']) {
    const turn = userTurn({ [member]: 'no-such-context' });
    const got = await rig.post(turn);
    assert.deepEqual(refusalOf(got), [404, 'context_not_found']);
    assert.deepEqual(refusalOf(await rig.get(`/sessions/${turn.SessionId}`)), [404, 'session_not_found']);
  }
});

test('a session stays with the context of its first turn', async () => {
  rig.model.script(answer(text('1')));
  const turn = userTurn({ ConversationContextId: 'default' });
  resultOf(await rig.post(turn));
  const got = await rig.post({ ...turn, TurnId: 'turn-2', ConversationContextId: 'second' });
  assert.deepEqual([...refusalOf(got), got.json.Errors[0].Path], [400, 'invalid_field', '/ConversationContextId']);
});

test('a chain that the model service no longer knows is begun again with the whole conversation', async () => {
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const first = userTurn({ Instruction: 'Remember the number 4711.' });
  resultOf(await rig.post(first));
  rig.model.forgetResponses();
  resultOf(await rig.post({ ...first, TurnId: 'turn-2', Instruction: 'Which number?' }));
  assert.match(rig.model.lastSeen, /4711[^]*One\.[^]*Which number\?/);
  assert.equal(rig.model.bodies.at(-1).previous_response_id, undefined);
  assert.deepEqual(rig.model.refusals.splice(0).map(({ error }) => error.code), ['previous_response_not_found']);
});

test('reasoning goes back with the items behind it under their own ids when a chain is begun again', async () => {
  rig.model.script(
    answer(sealed('Which file?'), call('read_file', { path: 'a.md' })),
    answer(sealed('It says so.'), text('4711.')),
    answer(text('The same.')),
  );
  const first = userTurn({ Instruction: 'Read it.', ToolsJson: JSON.stringify([clientTool('read_file')]) });
  const [{ ToolCallId }] = resultOf(await rig.post(first)).ToolCalls;
  const ToolResults = [{ ToolCallId, ExecutionMs: 1, ResultJson: '"4711"' }];
  resultOf(await rig.post({ SessionId: first.SessionId, TurnId: first.TurnId, ToolResults }));
  rig.model.forgetResponses();
  resultOf(await rig.post({ SessionId: first.SessionId, TurnId: 'turn-2', Instruction: 'And now?' }));
  const sent = rig.model.bodies.at(-1).input.map(({ type, id }) => `${type} ${id?.split('_')[0] ?? '-'}`);
  assert.deepEqual(sent, [
    'message -', 'message -', 'reasoning rs', 'function_call fc', 'function_call_output -', 'reasoning rs', 'message msg',
    'message -',
  ]);
  assert.deepEqual(rig.model.refusals.splice(0).map(({ error }) => error.code), ['previous_response_not_found']);
});

test('a refusal of the model to answer is the answer', async () => {
  rig.model.script(answer(refusal('I cannot', ' help with that.')));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'I cannot help with that.');
});

test('an answer in one piece of JSON is taken like a stream', async () => {
  rig.model.script(answer(text('In one piece.')).with({ asJson: true }));
  assert.equal(resultOf(await rig.post(userTurn())).PrimaryOutputText, 'In one piece.');
});

test('a finished turn can be looked at', async () => {
  rig.model.script(answer(text('Done.')));
  const turn = userTurn();
  const result = resultOf(await rig.post(turn));
  const base = `/sessions/${turn.SessionId}`;

  assert.equal(resultOf(await rig.get(base)).SessionId, turn.SessionId);
  const one = resultOf(await rig.get(`${base}/turns/${turn.TurnId}`));
  assert.deepEqual([one.TurnId, one.Status], [turn.TurnId, 'completed']);
  assert.ok(JSON.stringify(one).includes(JSON.stringify(result)), 'the stored outcome is shown');
  assert.deepEqual(refusalOf(await rig.get(`${base}/turns/another`)), [404, 'turn_not_found']);
  assert.deepEqual(refusalOf(await rig.get('/sessions/nobodys')), [404, 'session_not_found']);
});
