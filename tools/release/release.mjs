// `make release`: the packages of this commit, their checksums and the SBOM, in build-release/. All of it is built a second
// time, from nothing and in another folder: what is not equal byte for byte is no release.
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { differences } from './differences.mjs';
import { made, sourcesOf } from './sources.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const TO = path.join(ROOT, 'build-release');
const DIFFERS = path.join(ROOT, 'build-release-differs');
const SUMS = 'SHA256SUMS';
const commit = process.env.APTIX_COMMIT;

// Without git, in an unpacked archive, or in a folder of another user's, which git does not read.
if (!commit) fail('a release is of a commit, and git tells none of this folder; git describe --always says why');
if (commit.endsWith('-dirty')) fail('a release is of a commit: commit or take back what has changed');
// What failed is no release, and one of another commit is not this one.
rmSync(TO, { recursive: true, force: true });
const built = path.join(ROOT, 'build-packages');
const [here, differ] = [sums(built), []];
const again = mkdtempSync(path.join(tmpdir(), 'aptix-edge-built-again-'));
try {
  console.log(`make release: building ${commit} a second time, from nothing`);
  const sources = path.join(again, 'sources');
  sourcesOf('HEAD', commit, sources);
  // The crates, too, are in a folder of another name, so that a path of this machine in what was built is a difference.
  const crates = path.join(again, 'crates');
  symlinkSync(process.env.CARGO_HOME ?? path.join(homedir(), '.cargo'), crates);
  made('packages', sources, { CARGO_HOME: crates });
  differ.push(...differences(built, path.join(sources, 'build-packages')));
  if (differ.length > 0) {
    rmSync(DIFFERS, { recursive: true, force: true });
    cpSync(path.join(sources, 'build-packages'), DIFFERS, { recursive: true });
  }
} finally {
  rmSync(again, { recursive: true, force: true });
}
if (differ.length > 0) fail(`two builds of ${commit} differ in ${differ.join(', ')}: compare build-packages/ with build-release-differs/`);
cpSync(built, TO, { recursive: true });
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
