// The end-to-end tests over the server of the package (`make package`) in the place of Miniflare: all of them, but for those of what
// docs/own-server.md says is not there, which `NOT_THERE` names with the reason. A name there that no test has is a fault, too.
// usage: node tests/server/end_to_end.mjs [FILE…]
import { spawn } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = path.join(ROOT, 'tests/e2e');
/** A file that does not end, in ms. */
const LONGEST_MS = 300_000;

const NO_TRACES = 'traces are not exported: workerd tells of spans by streaming tails alone';
const TAKES_NONE = 'a wrong catalog is not taken; tests/server/serve.test.mjs holds that';
const ALL_BINDINGS = 'it takes a binding of objects away, and the package has all of them';
const OTHER_WORKER = 'it measures, counts or changes the Worker by modules in front of it, where the package has its own';

/** Files, or tests of a file, with what they ask for. */
const NOT_THERE = {
  'cold_start.test.mjs': OTHER_WORKER,
  'hostile_bytes.test.mjs': OTHER_WORKER,
  'page_files.test.mjs': OTHER_WORKER,
  'spans.test.mjs': NO_TRACES,
  'spans_after_crash.test.mjs': NO_TRACES,
  'spans_of_services.test.mjs': NO_TRACES,
  'tenants.test.mjs': OTHER_WORKER,
  'turn_counts.test.mjs': OTHER_WORKER,
  'two_versions.test.mjs': OTHER_WORKER,
  'catalog.test.mjs': {
    'a catalog that is not JSON is catalog_invalid': TAKES_NONE,
    'a catalog with faults is catalog_invalid and names every one of them': TAKES_NONE,
    'a wrong catalog stops what would run, and destroys nothing': TAKES_NONE,
  },
  'door.test.mjs': {
    'with AUTH=none the header Host counts, whatever else says where a request went': "the header that it sends is one of Miniflare's",
  },
  'neighbours.test.mjs': { 'beside requests under an invalid catalog of 1.5 MB': TAKES_NONE },
  'provider_keys.test.mjs': { 'without an object for keys no token can be checked': ALL_BINDINGS },
  'provider_tokens.test.mjs': { '17: long and deep tokens cost little': OTHER_WORKER },
  'error_codes.test.mjs': { 'catalog_invalid comes as the dictionary says': TAKES_NONE },
};

const all = readdirSync(FOLDER).filter((name) => name.endsWith('.test.mjs'));
const asked = process.argv.slice(2).map((file) => path.basename(file));
const failed = [];
for (const [file, without] of Object.entries(NOT_THERE)) {
  if (!all.includes(file)) failed.push(`${file} is no file of tests/e2e`);
  else if (typeof without === 'object') {
    const text = readFileSync(path.join(FOLDER, file), 'utf8');
    // A test for each error code is named after it.
    const isThere = (name) => text.includes(name) || text.includes(name.replace(/^\w+/, '${code}'));
    failed.push(...Object.keys(without).filter((name) => !isThere(name)).map((name) => `${file} has no test "${name}"`));
  }
}
for (const file of asked.length > 0 ? asked : all) {
  const without = NOT_THERE[file] ?? {};
  if (typeof without === 'string') console.log(`- ${file}: ${without}`);
  else await run(file, Object.keys(without));
}
for (const what of failed) console.log(`✖ ${what}`);
process.exitCode = failed.length > 0 ? 1 : 0;

/** Runs a file but for some of its tests; what it says is shown where it fails. */
async function run(file, without) {
  const skipped = without.map((name) => `--test-skip-pattern=^${name.replaceAll(/[^\w ]/g, '.')}$`);
  const began = performance.now();
  // A group of its own, so that what it has started ends with it.
  const child = spawn(process.execPath, [...skipped, '--test', '--test-reporter=spec', path.join(FOLDER, file)], {
    cwd: ROOT,
    env: { ...process.env, APTIX_SERVER: '1' },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text));
  const timer = setTimeout(end, LONGEST_MS, child);
  const code = await new Promise((resolve) => child.once('exit', resolve));
  clearTimeout(timer);
  end(child);
  const seconds = ((performance.now() - began) / 1000).toFixed(0);
  console.log(`${code === 0 ? '✔' : '✖'} ${file}: ${/^ℹ pass (\d+)/m.exec(output)?.[1] ?? 0} tests, ${seconds} s`);
  for (const name of without) console.log(`  - ${name}: ${NOT_THERE[file][name]}`);
  if (code !== 0) {
    console.log(output);
    failed.push(file);
  }
}

function end(child) {
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // All have ended.
  }
}
