// One HTTP request, and how it is repeated. Every request of this service may be repeated unchanged, always: ids and
// content make it the same request.
import type { Bearer, Credential } from "./credential.js";
import { AptixConnectionError, AptixError, repetition } from "./errors.js";
import { type ServerSentEvent, serverSentEvents } from "./events.js";
import { onAbort, pause, unlessAborted } from "./signals.js";
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

/** Where the service is, and how often it is asked again. */
export interface HttpOptions {
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
  /** Further headers. In a browser the service accepts none of them. */
  headers?: Record<string, string>;
  /** How often a request is repeated that the service put off (`rate_limited`, `overloaded`, `request_timeout`). 2. */
  maxRetries?: number;
  /** How often in a row a connection is tried again without any text coming. 5. */
  maxReconnects?: number;
  /** How often a failed turn is run again, which costs model calls. 0. */
  retryFailedTurns?: number;
  /** The first wait before a repetition, in ms; each further one is twice as long, up to 8 s. 500. */
  retryDelayMs?: number;
  /** The longest silence of a stream, in ms, after which it is taken for dead and resumed. 30000. */
  idleTimeoutMs?: number;
  /** Is told of every attempt. */
  onLog?(entry: LogEntry): void;
}

/** The same, as the parts of one client share it. */
export interface Http extends HttpOptions {
  bearer: Bearer;
  /** Is told of every response of a turn. */
  heard?(response: Response): void;
}

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

/** One attempt at a call. Its connection ends with the signal, by `close`, or after too long a silence. */
export class Exchange {
  /** What was shown with the request. */
  bearer: string | undefined;
  readonly #controller = new AbortController();
  readonly #unlisten: () => void;
  #response: Response | undefined;
  #isLive: boolean | undefined;

  constructor(
    private readonly options: Http,
    private readonly call: Call,
    signal?: AbortSignal,
  ) {
    this.#isLive = call.live;
    this.#unlisten = onAbort(signal, (reason) => this.#controller.abort(reason));
  }

  /** Sends the request; resolves with the head of its response. `position` is where a stream goes on. */
  async response(attempt: number, position?: string): Promise<Response> {
    const { baseUrl, bearer, headers, onLog, fetch, heard } = this.options;
    const { call } = this;
    const { method, path, query, body } = call;
    const began = Date.now();
    const log = (more: { status?: number; error?: string }) =>
      onLog?.({ method, path, attempt, milliseconds: Date.now() - began, ...more });
    try {
      const shown = (this.bearer = await this.#inTime(unlessAborted(bearer.get(), this.#controller.signal)));
      // The global one is called where it stands, never stored: browsers refuse it as a method of something else.
      const send = fetch ?? ((url, init) => globalThis.fetch(url, init));
      const sent = send(baseUrl.replace(/\/+$/, "") + path + (query ? `?${query}` : ""), {
        method,
        body,
        signal: this.#controller.signal,
        headers: {
          ...headers,
          ...call.headers,
          ...(shown && { Authorization: `Bearer ${shown}` }),
          ...(body !== undefined && { "Content-Type": "application/json" }),
          ...(position && { "Last-Event-ID": position }),
        },
      });
      const response = await this.#inTime(sent);
      log({ status: response.status });
      heard?.(response);
      return (this.#response = response);
    } catch (error) {
      log({ error: (error as Error)?.name ?? "Error" });
      throw error;
    }
  }

  /** Whether it is answered with a stream, which is live in any case. */
  get isStream(): boolean {
    return this.#response!.headers.get("Content-Type")?.startsWith("text/event-stream") === true;
  }

  events(): AsyncGenerator<ServerSentEvent, void, void> {
    this.#isLive = true;
    return serverSentEvents(this.#response!.body!, (read) => this.#inTime(read));
  }

  /** The `Result` of a JSON response; anything but a successful one is thrown. */
  async result<T>(): Promise<T> {
    const response = this.#response!;
    const answer: unknown = await response.json().catch((error: unknown) => {
      if (!(error instanceof SyntaxError)) throw error;
    });
    return resultOf<T>(answer, response.status, retryAfter(response));
  }

  close(): void {
    this.#unlisten();
    this.#controller.abort();
  }

  /** Waits for the other side, no longer than a live connection is silent. Time that the caller takes does not count. */
  async #inTime<T>(wait: Promise<T>): Promise<T> {
    if (!this.#isLive) return wait;
    const ms = this.options.idleTimeoutMs ?? 30_000;
    const timer = setTimeout(() => this.#controller.abort(new Error(`nothing came for ${ms} ms`)), ms);
    try {
      return await wait;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** The attempts at one request: how many there may be, and the waits between them. */
export class Attempts {
  /** The number of the present attempt, from 1. */
  count = 1;
  readonly #spent = { reconnect: 0, retry: 0, rerun: 0, renew: 0 };

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
    if (kind === undefined || this.#spent[kind] >= most[kind] || (asked ?? 0) > LONGEST_WAIT_MS) throw failure;
    const backoff = Math.min(retryDelayMs * 2 ** this.#spent[kind], 8000) * (1 - Math.random() / 4);
    this.#spent[kind] += 1;
    this.count += 1;
    if (!renew) await pause(asked ?? backoff, this.signal);
  }
}

/** Sends a request until there is a result, and resolves to that; to `undefined` where it was done by `doneBy`. */
export async function request<T>(options: Http, call: Call, signal?: AbortSignal): Promise<T> {
  const attempts = new Attempts(options, signal);
  let mayBeDone = false;
  for (;;) {
    const exchange = new Exchange(options, call, signal);
    try {
      await exchange.response(attempts.count);
      return await exchange.result<T>();
    } catch (error) {
      const failure = failureOf(error, signal);
      if (mayBeDone && failure.code === call.doneBy) return undefined as T;
      mayBeDone ||= failure instanceof AptixConnectionError;
      await attempts.after(failure, exchange.bearer);
    } finally {
      exchange.close();
    }
  }
}

/** The `Result` of an `InvokeResult`; a failure is thrown, and what is no `InvokeResult` came from something in between. */
export function resultOf<T>(answer: unknown, status: number, retryAfterMs?: number): T {
  const { Successful, Result, Errors } = (answer ?? {}) as { Successful?: boolean; Result?: T; Errors?: Entry[] };
  if (Successful === true) return Result as T;
  if (Successful === false && Errors?.length) throw new AptixError(status, Errors, { retryAfterMs });
  throw new AptixConnectionError(`The answer of status ${status} is not the service's.`, { status, retryAfterMs });
}

/** Whatever went wrong as an `AptixError`; throws the signal's reason where that was the cause. */
export function failureOf(error: unknown, signal?: AbortSignal, position?: string): AptixError {
  if (signal?.aborted) throw signal.reason;
  if (error instanceof AptixError && (!(error instanceof AptixConnectionError) || error.position !== undefined)) return error;
  const { message, status, retryAfterMs } = error as AptixConnectionError;
  const told = error instanceof AptixError ? message : `The connection was lost: ${message}.`;
  return new AptixConnectionError(told, { status, position, cause: error, retryAfterMs });
}

function retryAfter(response: Response): number | undefined {
  const value = response.headers.get("Retry-After");
  if (value === null) return undefined;
  const ms = /^\d+$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now();
  return ms >= 0 ? ms : undefined;
}
