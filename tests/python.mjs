// Python with what the tests in it take (tools/setup/python_tools).
import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import path from 'node:path';

const ROOT = fileURLToPath(new URL('..', import.meta.url));

/** `{ folder, python, program(name) }`; `undefined` where Python is missing, which fails under CI=true. */
export function pythonTools() {
  const folder = execFileSync(path.join(ROOT, 'tools/setup/python_tools'), { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
  if (!folder) return undefined;
  const program = (name) => path.join(folder, 'bin', name);
  return { folder, python: program('python'), program };
}
