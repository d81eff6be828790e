// The types: fresh from the service's document, and as the README promises under the newest and the oldest TypeScript.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { typesOf } from '../openapi_types.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));

test('the types of the wire are those of the published document', async () => {
  const rig = new Rig();
  let document;
  try {
    await rig.start();
    document = await (await fetch(new URL('/openapi.json', rig.url))).json();
  } finally {
    await rig.dispose();
  }
  const file = new URL('../src/openapi.ts', import.meta.url);
  const types = await typesOf(document);
  if (process.env.UPDATE_TYPES) writeFileSync(file, types);
  assert.equal(readFileSync(file, 'utf8'), types, 'src/openapi.ts is out of date; UPDATE_TYPES=1 writes it anew');
});

for (const name of ['typescript', 'typescript-oldest']) {
  const { version } = JSON.parse(readFileSync(`${ROOT}node_modules/${name}/package.json`, 'utf8'));
  test(`what an extension writes is checked as it should be by TypeScript ${version}`, () => {
    if (name === 'typescript-oldest') {
      const readme = readFileSync(`${ROOT}README.md`, 'utf8');
      assert.ok(readme.includes(`TypeScript ${version.split('.').slice(0, 2).join('.')} or later`), 'the README names it');
    }
    for (const project of ['esm', 'commonjs']) {
      try {
        execFileSync(process.execPath, [`${ROOT}node_modules/${name}/bin/tsc`, '-p', `${ROOT}test/types/${project}`], { encoding: 'utf8' });
      } catch (error) {
        assert.fail(`${project}: ${error.stdout}`);
      }
    }
  });
}
