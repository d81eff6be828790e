// `make dev` around wrangler, in a project of its own whose wrangler only notes that it serves, and whose Miniflare what is put.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { serve } from '../local_server.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** `dev` goes on until it is ended, and says so. */
const WRANGLER = `#!/usr/bin/env node
setInterval(() => console.log('It serves.'), 100);
console.log('Ready on http://127.0.0.1');
require('node:fs').appendFileSync('serving.log', process.pid + '\\n');
`;
/** What is put is noted when it is kept; a file takes as many ms as it says, or longer than anybody waits. */
const MINIFLARE = `import assert from 'node:assert/strict';
import { appendFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
const note = (name, ms) => appendFileSync(new URL('../../' + name, import.meta.url), ms + '\\n');
export class Miniflare {
  constructor({ cf }) {
    assert.equal(cf, false, 'it asks Cloudflare where it is');
  }
  getKVNamespace = () => this;
  async put(key, catalog) {
    const { ms = 0 } = JSON.parse(catalog);
    note('begun.log', ms);
    await pause(ms ?? 1_000_000_000);
    note('kept.log', ms);
  }
  dispose() {}
}
`;

let project;
before(() => {
  project = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-dev-test-'));
  for (const name of ['tools/dev', 'tests/local_server.mjs', 'tests/fakes', 'src/catalog/builtin.json', 'wrangler.toml']) cpSync(path.join(ROOT, name), path.join(project, name), { recursive: true });
  writeFileSync(path.join(project, 'package.json'), '{"type":"module"}');
  mkdirSync(path.join(project, 'node_modules/.bin'), { recursive: true });
  writeFileSync(path.join(project, 'node_modules/.bin/wrangler'), WRANGLER, { mode: 0o755 });
  writeFileSync(path.join(project, 'node_modules/package.json'), '{}');
  mkdirSync(path.join(project, 'node_modules/miniflare'));
  writeFileSync(path.join(project, 'node_modules/miniflare/package.json'), '{"type":"module","exports":"./index.js"}');
  writeFileSync(path.join(project, 'node_modules/miniflare/index.js'), MINIFLARE);
});
after(() => rmSync(project, { recursive: true, force: true }));

const noted = (name) => (existsSync(path.join(project, name)) ? readFileSync(path.join(project, name), 'utf8').trim().split('\n') : []);
async function until(holds) {
  for (const end = Date.now() + 20_000; !holds(); ) {
    assert.ok(Date.now() < end, 'it does not come about');
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
/** Begins it with a catalog that takes so long, `null` for as long as it runs; resolves to its process. */
async function begun(ms, stdio = 'ignore') {
  for (const name of ['begun.log', 'kept.log', 'serving.log']) rmSync(path.join(project, name), { force: true });
  const { port, close } = await serve(() => {});
  await close();
  const CATALOG = path.join(project, 'catalog.json');
  writeFileSync(CATALOG, JSON.stringify({ ms }));
  const dev = spawn(process.execPath, [path.join(project, 'tools/dev/dev.mjs')], { stdio, env: { ...process.env, PORT: String(port), CATALOG } });
  await until(() => noted('begun.log').length === 1);
  return { dev, write: (next) => writeFileSync(CATALOG, JSON.stringify({ ms: next })) };
}
const ended = async (dev) => (dev.kill('SIGTERM'), dev.exitCode ?? (await once(dev, 'exit'))[0]);
const left = () => readdirSync(project).filter((name) => /^\.wrangler\./.test(name));

test('of a catalog that changes twice, the newest form is the one that is kept', async () => {
  const { dev, write } = await begun(0);
  try {
    // The watching has begun before wrangler serves.
    await until(() => noted('serving.log').length === 1);
    write(4000);
    await until(() => noted('begun.log').length === 2);
    write(1);
    await until(() => noted('kept.log').length === 3);
    assert.deepEqual(noted('kept.log'), ['0', '4000', '1']);
  } finally {
    assert.equal(await ended(dev), 0);
  }
  assert.deepEqual(left(), []);
});

test('a catalog that changes while its first form is put is put again', async () => {
  const { dev, write } = await begun(4000);
  try {
    write(1);
    await until(() => noted('kept.log').length === 2 && noted('serving.log').length === 1);
    assert.deepEqual(noted('kept.log'), ['4000', '1']);
  } finally {
    assert.equal(await ended(dev), 0);
  }
});

test('a signal before wrangler serves leaves nothing behind', async () => {
  const { dev } = await begun(null);
  assert.equal(left().length, 1);
  assert.equal(await ended(dev), 130);
  assert.deepEqual(left(), []);
});

test('where nobody reads what it says any more, it ends, and wrangler with it', async (t) => {
  const { dev } = await begun(0, ['ignore', 'pipe', 'ignore']);
  const over = once(dev, 'exit');
  let wrangler;
  await until(() => (wrangler = Number(noted('serving.log')[0])) > 0);
  const serves = () => {
    try {
      return process.kill(wrangler, 0);
    } catch {
      return false;
    }
  };
  t.after(() => serves() && process.kill(wrangler, 'SIGKILL'));
  dev.stdout.destroy();
  assert.deepEqual([await over, serves(), left()], [[0, null], false, []]);
});
