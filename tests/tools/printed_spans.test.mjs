// The spans that `make dev TRACE=1` prints come from the listener alone, and from no page of a browser.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { printedSpans } from '../../tools/dev/printed_spans.mjs';

test('a page of a browser prints nothing on the terminal', async (t) => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'printed-spans-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  await printedSpans(folder);
  const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(readFileSync(path.join(folder, 'spans.mjs'), 'utf8'));
  const log = t.mock.method(console, 'log', () => {});
  const at = (spanId, event) => ({ spanContext: { traceId: 't', spanId }, invocationId: 'i', at: 0, event });
  const body = JSON.stringify([at('0', { type: 'spanOpen', name: 'invoke_agent \u001b]0;a', spanId: '1' }), at('1', { type: 'spanClose' })]);
  const post = (headers) => fetch(url, { method: 'POST', headers: { connection: 'close', ...headers }, body });
  assert.equal((await post({ origin: 'https://evil.example' })).status, 403);
  assert.equal(log.mock.callCount(), 0);
  assert.equal((await post({})).status, 200);
  assert.equal(log.mock.callCount(), 1);
});
