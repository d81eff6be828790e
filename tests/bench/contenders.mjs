// The contenders of the comparison: their names, and the modules of their Workers.
//
// aptix-edge is taken from `build/`, or from the directory that the variable BUILD_DIR names. AGAINST names another
// build, or several with commas between them, which are compared in the same run with alternating rounds; this is how a
// change is measured. `server` is the same Worker as the package of one's own server has it, behind the package's front: it is
// taken from `build-server/`.
// CONTENDERS=aptix-edge,plain measures those beside the floor and no others.
import { readFile, readdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { COMPATIBILITY_FLAGS } from './workerd.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const BUILD_DIR = path.resolve(process.env.BUILD_DIR ?? path.join(ROOT, 'build'));
const PACKAGE = path.join(ROOT, 'build-server/worker');
const AGAINST = (process.env.AGAINST ?? '').split(',').filter((folder) => folder !== '');
const ASKED = process.env.CONTENDERS?.split(',');

/**
 * `modules` resolves to `[{name, contents}]`, the Worker first and then its imports; `flags` are its compatibility
 * flags; `behindFront` ones get what the package's front has to know. `raw` contenders return the model service's own stream. A run with QUICK leaves `thorough` ones out.
 */
const ALL = [
  { name: 'floor', raw: true, modules: () => written('floor.mjs') },
  { name: 'relay', raw: true, thorough: true, modules: () => written('relay.mjs', 'floor.mjs') },
  { name: 'joining', thorough: true, modules: () => written('joining.mjs', 'plain.mjs') },
  { name: 'plain', modules: () => written('plain.mjs') },
  { name: 'keeping', thorough: true, modules: () => written('keeping.mjs', 'joining.mjs', 'plain.mjs') },
  { name: 'agents', thorough: true, modules: () => (agents ??= bundled('agents.mjs')), flags: ['nodejs_compat'] },
  { name: 'aptix-edge', modules: () => built(BUILD_DIR), flags: COMPATIBILITY_FLAGS },
  { name: 'server', thorough: true, modules: () => built(PACKAGE, 'front.js'), flags: COMPATIBILITY_FLAGS, behindFront: true },
  ...AGAINST.map((folder, index) => ({
    name: index === 0 ? 'against' : `against-${index + 1}`,
    modules: () => built(path.resolve(folder)),
    flags: COMPATIBILITY_FLAGS,
  })),
];

/** The contenders of this run. The floor comes first: every figure is a ratio to it. */
export const CONTENDERS = ALL.filter(({ name, thorough }, index) =>
  index === 0 || (ASKED ? ASKED.includes(name) : !(thorough && process.env.QUICK)),
);
const unknown = ASKED?.find((asked) => ALL.every(({ name }) => name !== asked));
if (unknown !== undefined) {
  throw new Error(`CONTENDERS names ${unknown}; there are ${ALL.map(({ name }) => name).join(', ')}`);
}

const source = (file) => fileURLToPath(new URL(`workers/${file}`, import.meta.url));

const written = (...files) =>
  Promise.all(files.map(async (name) => ({ name, contents: await readFile(source(name)) })));

let agents;

/** A Worker with its packages, bundled as wrangler does it. */
async function bundled(file) {
  const { outputFiles } = await build({
    entryPoints: [source(file)],
    alias: { 'cloudflare:email': source('no_email.mjs') },
    bundle: true,
    minify: true,
    write: false,
    format: 'esm',
    target: 'es2024',
    conditions: ['workerd', 'worker', 'browser'],
    external: ['cloudflare:*', 'node:*', 'path'],
    // A package of the SDK is CommonJS and requires `path`.
    banner: { js: "import { createRequire } from 'node:module'; const require = createRequire('/');" },
    logLevel: 'error',
  });
  return [{ name: file, contents: outputFiles[0].contents }];
}

async function built(folder, ...before) {
  const files = await readdir(folder).catch(() => []);
  if (!files.includes('index.js')) throw new Error(`no index.js in ${folder}: build the Worker first (make build, make package)`);
  const wanted = [...before, 'index.js', ...files.filter((file) => file.endsWith('.wasm'))];
  return Promise.all(wanted.map(async (name) => ({ name, contents: await readFile(path.join(folder, name)) })));
}
