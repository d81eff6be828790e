// The inspector's timeline, from traces as the service sends them.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const entryPoints = [fileURLToPath(new URL('../../clients/playground/src/inspector/timeline.ts', import.meta.url))];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });
const { timelineOf, spentOn } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

const BEGAN = Date.parse('2026-01-01T00:00:00.000Z');
const time = (ms) => new Date(BEGAN + ms).toISOString();
const call = (Number, from, DurationMs, more = {}) => ({
  Number, StartedAt: time(from), DurationMs, BodyBytes: 1, Composition: [], Mode: 'general', Segment: Number - 1, Retries: [], Fault: null,
  Usage: { PromptTokens: 1000 * Number, CompletionTokens: 10, CachedTokens: 0, ReasoningTokens: 0, TotalTokens: 1000 * Number + 10 }, ...more,
});
const turn = (trace, endedAt) => ({
  trace: { Composition: [], ModelCalls: [], ToolCalls: [], ModeChanges: [], Compactions: [], ...trace },
  view: { StartedAt: time(0), UpdatedAt: time(endedAt ?? 0), ...(endedAt !== undefined && { EndedAt: time(endedAt) }) },
});
const spans = ({ rows }) => rows.map(({ name, spans }) => [name, ...spans.map(({ from, to, look }) => `${look} ${from}-${to}`)]);

test('tools of the service follow their call one after the other, and the pause for the client lasts to the next call', () => {
  const tool = (Name, RunsOn, ExecutionMs) => ({ ModelCall: 0, ToolCallId: Name, Name, RunsOn, ExecutionMs, Successful: true });
  const ToolCalls = [tool('a', 'server', 50), tool('mine', 'client', 7), tool('b', 'server', 30)];
  const inspected = turn({ ModelCalls: [call(1, 20, 100), call(2, 900, 100)], ToolCalls }, 1010);
  assert.deepEqual(spans(timelineOf(inspected, [], 0)), [
    ['Preparing the message', 'work 0-20'],
    ['Model call 1', 'model 20-120'],
    ['a', 'tool 120-170'],
    ['b', 'tool 170-200'],
    ['Pause for the client', 'pause 200-900'],
    ['Model call 2', 'model 900-1000'],
  ]);
  assert.deepEqual(spentOn(inspected).map(({ name, ms }) => [name, ms]), [
    ['The model', 200], ['Tools of the service', 80], ['The client and its user', 700], ['The service itself', 30],
  ]);
});

test('a human is waited for once, however many calls wait, and a refused call has its wait, too', () => {
  const tool = (Name, RunsOn, more) => ({ ModelCall: 0, ToolCallId: Name, Name, RunsOn, ...more });
  const asked = (Decision, WaitedMs, DecidedBy) => ({ Approval: { Decision, WaitedMs, Edited: false, DecidedBy } });
  const ToolCalls = [
    tool('mail', 'server', { ExecutionMs: 30, Successful: true, ...asked('approved', 400, 'user:ann') }),
    tool('look', 'server', { ExecutionMs: 50, Successful: true }),
    tool('pay', 'nobody', { ExecutionMs: 0, Successful: false, ...asked('refused', 400, 'key:none') }),
  ];
  const inspected = turn({ ModelCalls: [call(1, 0, 100), call(2, 600, 100)], ToolCalls }, 700);
  const { rows } = timelineOf(inspected, [], 0);
  assert.deepEqual(spans({ rows }).slice(2, 5), [['look', 'tool 100-150'], ['mail', 'pause 150-550', 'tool 550-580'], ['pay', 'pause 150-550']]);
  assert.deepEqual(rows.slice(3, 5).map(({ told }) => told), ['30 ms · approved by ann, waited 400 ms', 'refused, waited 400 ms']);
  assert.equal(spentOn(inspected).find(({ name }) => name === 'The client and its user').ms, 400);
});

test('a tool that has failed its turn is shown without a result', () => {
  const ToolCalls = [{ ModelCall: 0, ToolCallId: 'a', Name: 'look', RunsOn: 'server' }];
  const rowOf = (endedAt) => timelineOf(turn({ ModelCalls: [call(1, 0, 100)], ToolCalls }, endedAt), [], 150).rows.at(-1);
  assert.deepEqual([rowOf(150).told, rowOf(150).spans[0].look], ['no result', 'bad']);
  assert.equal(rowOf(undefined).spans[0].look, 'tool');
});

test('a call that was refused for length stands before the compaction that followed, however the trace orders them', () => {
  const ModelCalls = [
    call(2, 50, 40, { Summary: true }),
    call(1, 10, 30, { Fault: { ErrorCode: 'context_window_exceeded', Message: '' }, Usage: null }),
    call(3, 100, 60, { Rebuilt: true }),
  ];
  // A tool's call is told by the number of calls before it whose output was kept.
  const ToolCalls = [{ ModelCall: 0, ToolCallId: 'a', Name: 'look', RunsOn: 'server', ExecutionMs: 5, Successful: true }];
  const Compactions = [{ Reason: 'refused', ItemsBefore: 9, ItemsAfter: 3, TurnsLeftOut: 1, SummaryBytes: 120 }];
  const timeline = timelineOf(turn({ ModelCalls, ToolCalls, Compactions }, 170), [], 0);
  assert.deepEqual(spans(timeline).slice(1), [
    ['Model call 1', 'bad 10-40'],
    ['Compaction', 'wait 50-50'],
    ['Summary of earlier turns', 'model 50-90'],
    ['Model call 2', 'model 100-160'],
    ['look', 'tool 160-165'],
  ]);
  assert.equal(timeline.rows[2].told, 'the service refused the length · items: 9, then 3 · summary: 120 bytes · turns left out: 1');
  // One without a summary has no time of its own, and is told all the same.
  const without = timelineOf(turn({ ModelCalls: [call(1, 10, 30)], Compactions }, 50), [], 0);
  assert.deepEqual(spans(without).map(([name]) => name), ['Preparing the message', 'Compaction', 'Model call 1']);
});

test('waits stand before the attempt that succeeded; the first byte is that of the call whose text it is, by the clock of the page', () => {
  const ModelCalls = [call(1, 10, 400, { Retries: [{ HttpStatus: 503, WaitedMs: 100 }, { WaitedMs: 200 }] }), call(2, 500, 100)];
  const at = (ms, event) => ({ at: 5_000_000 + ms, event });
  const announced = { type: 'progress', progress: { Kind: 'model_call', Iteration: 1 } };
  const text = (segment) => ({ type: 'text', segment, delta: 'x', position: `${segment}.1` });
  const seen = [at(0, announced), at(90, announced), at(125, text(1)), at(130, text(1))];
  const { rows } = timelineOf(turn({ ModelCalls }, 600), seen, 0);
  assert.deepEqual(rows[1].spans.map(({ from, to, look }) => `${look} ${from}-${to}`), ['wait 10-110', 'wait 110-310', 'model 310-410']);
  assert.match(rows[1].told, /repeated after 503, no answer, waited 300 ms/);
  assert.deepEqual([rows[1].mark, rows[2].mark], [undefined, 535]);
});

test('a call that takes the place of a refused one is counted from its own start', () => {
  const refused = call(1, 10, 30, { Segment: 0, Fault: { ErrorCode: 'upstream_rejected', Message: '' }, Usage: null });
  const announced = { at: 0, event: { type: 'progress', progress: { Kind: 'model_call', Iteration: 1 } } };
  const first = { at: 240, event: { type: 'text', segment: 0, delta: 'x', position: '0.1' } };
  const { rows } = timelineOf(turn({ ModelCalls: [refused, call(2, 200, 100, { Segment: 0 })] }, 300), [announced, first], 0);
  assert.deepEqual([rows[1].mark, rows[2].mark], [undefined, 250]);
});

test('a turn that runs is drawn up to now, by the time that this page has counted', () => {
  const { rows, totalMs } = timelineOf(turn({ ModelCalls: [call(1, 20, null)] }), [], 700);
  assert.equal(totalMs, 700);
  assert.deepEqual(rows[1].spans, [{ from: 20, to: 700, look: 'model' }]);
});

test('of a turn that runs the call under way has its time, and composition ends where that begins', () => {
  const Running = { Kind: 'model_call', Since: time(3) };
  const first = timelineOf(turn({ Running }), [], 4400);
  assert.deepEqual(spans(first), [['Preparing the message', 'work 0-3'], ['Model call 1', 'model 3-4400']]);
  assert.equal(first.rows[1].told, '4.4 s, under way');
  const tools = { ModelCalls: [call(1, 3, 100)], ToolCalls: [], Running: { Kind: 'server_tool', Since: time(110) } };
  assert.deepEqual(spans(timelineOf(turn(tools), [], 900)).slice(1), [['Model call 1', 'model 3-103'], ['A tool of the service', 'tool 110-900']]);
});

test('words that were added stand before the call that has them, with the call that was dropped for them', () => {
  const steer = (State, from, more) => ({ SteerId: 's', State, AcceptedAt: time(from), Interrupted: false, ...more });
  const Steers = [steer('delivered', 60, { ModelCall: 0, WaitedMs: 40, Interrupted: true }), steer('pending', 150)];
  const { rows } = timelineOf(turn({ ModelCalls: [call(1, 0, 70, { Interrupted: true, Usage: null }), call(2, 100, 80)], Steers }, 200), [], 0);
  assert.deepEqual(spans({ rows }).slice(1), [['Model call 1', 'dropped 0-70'], ['Words that were added', 'words 60-100'], ['Model call 2', 'model 100-180'], ['Words that were added', 'words 150-200']]);
  assert.deepEqual(rows.slice(1).map(({ told }) => told), [
    '70 ms · dropped for words that were added', 'waited 40 ms · with Model call 2 · a call was dropped for them', '80 ms · 2,000 in, 10 out', 'wait for the next call',
  ]);
});

test('a call in the background says so, and how often it was read on', () => {
  const { rows } = timelineOf(turn({ ModelCalls: [call(1, 0, 70, { Background: true, Resumed: 1 }), call(2, 80, 10, { Background: true })] }, 100), [], 0);
  assert.deepEqual(rows.slice(1).map(({ told }) => told), ['70 ms · 1,000 in, 10 out · in the background, read on once', '10 ms · 2,000 in, 10 out · in the background']);
});

test('a first byte that does not fit into its call is told of none', () => {
  const at = (ms, event) => ({ at: ms, event });
  const announced = at(0, { type: 'progress', progress: { Kind: 'model_call', Iteration: 1 } });
  const text = (ms) => at(ms, { type: 'text', segment: 0, delta: 'x', position: '0.1' });
  // Behind a summary it is counted from the call's own start.
  const ModelCalls = [call(1, 10, 160, { Segment: 0, Summary: true }), call(2, 180, 16, { Segment: 0 })];
  assert.match(timelineOf(turn({ ModelCalls }, 200), [announced, text(181)], 0).rows.at(-1).told, /first byte after 11 ms/);
  assert.doesNotMatch(timelineOf(turn({ ModelCalls }, 200), [announced, text(900)], 0).rows.at(-1).told, /first byte/);
});

test('a first byte that a busy page takes after the end of the only call that it can be of came to that end at the latest', () => {
  const at = (ms, event) => ({ at: ms, event });
  const announced = (ms) => at(ms, { type: 'progress', progress: { Kind: 'model_call', Iteration: 1 } });
  const text = (ms, segment) => at(ms, { type: 'text', segment, delta: 'x', position: `${segment}.1` });
  const seen = [announced(0), text(40, 0), announced(100), text(290, 1)];
  const { rows } = timelineOf(turn({ ModelCalls: [call(1, 10, 60), call(2, 90, 131)] }, 230), seen, 0);
  assert.deepEqual(rows.slice(1).map(({ told, mark }) => [/first byte after (\d+ ms)/.exec(told)?.[1], mark]), [['40 ms', 50], ['131 ms', 221]]);
});

test('a call that has told no tokens is not one of none, and rows open what passed through them', () => {
  const none = { PromptTokens: 0, CompletionTokens: 0, CachedTokens: 0, ReasoningTokens: 0, TotalTokens: 0 };
  const ToolCalls = [{ ModelCall: 1, ToolCallId: 'a', Name: 'look', RunsOn: 'server', ExecutionMs: 5, Successful: true }];
  const { rows } = timelineOf(turn({ ModelCalls: [call(1, 0, 70, { Usage: none }), call(2, 80, 10)], ToolCalls }, 100), [], 0);
  assert.deepEqual(rows.slice(1).map(({ told, opens }) => [told, opens]), [
    ['70 ms', { call: 1 }], ['10 ms · 2,000 in, 10 out', { call: 2 }], ['5 ms', { tools: ['a'] }],
  ]);
});
