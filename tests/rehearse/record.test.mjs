// What an export is read into, whatever its names are and whoever has written the file.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { readSession } from '../../tools/rehearse/record.mjs';

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
