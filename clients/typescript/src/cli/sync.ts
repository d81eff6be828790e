// `sync`: a folder into a workspace, once or as it changes. Owns what is told of it; what a folder holds is src/folder.ts.
import { createHash } from "node:crypto";
import { watch } from "node:fs";
import { stat } from "node:fs/promises";
import type { Aptix } from "../index.js";
import { type Passed, REASONS, counted, textOf, unchanged, walk } from "../folder.js";
import { type LeftOut, type SourceDocument, Workspace } from "../workspace.js";
import { nodeFolder, rulesFor } from "./node_folder.js";
import { EXIT, type Terminal, UsageError, documents, failed, shown, tell } from "./terminal.js";

export interface SyncArguments {
  url: string;
  folder: string;
  workspace: string;
  watch: boolean;
  dryRun: boolean;
  keep: boolean;
  verbose: boolean;
  maxBytes?: number;
  /** Patterns of what is taken in any case. */
  include?: string[];
}

/** What was read of a file, for as long as its version is the same. */
type Seen = Map<string, { version?: string; read: Passed["reason"] | { sha256: string } }>;

/** The time in which changes count as one, in ms. */
const QUIET_MS = 200;
/**
 * Folders that are watched for changes of a system that cannot tell are looked at so often, in ms, and so are those in which something
 * is written all the time.
 */
const POLL_MS = 2000;
const PATHS_SHOWN = 20;

export async function sync(aptix: Aptix, options: SyncArguments, terminal: Terminal): Promise<number> {
  const isFolder = await stat(options.folder).then((found) => found.isDirectory(), () => false);
  if (!isFolder) throw new UsageError(`${options.folder} is no folder that can be read.`);
  const workspace = new Workspace(aptix, options.workspace);
  const seen: Seen = new Map();
  // Before the first walk, so that no change falls in between.
  const changes = options.watch ? watched(options.folder, terminal.signal) : undefined;
  const code = await once(workspace, options, seen, terminal, true);
  if (!changes) return code;
  if (!terminal.json) terminal.err(`Watching ${options.folder}; Ctrl-C ends it.\n`);
  for await (const _ of changes) {
    // A service that is away for a while is asked again with the next change.
    await once(workspace, options, seen, terminal, false).catch((error: Error) => {
      terminal.signal.throwIfAborted();
      failed(terminal, error, options.url);
    });
  }
  return EXIT.done;
}

async function once(workspace: Workspace, options: SyncArguments, seen: Seen, terminal: Terminal, isFirst: boolean): Promise<number> {
  const { listed, passed } = await listedIn(options, seen, terminal.signal);
  const unread = passed.filter(({ reason }) => reason === "unreadable").map(({ path }) => path);
  // What cannot be read may well be there.
  const isGone = (path: string) => !unread.some((at) => at === "./" || at === path || (at.endsWith("/") && path.startsWith(at)));
  const bar = progressBar(terminal);
  const synced = await workspace
    .sync(listed, { remove: !options.keep && isGone, dryRun: options.dryRun, signal: terminal.signal, onProgress: bar.show })
    .finally(bar.end);
  const told = { workspace: workspace.workspaceId, dryRun: options.dryRun, documents: listed.length, ...synced, passed };
  const leftOut = synced.leftOut.map(({ path, error }) => ({ path, message: error.message }));
  const hasChanged = synced.sent.length + synced.removed.length + leftOut.length > 0;
  if (isFirst || hasChanged) tell(terminal, { ...told, leftOut, passed: passed.map(({ path, reason }) => ({ path, reason })) }, report(told, isFirst, options.verbose));
  return leftOut.length > 0 || unread.length > 0 ? EXIT.partly : EXIT.done;
}

/** The documents of the folder, with the hashes of their contents, and what is left out. */
async function listedIn(options: SyncArguments, seen: Seen, signal: AbortSignal) {
  const listed: SourceDocument[] = [];
  const passed: Passed[] = [];
  const present = new Set<string>();
  const rules = { maxBytes: options.maxBytes, include: options.include, ...(await rulesFor(options.folder)) };
  for await (const found of walk(nodeFolder(options.folder), rules)) {
    signal.throwIfAborted();
    if ("reason" in found) {
      passed.push(found);
      continue;
    }
    const { path, file, isIncluded } = found;
    present.add(path);
    try {
      let known = seen.get(path);
      if (known === undefined || known.version !== file.version) {
        const found = textOf(path, await file.bytes(), isIncluded);
        const read = "reason" in found ? found.reason : { sha256: createHash("sha256").update(found.text).digest("hex") };
        seen.set(path, (known = { version: file.version, read }));
      }
      if (typeof known.read === "string") passed.push({ path, reason: known.read });
      else listed.push({ Path: path, Sha256: known.read.sha256, Contents: async () => unchanged(textOf(path, await file.bytes(), isIncluded)) });
    } catch (error) {
      passed.push({ path, reason: "unreadable", error: error as Error });
    }
  }
  for (const path of seen.keys()) if (!present.has(path)) seen.delete(path);
  return { listed, passed };
}

function report(
  told: { workspace: string; dryRun: boolean; documents: number; sent: string[]; removed: string[]; leftOut: LeftOut[]; hasMore?: boolean; passed: Passed[] },
  isFirst: boolean,
  isVerbose: boolean,
): string {
  const { sent, removed, leftOut, passed, dryRun } = told;
  const would = dryRun ? "would be " : "";
  const lines: string[] = [];
  const list = (sign: string, paths: string[]) => {
    const most = isVerbose ? paths.length : PATHS_SHOWN;
    lines.push(...paths.slice(0, most).map((path) => `${sign} ${shown(path)}`));
    if (paths.length > most) lines.push(`${sign} … and ${paths.length - most} more (--verbose lists all)`);
  };
  if (dryRun || isVerbose || !isFirst) {
    list("+", sent);
    list("-", removed);
  }
  for (const { path, error } of leftOut) lines.push(`! ${shown(path)}: ${shown(error.message)}`);
  for (const { path, error, reason } of passed) {
    if (reason === "unreadable" && isFirst) lines.push(`! ${shown(path)}: ${shown(error?.message ?? REASONS.unreadable)}`);
    else if (isFirst && (isVerbose || reason === "secret")) lines.push(`. ${shown(path)}: ${REASONS[reason]}`);
  }
  const same = told.documents - sent.length - leftOut.length;
  lines.push(`${told.workspace}: ${documents(sent.length)} ${would}sent, ${removed.length}${told.hasMore ? " or more" : ""} ${would}removed, ${same} unchanged`);
  const counts = isFirst ? counted(passed) : [];
  if (counts.length > 0) lines.push(`left out: ${counts.map(({ reason, count }) => `${count} ${REASONS[reason]}`).join(", ")}`);
  return lines.join("\n");
}

/**
 * Yields once for each time in which something has changed since the call. Where the system cannot tell, from time to time.
 * What looks at the folder keeps no program alive by itself, as the iteration may never begin.
 */
function watched(folder: string, signal: AbortSignal): AsyncGenerator<void, void, void> {
  let wake = () => {};
  let hasChanged = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  let latest: ReturnType<typeof setTimeout> | undefined;
  const rested = () => {
    clearTimeout(timer);
    clearTimeout(latest);
    latest = undefined;
    hasChanged = true;
    wake();
  };
  const changed = () => {
    clearTimeout(timer);
    timer = setTimeout(rested, QUIET_MS);
    latest ??= setTimeout(rested, POLL_MS);
  };
  const poll = () => setInterval(() => ((hasChanged = true), wake()), POLL_MS).unref();
  let polling: ReturnType<typeof setInterval> | undefined;
  const watcher = (() => {
    try {
      const made = watch(folder, { recursive: true }, changed);
      made.on("error", () => (polling ??= poll()));
      return made.unref();
    } catch {
      polling = poll();
      return undefined;
    }
  })();
  return (async function* () {
    const stop = () => wake();
    const alive = setInterval(() => {}, 1 << 30);
    signal.addEventListener("abort", stop);
    try {
      while (!signal.aborted) {
        if (!hasChanged) await new Promise<void>((resolve) => (wake = resolve));
        if (signal.aborted) return;
        hasChanged = false;
        yield;
      }
    } finally {
      watcher?.close();
      clearTimeout(timer);
      clearTimeout(latest);
      clearInterval(polling);
      clearInterval(alive);
      signal.removeEventListener("abort", stop);
    }
  })();
}

/** The widest that it is. */
const BAR = 30;
/** A bar below what was told, on a terminal alone. */
function progressBar({ isTerminal, json, err }: Terminal): { show(done: number, all: number): void; end(): void } {
  if (!isTerminal || json) return { show() {}, end() {} };
  return {
    show(done, all) {
      const told = ` ${done} of ${all}`;
      // A line that is full would begin the next one, which stays.
      const width = Math.max(0, Math.min(BAR, (process.stderr.columns ?? 80) - told.length - 1));
      const full = Math.round((width * done) / Math.max(1, all));
      err(`\r${"█".repeat(full)}${"░".repeat(width - full)}${told}`);
    },
    end: () => err("\r\u001b[K"),
  };
}
