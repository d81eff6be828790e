// The Python client: its sources under the strictest checks of others, its package, and its tests (test_*.py, by pytest)
// against the Worker. Skipped without Python 3.10 or later, except in CI.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cp, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { SCENARIOS } from '../../../tests/clients/turns.mjs';
import { unlessChecked } from '../../../tests/checked.mjs';
import { pythonTools } from '../../../tests/python.mjs';
import { errorCodes, startBed } from './bed.mjs';

const CLIENT = fileURLToPath(new URL('..', import.meta.url));
const tools = pythonTools();
const skip = tools ? false : 'there is no Python 3.10 or later with venv and pip';
const [, VERSION] = /^version = "(.+)"/m.exec(readFileSync(path.join(CLIENT, 'pyproject.toml'), 'utf8'));
let folder;
before(async () => (folder = await mkdtemp(path.join(os.tmpdir(), 'python-client-'))));
after(() => rm(folder, { recursive: true, force: true }));

/** Runs a program of the tools to its end; fails with all that it wrote. */
async function run(program, args, { cwd = CLIENT, env = {} } = {}) {
  const caches = { MYPY_CACHE_DIR: path.join(tools.folder, 'mypy'), RUFF_NO_CACHE: 'true', PYTHONDONTWRITEBYTECODE: '1' };
  const child = spawn(program, args, { cwd, env: { ...process.env, ...caches, ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
  const told = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => told.push(chunk));
  const status = await new Promise((ended, failed) => child.on('error', failed).on('close', ended));
  const text = Buffer.concat(told).toString();
  assert.equal(status, 0, `${path.basename(program)} ${args.join(' ')}\n${text}`);
  return text;
}

const PASS_ON = `
import os, sys
from aptix_edge import Aptix
with Aptix(os.environ["APTIX_URL"]) as aptix:
    for words in ("<plain>", " "):
        for line in aptix.session("passed-on").turn(words).lines():
            sys.stdout.buffer.write(line)
        sys.stdout.buffer.write(b"\\n")
`;

/** Fails unless the lines of a turn, which a back end in Python passes on, are what a page in TypeScript reads. */
async function passedOn(url, env) {
  const { AptixError } = await import('../../typescript/dist/index.js');
  const { readTurnEvents } = await import('../../typescript/dist/relay.js');
  const [whole, failed] = (await run(tools.python, ['-c', PASS_ON], { env: { ...env, APTIX_URL: url } })).split('\n\n');
  const events = await Array.fromAsync(readTurnEvents(new Blob([whole, '\n']).stream()));
  assert.equal(events.at(-1).response.PrimaryOutputText, SCENARIOS.Turns.plain.Final);
  const text = events.flatMap((event) => (event.type === 'text' ? event.delta : [])).join('');
  assert.equal(text, SCENARIOS.Turns.plain.Final);
  const reading = Array.fromAsync(readTurnEvents(new Blob([failed, '\n']).stream()));
  await assert.rejects(reading, (error) => error instanceof AptixError && error.code === 'empty_turn' && error.status === 400 && error.requestId !== undefined);
}

/** Makes the wheel, has it judged, and installs it. */
async function checkWheel() {
  const source = path.join(folder, 'source');
  await cp(CLIENT, source, { recursive: true });
  await run(tools.python, ['-m', 'build', '--no-isolation', '--outdir', path.join(folder, 'dist')], { cwd: source });
  const made = (await readdir(path.join(folder, 'dist'))).map((name) => path.join(folder, 'dist', name));
  assert.deepEqual(made.map((file) => path.basename(file)).sort(), [`aptix_edge-${VERSION}-py3-none-any.whl`, `aptix_edge-${VERSION}.tar.gz`]);
  await run(tools.program('twine'), ['check', '--strict', ...made]);
  const site = path.join(folder, 'site');
  await run(tools.python, ['-m', 'pip', 'install', '--quiet', '--no-deps', '--no-index', '--target', site, made.find((file) => file.endsWith('.whl'))]);
  assert.ok((await readdir(path.join(site, 'aptix_edge'))).includes('py.typed'));
  const told = await run(tools.python, ['-W', 'error', '-c', 'import aptix_edge; print(aptix_edge.Aptix.__name__)'], { env: { PYTHONPATH: site } });
  assert.equal(told.trim(), 'Aptix');
}

describe('the Python client', { concurrency: 3 }, () => {
  test('the sources are formatted, clean under ruff, and strictly typed by mypy and pyright', { skip }, async () => {
    const pyright = path.join(tools.folder, 'node_modules/pyright/index.js');
    const inputs = ['src', 'examples', 'test', 'pyproject.toml', 'requirements.lock'].map((name) => path.join(CLIENT, name));
    const check = () => Promise.all([
      run(tools.program('ruff'), ['format', '--check', '.']),
      run(tools.program('ruff'), ['check', '.']),
      run(tools.program('mypy'), []),
      run(process.execPath, [pyright, '--pythonpath', tools.python]),
    ]);
    await unlessChecked('python', inputs, check, tools.folder);
  });

  test('a wheel is made that is typed, that twine takes, and that works where it is installed', { skip }, async () => {
    const inputs = ['src', 'README.md', 'LICENSE', 'pyproject.toml', 'requirements.lock'].map((name) => path.join(CLIENT, name));
    await unlessChecked('wheel', inputs, checkWheel, tools.folder);
  });

  test('its tests in Python pass', { skip, timeout: process.env.APTIX_LONG_TESTS ? 1_800_000 : 300_000 }, async (t) => {
    const codes = path.join(folder, 'errors.json');
    const sent = errorCodes();
    sent.catch(() => {}); // It is awaited below, where the bed is closed in any case.
    const bed = await startBed();
    try {
      await writeFile(codes, JSON.stringify(await sent));
      const env = { PYTHONPATH: path.join(CLIENT, 'src'), APTIX_BED: bed.origin, APTIX_ERROR_CODES: codes };
      t.diagnostic(await run(tools.python, ['-m', 'pytest', ...(process.env.PYTEST ?? '').split(' ').filter(Boolean)], { env }));
      await passedOn(bed.url, env);
      assert.deepEqual(bed.leftovers(), []);
    } finally {
      await bed.close();
    }
  });
});
