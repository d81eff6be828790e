// `make release`: the packages of this commit, their checksums and the SBOM, in build-release/. All of it is built a second
// time, from nothing and in another folder: what is not equal byte for byte is no release.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TO = path.join(ROOT, 'build-release');
const SUMS = 'SHA256SUMS';
const commit = process.env.APTIX_COMMIT;

if (!commit || commit.endsWith('-dirty')) fail('a release is of a commit: commit or take back what has changed');
const here = sums(path.join(ROOT, 'build-packages'));
const again = mkdtempSync(path.join(tmpdir(), 'aptix-edge-built-again-'));
try {
  console.log(`make release: building ${commit} a second time, from nothing`);
  const archive = path.join(again, 'sources.tar');
  execFileSync('git', ['archive', '--output', archive, 'HEAD'], { cwd: ROOT });
  const sources = path.join(again, 'sources');
  mkdirSync(sources);
  execFileSync('tar', ['-xf', archive, '-C', sources]);
  // There the sources are in no repository that could tell it.
  writeFileSync(path.join(sources, '.commit'), `${commit}\n`);
  // The crates, too, are in a folder of another name, so that a path of this machine in what was built is a difference.
  const { MAKEFLAGS, MAKELEVEL, CARGO_HOME = path.join(homedir(), '.cargo'), ...environment } = process.env;
  const crates = path.join(again, 'crates');
  symlinkSync(CARGO_HOME, crates);
  execFileSync('make', ['packages'], { cwd: sources, env: { ...environment, CARGO_HOME: crates }, stdio: ['ignore', 'inherit', 'inherit'] });
  const other = sums(path.join(sources, 'build-packages'));
  const differ = [...new Set([...here.keys(), ...other.keys()])].filter((name) => here.get(name) !== other.get(name));
  if (differ.length > 0) {
    const kept = path.join(ROOT, 'build-release-differs');
    rmSync(kept, { recursive: true, force: true });
    cpSync(path.join(sources, 'build-packages'), kept, { recursive: true });
    fail(`two builds of ${commit} differ in ${differ.join(', ')}: compare build-packages/ with build-release-differs/`);
  }
} finally {
  rmSync(again, { recursive: true, force: true });
}
rmSync(TO, { recursive: true, force: true });
cpSync(path.join(ROOT, 'build-packages'), TO, { recursive: true });
writeFileSync(path.join(TO, SUMS), [...here].map(([name, sum]) => `${sum}  ${name}\n`).join(''));
console.log(`make release: build-release/ has ${[...here.keys(), SUMS].join(', ')}`);

/** The SHA-256 of each file in a folder, by name, in alphabetical order. */
function sums(folder) {
  if (!existsSync(folder)) fail(`there is no ${folder}`);
  const names = readdirSync(folder).sort();
  return new Map(names.map((name) => [name, createHash('sha256').update(readFileSync(path.join(folder, name))).digest('hex')]));
}

function fail(why) {
  console.error(`make release: ${why}`);
  process.exit(1);
}
