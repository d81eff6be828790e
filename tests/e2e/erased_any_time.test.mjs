// A session is erased at any moment of the life of its turns, as a seed decides: after the receipt nothing of it is left in
// rows, in the bucket or with the model service, beyond what the receipt counts as still to be deleted, and nothing comes
// back (interface §9). A turn counts as sent before the erasure when a service had heard of it by then: of a request that
// nobody has heard of, no one knows which of the two the Worker received first.
//
// APTIX_SEED=n runs one seed alone, APTIX_LONG_TESTS=1 runs many more.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Rig, clientTool, eventually, httpTool, resultOf } from './harness.mjs';
import { Random } from './hostile.mjs';
import { RememberingModel, planned } from './remembering_model.mjs';

const SEEDS = process.env.APTIX_LONG_TESTS === undefined ? 96 : 1000;
const AT_ONCE = 12;
const ToolsJson = JSON.stringify([clientTool('read')]);
const REFUSALS = [
  'turn_aborted', 'session_not_found', 'turn_not_found', 'turn_conflict', 'turn_in_progress', 'turn_awaiting_tools', 'turn_not_awaiting_tools',
];
const PLANS = [[], [], [['server']], [['client']], [['server', 'client']], [['mode'], ['client']]];

test('whenever a session is erased nothing of it is left, and nothing comes back', { timeout: 600_000 }, async (t) => {
  const seeds = process.env.APTIX_SEED ? [Number(process.env.APTIX_SEED)] : Array.from({ length: SEEDS }, (_, seed) => seed);
  const model = await RememberingModel.start(new Random(1));
  const rig = new Rig({
    vars: { TURN_ALARM_MS: '300' },
    catalog: (catalog, { toolUrl }) => {
      const { default: agent } = catalog.AgentContexts;
      Object.assign(agent, { BaseUrl: model.url, DeleteStored: true });
      catalog.AgentContexts.service = { ...agent, Retrieval: { Http: { Url: toolUrl('/retrieve'), TimeoutMs: 5000 } } };
      catalog.ConversationContexts.service = { ...catalog.ConversationContexts.default, AgentContextId: 'service' };
      catalog.ServerTools.push(httpTool('look', toolUrl));
      for (const mode of catalog.Modes) mode.Tools.push('look');
    },
  });
  await rig.start();
  try {
    const Documents = [{ Path: 'a.rs', Contents: 'fn words() {}\n' }];
    resultOf(await rig.request('PUT', '/workspaces/w/documents', { body: { Documents } }));
    rig.tools.think('/retrieve', async ({ Query }) => {
      model.hear(Query);
      await pause(30);
      return JSON.stringify({ Chunks: [{ Path: 'a.rs', StartLine: 1, EndLine: 1, Text: 'fn words() {}' }] });
    });
    rig.tools.think('/look', async ({ ToolCallId }) => {
      await pause(10);
      return JSON.stringify({ found: ToolCallId, Files: [{ Name: 'a.txt', MimeType: 'text/plain', Text: ToolCallId }] });
    });
    const met = {};
    for (let from = 0; from < seeds.length; from += AT_ONCE) {
      const some = seeds.slice(from, from + AT_ONCE);
      const lives = await Promise.allSettled(some.map((seed) => lived(rig, model, seed, met)));
      for (const { reason } of lives) if (reason) throw reason;
      const receipts = lives.map(({ value }) => value);
      const says = `seeds ${some[0]} to ${some.at(-1)}; one alone is repeated with APTIX_SEED`;
      await eventually(() => model.open === 0, `no call of the model goes on: ${says}`);
      const owed = receipts.reduce((sum, { Pending, Refused, Unknown }) => sum + Pending + Refused + Unknown, 0);
      const { leftovers } = model;
      assert.ok(leftovers <= owed, `the model service still has ${leftovers} responses, receipts count ${owed}: ${says}`);
      met['left at the model service'] = (met['left at the model service'] ?? 0) + leftovers;
      assert.deepEqual(await rig.files(), [], says);
      const calls = model.calls;
      // An alarm frees what an erasure left, and would take up a turn that came back.
      await eventually(async () => (await rig.tablesOf('SessionObject')).length === 0, `no table is left: ${says}`);
      assert.equal(model.calls, calls, `an erased turn went on: ${says}`);
      model.stored.clear();
      rig.clearAnswers();
    }
    assert.deepEqual(model.refusals, []);
    t.diagnostic(`${seeds.length} erasures: ${JSON.stringify(met)}`);
    const moments = ['DELETE 200', 'DELETE 404', 'turn_aborted', 'final', 'client_tool_continuation'];
    if (seeds.length > 1) for (const moment of moments) assert.ok(met[moment], `it never happened: ${moment}`);
  } finally {
    await rig.dispose();
    await model.close();
  }
});

/** The life of one session and its erasure. Resolves to what the receipt says of stored responses. */
async function lived(rig, model, seed, met) {
  const random = new Random(seed * 7919 + 1);
  const SessionId = `erased-${seed}`;
  const waiting = [];
  const send = (asked) => {
    const outcome = asked.then(({ json, text }) => json ?? outcomeIn(text));
    outcome.catch(() => {}); // It is awaited after the erasure.
    waiting.push(outcome);
  };
  const context = random.oneIn(2) ? { AgentContextId: 'service', ConversationContextId: 'service' } : {};
  const ending = (method, more = '') => rig.request(method, `/sessions/${SessionId}${more}`);
  let turns = 0;
  const act = async () => {
    const TurnId = `t${1 + random.below(Math.max(turns, 1))}`;
    switch (random.below(8)) {
      case 0:
        return send(ending('POST', `/turns/${TurnId}/cancel`));
      case 1:
        return send(rig.get(`/sessions/${SessionId}/turns/${TurnId}/stream`));
      case 2:
      case 3: {
        const { json } = await rig.get(`/sessions/${SessionId}`);
        const { TurnId: waits, ToolCalls = [] } = json.Result?.LiveTurn ?? {};
        const ToolResults = ToolCalls.map(({ ToolCallId }) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' }));
        if (ToolResults.length > 0) send(rig.post({ SessionId, TurnId: waits, ToolResults }));
        return undefined;
      }
      default: {
        turns += 1;
        const members = { Instruction: planned(`m${seed}-${turns}`, random.of(PLANS)), Streaming: random.oneIn(2), ToolsJson };
        const where = random.oneIn(4) ? {} : { WorkspaceId: 'w' };
        return send(rig.post({ SessionId, TurnId: `t${turns}`, ...members, ...where, ...context }));
      }
    }
  };
  for (let left = 1 + random.below(5); left > 0; left -= 1) {
    await act();
    await pause(random.below(random.of([2, 40, 150])));
  }
  const sentBefore = Array.from({ length: turns }, (_, at) => at + 1).filter((turn) => model.heard.has(`m${seed}-${turn}`));
  const erased = await ending('DELETE');
  const erasedAt = performance.now();
  assert.ok([200, 404].includes(erased.status), `seed ${seed}: ${erased.text}`);
  count(met, `DELETE ${erased.status}`);
  for (const outcome of await Promise.all(waiting)) {
    const { Result, Errors: [fault] } = outcome;
    count(met, fault?.ErrorCode ?? Result.Kind ?? 'view');
    if (fault) assert.ok(REFUSALS.includes(fault.ErrorCode), `seed ${seed}: ${JSON.stringify(outcome)}`);
  }
  const kept = (await rig.get(`/sessions/${SessionId}/turns`)).json.Result?.Turns ?? [];
  for (const turn of sentBefore) {
    assert.ok(!kept.some(({ TurnId }) => TurnId === `t${turn}`), `seed ${seed}: turn ${turn} came back`);
    assert.ok(model.heard.get(`m${seed}-${turn}`) <= erasedAt, `seed ${seed}: turn ${turn} went on after the receipt`);
  }
  // What the Worker received after the erasure began the session anew, and all that has ended by now.
  const anew = kept.length > 0 ? await ending('DELETE') : erased;
  count(met, kept.length > 0 ? 'begun anew' : 'gone');
  const [before, after] = [erased, anew].map(({ json }) => json.Result?.StoredResponses ?? { Pending: 0, Refused: 0, Unknown: 0 });
  for (const { Unknown } of new Set([before, after])) met['unknown to the receipt'] = (met['unknown to the receipt'] ?? 0) + Unknown;
  return anew === erased ? after : { ...after, Unknown: before.Unknown + after.Unknown };
}

function count(met, what) {
  met[what] = (met[what] ?? 0) + 1;
}

/** The outcome at the end of a stream. */
function outcomeIn(stream) {
  const [, data] = /event: result\n(?:id: .*\n)?data: (.*)\n\n$/.exec(stream) ?? [];
  assert.ok(data, `no result at the end of ${stream}`);
  return JSON.parse(data);
}
