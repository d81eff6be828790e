// What an export is read into, and how its turns are run, whatever its names are, whoever has written the file and whatever is answered.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { callsOf } from '../../tools/rehearse/comparison.mjs';
import { readSession } from '../../tools/rehearse/record.mjs';
import { RecordedAnswers } from '../../tools/rehearse/recorded_answers.mjs';
import { rehearsal } from '../../tools/rehearse/rehearsal.mjs';
import { answerMcp } from '../../tools/rehearse/recorded_mcp.mjs';
import { runSession } from '../../tools/rehearse/session_run.mjs';
import { TurnRun } from '../../tools/rehearse/turn_run.mjs';
import { serve } from '../local_server.mjs';

const folder = mkdtempSync(path.join(os.tmpdir(), 'record-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('an export is read with the mark of an editor, and with names that every object of JavaScript has', () => {
  const parameters = { type: 'object' };
  const tool = { OnServer: true, Name: 'constructor__look', Mcp: { Server: 'constructor', Tool: 'look' }, Definition: { parameters } };
  const turn = { TurnId: '1', Status: 'completed', Submissions: [], Conversation: [], Composition: [], ModelCalls: [], ToolCalls: [], Tools: [tool] };
  const file = path.join(folder, 'export.json');
  writeFileSync(file, `\ufeff${JSON.stringify({ SessionId: 's', Turns: [turn] })}`);
  const session = readSession(file);
  assert.deepEqual({ ...session.servers }, { constructor: [{ name: 'look', inputSchema: parameters }] });
  assert.equal(session.turns.length, 1);
});

test('a list that an MCP server gave as data is given as data again', async () => {
  const asked = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'list' } });
  const ResultJson = JSON.stringify([{ type: 'input_text', text: '[1, 2.0]' }]);
  const { text } = await answerMcp(asked, [], async () => ({ ResultJson }));
  assert.equal(text, '{"jsonrpc":"2.0","id":1,"result":{"resultType":"complete","content":[],"structuredContent":[1, 2.0]}}');
});

test('words that were added are sent behind the calls whose output was kept, however many failed before', () => {
  const ModelCalls = [{ Number: 1, Fault: { ErrorCode: 'upstream_rejected' } }, { Number: 2, Fault: null }, { Number: 3, Fault: null }];
  const Steers = [{ SteerId: 'x', Interrupted: false, ModelCall: 1, Instruction: 'Also.' }];
  const turn = { TurnId: '1', Status: 'completed', Submissions: [], Conversation: [], Composition: [], ModelCalls, Steers, ToolCalls: [], Tools: [] };
  const file = path.join(folder, 'steered.json');
  writeFileSync(file, JSON.stringify({ SessionId: 's', Turns: [turn] }));
  const [{ before, interrupts }] = readSession(file).turns[0].steers;
  assert.deepEqual([before, interrupts], [1, false]);
});

test('a call without arguments is the same call, whether its model wrote an empty object or nothing', () => {
  const call = { Name: 'list', ArgumentsJson: '', RunsOn: 'server', Answer: { ResultJson: '[]' } };
  assert.equal(new RecordedAnswers([{ id: '1', calls: [call] }]).result('1', 'list', '{}'), call);
  assert.deepEqual(callsOf({ ToolCalls: [call] }), callsOf({ ToolCalls: [{ ...call, ArgumentsJson: ' { } ' }] }));
});

test('a turn whose answer has a line separator of Unicode is run, as any other one', async () => {
  const Result = { Kind: 'final', PrimaryOutputText: 'One\u2028two.' };
  const service = await serve((request, response) => {
    const isTurn = request.url === '/execute';
    response.writeHead(200, { 'content-type': isTurn ? 'text/event-stream' : 'application/json' });
    response.end(isTurn ? `event: result\ndata: ${JSON.stringify({ Successful: true, Result })}\n\n` : '{}');
  });
  const turn = { id: 't', status: 'completed', request: {}, retrieved: [], calls: [], steers: [], exported: { Submissions: [] } };
  const { runs } = await runSession({ session: { id: 's', turns: [turn] }, context: 'default', origin: service.origin, outbound: {} });
  await service.close();
  assert.deepEqual({ ...runs }, { t: { unrecorded: [], unsent: 0 } });
});

test('a session that no MCP server gave a tool is not offered those of another one, whichever file comes first', async () => {
  const service = await serve((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  const session = (id, servers) => ({ id, servers, turns: [] });
  const sessions = [session('offered', { docs: [{ name: 'look' }] }), session('without', {}), session('offered too', { docs: [{ name: 'look' }] })];
  const lanes = [{ name: 'rehearsed', catalog: '{}', contextOf: () => 'default' }];
  const served = [];
  const serving = ({ use }) => {
    served.push([]);
    return use({ origin: service.origin, outbound: { refused: new Set() }, notes: [] });
  };
  await rehearsal({ sessions, lanes, times: 1, serve: serving, onSession: ({ SessionId }) => served.at(-1).push(SessionId) });
  await service.close();
  assert.deepEqual(served, [['offered', 'offered too'], ['without']]);
});

test('words that came too late for a call of a cancelled turn are sent before it is cancelled', async () => {
  const ModelCalls = [{ Number: 1, Fault: null }, { Number: 2, Interrupted: true, Fault: null }, { Number: 3, Fault: { ErrorCode: 'turn_aborted' } }];
  const Steers = [
    { SteerId: 'cut', State: 'delivered', Interrupted: true, ModelCall: 1, Instruction: 'Stop.' },
    { SteerId: 'kept', State: 'kept', Interrupted: false, Instruction: 'Also.' },
    { SteerId: 'refused', State: 'refused', Interrupted: false, Instruction: 'No.' },
  ];
  const turn = { TurnId: '1', Status: 'aborted', Submissions: [], Conversation: [], Composition: [], ModelCalls, Steers, ToolCalls: [], Tools: [] };
  const file = path.join(folder, 'kept.json');
  writeFileSync(file, JSON.stringify({ SessionId: 's', Turns: [turn] }));
  const session = readSession(file);
  const asked = [];
  const ask = async (route, body) => {
    asked.push([route, body?.Instruction]);
    return { Successful: true };
  };
  const run = new TurnRun({ session, turn: session.turns[0], answers: undefined, ask });
  run.modelAnswered(200);
  assert.equal(await run.modelCall(), false);
  const at = '/sessions/s/turns/1';
  assert.deepEqual(asked, [[`${at}/steer`, 'Stop.'], [`${at}/steer`, 'Also.'], [`${at}/cancel`, undefined]]);
  assert.deepEqual(run.unsent.map(({ request }) => request.SteerId), ['refused']);
});
