// The Worker with its memory measured. Owns the two modules that stand in front of the Worker: they take note of its
// memory, and answer for it at one path of their own.

/** Answers with the size of the Worker's WebAssembly memory, in bytes. */
export const WASM_BYTES = '/wasm-bytes-of-the-tests';

/** The modules to serve in front of the Worker's `index.js`, the first of them as the Worker: `[{name, contents}]`. */
export const MEASURED = [
  {
    name: 'measured.js',
    contents: `import './memory.js';
      import Worker from './index.js';
      export * from './index.js';
      export default class extends Worker {
        fetch(request) {
          if (new URL(request.url).pathname !== '${WASM_BYTES}') return super.fetch(request);
          return new Response(String(globalThis.memoryOfTheWorker.buffer.byteLength));
        }
      }`,
  },
  {
    name: 'memory.js',
    contents: `const { Instance } = WebAssembly;
      WebAssembly.Instance = class extends Instance {
        constructor(...given) {
          super(...given);
          globalThis.memoryOfTheWorker = this.exports.memory;
        }
      };`,
  },
];
