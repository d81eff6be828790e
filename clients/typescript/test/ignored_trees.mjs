// Repositories of random folders with random rules, for what clients make of rules beside what git does.
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';

const NAMES = ['a', 'b', 'lib', 'web', 'foo', 'foobar', 'Server', 'server', 'README.md', 'a.log', 'B.LOG', '.github', 'x y', 'ä.txt', 'a[b', '#c', '!d', 'dist', 'kept.log', 'ab', 'abc', 'trail ', 'x\\'];
const PIECES = [...NAMES, '*', '**', '?', '*.log', '*.LOG', 'f*', '*b*', 'a?', '[a-c]', '[!a]*', '[[:upper:]]*', '[]a]', '[a-', 'fo[!x/]*', 'ab**', 'a***', '\\#c', '\\!d', '\\*', 'trail\\ ', 'trail ', '[ä].txt', '[^f]oo', '?.txt', '.*', '***', 'a\\[b', 'x\\', 'x\\\\ '];
const SHAPES = [([a]) => a, ([a]) => `${a}/`, ([a]) => `/${a}`, ([a]) => `/${a}/`, ([a, b]) => `${a}/${b}`, ([a, b]) => `${a}/${b}/`, ([a, b]) => `**/${a}/${b}`, ([a, b]) => `${a}/**/${b}`, ([a]) => `${a}/**`, ([a]) => `${a}/*`, ([a]) => `**/${a}`, () => '/*', () => '*/', () => '*', ([a]) => `${a}**/`, ([a, b]) => `${a}\\/${b}`, ([a]) => `**\\/${a}`];

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
  };
}

/**
 * A repository without a commit, with so many folders that each have rules of their own, all files untracked, and a token in
 * `.git/config`. Gives two folders to look at: the whole, and one somewhere in it.
 */
export function repository(root, count, seed) {
  const random = randomOf(seed);
  const pick = (all) => all[Math.floor(random() * all.length)];
  const rule = () => (random() < 0.35 ? '!' : '') + pick(SHAPES)([pick(PIECES), pick(PIECES)]);
  const rules = (most) => {
    const lines = Array.from({ length: 1 + Math.floor(random() * most) }, () => (random() < 0.05 ? pick(['', '# a comment', '   ', '!', '/', '//']) : rule()));
    return (random() < 0.1 ? '\ufeff' : '') + lines.map((line) => line + (random() < 0.1 ? '  ' : '') + (random() < 0.1 ? '\r' : '')).join('\n') + (random() < 0.5 ? '\n' : '');
  };
  mkdirSync(path.join(root, '.git/objects'), { recursive: true });
  for (const folder of ['refs', 'info', 'hooks']) mkdirSync(path.join(root, '.git', folder));
  writeFileSync(path.join(root, '.git/HEAD'), 'ref: refs/heads/main\n');
  writeFileSync(path.join(root, '.git/config'), '[core]\n\trepositoryformatversion = 0\n[remote "o"]\n\turl = https://user:tok3n@example.com/x.git\n');
  writeFileSync(path.join(root, '.git/hooks/pre-commit.md'), 'tok3n\n');
  if (random() < 0.3) writeFileSync(path.join(root, '.git/info/exclude'), rules(2));
  // Some take back all of a kind, which names `.git`, too.
  if (random() < 0.5) writeFileSync(path.join(root, '.gitignore'), pick(['/*\n!/*/\n', '!.*\n', '*\n!*/\n!*.*\n', rules(2)]));
  const folders = [];
  const fill = (folder, depth) => {
    mkdirSync(path.join(root, folder));
    folders.push(folder);
    for (const name of new Set(Array.from({ length: 2 + Math.floor(random() * 5) }, () => pick(NAMES)))) {
      const at = `${folder}/${name}`;
      if (depth < 3 && random() < 0.45) fill(at, depth + 1);
      else writeFileSync(path.join(root, at), `text of ${at}\n`);
    }
    if (random() < (depth === 0 ? 0.9 : 0.25)) writeFileSync(path.join(root, folder, '.gitignore'), rules(depth === 0 ? 6 : 3));
  };
  for (let at = 0; at < count; at += 1) fill(`tree ${at}`, 0);
  return [root, path.join(root, pick(folders))];
}
