// A folder of this computer, as src/folder.ts walks it. Links are not followed: where they lead is there anyway, is
// another folder's, or is a circle. What is no file, such as a named pipe, is never read: it may have no end.
import { execFile } from "node:child_process";
import { lstat, readFile, readdir, realpath, stat } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { type Entry, type FileSource, type FolderRules, type FolderSource, RULE_FILES, type WalkOptions } from "../folder.js";
import { programAt } from "./program.js";

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
  return { size, version: `${ino} ${size} ${mtimeMs}`, bytes: () => readFile(at).catch((error: unknown) => Promise.reject(nameFault(at) ?? error)) };
}

/** Node reads a name that is no UTF-8 as one that is not there. */
const nameFault = (at: string) => (at.includes("\uFFFD") ? new Error("Its name is no UTF-8.") : undefined);

/** The bytes of a file; of what is none, nothing. */
const contents = async (file: string, look: typeof lstat = stat) => {
  const isFile = await look(file).then((found) => found.isFile(), () => false);
  return isFile ? readFile(file).catch(() => undefined) : undefined;
};

/** What holds for a folder besides its own ignore files: those above, up to the root of its repository, and the user's own. */
export async function rulesFor(folder: string): Promise<Pick<WalkOptions, "above" | "foldsCase">> {
  const foldsCase = process.platform === "win32" || process.platform === "darwin";
  // Where a link leads, as git goes by the place itself.
  const walked = await realpath(folder).catch(() => path.resolve(folder));
  let root = walked;
  for (; !(await stat(path.join(root, ".git")).then(() => true, () => false)); root = path.dirname(root)) {
    if (path.dirname(root) === root) return { foldsCase };
  }
  const base = path.relative(root, walked).split(path.sep).filter(Boolean);
  const rules: FolderRules[] = [];
  const add = (at: string, lines: Uint8Array | undefined) => lines && rules.push({ folder: at, lines });
  add("", await contents(await usersRules(root)));
  // A folder's own ignore files are read as it is walked, and with them the repository's, save where `.git` leads elsewhere.
  if (base.length > 0 || (await contents(path.join(root, ".git")))) add("", await contents(path.join(await gitFolder(root), "info/exclude")));
  for (const [at] of base.entries()) {
    const above = base.slice(0, at);
    // Git reads none that is a link.
    for (const name of RULE_FILES) add(above.map((each) => `${each}/`).join(""), await contents(path.join(root, ...above, name), lstat));
  }
  return { foldsCase, above: { base: base.map((each) => `${each}/`).join(""), rules } };
}

/** The file of rules for all of a user's repositories. */
async function usersRules(root: string): Promise<string> {
  const ask = async () => promisify(execFile)(programAt("git"), ["-C", root, "config", "--path", "--get", "core.excludesFile"], { windowsHide: true });
  const named = await ask().then(({ stdout }) => stdout.replace(/\n$/, ""), () => "");
  return path.resolve(root, named || path.join(process.env.XDG_CONFIG_HOME || path.join(os.homedir(), ".config"), "git", "ignore"));
}

/** Where a repository keeps what is its own: of a worktree or a submodule, `.git` is a file that says where. */
async function gitFolder(root: string): Promise<string> {
  const [, leads] = /^gitdir: (.+?)\s*$/.exec((await contents(path.join(root, ".git")))?.toString() ?? "") ?? [];
  if (leads === undefined) return path.join(root, ".git");
  const folder = path.resolve(root, leads);
  return path.resolve(folder, (await contents(path.join(folder, "commondir")))?.toString().trim() ?? ".");
}
