// Sessions over a model service that others wrote: aimock, which keeps no responses, numbers no events, and breaks down
// as it is told. It stands beside the strict service of the other tests, whose idea of the wire is ours.
import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { LLMock } from '@copilotkit/aimock';
import { clientTool, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';

const mock = new LLMock({ port: 0, host: '127.0.0.1', latency: 0, chunkSize: 5, strict: true });
await mock.start();
after(() => mock.stop());

const rig = rigForFile({
  catalog: (catalog, { toolUrl }) => {
    Object.assign(catalog.AgentContexts.default, { BaseUrl: `${mock.url}/v1`, Continuation: 'replay' });
    catalog.ServerTools.push(httpTool('look', toolUrl));
    catalog.Modes[0].Tools.push('look');
  },
});
beforeEach(() => {
  mock.reset();
  mock.clearChaos();
});

const DELIVERIES = [['as JSON', false], ['streamed', true]];
const tools = { ToolsJson: JSON.stringify([clientTool('read')]) };
const messages = () => mock.getLastRequest().body.messages;
const saidBy = (role) => messages().filter((message) => message.role === role).map(({ content }) => content);
const usage = { input_tokens: 30, output_tokens: 7, total_tokens: 37 };

/** The outcome of a turn, however it is delivered. */
async function outcome(turn) {
  if (turn.Streaming !== true) return (await rig.post(turn)).json;
  const stream = await (await rig.stream(turn)).end();
  const told = JSON.parse(stream.result);
  if (told.Result?.PrimaryOutputText !== undefined) assert.equal(stream.keptText, told.Result.PrimaryOutputText);
  return told;
}
const textOf = async (turn) => {
  const { Result, ...told } = await outcome(turn);
  assert.ok(Result, JSON.stringify(told));
  return Result.PrimaryOutputText;
};
const next = (turn, TurnId, Instruction) => ({ ...turn, TurnId, Instruction });

for (const [delivery, Streaming] of DELIVERIES) {
  test(`text, reasoning and usage; every turn sends the whole conversation: ${delivery}`, async () => {
    mock.onMessage(/Remember pelican/, { content: 'I shall.', reasoning: 'A bird to remember.', usage });
    mock.onMessage(/Which word/, ({ messages: sent }) => ({ content: /Remember (\w+)/.exec(JSON.stringify(sent))?.[1] ?? 'None.' }));
    const turn = userTurn({ Streaming, Instruction: 'Remember pelican.' });
    const { Result } = await outcome(turn);
    assert.deepEqual([Result.PrimaryOutputText, Result.Usage.TotalTokens], ['I shall.', 37]);
    assert.equal(await textOf(next(turn, 'turn-2', 'Which word?')), 'pelican');
    assert.deepEqual(saidBy('assistant'), ['I shall.']);
    assert.equal(saidBy('user').length, 2);
  });

  test(`tools of the server and of the client, in one response with text: ${delivery}`, async () => {
    rig.tools.on('/look', '{"found":"a needle"}');
    const asked = [{ name: 'look', arguments: '{"q":"needle"}', id: 'call_look' }, { name: 'read', arguments: '{"path":"barn.md"}', id: 'call_read' }];
    mock.on({ userMessage: /Search/, hasToolResult: false }, { content: 'Let me look.', toolCalls: asked });
    mock.on({ userMessage: /Search/, hasToolResult: true }, ({ messages: sent }) => ({
      content: `I have ${sent.filter(({ role }) => role === 'tool').map(({ content }) => content).join(' and ')}.`,
    }));
    const turn = userTurn({ ...tools, Streaming, Instruction: 'Search.' });
    const { Result: paused } = await outcome(turn);
    assert.equal(paused.Kind, 'client_tool_continuation');
    assert.deepEqual(paused.ToolCalls, [{ ToolCallId: 'call_read', Name: 'read', ArgumentsJson: '{"path":"barn.md"}' }]);
    assert.equal(paused.ToolContinuationMessage, 'Let me look.');
    const results = [{ ToolCallId: 'call_read', ExecutionMs: 1, ResultJson: '"a barn"' }];
    const given = { SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults: results };
    const told = Streaming ? JSON.parse((await (await rig.stream(given)).end()).result) : (await rig.post(given)).json;
    assert.equal(told.Result.PrimaryOutputText, 'I have {"found":"a needle"} and "a barn".');
    assert.deepEqual(messages().map(({ role }) => role), ['system', 'user', 'assistant', 'assistant', 'assistant', 'tool', 'tool']);
  });

  test(`the mode is changed by the model: ${delivery}`, async () => {
    const change = { name: 'agent_change_mode', arguments: '{"mode":"ddr_authoring","branch":false,"reason":"asked"}' };
    mock.on({ userMessage: /DDR/, hasToolResult: false }, { toolCalls: [change] });
    mock.on({ userMessage: /DDR/, hasToolResult: true }, { content: 'Done.' });
    const { Result } = await outcome(userTurn({ Streaming, Instruction: 'DDR, please.' }));
    assert.deepEqual([Result.ModeDisplayName, Result.PrimaryOutputText], ['DDR Authoring', 'Welcome to DDR authoring.\n\nDone.']);
  });

  // What it breaks once, before any text has come.
  for (const [fault, breaks] of Object.entries({
    'an error of the server': { chaos: { dropRate: 1 } },
    'a rate limit': { chaos: { rateLimitRate: 1 } },
    'a connection that is closed': { chaos: { disconnectRate: 1 } },
    'a stream that is cut before the text': { truncateAfterChunks: 2 },
  })) {
    test(`${fault} is met by a repeated call: ${delivery}`, async () => {
      mock.on({ userMessage: /Say hello/, sequenceIndex: 0 }, { content: 'Hello there.' }, breaks);
      mock.on({ userMessage: /Say hello/, sequenceIndex: 1 }, { content: 'Hello there.' });
      assert.equal(await textOf(userTurn({ Streaming })), 'Hello there.');
      assert.equal(mock.getRequests().length, 2);
    });
  }

  // What it goes on to break.
  for (const [fault, breaks, code, calls, callsStreamed] of [
    ['errors of the server', { chaos: { dropRate: 1 } }, 'upstream_unavailable', 3, 3],
    ['an answer that is no JSON', { chaos: { malformedRate: 1 } }, 'upstream_protocol', 1, 1],
    ['a connection that is always closed', { chaos: { disconnectRate: 1 } }, 'upstream_unavailable', 3, 3],
    ['a stream that is cut in the text', { truncateAfterChunks: 9, latency: 100 }, 'upstream_protocol', 3, 1],
  ]) {
    test(`${fault}: the turn fails, the same request goes on later, and so does the session: ${delivery}`, async () => {
      mock.onMessage(/Say hello/, { content: 'Hello there, and all the rest.' }, breaks);
      const turn = userTurn({ Streaming });
      const failed = await outcome(turn);
      assert.deepEqual([failed.Successful, failed.Errors[0].ErrorCode], [false, code]);
      assert.equal(mock.getRequests().length, Streaming ? callsStreamed : calls);
      mock.clearFixtures();
      mock.onMessage(/Say hello/, { content: 'Hello there, and all the rest.' });
      mock.onMessage(/And now/, { content: 'Now this.' });
      assert.equal(await textOf(turn), 'Hello there, and all the rest.');
      assert.equal(await textOf(next(turn, 'turn-2', 'And now?')), 'Now this.');
      assert.equal(saidBy('user').length, 2);
      assert.deepEqual(saidBy('assistant'), ['Hello there, and all the rest.']);
    });
  }
}

test('errors of the live API are told apart', async () => {
  mock.onMessage(/Say hello/, { content: 'Hello.' });
  for (const [status, error, told] of [
    [401, { message: 'Incorrect API key provided.', code: 'invalid_api_key' }, [502, 'upstream_rejected']],
    [400, { message: 'Your input exceeds the context window of this model.', code: 'context_length_exceeded' }, [413, 'context_window_exceeded']],
    [429, { message: 'You exceeded your current quota.', type: 'insufficient_quota', code: 'insufficient_quota' }, [502, 'upstream_rejected']],
  ]) {
    mock.nextRequestError(status, error);
    const turn = userTurn();
    assert.deepEqual(refusalOf(await rig.post(turn)), told);
    assert.equal(await textOf(next(turn, 'next', 'Say hello again.')), 'Hello.');
  }
});

test('whatever breaks and however often: a client that repeats its request gets each answer once', { timeout: 120_000 }, async () => {
  const [SESSIONS, TURNS, ATTEMPTS] = [8, 5, 30];
  mock.onMessage(/Question \d+/, ({ messages: sent }) => {
    const asked = sent.filter(({ role }) => role === 'user').map(({ content }) => /Question (\d+)/.exec(content)[1]);
    return { content: `Answers to ${asked.join(', ')}.` };
  });
  mock.setChaos({ dropRate: 0.15, malformedRate: 0.15, rateLimitRate: 0.1, disconnectRate: 0.15 });
  await Promise.all(Array.from({ length: SESSIONS }, async (_, session) => {
    const first = userTurn({ Streaming: session % 2 === 1 });
    for (let number = 1; number <= TURNS; number += 1) {
      const turn = next(first, `turn-${number}`, `Question ${number}`);
      let told;
      for (let attempt = 0; attempt < ATTEMPTS && !told?.Successful; attempt += 1) told = await outcome(turn);
      const asked = Array.from({ length: number }, (_, index) => index + 1);
      assert.equal(told.Result?.PrimaryOutputText, `Answers to ${asked.join(', ')}.`, JSON.stringify(told));
    }
    assert.equal(resultOf(await rig.get(`/sessions/${first.SessionId}/turns`)).Turns.length, TURNS);
  }));
  const broken = new Set(mock.getRequests().map(({ response }) => response.chaosAction));
  assert.ok(broken.size > 2, `it broke ${[...broken]}`);
});
