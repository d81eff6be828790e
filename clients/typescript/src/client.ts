// The client: where the service is, and what it offers besides sessions.
import { Bearer } from "./credential.js";
import { type Answer, type Call, type Http, type HttpOptions, type RequestOptions, get, post, queryOf, request, withOptions } from "./http.js";
import { Session, type Shared } from "./session.js";
import { type Signal, abortable } from "./signals.js";
import { detached, posted, submit } from "./submission.js";
import { Runs, type Store, memoryStore } from "./tools.js";
import type {
  AcceptedTurn,
  AgentExecuteResponse,
  ErrorDictionary,
  ExecuteRequest,
  Health,
  SessionEntry,
  SessionList,
  SessionStatus,
  StreamEvent,
  Ticket,
  TicketRequest,
} from "./types.js";

export interface AptixOptions extends HttpOptions {
  /** Whom a key acts for, by the application's own name; a key that may is needed. A ticket and a JWT name theirs. */
  user?: string;
  /** Where the results of tools are kept until their turn is complete or cancelled; in memory, unless given. */
  store?: Store;
}

/** Which of a user's sessions, and in which order. */
export interface SessionsOptions {
  /** `awaiting_approval` is what a human has to decide. */
  status?: SessionStatus;
  /** Words of the title. */
  query?: string;
  /** The newest first: by what happened last, or by their beginning. */
  order?: "Activity" | "Created";
  /** The sessions that one request brings: 1 to 100. */
  limit?: number;
}

export interface StreamOptions extends RequestOptions {
  /** Where the text goes on: the `position` of the last text event. */
  position?: string;
  progress?: boolean;
  signal?: Signal;
}

/** An address as `fetch` reads it, on whatever page. */
function addressOf(baseUrl: string): URL | undefined {
  try {
    return new URL(baseUrl, "http://page");
  } catch {
    return undefined;
  }
}

/** A client of one deployment. It holds no connection, and no state but the results of running tools. */
export class Aptix {
  /** Whom its key acts for. */
  readonly user: string | undefined;

  readonly #shared: Shared;

  readonly #http: Http;

  constructor(options: AptixOptions) {
    const { baseUrl, user, credential, apiKey, store } = options;
    // "localhost:8787" would be a path of the page, or a scheme of its own. No words repeat an address: it may have a password.
    const address = /^(https?:\/)?\//i.test(baseUrl) && addressOf(baseUrl);
    if (!address) throw new TypeError("The baseUrl has to be an address that begins with http:// or https://.");
    // `fetch` takes none, and says so at each attempt, with the password.
    if (address.username || address.password) throw new TypeError("The baseUrl has no user and no password: what is shown to the service is the credential.");
    this.#http = { ...options, bearer: new Bearer(credential ?? apiKey), learnt: {} };
    if (user !== undefined) this.#http.headers = { ...options.headers, "Aptix-User": encodeURIComponent(user) };
    this.user = user;
    this.#shared = { http: this.#http, user, store: store ?? memoryStore(), runs: new Runs() };
  }

  /** The session of this id, which is yours to choose: 1 to 128 of `A-Z a-z 0-9 . _ : -`. Nothing is sent. */
  session(sessionId: string, options: RequestOptions = {}): Session {
    return new Session({ ...this.#shared, http: withOptions(this.#http, options) }, sessionId);
  }

  /** The sessions of the user, page after page. A list may be half a minute behind; `session.get()` never is. */
  async *sessions(options: SessionsOptions = {}): AsyncGenerator<SessionEntry, void, void> {
    const { status, query, order, limit } = options;
    for (let after: string | undefined; ; ) {
      const asked = queryOf({ Status: status, Query: query, Order: order, Limit: limit, After: after });
      const { Sessions, Next } = await request<SessionList>(this.#http, { method: "GET", path: "/sessions", query: asked });
      yield* Sessions;
      if (Next === undefined) return;
      after = Next;
    }
  }

  /**
   * A credential for a page or a guest, that a back end makes with its key. A ticket makes a narrower one of itself.
   * Nothing is stored.
   */
  ticket(grant: TicketRequest): Answer<Ticket> {
    return post(this.#http, "/tickets", grant);
  }

  /** One submission without a loop: resolves to the final response, or to the pause. */
  async execute(body: ExecuteRequest, options: StreamOptions = {}): Promise<AgentExecuteResponse> {
    let response!: AgentExecuteResponse;
    for await (const event of this.stream(body, options)) if (event.type === "result") ({ response } = event);
    return response;
  }

  /**
   * One submission that nobody watches: resolves as soon as it is stored, or to the outcome of one that has ended. Results
   * of tools can be sent so, by whom a webhook has told of the pause.
   */
  detach(body: ExecuteRequest): Answer<AcceptedTurn | AgentExecuteResponse> {
    return detached(this.#http, posted(body, { live: true }));
  }

  /** One submission without a loop, as it comes. Text is streamed unless the request says `Streaming: false`. */
  async *stream(body: ExecuteRequest, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, void> {
    const http = withOptions(this.#http, options);
    const { signal, dispose } = abortable(options.signal, http.deadlineMs);
    const streamed = body.ToolResults ? body : { Streaming: true, ...body };
    const live = (streamed as { Streaming?: boolean }).Streaming === true;
    try {
      yield { type: "result", response: yield* submit(http, posted(streamed, { ...options, live }), signal) };
    } finally {
      dispose();
    }
  }

  /** Any request of the service's interface, repeated as all are; resolves to its `Result`. */
  request<T>(call: Call, options: RequestOptions & { signal?: Signal } = {}): Answer<T> {
    return request(this.#http, call, options);
  }

  /** What each error code means, and who has to act. */
  errors(): Answer<ErrorDictionary> {
    return get(this.#http, "/errors");
  }

  /** Whether the service is there, and its version. */
  health(): Answer<Health> {
    return get(this.#http, "/health");
  }
}
