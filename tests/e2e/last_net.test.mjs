// A model service with a hidden rule that a seed draws: it refuses whatever breaks the rule, in words that a seed draws too.
// Every turn that can be sent without the turns before it ends well (interface §4). tests/turns/last_net has hundreds of
// seeds, with crashes, steers and forks. APTIX_SEED=n runs one seed alone.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LOOKING, clientTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, hosted, httpError, raw, sealed, text } from './scripted_model.mjs';

const SEEDS = process.env.APTIX_SEED ? [Number(process.env.APTIX_SEED)] : [0, 1, 2, 3];
const TURNS = 10;

const rig = rigForFile(LOOKING);

/** Numbers below `most`, the same for the same seed. */
function randomOf(seed) {
  let state = (seed * 2_654_435_761 + 97) >>> 0;
  return (most) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * most);
  };
}

const kind = ({ type = 'message', role = '' }) => `${type}${role}`;
const past = (items) => items.slice(0, Math.max(0, items.findLastIndex(({ role }) => role === 'user')));

function ruleOf(random) {
  const kinds = ['reasoning', 'web_search_call', 'function_call', 'function_call_output', 'messageassistant'];
  const pick = (list) => list[random(list.length)];
  const of = random(10) < 6 ? past : (items) => items;
  const [name, breaks] = [
    (refused) => [`the kind ${refused}`, (items) => items.some((item) => kind(item) === refused)],
    (one, other = pick(kinds)) => [`${one} before ${other}`, (items) => items.some((item, at) => at > 0 && kind(items[at - 1]) === one && kind(item) === other)],
    (_, digit = pick([...'0123456789abcdef'])) => [`an id that ends with ${digit}`, (items) => items.some(({ id = '' }) => id.endsWith(digit))],
    (_, word = `Words-${1 + random(TURNS)}.`) => [`the word ${word}`, (items) => items.some((item) => JSON.stringify(item).includes(word))],
    (_, member = pick(['id', 'status', 'arguments', 'summary', 'action'])) => [`the member ${member}`, (items) => items.some((item) => item[member] != null)],
    (_, most = 4 + random(16)) => [`more than ${most} items`, (items) => items.length > most],
    () => ['an odd sum of lengths', (items) => items.reduce((sum, item) => sum + JSON.stringify(item).length, 0) % 2 === 1],
  ][random(7)](pick(kinds));
  return [name, (items) => breaks(of(items))];
}

const WORDINGS = [
  httpError(400, { message: 'Bad request.' }),
  httpError(400, { message: 'Invalid input.', param: 'input' }),
  httpError(422, { message: 'Unprocessable.', code: 'unprocessable' }),
  httpError(404, { message: 'Item not found.', code: 'item_not_found' }),
  httpError(413, { message: 'Too large.' }),
  httpError(400, { message: 'No tool output found for custom tool call call_7.' }),
  httpError(400, { message: "Item 'rs_1' of type 'reasoning' was provided without its required following item." }),
  httpError(400, JSON.stringify({ detail: 'Unknown item.' })),
  raw(['data: {"type":"error","error":{"type":"invalid_request_error","code":null,"message":"no"}}\n\n']),
  raw(['data: {"type":"response.failed","response":{"id":"r","status":"failed","error":{"code":"odd_item","message":"no"}}}\n\n']),
];

/** What the model says: a plan's calls first; it thinks and searches now and then. */
function said(conversation) {
  const latest = conversation.findLastIndex(({ role }) => role === 'user');
  const [, marker = '', plan = ''] = /\[INSTRUCTION\]\\n(Words-\d+)\. plan=(\w*);/.exec(JSON.stringify(conversation[latest])) ?? [];
  const outputs = conversation.slice(latest).filter(({ type }) => type === 'function_call_output').length;
  const items = [];
  if (conversation.length % 2 === 0) items.push(sealed('I think.'));
  if (conversation.length % 3 === 0) items.push(hosted({ type: 'web_search_call', status: 'completed', action: { type: 'search', query: 'q' } }));
  if (outputs === 0 && plan !== '') items.push(call(plan, plan === 'look' ? { q: marker } : { path: marker }));
  else items.push(text(`To ${marker}: this is all.`));
  return answer(...items);
}

for (const seed of SEEDS) {
  test(`whatever the rule, every turn that can be sent alone ends well (APTIX_SEED=${seed})`, async () => {
    const random = randomOf(seed);
    const [name, breaks] = ruleOf(random);
    const refusal = WORDINGS[random(WORDINGS.length)];
    const agent = ['default', 'replay'][random(2)];
    const begins = 1 + random(4);
    const refused = [];
    let turn = 0;
    rig.tools.on('/look', '{"found":1}');
    rig.model.otherwise({
      async play(exchange) {
        const { conversation } = exchange.record;
        if (turn < begins || !breaks(conversation)) return said(conversation).play(exchange);
        refused.push(exchange.body);
        return refusal.play(exchange);
      },
    });
    const { SessionId } = userTurn();
    for (turn = 1; turn <= TURNS; turn += 1) {
      const TurnId = `t${turn}`;
      const words = `Words-${turn}.`;
      const plan = ['', '', 'look', 'read_file'][random(4)];
      let got = await rig.post({
        SessionId,
        TurnId,
        AgentContextId: agent,
        Instruction: `${words} plan=${plan};`,
        ToolsJson: JSON.stringify([clientTool('read_file')]),
      });
      if (got.status === 200 && got.json.Result.Kind === 'client_tool_continuation') {
        const ToolResults = got.json.Result.ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '"read"' }));
        got = await rig.post({ SessionId, TurnId, ToolResults });
      }
      if (got.status === 200) {
        assert.match(resultOf(got).PrimaryOutputText, new RegExp(`^To Words-${turn}:`), name);
        continue;
      }
      const [, code] = refusalOf(got);
      assert.ok(['upstream_rejected', 'upstream_failed', 'context_window_exceeded'].includes(code), `${name}: ${got.text}`);
      const wasAlone = refused.slice(-12).some(({ input, previous_response_id: continued }) => {
        const sent = JSON.stringify(input);
        const tellsOfOthers = [...sent.matchAll(/Words-\d+\./g)].some(([other]) => other !== words);
        const isBare = input.every(({ type = 'message', id }) => ['message', 'function_call', 'function_call_output'].includes(type) && id === undefined);
        return !continued && sent.includes(words) && !tellsOfOthers && isBare;
      });
      assert.ok(wasAlone, `${name}: turn ${turn} was never sent alone: ${got.text}`);
    }
    const isReduced = rig.logs.some((line) => JSON.parse(line).event === 'conversation_reduced');
    assert.ok(refused.length === 0 || isReduced, name);
  });
}

test('an unasked custom tool call does not end the session', async () => {
  const { SessionId } = userTurn();
  const custom = hosted({ type: 'custom_tool_call', call_id: 'ctc_1', name: 'n', input: 'i', status: 'completed' });
  rig.model.script(answer(custom, text('First.')), answer(text('Second.')), answer(text('Third.')));
  for (const [TurnId, expected] of [['t1', 'First.'], ['t2', 'Second.'], ['t3', 'Third.']]) {
    assert.equal(resultOf(await rig.post({ SessionId, TurnId, Instruction: TurnId })).PrimaryOutputText, expected);
  }
  const [, second, third] = rig.model.bodies;
  assert.equal(second.previous_response_id, undefined);
  assert.match(third.previous_response_id, /^resp_/);
});
