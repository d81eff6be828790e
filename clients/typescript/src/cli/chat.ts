// `chat`: a conversation in the terminal, with tools on the files of a folder and a person who is asked. A turn that was
// left goes on with the same session.
import { randomBytes } from "node:crypto";
import path from "node:path";
import { createInterface } from "node:readline";
import { type ApprovalRequest, type Aptix, AptixError, type Decision, type Store, type Turn, type TurnRequest, formatJson } from "../index.js";
import { fileTools } from "./file_tools.js";
import { show } from "./shown_turn.js";
import { EXIT, type Terminal, failed, shown, shownLines } from "./terminal.js";

export interface ChatArguments {
  url: string;
  /** A message: the chat is this one turn. */
  words?: string;
  session?: string;
  continues: boolean;
  folder: string;
  tools: boolean;
  /** Files are written without a question. */
  allowWrites: boolean;
  turn: TurnRequest;
}

const LINES_SHOWN = 40;
const HELP = "A line is a message. Ctrl-C cancels what runs; /quit, Ctrl-D or Ctrl-C at the prompt leave.\n";

/** A person at this terminal: reads lines, and interrupts. */
class Person {
  readonly #lines;
  readonly #reader;
  /** What Ctrl-C ends; without it, the chat. */
  running: AbortController | undefined;

  constructor(private readonly terminal: Terminal) {
    this.#reader = createInterface({ input: process.stdin, output: terminal.isInteractive ? process.stderr : undefined });
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.#reader.on("SIGINT", () => (this.running ? this.running.abort(new Error("interrupted")) : this.close()));
  }

  /** A line; `undefined` at the end. */
  async ask(question: string): Promise<string | undefined> {
    if (this.terminal.isInteractive) {
      this.#reader.setPrompt(question);
      this.#reader.prompt();
    } else this.terminal.err(question);
    const { done, value } = await this.#lines.next();
    return done ? undefined : value;
  }

  async agrees(question: string): Promise<boolean> {
    return /^y(es)?$/i.test((await this.ask(`${question} (y/n) `))?.trim() ?? "");
  }

  close(): void {
    this.#reader.close();
  }
}

export async function chat(aptix: Aptix, options: ChatArguments, store: Store, terminal: Terminal): Promise<number> {
  const folder = path.resolve(options.folder);
  const newest = `newest ${folder}`;
  const continued = options.continues ? await store.get<string>(newest) : undefined;
  const sessionId = options.session ?? continued ?? `chat-${randomBytes(6).toString("hex")}`;
  const session = aptix.session(sessionId);
  // One message that comes from a script has nobody to answer.
  const person = options.words === undefined || terminal.isInteractive ? new Person(terminal) : undefined;
  const answers = {
    ...(options.tools && { tools: fileTools(folder, consent(person, options.allowWrites)) }),
    ...(person && { onApproval: (request: ApprovalRequest) => decided(person, request, terminal) }),
    progress: true,
    cancelOnAbort: true,
  };
  const run = async (turn: (signal: AbortSignal) => Turn): Promise<number> => {
    const controller = new AbortController();
    const end = () => controller.abort(terminal.signal.reason);
    terminal.signal.addEventListener("abort", end);
    if (person) person.running = controller;
    try {
      return await show(turn(controller.signal), terminal);
    } catch (error) {
      if (controller.signal.aborted && !terminal.signal.aborted) {
        terminal.err("\nThe turn is cancelled.\n");
        return EXIT.interrupted;
      }
      if (!(error instanceof AptixError) || options.words !== undefined) throw error;
      return failed(terminal, error, options.url);
    } finally {
      terminal.signal.removeEventListener("abort", end);
      if (person) person.running = undefined;
    }
  };
  try {
    const { LiveTurn } = await session.get().catch((error: AptixError) => {
      if (error.code !== "session_not_found") throw error;
      return { LiveTurn: undefined };
    });
    await store.update(newest, sessionId);
    if (!terminal.json) terminal.err(`Session ${sessionId}${options.tools ? `, with the files of ${folder}` : ""}\n${options.words === undefined ? HELP : ""}`);
    if (LiveTurn) {
      if (!terminal.json) terminal.err(`Going on with the turn ${LiveTurn.TurnId}.\n`);
      await run((signal) => session.attach(LiveTurn.TurnId, { ...answers, signal }));
    }
    const send = (Instruction: string) => run((signal) => session.turn({ ...options.turn, Instruction }, { ...answers, signal }));
    if (options.words !== undefined) return await send(options.words);
    let code: number = EXIT.done;
    for (let line; (line = await person!.ask("> ")) !== undefined && line.trim() !== "/quit"; ) {
      if (line.trim() === "/help") terminal.err(HELP);
      else if (line.trim() !== "") code = await send(line);
    }
    if (!terminal.json) terminal.err(`\nIt goes on with: aptix-edge chat --session ${sessionId}\n`);
    // A person has seen what failed; a script that sends lines has not.
    return terminal.isInteractive ? EXIT.done : code;
  } finally {
    person?.close();
  }
}

function consent(person: Person | undefined, allowWrites: boolean) {
  return {
    mayRead: async (name: string) => (await person?.agrees(`Let the model read ${shown(name)}, which is no part of the folder's sources?`)) ?? false,
    mayWrite: async (name: string, text: string, before: string | undefined) => {
      if (allowWrites || !person) return allowWrites;
      const lines = shownLines(text).split("\n");
      const more = lines.length > LINES_SHOWN ? `\n… and ${lines.length - LINES_SHOWN} more lines` : "";
      const change = before === undefined ? "a new file" : `now ${before.split("\n").length} lines`;
      return person.agrees(`\n${lines.slice(0, LINES_SHOWN).map((line) => `+ ${line}`).join("\n")}${more}\nWrite ${shown(name)} (${change}, then ${lines.length} lines)?`);
    },
  };
}

/** Puts the question of a tool of the service. */
async function decided(person: Person, { Name, ArgumentsJson, Message, AllowEdit }: ApprovalRequest, { err }: Terminal): Promise<Decision> {
  err(`\n${Message ? `${shown(Message)}\n` : ""}${shown(Name)} ${shownLines(formatJson(ArgumentsJson))}\n`);
  for (;;) {
    const answer = (await person.ask(`Run it? (y)es, (n)o, or no and why${AllowEdit ? ", (e)dit" : ""}: `))?.trim() ?? "n";
    if (/^y(es)?$/i.test(answer)) return true;
    if (AllowEdit && /^e(dit)?$/i.test(answer)) {
      const edited = (await person.ask("Arguments, as JSON on one line: ")) ?? "";
      try {
        JSON.parse(edited);
        return { Approved: true, ArgumentsJson: edited };
      } catch (error) {
        err(`${(error as Error).message}\n`);
      }
    } else if (answer !== "") return { Approved: false, ...(!/^no?$/i.test(answer) && { Reason: answer.replace(/^no?[ ,:]+/i, "") }) };
  }
}
