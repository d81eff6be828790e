// What a build has where the environment names no HOME. What compiles is a stand-in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { BUILD, ENVIRONMENT, projectToBuild } from './project_to_build.mjs';

/** Notes whose home it has, and where its tools are kept. */
const TOOLCHAIN = `#!/usr/bin/env bash
printf '%s %s' "$HOME" "$APTIX_CACHE" >told
`;

test('without HOME, what builds has that of the system\'s user, by which the crates are found', () => {
  const { project, at } = projectToBuild(TOOLCHAIN);
  const { HOME, XDG_CACHE_HOME, ...env } = ENVIRONMENT;
  execFileSync('make', BUILD, { cwd: project, env, stdio: 'ignore' });
  const { homedir } = os.userInfo();
  assert.equal(readFileSync(at('told'), 'utf8'), `${homedir} ${path.join(homedir, '.cache/aptix-edge')}`);
});
