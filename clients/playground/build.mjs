// Bundles the playground into build-playground/: index.html, and below playground/ its scripts and styles, whose names
// hold a hash of their contents, and the licences of the packages that are inside. The page itself is written after them, and files of an earlier page go last: a server
// may be watching the folder.
import { createHash } from 'node:crypto';
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const TO = path.join(HERE, '../../build-playground');
const FILES = path.join(TO, 'playground');

// Of the library for formulas: what no answer needs (diagrams, mirrored letters), and what must not be done for a model, such
// as links, pictures and attributes.
const NOT_OF_FORMULAS =
  /temml\/src\/(auto-render|unicodeSymbols|environments\/(borderTree|cd)|functions\/(bordermatrix|cancelto|char|html|includegraphics|pmb|reflect|sfrac|vcenter|verb))\.js$/;
// The library for colours goes on behind a piece of code where the next one begins, and does not let its users have that.
const CORE_OF_COLOURS = /highlight\.js\/lib\/core\.js$/;
const [WITHOUT, WITH] = ['context.code, ignoreIllegals)', 'context.code, ignoreIllegals, optionsOrCode.continuation)'];
const fitted = {
  name: 'fitted',
  setup(bundle) {
    bundle.onLoad({ filter: NOT_OF_FORMULAS }, () => ({ contents: 'module.exports = {};', loader: 'js' }));
    bundle.onLoad({ filter: CORE_OF_COLOURS }, async ({ path: file }) => {
      const source = await readFile(file, 'utf8');
      if (source.split(WITHOUT).length !== 2) throw new Error('highlight.js calls its own part otherwise than build.mjs knows');
      return { contents: source.replace(WITHOUT, WITH), loader: 'js' };
    });
  },
};
const common = {
  outdir: FILES,
  bundle: true,
  // The first ones with the CSS function light-dark().
  target: ['chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
};
// What runs before the first painting is no module: those wait for the page.
const first = await build({ ...common, entryPoints: [path.join(HERE, 'src/first.ts')], entryNames: 'first-[hash]', format: 'iife' });
const { metafile } = await build({
  ...common,
  entryPoints: [path.join(HERE, 'src/main.tsx')],
  entryNames: 'page-[hash]',
  chunkNames: 'part-[hash]',
  plugins: [fitted],
  splitting: true,
  format: 'esm',
  jsx: 'automatic',
  jsxImportSource: 'preact',
});
const [script, { cssBundle }] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
const name = (file) => path.basename(file);
const page = await readFile(path.join(HERE, 'index.html'), 'utf8');
const text = await licences(Object.keys(metafile.inputs));
const list = `licences-${createHash('sha256').update(text).digest('hex').slice(0, 8)}.txt`;
await writeFile(path.join(FILES, list), text);
const [early] = Object.keys(first.metafile.outputs);
const names = { 'first.js': name(early), 'page.js': name(script), 'page.css': name(cssBundle), 'licences.txt': list };
const filled = Object.entries(names).reduce((html, [as, is]) => html.replace(as, is), page);
await writeFile(path.join(TO, 'index.html'), filled);
const made = new Set([...Object.keys(metafile.outputs).map(name), name(early), list]);
for (const file of await readdir(FILES)) if (!made.has(file)) await rm(path.join(FILES, file));

/** The licences of the packages to which the bundled files belong, each below a line `=== name version (licence)`. */
async function licences(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+(?=\/)/.exec(file)?.[0] ?? []));
  const texts = [...folders].sort().map(async (folder) => {
    const { name: title, version, license } = JSON.parse(await readFile(path.join(folder, 'package.json'), 'utf8'));
    const file = (await readdir(folder)).find((each) => /^licen[cs]e/i.test(each));
    if (file === undefined) throw new Error(`${title} ${version} comes without the text of its licence`);
    return `=== ${title} ${version} (${license})\n\n${(await readFile(path.join(folder, file), 'utf8')).trim()}\n`;
  });
  return (await Promise.all(texts)).join('\n');
}
