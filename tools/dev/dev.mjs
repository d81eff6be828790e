// Serves the Worker for local work (`make dev`): runs wrangler dev and, where no model service is configured, a
// stand-in for it. Owns starting and ending both together.
//
// PORT is the port on 127.0.0.1 (8787). CATALOG names a file with a catalog of your own, which is read again when it
// changes. TRACE=1 prints the spans of each turn, with its SessionId. The Worker's secrets and variables, those that the
// catalog names included, come from the environment, then from .dev.vars; they reach the Worker through a file that only
// this user can read, never through a command line.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync, watchFile, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseEnv } from 'node:util';
import { Miniflare } from 'miniflare';
import { secretsIn } from './catalog_secrets.mjs';
import { demoCatalog } from './demo_catalog.mjs';
import { whyNoListening } from './listening.mjs';
import { localServices } from './local_services.mjs';
import { printedSpans } from './printed_spans.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** The build to serve: the name of its folder and of its make target. Tests serve the release. */
const BUILD = process.env.APTIX_BUILD || 'build-dev';
const TOML = readFileSync(path.join(ROOT, 'wrangler.toml'), 'utf8');
/** Where wrangler.toml itself binds a catalog. */
const BOUND = TOML.split(/^(?=\[)/m).find((table) => /^binding = "CATALOG"/m.test(table));
const HAS_CATALOG = BOUND !== undefined;
/** The namespace that wrangler dev takes for it. */
const NAMESPACE = (/^preview_id = "(.*)"/m.exec(BOUND) ?? /^id = "(.*)"/m.exec(BOUND) ?? ['', 'local'])[1];
/** wrangler.toml with what this run adds to it; in the project's folder, since its paths count from there. */
const OWN_TOML = path.join(ROOT, `.wrangler.${process.pid}.toml`);
const WRANGLER = path.join(ROOT, 'node_modules/.bin/wrangler');
/** wrangler sends nothing about its use, and asks nothing. */
const ALONE = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false', CLOUDFLARE_CF_FETCH_ENABLED: 'false' };
/** The time that a process gets to end after a signal. */
const GRACE_MS = 5000;
/** The secrets and variables that configure the Worker. */
const SETTINGS = [
  'OPENAI_API_KEY',
  'OPENAI_BASE_URL',
  'OPENAI_MODEL',
  'API_KEYS',
  ...Array.from({ length: 8 }, (_, index) => `API_KEYS_${index + 2}`),
  'AUTH',
  'ALLOWED_ORIGINS',
  'PUBLIC_URL',
  'FILE_LINK_KEY',
  'FILE_TTL_S',
  'TICKET_KEYS',
  'IDENTITY_PROVIDERS',
  'JWKS_STALE_S',
  'LOG_USERS',
  'TENANTS',
  'JURISDICTIONS',
  'TRACE_SESSION_ID',
  'MAX_BODY_BYTES',
  'BODY_TIMEOUT_MS',
  'DELTA_INTERVAL_MS',
  'MAX_ITERATIONS',
  'MAX_FORK_BYTES_PER_HOUR',
  'MAX_TURNS',
  'MAX_CONTINUATIONS',
  'MAX_STEERS',
  'FALLBACK_REST_MS',
  'RESPONSE_ID_WAIT_MS',
  'UPSTREAM_IDLE_TIMEOUT_MS',
  'TURN_TIMEOUT_MS',
  'KEEP_ALIVE_MS',
  'TURN_ALARM_MS',
  'PLAYGROUND',
];

const scratch = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-dev-'));
process.on('exit', () => {
  rmSync(scratch, { recursive: true, force: true });
  rmSync(OWN_TOML, { force: true });
});

/** What a signal does: until there is wrangler to be ended, it ends this process, which leaves no file behind. */
let end = () => process.exit(130);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => end());
// Nobody reads any more, as behind `| head`: unheard, that would end this process alone, and wrangler would go on at the port.
for (const output of [process.stdout, process.stderr]) output.on('error', () => end());

try {
  process.exit(await main());
} catch (error) {
  console.error(`make dev: ${error.message}`);
  process.exit(1);
}

/** Serves until a signal ends it; resolves to the exit code. */
async function main() {
  const port = portOf(process.env.PORT || '8787');
  await mustBeFree(port);
  const { settings, receiver, spareUrl, brought } = await localServices(settingsOf(process.env), port, say);
  const shown = settings.PLAYGROUND === 'on' ? `make dev: the playground is at http://127.0.0.1:${port}/${brought({ isDemo: !process.env.CATALOG && !HAS_CATALOG, catalog: process.env.CATALOG })}` : '';
  // Two that run at once must not share what they keep, nor the inspector's port: wrangler looks for a free one from 9229
  // on, and takes it later, so of two that start together one would fail.
  const isFirst = port === 8787;
  const state = `.wrangler/state${isFirst ? '' : `-${port}`}`;
  const kept = isFirst ? [] : ['--persist-to', state];
  const inspector = isFirst ? [] : ['--inspector-port', '0'];
  // What is printed here leaves the machine for nobody's traces.
  if (process.env.TRACE) settings.TRACE_SESSION_ID ||= 'id';
  const spans = process.env.TRACE ? await printedSpans(scratch) : undefined;
  const own = await configOptions(process.env.CATALOG, state, [receiver.url, spareUrl], spans);
  return wranglerDev(port, ['--env-file', settingsFile(settings), ...kept, ...inspector, ...own], shown);
}

/** Runs wrangler dev until it ends or a signal ends it; resolves to the exit code. `shown` is said when it serves. */
function wranglerDev(port, options, shown) {
  // In a process group of its own: Ctrl-C then reaches this process alone, which ends the whole group, that is
  // wrangler, workerd and a build that may be running.
  const wrangler = spawn(WRANGLER, ['dev', `${BUILD}/index.js`, '--ip', '127.0.0.1', '--port', String(port), ...options], {
    cwd: ROOT,
    detached: true,
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...ALONE, ...(process.stdout.isTTY ? { FORCE_COLOR: '1' } : {}), APTIX_BUILD: BUILD },
  });
  wrangler.stdout.on('data', withLastLine(shown));
  const signalGroup = (signal) => {
    try {
      process.kill(-wrangler.pid, signal);
    } catch {
      // The group has already ended.
    }
  };
  let told = false;
  end = () => {
    if (!told) setTimeout(signalGroup, GRACE_MS, 'SIGKILL').unref();
    told = true;
    signalGroup('SIGTERM');
  };
  return new Promise((resolve, reject) => {
    wrangler.once('error', (error) => reject(new Error(`wrangler could not be started: ${error.message}`)));
    wrangler.once('exit', (code, signal) => {
      signalGroup('SIGKILL'); // processes that wrangler left behind
      if (!told) console.error(`make dev: wrangler dev ended by itself (${signal ?? code})`);
      resolve(told ? 0 : code || 1);
    });
  });
}

function say(line) {
  console.log(`make dev: ${line}`);
}

/** Passes on what wrangler says; `line` follows once, when it has begun to serve. */
function withLastLine(line) {
  let said = '';
  let isDue = line !== '';
  return (chunk) => {
    process.stdout.write(chunk);
    if (!isDue) return;
    said += chunk;
    if (!/Ready on .*\n/.test(said)) return;
    isDue = false;
    console.log(line);
  };
}

/** The Worker's settings: from the environment, where an empty one counts as none, else from .dev.vars, which may hold more than `SETTINGS`. */
function settingsOf(environment) {
  const file = path.join(ROOT, '.dev.vars');
  const settings = existsSync(file) ? parseEnv(new TextDecoder().decode(readFileSync(file))) : {};
  const named = environment.CATALOG && existsSync(environment.CATALOG) ? secretsIn(readFileSync(environment.CATALOG, 'utf8')) : [];
  for (const name of [...SETTINGS, ...named]) if (environment[name] !== undefined) settings[name] = environment[name];
  return Object.fromEntries(Object.entries(settings).filter(([, value]) => value !== ''));
}

/**
 * wrangler's options for a catalog, one's own in a file, else the demo's (made of `demo`), unless wrangler.toml binds one
 * itself; and for whoever listens to spans.
 */
async function configOptions(own, state, demo, spans) {
  const listening = spans ? ['--config', spans.config] : [];
  if (own && !existsSync(own)) throw new Error(`there is no file CATALOG=${own}`);
  if (!own && HAS_CATALOG) {
    if (!spans) return [];
    writeFileSync(OWN_TOML, TOML + spans.consumer);
    return ['--config', OWN_TOML, ...listening];
  }
  const file = own || path.join(scratch, 'catalog.json');
  if (!own) writeFileSync(file, (await demoCatalog(...demo)).catalog);
  const bound = HAS_CATALOG ? TOML : `${TOML}\n[[kv_namespaces]]\nbinding = "CATALOG"\nid = "${NAMESPACE}"\n`;
  writeFileSync(OWN_TOML, bound + (spans?.consumer ?? ''));
  const options = ['--config', OWN_TOML];
  const put = () => putCatalog(file, path.join(ROOT, state, 'v3/kv'));
  const first = put();
  if (own) {
    // One after the other: of two at once the older one might be the last to be kept. The file may change while the first is
    // kept, too; what fails of it is told below.
    let newest = first.catch(() => {});
    watchFile(file, { interval: 1000 }, () => (newest = newest.then(put).catch((error) => console.error(`make dev: ${file} was not read: ${error.message}`))));
  }
  await first;
  if (own) console.log(`make dev: the catalog is ${file}; a change takes effect within a minute`);
  return [...options, ...listening];
}

/** Writes a catalog where wrangler dev keeps its namespaces. `wrangler kv key put` does the same, and takes a second more. */
async function putCatalog(file, kvPersist) {
  // Without `cf` it would ask Cloudflare where it is, for up to three seconds where nobody answers.
  const keeper = new Miniflare({ cf: false, modules: true, script: 'export default {}', kvNamespaces: { CATALOG: NAMESPACE }, kvPersist });
  try {
    const namespace = await keeper.getKVNamespace('CATALOG');
    await namespace.put('catalog', readFileSync(file));
  } finally {
    await keeper.dispose();
  }
}

/** Writes `settings` to a file that only this user can read; returns its path. */
function settingsFile(settings) {
  const file = path.join(scratch, 'settings.env');
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${quoted(name, value)}\n`);
  writeFileSync(file, lines.join(''), { mode: 0o600 });
  return file;
}

/** A value quoted so that wrangler's .env reader returns it unchanged: `$` would begin a substitution. */
function quoted(name, value) {
  const quote = ["'", '`', '"'].find((candidate) => !value.includes(candidate));
  if (!quote || (quote === '"' && value.includes('\\'))) {
    throw new Error(`${name} mixes all three kinds of quotation marks, which no .env file can hold`);
  }
  return quote + value.replaceAll('$', '\\$') + quote;
}

function portOf(text) {
  const port = Number(text);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Error(`PORT=${text} is not a port; take 1 to 65535`);
  return port;
}

async function mustBeFree(port) {
  const error = await whyNoListening(port, '127.0.0.1');
  if (error?.code === 'EADDRINUSE') throw new Error(`port ${port} is in use; end what listens there, or take another one: make dev PORT=${port + 1}`);
  if (error) throw new Error(`cannot listen on port ${port}: ${error.message}`);
}
