// The states of a model service that the stand-in of `make dev` shows on request, as a client sees them.
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { standIn } from '../../tools/dev/stand_in/service.mjs';

const service = await standIn({ wordMs: 0 });
const spare = await standIn({ wordMs: 0, isSpare: true });
after(() => Promise.all([service.close(), spare.close()]));
const vars = { FALLBACK_REST_MS: '0' };
const rig = rigForFile({
  vars,
  catalog: (catalog) => {
    Object.assign(catalog.AgentContexts.default, { BaseUrl: service.url, Fallbacks: ['spare'] });
    for (const mode of catalog.Modes) mode.Tools = [...new Set([...mode.Tools, 'agent_list_modes'])];
    catalog.AgentContexts.spare = { BaseUrl: spare.url, ApiKeySecret: 'OPENAI_API_KEY', Model: 'spare' };
    catalog.AgentContexts.replay = { ...catalog.AgentContexts.default, Continuation: 'replay' };
  },
});

const CONTEXTS = ['default', 'replay'];
/** A session in this context, as what says something in it. */
const sessionIn = (AgentContextId) => {
  const { SessionId } = userTurn();
  let turns = 0;
  return async (Instruction) => {
    turns += 1;
    const turn = { SessionId, TurnId: `turn-${turns}`, AgentContextId, Instruction };
    const answer = await rig.post(turn);
    return { answer, trace: await rig.trace(turn) };
  };
};

for (const AgentContextId of CONTEXTS) {
  const session = () => sessionIn(AgentContextId);
  const told = ({ answer }) => resultOf(answer).PrimaryOutputText;

  test(`commentary and reasoning are no part of the answer, and the session goes on: ${AgentContextId}`, async () => {
    const say = session();
    await say('Remember the word walrus.');
    assert.equal(told(await say('Think aloud.')), 'This is the answer.');
    assert.equal(told(await say('Reason about it.')), 'I have reasoned, and this is the answer.');
    assert.match(told(await say('Give a slow answer.')), /^This answer comes word by word/);
    const cited = /^I have no web to search for herons[^]*\n\nSources:\n\n- \[Example Domain\]\(https:\/\/example\.com\/\)\n/;
    assert.match(told(await say('Search the web for herons.')), cited);
    assert.equal(told(await say('Which word was it?')), 'walrus.');
  });

  test(`an overloaded service is asked again, and given up when it stays so: ${AgentContextId}`, async () => {
    const say = session();
    const once = await say('Be overloaded once.');
    assert.match(told(once), /^I was overloaded/);
    assert.equal(once.trace.ModelCalls[0].Retries.length, 1);
    const { answer } = await say('Be overloaded.');
    assert.deepEqual(refusalOf(answer), [502, 'upstream_unavailable']);
    assert.equal(told(await say('Which word was it?')), 'I was given no word to remember.');
  });

  test(`a full window is compacted, a lost chain built again, and the word is still known: ${AgentContextId}`, async () => {
    const say = session();
    await say('Remember the word walrus.');
    await say('Fill the window.');
    const full = await say('Which word was it?');
    assert.equal(told(full), 'walrus.');
    assert.ok(full.trace.Compactions.length > 0 && full.trace.Compactions.at(-1).SummaryBytes > 0, JSON.stringify(full.trace));
    await say('Lose the chain.');
    assert.equal(told(await say('Which word was it?')), 'walrus.');
  });

  test(`a refused call fails its turn, a cut answer is made again where nobody has seen it: ${AgentContextId}`, async () => {
    const say = session();
    assert.deepEqual(refusalOf((await say('Refuse this call.')).answer), [502, 'upstream_rejected']);
    assert.match(told(await say('Cut the answer after 5 words.')), / whole, as you can see from its end\.$/);
  });

  test(`a spare service goes on with a turn whose service goes down, and the first one with the next turn: ${AgentContextId}`, async () => {
    const say = session();
    await say('Remember the word walrus.');
    const { answer, trace } = await say('Go down in the middle.');
    assert.match(told({ answer }), /^I have read the result of agent_list_modes/);
    assert.deepEqual(answer.json.Warnings.map(({ ErrorCode }) => ErrorCode), ['fallback_used']);
    assert.deepEqual([trace.ToolCalls.length, trace.ModelCalls.map(({ Service }) => Service)], [1, [AgentContextId, 'spare']]);
    const next = await say('Which word was it?');
    assert.deepEqual([told(next), next.trace.ModelCalls.map(({ Service }) => Service)], ['walrus.', [AgentContextId]]);
  });
}

// The last one: from here on a service that is late counts as silent, as on a busy machine any may be.
test('a silent service is given up, and the next turn works', async () => {
  await rig.restart({ vars: { ...vars, UPSTREAM_IDLE_TIMEOUT_MS: '500' } });
  for (const AgentContextId of CONTEXTS) {
    const say = sessionIn(AgentContextId);
    assert.deepEqual(refusalOf((await say('Be silent.')).answer), [504, 'upstream_timeout'], AgentContextId);
    await say('Hello.');
  }
});
