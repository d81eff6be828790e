// The tool of the demo's catalog answers whoever asks, and what is no question ends nothing.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demoCatalog } from '../../tools/dev/demo_catalog.mjs';

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
