// In what two builds differ, file by file, inside of their archives, too.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';

/**
 * The names of the files that are not equal byte for byte in two folders, or are in one alone; of an archive also the names inside
 * that differ, or that it is the archive's own form, such as times and order.
 */
export function differences(one, other) {
  return unequal(one, other).map((name) => {
    if (!/\.(tgz|tar\.gz|whl)$/.test(name) || ![one, other].every((folder) => existsSync(path.join(folder, name)))) return name;
    const scratch = mkdtempSync(path.join(tmpdir(), 'aptix-edge-differences-'));
    try {
      const folders = [one, other].map((folder, index) => unpacked(path.join(folder, name), path.join(scratch, String(index))));
      const inside = unequal(...folders);
      return `${name} (${inside.length > 0 ? inside.join(', ') : 'the form of the archive'})`;
    } finally {
      rmSync(scratch, { recursive: true, force: true });
    }
  });
}

function unpacked(archive, to) {
  mkdirSync(to);
  // A wheel is a ZIP.
  if (archive.endsWith('.whl')) execFileSync('python3', ['-m', 'zipfile', '-e', archive, to]);
  else execFileSync('tar', ['-xzf', archive, '-C', to]);
  return to;
}

function unequal(one, other) {
  const filesIn = (folder) => readdirSync(folder, { recursive: true }).filter((name) => statSync(path.join(folder, name)).isFile());
  const names = [...new Set([...filesIn(one), ...filesIn(other)])].sort();
  const bytes = (folder, name) => (existsSync(path.join(folder, name)) ? readFileSync(path.join(folder, name)) : undefined);
  return names.filter((name) => !(bytes(one, name)?.equals(bytes(other, name) ?? Buffer.alloc(0)) && existsSync(path.join(other, name))));
}
