// How the Worker of `make dev` is compiled, whatever flags the environment has for other programs. What compiles is a stand-in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { BUILD, ENVIRONMENT, projectToBuild } from './project_to_build.mjs';

/** Notes what cargo takes before all other flags. */
const TOOLCHAIN = `#!/usr/bin/env bash
printf '%s' "\${CARGO_ENCODED_RUSTFLAGS-}" >flags
`;

test('RUSTFLAGS of the environment do not take the stack from the Worker of `make dev`', () => {
  const { project, at } = projectToBuild(TOOLCHAIN);
  const env = { ...ENVIRONMENT, RUSTFLAGS: '-Dwarnings', CARGO_ENCODED_RUSTFLAGS: '-Dwarnings' };
  execFileSync('make', BUILD, { cwd: project, env, stdio: 'ignore' });
  assert.match(readFileSync(at('flags'), 'utf8'), /^-Clink-args=-zstack-size=16777216 --strip-all --keep-section=\S+ --keep-section=\S+$/);
});
