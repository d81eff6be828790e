// `aptix-edge dev` of the command line finds the package of the server, or says how to get it.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { PACKAGE } from './package_server.mjs';

const CLI = fileURLToPath(new URL('../../clients/typescript/dist/cli.js', import.meta.url));

test('the command line serves by the package where it is installed, and says else how to get it', () => {
  const cwd = mkdtempSync(path.join(os.tmpdir(), 'command-line-'));
  try {
    const run = () => spawnSync(process.execPath, [CLI, 'dev', '--port', 'none'], { cwd, encoding: 'utf8' });
    const without = run();
    assert.deepEqual([without.status, without.stdout], [2, '']);
    // No registry has the package, so its name alone would bring somebody else's.
    assert.match(without.stderr, /npm install path\/to\/aptix-edge-server-\d+\.\d+\.\d+\.tgz,/);
    mkdirSync(path.join(cwd, 'node_modules'));
    symlinkSync(PACKAGE, path.join(cwd, 'node_modules/aptix-edge-server'));
    const found = run();
    assert.deepEqual([found.status, found.stderr], [2, 'aptix-edge-server: --port none is no port; take 1 to 65535\n']);
  } finally {
    rmSync(cwd, { recursive: true, force: true });
  }
});
