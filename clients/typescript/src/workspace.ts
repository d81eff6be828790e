// A workspace: documents that turns are given chunks of, and keeping them as they are elsewhere. An entry of its own, so
// that the core stays small: what it needs of a client is `request`.
import type { Aptix } from "./client.js";
import type { Answer, Call } from "./http.js";
import { AptixError } from "./index.js";
import { abortable, type Signal } from "./signals.js";
import type { Comparison, Document, Entry, Found, SearchRequest, Upserted, WorkspaceCounts } from "./types.js";

/** A document whose contents may be read when they are needed, which can be twice. */
export type SourceDocument = Omit<Document, "Contents"> & {
  Contents: string | (() => string | PromiseLike<string>);
  /** Of the contents in UTF-8, lower-case hex, where it is known: contents are then read only to be sent. */
  Sha256?: string;
};

/** A document that was not sent, and why: what reading it threw, or what the service says of it. */
export interface LeftOut {
  path: string;
  error: Error;
}

/** What `sync` came to. */
export interface Synced {
  sent: string[];
  removed: string[];
  leftOut: LeftOut[];
  /** Of a dry run: more may be removed than the service has named at once. */
  hasMore?: boolean;
}

/** How `sync` goes about it. */
export interface SyncOptions {
  /** Whether documents that are not listed are removed; which of them. */
  remove?: boolean | ((path: string) => boolean);
  /** Only tells what would be sent and removed. */
  dryRun?: boolean;
  /** The bytes of one request, at most, unless one document has more. 4 MiB. */
  maxBytes?: number;
  signal?: Signal;
  /** After every request: how many documents of how many were sent or removed. */
  onProgress?(done: number, all: number): void;
}

const MOST_DOCUMENTS = 100;
const MOST_COMPARED = 10_000;
const MAX_BYTES = 4 << 20;
/** Of the query of a removal: with longer addresses not every proxy deals. */
const MAX_QUERY = 6000;
/** The service takes no document of more characters. */
const LONGEST_CONTENTS = 20_000_000;
/** A path that no document has: who compares with it alone learns of all that there are. */
const NO_DOCUMENT = { Path: "no document of this name", Sha256: "0".repeat(64) };
const utf8 = new TextEncoder();

/** An index of documents; a turn with its `WorkspaceId` is given the chunks that fit its instruction. Making it sends nothing. */
export class Workspace {
  readonly #path: string;

  constructor(
    private readonly aptix: Pick<Aptix, "request">,
    readonly workspaceId: string,
  ) {
    this.#path = `/workspaces/${encodeURIComponent(workspaceId)}`;
  }

  /** Puts documents into the index, in as many requests as they take. */
  async put(documents: Document[], options: { maxBytes?: number; signal?: Signal } = {}): Promise<Upserted["Documents"]> {
    const put: Upserted["Documents"] = [];
    const { signal, dispose } = abortable(options.signal);
    try {
      for await (const Documents of batches(documents, MOST_DOCUMENTS, options.maxBytes ?? MAX_BYTES)) {
        put.push(...(await this.#send<Upserted>("PUT", "/documents", { Documents }, signal)).Documents);
      }
    } finally {
      dispose();
    }
    return put;
  }

  /** Removes documents, and under a path that ends in `/` all. 100 paths are one request, which refuses all or none. */
  async remove(paths: string | string[]): Promise<void> {
    for await (const _ of this.#remove([paths].flat()));
  }

  /** What a turn would be given. */
  search(query: SearchRequest): Promise<Found> {
    return this.#send("POST", "/search", query);
  }

  /** How many documents, chunks and bytes it holds. */
  get(): Promise<WorkspaceCounts> {
    return this.#send("GET", "");
  }

  /** Erases the whole workspace; gives the counts of what it held. */
  erase(): Promise<WorkspaceCounts> {
    return this.#send("DELETE", "");
  }

  /**
   * Makes the index equal to these documents: compares their hashes, sends what is new or changed, and no more. A document
   * that cannot be read, or that the service refuses, is left out; what the index has of it stays. Where 20,000
   * documents are listed, or fewer with long paths, the service may not name all others, and those stay.
   */
  async sync(documents: SourceDocument[], options: SyncOptions = {}): Promise<Synced> {
    const { signal, dispose } = abortable(options.signal);
    const { remove, maxBytes = MAX_BYTES } = options;
    const listed = new Map(documents.map((document) => [normalPath(document.Path), document]));
    const synced: Synced = { sent: [], removed: [], leftOut: [] };
    const { sent, removed, leftOut } = synced;
    /** What `of` makes of each document, save of those that cannot be read. */
    async function* read<T>(paths: Iterable<string>, of: (document: SourceDocument, Path: string) => Promise<T>) {
      for (const path of paths) {
        try {
          yield await of(listed.get(path)!, path);
        } catch (error) {
          signal?.throwIfAborted();
          leftOut.push({ path, error: error as Error });
        }
      }
    }
    try {
      const hashes: { Path: string; Sha256: string }[] = [];
      const hash = async (document: SourceDocument, Path: string) => ({ Path, Sha256: document.Sha256 ?? (await sha256(await contentsOf(document))) });
      for await (const each of read(listed.keys(), hash)) hashes.push(each);
      if (remove && hashes.length === 0) hashes.push(NO_DOCUMENT);
      const compared = async (refused: LeftOut[]) => {
        const [needed, extra]: [string[], Set<string>] = [[], new Set()];
        let hasMore = false;
        for await (const some of batches(hashes, MOST_COMPARED, maxBytes)) {
          await this.#accepted<Comparison>("POST", "/compare", some, refused, signal, ({ Needed, Extra }, warnings) => {
            hasMore ||= warnings.some(({ ErrorCode }) => ErrorCode === "extra_cut");
            needed.push(...Needed.filter((path) => listed.has(path)));
            for (const path of Extra) if (!listed.has(path)) extra.add(path);
          });
        }
        return { needed, hasMore, doomed: [...extra].filter((path) => (typeof remove === "function" ? remove(path) : remove)) };
      };
      let { needed, hasMore, doomed } = await compared(leftOut);
      if (options.dryRun) return { sent: needed, removed: doomed, leftOut, ...(remove && hasMore && { hasMore }) };
      const told = () => options.onProgress?.(sent.length + removed.length, needed.length + doomed.length);
      const contents = read(needed, async ({ Sha256: _, ...document }, Path) => ({ ...document, Path, Contents: await contentsOf(document) }));
      for await (const some of batches(contents, MOST_DOCUMENTS, maxBytes)) {
        await this.#accepted<Upserted>("PUT", "/documents", some, leftOut, signal, ({ Documents }) => {
          sent.push(...Documents.map(({ Path }) => Path));
          told();
        });
      }
      for (;;) {
        for await (const count of this.#remove(doomed.slice(removed.length), signal)) {
          removed.push(...doomed.slice(removed.length, removed.length + count));
          told();
        }
        if (!hasMore) break;
        // What was not named for want of room is named now.
        const next = await compared([]);
        if (next.doomed.length === 0) break;
        doomed = [...removed, ...next.doomed];
        ({ hasMore } = next);
      }
    } finally {
      dispose();
    }
    return synced;
  }

  /** Sends documents; those that the service refuses by their place, or as too large when they are alone, are left out. */
  async #accepted<T>(method: Call["method"], path: string, Documents: { Path: string }[], leftOut: LeftOut[], signal: AbortSignal | undefined, then: (result: T, warnings: Entry[]) => void): Promise<void> {
    const again = (some: typeof Documents) => this.#accepted(method, path, some, leftOut, signal, then);
    if (Documents.length === 0) return;
    let told: { data: T; warnings: Entry[] };
    try {
      told = await this.#send<T>(method, path, { Documents }, signal).withResponse();
    } catch (error) {
      const { code, status, errors, cause } = error as AptixError;
      // A front with a bound of its own answers in its own words, or closes the connection while the body is sent.
      const isTooLarge = code === "body_too_large" || status === 413;
      const lost = (cause as { cause?: { code?: string } } | undefined)?.cause?.code;
      const half = Documents.length >> 1;
      if ((isTooLarge || lost === "ECONNRESET" || lost === "EPIPE") && half) {
        await again(Documents.slice(0, half));
        return again(Documents.slice(half));
      }
      const passed = Documents.filter((document, at) => {
        const own = isTooLarge ? errors : errors?.filter(({ Path }) => `${Path}/`.startsWith(`/Documents/${at}/`));
        // Its place in the request tells nobody anything: the path does.
        const told = own?.map((entry) => ({ ...entry, Message: entry.Message.replace(`Documents[${at}].`, "") }));
        if (told?.length) leftOut.push({ path: document.Path, error: new AptixError(status, told) });
        return !own?.length;
      });
      if (passed.length === Documents.length) throw error;
      return again(passed);
    }
    then(told.data, told.warnings);
  }

  /** Yields after each request how many paths it had. */
  async *#remove(paths: string[], signal?: AbortSignal): AsyncGenerator<number, void, void> {
    for await (const some of batches(paths.map((path) => `Path=${encodeURIComponent(path)}`), MOST_DOCUMENTS, MAX_QUERY)) {
      await this.#send("DELETE", "/documents", undefined, signal, some.join("&"));
      yield some.length;
    }
  }

  #send<T>(method: Call["method"], path: string, body?: object, signal?: AbortSignal, query?: string): Answer<T> {
    const call: Call = { method, path: this.#path + path };
    if (body) call.body = JSON.stringify(body);
    if (query) call.query = query;
    return this.aptix.request(call, { signal });
  }
}

/**
 * The one form of a path in which the service lists it: `./src//a.rs` is `src/a.rs`, and on Windows `src\a.rs` is, too. A bad
 * path stays bad, for the service to refuse.
 */
function normalPath(path: string): string {
  const { process } = globalThis as { process?: { platform?: string } };
  if (process?.platform === "win32") path = path.replaceAll("\\", "/");
  if (path.startsWith("/") || /(^|\/)\.?$/.test(path)) return path;
  return path.split("/").filter((segment) => segment !== "" && segment !== ".").join("/");
}

async function contentsOf({ Contents }: Pick<SourceDocument, "Contents">): Promise<string> {
  const text = typeof Contents === "function" ? await Contents() : Contents;
  if (typeof text !== "string" || /\p{Surrogate}/u.test(text)) throw new TypeError("The contents are no text.");
  if (text.length > LONGEST_CONTENTS) throw new RangeError(`The contents are too long: ${text.length} characters.`);
  return text;
}

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The items in their order, so many at a time that they are neither too many nor, as JSON, too long together. */
async function* batches<T>(items: Iterable<T> | AsyncIterable<T>, most: number, maxBytes: number): AsyncGenerator<T[]> {
  let batch: T[] = [];
  let bytes = 0;
  for await (const item of items) {
    const more = utf8.encode(JSON.stringify(item)).length + 1;
    if (batch.length >= most || (batch.length > 0 && bytes + more > maxBytes)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(item);
    bytes += more;
  }
  if (batch.length > 0) yield batch;
}
