// What a build has where the environment names no HOME. What compiles is a stand-in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const project = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-home-'));
after(() => rmSync(project, { recursive: true, force: true }));
const at = (name) => path.join(project, name);

test('without HOME, what builds has that of the system\'s user, by which the crates are found', () => {
  for (const name of ['Makefile', 'Cargo.toml', 'Cargo.lock', 'package-lock.json']) cpSync(path.join(ROOT, name), at(name));
  for (const name of ['src', 'tools/setup']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('tools/setup/wasm_toolchain'), '#!/usr/bin/env bash\nprintf \'%s %s\' "$HOME" "$APTIX_CACHE" >told\n', { mode: 0o755 });
  const { MAKEFLAGS, MAKELEVEL, HOME, XDG_CACHE_HOME, ...env } = process.env;
  execFileSync('make', ['build-dev/.complete'], { cwd: project, env, stdio: 'ignore' });
  const { homedir } = os.userInfo();
  assert.equal(readFileSync(at('told'), 'utf8'), `${homedir} ${path.join(homedir, '.cache/aptix-edge')}`);
});
