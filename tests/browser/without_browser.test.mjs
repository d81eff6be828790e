// Parts of the page that need no page: a conversation as Markdown, a folder for the index.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

async function part(name) {
  const entryPoints = [fileURLToPath(new URL(`../../clients/playground/src/${name}`, import.meta.url))];
  const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });
  return import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);
}

test('a result with any number of backticks stands in a longer fence', async () => {
  const { markdownOf } = await part('session/conversation_markdown.ts');
  const asked = { text: 'Hello', pictures: [], files: [] };
  const saved = (ResultJson) => markdownOf('Title', [{ asked, files: [], warnings: [], status: 'completed', steps: [{ kind: 'server_tool', id: 'a', name: 'look', argumentsJson: '{}', result: { ResultJson } }] }]);
  assert.match(saved('"````"'), /^`{5}json\n"````"\n`{5}$/m);
  assert.match(saved(JSON.stringify('` '.repeat(300_000))), /^```json\n"` /m);
});

test('a file into which a key is written after it was looked at is not sent', async () => {
  const { ofInput } = await part('retrieval/folder.ts');
  let text = 'A heron.\n';
  const file = { name: 'notes.md', size: 9, arrayBuffer: async () => new TextEncoder().encode(text).buffer };
  const { documents: [document] } = await ofInput([file]);
  assert.equal(await document.Contents(), text);
  text = '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n';
  await assert.rejects(document.Contents(), /changed meanwhile/);
});
