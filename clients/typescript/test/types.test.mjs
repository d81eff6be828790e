// The types: fresh from the service's document, and as the README promises under the newest and the oldest TypeScript.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { unlessChecked } from '../../../tests/checked.mjs';
import { PLAIN, rigForFile } from '../../../tests/e2e/harness.mjs';
import { typesOf } from '../openapi_types.mjs';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
const rig = rigForFile(PLAIN);

test('the types of the wire are those of the published document', async () => {
  const document = await (await fetch(new URL('/openapi.json', rig.url))).json();
  const file = new URL('../src/openapi.ts', import.meta.url);
  const types = await typesOf(document);
  if (process.env.UPDATE_TYPES) writeFileSync(file, types);
  assert.equal(readFileSync(file, 'utf8'), types, 'src/openapi.ts is out of date; UPDATE_TYPES=1 writes it anew');
});

/** Fails with what the compiler of this package says of a project. */
function compiled(name, project) {
  const inputs = ['src', 'dist', 'test/types', 'package.json', 'package-lock.json', 'tsconfig.json'].map((input) => `${ROOT}${input}`);
  return unlessChecked(`${name}-${project.replaceAll('/', '-')}`, inputs, () => {
    try {
      execFileSync(process.execPath, [`${ROOT}node_modules/${name}/bin/tsc`, '-p', `${ROOT}test/${project}`], { encoding: 'utf8' });
    } catch (error) {
      assert.fail(error.stdout);
    }
  });
}
const versionOf = (name) => JSON.parse(readFileSync(`${ROOT}node_modules/${name}/package.json`, 'utf8')).version;

for (const name of ['typescript', 'typescript-oldest']) {
  test(`what an extension writes, as ESM or CommonJS, is checked by TypeScript ${versionOf(name)}`, () => compiled(name, 'types'));
}

test('the README names the oldest TypeScript', () => {
  const [oldest] = /^\d+\.\d+/.exec(versionOf('typescript-oldest'));
  assert.ok(readFileSync(`${ROOT}README.md`, 'utf8').includes(`TypeScript ${oldest} or later`));
});

test('arguments and answers have the types of their schemas', () => compiled('typescript', 'types/schema'));

test('the transport is one for the AI SDK 7 and 6', () => compiled('typescript', 'types/sdk'));
