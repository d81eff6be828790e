// Every failure is an `AptixError`: refusals and failed turns with a code of the dictionary, a service that cannot be
// reached as `connection_lost`. Owns what each code means for a client; a test compares that with `GET /errors`.
import type { Issue } from "./schema/standard.js";
import type { Entry, ErrorCode, ToolCall } from "./types.js";

/** What a program needs of an error's message. `turn_in_progress` and `turn_awaiting_tools` name the turn. */
export type ErrorDetails = { [name: string]: unknown; TurnId?: string; ToolCalls?: ToolCall[] };

const words = (text: string): ReadonlySet<string> => new Set(text.split(" "));
/** Nothing was done: the same request may pass a moment later. */
const PASSING = words("request_timeout rate_limited overloaded identity_unavailable connection_lost");
/** The turn failed: the same request runs it again from its last step, which costs model calls. */
const FAILED = words(
  "internal server_tool_failed turn_interrupted upstream_unavailable upstream_protocol upstream_failed upstream_timeout",
);
/** Nothing was done: the same request may pass when a turn has ended. */
const LATER = words("turn_in_progress turn_not_ended");
const OPERATOR = words(
  "budget_exceeded identity_unavailable internal catalog_invalid iteration_limit_exceeded server_tool_failed upstream_rejected upstream_protocol",
);
const NOBODY = words(
  "turn_in_progress rate_limited turn_interrupted upstream_unavailable upstream_failed overloaded upstream_timeout connection_lost",
);

/** What is known of an error besides what the service says. */
interface About {
  retryAfterMs?: number;
  requestId?: string;
  cause?: unknown;
}

/** What the service refused a request with, or what a turn failed with. */
export class AptixError extends Error {
  override name = "AptixError";
  /** A code of the dictionary, or `connection_lost`. */
  readonly code: ErrorCode | "connection_lost";
  /** The HTTP status; 0 where there was none. A turn can also fail inside a stream of status 200. */
  readonly status: number;
  /** JSON Pointer to the member of the request that is at fault. */
  readonly path?: string;
  readonly details?: ErrorDetails;
  /** All entries; `code`, `path` and `details` are those of the first. */
  readonly errors: Entry[];
  /** What the service asks to wait before a repetition, in ms. */
  readonly retryAfterMs?: number;
  /** The request in the service's log; where there was no answer of the service, it has none. */
  readonly requestId?: string;

  constructor(status: number, errors: Entry[], more: About = {}) {
    const first = errors[0];
    super(errors.map(({ Message }) => Message).join(" "), "cause" in more ? { cause: more.cause } : undefined);
    this.status = status;
    this.errors = errors;
    this.code = (first?.ErrorCode ?? "connection_lost") as AptixError["code"];
    if (first?.Path !== undefined) this.path = first.Path;
    if (first?.Details !== undefined) this.details = first.Details as ErrorDetails;
    if (more.retryAfterMs !== undefined) this.retryAfterMs = more.retryAfterMs;
    if (more.requestId !== undefined) this.requestId = more.requestId;
  }

  /** Whether the same request may succeed later. After `turn_in_progress` and `turn_not_ended`: when the turn has ended. */
  get retryable(): boolean {
    return PASSING.has(this.code) || FAILED.has(this.code) || LATER.has(this.code);
  }

  /** Who has to do something about it. */
  get whoActs(): "client" | "operator" | "nobody" {
    return OPERATOR.has(this.code) ? "operator" : NOBODY.has(this.code) ? "nobody" : "client";
  }

  /** Plain data, for `postMessage` and logs. `AptixError.from` makes an error of it again. */
  toJSON() {
    const { name, message, code, status, errors, retryAfterMs, requestId } = this;
    const position = (this as { position?: string }).position;
    return { name, message, code, status, errors, retryAfterMs, requestId, position };
  }

  static from(json: ReturnType<AptixError["toJSON"]>): AptixError {
    const isLost = json.code === "connection_lost";
    return isLost ? new AptixConnectionError(json.message, json) : new AptixError(json.status, json.errors, json);
  }
}

/** The service could not be reached, or what came was not its answer. The turn may well run on: attach to it. */
export class AptixConnectionError extends AptixError {
  override name = "AptixConnectionError";
  /** The place in the text up to which everything has come. */
  readonly position?: string;
  /** Nobody is there, and nobody will be: a repetition finds the same. */
  readonly #isFinal: boolean;

  constructor(message: string, more: About & { status?: number; position?: string; isFinal?: boolean } = {}) {
    super(more.status ?? 0, [{ ErrorCode: "connection_lost", Message: message, SystemError: true }], more);
    this.#isFinal = more.isFinal === true;
    if (more.position !== undefined) this.position = more.position;
  }

  /** A status of 4xx without the service's own answer comes from something in between that will say it again. */
  override get retryable(): boolean {
    if (this.#isFinal) return false;
    return this.status < 400 || this.status >= 500 || this.status === 408 || this.status === 429;
  }
}

/** Which budget of attempts pays for a repetition after this error. */
export const repetition = (error: AptixError): "reconnect" | "retry" | "rerun" | "renew" | undefined => {
  if (error instanceof AptixConnectionError) return error.retryable ? "reconnect" : undefined;
  if (error.code === "credential_expired") return "renew";
  return PASSING.has(error.code) ? "retry" : FAILED.has(error.code) ? "rerun" : undefined;
};

/** What does not fit a schema: `issues` are all faults, `text` is what was read. */
export class SchemaError extends Error {
  override name = "SchemaError";

  constructor(
    about: string,
    readonly issues: readonly Issue[],
    readonly text?: string,
  ) {
    super(`${about}: ${issues.map(told).join("; ")}`);
  }
}

function told({ message, path = [] }: Issue): string {
  const place = path.map((step) => String(typeof step === "object" ? step.key : step)).join(".");
  return place ? `${place}: ${message}` : message;
}
