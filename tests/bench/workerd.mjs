// The two versions of workerd on which contenders run, and the configuration of a Worker for `workerd serve`.
// Nothing stands between the load and the Worker: the process does a contender's work and no other.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { serializeConfig } from 'miniflare';

const here = createRequire(import.meta.url);
const installed = (which, { default: program, version }) => ({ which, version, program });

/**
 * `newest` is this folder's own dependency, which a test may lack; `pinned` is the one that tests and `make dev` run on,
 * miniflare's.
 */
export const WORKERDS = {
  get newest() {
    // The path is whole, since Node would otherwise find the pinned one where this folder's packages are missing.
    return installed('newest', here('./node_modules/workerd'));
  },
  pinned: installed('pinned', createRequire(here.resolve('miniflare'))('workerd')),
};

/** The version that the run is about, and the one that is shown beside it. WORKERD=pinned exchanges them. */
export const MAIN = process.env.WORKERD ?? 'newest';
if (!(MAIN in WORKERDS)) throw new Error(`WORKERD=${MAIN}: it is one of ${Object.keys(WORKERDS).join(', ')}`);
export const BESIDE = Object.keys(WORKERDS).find((which) => which !== MAIN);

const toml = readFileSync(fileURLToPath(new URL('../../wrangler.toml', import.meta.url)), 'utf8');
const [, COMPATIBILITY_DATE] = /^compatibility_date\s*=\s*"([^"]+)"/m.exec(toml);

/** The product's own compatibility flags. */
export const COMPATIBILITY_FLAGS = JSON.parse(/^compatibility_flags\s*=\s*(\[.*\])/m.exec(toml)[1]);

/** The module of the Worker that listens to spans; its `fetch` is served at the socket of that name. */
export const LISTENER = { socket: 'listener', module: 'listener.mjs' };

/**
 * The message for `workerd serve --binary`, as Miniflare writes it: in the form of text the process would parse it, modules
 * included, which no deployed Worker does. `modules` are `{name, contents}`, the Worker first; `flags` are compatibility
 * flags, `v8Flags` those of V8; `objects` is the folder for the objects' rows; `lasting` keeps the objects in memory,
 * however long they idle; `heard` adds a Worker that takes all events of the first one's spans; `behindFront` adds the
 * bindings of the front of one's own server.
 */
export function configuration({ modules, flags, v8Flags, variables, objects, lasting, heard, behindFront }) {
  const classes = [['SESSIONS', 'SessionObject', 'sessions'], ...(behindFront ? [['FILE_STORE', 'FileStore', 'files']] : [])];
  const module = ({ name, contents }) => (name.endsWith('.wasm') ? { name, wasm: contents } : { name, esModule: Buffer.from(contents).toString() });
  const socket = (name, service) => ({ name, address: '127.0.0.1:0', http: {}, service: { name: service } });
  const worker = {
    modules: modules.map(module),
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: flags,
    bindings: [
      ...classes.map(([name, className]) => ({ name, durableObjectNamespace: { className } })),
      ...(behindFront ? [{ name: 'FRONT', json: '{}' }] : []),
      ...Object.entries(variables).map(([name, text]) => ({ name, text })),
    ],
    durableObjectNamespaces: classes.map(([, className, uniqueKey]) => ({ className, uniqueKey, enableSql: true, preventEviction: lasting })),
    durableObjectStorage: { localDisk: 'objects' },
    streamingTails: heard ? [{ name: LISTENER.socket }] : [],
  };
  const listener = {
    modules: [module({ name: LISTENER.module, contents: readFileSync(new URL(`workers/${LISTENER.module}`, import.meta.url)) })],
    compatibilityDate: COMPATIBILITY_DATE,
    compatibilityFlags: ['experimental'],
  };
  return serializeConfig({
    v8Flags,
    services: [
      { name: 'worker', worker },
      ...(heard ? [{ name: LISTENER.socket, worker: listener }] : []),
      { name: 'objects', disk: { path: objects, writable: true } },
      { name: 'internet', network: { allow: ['local', 'private', 'public'] } },
    ],
    sockets: [socket('http', 'worker'), ...(heard ? [socket(LISTENER.socket, LISTENER.socket)] : [])],
  });
}
