// The sources of a commit in a folder of their own, from which `make` builds as in a checkout.
import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Puts the sources of a commit (`ref`) into the new folder `to`; `commit` is what a build of them tells of itself. */
export function sourcesOf(ref, commit, to) {
  mkdirSync(to, { recursive: true });
  const archive = execFileSync('git', ['archive', ref], { cwd: ROOT, maxBuffer: 1 << 30 });
  execFileSync('tar', ['-xf', '-', '-C', to], { input: archive });
  // There they are in no repository that could tell it.
  writeFileSync(path.join(to, '.commit'), `${commit}\n`);
}

/** Runs `make` there, as if it were called by hand; `more` are variables of its environment. */
export function made(target, folder, more = {}) {
  const { MAKEFLAGS, MAKELEVEL, ...environment } = process.env;
  execFileSync('make', [target], { cwd: folder, env: { ...environment, ...more }, stdio: ['ignore', 'inherit', 'inherit'] });
}
