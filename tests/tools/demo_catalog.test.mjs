// What stands beside the service in `make dev` answers whoever asks, and what is no question ends nothing.
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { demoCatalog } from '../../tools/dev/demo_catalog.mjs';
import { printedSpans } from '../../tools/dev/printed_spans.mjs';

test('what is no call of the tool is refused, and the next call is answered', async () => {
  const { catalog, close } = await demoCatalog();
  const { Url } = JSON.parse(catalog).ServerTools.at(-1).Http;
  const ask = (body) => fetch(Url, { method: 'POST', body });
  try {
    for (const body of ['', 'no JSON', 'null', '{}']) assert.equal((await ask(body)).status, 400, body);
    assert.equal((await (await ask('{"Arguments":{"to":"Ann"}}')).json()).text, 'The postcard to Ann is written.');
  } finally {
    await close();
  }
});

test('what is no event of a span is passed over', async () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-spans-test-'));
  try {
    await printedSpans(folder);
    const [url] = /http:[^"]+/.exec(readFileSync(path.join(folder, 'spans.mjs'), 'utf8'));
    for (const body of ['', 'no JSON', '{}', '[]', '[null]', '[{}]']) assert.equal((await fetch(url, { method: 'POST', body })).status, 200, body);
  } finally {
    rmSync(folder, { recursive: true });
  }
});
