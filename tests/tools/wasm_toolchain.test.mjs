// What is said where the Rust of a machine cannot build the Worker and no package manager of Debian's is there, as on macOS.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const bin = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-toolchain-'));
after(() => rmSync(bin, { recursive: true, force: true }));
const program = (name, text) => writeFileSync(path.join(bin, name), `#!/usr/bin/env bash\n${text}\n`, { mode: 0o755 });

/** What is said with the programs that are there. */
function told() {
  const { status, stderr } = spawnSync(path.join(ROOT, 'tools/setup/wasm_toolchain'), ['true'], { env: { PATH: bin, APTIX_CACHE: bin }, encoding: 'utf8' });
  assert.equal(status, 1, stderr);
  return stderr.trim().split('\n').at(-1);
}

test('where the target is missing, what is said helps: without rustup, with another rustc before it, and without a network', () => {
  for (const name of ['bash', 'dirname', 'grep']) symlinkSync(execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim(), path.join(bin, name));
  program('rustc', 'echo /nowhere');
  assert.match(told(), /^set-up: {5}curl .*https:\/\/sh\.rustup\.rs \| sh -s -- -y --target wasm32-unknown-unknown$/);
  program('rustup', '[ "$2" != list ] || echo wasm32-unknown-unknown');
  assert.equal(told(), `set-up:     export PATH="${bin}:$PATH"`);
  program('rustup', '[ "$2" = list ]');
  assert.equal(told(), 'set-up:     rustup target add wasm32-unknown-unknown');
});
