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

const common = {
  // By tsconfig.json (useDefineForClassFields), members of classes that begin without a value are in no bundle.
  absWorkingDir: ROOT, external: ['@ag-ui/client', 'react', 'rxjs'], bundle: true, platform: 'neutral', target: 'es2022', outdir: DIST, legalComments: 'none',
  // With the sources in it, so that a debugger shows them wherever the package is.
  sourcemap: true, sourcesContent: true,
};
const core = ['src/index.ts'];
const beside = ['workspace', 'users', 'relay', 'webhooks', 'ai-sdk', 'ag-ui', 'react'].map((name) => `src/${name}.ts`);
const schema = ['src/schema.ts'];
/** Where another's code is bundled, the licence wants to be named with it. */
const installed = (at) => JSON.parse(readFileSync(path.join(ROOT, at, 'package.json'), 'utf8'));
const [, permission] = /^(Permission is hereby granted[^]*)/m.exec(readFileSync(path.join(ROOT, 'LICENSE'), 'utf8'));
const licence = ({ name, version }, holder) => ({ js: `/*!\n${name} ${version}, MIT License\n\nCopyright (c) ${holder}\n\n${permission}*/` });
const jsonSchema = installed('node_modules/@cfworker/json-schema');
const banner = licence(jsonSchema, jsonSchema.author);
/** What an entry takes of the core at run time it imports, by `index.js` or as an error, so that there is one class of each. */
const fromCore = (file) => ({
  name: 'from-core',
  setup: ({ onResolve }) => onResolve({ filter: /^\.\.?\/(?:index|errors)\.js$/ }, () => ({ path: file, external: true })),
});
const cjs = { ...common, format: 'cjs', outExtension: { '.js': '.cjs' } };
await build({ ...cjs, entryPoints: core });
await build({ ...cjs, entryPoints: schema, banner, plugins: [fromCore('./index.cjs')] });
await build({ ...cjs, entryPoints: beside, plugins: [fromCore('./index.cjs')] });
await build({ ...common, entryPoints: schema, format: 'esm', banner, plugins: [fromCore('./index.js')] });
await build({ ...common, entryPoints: beside, format: 'esm', plugins: [fromCore('./index.js')] });
// The command line, for Node alone.
const { version } = installed('.');
await build({
  ...common, entryPoints: { cli: 'src/cli/main.ts' }, format: 'esm', platform: 'node', target: 'node20', plugins: [fromCore('./index.js')],
  define: { VERSION: JSON.stringify(version) },
});
chmodSync(path.join(DIST, 'cli.js'), 0o755);
// Last of all, since the Makefile takes dist/index.js as the sign that everything is there.
await build({ ...common, entryPoints: core, format: 'esm' });
