// Builds the page into a folder that any file server serves: node build.mjs FOLDER
import { copyFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

export async function buildPage(folder) {
  const here = fileURLToPath(new URL('.', import.meta.url));
  await mkdir(folder, { recursive: true });
  await copyFile(path.join(here, 'index.html'), path.join(folder, 'index.html'));
  await build({
    entryPoints: [path.join(here, 'page.js')],
    outfile: path.join(folder, 'page.js'),
    bundle: true,
    minify: true,
    format: 'esm',
  });
}

if (process.argv[2]) await buildPage(path.resolve(process.argv[2]));
