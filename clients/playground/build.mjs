// Bundles the playground into build-playground/: index.html, and below playground/ its scripts and styles, whose names
// hold a hash of their contents. The page itself is written last.
import { readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const HERE = fileURLToPath(new URL('.', import.meta.url));
const TO = path.join(HERE, '../../build-playground');

await rm(TO, { recursive: true, force: true });
const { metafile } = await build({
  entryPoints: [path.join(HERE, 'src/main.tsx')],
  outdir: path.join(TO, 'playground'),
  entryNames: 'page-[hash]',
  chunkNames: 'part-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['es2022', 'chrome110', 'firefox115', 'safari16.4'],
  jsx: 'automatic',
  jsxImportSource: 'preact',
  minify: true,
  legalComments: 'none',
  metafile: true,
  logLevel: 'warning',
});
const [script, { cssBundle }] = Object.entries(metafile.outputs).find(([, { entryPoint }]) => entryPoint?.endsWith('main.tsx'));
const page = await readFile(path.join(HERE, 'index.html'), 'utf8');
const name = (file) => path.basename(file);
await writeFile(path.join(TO, 'index.html'), page.replace('page.js', name(script)).replace('page.css', name(cssBundle)));
