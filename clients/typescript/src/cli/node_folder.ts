// A folder of this computer, as src/folder.ts walks it. Links are not followed: where they lead is there anyway, is
// another folder's, or is a circle.
import { readFile, readdir, stat } from "node:fs/promises";
import path from "node:path";
import { type Entry, type FileSource, type FolderSource, RULE_FILES } from "../folder.js";

export const nodeFolder = (folder: string): FolderSource => ({
  async entries() {
    const names = await readdir(folder, { withFileTypes: true });
    return Promise.all(
      names.map(async (each): Promise<Entry> => {
        const { name } = each;
        const at = path.join(folder, name);
        if (each.isDirectory()) return { name, kind: "folder", folder: nodeFolder(at) };
        return each.isFile() ? { name, kind: "file", file: await nodeFile(at) } : { name, kind: "link" };
      }),
    );
  },
});

async function nodeFile(at: string): Promise<FileSource> {
  const { size, mtimeMs, ino } = await stat(at).catch(() => ({ size: 0, mtimeMs: NaN, ino: 0 }));
  return { size, version: `${ino} ${size} ${mtimeMs}`, bytes: () => readFile(at) };
}

/** The ignore files above a folder, up to the root of its repository, the uppermost first; none outside of one. */
export async function rulesAbove(folder: string): Promise<{ prefix: string; lines: string }[]> {
  const found: { prefix: string; lines: string }[] = [];
  const read = (...at: string[]) => readFile(path.join(...at), "utf8").catch(() => undefined);
  for (let at = path.resolve(folder); ; at = path.dirname(at)) {
    const relative = path.relative(at, path.resolve(folder)).split(path.sep).join("/");
    const prefix = relative && `${relative}/`;
    const isRoot = await stat(path.join(at, ".git")).then(() => true, () => false);
    // A folder's own ignore files are read as it is walked.
    for (const name of relative ? RULE_FILES.toReversed() : []) {
      const lines = await read(at, name);
      if (lines !== undefined) found.unshift({ prefix, lines });
    }
    if (isRoot) {
      const lines = await read(at, ".git/info/exclude");
      if (lines !== undefined) found.unshift({ prefix, lines });
      return found;
    }
    if (path.dirname(at) === at) return [];
  }
}
