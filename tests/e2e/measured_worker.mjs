// The Worker with what it holds measured. Owns the two modules that stand in front of the Worker: they take note of its
// memory and its references to objects, and answer for them at one path of their own. The Worker has no variables but
// those in its memory, and no hold on objects of JavaScript but the references that its bindings keep in a table.

/** Answers with the size of the Worker's WebAssembly memory, and the number of its references to objects, as JSON. */
export const HELD = '/held-by-the-worker-of-the-tests';

/** The modules to serve in front of the Worker's `index.js`, the first of them as the Worker: `[{name, contents}]`. */
export const MEASURED = [
  {
    name: 'measured.js',
    contents: `import './memory.js';
      import Worker from './index.js';
      export * from './index.js';
      export default class extends Worker {
        fetch(request) {
          if (new URL(request.url).pathname !== '${HELD}') return super.fetch(request);
          const { memory, __wbindgen_externrefs: table } = globalThis.exportsOfTheWorker;
          let references = 0;
          for (let slot = 0; slot < table.length; slot += 1) if (table.get(slot) !== undefined) references += 1;
          return Response.json({ wasmBytes: memory.buffer.byteLength, references });
        }
      }`,
  },
  {
    name: 'memory.js',
    contents: `const { Instance } = WebAssembly;
      WebAssembly.Instance = class extends Instance {
        constructor(...given) {
          super(...given);
          globalThis.exportsOfTheWorker = this.exports;
        }
      };`,
  },
];
