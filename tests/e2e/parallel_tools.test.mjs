// Server tools that run at once, on the real runtime (interface §5).
import assert from 'node:assert/strict';
import { setTimeout as pause } from 'node:timers/promises';
import { test } from 'node:test';
import { eventually, httpTool, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';

const rig = rigForFile({
  vars: { TURN_ALARM_MS: '300' },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(
      httpTool('find', toolUrl, { Parallel: true }, { TimeoutMs: 30_000 }),
      httpTool('report', toolUrl, { Parallel: true, OnError: 'ReportToModel' }, { TimeoutMs: 1000 }),
      httpTool('alone', toolUrl),
    );
    catalog.Modes[0].Tools.push('find', 'report', 'alone');
  },
});
const slow = (ms) => async ({ Arguments: { n } }) => (await pause(ms), JSON.stringify({ n }));
const outputs = (body) => body.input.map(({ output }) => JSON.parse(output));
const traceOf = async ({ SessionId, TurnId }) => resultOf(await rig.get(`/sessions/${SessionId}/turns/${TurnId}/trace`));

test('five tools take as long as one, and the model gets their results in its own order', async () => {
  // None answers before all have been asked; one after the other they would wait for each other in vain.
  const all = Promise.withResolvers();
  rig.tools.think('/find', async (body) => {
    if (rig.tools.requests.length === 5) all.resolve();
    await all.promise;
    return slow(200)(body);
  });
  rig.model.script(answer(...[0, 1, 2, 3, 4].map((n) => call('find', { n }))), answer(text('Found.')));
  const turn = userTurn();
  const began = performance.now();
  const heard = await rig.post(turn);
  const took = performance.now() - began;
  const { PrimaryOutputText, ToolResults } = resultOf(heard);
  assert.equal(PrimaryOutputText, 'Found.');
  const [, tools] = /tools;dur=([\d.]+)/.exec(heard.headers.get('server-timing'));
  // Their times together are longer than the request. A native test holds the exact time, by a clock of its own.
  assert.ok(Number(tools) <= took + 1, `${tools} of ${took} ms`);
  const expected = [0, 1, 2, 3, 4].map((n) => ({ n }));
  assert.deepEqual(outputs(rig.model.bodies[1]), expected);
  assert.deepEqual(ToolResults.map(({ ResultJson }) => JSON.parse(ResultJson)), expected);
  const { ToolCalls } = await traceOf(turn);
  assert.deepEqual(ToolCalls.map(({ ParallelGroup }) => ParallelGroup), [1, 1, 1, 1, 1]);
});

test('a process that ends in the middle has again what has no result, each call under its own id', async () => {
  rig.tools.think('/find', async ({ Arguments: { n } }) => (n === 1 ? pause(60_000, '0', { ref: false }) : JSON.stringify({ n })));
  rig.model.script(answer(...[0, 1, 2].map((n) => call('find', { n }))), answer(text('Found.')));
  const turn = userTurn();
  const lost = rig.post(turn).catch(() => {});
  const stored = async () => (await traceOf(turn)).ToolCalls.filter(({ Successful }) => Successful).length;
  await eventually(() => rig.tools.requests.length === 3, 'three calls run');
  await eventually(async () => (await stored()) === 2, 'two results are stored');
  rig.tools.think('/find', slow(10));
  await rig.restart();
  await lost;
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'Found.');
  assert.deepEqual(outputs(rig.model.bodies[1]), [{ n: 0 }, { n: 1 }, { n: 2 }]);
  const ids = rig.tools.requests.map(({ body: { ToolCallId, Arguments } }) => `${Arguments.n} ${ToolCallId}`);
  assert.equal(ids.length, 4);
  assert.equal(new Set(ids).size, 3);
});

test('a failure lets those beside it end, and what never answers holds up nobody', async () => {
  rig.tools.play('/find', async (response, { Arguments: { n } }) => {
    await pause(n === 0 ? 20 : 150);
    response.writeHead(n === 0 ? 500 : 200, { 'content-type': 'application/json' }).end(`{"n":${n}}`);
  });
  rig.tools.on('/report', null);
  rig.tools.think('/alone', slow(0));
  rig.model.script(answer(call('find', { n: 0 }), call('find', { n: 1 }), call('alone', { n: 2 })));
  const turn = userTurn();
  assert.deepEqual(refusalOf(await rig.post(turn)), [500, 'server_tool_failed']);
  const { ToolCalls } = await traceOf(turn);
  assert.deepEqual(ToolCalls.map(({ Successful }) => Successful), [undefined, true, undefined]);

  rig.tools.think('/find', slow(0));
  rig.model.script(answer(text('All there.')));
  assert.equal(resultOf(await rig.post(turn)).PrimaryOutputText, 'All there.');
  assert.deepEqual(rig.tools.requests.map(({ path }) => path), ['/find', '/find', '/find', '/alone']);

  rig.model.script(answer(call('report', { n: 3 }), call('find', { n: 4 })), answer(text('One is silent.')));
  assert.equal(resultOf(await rig.post({ ...turn, TurnId: 'silent' })).PrimaryOutputText, 'One is silent.');
  const [silent, found] = outputs(rig.model.bodies.at(-1));
  assert.match(silent.error, /did not answer|in time|ms/);
  assert.deepEqual(found, { n: 4 });
});
