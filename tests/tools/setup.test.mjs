// Two set-ups of one user at once, of which the one removes a folder, or changes a file, while the other works. cargo is a stand-in.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const cache = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-setup-'));
after(() => rmSync(cache, { recursive: true, force: true }));
const program = path.join(cache, 'cargo-deny-1/bin/cargo-deny');

/** Runs a set-up whose cargo does that, and fails. */
function ran(does) {
  writeFileSync(path.join(cache, 'cargo'), `#!/usr/bin/env bash\n${does}\necho "no such folder: $*" >&2\nexit 101\n`, { mode: 0o755 });
  const env = { ...process.env, PATH: `${cache}:${process.env.PATH}`, APTIX_CACHE: cache, CARGO_DENY_VERSION: '1', CARGO_DENY_BIN: program };
  return spawnSync(path.join(ROOT, 'tools/setup/setup'), ['cargo-deny'], { env, encoding: 'utf8' });
}

test('what another set-up has brought meanwhile is taken, and where nothing came, the cause is told', () => {
  const failed = ran('true');
  assert.equal(failed.status, 1);
  // In a folder of its own: each command removes that of the programs for the Worker.
  assert.match(failed.stderr, /^no such folder: install .* --target-dir \S+\/building-cargo-deny-1 .*\n(?:.*\n)*set-up: building cargo-deny@1 failed/m);
  const { status, stderr } = ran(`mkdir -p '${path.dirname(program)}' && printf '#!/bin/sh\\n' >'${program}' && chmod +x '${program}'`);
  assert.equal(status, 0, stderr);
});

test('Miniflare gets its wider steps also from two set-ups at once, and one that cannot write them goes on', () => {
  const project = path.join(cache, 'project');
  const file = path.join(project, 'node_modules/miniflare/dist/src/index.js');
  const narrow = 'var MIN_SINGLE_SEGMENT_GROWTH = 4096;\n';
  cpSync(path.join(ROOT, 'tools/setup'), path.join(project, 'tools/setup'), { recursive: true });
  writeFileSync(path.join(project, 'tools/setup/wasm_toolchain'), '#!/usr/bin/env bash\n');
  mkdirSync(path.dirname(file), { recursive: true });
  for (const name of ['package-lock.json', 'node_modules/.installed-lock']) writeFileSync(path.join(project, name), '{}');
  /** What is there after a set-up whose `sed` does that. */
  const setUp = (sed) => {
    writeFileSync(file, narrow);
    writeFileSync(path.join(cache, 'sed'), `#!/usr/bin/env bash\nexport PATH='${process.env.PATH}'\n${sed}\n`, { mode: 0o755 });
    const env = { ...process.env, PATH: `${cache}:${process.env.PATH}`, APTIX_CACHE: cache };
    const { status, stderr } = spawnSync(path.join(project, 'tools/setup/setup'), ['packages'], { env, encoding: 'utf8' });
    assert.equal(status, 0, stderr);
    assert.deepEqual(readdirSync(path.dirname(file)), ['index.js']);
    return readFileSync(file, 'utf8');
  };
  const wide = narrow.replace('4096', '4096000');
  assert.deepEqual(['sed "$@"', 'tools/setup/setup packages && sed "$@"', 'exit 1'].map(setUp), [wide, wide, narrow]);
});
