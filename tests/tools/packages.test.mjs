// What is inside, and what may run while it is installed: the list of components, the licences beside the playground's
// page, and the packages whose install scripts are allowed.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const read = (file) => readFileSync(path.join(ROOT, file), 'utf8');
const json = (file) => JSON.parse(read(file));

test('only the packages that bring a binary may run a program of their own when they are installed', () => {
  const { packages } = json('package-lock.json');
  const withScripts = Object.entries(packages).filter(([, { hasInstallScript }]) => hasInstallScript);
  const names = withScripts.map(([place]) => place.split('node_modules/').at(-1));
  assert.deepEqual(names.sort(), Object.keys(json('package.json').allowScripts).sort());
});

test('what is for development alone is installed and audited under NODE_ENV=production, too: the project is made of it', () => {
  const folders = ['', 'clients/typescript/', 'clients/python/test/', 'tests/bench/'].filter((folder) => json(`${folder}package.json`).devDependencies);
  assert.ok(folders.includes(''));
  for (const folder of folders) assert.match(read(`${folder}.npmrc`), /^include=dev$/m, folder);
});

test('the list of components has every crate and package of the locks, and says which are inside', () => {
  execFileSync(process.execPath, [path.join(ROOT, 'tools/setup/sbom.mjs')], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
  const { bomFormat, specVersion, components, dependencies } = json('build/sbom.cdx.json');
  assert.deepEqual([bomFormat, specVersion], ['CycloneDX', '1.6']);
  const purls = new Set(components.map(({ purl }) => purl));
  assert.equal(purls.size, components.length);

  const crates = [...read('Cargo.lock').matchAll(/^name = "(.+)"\nversion = "(.+)"\nsource = /gm)];
  const missing = crates.filter(([, name, version]) => !purls.has(`pkg:cargo/${name}@${version}`));
  assert.deepEqual(missing.map(([, name]) => name), []);
  for (const lock of ['package-lock.json', 'clients/typescript/package-lock.json', 'tests/bench/package-lock.json']) {
    for (const [place, { version, link }] of Object.entries(json(lock).packages)) {
      if (place === '' || link) continue;
      const name = place.split('node_modules/').at(-1).replace('@', '%40');
      assert.ok(purls.has(`pkg:npm/${name}@${version}`), `${lock}: ${place}`);
    }
  }
  for (const { purl, licenses, hashes } of components) assert.ok(licenses && hashes, purl);

  const inside = components.filter(({ scope }) => scope === 'required').map(({ name }) => name);
  for (const name of ['worker', 'serde_json', 'sha2', 'preact', 'marked']) assert.ok(inside.includes(name), name);
  for (const name of ['rusqlite', 'ureq', 'serde_derive', 'miniflare', 'esbuild']) assert.ok(!inside.includes(name), name);
  const own = json('build/sbom.cdx.json').metadata.component.purl;
  const known = new Set([...purls, own]);
  assert.deepEqual(dependencies.flatMap(({ ref, dependsOn }) => [ref, ...dependsOn]).filter((ref) => !known.has(ref)), []);
  assert.ok(dependencies.find(({ ref }) => ref === own).dependsOn.some((ref) => ref.startsWith('pkg:cargo/worker@')));
});

test('the native tests run with the features of dependencies that the Worker has, so that both do the same', () => {
  const crates = (...args) => {
    const tree = execFileSync('cargo', ['tree', '--locked', '--prefix=none', '--format={p}|{f}', ...args], { cwd: ROOT, encoding: 'utf8' });
    return tree.trim().split('\n').map((line) => line.replace(' (*)', '').split('|'));
  };
  const worker = new Map(crates('--package=aptix-edge', '--edges=normal,no-proc-macro', '--target=wasm32-unknown-unknown'));
  // They add to what a crate has, and change nothing of what it does.
  const more = ['alloc', 'default', 'i128', 'result', 'std', 'sys_rng'];
  const others = crates('--workspace', '--edges=normal,dev,no-proc-macro').flatMap(([name, features]) => {
    if (!worker.has(name)) return [];
    const known = [...worker.get(name).split(','), ...more, ''];
    return features.split(',').filter((feature) => !known.includes(feature)).map((feature) => `${name}: ${feature}`);
  });
  assert.ok(worker.size > 50, `${worker.size} crates`);
  assert.deepEqual([...new Set(others)], []);
});

test('every crate and every package inside has a permitted licence, and the crates come from one registry', () => {
  const rules = read('deny.toml');
  const names = (text) => [...text.matchAll(/"(.+?)"/g)].map(([, name]) => name);
  const allowed = names(/^allow = \[(.*)\]/m.exec(rules)[1]);
  assert.ok(allowed.includes('MIT'));
  const exceptions = new Map([...rules.matchAll(/\{ crate = "(.+?)", allow = \[(.+?)\] \}/g)].map(([, crate, list]) => [crate, names(list)]));
  for (const { purl, name, scope, licenses: [{ expression }] } of json('build/sbom.cdx.json').components) {
    if (purl.startsWith('pkg:npm/') && scope === 'excluded') continue;
    assert.ok(permits(expression, [...allowed, ...(exceptions.get(name) ?? [])]), `${purl} has the licence ${expression}`);
  }
  const sources = new Set([...read('Cargo.lock').matchAll(/^source = "(.+)"/gm)].map(([, source]) => source));
  assert.deepEqual([...sources].map((source) => source.split('+')[0]), ['registry']);
});

/** Whether the permitted licences suffice for an expression of SPDX. */
function permits(expression, allowed) {
  const tokens = expression.match(/[()]|[^\s()]+/g);
  const joined = (part, word, join) => {
    let value = part();
    while (tokens[0] === word) {
      tokens.shift();
      const next = part();
      value = join(value, next);
    }
    return value;
  };
  const either = () => joined(both, 'OR', (one, other) => one || other);
  const both = () => joined(single, 'AND', (one, other) => one && other);
  const single = () => {
    const token = tokens.shift();
    if (token === '(') {
      const value = either();
      tokens.shift();
      return value;
    }
    const exception = tokens[0] === 'WITH' ? tokens.splice(0, 2) : [];
    return exception.length === 0 && allowed.includes(token);
  };
  return either();
}

test('no crate is in the Worker twice: a second copy enlarges the bundle and slows down the cold start', () => {
  const inside = json('build/sbom.cdx.json').components.filter(({ purl, scope }) => purl.startsWith('pkg:cargo/') && scope === 'required');
  const names = inside.map(({ name }) => name);
  assert.deepEqual(names.filter((name, index) => names.indexOf(name) !== index), []);
});

test('the licence of every package inside the playground\'s page stands beside the page, which links to it', () => {
  const folder = path.join('build-playground', 'playground');
  const [list, ...others] = readdirSync(path.join(ROOT, folder)).filter((file) => file.startsWith('licences-'));
  assert.deepEqual(others, []);
  assert.ok(read('build-playground/index.html').includes(`href="/playground/${list}"`));
  const parts = read(path.join(folder, list)).split(/^=== /m).slice(1);
  for (const part of parts) assert.match(part, /^\S+ \d\S* \(.+\)\n\n[^]*(Copyright|copyright|COPYRIGHT)/);
  for (const name of ['preact', 'marked', 'dompurify', 'highlight.js', 'temml']) assert.ok(parts.some((part) => part.startsWith(`${name} `)), name);
});
