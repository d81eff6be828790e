// What git ignores is never sent, by neither client, and nothing of `.git` is: random folders with random rules, beside git.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { build } from 'esbuild';
import { pythonTools } from '../../../tests/python.mjs';
import { repository } from './ignored_trees.mjs';

const TREES = process.env.APTIX_LONG_TESTS ? 10_000 : 300;
/** Of one repository, since a process of git takes its time. */
const TOGETHER = 25;
const SEED = Number(process.env.APTIX_SEED ?? (Math.random() * 2 ** 31) | 0);
const CLIENTS = fileURLToPath(new URL('../..', import.meta.url));

let folder, env;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-ignored-'));
  // The rules of a user for all repositories.
  mkdirSync(path.join(folder, 'settings/git'), { recursive: true });
  writeFileSync(path.join(folder, 'settings/git/ignore'), 'abc\n!a\n');
  env = { ...process.env, XDG_CONFIG_HOME: path.join(folder, 'settings'), GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
});
after(() => rmSync(folder, { recursive: true, force: true }));

async function ofGit(at) {
  const { stdout } = await promisify(execFile)('git', ['-C', at, 'ls-files', '-o', '--exclude-standard', '-z'], { env, maxBuffer: 1 << 26 });
  return new Set(stdout.split('\0').filter(Boolean));
}

const IN_TYPESCRIPT = `
import { createInterface } from 'node:readline';
import { walk } from './typescript/src/folder.ts';
import { nodeFolder, rulesFor } from './typescript/src/cli/node_folder.ts';
for await (const line of createInterface({ input: process.stdin })) {
  const at = JSON.parse(line);
  const told = { taken: [], left: [] };
  for await (const found of walk(nodeFolder(at), await rulesFor(at))) {
    if ('reason' in found) told.left.push([found.path, found.reason]);
    else told.taken.push(found.path);
  }
  console.log(JSON.stringify(told));
}
`;
const IN_PYTHON = `
import json, sys
from aptix_edge._folder import folder_documents
for line in sys.stdin:
    documents, left = folder_documents(json.loads(line))
    print(json.dumps({"taken": [each["Path"] for each in documents], "left": [[each.path, each.reason] for each in left]}), flush=True)
`;

/** A program that answers each line with one. */
function answering(program, args, more = {}) {
  const child = spawn(program, args, { env: { ...env, ...more }, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  return {
    end: () => child.stdin.end(),
    async of(at) {
      child.stdin.write(`${JSON.stringify(at)}\n`);
      const { done, value } = await lines.next();
      assert.ok(!done, `${program} has ended`);
      return JSON.parse(value);
    },
  };
}

async function clients() {
  const outfile = path.join(folder, 'client.mjs');
  await build({ stdin: { contents: IN_TYPESCRIPT, resolveDir: CLIENTS, loader: 'ts' }, bundle: true, platform: 'node', format: 'esm', outfile });
  const tools = pythonTools();
  const python = { PYTHONPATH: path.join(CLIENTS, 'python/src'), PYTHONDONTWRITEBYTECODE: '1' };
  return {
    TypeScript: answering(process.execPath, [outfile]),
    ...(tools && { Python: answering(tools.python, ['-c', IN_PYTHON], python) }),
  };
}

/** Whether a rule leaves out this file, or a folder on its way. */
const isIgnored = (left, file) => left.some(([at, reason]) => reason === 'ignored' && (at === file || at === './' || (at.endsWith('/') && file.startsWith(at))));

test(`of ${TREES} random folders neither client takes what git ignores, nor anything of .git, nor leaves out by a rule what git lists`, { timeout: process.env.APTIX_LONG_TESTS ? 3_600_000 : 540_000 }, async (t) => {
  t.diagnostic(`APTIX_SEED=${SEED}`);
  const all = await clients();
  t.after(() => Object.values(all).forEach((client) => client.end()));
  if (!all.Python) t.diagnostic('without Python');
  let files = 0;
  for (let at = 0; at < TREES; at += TOGETHER) {
    const root = path.join(folder, 'repository');
    const [whole, part] = repository(root, TOGETHER, SEED + at);
    // The rules are those of the place to which a link leads.
    const link = path.join(folder, 'link');
    symlinkSync(part, link);
    for (const looked of [whole, part, link]) {
      const [listed, ...told] = await Promise.all([ofGit(looked), ...Object.values(all).map((client) => client.of(looked))]);
      for (const [number, { taken, left }] of told.entries()) {
        const where = `${Object.keys(all)[number]}, APTIX_SEED=${SEED + at}, ${path.relative(root, looked)}`;
        assert.deepEqual(taken.filter((each) => !listed.has(each)), [], `${where}: git ignores them`);
        assert.deepEqual(taken.filter((each) => /(^|\/)\.git(\/|$)/.test(each)), [], where);
        assert.deepEqual([...listed].filter((each) => isIgnored(left, each)), [], `${where}: git lists them`);
        files += taken.length;
      }
    }
    rmSync(link);
    rmSync(root, { recursive: true });
  }
  t.diagnostic(`${files} files were taken`);
  assert.ok(files > TREES, `${files}`);
});

test('a rule fits a name as macOS keeps it, with its accents by themselves', async () => {
  const outfile = path.join(folder, 'git_rules.mjs');
  await build({ entryPoints: [path.join(CLIENTS, 'typescript/src/git_rules.ts')], format: 'esm', outfile });
  const { GitRules } = await import(outfile);
  const fitting = [true, false].map((folds) => new GitRules('Verträge/', folds).of('a/Vertra\u0308ge/'));
  assert.deepEqual(fitting.map((rule) => rule !== undefined), [true, false]);
  // A rule that is written so leaves out, and takes nothing back in that git leaves out.
  const written = ['', '!'].map((mark) => new GitRules(`${mark}Vertra\u0308ge/`, true).of('a/Vertra\u0308ge/'));
  assert.deepEqual(written.map((rule) => rule !== undefined), [true, false]);
});

test('neither client runs a program of the current folder, whose PATH is as Windows has it', { skip: process.platform === 'win32' }, async () => {
  // Windows looks into the current folder before PATH; here PATH itself says so.
  const root = path.join(folder, 'hostile');
  mkdirSync(path.join(root, '.git'), { recursive: true });
  const [git, ran] = [path.join(root, 'git'), path.join(folder, 'ran')];
  writeFileSync(git, `#!/bin/sh\ntouch '${ran}'\n`);
  chmodSync(git, 0o755);
  const outfile = path.join(folder, 'hostile.mjs');
  await build({ stdin: { contents: IN_TYPESCRIPT, resolveDir: CLIENTS, loader: 'ts' }, bundle: true, platform: 'node', format: 'esm', outfile });
  const tools = pythonTools();
  const python = { PYTHONPATH: path.join(CLIENTS, 'python/src'), PYTHONDONTWRITEBYTECODE: '1' };
  const PATH = `.${path.delimiter}${process.env.PATH}`;
  for (const [program, args, more] of [[process.execPath, [outfile], {}], ...(tools ? [[tools.python, ['-c', IN_PYTHON], python]] : [])]) {
    const running = promisify(execFile)(program, args, { cwd: root, env: { ...env, ...more, PATH } });
    running.child.stdin.end(`${JSON.stringify(root)}\n`);
    const { stdout } = await running;
    assert.deepEqual([JSON.parse(stdout).taken.includes('git'), existsSync(ran)], [true, false], program);
  }
});
