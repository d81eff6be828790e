// A project whose development Worker `make` builds by a stand-in for what compiles.
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
/** What make is asked for. */
export const BUILD = ['build-dev/.complete'];
const { MAKEFLAGS, MAKELEVEL, ...environment } = process.env;
/** The environment, without what a make around the tests has put there. */
export const ENVIRONMENT = environment;

/** Makes a project that is removed after the file; `{ project, at }` are its folder and the path of a file in it. `toolchain` is a script. */
export function projectToBuild(toolchain) {
  const project = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-build-'));
  after(() => rmSync(project, { recursive: true, force: true }));
  const at = (name) => path.join(project, name);
  for (const name of ['Makefile', 'Cargo.toml', 'Cargo.lock', 'package-lock.json']) cpSync(path.join(ROOT, name), at(name));
  for (const name of ['src', 'tools/setup']) mkdirSync(at(name), { recursive: true });
  writeFileSync(at('tools/setup/wasm_toolchain'), toolchain, { mode: 0o755 });
  return { project, at };
}
