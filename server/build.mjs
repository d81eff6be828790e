// Makes the package aptix-edge-server: the folder build-server/, or the one that --to names, and with --pack the archive that npm
// installs, in build-packages/. The same sources give the same bytes.
import { execFileSync } from 'node:child_process';
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('..', import.meta.url));
const { to = 'build-server', pack } = parseArgs({ options: { to: { type: 'string' }, pack: { type: 'boolean' } } }).values;
const TO = path.resolve(ROOT, to);
const BUILD = path.resolve(ROOT, process.env.BUILD_DIR ?? 'build');
const at = (...names) => path.join(ROOT, ...names);
const read = (...names) => readFileSync(at(...names), 'utf8');
const json = (...names) => JSON.parse(read(...names));
const into = (...names) => path.join(TO, ...names);

const { version, description, license } = JSON.parse(readFileSync(path.join(BUILD, 'package.json'), 'utf8'));
const workerd = json('node_modules/workerd/package.json').version;

rmSync(TO, { recursive: true, force: true });
mkdirSync(into('worker'), { recursive: true });
for (const file of ['index.js', 'index_bg.wasm']) cpSync(path.join(BUILD, file), into('worker', file));
cpSync(at('build-playground'), into('page'), { recursive: true });
cpSync(at('src/catalog/catalog.schema.json'), into('catalog.schema.json'));
cpSync(at('LICENSE'), into('LICENSE'));
cpSync(at('server/README.md'), into('README.md'));
execFileSync(process.execPath, [at('tools/setup/sbom.mjs')], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
cpSync(at('build/sbom.cdx.json'), into('sbom.cdx.json'));

const common = { bundle: true, format: 'esm', legalComments: 'none', logLevel: 'warning', absWorkingDir: ROOT };
await build({ ...common, entryPoints: [at('server/front/front.mjs')], outfile: into('worker/front.js'), external: ['cloudflare:workers', './index.js'], target: 'es2024' });
await build({ ...common, entryPoints: [at('server/front/page.mjs')], outfile: into('worker/page.js'), target: 'es2024' });
await build({
  ...common,
  entryPoints: [at('server/src/main.mjs')],
  outfile: into('dist/cli.mjs'),
  platform: 'node',
  target: 'node22.16',
  external: ['workerd'],
  banner: { js: '#!/usr/bin/env node' },
});
chmodSync(into('dist/cli.mjs'), 0o755);

writeFileSync(into('product.json'), `${JSON.stringify(product(), null, 1)}\n`);
writeFileSync(into('package.json'), `${JSON.stringify({
  name: 'aptix-edge-server',
  version,
  description,
  license,
  type: 'module',
  bin: './dist/cli.mjs',
  engines: { node: '>=22.16' },
  files: ['catalog.schema.json', 'dist', 'page', 'product.json', 'sbom.cdx.json', 'worker'],
  dependencies: { workerd },
}, null, 2)}\n`);
// Times of files are no part of what was built.
for (const file of ['', ...readdirSync(TO, { recursive: true })]) utimesSync(into(file), 0, 0);
if (pack) {
  const packages = at('build-packages');
  mkdirSync(packages, { recursive: true });
  const [{ filename }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts', '--pack-destination', packages], { cwd: TO, encoding: 'utf8' }));
  console.log(`make package: build-packages/${filename}`);
}

/** What the package's commands have to know of the product; wrangler.toml and the sources say it. */
function product() {
  const toml = read('wrangler.toml');
  const texts = (list) => [...list.matchAll(/"([^"]+)"/g)].map(([, text]) => text);
  const [, compatibilityDate] = /^compatibility_date = "(.+)"/m.exec(toml);
  const [, flags] = /^compatibility_flags = \[(.*)\]/m.exec(toml);
  const objects = [...toml.matchAll(/name = "(\w+)", class_name = "(\w+)"/g)].map(([, ...pair]) => pair);
  const migrations = [...toml.matchAll(/^\[\[migrations\]\]\ntag = "(\w+)"\nnew_sqlite_classes = \[(.*)\]/gm)].map(([, tag, classes]) => [tag, texts(classes)]);
  const migrated = migrations.flatMap(([, classes]) => classes);
  if (objects.length === 0 || objects.some(([, name]) => !migrated.includes(name))) throw new Error('wrangler.toml has objects of a class without a migration');
  return {
    version,
    commit: commit(),
    compatibilityDate,
    compatibilityFlags: texts(flags),
    objects,
    migrations,
    variables: variables(),
    forms: {
      session: form('src/persistence/schema.rs', 'SessionObject'),
      workspace: form('src/retrieval/index/schema.rs', 'WorkspaceIndex'),
      user: form('src/users/schema.rs', 'UserObject'),
    },
  };
}

/** The variables and secrets that the product knows, as its page lists them, and those that continue a list of keys. */
function variables() {
  const [, table] = /## Variables and secrets\n([^]*?)\n## /.exec(read('docs/configuration.md'));
  const names = [...table.matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => name);
  const [, first, last] = /`API_KEYS_(\d)` to `API_KEYS_(\d)`/.exec(table);
  return [...names, ...Array.from({ length: last - first + 1 }, (_, more) => `API_KEYS_${Number(first) + more}`)];
}

/** The form of a class's tables: the oldest one that is read, and one more for each upgrade. */
function form(file, className) {
  const source = read(file);
  const [, table, oldest, inline] = /table: "(\w+)",\s*oldest: (\d+),\s*upgrades: (&\[\]|UPGRADES),?\s*\}/.exec(source) ?? [];
  const [, upgrades] = inline === 'UPGRADES' ? (/const UPGRADES: [^=]+=\s*&\[([^]*?)\];/.exec(source) ?? []) : [, ''];
  if (table === undefined || upgrades === undefined) throw new Error(`${file} does not say the form of its tables as build.mjs reads it`);
  return { class: className, table, number: Number(oldest) + [...upgrades.matchAll(/&\[/g)].length };
}

/** The commit that the Worker tells of itself; `unknown` where its build was told none. */
function commit() {
  const told = path.join(BUILD, '.commit');
  return (existsSync(told) && readFileSync(told, 'utf8').trim()) || 'unknown';
}
