// Two builds of one checkout at once, as two `make dev` on two ports begin them when a file changes. What compiles is a stand-in.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { BUILD, ENVIRONMENT, projectToBuild } from './project_to_build.mjs';

/** Notes that it has begun, and ends when it may; it fails where it began with the file `src/fault`. */
const TOOLCHAIN = `#!/usr/bin/env bash
sound=true
[ ! -e src/fault ] || sound=false
echo begun >>begun.log
until [ -e may-end ]; do sleep 0.05; done
$sound && touch build-dev/index.js build-dev/index_bg.wasm
`;
const { project, at } = projectToBuild(TOOLCHAIN);
const begun = () => (existsSync(at('begun.log')) ? readFileSync(at('begun.log'), 'utf8').trim().split('\n').length : 0);

/** Resolves to the exit code of a build. */
async function built() {
  return (await once(spawn('make', BUILD, { cwd: project, env: ENVIRONMENT, stdio: 'ignore' }), 'exit'))[0];
}

test('of two builds at once each comes to its end, and a third has nothing to do', { timeout: 60_000 }, async () => {
  const both = Promise.all([built(), built()]);
  while (begun() < 2) await pause(50);
  writeFileSync(at('may-end'), '');
  assert.deepEqual(await both, [0, 0]);
  assert.deepEqual([await built(), begun()], [0, 2]);
});

test('what is saved while a build runs is not taken for built where the build that begins with it fails', { timeout: 60_000 }, async () => {
  rmSync(at('may-end'));
  writeFileSync(at('src/lib.rs'), '');
  const first = built();
  while (begun() < 3) await pause(50);
  writeFileSync(at('src/fault'), '');
  const second = built();
  while (begun() < 4) await pause(50);
  writeFileSync(at('may-end'), '');
  assert.deepEqual([await first, await second], [0, 2]);
  assert.deepEqual([await built(), begun()], [2, 5]);
});
