// A session: its turns, what it waits for, and what is kept of it.
import type { AptixError } from "./errors.js";
import { type Answer, type Http, get, post, queryOf, request, withOptions } from "./http.js";
import { newId } from "./ids.js";
import { type AnswerOf, outputSchema } from "./schema/answer.js";
import { type Submission, followed, posted, sessionPath, turnPath } from "./submission.js";
import { type Runs, type Store, ToolRunner, toolsJson } from "./tools.js";
import { Turn, type TurnOptions } from "./turn.js";
import type {
  ErasureReceipt,
  FinalResponse,
  ForkRequest,
  ForkResult,
  Modes,
  SessionEntry,
  SessionExport,
  SessionView,
  SteerContent,
  ToolCall,
  Trace,
  TurnEntry,
  TurnView,
  UserTurn,
} from "./types.js";

/** A user turn without what the client fills in. */
export type TurnRequest = Omit<UserTurn, "SessionId" | "TurnId" | "Streaming" | "ToolResults">;

/** A session that goes on from a turn of another one, and what the service says of its making. */
export type Fork = Session & ForkResult;

/** What the sessions of one client share. */
export interface Shared {
  http: Http;
  /** Whose they are, where a key acts for somebody. */
  user: string | undefined;
  store: Store;
  runs: Runs;
}

/** A conversation: one turn at a time. It exists from its first turn on; what is asked of it before is `session_not_found`. */
export class Session {
  /** Hidden from whoever prints a session: it has the credential. */
  readonly #shared: Shared;

  constructor(
    shared: Shared,
    readonly sessionId: string,
  ) {
    this.#shared = shared;
  }

  /**
   * A new turn, or the same one again: `turnId` with the same request is the same turn, wherever it comes from. `tools`
   * are declared with every turn, since a session keeps those that it was last given. `output` is the form of the answer,
   * which `turn.output()` then gives with its type.
   */
  turn<const S extends object>(turn: TurnRequest, options: TurnOptions & { turnId?: string; output: S }): Turn<AnswerOf<S>>;
  turn(turn: TurnRequest, options?: TurnOptions & { turnId?: string }): Turn;
  turn(turn: TurnRequest, options: TurnOptions & { turnId?: string } = {}): Turn {
    const { turnId = newId(), tools, progress, output } = options;
    const body = { ...turn, SessionId: this.sessionId, TurnId: turnId, Streaming: true };
    if (output) body.OutputSchema ??= outputSchema(output);
    if (tools) body.ToolsJson = toolsJson(tools);
    return this.#turn(turnId, options, posted(body, { live: true, progress }), turn);
  }

  /** A turn that was begun before, here or elsewhere; its pending calls are run when there are `tools`. */
  attach<const S extends object>(turnId: string, options: TurnOptions & { position?: string; output: S }): Turn<AnswerOf<S>>;
  attach(turnId: string, options?: TurnOptions & { position?: string }): Turn;
  attach(turnId: string, options: TurnOptions & { position?: string } = {}): Turn {
    return this.#turn(turnId, options, followed(turnPath(this.sessionId, turnId), options));
  }

  /** The turn that waits for results, and its calls. */
  async pending(): Promise<{ turnId: string; ToolCalls: ToolCall[] } | undefined> {
    const { LiveTurn } = await this.get().catch((error: AptixError): Partial<SessionView> => {
      if (error.code !== "session_not_found") throw error;
      return {};
    });
    return LiveTurn?.ToolCalls && { turnId: LiveTurn.TurnId, ToolCalls: LiveTurn.ToolCalls };
  }

  /**
   * Answers every pending call with this error, and lets the model finish; `undefined` when nothing was pending. To give
   * the turn up instead, cancel it.
   */
  async refusePending(message: string): Promise<FinalResponse | undefined> {
    const pending = await this.pending();
    if (!pending) return undefined;
    const refuse = () => Promise.reject(new Error(message));
    const tools = pending.ToolCalls.map(({ Name: name }) => ({ name, run: refuse }));
    // Results that were not sent are not kept either.
    await this.#runner(pending.turnId, {}).forget();
    return this.attach(pending.turnId, { tools, onApproval: refuse }).final();
  }

  /** Its mode, its newest turn, and the one that runs or waits. */
  get(): Answer<SessionView> {
    return this.#get();
  }

  /** All turns, oldest first, from the one after `after` on. */
  async *turns(options: { after?: string } = {}): AsyncGenerator<TurnEntry, void, void> {
    for (let after = options.after; ; ) {
      const { Turns, More } = await this.#get<{ Turns: TurnEntry[]; More: boolean }>("/turns", queryOf({ After: after }));
      yield* Turns;
      if (!More) return;
      after = Turns.at(-1)!.TurnId;
    }
  }

  /** A turn's status, times, usage, pending calls and stored outcome. */
  getTurn(turnId: string): Answer<TurnView> {
    return this.#get(`/turns/${encodeURIComponent(turnId)}`);
  }

  /** Diagnostics of a turn: sizes, sources and times, never content. */
  trace(turnId: string): Answer<Trace> {
    return this.#get(`/turns/${encodeURIComponent(turnId)}/trace`);
  }

  /** Aborts a turn that runs or waits; one that has ended stays as it is. */
  cancel(turnId: string): Answer<TurnView> {
    return post(this.#shared.http, `${turnPath(this.sessionId, turnId)}/cancel`);
  }

  /**
   * Makes a new session that has everything of this one up to and with a turn, the newest that has ended unless
   * `AfterTurnId` names another one; this one stays as it is. The same request, with the same `SessionId`, gives the same
   * fork. Resolves when the fork is whole.
   */
  async fork(members: Partial<ForkRequest> = {}): Promise<Fork> {
    const asked = { ...members, SessionId: members.SessionId ?? newId() };
    const made = await post<ForkResult>(this.#shared.http, `${sessionPath(this.sessionId)}/fork`, asked);
    return Object.assign(new Session(this.#shared, made.SessionId), made);
  }

  /** Gives it a title, 1 to 200 characters, which stays until the next one. Sessions of users have titles. */
  rename(title: string): Answer<SessionEntry> {
    const body = JSON.stringify({ Title: title });
    return request(this.#shared.http, { method: "PATCH", path: sessionPath(this.sessionId), body });
  }

  /** The history of its modes. */
  modes(): Answer<Modes> {
    return this.#get("/modes");
  }

  /** Everything that is kept of it. */
  export(): Answer<SessionExport> {
    return this.#get("/export");
  }

  /**
   * Erases it for good, what runs included; the receipt counts what was erased. `undefined` when it is erased and the
   * receipt was lost with a connection.
   */
  erase(): Answer<ErasureReceipt | undefined> {
    return request(this.#shared.http, { method: "DELETE", path: sessionPath(this.sessionId), doneBy: "session_not_found" });
  }

  #get<T>(path = "", query?: string): Answer<T> {
    return get(this.#shared.http, sessionPath(this.sessionId) + path, query);
  }

  #runner(turnId: string, options: TurnOptions): ToolRunner {
    const { store, runs, user } = this.#shared;
    // Two users may have sessions and turns of the same ids. No session's id has a tilde.
    const of = user ? `~${encodeURIComponent(user)}/` : "";
    return new ToolRunner(options, store, runs, `aptix:${of}${this.sessionId}/${turnId}`);
  }

  #turn(turnId: string, options: TurnOptions, first: Submission, request?: TurnRequest): Turn {
    const { http } = this.#shared;
    // The same, save the words: these belong to the turn that had them.
    const same = { ...request, Instruction: undefined, InputArtifacts: undefined, ClipboardImages: undefined };
    const next = (words: SteerContent, turnId: string) => this.turn({ ...same, ...words }, { ...options, turnId });
    return new Turn(withOptions(http, options), this.sessionId, turnId, options, this.#runner(turnId, options), first, next);
  }
}
