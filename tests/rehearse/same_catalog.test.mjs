// A rehearsal of a catalog against itself: nothing drifts, every text is the same, the model gets the same words, and nothing but
// the model service is reached.
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { raw } from '../e2e/scripted_model.mjs';
import { everyKind, changedCatalog, recorded, recordingForFile, rehearse } from './recording.mjs';
import { PLANNED } from './planned_model.mjs';

const recording = recordingForFile();
const { rig } = recording;

/** All that the model saw of each turn, without the ids that differ from run to run. */
const seen = (requests) => requests.map(({ body, conversation }) => {
  const kept = { instructions: body.instructions, tools: body.tools, tool_choice: body.tool_choice, format: body.text?.format };
  return JSON.stringify({ kept, conversation }).replace(/"(call|rs|msg|fc|resp)_[0-9a-f]+"/g, '"id"');
});

test('over sessions of every kind nothing drifts, and the model gets the same words', async () => {
  const files = await everyKind(recording);
  const before = seen(rig.model.requests);
  rig.model.requests.length = 0;
  const { code, out, err, report } = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'same')]);
  assert.equal(code, 0, out + err);
  const turns = report.Sessions.flatMap(({ Turns }) => Turns);
  for (const { TurnId, Drifts, EqualText, WithoutRecord, UnsentSteers, Status, RecordedStatus } of turns) {
    assert.deepEqual([TurnId, Drifts, EqualText, WithoutRecord, UnsentSteers, Status], [TurnId, false, true, [], 0, RecordedStatus], out);
  }
  assert.deepEqual(turns.length, 17);
  const { Turns, Drifting, Drift, EqualTexts, Failed, Tokens, RecordedTokens } = report.Totals;
  assert.deepEqual([Turns, Drifting, Drift, EqualTexts, Failed], [17, 0, 0, 17, 0]);
  assert.ok(Tokens > 0 && RecordedTokens > 0);
  // A call that was cut is made in the record, and here not at all.
  const calls = seen(rig.model.requests);
  for (const words of calls) assert.ok(before.includes(words), `the model was not told this when it was recorded: ${words}`);
});

test('over recorded exchanges of model services nothing drifts', async (context) => {
  const folder = fileURLToPath(new URL('../../../shared/fixtures', import.meta.url));
  if (!existsSync(path.join(folder, 'manifest.json'))) return context.skip(`the recorded exchanges are not at ${folder}`);
  const json = (...names) => JSON.parse(readFileSync(path.join(folder, ...names), 'utf8'));
  const cases = json('manifest.json').cases.flatMap(({ id, exchanges }) => {
    const last = exchanges.at(-1);
    const { http_status: status, kind, end, response_status: ended = end } = json('cases', id, last.expect);
    const body = readFileSync(path.join(folder, 'cases', id, last.response), 'utf8');
    return status === 200 && kind === 'sse' && body.includes('response.completed') ? [{ id, body: body.slice(Math.max(0, body.lastIndexOf('event: response.created'))) }] : [];
  });
  assert.ok(cases.length > 20, `${cases.length} of them`);
  // Each is what the model says to the words of its session; whatever it calls is the client's.
  rig.model.otherwise({
    play(exchange) {
      const [, id] = /RECORDED ([\w-]+)/.exec(JSON.stringify(exchange.record.conversation.findLast(({ role }) => role === 'user'))) ?? [];
      const isAnswered = exchange.record.conversation.at(-1).type === 'function_call_output';
      return isAnswered ? PLANNED.play(exchange) : raw([cases.find((each) => each.id === id).body]).play(exchange);
    },
  });
  const files = [];
  for (const { id } of cases) {
    const Instruction = `RECORDED ${id}\nPLAN {"Steps":[],"Say":"Done."}`;
    files.push(await recorded(recording, `recorded-${files.length}`, { one: { Instruction, ConversationContextId: 'replay' } }));
  }
  const statusOf = (file) => JSON.parse(readFileSync(file, 'utf8')).Result.Turns[0].Status;
  // A turn that failed when it was recorded fails again, and drifts as little.
  assert.ok(files.filter((file) => statusOf(file) === 'completed').length > 20);
  const { code, out, err, report } = await rehearse(recording, files, ['--catalog', changedCatalog(recording, 'same')]);
  assert.equal(code, 0, out + err);
  assert.deepEqual([report.Totals.Drifting, report.Totals.EqualTexts, report.Totals.WithoutRecord], [0, files.length, 0], out);
});
