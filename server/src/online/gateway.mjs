// What stands between the Worker and the services that are asked: it hands requests on as they are, and keeps a record of each,
// from which the report says what a service refused.
import http from 'node:http';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';

/** The longest exchange, in ms. */
const PATIENCE_MS = 120_000;
/** Headers of one connection, or of what the gateway has unpacked. */
const OF_THE_CONNECTION = ['host', 'connection', 'content-length', 'transfer-encoding', 'accept-encoding', 'content-encoding', 'keep-alive'];

export class Gateway {
  #server;
  #targets = new Map();
  #records = new Map();
  #cuts = new Map();
  /** Whose reads are held, each until it is let go. */
  #held = new Map();

  static async start() {
    const gateway = new Gateway();
    gateway.#server = http.createServer((request, response) => gateway.#serve(request, response).catch(() => response.destroy()));
    await new Promise((resolve) => gateway.#server.listen(0, '127.0.0.1', resolve));
    return gateway;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The address that stands before `url`. What goes through it is recorded under `name`. */
  before(name, url) {
    this.#targets.set(name, url.replace(/\/$/, ''));
    this.#records.set(name, []);
    return `http://127.0.0.1:${this.#server.address().port}/${name}`;
  }

  /** `{ method, path, asked, status, streamed, message }` of each exchange; `message` is empty for a success. */
  of(name) {
    return this.#records.get(name);
  }

  /** Why the latest exchange came to nothing; `undefined` where it did not. */
  latestFault(name) {
    return this.of(name).at(-1)?.message || undefined;
  }

  /** The next stream of events breaks after so many. */
  cutAfter(name, events) {
    this.#cuts.set(name, events);
  }

  /** Reads of responses wait from now on. */
  holdReads(name) {
    this.#held.set(name, Promise.withResolvers());
  }

  letReadsGo() {
    for (const { resolve } of this.#held.values()) resolve();
    this.#held.clear();
  }

  async #serve(request, response) {
    const [, name, rest] = /^\/([^/]+)(.*)$/.exec(request.url);
    const sent = await buffer(request);
    const record = { method: request.method, path: rest, asked: jsonOf(sent), streamed: false, message: '' };
    this.of(name).push(record);
    if (request.method === 'GET') await this.#held.get(name)?.promise;
    const headers = Object.entries(request.headers).filter(([header]) => !OF_THE_CONNECTION.includes(header));
    let answer;
    try {
      const body = sent.length > 0 ? sent : undefined;
      answer = await fetch(`${this.#targets.get(name)}${rest}`, { method: request.method, headers, body, redirect: 'manual', signal: AbortSignal.timeout(PATIENCE_MS) });
    } catch (error) {
      record.message = error.cause?.message || error.message;
      return response.destroy();
    }
    record.status = answer.status;
    record.streamed = (answer.headers.get('content-type') ?? '').startsWith('text/event-stream');
    response.writeHead(answer.status, Object.fromEntries([...answer.headers].filter(([header]) => !OF_THE_CONNECTION.includes(header))));
    if (!answer.ok) {
      const text = await answer.text();
      record.message = `${answer.status} ${messageIn(text)}`.trimEnd();
      return response.end(text);
    }
    const events = this.#cuts.get(name);
    this.#cuts.delete(name);
    try {
      const first = events !== undefined && record.streamed ? new FirstEvents(events) : undefined;
      for await (const chunk of answer.body ?? Readable.from([])) {
        const kept = first?.of(chunk) ?? chunk;
        await new Promise((resolve) => response.write(kept, resolve));
        if (first?.areAll) return response.destroy();
      }
      return response.end();
    } catch (error) {
      record.message = error.cause?.message || error.message;
      return response.destroy();
    }
  }
}

/** The first events of a stream, of whose bytes two line feeds end each. */
class FirstEvents {
  #left;
  #endsLine = false;

  constructor(events) {
    this.#left = events;
  }

  get areAll() {
    return this.#left === 0;
  }

  /** What of a chunk belongs to them. */
  of(chunk) {
    for (const [index, byte] of chunk.entries()) {
      const isLineFeed = byte === 0x0a;
      if (isLineFeed && this.#endsLine) this.#left -= 1;
      this.#endsLine = isLineFeed && !this.#endsLine;
      if (this.areAll) return chunk.subarray(0, index + 1);
    }
    return chunk;
  }
}

function jsonOf(bytes) {
  try {
    return JSON.parse(bytes);
  } catch {
    return null;
  }
}

/** The message of a refusal, in the forms in which services write one. */
function messageIn(text) {
  const body = jsonOf(text);
  const error = body?.error ?? body?.detail ?? body?.message;
  if (typeof error === 'string') return error;
  if (error !== undefined && error !== null) return [error.code ?? error.type, error.message].filter((part) => typeof part === 'string').join(': ') || JSON.stringify(error);
  return text;
}
