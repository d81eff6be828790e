// A session of any length, over a model with a real context window: it counts the chain and the input, and refuses what
// is too long (interface §10). And the budgets, which end what would cost too much (interface §6, Budget). What else becomes
// of a full window is in tests/turns/compaction.rs.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';
import { checkWindow, usageOf } from '../fakes/model_service/window.mjs';

const WINDOW = 4000;
const THRESHOLD = 2000;
const TURNS = 40;
const TURN_TOKENS = 300;
const SESSION_TOKENS = 1500;

const contexts = (budget) => (catalog) => {
  const { AgentContexts } = catalog;
  const plain = AgentContexts.default;
  AgentContexts.stored = plain;
  AgentContexts.early = { ...plain, Compaction: { Threshold: THRESHOLD } };
  AgentContexts.poor = { ...plain, Budget: { TurnTokens: TURN_TOKENS * budget, SessionTokens: SESSION_TOKENS * budget } };
};
const rig = rigForFile({ catalog: contexts(1) });
const tools = { ToolsJson: JSON.stringify([clientTool('read')]) };

const instruction = (number, characters) => `marker-${number}. ${'word '.repeat(characters / 5)}`;
const markersIn = (said) => [...new Set(JSON.stringify(said).match(/marker-\d+/g))];

/** The model's answer: a call where the instruction asks for one, else the newest marker; a summary is all markers. */
function replyTo(conversation) {
  const said = JSON.stringify(conversation.findLast(({ role }) => role === 'user').content);
  if (/\[RECORD\]/.test(said)) return text(`They spoke of ${markersIn(said).join(', ')}.`);
  const isAnswered = conversation.at(-1).type === 'function_call_output';
  if (/read it/.test(said) && !isAnswered) return call('read', { path: 'a' });
  return text(`Answer to ${markersIn(said).at(-1) ?? 'nothing'}.`, ` ${'reply '.repeat(60)}`);
}

/** A model with a window, which it tells over HTTP or inside the stream. It keeps in each record what it charged. */
const windowed = ({ inStream = false } = {}) => ({
  async play(exchange) {
    const { conversation } = exchange.record;
    try {
      checkWindow(conversation, WINDOW);
    } catch (refusal) {
      if (!inStream) throw refusal;
      return answer().with({ failed: { code: 'context_length_exceeded', message: 'Too long.' } }).play(exchange);
    }
    exchange.record.usage = usageOf(conversation, []);
    return answer(replyTo(conversation)).with({ usage: exchange.record.usage }).play(exchange);
  },
});

/** Takes a turn, by JSON or as a stream; the result with its trace, and the tokens that the model charged. */
async function take(turn) {
  const before = rig.model.requests.length;
  const body = turn.Streaming ? JSON.parse((await (await rig.stream(turn)).end()).result) : (await rig.post(turn)).json;
  assert.ok(body.Successful, JSON.stringify(body));
  const trace = resultOf(await rig.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}/trace`));
  const charged = rig.model.requests.slice(before).reduce((sum, { usage }) => sum + (usage?.total_tokens ?? 0), 0);
  return { result: body.Result, compactions: trace.Compactions, charged };
}

for (const [AgentContextId, Streaming] of [['stored', true], ['early', false]]) {
  test(`${TURNS} turns outlive the window: ${AgentContextId}, ${Streaming ? 'streamed' : 'as JSON'}`, async () => {
    rig.model.otherwise(windowed({ inStream: Streaming }));
    const session = userTurn({ AgentContextId, Streaming });
    const reasons = [];
    for (let number = 1; number <= TURNS; number += 1) {
      const turn = { ...session, TurnId: `turn-${number}`, Instruction: instruction(number, 400 + (number % 7) * 300) };
      const { result, compactions, charged } = await take(turn);
      assert.match(result.PrimaryOutputText, new RegExp(`^Answer to marker-${number}\\. `));
      assert.equal(result.Usage.TotalTokens, charged, 'a turn counts every call, those for summaries, too');
      assert.equal(compactions.length === 0, result.UserWarnings === undefined, JSON.stringify(result.UserWarnings));
      // Of what is no longer sent word for word, the summaries tell.
      const all = Array.from({ length: number }, (_, index) => `marker-${index + 1}`);
      assert.deepEqual(markersIn(rig.model.requests.at(-1).conversation).sort(), all.sort());
      reasons.push(...compactions.map(({ Reason }) => Reason));
      for (const { ItemsBefore, ItemsAfter, SummaryBytes, TurnsLeftOut, Usage } of compactions) {
        assert.ok(ItemsAfter < ItemsBefore && SummaryBytes > 0 && TurnsLeftOut === 0, JSON.stringify(compactions));
        assert.ok(Usage.TotalTokens > 0 && Usage.TotalTokens < result.Usage.TotalTokens, JSON.stringify(compactions));
      }
    }
    assert.ok(reasons.length >= 3 && reasons.length < TURNS / 2, `${reasons.length} compactions`);
    assert.deepEqual([...new Set(reasons)], [AgentContextId === 'early' ? 'threshold' : 'refused']);
    // Nothing that was said is forgotten here.
    const exported = await rig.get(`/sessions/${session.SessionId}/export`);
    assert.equal(resultOf(exported).Turns.length, TURNS);
    assert.deepEqual(markersIn(exported.text).length, TURNS);
  });
}

test('a budget ends a turn and a session before the call that would go over it, until the operator raises it', async () => {
  rig.model.otherwise(windowed());
  const spent = (refused) => refused.json.Errors[0].Details;

  // A turn of several calls.
  const long = userTurn({ ...tools, AgentContextId: 'poor', Instruction: `read it. ${instruction(1, 1500)}` });
  const [{ ToolCallId }] = (await take(long)).result.ToolCalls;
  const results = { SessionId: long.SessionId, TurnId: long.TurnId, ToolResults: [{ ToolCallId, ExecutionMs: 1, ResultJson: '"a"' }] };
  const stopped = await rig.post(results);
  assert.deepEqual(refusalOf(stopped), [403, 'budget_exceeded']);
  assert.ok(spent(stopped).TurnTokens >= TURN_TOKENS && spent(stopped).SessionTokens < SESSION_TOKENS, stopped.text);
  assert.deepEqual(spent(stopped).Budget, { TurnTokens: TURN_TOKENS, SessionTokens: SESSION_TOKENS });

  // A session of several turns.
  const session = userTurn({ AgentContextId: 'poor' });
  let refused;
  for (let number = 1; refused === undefined && number < TURNS; number += 1) {
    const turn = { ...session, TurnId: `turn-${number}`, Instruction: instruction(number, 200) };
    const calls = rig.model.requests.length;
    const given = await rig.post(turn);
    if (given.status === 200) continue;
    refused = turn;
    assert.deepEqual(refusalOf(given), [403, 'budget_exceeded']);
    assert.ok(spent(given).SessionTokens >= SESSION_TOKENS, given.text);
    assert.equal(rig.model.requests.length, calls, 'the call was not made');
  }
  assert.ok(refused !== undefined && refused.TurnId !== 'turn-1');
  assert.equal(resultOf(await rig.get(`/sessions/${session.SessionId}/turns/${refused.TurnId}`)).Status, 'failed');

  await rig.restart({ catalog: contexts(10) });
  assert.match(resultOf(await rig.post(refused)).PrimaryOutputText, /^Answer to marker-/);
  assert.match(resultOf(await rig.post(results)).PrimaryOutputText, /^Answer to marker-1\. /);
});
