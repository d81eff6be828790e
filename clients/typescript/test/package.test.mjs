// The package as users install it: packed, checked by others, required and imported, measured.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('../', import.meta.url));
/** The most that the core may be, minified and compressed, in bytes. */
const MOST_BYTES = 10_050;
/** The most that the hook for React may add to it. */
const MOST_BYTES_OF_REACT = 4096;
/** The entries besides the core; compilers of old look for each as a folder. */
const ENTRIES = Object.keys(JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8')).exports).flatMap((name) => /^\.\/([\w-]+)$/.exec(name)?.[1] ?? []);
let folder, archive;
const installed = () => path.join(folder, 'node_modules/aptix-edge');
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-package-'));
  execFileSync('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: ROOT, stdio: ['ignore', 'pipe', 'inherit'] });
  archive = path.join(folder, readdirSync(folder)[0]);
  mkdirSync(installed(), { recursive: true });
  execFileSync('tar', ['-xzf', archive, '-C', installed(), '--strip-components=1']);
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Runs a program of node_modules; fails with what it says. */
function checked(name, args) {
  try {
    return execFileSync(path.join(ROOT, 'node_modules/.bin', name), args, { cwd: ROOT, encoding: 'utf8', stdio: 'pipe' });
  } catch (error) {
    return assert.fail(`${name}: ${error.stdout}${error.stderr}`);
  }
}

test('publint and attw find nothing', () => {
  checked('publint', ['--strict', installed()]);
  checked('attw', [archive]);
});

test('it holds the built files, the README and the licence, and nothing else', () => {
  const files = readdirSync(installed()).sort();
  assert.deepEqual(files, ['LICENSE', 'README.md', 'dist', 'package.json', ...ENTRIES].sort());
  assert.equal(readFileSync(path.join(installed(), 'LICENSE'), 'utf8'), readFileSync(path.join(ROOT, '../../LICENSE'), 'utf8'));
  assert.deepEqual(Object.keys(JSON.parse(readFileSync(path.join(installed(), 'package.json'), 'utf8')).dependencies ?? {}), []);
});

test('what the README links to is in the package, and debuggers find the sources', () => {
  const readme = readFileSync(path.join(installed(), 'README.md'), 'utf8');
  const targets = [...readme.replace(/`[^`]*`/g, '').matchAll(/\]\(([^)\s]+)\)/g)].map(([, target]) => target);
  const anchors = [...readme.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => `#${heading.toLowerCase().replace(/[^\w\s-]/g, '').replaceAll(' ', '-')}`);
  assert.ok(targets.length > 3);
  assert.deepEqual(targets.filter((target) => !/^https:/.test(target) && !anchors.includes(target)), []);
  for (const name of ['index', ...ENTRIES]) {
    for (const form of ['js', 'cjs']) {
      const { sources, sourcesContent } = JSON.parse(readFileSync(path.join(installed(), `dist/${name}.${form}.map`), 'utf8'));
      assert.ok(sources.some((source) => source.startsWith('../src/')), `${name}.${form}`);
      assert.ok(sources.length === sourcesContent.length && sourcesContent.every(Boolean), `${name}.${form}`);
    }
  }
});

test('it can be required and imported, also without Node', async () => {
  const names = { core: 'aptix-edge', chat: 'aptix-edge/ai-sdk', documents: 'aptix-edge/workspace', hooks: 'aptix-edge/webhooks', relay: 'aptix-edge/relay', users: 'aptix-edge/users', schema: 'aptix-edge/schema' };
  const uses = `const { Aptix, AptixError } = core; const client = new Aptix({ baseUrl: "http://x" });
    new chat.AptixChatTransport({ client }); new documents.Workspace(client, "w"); new users.User(client, "u"); if (!AptixError.from || !hooks.verifyWebhook) throw 1;
    relay.readTurnEvents(new Blob(["<html>"]).stream()).next().then(() => process.exit(1), (error) => process.exit(error instanceof AptixError ? 0 : 1));`;
  const each = (form) => Object.entries(names).map(([name, from]) => form(name, from)).join(' ');
  writeFileSync(path.join(folder, 'a.cjs'), each((name, from) => `const ${name} = require('${from}');`) + uses);
  writeFileSync(path.join(folder, 'a.mjs'), each((name, from) => `import * as ${name} from '${from}';`) + uses);
  for (const file of ['a.cjs', 'a.mjs']) execFileSync(process.execPath, [file], { cwd: folder });
  const { metafile } = await build({
    entryPoints: [path.join(folder, 'a.mjs')], bundle: true, platform: 'browser', write: false, metafile: true, logLevel: 'silent',
  });
  const imports = Object.values(metafile.outputs).flatMap((output) => output.imports);
  assert.deepEqual(imports.filter(({ external }) => external), []);
  for (const file of ['index', ...ENTRIES].flatMap((name) => [`${name}.js`, `${name}.cjs`])) {
    const code = readFileSync(path.join(installed(), 'dist', file), 'utf8');
    assert.doesNotMatch(code, /node:|\bprocess\.|\bBuffer\b/, file);
  }
});

/** The size of an entry, without what it imports of others. */
async function sizeOf(entry) {
  const { outputFiles } = await build({ entryPoints: [entry], bundle: true, minify: true, format: 'esm', write: false, external: ['react', './index.js'] });
  const [{ contents }] = outputFiles;
  return { minified: contents.length, bytes: gzipSync(contents, { level: 9 }).length };
}

test('the hook for React adds little to the core, and brings no React', async (t) => {
  const { bytes } = await sizeOf(path.join(installed(), 'dist/react.js'));
  t.diagnostic(`${bytes} bytes compressed`);
  assert.ok(bytes <= MOST_BYTES_OF_REACT, `${bytes} bytes`);
});

test('the core is small', async (t) => {
  const entry = path.join(installed(), 'dist/index.js');
  const { minified, bytes } = await sizeOf(entry);
  t.diagnostic(`${minified} bytes minified, ${bytes} compressed`);
  assert.ok(bytes <= MOST_BYTES, `${bytes} bytes`);
  const [, told] = /([\d.]+) KB compressed/.exec(readFileSync(path.join(ROOT, 'README.md'), 'utf8'));
  assert.equal(told, (bytes / 1000).toFixed(1), 'README.md says how large it is');
});
