// Approvals in the real runtime: a server tool runs when a human has said yes (interface §12).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys, clientTool, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const KEY = 'key-of-the-approving-client';
const KEY_ID = 'Zoë & sons, 1%';
const keys = JSON.parse(apiKeys({ [KEY]: 'acme' })).map((entry) => ({ ...entry, Id: KEY_ID }));
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: JSON.stringify(keys) },
  catalog: (catalog, { toolUrl }) => {
    const Parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
    catalog.ServerTools.push(
      httpTool('send_mail', toolUrl, { Parameters, Approval: { When: 'Always', AllowEdit: true, Message: 'It leaves.', By: 'Key' } }),
      httpTool('drop_table', toolUrl, { Approval: 'Always' }),
      httpTool('look_up', toolUrl),
    );
    catalog.Modes[0].Tools.push('send_mail', 'drop_table', 'look_up');
  },
});
const post = (body) => rig.post(body, { key: KEY });
const get = async (route) => resultOf(await rig.get(route, { key: KEY }));
const decided = (ToolCallId, decision) => ({ ToolCallId, ExecutionMs: 8200, ResultJson: JSON.stringify(decision) });
const posts = () => rig.tools.requests.map(({ path, body }) => [path, body.ToolCallId, body.Arguments]);

/** A turn whose model makes these calls and then says "Done."; resolves to its ids, its path and what it waits for. */
async function paused(calls, more = {}) {
  for (const tool of ['send_mail', 'drop_table', 'look_up']) rig.tools.on(`/${tool}`, `{"did":"${tool}"}`);
  rig.model.script(answer(...calls), answer(text('Done.')));
  const { SessionId, TurnId, ...turn } = userTurn(more);
  const ids = { SessionId, TurnId };
  const result = resultOf(await post({ ...ids, ...turn }));
  return { ids, path: `/sessions/${SessionId}/turns/${TurnId}`, asked: result.ToolCalls };
}

test('three equal decisions at once, and one more after a restart, are one POST and one answer', async () => {
  const mail = call('send_mail', { to: 'ann' });
  const { ids, path, asked } = await paused([mail]);
  const [{ ToolCallId, Name, ArgumentsJson }] = asked;
  assert.deepEqual([asked.length, ToolCallId, Name], [1, `apr_${mail.callId}`, 'agent_approve_tool']);
  assert.deepEqual(JSON.parse(ArgumentsJson), {
    ToolCallId: mail.callId, Name: 'send_mail', Arguments: { to: 'ann' }, Message: 'It leaves.', AllowEdit: true,
  });
  assert.deepEqual(posts(), []);
  const { LiveTurn } = await get(`/sessions/${ids.SessionId}`);
  assert.deepEqual([LiveTurn.ToolCalls, (await get(path)).ToolCalls], [asked, asked]);

  await rig.restart();
  const decision = { ...ids, ToolResults: [decided(ToolCallId, { Approved: true })] };
  const heard = await Promise.all([post(decision), post(decision), post(decision)]);
  await rig.restart();
  const again = await post(decision);
  assert.equal(again.headers.get('idempotent-replayed'), 'true');
  for (const { text: body } of heard) assert.equal(body, again.text);
  assert.deepEqual(posts(), [['/send_mail', mail.callId, { to: 'ann' }]]);
  const final = resultOf(again);
  assert.deepEqual(final.ToolResults.map((shown) => [shown.ToolCallId, shown.ResultJson]), [[mail.callId, '{"did":"send_mail"}']]);
  assert.deepEqual(rig.model.bodies.map(({ input }) => input.at(-1).output).at(-1), '{"did":"send_mail"}');

  const [{ RunsOn, Approval }] = (await get(`${path}/trace`)).ToolCalls;
  const { WaitedMs, ...rest } = Approval;
  assert.deepEqual([RunsOn, rest], ['server', { Decision: 'approved', Edited: false, DecidedBy: `key:${KEY_ID}` }]);
  assert.ok(Number.isInteger(WaitedMs) && WaitedMs >= 0);
  const [exported] = (await get(`/sessions/${ids.SessionId}/export`)).Turns[0].ToolCalls;
  assert.deepEqual(exported.Approval, { AllowEdit: true, Message: 'It leaves.', Decision: 'approved', DecidedBy: `key:${KEY_ID}`, WaitedMs });
  const lines = rig.logs.filter((line) => line.includes('"approval"')).map((line) => JSON.parse(line));
  assert.deepEqual(lines.map(({ call: id, tool, key, decision: said }) => [id, tool, key, said]), [
    [mail.callId, 'send_mail', KEY_ID, 'approved'],
  ]);
});

test('a refusal, and a client that does not know the question, run nothing, and the model hears why', async () => {
  for (const [result, reason] of [
    [{ ResultJson: '{"Approved":false,"Reason":"wrong recipient"}' }, ' Reason: wrong recipient.'],
    [{ ErrorMessage: 'Unknown tool: agent_approve_tool.' }, ' Reason: Unknown tool: agent_approve_tool.'],
  ]) {
    const { ids, asked } = await paused([call('drop_table', { q: 'all' })]);
    const ToolResults = [{ ToolCallId: asked[0].ToolCallId, ExecutionMs: 1, ...result }];
    const final = resultOf(await post({ ...ids, ToolResults }));
    assert.deepEqual([final.PrimaryOutputText, final.ToolResults], ['Done.', undefined]);
    const error = `The user refused this call.${reason} Do not repeat it.`;
    assert.deepEqual(JSON.parse(rig.model.bodies.at(-1).input[0].output), { error });
  }
  assert.deepEqual(posts(), []);
});

test('edited arguments run where the tool permits it and they fit, and a faulty decision changes nothing', async () => {
  const made = [call('send_mail', { to: 'ann' }), call('look_up', {}), call('read_file', {}), call('drop_table', { q: 'a' })];
  const { ids, path, asked } = await paused(made, { ToolsJson: JSON.stringify([clientTool('read_file')]) });
  assert.deepEqual(asked.map(({ Name }) => Name), ['agent_approve_tool', 'read_file', 'agent_approve_tool']);
  assert.deepEqual(posts().map(([where]) => where), ['/look_up']);
  const send = (mail, drop) => {
    const [first, second, third] = asked.map(({ ToolCallId }) => ToolCallId);
    return post({ ...ids, ToolResults: [decided(first, mail), decided(second, 'own'), decided(third, drop)] });
  };
  const refused = await send({ Approved: true, Arguments: { to: 7 } }, { Approved: true, Arguments: { q: 'b' } });
  assert.deepEqual(refusalOf(refused), [400, 'invalid_field', 'invalid_field']);
  assert.deepEqual(refused.json.Errors.map(({ Path }) => Path), ['/ToolResults/0/ResultJson', '/ToolResults/2/ResultJson']);
  assert.match(refused.json.Errors[0].Message, /Arguments\.to must keep to "type": "string"/);
  assert.equal((await get(path)).Status, 'awaiting_tools');

  const final = resultOf(await send({ Approved: true, Arguments: { to: 'bob' } }, { Approved: true }));
  assert.equal(final.PrimaryOutputText, 'Done.');
  assert.deepEqual(posts().map(([where, , sent]) => [where, sent]), [
    ['/look_up', {}], ['/send_mail', { to: 'bob' }], ['/drop_table', { q: 'a' }],
  ]);
  assert.deepEqual(rig.model.bodies[1].input.map(({ call_id, output }) => [call_id, output]), [
    [made[0].callId, '{"did":"send_mail"}'], [made[1].callId, '{"did":"look_up"}'],
    [made[2].callId, '"own"'], [made[3].callId, '{"did":"drop_table"}'],
  ]);
  const traced = (await get(`${path}/trace`)).ToolCalls;
  assert.deepEqual(traced.map(({ Approval }) => Approval?.Edited), [true, undefined, undefined, false]);
});
