// What `make release` makes, as far as it can be judged without building twice: packing gives the same bytes each time, and
// nothing that is packed tells of the machine that built it.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { differences } from '../../tools/release/differences.mjs';
import { pythonTools } from '../python.mjs';
import { PACKAGE } from './package_server.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const scratch = mkdtempSync(path.join(os.tmpdir(), 'release-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const filesIn = (folder) => readdirSync(folder, { recursive: true }).map((name) => path.join(folder, name)).filter((file) => statSync(file).isFile());

test('the packages of server and clients are the same when they are packed again', (t) => {
  if (!pythonTools()) return t.skip('there is no Python 3.10 or later');
  const packed = (name) => {
    const folder = path.join(scratch, name);
    execFileSync(process.execPath, [path.join(ROOT, 'tools/release/packages.mjs'), folder], { stdio: ['ignore', 'ignore', 'inherit'] });
    return folder;
  };
  const [first, again] = [packed('first'), packed('again')];
  const names = readdirSync(first);
  assert.equal(names.length, 5);
  assert.deepEqual(differences(first, again), []);

  // What differs is named, inside of archives, too.
  const [archive] = names.filter((name) => name.startsWith('aptix-edge-server'));
  execFileSync('tar', ['xzf', path.join(again, archive), '-C', scratch]);
  appendFileSync(path.join(scratch, 'package/dist/cli.mjs'), '\n');
  execFileSync('tar', ['czf', path.join(again, archive), 'package'], { cwd: scratch });
  rmSync(path.join(again, 'sbom.cdx.json'));
  assert.deepEqual(differences(first, again), [`${archive} (package/dist/cli.mjs)`, 'sbom.cdx.json']);
  rmSync(path.join(scratch, 'package'), { recursive: true });
  execFileSync('tar', ['xzf', path.join(first, archive), '-C', scratch]);
  execFileSync('tar', ['czf', path.join(again, archive), 'package'], { cwd: scratch });
  assert.deepEqual(differences(first, again), [`${archive} (the form of the archive)`, 'sbom.cdx.json']);
});

test('what is of no commit is no release, and what is said tells the one of which git says nothing from the one that has changed', () => {
  const said = (APTIX_COMMIT) => spawnSync(process.execPath, [path.join(ROOT, 'tools/release/release.mjs')], { env: { ...process.env, APTIX_COMMIT }, encoding: 'utf8' }).stderr;
  assert.equal(said(''), 'make release: a release is of a commit, and git tells none of this folder; git describe --always says why\n');
  assert.equal(said('12345678-dirty'), 'make release: a release is of a commit: commit or take back what has changed\n');
});

test('nothing that is packed holds a path of the machine that built it', () => {
  const folders = [ROOT, os.homedir(), process.env.CARGO_HOME].filter(Boolean);
  const paths = folders.map((folder) => path.join(path.resolve(folder), '/')).filter((folder) => folder !== '/');
  const packed = [...filesIn(PACKAGE), ...filesIn(path.join(ROOT, 'clients/typescript/dist')), ...filesIn(path.join(ROOT, 'clients/python/src'))];
  assert.ok(packed.some((file) => file.endsWith('index_bg.wasm')));
  for (const file of packed) {
    const bytes = readFileSync(file);
    for (const folder of paths) assert.ok(!bytes.includes(folder), `${file} holds ${folder}`);
  }
});
