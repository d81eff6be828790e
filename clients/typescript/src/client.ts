// The client: where the service is, and what it offers besides sessions.
import { type HttpOptions, request } from "./http.js";
import { Session, type Shared } from "./session.js";
import { type Signal, abortable } from "./signals.js";
import { posted, submit } from "./submission.js";
import { type Store, memoryStore } from "./tools.js";
import type { AgentExecuteResponse, ErrorDictionary, ExecuteRequest, Health, StreamEvent } from "./types.js";
import { Workspace } from "./workspace.js";

export interface AptixOptions extends HttpOptions {
  /** Where the results of tools are kept until their turn has ended; in memory, unless given. */
  store?: Store;
}

export interface StreamOptions {
  /** Where the text goes on: the `position` of the last text event. */
  position?: string;
  progress?: boolean;
  signal?: Signal;
}

/** A client of one deployment. It holds no connection, and no state but the results of running tools. */
export class Aptix {
  readonly #shared: Shared;

  constructor(private readonly options: AptixOptions) {
    this.#shared = { http: options, store: options.store ?? memoryStore(), running: new Map() };
  }

  /** The session of this id, which is yours to choose: 1 to 128 of `A-Z a-z 0-9 . _ : -`. Nothing is sent. */
  session(sessionId: string): Session {
    return new Session(this.#shared, sessionId);
  }

  /** The workspace of this id. Nothing is sent. */
  workspace(workspaceId: string): Workspace {
    return new Workspace(this.options, workspaceId);
  }

  /** One submission without a loop: resolves to the final response, or to the pause. */
  async execute(body: ExecuteRequest, options: StreamOptions = {}): Promise<AgentExecuteResponse> {
    for await (const event of this.stream(body, options)) if (event.type === "result") return event.response;
    throw new TypeError("A submission ends with its result.");
  }

  /** One submission without a loop, as it comes. Text is streamed unless the request says `Streaming: false`. */
  async *stream(body: ExecuteRequest, options: StreamOptions = {}): AsyncGenerator<StreamEvent, void, void> {
    const { signal, dispose } = abortable(options.signal);
    const streamed = body.ToolResults ? body : { Streaming: true, ...body };
    const live = "Streaming" in streamed && streamed.Streaming === true;
    try {
      yield { type: "result", response: yield* submit(this.options, posted(streamed, { ...options, live }), signal) };
    } finally {
      dispose();
    }
  }

  /** What each error code means, and who has to act. */
  errors(): Promise<ErrorDictionary> {
    return request(this.options, { method: "GET", path: "/errors", live: true });
  }

  /** Whether the service is there, and its version. */
  health(): Promise<Health> {
    return request(this.options, { method: "GET", path: "/health", live: true });
  }
}
