// A changed catalog in the real runtime (interface §6, §16): what a turn ran under, a share of the new sessions, and all of
// them back, also where the process ends in between.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, test } from 'node:test';
import { BOOT_PROMPT, MODEL, Rig, clientTool, eventually, resultOf, userTurn } from './harness.mjs';
import { answer, call, silence, text } from './scripted_model.mjs';

const OTHER_PROMPT = 'The other prompt of the end-to-end tests.';
const OTHER_MODEL = 'e2e-model-other';
let rig;
after(() => rig?.dispose());

/** The documents that were served, the newest last. */
const served = [];
/** A catalog with the context `next`, and these members of both contexts; `kept` is who remembers the conversation. */
const changed = (kept, members, next) => (catalog) => {
  catalog.AgentContexts.default.Continuation = kept;
  catalog.AgentContexts.other = { ...catalog.AgentContexts.default, Model: OTHER_MODEL };
  catalog.ConversationContexts.next = { ...catalog.ConversationContexts.default, AgentContextId: 'other', BootPrompt: OTHER_PROMPT, ...next };
  Object.assign(catalog.ConversationContexts.default, members);
  served.push(catalog);
};
const hash = (document) => createHash('sha256').update(JSON.stringify(document)).digest('hex').slice(0, 16);
const share = (percent) => ({ Rollout: { To: { next: percent } } });

async function say(members, words) {
  rig.model.script(answer(text(words)));
  return resultOf(await rig.post(userTurn(members)));
}
const shown = async (id) => resultOf(await rig.get(`/sessions/${id}`));
const trace = async (id, turn) => resultOf(await rig.get(`/sessions/${id}/turns/${turn}/trace`));
/** Checks the newest call: one prompt, and the model that belongs to it. */
function assertUnder(prompt) {
  const { body, conversation } = rig.model.requests.at(-1);
  const prompts = conversation.filter(({ role }) => role === 'system').map(({ content }) => JSON.stringify(content));
  assert.equal(prompts.length, 1);
  assert.ok(prompts[0].includes(prompt), prompts[0]);
  assert.equal(body.model, prompt === BOOT_PROMPT ? MODEL : OTHER_MODEL);
}

for (const kept of ['stored', 'replay']) {
  test(`a session begins in a share, stays there, and goes back with Instead (${kept})`, async () => {
    await rig?.dispose();
    rig = new Rig({ catalog: changed(kept, { ...share(100) }), vars: { TURN_ALARM_MS: '500' } });
    await rig.start();
    const id = `changed-${kept}`;
    await say({ SessionId: id, TurnId: 't1', Instruction: 'One.' }, 'First.');
    assertUnder(OTHER_PROMPT);
    const { AgentContextId, ConversationContextId, AskedContextId } = await shown(id);
    assert.deepEqual([AgentContextId, ConversationContextId, AskedContextId], ['other', 'next', 'default']);
    assert.deepEqual((await trace(id, 't1')).Submissions[0].Catalog, { Sha256: hash(served.at(-1)) });

    // A turn waits for its client when the shares end and the context is taken back.
    const ToolsJson = JSON.stringify([clientTool('read')]);
    rig.model.script(answer(call('read', { path: 'a' })));
    const paused = resultOf(await rig.post(userTurn({ SessionId: id, TurnId: 't2', Instruction: 'Two.', ToolsJson })));
    await rig.restart({ catalog: (catalog) => Object.assign(catalog, { Version: 'back' }) && changed(kept, {}, { Instead: 'default' })(catalog) });
    rig.model.script(answer(text('Second.')));
    const ToolResults = [{ ToolCallId: paused.ToolCalls[0].ToolCallId, ExecutionMs: 1, ResultJson: '1' }];
    resultOf(await rig.post({ SessionId: id, TurnId: 't2', ToolResults }));
    assertUnder(OTHER_PROMPT);
    const [before, since] = (await trace(id, 't2')).Submissions.map(({ Catalog }) => Catalog);
    assert.notEqual(before.Sha256, since.Sha256);
    assert.deepEqual(since, { Sha256: hash(served.at(-1)), Version: 'back' });

    // The process ends in the first turn under the other context, which goes on there.
    rig.model.script(silence());
    const third = userTurn({ SessionId: id, TurnId: 't3', Instruction: 'Three.' });
    const lost = rig.post(third).catch(() => {});
    await eventually(() => JSON.stringify(rig.model.requests.at(-1).body).includes('Three.'), 'the model is asked');
    // The alarm may take the turn up before it is sent again.
    rig.model.script(answer(text('Third.')));
    await rig.crash();
    await lost;
    assert.equal(resultOf(await rig.post(third)).PrimaryOutputText, 'Third.');
    assertUnder(BOOT_PROMPT);
    assert.deepEqual((await trace(id, 't3')).ContextChanged, { From: 'next', To: 'default' });
    const back = await shown(id);
    assert.deepEqual([back.AgentContextId, back.ConversationContextId, back.AskedContextId], ['default', 'default', undefined]);
    const { conversation } = rig.model.requests.at(-1);
    assert.match(JSON.stringify(conversation), /One\.[^]*First\.[^]*Two\.[^]*Second\.[^]*Three\./);

    // Whoever names it begins at the other one, and later turns may name either.
    const named = { SessionId: `${id}-named`, ConversationContextId: 'next' };
    await say({ ...named, TurnId: 't1' }, 'Named.');
    assertUnder(BOOT_PROMPT);
    await say({ ...named, TurnId: 't2', ConversationContextId: 'default' }, 'Named again.');
    const { Turns } = resultOf(await rig.get(`/sessions/${id}/export`));
    assert.deepEqual(Turns.map(({ ContextChanged }) => ContextChanged), [undefined, undefined, { From: 'next', To: 'default' }]);
    await rig.check();
  });
}
