// A user turn from request to response: the requests to the model service, and the outcome for the client (interface §2
// and §4).
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { API_KEY, BOOT_PROMPT, MODEL, PLAIN, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);
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
