// A workspace: documents that turns are given chunks of, and keeping them as they are elsewhere. An entry of its own, so
// that the core stays small: what it needs of a client is `request`.
import type { Aptix } from "./client.js";
import type { Call } from "./http.js";
import { abortable, type Signal } from "./signals.js";
import type { Comparison, Document, Found, SearchRequest, Upserted, WorkspaceCounts } from "./types.js";

/** A document whose contents may be read when they are needed, which can be twice. */
export type SourceDocument = Omit<Document, "Contents"> & { Contents: string | (() => string | PromiseLike<string>) };

/** How `sync` goes about it. */
export interface SyncOptions {
  /** Whether documents that are not listed are removed. */
  remove?: boolean;
  /** The bytes of one request, at most, unless one document has more. 4 MiB. */
  maxBytes?: number;
  signal?: Signal;
  /** After every request: how many documents of how many were sent or removed. */
  onProgress?(done: number, all: number): void;
}

const MOST_DOCUMENTS = 100;
const MOST_COMPARED = 10_000;
const MAX_BYTES = 4 << 20;
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
      for (const Documents of batches(documents, MOST_DOCUMENTS, options.maxBytes ?? MAX_BYTES)) {
        put.push(...(await this.#send<Upserted>("PUT", "/documents", { Documents }, signal)).Documents);
      }
    } finally {
      dispose();
    }
    return put;
  }

  /** Removes one document, or all under a path that ends in `/`. */
  remove(path: string): Promise<unknown> {
    return this.#send("DELETE", "/documents", undefined, undefined, `Path=${encodeURIComponent(path)}`);
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

  /** Makes the index equal to these documents: compares their hashes, sends what is new or changed, and no more. */
  async sync(documents: SourceDocument[], options: SyncOptions = {}): Promise<{ sent: string[]; removed: string[] }> {
    const { signal, dispose } = abortable(options.signal);
    const listed = new Map(documents.map((document) => [normalPath(document.Path), document]));
    const sent: string[] = [];
    const removed: string[] = [];
    try {
      const { needed, extra } = await this.#compare(listed, options.maxBytes ?? MAX_BYTES, signal);
      const doomed = options.remove ? extra : [];
      const told = () => options.onProgress?.(sent.length + removed.length, needed.length + doomed.length);
      for await (const Documents of read(needed.map((Path) => ({ ...listed.get(Path)!, Path })), options.maxBytes ?? MAX_BYTES)) {
        await this.#send("PUT", "/documents", { Documents }, signal);
        sent.push(...Documents.map(({ Path }) => Path));
        told();
      }
      for (const path of doomed) {
        await this.#send("DELETE", "/documents", undefined, signal, `Path=${encodeURIComponent(path)}`);
        removed.push(path);
        told();
      }
    } finally {
      dispose();
    }
    return { sent, removed };
  }

  /** The paths that the index lacks, and those that it has besides (of these, 10,000 for each request at most). */
  async #compare(listed: Map<string, SourceDocument>, maxBytes: number, signal?: AbortSignal) {
    const hashes: { Path: string; Sha256: string }[] = [];
    for (const [Path, document] of listed) {
      hashes.push({ Path, Sha256: await sha256(await contentsOf(document)) });
    }
    const needed: string[] = [];
    const extra = new Set<string>();
    for (const Documents of batches(hashes, MOST_COMPARED, maxBytes)) {
      const { Needed, Extra } = await this.#send<Comparison>("POST", "/compare", { Documents }, signal);
      needed.push(...Needed);
      for (const path of Extra) if (!listed.has(path)) extra.add(path);
    }
    return { needed, extra: [...extra] };
  }

  #send<T>(method: Call["method"], path: string, body?: object, signal?: AbortSignal, query?: string): Promise<T> {
    const call: Call = { method, path: this.#path + path };
    if (body) call.body = JSON.stringify(body);
    if (query) call.query = query;
    return this.aptix.request(call, { signal });
  }
}

/** The one form of a path in which the service lists it: `./src//a.rs` is `src/a.rs`. A bad path stays bad, for the service to refuse. */
function normalPath(path: string): string {
  if (path.startsWith("/") || /(^|\/)\.?$/.test(path)) return path;
  return path.split("/").filter((segment) => segment !== "" && segment !== ".").join("/");
}

const contentsOf = async ({ Contents }: SourceDocument) => (typeof Contents === "function" ? Contents() : Contents);

async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", utf8.encode(text));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Collects items until another one would be too many, or too long. */
class Batch<T> {
  items: T[] = [];
  #bytes = 0;

  constructor(
    readonly most: number,
    readonly maxBytes: number,
  ) {}

  /** Adds an item; gives the batch before it where that was full. */
  add(item: T): T[] | undefined {
    const bytes = utf8.encode(JSON.stringify(item)).length + 1;
    const full = this.items.length >= this.most || (this.items.length > 0 && this.#bytes + bytes > this.maxBytes);
    const before = full ? this.items : undefined;
    if (full) [this.items, this.#bytes] = [[], 0];
    this.items.push(item);
    this.#bytes += bytes;
    return before;
  }
}

function* batches<T>(items: Iterable<T>, most: number, maxBytes: number): Generator<T[]> {
  const batch = new Batch<T>(most, maxBytes);
  for (const item of items) {
    const full = batch.add(item);
    if (full) yield full;
  }
  if (batch.items.length > 0) yield batch.items;
}

/** Documents with their contents, read as they are sent. */
async function* read(documents: SourceDocument[], maxBytes: number): AsyncGenerator<Document[]> {
  const batch = new Batch<Document>(MOST_DOCUMENTS, maxBytes);
  for (const document of documents) {
    const full = batch.add({ ...document, Contents: await contentsOf(document) });
    if (full) yield full;
  }
  if (batch.items.length > 0) yield batch.items;
}
