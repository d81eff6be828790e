// Makes what a release consists of, in build-packages/ or the folder that is named: the packages of the server and of both
// clients, and the SBOM. They are made anew each time, of what `make` has built.
// usage: node tools/release/packages.mjs [FOLDER]
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonTools } from '../../tests/python.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TO = path.resolve(ROOT, process.argv[2] ?? 'build-packages');
const at = (...names) => path.join(ROOT, ...names);
const run = (program, args, cwd) => execFileSync(program, args, { cwd, stdio: ['ignore', 'pipe', 'inherit'], encoding: 'utf8' });

const { version } = JSON.parse(readFileSync(at('build-server/package.json'), 'utf8'));
const python = pythonTools();
if (!python) throw new Error('the package for Python needs Python 3.10 or later with venv and pip');

rmSync(TO, { recursive: true, force: true });
mkdirSync(TO, { recursive: true });
for (const folder of ['build-server', 'clients/typescript']) run('npm', ['pack', '--silent', '--ignore-scripts', '--pack-destination', TO], at(folder));
// In a copy: the build leaves files beside the sources, and takes whatever lies there.
const scratch = mkdtempSync(path.join(tmpdir(), 'aptix-edge-python-'));
try {
  for (const name of ['src', 'README.md', 'LICENSE', 'pyproject.toml']) {
    cpSync(at('clients/python', name), path.join(scratch, name), { recursive: true, filter: (file) => !file.includes('__pycache__') });
  }
  run(python.python, ['-m', 'build', '--no-isolation', '--outdir', TO], scratch);
} finally {
  rmSync(scratch, { recursive: true, force: true });
}
cpSync(at('build-server/sbom.cdx.json'), path.join(TO, 'sbom.cdx.json'));

const expected = [
  `aptix-edge-${version}.tgz`,
  `aptix-edge-server-${version}.tgz`,
  `aptix_edge-${version}-py3-none-any.whl`,
  `aptix_edge-${version}.tar.gz`,
  'sbom.cdx.json',
];
const made = readdirSync(TO).sort();
if (made.join() !== expected.join()) throw new Error(`a release of ${version} is ${expected.join(', ')}; made were ${made.join(', ')}`);
