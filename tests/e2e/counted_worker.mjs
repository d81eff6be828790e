// The Worker with its crossings counted: every call between WebAssembly and the runtime by name, statements with their
// rows, timers, and bytes that are copied into or out of WebAssembly memory. Owns the two modules that stand in front
// of the Worker, and the names under which it counts.
//
// Counts depend on no time: the clock stands still, and a timer of 50 ms or more, of which a plain turn waits for none,
// never rings.

/** Answers with the counts since the last request to it, as JSON. */
export const COUNTS = '/counts-of-the-tests';

/** The modules to serve in front of the Worker's `index.js`, the first of them as the Worker: `[{name, contents}]`. */
export const COUNTED = [
  {
    name: 'counted.js',
    contents: `import { counts, inspect, standStill } from './counting.js';
      import Worker, { SessionObject as Uncounted } from './index.js';
      export * from './index.js';
      export class SessionObject extends Uncounted {
        constructor(state, env) {
          inspect(state.storage.sql);
          super(state, env);
        }
      }
      export default class extends Worker {
        fetch(request) {
          standStill();
          return new URL(request.url).pathname === '${COUNTS}' ? Response.json(counts()) : super.fetch(request);
        }
      }`,
  },
  { name: 'counting.js', contents: `(${counting})();\nexport const { counts, inspect, standStill } = globalThis.counting;` },
];

/** The number of calls out of WebAssembly and into it that `counts` tell of. */
export function crossings({ imports, exports }) {
  const sum = (calls) => Object.values(calls).reduce((total, number) => total + number, 0);
  return { out: sum(imports), in: sum(exports) };
}

/** Runs in the Worker, before its own code. */
function counting() {
  /** No timer that is shorter depends on how busy the machine is. */
  const LONG_TIMER_MS = 50;
  let seen;
  const begin = () => {
    seen = { statements: {}, timers: {}, bytes: {}, imports: {}, exports: {} };
  };
  const add = (kind, name, number = 1) => {
    seen[kind][name] = (seen[kind][name] ?? 0) + number;
  };
  begin();

  // wasm-bindgen's prefix, and the hash that tells versions of a binding apart.
  const named = (name) =>
    name
      .replace(/^_*(wbg|wbindgen|wasm_bindgen__convert)_+(wbg_|wbindgen_)?/, '')
      .replace(/_+h?[0-9a-f]{16}.*$/, '')
      .replace(/_+/g, '_');
  const counted = (kind, functions, looks = {}) =>
    Object.fromEntries(
      Object.entries(functions).map(([key, value]) => {
        if (typeof value !== 'function') return [key, value];
        const [name, look] = [named(key), looks[named(key)]];
        const call = (...given) => {
          add(kind, name);
          look?.(...given);
          return value(...given);
        };
        return [key, call];
      }),
    );
  const imported = {
    setTimeout: (...given) => add('timers', `${given.find((one) => typeof one === 'number')} ms`),
    wait: (ms) => add('timers', `${ms} ms`),
    // Bytes of WebAssembly memory, of which the last argument is the length.
    ...Object.fromEntries(
      ['askBytes', 'sendBytes', 'respondBytes', 'write'].map((name) => [name, (...given) => add('bytes', 'bytes out', given.at(-1))]),
    ),
  };
  const exported = {
    // The bindings ask for room for whatever comes in.
    malloc: (bytes) => add('bytes', 'texts and bytes in', bytes),
    realloc: (_, from, to) => add('bytes', 'texts and bytes in', to - from),
  };
  const { Instance } = WebAssembly;
  WebAssembly.Instance = function (module, imports) {
    const all = Object.entries(imports).map(([from, functions]) => [from, counted('imports', functions, imported)]);
    const instance = new Instance(module, Object.fromEntries(all));
    return { exports: counted('exports', instance.exports, exported) };
  };
  const { decode } = TextDecoder.prototype;
  TextDecoder.prototype.decode = function (bytes, ...more) {
    if (bytes !== undefined) add('bytes', 'texts out', bytes.byteLength);
    return decode.call(this, bytes, ...more);
  };
  const { setTimeout } = globalThis;
  globalThis.setTimeout = (callback, ms) => setTimeout(callback, ms < LONG_TIMER_MS ? ms : 2 ** 31 - 1);

  /** A statement's first words, to the name of its table; of several in one text, those of all. */
  const words = (text) =>
    text
      .split(';')
      .map((one) => one.replaceAll(/\s+/g, ' ').replace(/^(SELECT )(.*?) (FROM \w+).*/, '$1$3').trim())
      .map((one) => /^(\w+ FROM|(INSERT|REPLACE)( OR \w+)? INTO|UPDATE|CREATE TABLE( IF NOT EXISTS)?|\w+ FROM) \w+/.exec(one)?.[0] ?? one)
      .join('; ');
  let inspected = false;
  globalThis.counting = {
    counts() {
      const told = seen;
      begin();
      return told;
    },
    /** Counts the statements of all objects, by the prototype that their storages share. */
    inspect(sql) {
      if (inspected) return;
      inspected = true;
      const prototype = Object.getPrototypeOf(sql);
      const { exec } = prototype;
      prototype.exec = function (text, ...values) {
        const cursor = exec.call(this, text, ...values);
        const name = words(text);
        const of = seen.statements;
        // Rows that are read are counted when the statement's caller has read them.
        Promise.resolve().then(() => {
          const { runs = 0, read = 0, written = 0 } = of[name] ?? {};
          of[name] = { runs: runs + 1, read: read + cursor.rowsRead, written: written + cursor.rowsWritten };
        });
        return cursor;
      };
    },
    standStill() {
      const now = Date.now();
      globalThis.counting.standStill = () => {};
      Date.now = () => now;
    },
  };
}
