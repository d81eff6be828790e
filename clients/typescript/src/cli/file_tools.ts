// The tools that a chat gives the model: files of one folder, and nothing outside of it, wherever links lead. What a
// folder holds is src/folder.ts, so that the model sees what an index would. Writing is asked for.
import { lstat, mkdir, readFile, realpath, rm, stat, writeFile } from "node:fs/promises";
import path from "node:path";
import type { Tool } from "../index.js";
import { Names, isGits, textOf, walk } from "../folder.js";
import { nodeFolder, rulesFor } from "./node_folder.js";

const MOST_FILES = 2000;
const MOST_MATCHES = 200;
const LONGEST_LINE = 300;

const texts = (described: Record<string, string>, required: string[]) => ({
  type: "object",
  properties: Object.fromEntries(Object.entries(described).map(([name, description]) => [name, { type: "string", description }])),
  required,
  additionalProperties: false,
});

/** The user is asked before a file is written, and before one is read that no index would hold: it may be a secret. */
export interface Consent {
  mayRead(path: string, signal: AbortSignal): Promise<boolean>;
  /** `before` is what the file holds; nothing, where there is none. */
  mayWrite(path: string, text: string, before: string | undefined, signal: AbortSignal): Promise<boolean>;
}

/** Hidden files steer other programs, and the files of rules say what may be read: both are asked for in any case. */
export const isHidden = (path: string) => path.split("/").some((name) => name.startsWith("."));

export function fileTools(folder: string, { mayRead, mayWrite }: Consent): Tool[] {
  // What may be read unasked is said by the rules of the beginning: the model may have written those of now.
  const beginning = (async () => {
    const rules = await rulesFor(folder);
    const names = new Names(rules);
    for await (const _ of walk(nodeFolder(folder), rules, names));
    return names;
  })();
  beginning.catch(() => {}); // It is told to whoever asks for a file.
  const files = async () => {
    const names = await beginning;
    const isOpen = (at: string) => !isHidden(at) && waysTo(at).every((each) => names.reason(each) === undefined);
    const found = [];
    for await (const each of walk(nodeFolder(folder), await rulesFor(folder))) if ("file" in each && isOpen(each.path)) found.push(each);
    return found;
  };
  const below = (prefix: unknown) => {
    const start = typeof prefix === "string" ? prefix.replace(/^\.?\/+|^\.$/, "") : "";
    return (at: string) => at === start || at.startsWith(start === "" || start.endsWith("/") ? start : `${start}/`);
  };
  return [
    {
      name: "list_files",
      description: "Lists the text files of the user's folder, with those of its folders. Ignored, built and binary files are left out.",
      parameters: texts({ folder: "Only what is below this folder." }, []),
      repeatable: true,
      async run({ folder: prefix }) {
        const isBelow = below(prefix);
        const paths = (await files()).map((each) => each.path).filter(isBelow);
        return { Files: paths.slice(0, MOST_FILES), ...(paths.length > MOST_FILES && { More: paths.length - MOST_FILES }) };
      },
    },
    {
      name: "read_file",
      description: "Reads a text file of the user's folder.",
      parameters: texts({ path: "Relative to the folder." }, ["path"]),
      repeatable: true,
      async run({ path: name }, { signal }) {
        const { at, relative, isThere } = await inside(folder, name);
        if (!isThere) throw new Error(`${name} is not there.`);
        const isListed = (await files()).some((each) => each.path === relative);
        const found = textOf(name, await readFile(at));
        const reason = "reason" in found ? found.reason : undefined;
        if (reason === "binary") throw new Error(`${name} is no text.`);
        if ((!isListed || reason === "secret") && !(await mayRead(relative, signal))) throw new Error("The user does not want this file to be read.");
        return "text" in found ? found.text : readFile(at, "utf8");
      },
    },
    {
      name: "find_in_files",
      description: "Finds the lines that hold a text, without regard to case, in the files of the user's folder.",
      parameters: texts({ text: "What a line holds.", folder: "Only below this folder." }, ["text"]),
      repeatable: true,
      async run({ text, folder: prefix }) {
        const wanted = String(text).toLowerCase();
        const isBelow = below(prefix);
        const matches: { Path: string; Line: number; Text: string }[] = [];
        for (const { path: at, file } of await files()) {
          if (!isBelow(at)) continue;
          const found = textOf(at, await file.bytes().catch(() => new Uint8Array()));
          if (!("text" in found)) continue;
          for (const [line, words] of found.text.split("\n").entries()) {
            if (!words.toLowerCase().includes(wanted)) continue;
            if (matches.length >= MOST_MATCHES) return { Matches: matches, More: true };
            matches.push({ Path: at, Line: line + 1, Text: words.trim().slice(0, LONGEST_LINE) });
          }
        }
        return { Matches: matches };
      },
    },
    {
      name: "write_file",
      description: "Writes a text file of the user's folder, as a whole. The user is asked first.",
      parameters: texts({ path: "Relative to the folder.", text: "All that the file is to hold." }, ["path", "text"]),
      async run({ path: name, text }, { signal }) {
        if (typeof text !== "string") throw new Error("text must be a string.");
        const now = async () => {
          const { at, relative, isThere } = await inside(folder, name);
          const bytes = isThere ? await readFile(at) : undefined;
          return { at, relative, bytes, before: bytes?.toString() };
        };
        const { at, relative, before } = await now();
        if (before === text) return { Written: false, Unchanged: true };
        if (!(await mayWrite(relative, text, before, signal))) throw new Error("The user does not want this file to be written.");
        // A file, or a link, may have come to where there was none.
        const then = await now();
        if (then.at !== at || then.before !== before) throw new Error(`${name} has changed while the user was asked.`);
        signal.throwIfAborted();
        await mkdir(path.dirname(at), { recursive: true });
        try {
          await writeFile(at, text);
        } catch (error) {
          // A full disk takes a part at most, in the place of what was there, for which there is room again.
          await (then.bytes ? writeFile(at, then.bytes) : rm(at, { force: true })).catch(() => {});
          throw error;
        }
        return { Written: true };
      },
    },
  ];
}

/** The folders on the way to a path, and the path. */
const waysTo = (at: string) => at.split("/").map((_, count, names) => names.slice(0, count + 1).join("/") + (count + 1 < names.length ? "/" : ""));

/** The file of that name, which may be none yet. Neither `..` nor a link leads out of the folder, or to what is git's own. */
async function inside(folder: string, name: unknown): Promise<{ at: string; relative: string; isThere: boolean }> {
  if (typeof name !== "string" || name === "") throw new Error("path must be a text.");
  const root = await realpath(folder);
  let known = path.resolve(root, name);
  // Before anything looks there: whoever looks at a share of another machine is made known to that machine by Windows.
  const driveOf = (at: string) => path.parse(at).root.toLowerCase();
  if (driveOf(known) !== driveOf(root)) throw new Error(`${name} is outside of the folder.`);
  let rest = "";
  // A file that is not there yet lies where the nearest folder that is there leads.
  for (;;) {
    const real = await realpath(known).catch(() => undefined);
    if (real === undefined) {
      // Whoever writes to a link makes the file to which it leads, wherever that is.
      const isLink = await lstat(known).then((found) => found.isSymbolicLink(), () => false);
      if (isLink) throw new Error(`${name} is a link to what is not there.`);
      rest = path.join(path.basename(known), rest);
      known = path.dirname(known);
      continue;
    }
    const at = path.join(real, rest);
    const relative = path.relative(root, at).split(path.sep).join("/");
    if (path.isAbsolute(relative) || relative.split("/")[0] === ".." || relative === "") throw new Error(`${name} is outside of the folder.`);
    if (relative.split("/").some(isGits)) throw new Error(`${name} is git's own, and neither read nor written.`);
    const isThere = rest === "";
    // What is no file, such as a named pipe, may have no end.
    if (isThere && !(await stat(at)).isFile()) throw new Error(`${name} is no file.`);
    return { at, relative, isThere };
  }
}
