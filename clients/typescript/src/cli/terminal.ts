// What a command is given of the process it runs in, and the one form in which it tells things: lines for people, JSON for
// scripts. Owns the exit codes.
import { AptixConnectionError, AptixError } from "../index.js";

/** Wrong usage, with what is right. */
export class UsageError extends Error {}

export const EXIT = { done: 0, failed: 1, usage: 2, unreachable: 3, waiting: 4, partly: 5, interrupted: 130 } as const;

/** What ends the program alone, unlike Ctrl-C: a turn that runs goes on without it. */
export const KILLED = new Error("killed");
/** Ctrl-C, as a signal of the process or as a key. */
export const INTERRUPTED = new Error("interrupted");

export interface Terminal {
  env: Record<string, string | undefined>;
  /** Whether a person can read a question and answer it. */
  isInteractive: boolean;
  /** Whether what is told may move: colours, a progress bar. */
  isTerminal: boolean;
  json: boolean;
  /** The session that is spoken with. */
  session?: string;
  /** Ends what is under way. */
  signal: AbortSignal;
  out(text: string): void;
  err(text: string): void;
}

/** A result: as JSON on one line, or as people read it. */
export const tell = (terminal: Terminal, value: unknown, text: string) =>
  terminal.out(terminal.json ? `${jsonOf(value)}\n` : text && `${shownLines(text)}\n`);

/** Rows with their columns below each other; the last may be as long as it is. */
export function table(rows: (string | number | undefined)[][]): string {
  const cells = rows.map((row) => row.map((cell) => shown(String(cell ?? ""))));
  const widths = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => row[at]!.length)));
  return cells.map((row) => row.map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at]!))).join("  ").trimEnd()).join("\n");
}

/**
 * Characters that a terminal obeys, that turn the order in which others are read, or that nobody sees. The joiner within
 * an emoji, and joiners between letters of scripts that are written with them, are none.
 */
const JOINED = String.raw`[\p{scx=Arab}\p{scx=Syrc}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}\p{scx=Khmr}\p{scx=Mong}]`;
const UNSEEN = new RegExp(
  String.raw`(?!(?<=[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f])\u200d(?=\p{Extended_Pictographic}))(?!(?<=${JOINED})[\u200c\u200d](?=${JOINED}))` +
    String.raw`[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0]`,
  "gu",
);
const written = (text: string) => Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join("");

/** A text that others have written, on one line of a terminal: what would move its cursor, or deceive a reader, is written as `\u…`. */
export const shown = (text: string) => text.replace(UNSEEN, written);
/** The same of a text that has lines. */
export const shownLines = (text: string) => text.replace(UNSEEN, (found) => (found === "\n" || found === "\t" ? found : written(found)));
/** The same of a text that comes in pieces: a joiner at the end of one waits for what it joins to what stood before it. */
export class ShownPieces {
  /** The character before what comes. */
  #before = "";
  #held = "";

  take(piece: string): string {
    const text = this.#held + piece;
    const end = text.search(/[\u200c\u200d]*$/);
    this.#held = text.slice(end);
    return this.#shown(text.slice(0, end));
  }

  /** What is held back, where nothing comes behind it. */
  end(): string {
    const rest = this.#shown(this.#held);
    this.#before = this.#held = "";
    return rest;
  }

  #shown(text: string): string {
    const told = shownLines(this.#before + text).slice(shownLines(this.#before).length);
    this.#before = /[^]$/u.exec(text.slice(-2))?.[0] ?? this.#before;
    return told;
  }
}
/** A value as JSON, with the same characters as `\u…`, so that it is the same value. */
export const jsonOf = (value: unknown) => JSON.stringify(value)?.replace(UNSEEN, written);

const plural = (count: number, noun: string) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
export const documents = (count: number) => plural(count, "document");

/** Tells what went wrong, and gives the exit code that says so. */
export function failed(terminal: Terminal, error: unknown, url: string): number {
  if (terminal.signal.aborted || error === INTERRUPTED) return EXIT.interrupted;
  const told = error instanceof AptixError ? error : undefined;
  if (terminal.json) {
    terminal.err(`${jsonOf({ error: told ?? { code: error instanceof UsageError ? "usage" : "failed", message: String((error as Error)?.message ?? error) } })}\n`);
  } else if (error instanceof AptixConnectionError) {
    terminal.err(`${shownLines(error.message)}\n${url} ${error.status ? "is not an aptix-edge service, or something stands before it" : "cannot be reached"}. APTIX_URL names the service${error.status ? "" : "; aptix-edge dev serves one here"}.\n`);
  } else if (told) {
    terminal.err(`${shown(told.code)}: ${shownLines(told.message)}\n${hint(told, terminal.session)}`);
  } else terminal.err(`${shownLines(String((error as Error)?.message ?? error))}\n`);
  if (error instanceof UsageError) return EXIT.usage;
  if (error instanceof AptixConnectionError) return EXIT.unreachable;
  return told?.code === "turn_awaiting_tools" || told?.code === "turn_in_progress" ? EXIT.waiting : EXIT.failed;
}

function hint({ code, path, details }: AptixError, session = "ID"): string {
  if (path === "/User") return "Here --user names the user; that of a ticket, --for.\n";
  if (code === "unauthenticated") return "Give the key in APTIX_KEY, or keep it in this system's keychain with: aptix-edge login\n";
  // What the deployment permits nobody, such as more turns of a session, no other credential gets.
  const lacks = code === "forbidden" && (details?.Operation ?? details?.Right ?? path) !== undefined;
  if (lacks || code === "credential_expired") return "Another key or ticket is needed: APTIX_KEY, or aptix-edge login\n";
  if (code === "turn_awaiting_tools" || code === "turn_in_progress") return `Go on with it: aptix-edge chat --session ${session}; or give it up: aptix-edge cancel ${session}\n`;
  return "";
}
