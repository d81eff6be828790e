// How the Worker of `make dev` is compiled, whatever flags the environment has for other programs. What compiles is a stand-in.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** Notes what cargo takes before all other flags. */
const TOOLCHAIN = `#!/usr/bin/env bash
printf '%s' "\${CARGO_ENCODED_RUSTFLAGS-}" >flags
`;
const project = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-flags-'));
after(() => rmSync(project, { recursive: true, force: true }));
const at = (name) => path.join(project, name);

test('RUSTFLAGS of the environment do not take the stack from the Worker of `make dev`', () => {
  for (const name of ['Makefile', 'Cargo.toml', 'Cargo.lock', 'package-lock.json']) cpSync(path.join(ROOT, name), at(name));
  for (const name of ['src', 'tools/setup']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('tools/setup/wasm_toolchain'), TOOLCHAIN, { mode: 0o755 });
  const { MAKEFLAGS, MAKELEVEL, ...environment } = process.env;
  const env = { ...environment, RUSTFLAGS: '-Dwarnings', CARGO_ENCODED_RUSTFLAGS: '-Dwarnings' };
  execFileSync('make', ['build-dev/.complete'], { cwd: project, env, stdio: 'ignore' });
  assert.match(readFileSync(at('flags'), 'utf8'), /^-Clink-args=-zstack-size=16777216 --strip-all --keep-section=\S+ --keep-section=\S+$/);
});
