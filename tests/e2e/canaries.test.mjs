// Confidential words: each enters the system in one place, and may leave it only where `hidden` below permits it
// (interface §1 to §3). After each test the harness checks this for every other response and log line, for both
// tenants.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { API_KEY, apiKeys, clientTool, httpTool, isTurn, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, httpError, raw, text } from './scripted_model.mjs';

const canary = (place) => `canary-of-the-${place}-4b1e`;
const [ONE, TWO] = ['one', 'two'].map((tenant) => canary(`key-of-tenant-${tenant}`));
const BOOT = canary('boot-prompt');
const LAYER = canary('mode-instructions');
const MODE = 'canary_mode_4b1e';
const HEADER = canary('tool-header');
const PARAMETER = canary('tool-description');
const INSTRUCTION = canary('instruction');
const SOLUTION = canary('solution-context');
const ARTIFACT = canary('artifact');
const CLIENT_RESULT = canary('client-result');
const TOOL_RESULT = canary('tool-result');
const TOOL_FAILURE = canary('tool-failure');
const UPSTREAM = canary('upstream-error');
const WRONG_KEY = canary('wrong-key');

const isOwner = ({ key }) => key === ONE;
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [ONE]: 'one', [TWO]: 'two' }), SECOND_SECRET: HEADER },
  catalog: (catalog, { toolUrl }) => {
    catalog.ConversationContexts.default.BootPrompt = `Answer briefly. ${BOOT}`;
    const tools = ['look_up', 'fails'];
    catalog.Modes[0].Instructions = LAYER;
    catalog.Modes[0].Tools = tools;
    catalog.Modes.push({ Key: MODE, DisplayName: 'Careful', WhenToUse: 'Always.', Instructions: LAYER, Tools: tools });
    const headers = { Headers: { Authorization: 'Bearer ${TOOL_SECRET}', 'X-Second': '${SECOND_SECRET}' } };
    for (const name of tools) {
      catalog.ServerTools.push(httpTool(name, toolUrl, { Description: PARAMETER }, headers));
    }
  },
  hidden: [
    ...[ONE, TWO, WRONG_KEY].flatMap((key) => [[key], [createHash('sha256').update(key).digest('hex')]]),
    ...[BOOT, LAYER, HEADER, PARAMETER, INSTRUCTION, SOLUTION, ARTIFACT, CLIENT_RESULT, TOOL_FAILURE, UPSTREAM].map((words) => [words]),
    // A server tool's result may show in its turn's outcome, not in diagnostics; a mode's key may show outside of
    // turns.
    [TOOL_RESULT, (record) => isOwner(record) && !record.path.endsWith('/trace')],
    [MODE, (record) => isOwner(record) && !isTurn(record)],
  ],
});

const turnOf = (members) => userTurn({ Instruction: INSTRUCTION, SolutionContextText: SOLUTION, ...members });

/** Requests every view of a turn as its owner, as another tenant, and without a valid key. */
async function lookAround({ SessionId, TurnId }) {
  const session = `/sessions/${SessionId}`;
  const turn = `${session}/turns/${TurnId}`;
  for (const route of [session, `${session}/turns`, `${session}/modes`, turn, `${turn}/trace`]) {
    resultOf(await rig.get(route, { key: ONE }));
    assert.deepEqual(refusalOf(await rig.get(route, { key: TWO })), [404, 'session_not_found']);
    assert.deepEqual(refusalOf(await rig.get(route, { key: WRONG_KEY })), [401, 'unauthenticated']);
  }
  await rig.get(`${turn}/stream`, { key: ONE });
  assert.deepEqual(refusalOf(await rig.get(`${turn}/stream`, { key: TWO })), [404, 'session_not_found']);
  for (const route of ['/health', '/errors', '/nowhere']) await rig.get(route, { key: ONE });
}

test('a turn with everything in it shows each party what is its own', async () => {
  rig.tools.on('/look_up', JSON.stringify({ found: TOOL_RESULT }));
  rig.model.script(
    answer(call('agent_change_mode', { mode: MODE, branch: false, reason: 'Asked.' })),
    answer(call('look_up', { q: 'x' })),
    answer(text('I read.'), call('read_file', { path: 'a' })),
    answer(text('Done.')),
  );
  const turn = turnOf({
    ToolsJson: JSON.stringify([clientTool('read_file')]),
    InputArtifacts: [{ RelativePath: 'src', FileName: 'a.rs', Contents: ARTIFACT, Origin: 'ide' }],
  });
  const { ToolCalls } = resultOf(await rig.post(turn, { key: ONE }));
  await lookAroundAPause(turn);
  const ids = { SessionId: turn.SessionId, TurnId: turn.TurnId };
  const results = [{ ToolCallId: ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: JSON.stringify({ text: CLIENT_RESULT }) }];
  const wrong = [{ ...results[0], ToolCallId: 'other' }];
  assert.deepEqual(refusalOf(await rig.post({ ...ids, ToolResults: wrong }, { key: ONE })), [409, 'tool_results_mismatch']);
  const final = resultOf(await rig.post({ ...ids, ToolResults: results }, { key: ONE }));
  assert.deepEqual([final.PrimaryOutputText, final.ModeDisplayName], ['Done.', 'Careful']);
  await lookAround(turn);
  assert.deepEqual(refusalOf(await rig.post({ ...turn, Instruction: 'Other words.' }, { key: ONE })), [409, 'turn_conflict']);

  // Every word has reached the model or a tool service that should see it.
  const heard = rig.model.bodies.map((body) => JSON.stringify(body)).join('\n');
  for (const words of [BOOT, LAYER, PARAMETER, INSTRUCTION, SOLUTION, ARTIFACT, TOOL_RESULT, CLIENT_RESULT]) {
    assert.ok(heard.includes(words), `the model never heard ${words}`);
  }
  assert.equal(rig.model.requests[0].headers.authorization, `Bearer ${API_KEY}`);
  assert.equal(rig.tools.requests[0].headers['x-second'], HEADER);
  assert.ok(JSON.stringify(final.ToolResults).includes(TOOL_RESULT));
  // The clients' keys reached neither the model nor a tool service.
  for (const key of [ONE, TWO]) assert.ok(!heard.includes(key) && !JSON.stringify(rig.tools.requests).includes(key));
});

/** The same for a paused turn, leaving out its stream, which would wait. */
async function lookAroundAPause({ SessionId, TurnId }) {
  const turn = `/sessions/${SessionId}/turns/${TurnId}`;
  for (const route of [turn, `${turn}/trace`]) {
    resultOf(await rig.get(route, { key: ONE }));
    assert.deepEqual(refusalOf(await rig.get(route, { key: TWO })), [404, 'session_not_found']);
  }
}

/** All content that a service could quote in its errors. */
const QUOTED = `${UPSTREAM} ${API_KEY} ${BOOT} ${LAYER} ${INSTRUCTION} ${SOLUTION}`;
const quoting = { code: QUOTED, type: QUOTED, message: QUOTED };
const half = answer(text('Half an answer'));
const FAULTS = {
  'a refusal': httpError(400, quoting),
  'a refused key': httpError(401, { ...quoting, code: 'invalid_api_key', message: `Incorrect API key provided: ${API_KEY}.` }),
  'a refusal in plain text': httpError(400, QUOTED, { 'content-type': 'text/plain' }),
  'a refusal of the input': httpError(400, { ...quoting, code: 'invalid_prompt', param: 'input' }),
  'a server error': httpError(500, quoting),
  'an error event': half.with({ errorEvent: 'nested', error: quoting }),
  'a flat error event': half.with({ errorEvent: 'flat', error: quoting }),
  'a failed response': half.with({ failed: quoting }),
  'an incomplete response': answer(call('look_up', ['{"q'])).with({ incomplete: QUOTED }),
  'events that are no JSON': raw([`event: response.created\ndata: {"${QUOTED}\n\n`]),
  'an answer that is no stream': raw([`<html>${QUOTED}`]),
};
for (const [name, fault] of Object.entries(FAULTS)) {
  for (const Streaming of [false, true]) {
    test(`${name} that quotes keys and prompts quotes them to nobody${Streaming ? ', streamed' : ''}`, async () => {
      rig.model.otherwise(fault);
      const turn = turnOf({ Streaming });
      const got = await rig.post(turn, { key: ONE });
      assert.match(got.text, /"Successful":false/);
      await lookAround(turn);
      const heard = JSON.stringify(rig.model.bodies);
      for (const words of [BOOT, LAYER, INSTRUCTION, SOLUTION]) assert.ok(heard.includes(words), words);
    });
  }
}

const FAILURES = {
  'an error': { text: JSON.stringify({ error: `${TOOL_FAILURE} ${HEADER}` }), status: 500 },
  'what is no JSON': { text: `<html>${TOOL_FAILURE} ${HEADER}` },
  'a redirection': { text: TOOL_FAILURE, status: 302, headers: { location: `http://127.0.0.1:1/${TOOL_FAILURE}` } },
};
for (const [name, { text: body, ...how }] of Object.entries(FAILURES)) {
  test(`a server tool that answers ${name} fails without its words`, async () => {
    rig.tools.on('/fails', body, how);
    rig.model.script(answer(call('fails', { q: 'x' })));
    const turn = turnOf();
    assert.deepEqual(refusalOf(await rig.post(turn, { key: ONE })), [500, 'server_tool_failed']);
    assert.equal(rig.tools.requests[0].headers['x-second'], HEADER);
    await lookAround(turn);
  });
}

test('a refused request is refused without its words', async () => {
  const wrong = { SessionId: INSTRUCTION.repeat(9), TurnId: `${INSTRUCTION} `, Instruction: [INSTRUCTION], ToolsJson: INSTRUCTION };
  const named = turnOf({ AgentContextId: ARTIFACT });
  const chosen = turnOf({ ToolChoiceName: ARTIFACT });
  for (const body of [wrong, `{"Instruction": "${INSTRUCTION}`, named, chosen]) {
    assert.ok((await rig.post(body, { key: ONE })).status < 500);
    assert.deepEqual(refusalOf(await rig.post(body, { key: WRONG_KEY })), [401, 'unauthenticated']);
  }
  await rig.post(wrong, { key: ONE, headers: { 'content-type': SOLUTION, 'last-event-id': SOLUTION } });
});
