// What a service keeps, as a terminal shows it: chunks, sessions, turns, exports, and the commands that end or erase.
import { lstatSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { Aptix, AptixError, ErasureReceipt, ForkRequest, HttpOptions, SearchRequest, SessionsOptions, TicketRequest } from "../index.js";
import { newId } from "../ids.js";
import { laidOut, membersOf } from "../json_text.js";
import { erasedUser } from "../user_erasure.js";
import { User } from "../users.js";
import { Workspace } from "../workspace.js";
import { EXIT, type Terminal, UsageError, documents, shown, shownLines, table, tell } from "./terminal.js";

const when = (time: string) => `${time.slice(0, 16).replace("T", " ")}Z`;
/** Of a list whose length nobody has named. */
export const DEFAULT_SESSIONS = 50;

export async function search(aptix: Aptix, workspace: string, query: SearchRequest, terminal: Terminal): Promise<number> {
  const found = await new Workspace(aptix, workspace).search(query);
  const chunks = found.Chunks.map(({ Path, StartLine, EndLine, Text, Score }) => {
    const place = `${shown(Path)}:${StartLine}-${EndLine}`;
    const text = shownLines(Text).trimEnd().split("\n").map((line) => `    ${line}`).join("\n");
    return `${place}${Score === undefined ? "" : `  ${Number(Score.toPrecision(2))}`}\n${text}`;
  });
  // What the workspace holds is not told to everybody who may search it.
  const held = async () => (await new Workspace(aptix, workspace).get().catch(() => undefined))?.Documents;
  const none = async () => ((await held()) === 0 ? `The workspace ${workspace} has no documents.` : `Nothing${query.RagScope ? " in this scope" : ""} has any of these words.`);
  tell(terminal, found, chunks.join("\n\n") || (terminal.json ? "" : await none()));
  return EXIT.done;
}

export async function sessions(aptix: Aptix, options: SessionsOptions, most: number | undefined, terminal: Terminal): Promise<number> {
  const found = [];
  for await (const entry of aptix.sessions(options)) {
    if (found.length >= (most ?? DEFAULT_SESSIONS)) {
      // Whoever has named a number knows of it.
      if (most === undefined && !terminal.json) terminal.err(`There are more than these ${DEFAULT_SESSIONS}: --limit names another number.\n`);
      break;
    }
    found.push(entry);
  }
  const rows = found.map(({ SessionId, Status, Turns, ActiveAt, Title, Waiting }) =>
    [SessionId, Status, `${Turns} turns`, when(ActiveAt), Title + (Waiting ? ` [waits for ${Waiting.Tools.join(", ")}]` : "")]);
  tell(terminal, { Sessions: found }, rows.length > 0 ? table(rows) : "There are no such sessions.");
  return EXIT.done;
}

export async function turns(aptix: Aptix, sessionId: string, terminal: Terminal): Promise<number> {
  const found = [];
  for await (const entry of aptix.session(sessionId).turns()) found.push(entry);
  const rows = found.map(({ TurnId, Status, StartedAt, Usage }) => [TurnId, Status, when(StartedAt), Usage ? `${Usage.TotalTokens} tokens` : ""]);
  tell(terminal, { Turns: found }, table(rows));
  return EXIT.done;
}

/** The turn that is meant: the one named, else the one that runs or waits, else the newest. */
export async function turnOf(aptix: Aptix, sessionId: string, turnId?: string): Promise<string> {
  if (turnId !== undefined) return turnId;
  const { LiveTurn, LatestTurn } = await aptix.session(sessionId).get();
  const turn = LiveTurn ?? LatestTurn;
  if (!turn) throw new UsageError(`The session ${sessionId} has no turn.`);
  return turn.TurnId;
}

export async function exportSession(aptix: Aptix, sessionId: string, file: string | undefined, terminal: Terminal): Promise<number> {
  let written!: Promise<string>;
  const heard: Partial<HttpOptions> = {
    middleware: [
      async (url, init, next) => {
        const response = await next(url, init);
        written = response.clone().text();
        written.catch(() => {}); // Whoever reads the response fails by the same.
        return response;
      },
    ],
  };
  await aptix.session(sessionId, heard).export();
  // As the service writes it: read and written anew, its numbers would be doubles, and no body could be built again from it.
  const text = membersOf(await written).get("Result")!;
  const lines = () => shownLines(laidOut(text));
  if (file !== undefined) put(file, `${text}\n`);
  else terminal.out(`${terminal.json ? lines().replace(/\n */g, "") : lines()}\n`);
  return EXIT.done;
}

/** Writes a new file, for its owner alone: it is a conversation. It has its name when it is whole, however the writing ends. */
function put(file: string, text: string): void {
  const part = `${file}.${process.pid}.part`;
  try {
    writeFileSync(part, text, { mode: 0o600, flag: "wx", flush: true });
    if (lstatSync(file, { throwIfNoEntry: false })) throw new Error(`${file} is there already, and is kept. Remove it, or name another file.`);
    renameSync(part, file);
  } finally {
    rmSync(part, { force: true });
  }
}

/** What came in the place of an answer. */
const MAY_BE_DONE = /^(?:connection_lost|overloaded|internal)$/;

export async function fork(aptix: Aptix, sessionId: string, members: Partial<ForkRequest>, terminal: Terminal): Promise<number> {
  const id = members.SessionId ?? newId();
  const made = aptix.session(sessionId).fork({ ...members, SessionId: id });
  const { SessionId, ParentSessionId, AfterTurnId, Turns } = await made.catch((error: AptixError) => {
    // No list shows the forks of a key's own sessions.
    if (!terminal.json && error.retryable && MAY_BE_DONE.test(error.code)) terminal.err(`The fork may be there all the same: the same command with --as ${id} finds it.\n`);
    throw error;
  });
  // The id stands alone on standard output, for a variable of a shell.
  if (!terminal.json) terminal.err(`It has ${Turns === 1 ? "the first turn" : `the first ${Turns} turns`} of ${shown(ParentSessionId)}, and goes on with: aptix-edge chat --session ${shown(SessionId)}\n`);
  tell(terminal, { SessionId, ParentSessionId, AfterTurnId, Turns }, SessionId);
  return EXIT.done;
}

export async function cancel(aptix: Aptix, sessionId: string, turnId: string | undefined, terminal: Terminal): Promise<number> {
  const view = await aptix.session(sessionId).cancel(await turnOf(aptix, sessionId, turnId));
  tell(terminal, view, `The turn ${view.TurnId} is ${view.Status}.`);
  return EXIT.done;
}

const counts = (receipt: object) => table(Object.entries(receipt).map(([name, value]) => [name, typeof value === "object" ? JSON.stringify(value) : value]));

export async function eraseSession(aptix: Aptix, sessionId: string, terminal: Terminal): Promise<number> {
  const receipt: ErasureReceipt | undefined = await aptix.session(sessionId).erase();
  tell(terminal, receipt ?? null, receipt ? counts(receipt) : `The session ${sessionId} is erased; its receipt was lost with the connection.`);
  return EXIT.done;
}

export async function eraseWorkspace(aptix: Aptix, workspace: string, terminal: Terminal): Promise<number> {
  const held = await new Workspace(aptix, workspace).erase();
  tell(terminal, held, `The workspace ${workspace} is erased: ${documents(held.Documents)}, ${held.Chunks} chunks, ${held.Bytes} bytes.`);
  return EXIT.done;
}

export async function eraseUser(aptix: Aptix, name: string, terminal: Terminal): Promise<number> {
  const receipt = await erasedUser(new User(aptix, name), terminal.signal);
  const left = receipt?.Sessions.Pending ?? 0;
  if (left > 0 && !terminal.json) terminal.err(`Not erased yet: ${left} of the sessions. The service goes on; the same command says how far it is.\n`);
  tell(terminal, receipt ?? null, receipt ? counts(receipt) : `The user ${name} is erased; the receipt was lost with the connection.`);
  return left > 0 ? EXIT.partly : EXIT.done;
}

export async function ticket(aptix: Aptix, grant: TicketRequest, terminal: Terminal): Promise<number> {
  const made = await aptix.ticket(grant);
  // Alone on standard output, for a variable of a shell.
  if (!terminal.json) terminal.err(shownLines(`for ${made.User}, until ${made.ExpiresAt}: ${made.Operations.join(", ")}\n`));
  tell(terminal, made, made.Ticket);
  return EXIT.done;
}
