// A turn as its client lives it: submissions, pauses for tools, and at last one final response.
import { inTime } from "./arrival.js";
import { AptixError } from "./errors.js";
import { type Answer, type Http, type RequestOptions, post, toldBy } from "./http.js";
import { newId } from "./ids.js";
import { answerBy } from "./schema/answer.js";
import { type Signal, abortable, onAbort } from "./signals.js";
import { type Submission, detached, followed, posted, stored, submit } from "./submission.js";
import type { ToolOptions, ToolRunner } from "./tools.js";
import type {
  AcceptedTurn,
  AgentExecuteResponse,
  FinalResponse,
  SteerContent,
  SteerResult,
  StreamEvent,
  SubmittedToolResult,
  ToolCall,
  ToolContinuationResponse,
  TurnEvent,
  TurnView,
} from "./types.js";

/** How a turn is watched, and who answers its calls. */
export interface TurnOptions extends ToolOptions, RequestOptions {
  /** Ends the watching, not the turn: it runs on, and can be attached to. */
  signal?: Signal;
  /** The signal also cancels the turn. */
  cancelOnAbort?: boolean;
  /** Also yield `progress`: model calls, reasoning, commentary, tools of the service. */
  progress?: boolean;
  /** How often the turn may pause for tools; a decision that is refused counts as one more. 16. */
  maxPauses?: number;
  /**
   * The form of the answer, which is JSON then: a Standard Schema, such as zod's, or a JSON Schema. `output()` of the turn
   * reads it.
   */
  output?: object;
}

/** How words are added to a turn. */
export interface SteerOptions {
  /** Names the steer, and makes its repetition the same one; a new id, unless given. */
  steerId?: string;
  /** Drops a model call that is under way, and makes it again with the words. */
  interrupt?: boolean;
}

/** A turn that nobody has read for so long is taken for a mistake. */
const UNREAD_MS = 1000;
/** Somebody else has answered the calls meanwhile, so that the turn has gone on. */
export const MOVED_ON = ["turn_not_awaiting_tools", "tool_results_mismatch", "turn_conflict"];

/**
 * A turn. Loop over it once for its events, or await `final()`, which reads it when nobody loops; nothing is sent
 * before that. Leaving the loop stops the watching only: the turn runs on, `cancel()` ends it.
 */
export class Turn<Output = unknown> implements AsyncIterable<TurnEvent> {
  /** Hidden from whoever prints a turn: it has the credential. */
  readonly #http: Http;
  readonly #segments = new Map<number, string>();
  readonly #final: Promise<FinalResponse>;
  #settle!: { resolve(response: FinalResponse): void; reject(error: unknown): void };
  #position: string | undefined;
  #requestId: string | undefined;
  readonly #listeners: ((event: TurnEvent) => void)[] = [];
  readonly #unread: ReturnType<typeof setTimeout> | undefined;
  #isRead = false;
  #accept!: () => void;
  /** The service has taken the turn, or the watching is over. */
  readonly #accepted = new Promise<void>((resolve) => (this.#accept = resolve));

  /** `session.turn()` and `session.attach()` make it. */
  constructor(
    http: Http,
    readonly sessionId: string,
    readonly turnId: string,
    private readonly options: TurnOptions,
    private readonly runner: ToolRunner,
    private first: Submission,
    private readonly next: (words: SteerContent, turnId: string) => Turn<Output>,
  ) {
    this.#http = http;
    this.#position = first.position;
    const unread = () => console.warn(`aptix-edge: the turn ${turnId} was made and is not read, so nothing was sent. Loop over it, or await final().`);
    if (first.call.method === "POST") this.#unread = setTimeout(unread, UNREAD_MS);
    this.#final = new Promise((resolve, reject) => (this.#settle = { resolve, reject }));
    // Whoever loops need not ask for `final()`.
    this.#final.catch(() => {});
  }

  /** The text so far of the submission that is being read, without what was discarded. */
  get text(): string {
    return [...this.#segments.values()].join("");
  }

  /** The place that the text has reached. `attach` goes on behind it; without it, from the start of the text. */
  get position(): string | undefined {
    return this.#position;
  }

  /** The newest request of the turn in the service's log. */
  get requestId(): string | undefined {
    return this.#requestId;
  }

  /** Tells of each event of a kind, as the turn is read: `turn.on("text", ({ delta }) => …)`. It does not read by itself. */
  on<T extends TurnEvent["type"]>(type: T, listener: (event: Extract<TurnEvent, { type: T }>) => void): this {
    this.#listeners.push((event) => void (event.type === type && listener(event as never)));
    return this;
  }

  /**
   * The answer as it grows: each time the whole text, without what was taken back, and at last the final text. It reads the
   * turn. The single pieces are the `text` events.
   */
  get textStream(): AsyncGenerator<string, void, void> {
    return this.#leavable(this.#texts(this[Symbol.asyncIterator]()));
  }

  [Symbol.asyncIterator](): AsyncGenerator<TurnEvent, void, void> {
    this.#read();
    return this.#leavable(this.#events());
  }

  /**
   * The final response; a loop over the turn is waited for, and nothing is read beside it. Rejects with what
   * ended the turn, or the watching: an `AptixError`, the reason of the signal, what the store threw, or, where the loop was left,
   * a `TypeError`.
   */
  async final(): Promise<FinalResponse> {
    if (!this.#isRead) for await (const _ of this);
    return this.#final;
  }

  /**
   * The final response's text as the JSON that it is, by the `output` of the turn: a Standard Schema checks it. What is no
   * JSON, such as a refusal of the model, or does not fit, is a `SchemaError`.
   */
  async output(): Promise<Output> {
    const { PrimaryOutputText } = await this.final();
    return (await answerBy(PrimaryOutputText, this.options.output)) as Output;
  }

  /** Aborts the turn itself, wherever it is. */
  cancel(): Answer<TurnView> {
    return post(this.#there, `${this.first.turnPath}/cancel`);
  }

  /**
   * Adds words to the turn while it runs or waits: they are in its conversation exactly once, at its next model call. A
   * turn that has ended takes none (`turn_ended`); with `newTurn` they are the next turn, which the steer's id names.
   */
  steer(words: string | SteerContent, options?: SteerOptions & { ifEnded?: "throw" }): Promise<SteerResult>;
  steer(words: string | SteerContent, options: SteerOptions & { ifEnded: "newTurn" }): Promise<SteerResult | Turn<Output>>;
  async steer(words: string | SteerContent, options: SteerOptions & { ifEnded?: string } = {}): Promise<SteerResult | Turn<Output>> {
    const { steerId = newId(), interrupt: Interrupt, ifEnded } = options;
    const content = typeof words === "string" ? { Instruction: words } : words;
    try {
      return await post<SteerResult>(this.#there, `${this.first.turnPath}/steer`, { SteerId: steerId, ...content, Interrupt });
    } catch (error) {
      if (ifEnded !== "newTurn" || (error as AptixError).code !== "turn_ended") throw error;
      return this.next(content, steerId);
    }
  }

  /**
   * Sends the turn, and resolves as soon as the service has stored it, which then runs it without anybody; one that has
   * ended gives its outcome. Watch it later by reading it, here or elsewhere (`attach`), or be told by a webhook.
   */
  async detach(): Promise<AcceptedTurn | AgentExecuteResponse> {
    this.#read();
    const left = new AbortController();
    const { signal, dispose } = this.#ends(left);
    try {
      const sends = this.first.call.method === "POST" ? detached : stored;
      const answer = await sends({ ...this.#http, heard: this.#heard }, this.first, left.signal);
      this.first = followed(this.first.turnPath, this.options);
      return answer;
    } catch (error) {
      await this.#cancelled(signal);
      throw error;
    } finally {
      dispose();
      // Words that wait for the turn are sent now, wherever it has come to.
      this.#accept();
      this.#isRead = false;
    }
  }

  /** The events as lines of JSON, for a webview or one's own back end. `readTurnEvents` reads them again. */
  toReadableStream(): ReadableStream<Uint8Array> {
    this.#read();
    const left = new AbortController();
    const events = this.#leavable(this.#events(left));
    // A reader is to know a pause that is answered here from the end.
    const goesOn = this.runner.answers || undefined;
    const line = (value: object) => {
      const told = (value as TurnEvent).type === "tool_calls" ? { ...value, goesOn } : value;
      return new TextEncoder().encode(`${JSON.stringify(told)}\n`);
    };
    return new ReadableStream({
      async pull(controller) {
        try {
          const { done, value } = await events.next();
          if (done) controller.close();
          else controller.enqueue(line(value));
        } catch (error) {
          if (!(error instanceof AptixError)) throw error;
          controller.enqueue(line({ type: "error", error }));
          controller.close();
        }
      },
      cancel: async () => {
        // What waits for the next event ends now.
        left.abort(gone());
        await events.return();
      },
    });
  }

  /** A generator that nobody has asked for anything yet ends without its own last words: who leaves it is told all the same. */
  #leavable<T>(events: AsyncGenerator<T, void, void>): AsyncGenerator<T, void, void> {
    for (const how of ["return", "throw"] as const) {
      const leave = events[how] as (given: unknown) => Promise<IteratorResult<T, void>>;
      events[how] = (given: unknown) => leave.call(events, given).finally(() => this.#over());
    }
    return events;
  }

  async *#texts(events: AsyncGenerator<TurnEvent, void, void>): AsyncGenerator<string, void, void> {
    let shown = "";
    for await (const event of events) {
      const text = ("response" in event ? (event.response as Partial<FinalResponse>).PrimaryOutputText : undefined) ?? this.text;
      if (text !== shown) yield (shown = text);
    }
  }

  /** The service with this turn: what is about to be sent is not there yet. */
  get #there(): Http {
    return { ...this.#http, arrival: () => (this.#isSent ? this.#accepted : undefined) };
  }

  get #isSent(): boolean {
    return this.#isRead && this.first.call.method === "POST";
  }

  /** The signal of the turn, which ends `left`, as a deadline does; where it cancels the turn, once that has arrived. */
  #ends(left: AbortController, deadlineMs?: number): { signal: AbortSignal; dispose(): void } {
    const { signal, dispose } = abortable(this.options.signal);
    // A deadline ends the watching alone.
    const late = abortable(undefined, deadlineMs);
    let isSent = false;
    const unlisten = onAbort(signal, (reason) => {
      const end = () => left.abort(reason);
      if (isSent && this.options.cancelOnAbort) void inTime(this.#accepted).then(end);
      else end();
    });
    const callOff = onAbort(late.signal, (reason) => left.abort(reason));
    isSent = this.first.call.method === "POST";
    return { signal, dispose: () => (dispose(), late.dispose(), unlisten(), callOff()) };
  }

  /** `left` ends the watching, and never the turn. */
  async *#events(left = new AbortController()): AsyncGenerator<TurnEvent, void, void> {
    const { signal, dispose } = this.#ends(left, this.#http.deadlineMs);
    this.runner.watches();
    // A watching that ends between two events may be asked for no further one.
    onAbort(left.signal, () => void this.runner.left());
    let hasEnded = false;
    try {
      for await (const event of this.#submissions(left.signal)) {
        hasEnded = event.type === "result" && event.response.Kind === "final";
        for (const listener of this.#listeners) listener(event);
        yield event;
      }
    } catch (error) {
      this.#settle.reject(error);
      if ((error as AptixError)?.code === "turn_aborted") await this.runner.ended();
      throw error;
    } finally {
      // Also where the signal has come between two events, and the reader leaves before the next one.
      if (!hasEnded) await this.#cancelled(signal);
      dispose();
      this.#over();
      await this.runner.left();
    }
  }

  /** Nobody watches any more; without effect where the turn has ended. */
  #over(): void {
    this.#accept();
    this.#settle.reject(gone());
  }

  /** Cancels the turn with the watching, where that is wanted. */
  async #cancelled(signal: AbortSignal): Promise<void> {
    this.#accept();
    if (signal.aborted && this.options.cancelOnAbort) await inTime(this.cancel().then(() => this.runner.ended()));
  }

  async *#submissions(signal?: AbortSignal): AsyncGenerator<TurnEvent, void, void> {
    const { maxPauses = 16 } = this.options;
    let submission = this.first;
    /** The calls that the submission answers, their results, and why it was refused. */
    let answered: ToolCall[] = [];
    let results: SubmittedToolResult[] = [];
    let refusal: unknown;
    for (let pauses = 0; ; ) {
      let response;
      try {
        response = yield* this.#submitted(submission, signal);
      } catch (error) {
        if (!answered[0]) throw error;
        // Where a decision was refused, the turn waits as before, and who decided is asked again.
        if (!(await this.runner.refused(answered, results, error)) || ++pauses > maxPauses) {
          if (refusal || !MOVED_ON.includes((error as AptixError).code)) throw error;
          refusal = error;
          submission = followed(this.first.turnPath, this.options);
          continue;
        }
      }
      if (response) {
        if (response.Kind === "final") {
          await this.runner.ended();
          this.#settle.resolve(response);
          return yield { type: "result", response };
        }
        const { ToolCalls: calls, ToolContinuationMessage: message } = response;
        // The turn still waits for what was refused: it has not gone on.
        if (refusal && calls[0]?.ToolCallId === answered[0]?.ToolCallId) throw refusal;
        refusal = undefined;
        yield { type: "result", response };
        yield { type: "tool_calls", calls, ...(message !== undefined && { message }) };
        if (!this.runner.answers) return this.#settle.reject(awaiting(response));
        if (++pauses > maxPauses) throw awaiting(response);
        answered = calls;
      }
      results = await this.runner.results(answered, signal);
      yield { type: "tool_results", results };
      const continuation = { SessionId: this.sessionId, TurnId: this.turnId, ToolResults: results };
      // A continuation is delivered as its turn was, which is known of a turn that began here.
      submission = posted(continuation, { live: this.first.call.method === "POST", progress: this.options.progress });
    }
  }

  #read(): void {
    if (this.#isRead) throw new TypeError("This turn is being read already. Attach to it to read it once more.");
    this.#isRead = true;
    clearTimeout(this.#unread);
  }

  readonly #heard = (response: Response) => {
    this.#requestId = toldBy(response).requestId;
    if (response.ok) this.#accept();
  };

  async *#submitted(submission: Submission, signal?: AbortSignal) {
    this.#segments.clear();
    this.#position = submission.position;
    const events = submit({ ...this.#http, heard: this.#heard }, submission, signal);
    try {
      for (;;) {
        const { done, value } = await events.next();
        if (done) return value;
        this.#take(value);
        yield value;
      }
    } finally {
      await events.return(undefined as never);
    }
  }

  #take(event: StreamEvent): void {
    if (event.type === "discard") this.#segments.delete(event.segment);
    if (event.type !== "text") return;
    this.#segments.set(event.segment, (this.#segments.get(event.segment) ?? "") + event.delta);
    this.#position = event.position;
  }
}

const gone = () => new TypeError("The turn is no longer watched. Attach to it for its final response.");

function awaiting({ TurnId, ToolCalls }: ToolContinuationResponse): AptixError {
  const Message = "The turn waits for tool results that nobody here gives.";
  return new AptixError(409, [
    { ErrorCode: "turn_awaiting_tools", Message, Details: { TurnId, ToolCalls } as never, SystemError: false },
  ]);
}
