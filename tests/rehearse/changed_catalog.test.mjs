// A rehearsal of a catalog that was changed: exactly the turns that the change concerns are named, in each form of the report, and
// the bounds decide the exit code.
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { eventually } from '../e2e/harness.mjs';
import { silence } from '../e2e/scripted_model.mjs';
import { started } from '../server/package_server.mjs';
import { ENVIRONMENT, changedCatalog, recorded, recordingForFile, rehearse } from './recording.mjs';
import { plan } from './planned_model.mjs';

const recording = recordingForFile();
let file;

/** Records once: turns that look, mail, order and only talk. */
async function session() {
  file ??= await recorded(recording, 'changes', {
    looks: { Instruction: plan([[['look', ['a', 1]]]]) },
    talks: { Instruction: `A separator\u2028of lines. ${plan([])}` },
    orders: { Instruction: plan([[['both', ['x']]]], { IsOrder: true }) },
    again: { Instruction: plan([[['look', ['b', 2]], ['check', ['c']]]]) },
  });
  return [file];
}
const drifting = ({ Sessions }) => Sessions.flatMap(({ Turns }) => Turns.filter(({ Drifts }) => Drifts).map(({ TurnId }) => TurnId));
const turnOf = ({ Sessions: [{ Turns }] }, id) => Turns.find(({ TurnId }) => TurnId === id);

test('a tool that was renamed, an argument and a prompt that were changed name their turns', async () => {
  const files = await session();
  const rename = (catalog) => {
    catalog.ServerTools.find(({ Name }) => Name === 'look').Name = 'find';
    for (const { Tools } of catalog.Modes) Tools.splice(Tools.indexOf('look'), 1, 'find');
  };
  const renamed = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'renamed', rename)]);
  assert.equal(renamed.code, 0, renamed.out + renamed.err);
  assert.deepEqual(drifting(renamed.report), ['looks', 'again']);
  assert.deepEqual(turnOf(renamed.report, 'again').WithoutRecord, [{ Name: 'find', ArgumentsJson: '{"name":"b","times":2}' }]);
  assert.match(turnOf(renamed.report, 'looks').Rehearsed.Submissions[0].Outcome.Result.PrimaryOutputText, /\{"error":"not recorded"\}/);
  assert.match(renamed.out, /turn looks: drifts, another text.*\n    - look \{"name":"a","times":1\}\n    \+ find \{"name":"a","times":1\}\n    without a record: find/);
  assert.match(renamed.out, /in all: 4 turns, 2 drift \(50 %\), 2 calls without a record, 2 with the same text/);

  const argument = (catalog) => (catalog.ServerTools.find(({ Name }) => Name === 'check').Parameters = { type: 'object', properties: { title: { type: 'string' } } });
  const changed = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'argument', argument), '--max-drift', '0.2']);
  assert.deepEqual([changed.code, drifting(changed.report)], [1, ['again']]);
  assert.match(changed.out, /MAX_DRIFT is 0\.2/);

  const prompt = (catalog) => {
    catalog.ConversationContexts.strict = { ...catalog.ConversationContexts.default, BootPrompt: 'VERIFY all.' };
  };
  const junit = recording.in('report.xml');
  const args = ['--catalog', changedCatalog(recording, 'prompt', prompt), '--context', 'strict', '--baseline', '1', '--times', '2', '--junit', junit];
  const prompted = await rehearse(recording, files, args);
  assert.equal(prompted.code, 0, prompted.out + prompted.err);
  assert.deepEqual(drifting(prompted.report), ['orders', 'orders']);
  assert.deepEqual([prompted.report.Totals.Turns, prompted.report.Totals.Drift, prompted.report.BaselineTotals.Turns, prompted.report.BaselineTotals.Drift], [8, 0.25, 8, 0]);
  assert.deepEqual(prompted.report.Sessions.map(({ Lane, Run, ConversationContextId }) => [Lane, Run, ConversationContextId]), [
    ['rehearsed', 1, 'strict'], ['rehearsed', 2, 'strict'], ['baseline', 1, 'default'], ['baseline', 2, 'default'],
  ]);
  const instead = (catalog) => {
    prompt(catalog);
    catalog.ConversationContexts.default = { Instead: 'strict' };
  };
  const moved = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'instead', instead)]);
  assert.equal(moved.code, 0, moved.out + moved.err);
  const [{ ConversationContextId, RecordedContextId }] = moved.report.Sessions;
  assert.deepEqual([drifting(moved.report), ConversationContextId, RecordedContextId], [['orders'], 'strict', 'default']);
  const xml = readFileSync(junit, 'utf8');
  assert.deepEqual([xml.match(/<testsuite /g).length, xml.match(/<testcase /g).length, xml.match(/<failure /g).length], [2, 8, 2]);
  assert.match(xml, /<testcase classname="changes" name="orders" time="[\d.]+"><failure message="drifts">\+ check \{&#34;name&#34;:&#34;all&#34;\}<\/failure>/);
});

test('a judge gets a line for each turn, and its scores are held to the bound', async () => {
  const files = await session();
  const judge = recording.in('judge.mjs');
  writeFileSync(judge, `import { createInterface } from 'node:readline';
    for await (const line of createInterface({ input: process.stdin })) {
      const { Instruction, Recorded, Rehearsed } = JSON.parse(line);
      const isSame = Recorded.Text === Rehearsed.Text && Recorded.Calls.length === Rehearsed.Calls.length;
      console.log(JSON.stringify({ Score: isSame && Instruction.includes('PLAN') ? 1 : 0.2, Reason: 'by its\\u2028text' }));
    }`);
  const args = ['--catalog', changedCatalog(recording, 'judged'), '--judge', `'${process.execPath}' '${judge}'`];
  const good = await rehearse(recording, files, [...args, '--min-score', '1']);
  assert.deepEqual([good.code, good.report.Totals.Score], [0, 1], good.out + good.err);
  assert.match(good.out, /turn talks: the same calls, the same text, score 1 \(by its\ufffdtext\)/);
  const wrong = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'judged'), '--judge', 'echo no', '--min-score', '1']);
  assert.equal(wrong.code, 2);
  assert.match(wrong.err, /the judge says no, not \{"Score"/);
  assert.doesNotMatch(wrong.err, /^ +at /m, 'a judge is the operator\'s, whom a trace tells nothing');
  const steering = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'judged'), '--judge', "printf '\\033[2J\\n'"]);
  assert.match(steering.err, /the judge says \ufffd\[2J, not/, 'a judge asks a model, whose words move no cursor');
});

test('a turn that failed and had not is 3, and wrong use is 2, with its remedy', async () => {
  const files = await session();
  const fewer = (catalog) => (catalog.AgentContexts.default.MaxIterations = 1);
  const failed = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'fewer', fewer), '--max-drift', '0']);
  assert.equal(failed.code, 3, failed.out + failed.err);
  assert.deepEqual(failed.report.Sessions[0].Turns.map(({ Status, ErrorCode }) => [Status, ErrorCode]), [
    ['failed', 'iteration_limit_exceeded'], ['completed', undefined], ['failed', 'iteration_limit_exceeded'], ['failed', 'iteration_limit_exceeded'],
  ]);
  assert.match(failed.out, /failed: iteration_limit_exceeded; recorded: completed/);
  // A deployment decides how long a turn's words are: what it has taken is taken here.
  const bounded = recording.in('bounded.json');
  writeFileSync(bounded, JSON.stringify({ Variables: { OPENAI_API_KEY: ENVIRONMENT.OPENAI_API_KEY, MAX_BODY_BYTES: 64 } }));
  const refused = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'same'), '--config', bounded]);
  assert.deepEqual([refused.code, refused.report.Sessions[0].Turns[0].ErrorCode], [3, 'body_too_large'], refused.out + refused.err);
  const none = recording.in('none.json');
  writeFileSync(none, '{"Result":{}}');
  const running = recording.in('running.json');
  const { Result } = JSON.parse(readFileSync(files[0], 'utf8'));
  writeFileSync(running, JSON.stringify({ Result: { ...Result, Turns: Result.Turns.slice(0, 1).map((turn) => ({ ...turn, Status: 'running' })) } }));
  const other = (catalog) => (catalog.ServerTools[0].Nme = 'x');
  const same = changedCatalog(recording, 'same');
  const keyless = recording.in('keyless.json');
  writeFileSync(keyless, '{}');
  const unnamed = (catalog) => delete catalog.AgentContexts.default.BaseUrl;
  const secretless = recording.in('secretless.json');
  writeFileSync(secretless, '{"Secrets":{"OPENAI_API_KEY":"nowhere"}}');
  for (const [exports, args, told] of [
    [files, [], /CATALOG \(--catalog\) or CONTEXT/],
    [files, ['--catalog', same, '--context', 'nowhere'], /no conversation context nowhere.*CONTEXT \(--context\) names another, of default, replay/],
    [files, ['--catalog', changedCatalog(recording, 'wrong', other)], /the catalog is wrong:\n\/ServerTools\/0/],
    [[none], ['--catalog', same], /none\.json cannot be rehearsed: it is no export of a session/],
    [[...files, ...files], ['--catalog', same], /has the session of/],
    [[running], ['--catalog', same], /has no turn that has ended/],
    [files, ['--catalog', same, '--judge', '', '--min-score', '1'], /needs a JUDGE/],
    [files, ['--catalog', same, '--max-drift', '5'], /--max-drift 5 is no number from 0 to 1/],
    [files, ['--catalog', same, '--min-score', '1'], /needs a JUDGE/],
    [files, ['--catalog', same, '--config', recording.in('unwritten.json')], /unwritten\.json cannot be read: ENOENT/],
    [files, ['--catalog', same, '--config', secretless], /\/Secrets\/OPENAI_API_KEY: \S+nowhere cannot be read: ENOENT/],
    // Beside the stand-in, a service that the catalog names is not sent the stand-in's key.
    [files, ['--catalog', changedCatalog(recording, 'unnamed', unnamed), '--config', keyless], /these secrets of the model services are not set: OPENAI_API_KEY/],
  ]) {
    const { code, err } = await rehearse(recording, exports, args);
    assert.equal(code, 2, err);
    assert.match(err, told);
  }
  // A report that cannot be written is nevertheless told.
  const lost = await rehearse(recording, files, ['--catalog', same, '--junit', recording.in('nowhere/junit.xml')]);
  assert.match(lost.err, /^aptix-edge-server: ENOENT[^\n]*nowhere\/junit\.xml'\n$/);
  assert.match(lost.out, /^in all: 4 turns/m);
});

test('a signal ends it with all that it has started', async () => {
  const files = await session();
  const TMPDIR = recording.in('tmp');
  mkdirSync(TMPDIR);
  const { model } = recording.rig;
  model.requests.length = 0;
  model.otherwise(silence());
  const run = started(['rehearse', ...files, '--catalog', changedCatalog(recording, 'same')], { env: { ...ENVIRONMENT, TMPDIR } });
  await eventually(() => model.requests.length > 0, 'the model is called');
  run.child.kill('SIGINT');
  assert.deepEqual(await run.ended, [130, null], run.err);
  assert.match(run.err, /ended by SIGINT/);
  await eventually(() => model.requests[0].abortedAt !== null, 'the call is given up');
  assert.deepEqual(readdirSync(TMPDIR), []);
});
