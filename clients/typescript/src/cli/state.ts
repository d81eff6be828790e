// What a chat keeps on this computer between its processes: the results of tools whose turn has not ended, and the newest
// session of each folder. A file for each key, since several chats may run at a time.
import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { Store } from "../index.js";

/** By the XDG standard, and where Windows keeps such things. */
export function stateFolder(env: Record<string, string | undefined>): string {
  const base = env.XDG_STATE_HOME || (process.platform === "win32" && env.LOCALAPPDATA) || path.join(os.homedir(), ".local", "state");
  return path.join(base, "aptix-edge");
}

/** A store of one service and one key or user: sessions of others may have the same ids. */
export function fileStore(folder: string, owner: string): Store {
  const file = (key: string) => path.join(folder, `${createHash("sha256").update(`${owner}\n${key}`).digest("hex")}.json`);
  return {
    get: async <T>(key: string) => {
      const text = await readFile(file(key), "utf8").catch((error: NodeJS.ErrnoException) => {
        if (error.code !== "ENOENT") throw error;
      });
      return text === undefined ? undefined : (JSON.parse(text) as T);
    },
    async update(key, value) {
      if (value === undefined) return rm(file(key), { force: true });
      // What tools returned is for the user alone.
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const beside = `${file(key)}.${process.pid}`;
      // Flushed before the name is its own: else a power cut can leave an empty file of that name.
      try {
        await writeFile(beside, JSON.stringify(value), { mode: 0o600, flush: true });
        await rename(beside, file(key));
      } catch (error) {
        // Nobody would ever take away what a full disk has left of it.
        await rm(beside, { force: true });
        throw error;
      }
    },
  };
}
