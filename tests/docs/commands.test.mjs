// Every block of README.md and docs/ does what the page says, in the order in which a reader meets it: commands run against
// `make dev`, programs are compiled with the client's types and run, catalogs are checked, stated outputs compared. What
// cannot be run here says so by a mark, and is checked as far as it can be (commands.mjs).
//
// The service is the build in build/, or in the folder that the variable BUILD_DIR names.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { parseEnv, promisify } from 'node:util';
import { problemsOf } from './commands.mjs';
import { ROOT, pages } from './pages.mjs';
import { Reader, ended, sharedService } from './reader.mjs';

const BIN = path.join(ROOT, 'node_modules/.bin');
const TARGET = path.resolve(ROOT, process.env.CARGO_TARGET_DIR ?? 'target', 'debug');
const run = promisify(execFile);
const read = (name) => readFileSync(path.join(ROOT, name), 'utf8');
const all = pages();
const blocksOf = (language) => all.flatMap(({ blocks }) => blocks.filter((block) => block.language === language));
const scratch = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-docs-tools-'));

const environment = {
  APTIX_BUILD: path.basename(process.env.BUILD_DIR ?? 'build'),
  PATH: `${scratch}:${process.env.PATH}`,
  // What a page calls is on this machine, whatever proxy leads out of it.
  no_proxy: '127.0.0.1,localhost',
  // The examples need nothing from a registry.
  npm_config_offline: 'true',
  npm_config_audit: 'false',
  npm_config_fund: 'false',
  // What this machine configures, a key among it, is none of the pages' business.
  ...Object.fromEntries([...read('docs/configuration.md').matchAll(/^\| `([A-Z_]+)`/gm)].map(([, name]) => [name, ''])),
};
const shared = sharedService(environment);

/** `cargo run … --bin NAME -- …` with the program that is built already: a second set of features would compile for a minute. */
const CARGO = `#!/usr/bin/env bash
set -euo pipefail
while [ "$1" != --bin ]; do shift; done
name=$2
while [ "$1" != -- ]; do shift; done
shift
exec ${JSON.stringify(TARGET)}/"$name" "$@"
`;

before(async () => {
  assert.ok(existsSync(path.join(ROOT, 'clients/typescript/dist/index.js')), 'the client is not built: make client');
  // The programs of `make check-catalog` and `make replay-bundle`, together with a test: with the features that the tests
  // have already compiled. In `make test` both are there, and cargo would wait for the native tests that it compiles.
  if (process.env.APTIX_PROGRAMS !== 'built') {
    await run('cargo', ['build', '--quiet', '--locked', '--workspace', '--bins', '--test', 'native'], { cwd: ROOT });
  }
  writeFileSync(path.join(scratch, 'cargo'), CARGO);
  chmodSync(path.join(scratch, 'cargo'), 0o755);
}, { timeout: 600_000 });
after(async () => {
  await shared.close();
  rmSync(scratch, { recursive: true, force: true });
});

/** Resolves to the exit code and the report of the check of a catalog. */
async function checkCatalog(file) {
  const { code, stdout, stderr } = await ended(spawn(path.join(TARGET, 'check-catalog'), [file], { cwd: ROOT }));
  return { code, output: stdout + stderr };
}

describe('a reader who follows', { concurrency: 4 }, () => {
  for (const page of all.filter(({ blocks }) => blocks.length > 0)) {
    test(page.name, { timeout: 300_000 }, async () => {
      const reader = new Reader(page, { environment, shared: shared.get, checkCatalog });
      try {
        await reader.follow();
      } finally {
        await reader.close();
      }
    });
  }

  test('commands that are not run here are commands', async () => {
    for (const block of blocksOf('sh')) {
      const problems = await problemsOf(block.text);
      assert.deepEqual(problems, [], `${block.page}:${block.at}: ${problems.join(', ')}`);
    }
  });

  test('the programs are compiled with the client\'s types', async () => {
    const project = path.join(scratch, 'programs');
    mkdirSync(path.join(project, 'node_modules'), { recursive: true });
    symlinkSync(path.join(ROOT, 'clients/typescript'), path.join(project, 'node_modules/aptix-edge'));
    blocksOf('ts').forEach(({ page, at, text }) => writeFileSync(path.join(project, `${page.replace(/\W/g, '_')}_line_${at}.mts`), text));
    writeFileSync(path.join(project, 'node.d.ts'), NODE_TYPES);
    writeFileSync(path.join(project, 'tsconfig.json'), JSON.stringify(TSCONFIG));
    const { code, stdout } = await ended(spawn(path.join(BIN, 'tsc'), ['-p', project], { cwd: project }));
    assert.equal(code, 0, stdout);
  });

  test('wrangler takes wrangler.toml with all that stands in it as a comment', { timeout: 120_000 }, async () => {
    const config = path.join(ROOT, `.wrangler.docs.${process.pid}.toml`);
    // Without the build, which is there.
    const toml = read('wrangler.toml').replace(/^\[build\]\n(?:[^[].*\n)*/m, '').replace(/^# (?=\[|\w+ = )/gm, '');
    writeFileSync(config, toml.replace('build/', `${environment.APTIX_BUILD}/`));
    try {
      const env = { ...process.env, CI: '1', WRANGLER_SEND_METRICS: 'false' };
      const { code, stdout, stderr } = await ended(spawn(path.join(BIN, 'wrangler'), ['deploy', '--dry-run', '--config', config, '--outdir', path.join(scratch, 'upload')], { cwd: ROOT, env }));
      assert.equal(code, 0, stdout + stderr);
      const named = [...toml.matchAll(/^(?:binding|name) = "(\w+)"|^([A-Z_]+) = /gm)].map(([, binding, variable]) => binding ?? variable);
      assert.ok(named.length > 30, `${named.length}`);
      for (const name of named) assert.ok(stdout.includes(name), `wrangler does not show ${name}:\n${stdout}`);
      assert.doesNotMatch(stdout + stderr, /Unexpected fields/);
    } finally {
      rmSync(config, { force: true });
    }
  });

  test('secrets for this machine have the form that is read', () => {
    for (const { page, at, text } of blocksOf('dotenv')) assert.ok(Object.keys(parseEnv(text)).length > 0, `${page}:${at}`);
  });

  test('pictures are drawn by the few forms that GitHub surely knows', () => {
    const line = /^ {2}\w+(?:\["[^"]+"\])? -->\|"[^"]+"\| \w+(?:\["[^"]+"\])?$/;
    for (const { page, at, text } of blocksOf('mermaid')) {
      const [head, ...edges] = text.split('\n');
      assert.equal(head, 'flowchart TD', `${page}:${at}`);
      assert.deepEqual(edges.filter((edge) => !line.test(edge)), [], `${page}:${at}`);
      const named = [...text.matchAll(/(\w+)\["/g)].map(([, name]) => name);
      const used = [...text.matchAll(/(?:^ {2}|\| )(\w+)/gm)].map(([, name]) => name);
      assert.deepEqual([...new Set(used)].filter((name) => !named.includes(name)), [], `${page}:${at}`);
    }
  });
});

/** What the programs use of Node. */
const NODE_TYPES = `declare const process: {
  stdout: { write(text: string): void };
  env: Record<string, string | undefined>;
  argv: string[];
};
declare module "node:crypto" {
  export function createHash(algorithm: "sha256"): { update(text: string): { digest(form: "hex"): string } };
}
declare module "node:fs" {
  export function mkdirSync(path: string, options: { recursive: boolean; mode: number }): void;
  export function readFileSync(path: string, encoding: "utf8"): string;
  export function readdirSync(path: string): string[];
  export function renameSync(from: string, to: string): void;
  export function rmSync(path: string, options: { force: boolean }): void;
  export function writeFileSync(path: string, text: string, options: { mode: number }): void;
}
declare module "node:fs/promises" {
  export function readFile(path: string, encoding: "utf8"): Promise<string>;
}
`;
const TSCONFIG = {
  compilerOptions: { target: 'ES2022', lib: ['ES2022', 'DOM'], module: 'NodeNext', moduleResolution: 'NodeNext', strict: true, types: [], noEmit: true },
  include: ['*.mts', 'node.d.ts'],
};
