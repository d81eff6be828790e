// What the end-to-end tests run: the modules of a build, the page's files, and what wrangler.toml declares of the Worker.
//
// The build is taken from `build/`, or from the directory that the variable BUILD_DIR names.
import assert from 'node:assert/strict';
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
export const BUILD_DIR = path.resolve(process.env.BUILD_DIR ?? path.join(ROOT, 'build'));
/** The playground's files. */
const PAGE_DIR = path.join(ROOT, 'build-playground');

/** The modules of the build. */
export async function builtModules() {
  const files = await readdir(BUILD_DIR, { recursive: true }).catch(() => []);
  const wasm = files.filter((file) => file.endsWith('.wasm'));
  assert.ok(files.includes('index.js'), `no index.js in ${BUILD_DIR}: build the Worker first (make build)`);
  return [
    { type: 'ESModule', path: path.join(BUILD_DIR, 'index.js') },
    ...wasm.map((file) => ({ type: 'CompiledWasm', path: path.join(BUILD_DIR, file) })),
  ];
}

/** Modules of the tests that stand before the build's. */
export const inFront = (modules) =>
  modules.map(({ name, contents }) => ({ type: name.endsWith('.wasm') ? 'CompiledWasm' : 'ESModule', path: path.join(BUILD_DIR, name), contents }));

/** The assets as wrangler.toml declares them: the Worker comes first and asks for each. */
export const pageFiles = () => ({
  directory: PAGE_DIR,
  workerName: 'worker',
  binding: 'ASSETS',
  routerConfig: { has_user_worker: true, invoke_user_worker_ahead_of_assets: true },
  assetConfig: { html_handling: 'none', not_found_handling: 'none' },
});

/** What wrangler.toml declares: compatibility, buckets, and the objects with their classes. */
export async function declaration() {
  const toml = await readFile(path.join(ROOT, 'wrangler.toml'), 'utf8').catch(() => '');
  const [, compatibilityDate = '2026-07-01'] = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(toml) ?? [];
  const [, flags = ''] = /^compatibility_flags\s*=\s*\[([^\]]*)\]/m.exec(toml) ?? [];
  const objects = [...toml.matchAll(/name\s*=\s*"(\w+)"\s*,?\s*class_name\s*=\s*"(\w+)"/g)].map(([, ...pair]) => pair);
  return {
    compatibilityDate,
    compatibilityFlags: [...flags.matchAll(/"([^"]+)"/g)].map(([, flag]) => flag),
    buckets: [...toml.matchAll(/^\[\[r2_buckets\]\]\s*binding\s*=\s*"(\w+)"/gm)].map(([, binding]) => binding),
    durableObjects: objects.length > 0 ? objects : [['SESSIONS', 'SessionObject']],
  };
}
