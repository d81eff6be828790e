// What an export is read into, and how its turns are run, whatever its names are, whoever has written the file and whatever is answered.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readSession } from '../../tools/rehearse/record.mjs';
import { runSession } from '../../tools/rehearse/session_run.mjs';
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
