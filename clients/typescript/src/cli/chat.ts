// `chat`: a conversation in the terminal, with tools on the files of a folder and a person who is asked. A turn that was
// left goes on with the same session.
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import path from "node:path";
import { type ApprovalRequest, type Aptix, AptixError, type Decision, type Store, type Turn, type TurnRequest, formatJson } from "../index.js";
import { onAbort, unlessAborted } from "../signals.js";
import { difference } from "./difference.js";
import { type Consent, fileTools, isHidden } from "./file_tools.js";
import { Person } from "./person.js";
import { show } from "./shown_turn.js";
import { EXIT, KILLED, type Terminal, UsageError, failed, shown, shownLines } from "./terminal.js";

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

const HELP = "A line or a paste is a message. Ctrl-C cancels what runs; /quit, Ctrl-D or Ctrl-C at the prompt leave.\n";

export async function chat(aptix: Aptix, options: ChatArguments, store: Store, terminal: Terminal): Promise<number> {
  const folder = path.resolve(options.folder);
  const newest = `newest ${folder}`;
  const continued = options.continues ? await store.get<string>(newest) : undefined;
  const isFolder = !options.tools || (await stat(folder).then((found) => found.isDirectory(), () => false));
  if (!isFolder) throw new UsageError(`${options.folder} is no folder that can be read.`);
  const sessionId = (terminal.session = options.session ?? continued ?? `chat-${randomBytes(6).toString("hex")}`);
  const session = aptix.session(sessionId);
  // One message that comes from a script leaves standard input alone.
  const person = options.words === undefined || terminal.isInteractive ? new Person(terminal) : undefined;
  // Only a person at a terminal can be asked.
  const asked = terminal.isInteractive ? person : undefined;
  const edited = new Map<string, string>();
  const answers = {
    ...(options.tools && { tools: fileTools(folder, consent(asked, options.allowWrites, terminal)) }),
    onApproval: (request: ApprovalRequest, { signal }: { signal: AbortSignal }) => (asked ? decided(asked, request, edited, signal, terminal) : refused(request, terminal)),
    progress: true,
  };
  const until = (signal: AbortSignal) => ({ ...answers, signal, get cancelOnAbort() { return signal.reason !== KILLED; } });
  const run = async (turn: (signal: AbortSignal) => Turn): Promise<number> => {
    const controller = new AbortController();
    const unlisten = onAbort(terminal.signal, (reason) => controller.abort(reason));
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
      unlisten();
      if (person) person.running = undefined;
    }
  };
  const live = async () => {
    const asked = unlessAborted(session.get(), terminal.signal);
    const { LiveTurn } = await unlessAborted(asked, person?.quit.signal).catch((error: AptixError) => {
      if (error.code !== "session_not_found") throw error;
      return { LiveTurn: undefined };
    });
    return LiveTurn?.TurnId;
  };
  const goOn = (turnId: string) => {
    if (!terminal.json) terminal.err(`Going on with the turn ${shown(turnId)}.\n`);
    return run((signal) => session.attach(turnId, until(signal)));
  };
  // Nothing else ends the wait for a message.
  const unlisten = onAbort(terminal.signal, () => person?.close());
  try {
    const begun = await live();
    await store.update(newest, sessionId);
    // Neither is a message sent by who has left before, nor a question of the turn that waits answered with no.
    person?.quit.signal.throwIfAborted();
    if (!terminal.json) terminal.err(`Session ${sessionId}${options.tools ? `, with the files of ${folder}` : ""}\n${options.words === undefined ? HELP : ""}`);
    let code: number = begun === undefined ? EXIT.done : await goOn(begun);
    const send = (Instruction: string) => run((signal) => session.turn({ ...options.turn, Instruction }, until(signal)));
    if (options.words !== undefined) return await send(options.words);
    /** What the first of the turns before came to that has failed. */
    let before: number = EXIT.done;
    for (let line; (line = await person!.message()) !== undefined && line.trim() !== "/quit"; ) {
      if (line.trim() === "/help") terminal.err(HELP);
      else if (line.trim() !== "") {
        // A turn of which sight was lost, as with a connection, runs or waits on, and no other one is taken before its end.
        const left = code === EXIT.done ? undefined : await live().catch(() => undefined);
        if (person!.quit.signal.aborted) break;
        if (left !== undefined) code = await goOn(left);
        before ||= code;
        code = await send(line.trimEnd());
      }
    }
    terminal.signal.throwIfAborted();
    if (!terminal.json) terminal.err(`\nIt goes on with: aptix-edge chat --session ${sessionId}\n`);
    // A person has seen what failed; a script that sends lines has not.
    return terminal.isInteractive ? EXIT.done : before || code;
  } catch (error) {
    if (person?.quit.signal.aborted) return EXIT.interrupted;
    throw error;
  } finally {
    unlisten();
    person?.close();
  }
}

function consent(person: Person | undefined, allowWrites: boolean, terminal: Terminal): Consent {
  const agrees = async (what: string, signal: AbortSignal, question: () => string) => {
    if (person) return person.agrees(question(), signal);
    terminal.err(`Nobody can be asked here, so it is refused to ${what}\n`);
    return false;
  };
  return {
    mayRead: (name, signal) => agrees(`read ${shown(name)}`, signal, () => `Let the model read ${shown(name)}, which is no part of the folder's sources?`),
    mayWrite: async (name, text, before, signal) => {
      if (allowWrites && !isHidden(name)) return true;
      return agrees(`write ${shown(name)}`, signal, () => {
        const lines = before === undefined ? text.split("\n").map((line) => `+ ${line}`) : difference(before, text);
        const kind = before === undefined ? "a new file" : "as it is shown above";
        return `\n${lines.map(shownLines).join("\n")}\nWrite ${shown(name)} (${kind})?`;
      });
    },
  };
}

function refused({ Name }: ApprovalRequest, { err }: Terminal): Decision {
  err(`${shown(Name)} needs consent, and nobody can be asked here: it is refused.\n`);
  return { Approved: false, Reason: "Nobody could be asked." };
}

/** Puts the question of a tool of the service. `edited`: what was written in place of arguments, by calls. */
async function decided(person: Person, request: ApprovalRequest, edited: Map<string, string>, signal: AbortSignal, { err }: Terminal): Promise<Decision> {
  const { ToolCallId, Name, ArgumentsJson, Message, AllowEdit, Refusal } = request;
  const call = `${Message ? `${shown(Message)}\n` : ""}${shown(Name)} ${shownLines(formatJson(ArgumentsJson))}`;
  for (let about = `\n${Refusal ? `That was refused: ${shownLines(Refusal)}\n` : ""}${call}\n`; ; about = "") {
    const answer = (await person.answer(`${about}Run it? (y)es, (n)o, or no and why${AllowEdit ? ", (e)dit" : ""}: `, signal))?.trim() ?? "n";
    if (/^y(es)?$/i.test(answer)) return true;
    if (/^no?\b/i.test(answer)) return { Approved: false, ...(!/^no?$/i.test(answer) && { Reason: answer.replace(/^no?[ ,:]*/i, "") }) };
    if (!AllowEdit || !/^e(dit)?$/i.test(answer)) continue;
    // What is no JSON stays to be mended; an empty line leaves it.
    for (;;) {
      const text = await person.answer("Arguments: ", signal, edited.get(ToolCallId) ?? formatJson(ArgumentsJson).replace(/\n */g, " "));
      if (!text?.trim()) break;
      edited.set(ToolCallId, text);
      try {
        JSON.parse(text);
        return { Approved: true, ArgumentsJson: text };
      } catch (error) {
        err(`${(error as Error).message}\n`);
      }
    }
  }
}
