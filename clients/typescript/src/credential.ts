// What a client shows with each request: a key, a ticket or a JWT. Owns how long it is used, and when another is asked for.
import { AptixConnectionError, AptixError } from "./errors.js";

/** What was asked for: the text itself, or what `POST /tickets` answers. `undefined`: there is none. */
export type Given = string | { Ticket: string; ExpiresAt: string } | undefined;
/** A text that stays the same, or what gives one. */
export type Credential = Given | (() => Given | PromiseLike<Given>);

/** So long before its end, in ms, a credential is no longer used: a request with it is to arrive in time. */
const MARGIN_MS = 30_000;

const HEADER_TEXT = /^[\x20-\x7e]*$/;

/**
 * One credential of one client. Requests that need another one at the same time share one asking. One whose end nobody
 * tells, such as a key, is asked for with each attempt.
 */
export class Bearer {
  #held: { text?: string; end: number } | undefined;
  #asking: Promise<string | undefined> | undefined;

  constructor(private readonly source: Credential) {}

  /** The text to show now. What the asking fails with is a lost connection, unless it is an `AptixError` itself. */
  async get(): Promise<string | undefined> {
    if (this.#held && Date.now() < this.#held.end - MARGIN_MS) return this.#held.text;
    return (this.#asking ??= this.#ask().finally(() => (this.#asking = undefined)));
  }

  async #ask(): Promise<string | undefined> {
    const { source } = this;
    try {
      const given = typeof source === "function" ? await source() : source;
      // A file's last line break is no part of its key.
      const text = (typeof given === "object" ? given.Ticket : given)?.trim();
      // What no header can have is refused here: the words of `fetch` would show it.
      if (text && !HEADER_TEXT.test(text)) throw new AptixConnectionError("The credential has characters that no header can have.", { isFinal: true });
      this.#held = { text, end: (typeof given === "object" && Date.parse(given.ExpiresAt)) || endOf(text) };
      return text;
    } catch (error) {
      if (error instanceof AptixError) throw error;
      throw new AptixConnectionError(`No credential came: ${(error as Error)?.message}`, { cause: error });
    }
  }

  /** Gives up what the service no longer takes; tells whether there may be another one. */
  replaces(text: string | undefined): boolean {
    // What others have got meanwhile stays.
    if (this.#held?.text === text) this.#held = undefined;
    return typeof this.source === "function";
  }
}

/** When a ticket or a JWT ends, by its own JSON, which is its second part; 0 for what has none. */
function endOf(text = ""): number {
  try {
    const { X, exp } = JSON.parse(atob(text.split(".")[1]!.replaceAll("-", "+").replaceAll("_", "/")));
    return (X ?? exp) * 1000;
  } catch {
    return 0;
  }
}
