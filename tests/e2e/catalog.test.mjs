// Where the catalog comes from, and what a wrong one does (interface section 6).
import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { API_KEY, MODEL, Rig, refusalOf, resultOf, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';

let rig;
afterEach(async () => {
  await rig?.dispose();
});
async function started(options) {
  rig = new Rig(options);
  await rig.start();
}

test('without a catalog of its own a deployment has the built-in one', async () => {
  await started({ catalog: false });
  rig.model.script(answer(text('Hello.')));
  const result = resultOf(await rig.post(userTurn()));
  assert.deepEqual([result.PrimaryOutputText, result.ModeDisplayName], ['Hello.', 'General']);
  const [{ body, headers }] = rig.model.requests;
  assert.deepEqual([body.model, headers.authorization], [MODEL, `Bearer ${API_KEY}`]);
  assert.equal(body.input[0].role, 'system');
  rig.check();
});

test('the conversation context decides on model and mode', async () => {
  await started({
    catalog: (catalog) => {
      Object.assign(catalog.ConversationContexts.default, { Model: 'model-of-the-conversation', Mode: 'ddr_authoring' });
    },
  });
  rig.model.script(answer(text('Hello.')));
  assert.equal(resultOf(await rig.post(userTurn())).ModeDisplayName, 'DDR Authoring');
  assert.equal(rig.model.bodies[0].model, 'model-of-the-conversation');
});

test('with Continuation replay nothing is stored and the whole conversation is sent each time', async () => {
  await started({ catalog: (catalog) => Object.assign(catalog.AgentContexts.default, { Continuation: 'replay' }) });
  rig.model.script(answer(text('One.')), answer(text('Two.')));
  const turn = userTurn({ Instruction: 'First.' });
  resultOf(await rig.post(turn));
  resultOf(await rig.post({ ...turn, TurnId: 'turn-2', Instruction: 'Second.' }));
  const [one, two] = rig.model.bodies;
  assert.deepEqual([one.store, two.store, two.previous_response_id], [false, false, undefined]);
  assert.match(JSON.stringify(two.input), /First\.[^]*One\.[^]*Second\./);
  assert.deepEqual(rig.model.leftovers, []);
});

test('a catalog that is not JSON is catalog_invalid', async () => {
  await started({ catalog: '{"AgentContexts": ' });
  assert.deepEqual(refusalOf(await rig.post(userTurn())), [500, 'catalog_invalid']);
  assert.deepEqual(rig.model.requests, []);
});

test('a catalog with faults is catalog_invalid and names every one of them', async () => {
  await started({
    catalog: (catalog) => {
      catalog.ConversationContexts.default.AgentContextId = 'missing-context';
      catalog.ConversationContexts.default.Mode = 'missing-mode';
      catalog.Modes[0].Tools.push('missing_tool');
    },
  });
  const got = await rig.post(userTurn());
  const [status, ...codes] = refusalOf(got);
  assert.deepEqual([status, ...new Set(codes)], [500, 'catalog_invalid']);
  for (const name of ['missing-context', 'missing-mode', 'missing_tool']) assert.ok(got.text.includes(name), got.text);
  assert.deepEqual(rig.model.requests, []);
});
