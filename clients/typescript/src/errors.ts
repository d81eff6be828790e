// Every failure is an `AptixError`: refusals and failed turns with a code of the dictionary, a service that cannot be
// reached as `connection_lost`. Owns what each code means for a client; a test compares that with `GET /errors`.
import type { Issue } from "./schema/standard.js";
import type { Entry, ErrorCode, ToolCall } from "./types.js";

/** What a program needs of an error's message. `turn_in_progress` and `turn_awaiting_tools` name the turn. */
export type ErrorDetails = { [name: string]: unknown; TurnId?: string; ToolCalls?: ToolCall[]; RetryAfterMs?: number };

/** Nothing was done: the same request may pass a moment later. */
const PASSING = /^(?:request_timeout|rate_limited|overloaded|identity_unavailable|connection_lost)$/;
/** The turn failed: the same request runs it again from its last step, which costs model calls. */
const FAILED = /^(?:internal|server_tool_failed|turn_interrupted|upstream_(?:unavailable|protocol|failed|timeout))$/;
/** Nothing was done: the same request may pass when a turn has ended. */
const LATER = /^(?:turn_in_progress|turn_not_ended)$/;
const OPERATOR = /^(?:budget_exceeded|identity_unavailable|internal|catalog_invalid|iteration_limit_exceeded|server_tool_failed|upstream_(?:rejected|protocol))$/;
const NOBODY = /^(?:turn_in_progress|turn_interrupted|overloaded|upstream_(?:unavailable|failed|timeout)|connection_lost)$/;

/** What is known of an error besides what the service says. */
interface About {
  retryAfterMs?: number;
  requestId?: string;
  cause?: unknown;
}

/** An `AptixError` as plain data. */
export interface ErrorJson {
  name: string;
  message: string;
  code: AptixError["code"];
  status: number;
  errors: Entry[];
  retryAfterMs?: number;
  requestId?: string;
  /** Of an `AptixConnectionError`, as the next one. */
  position?: string;
  /** No repetition will help. */
  isFinal?: true;
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
    const { ErrorCode = "connection_lost", Path, Details } = errors[0] ?? ({} as Partial<Entry>);
    super(errors.map(({ Message }) => Message).join(" "), more);
    this.status = status;
    this.errors = errors;
    this.code = ErrorCode as AptixError["code"];
    this.path = Path;
    this.details = Details as ErrorDetails | undefined;
    // The head of a stream came before the turn failed in it.
    this.retryAfterMs = more.retryAfterMs ?? this.details?.RetryAfterMs;
    this.requestId = more.requestId;
  }

  /** Whether the same request may succeed later. After `turn_in_progress` and `turn_not_ended`: when the turn has ended. */
  get retryable(): boolean {
    return PASSING.test(this.code) || FAILED.test(this.code) || LATER.test(this.code);
  }

  /** Who has to do something about it. */
  get whoActs(): "client" | "operator" | "nobody" {
    return OPERATOR.test(this.code) ? "operator" : NOBODY.test(this.code) ? "nobody" : "client";
  }

  /** Plain data, for `postMessage` and logs. `AptixError.from` makes an error of it again. */
  toJSON(): ErrorJson {
    const { path, details, ...own } = this;
    return { ...own, message: this.message };
  }

  static from(json: ErrorJson): AptixError {
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
  readonly #isFinal: boolean | undefined;

  constructor(message: string, more: About & { status?: number; position?: string; isFinal?: boolean } = {}) {
    super(more.status ?? 0, [{ ErrorCode: "connection_lost", Message: message, SystemError: true }], more);
    this.#isFinal = more.isFinal;
    this.position = more.position;
  }

  override toJSON(): ErrorJson {
    return { ...super.toJSON(), ...(this.#isFinal && { isFinal: true }) };
  }

  /** A status of 4xx without the service's own answer comes from something in between that will say it again. */
  override get retryable(): boolean {
    return !this.#isFinal && !/^4(?!08|29)/.test(`${this.status}`);
  }
}

export type Repetition = "reconnect" | "retry" | "rerun" | "renew";

/** Which budget of attempts pays for a repetition after this error. */
export const repetition = (error: AptixError): Repetition | undefined => {
  if (error instanceof AptixConnectionError) return error.retryable ? "reconnect" : undefined;
  if (error.code === "credential_expired") return "renew";
  return PASSING.test(error.code) ? "retry" : FAILED.test(error.code) ? "rerun" : undefined;
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
