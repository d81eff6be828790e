// Bundles the playground into build-playground/: index.html, and below playground/ its scripts and styles, whose names
// hold a hash of their contents. The page itself is written after them, and files of an earlier page go last: a server
// may be watching the folder.
import { readFile, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const TO = path.join(HERE, '../../build-playground');
const FILES = path.join(TO, 'playground');

const { metafile } = await build({
  entryPoints: [path.join(HERE, 'src/main.tsx')],
  outdir: FILES,
  entryNames: 'page-[hash]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  // The first ones with the CSS function light-dark().
  target: ['chrome123', 'firefox120', 'safari17.5'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
const [script, { cssBundle }] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
const name = (file) => path.basename(file);
const page = await readFile(path.join(HERE, 'index.html'), 'utf8');
await writeFile(path.join(TO, 'index.html'), page.replace('page.js', name(script)).replace('page.css', name(cssBundle)));
const made = new Set(Object.keys(metafile.outputs).map(name));
for (const file of await readdir(FILES)) if (!made.has(file)) await rm(path.join(FILES, file));
