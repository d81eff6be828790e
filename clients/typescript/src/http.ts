// One HTTP request, and how it is repeated. Every request of this service may be repeated unchanged, always: ids and
// content make it the same request.
import { inTime } from "./arrival.js";
import type { Bearer, Credential } from "./credential.js";
import { AptixConnectionError, AptixError, type Repetition, repetition } from "./errors.js";
import { type ServerSentEvent, piecesOf, serverSentEvents } from "./events.js";
import { type Signal, abortable, after, onAbort, pause, unlessAborted } from "./signals.js";
import type { Entry, ErrorCode } from "./types.js";

/** An attempt as `onLog` gets it: never a body, a query or a key. */
export interface LogEntry {
  method: string;
  path: string;
  /** From 1. */
  attempt: number;
  /** Until the head of the response, or the failure. */
  milliseconds: number;
  status?: number;
  /** Where no response came: the name of the failure. */
  error?: string;
}

/** How a request is made. What is given with one goes before what the client was made with; headers are added. */
export interface RequestOptions {
  /** Further headers. In a browser the service accepts none of them but those of its interface. */
  headers?: Record<string, string>;
  /** The longest that one attempt may take, in ms; a stream has `idleTimeoutMs` instead. No limit. */
  timeoutMs?: number;
  /** The longest that all attempts may take together, the waits between them and a whole turn included, in ms. No limit. */
  deadlineMs?: number;
  /** Is told of every attempt, as the client's own is. */
  onLog?(entry: LogEntry): void;
}

/** Stands around each attempt: sees and changes what is sent and what comes back. For tracing, and for tests. */
export type Middleware = (url: string, init: RequestInit, next: typeof fetch) => Promise<Response>;

/** Where the service is, and how often it is asked again. */
export interface HttpOptions extends RequestOptions {
  /** Where the service is, with or without a path: `https://agent.example.com`. */
  baseUrl: string;
  /**
   * A key, a ticket or a JWT, or what gives one. A function is asked again 30 s before the end of what it gave, and once
   * after `credential_expired`; where there is no end, as of a key, for each attempt.
   */
  credential?: Credential;
  /** `credential`, under the name that it has where it is a key. */
  apiKey?: Credential;
  /** In place of `globalThis.fetch`. */
  fetch?: typeof globalThis.fetch;
  /** What stands around each attempt, the first one outermost. */
  middleware?: readonly Middleware[];
  /** How often a request is repeated that the service put off (`rate_limited`, `overloaded`, `request_timeout`, `identity_unavailable`). 2. */
  maxRetries?: number;
  /** How often in a row a connection is tried again without any text coming. 5. */
  maxReconnects?: number;
  /** How often a failed turn is run again, which costs model calls. 0. */
  retryFailedTurns?: number;
  /** The first wait before a repetition, in ms; each further one is twice as long, up to 8 s. 500. */
  retryDelayMs?: number;
  /** The longest silence of a stream, in ms, after which it is taken for dead and resumed. 30000. */
  idleTimeoutMs?: number;
}

/** The same, as the parts of one client share it. */
export interface Http extends HttpOptions {
  bearer: Bearer;
  /** What all requests of the client have learnt. */
  learnt: { isThere?: boolean };
  /** Is told of every response of a turn. */
  heard?(response: Response): void;
  /** Where what is asked for is on its way: it is there then, or is not sent any more. */
  arrival?: () => Promise<void> | undefined;
}

/** The client's own way of a request, with what is given for this one. */
export const withOptions = (http: Http, options: RequestOptions): Http => ({
  ...http,
  ...options,
  onLog: (entry) => (http.onLog?.(entry), options.onLog?.(entry)),
  headers: { ...http.headers, ...options.headers },
});

/** A request. `live`: the service sends something at least every 10 s, so that a longer silence is a dead connection. */
export interface Call {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  path: string;
  query?: string;
  body?: string;
  headers?: Record<string, string>;
  live?: boolean;
  /** The refusal by which a repetition learns that an attempt whose answer was lost has done it. */
  doneBy?: ErrorCode;
}

/** The longest `Retry-After` that is waited for. */
const LONGEST_WAIT_MS = 60_000;
/** Where a port does not come and go while one asks. */
const THIS_MACHINE = /^https?:\/\/(localhost|127(\.\d+){3}|\[::1\])(:|\/|$)/i;

/** One attempt at a call. Its connection ends with the signal, by `close`, or after too long a silence. */
export class Exchange {
  /** What was shown with the request. */
  bearer: string | undefined;
  readonly #controller = new AbortController();
  readonly #unlisten: () => void;
  readonly #callOff: () => void;
  #response: Response | undefined;
  #isLive: boolean | undefined;

  constructor(
    private readonly options: Http,
    private readonly call: Call,
    signal?: AbortSignal,
  ) {
    this.#isLive = call.live;
    this.#unlisten = onAbort(signal, (reason) => this.#controller.abort(reason));
    this.#callOff = this.#endedAfter(options.timeoutMs, "no answer within");
  }

  /** Sends the request; resolves with the head of its response. `position` is where a stream goes on. */
  async response(attempt: number, position?: string): Promise<Response> {
    const { baseUrl, bearer, headers, onLog, fetch, heard, learnt, middleware = [] } = this.options;
    const { call } = this;
    const { method, path, query, body } = call;
    const began = Date.now();
    const log = (more: { status?: number; error?: string }) =>
      onLog?.({ method, path, attempt, milliseconds: Date.now() - began, ...more });
    try {
      const shown = (this.bearer = await this.#inTime(bearer.get()));
      // The global one is called where it stands, never stored: browsers refuse it as a method of something else.
      const plain: typeof globalThis.fetch = fetch ?? ((url, init) => globalThis.fetch(url, init));
      const send = middleware.reduceRight<typeof plain>((next, layer) => (url, init) => layer(url as string, init!, next), plain);
      const sent = send(baseUrl.replace(/\/+$/, "") + path + (query ? `?${query}` : ""), {
        method,
        body,
        signal: this.#controller.signal,
        // The service sends nobody elsewhere, and a request has a key or words that are for nobody else.
        redirect: "manual",
        headers: {
          ...headers,
          ...call.headers,
          ...(shown && { Authorization: `Bearer ${shown}` }),
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...(position && { "Last-Event-ID": position }),
        },
      });
      const response = await this.#inTime(sent);
      learnt.isThere = true;
      log({ status: response.status });
      heard?.(response);
      return (this.#response = response);
    } catch (error) {
      log({ error: (error as Error)?.name ?? "Error" });
      // What a credential fails with has a cause of its own.
      const isRefused = !(error instanceof AptixError) && (error as { cause?: { code?: string } })?.cause?.code === "ECONNREFUSED";
      if (!isRefused || learnt.isThere || !THIS_MACHINE.test(baseUrl)) throw error;
      throw new AptixConnectionError(`Nobody listens at ${baseUrl}.`, { cause: error, isFinal: true });
    }
  }

  /** Whether it is answered with a stream, which is live in any case. */
  get isStream(): boolean {
    return this.#response!.headers.get("Content-Type")?.startsWith("text/event-stream") ?? false;
  }

  events(): AsyncGenerator<ServerSentEvent, void, void> {
    this.#isLive = true;
    this.#callOff();
    return serverSentEvents(this.#pieces(this.#response!.body!));
  }

  #pieces(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void, void> {
    return piecesOf(body, (read) => this.#inTime(read));
  }

  /** The body as JSON, which a live connection does not leave unfinished. A `fetch` without streams, or with those of Node, reads it by itself. */
  async #json(response: Response): Promise<unknown> {
    if (!response.body?.getReader) return unlessAborted(response.json(), this.#controller.signal);
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of this.#pieces(response.body)) text += decoder.decode(piece, { stream: true });
    return JSON.parse(text + decoder.decode());
  }

  /** Those of its result. */
  warnings: Entry[] = [];

  /** The `Result` of a JSON response; anything but a successful one is thrown. */
  async result<T>(): Promise<T> {
    const response = this.#response!;
    const answer = await this.#json(response).catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error;
    });
    this.warnings = (answer as { Warnings?: Entry[] } | undefined)?.Warnings ?? [];
    return resultOf<T>(answer, toldBy(response));
  }

  close(): void {
    this.#unlisten();
    this.#callOff();
    this.#controller.abort();
  }

  /**
   * Waits for the other side, no longer than a live connection is silent, and in no case after the end: another's `fetch` or
   * `middleware` may know no signal. Time that the caller takes does not count.
   */
  async #inTime<T>(given: Promise<T>): Promise<T> {
    const callOff = this.#endedAfter(this.#isLive ? this.options.idleTimeoutMs ?? 30_000 : undefined, "nothing came for");
    try {
      return await unlessAborted(given, this.#controller.signal);
    } finally {
      callOff();
    }
  }

  /** Ends the connection after so many ms; returns what calls that off. */
  #endedAfter(ms: number | undefined, what: string): () => void {
    return after(ms, () => this.#controller.abort(new Error(`${what} ${ms} ms`)));
  }
}

/** The attempts at one request: how many there may be, and the waits between them. */
export class Attempts {
  /** The number of the present attempt, from 1. */
  count = 1;
  readonly #spent: { [kind in Repetition]?: number } = {};

  constructor(
    private readonly options: Http,
    private readonly signal?: AbortSignal,
  ) {}

  /** Something new has come: the connection works. */
  progressed(): void {
    this.#spent.reconnect = this.#spent.renew = 0;
  }

  /** Waits until the next attempt is due; throws the failure when there is to be none. `shown`: with what it was met. */
  async after(failure: AptixError, shown: string | undefined): Promise<void> {
    const { bearer, maxReconnects = 5, maxRetries = 2, retryFailedTurns = 0, retryDelayMs = 500 } = this.options;
    const kind = repetition(failure);
    const renew = kind === "renew" && bearer.replaces(shown) ? 1 : 0;
    const most = { reconnect: maxReconnects, retry: maxRetries, rerun: retryFailedTurns, renew };
    const asked = failure.retryAfterMs;
    const spent = this.#spent[kind!] ?? 0;
    if (!kind || spent >= most[kind] || asked! > LONGEST_WAIT_MS) throw failure;
    const backoff = Math.min(retryDelayMs * 2 ** spent, 8000) * (1 - Math.random() / 4);
    this.#spent[kind] = spent + 1;
    this.count += 1;
    if (!renew) await pause(asked ?? backoff, this.signal);
  }
}

/** A result, and the response that brought it; its body has been read. */
export interface WithResponse<T> {
  data: T;
  response: Response;
  /** The request in the service's log. */
  requestId?: string;
  /** What the service tells beside the result, such as `extra_cut` of a comparison. */
  warnings: Entry[];
}

/** The promise of a result. */
export interface Answer<T> extends Promise<T> {
  /** The result with the response's status and headers. */
  withResponse(): Promise<WithResponse<T>>;
}

/** Sends a request until there is a result, and resolves to that; to `undefined` where it was done by `doneBy`. */
export function request<T>(http: Http, call: Call, options: RequestOptions & { signal?: Signal } = {}): Answer<T> {
  const whole = repeated<T>(withOptions(http, options), call, options.signal);
  const result = whole.then(({ data }) => data);
  // A failure is told to whoever asked, once.
  return Object.assign(result, { withResponse: () => (result.catch(() => {}), whole) });
}

/** Asks for what is kept. */
export const get = <T>(http: Http, path: string, query?: string): Answer<T> => request(http, { method: "GET", path, query, live: true });

/** Posts a JSON body, or none. */
export const post = <T>(http: Http, path: string, body?: object): Answer<T> => request(http, { method: "POST", path, body: JSON.stringify(body) });

/** A query of what is given. */
export const queryOf = (members: object): string =>
  Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : `${name}=${encodeURIComponent(value as string)}`)).join("&");

async function repeated<T>(http: Http, call: Call, given?: Signal): Promise<WithResponse<T>> {
  const { signal, dispose } = abortable(given, http.deadlineMs);
  const attempts = new Attempts(http, signal);
  let mayBeDone = false;
  let { arrival } = http;
  try {
    const arrives = arrival?.();
    await (arrives && unlessAborted(inTime(arrives), signal));
    for (;;) {
      const exchange = new Exchange(http, call, signal);
      let response!: Response;
      const withResponse = (data: T) => ({ data, response, requestId: toldBy(response).requestId, warnings: exchange.warnings });
      try {
        response = await exchange.response(attempts.count);
        return withResponse(await exchange.result<T>());
      } catch (error) {
        const failure = failureOf(error, signal);
        if (mayBeDone && failure.code === call.doneBy) return withResponse(undefined as T);
        mayBeDone ||= failure instanceof AptixConnectionError || failure.code === "overloaded" || failure.code === "internal";
        const later = failure.code.endsWith("_not_found") ? arrival?.() : undefined;
        if (!later) await attempts.after(failure, exchange.bearer);
        // Once more: it is on its way for longer.
        else await unlessAborted(later, signal).then(() => (arrival = undefined));
      } finally {
        exchange.close();
      }
    }
  } finally {
    dispose();
  }
}

/** What a response tells beside its body. */
export const toldBy = (response: Response) => ({
  status: response.status,
  retryAfterMs: retryAfter(response),
  requestId: response.headers.get("Aptix-Request-Id") ?? undefined,
});

/** The `Result` of an `InvokeResult`; a failure is thrown, and what is no `InvokeResult` came from something in between. */
export function resultOf<T>(answer: unknown, told: { status: number; retryAfterMs?: number; requestId?: string }): T {
  const { Successful, Result, Errors } = (answer ?? {}) as { Successful?: boolean; Result?: T; Errors?: Entry[] };
  if (Successful === true) return Result as T;
  if (Successful === false && Errors?.length) throw new AptixError(told.status, Errors, told);
  throw new AptixConnectionError(`The answer of status ${told.status} is not the service's.`, told);
}

/** Whatever went wrong as an `AptixError`; throws the signal's reason where that was the cause. */
export function failureOf(error: unknown, signal?: AbortSignal, position?: string): AptixError {
  if (signal?.aborted) throw signal.reason;
  if (!(error instanceof AptixError)) return new AptixConnectionError(`The connection was lost: ${reasonOf(error)}.`, { position, cause: error });
  if (error instanceof AptixConnectionError && position !== undefined) (error as { position?: string }).position ??= position;
  return error;
}

/** `fetch failed` alone says nothing; what it was stands in the cause, of several addresses in its first one. */
function reasonOf(error: unknown): string {
  const { message, cause } = (error ?? {}) as Error;
  const { message: words, errors } = (cause ?? {}) as AggregateError;
  const reason = words || errors?.[0]?.message;
  return reason ? `${message} (${reason})` : message;
}

function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("Retry-After") ?? "";
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms >= 0 ? ms : undefined;
}
