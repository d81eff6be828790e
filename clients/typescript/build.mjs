// Builds the package into dist/: each entry as ESM and CJS, and one declaration file for each of the two, since a
// `.d.ts` under `require` would be read as ESM.
import { execFileSync } from 'node:child_process';
import { chmodSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const ROOT = fileURLToPath(new URL('.', import.meta.url));
const DIST = path.join(ROOT, 'dist');
rmSync(DIST, { recursive: true, force: true });

for (const project of ['tsconfig.json', 'tsconfig.cli.json']) {
  execFileSync(process.execPath, [path.join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', path.join(ROOT, project)], { stdio: 'inherit' });
}
for (const file of readdirSync(DIST, { recursive: true }).filter((name) => name.endsWith('.d.ts'))) {
  const declarations = readFileSync(path.join(DIST, file), 'utf8');
  const forCommonJs = declarations.replaceAll(/(["'])(\.\.?\/[^"']+)\.js\1/g, '$1$2.cjs$1');
  writeFileSync(path.join(DIST, file.replace(/\.d\.ts$/, '.d.cts')), forCommonJs);
}

const common = { absWorkingDir: ROOT, bundle: true, platform: 'neutral', target: 'es2022', outdir: DIST, legalComments: 'none' };
const entryPoints = ['index', 'workspace', 'webhooks', 'ai-sdk'].map((name) => `src/${name}.ts`);
await build({ ...common, entryPoints, format: 'cjs', outExtension: { '.js': '.cjs' } });
// The command line, for Node alone; the packages in it are few, small and without notices of their own.
const { version } = JSON.parse(readFileSync(path.join(ROOT, 'package.json'), 'utf8'));
await build({
  ...common, entryPoints: { cli: 'src/cli/main.ts' }, format: 'esm', platform: 'node', target: 'node20', define: { VERSION: JSON.stringify(version) },
  banner: { js: '/* Contains ignore, MIT License, copyright (c) 2013 Kael Zhang and contributors. */' },
});
chmodSync(path.join(DIST, 'cli.js'), 0o755);
// Last of all, since the Makefile takes dist/index.js as the sign that everything is there.
await build({ ...common, entryPoints, format: 'esm' });
