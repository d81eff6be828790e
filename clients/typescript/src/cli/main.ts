#!/usr/bin/env node
// The command line: which command is meant, where the service is, and with which key. A key is never an argument, since
// every user of a computer can see those.
import { createHash } from "node:crypto";
import { fstatSync, readFileSync, writeFileSync } from "node:fs";
import { Socket } from "node:net";
import { createInterface } from "node:readline";
import { Writable } from "node:stream";
import { parseArgs } from "node:util";
import { Aptix, type Operation, type SearchRequest, type SessionStatus } from "../index.js";
import { unlessAborted } from "../signals.js";
import { chat } from "./chat.js";
import { type Options, SHELLS, completion } from "./completion.js";
import { dev } from "./dev.js";
import { keep, keptKey } from "./keychain.js";
import { meant } from "./nearest.js";
import { Person } from "./person.js";
import { show } from "./shown_turn.js";
import { fileStore, stateFolder } from "./state.js";
import { sync } from "./sync.js";
import { EXIT, INTERRUPTED, KILLED, type Terminal, UsageError, failed } from "./terminal.js";
import { trace } from "./trace_tree.js";
import * as views from "./views.js";

declare const VERSION: string;
const DEFAULT_URL = "http://127.0.0.1:8787";

type Values = Record<string, string | boolean | string[] | undefined>;
interface Call {
  aptix: Aptix;
  url: string;
  owner: string;
  positionals: string[];
  values: Values;
  terminal: Terminal;
}
interface Command {
  usage: string;
  does: string;
  options: Options;
  /** What its argument may be, where that is one of a few. */
  values?: readonly string[];
  /** Of positional arguments: the least and the most. */
  takes: [number, number];
  /** At a signal it ends in order what it has begun; of any other command nothing is waited for. */
  endsItself?: boolean;
  run(call: Call): Promise<number>;
}

const text = (about: string) => ({ type: "string", about }) as const;
const flag = (about: string) => ({ type: "boolean", about }) as const;
const choice = (otherwise: string, ...values: string[]) => ({ type: "string", about: `${values.slice(0, -1).join(", ")} or ${values.at(-1)}; ${otherwise}`, values }) as const;
const list = (about: string) => ({ type: "string", multiple: true, about }) as const;
const SCOPED = "a condition on documents, KEY=VALUE; the operators are = != ~ (contains) !~";

const optional = (values: Values, name: string) => values[name] as string | undefined;
function required(values: Values, name: string): string {
  const value = optional(values, name);
  if (value === undefined) throw new UsageError(`--${name} is required.`);
  return value;
}
function count(values: Values, name: string, most: number, least = 1): number | undefined {
  const value = optional(values, name);
  if (value === undefined) return undefined;
  const number = Number(value);
  if (!Number.isInteger(number) || number < least || number > most) throw new UsageError(`--${name} is a whole number from ${least} to ${most}.`);
  return number;
}
function excluded(values: Values, one: string, other: string): void {
  if (values[one] && values[other] !== undefined) throw new UsageError(`--${one} and --${other} exclude each other.`);
}
/** The words of a message. Standard input is read where they ask for it alone: it may be a script's own. */
async function message(words: string[], terminal: Terminal): Promise<string> {
  if (!words.includes("-")) {
    if (!terminal.json && isPipe()) terminal.err("Standard input is not read: - in the message appends it.\n");
    return words.join(" ");
  }
  if (process.stdin.isTTY) throw new UsageError("- stands for standard input, which is a terminal here.");
  const chunks: Buffer[] = [];
  for await (const chunk of process.stdin) chunks.push(chunk as Buffer);
  return [words.filter((word) => word !== "-").join(" "), Buffer.concat(chunks).toString().trimEnd()].filter(Boolean).join("\n\n");
}
function isPipe(): boolean {
  try {
    return fstatSync(0).isFIFO();
  } catch {
    return false;
  }
}
const SCOPE = /^([^=!~]+?)(==?|!=|~|!~)(.*)$/s;
type Operator = NonNullable<SearchRequest["RagScope"]>["Conditions"][number]["Operator"];
/** How each operator is written; the compiler asks for all of them. */
const WRITTEN: Record<Operator, readonly string[]> = { "==": ["=", "=="], "!=": ["!="], contains: ["~"], does_not_contain: ["!~"] };
const OPERATORS = new Map(Object.entries(WRITTEN).flatMap(([operator, written]) => written.map((each) => [each, operator as Operator])));
function scope(values: Values): SearchRequest["RagScope"] {
  const given = values.scope as string[] | undefined;
  if (!given) return undefined;
  const Conditions = given.map((condition) => {
    const [, Key, operator, rest] = SCOPE.exec(condition) ?? [];
    if (Key === undefined) throw new UsageError(`--scope ${condition} is no condition, such as Path~src/ or team=core,edge.`);
    return { Key, Operator: OPERATORS.get(operator!)!, Values: rest!.split(",") };
  });
  return { Conditions };
}

/** The JSON Schema in a file, as it is sent. */
function schema(values: Values): string | undefined {
  const file = optional(values, "schema");
  if (file === undefined) return undefined;
  let text;
  let read: unknown;
  try {
    text = readFileSync(file, "utf8").replace(/^\uFEFF/, "");
    read = JSON.parse(text);
  } catch (error) {
    throw new UsageError(`--schema ${file} cannot be read as JSON: ${(error as Error).message}`);
  }
  if (typeof read !== "object" || read === null || Array.isArray(read)) throw new UsageError(`--schema ${file} holds no JSON Schema, which is an object.`);
  return text;
}

const COMMANDS: Record<string, Command> = {
  chat: {
    usage: "chat [MESSAGE…] [--session ID | --continue] [--folder DIR | --no-tools] [--allow-writes] [--workspace W] [--context ID] [--schema FILE] [--scope KEY=VALUE]…",
    does: "Talks with the agent, with tools on the files of a folder. With a MESSAGE, one turn; - appends what standard input has.",
    options: {
      session: text("goes on with this session, or begins it; a new one, unless given"),
      continue: flag("goes on with the folder's newest session"),
      folder: text("the folder of the tools; the current one"),
      "no-tools": flag("the agent sees no files"),
      "allow-writes": flag("the agent changes files unasked, save hidden ones; each change is asked about"),
      workspace: text("the workspace that turns search; none"),
      context: text("the conversation context; the catalog's default"),
      schema: text("a file with a JSON Schema, the form of the answer, which is JSON then; the catalog's"),
      scope: list(SCOPED),
    },
    takes: [0, Infinity],
    endsItself: true,
    run: async ({ aptix, url, owner, positionals, values, terminal }) => {
      excluded(values, "continue", "session");
      excluded(values, "no-tools", "folder");
      const [workspace, context] = [optional(values, "workspace"), optional(values, "context")];
      const RagScope = scope(values);
      const OutputSchema = schema(values);
      const turn = {
        ...(workspace && { WorkspaceId: workspace }),
        ...(context && { ConversationContextId: context }),
        ...(RagScope && { RagScope }),
        ...(OutputSchema !== undefined && { OutputSchema }),
      };
      const options = {
        url,
        words: positionals.length > 0 ? await unlessAborted(message(positionals, terminal), terminal.signal) : undefined,
        session: optional(values, "session"),
        continues: values.continue === true,
        folder: optional(values, "folder") ?? ".",
        tools: values["no-tools"] !== true,
        allowWrites: values["allow-writes"] === true,
        turn,
      };
      return chat(aptix, options, fileStore(stateFolder(terminal.env), owner), terminal);
    },
  },
  sync: {
    usage: "sync FOLDER --workspace W [--watch] [--dry-run] [--keep] [--include PATTERN]… [--max-bytes N] [--verbose]",
    does: "Makes a workspace hold the text files of a folder, and nothing else. --keep removes nothing.",
    options: {
      workspace: text("the workspace; required"),
      watch: flag("goes on with each change of the folder"),
      "dry-run": flag("says what would be sent and removed, and does neither"),
      keep: flag("removes nothing"),
      "max-bytes": text("the longest file, in bytes; 2097152"),
      include: list("takes what only the client's own rules leave out, by a pattern as of an ignore file"),
      verbose: flag("lists every path that is sent, removed or left out, the last with the reason"),
    },
    takes: [1, 1],
    endsItself: true,
    run: ({ aptix, url, positionals, values, terminal }) => {
      const isSet = (name: string) => values[name] === true;
      excluded(values, "watch", "dry-run");
      const options = {
        url,
        folder: positionals[0]!,
        workspace: required(values, "workspace"),
        watch: isSet("watch"),
        dryRun: isSet("dry-run"),
        keep: isSet("keep"),
        verbose: isSet("verbose"),
        maxBytes: count(values, "max-bytes", 20_000_000),
        include: values.include as string[] | undefined,
      };
      return sync(aptix, options, terminal);
    },
  },
  search: {
    usage: "search QUERY… --workspace W [--limit 1..100] [--scope KEY=VALUE]…",
    does: "The chunks that a turn would be given. A scope's operators: = != ~ (contains) !~.",
    options: { workspace: text("the workspace; required"), limit: text("the most chunks, 1 to 100; those of a turn"), scope: list(SCOPED) },
    takes: [1, Infinity],
    run: ({ aptix, positionals, values, terminal }) => {
      const query = { Query: positionals.join(" "), Limit: count(values, "limit", 100), RagScope: scope(values) };
      return views.search(aptix, required(values, "workspace"), query, terminal);
    },
  },
  sessions: {
    usage: "sessions [--status S] [--query WORDS] [--order Activity|Created] [--limit N]",
    does: "The sessions of a user: that of the ticket, or of --user.",
    options: { status: choice("all", "running", "awaiting_tools", "awaiting_approval", "idle", "failed"), query: text("words of the title"), order: choice("Activity", "Activity", "Created"), limit: text(`the most sessions; ${views.DEFAULT_SESSIONS}`) },
    takes: [0, 0],
    run: ({ aptix, values, terminal }) => {
      const options = { status: optional(values, "status") as SessionStatus, query: optional(values, "query"), order: optional(values, "order") as "Activity" };
      return views.sessions(aptix, options, count(values, "limit", 100_000), terminal);
    },
  },
  turns: {
    usage: "turns SESSION",
    does: "The turns of a session, oldest first.",
    options: {},
    takes: [1, 1],
    run: ({ aptix, positionals, terminal }) => views.turns(aptix, positionals[0]!, terminal),
  },
  fork: {
    usage: "fork SESSION [--after TURN] [--context ID] [--as NEW]",
    does: "Makes a new session that goes on from a turn of this one, the newest that has ended unless --after names it.",
    options: { after: text("the last turn that the fork has; the newest that has ended"), context: text("the conversation context of the fork; the same"), as: text("the id of the fork; a new one") },
    takes: [1, 1],
    run: ({ aptix, positionals, values, terminal }) => {
      const members = { AfterTurnId: optional(values, "after"), ConversationContextId: optional(values, "context"), SessionId: optional(values, "as") };
      return views.fork(aptix, positionals[0]!, members, terminal);
    },
  },
  watch: {
    usage: "watch SESSION [TURN]",
    does: "A turn as it runs: the live one, else the newest. Watching answers nothing.",
    options: {},
    takes: [1, 2],
    run: async ({ aptix, positionals, terminal }) => {
      const turnId = await views.turnOf(aptix, positionals[0]!, positionals[1]);
      return show(aptix.session(positionals[0]!).attach(turnId, { progress: true, signal: terminal.signal }), terminal);
    },
  },
  trace: {
    usage: "trace SESSION [TURN]",
    does: "What a turn did: model calls, tools, times, tokens.",
    options: {},
    takes: [1, 2],
    run: ({ aptix, positionals, terminal }) => trace(aptix, positionals[0]!, positionals[1], terminal),
  },
  export: {
    usage: "export SESSION [--output FILE]",
    does: "All that is kept of a session, as JSON.",
    options: { output: { ...text("the file to write; standard output"), short: "o" } },
    takes: [1, 1],
    run: ({ aptix, positionals, values, terminal }) => views.exportSession(aptix, positionals[0]!, optional(values, "output"), terminal),
  },
  cancel: {
    usage: "cancel SESSION [TURN]",
    does: "Ends a turn that runs or waits.",
    options: {},
    takes: [1, 2],
    run: ({ aptix, positionals, terminal }) => views.cancel(aptix, positionals[0]!, positionals[1], terminal),
  },
  erase: {
    usage: "erase SESSION | --workspace W | --of-user U  [--yes]",
    does: "Erases a session, a workspace, or all sessions of a user, for good.",
    options: { workspace: text("a workspace in place of a session"), "of-user": text("all sessions of a user"), yes: { ...flag("asks nothing"), short: "y" } },
    takes: [0, 1],
    run: async ({ aptix, positionals: [session], values, terminal }) => {
      const [workspace, user] = [optional(values, "workspace"), optional(values, "of-user")];
      const named = [session, workspace, user].filter((each) => each !== undefined);
      if (named.length !== 1) throw new UsageError("Name one thing to erase: SESSION, --workspace W or --of-user U.");
      const what = session !== undefined ? `the session ${session}` : workspace !== undefined ? `the workspace ${workspace}` : `all sessions of the user ${user}`;
      if (values.yes !== true && !(await agreed(`Erase ${what} for good?`, terminal))) return EXIT.failed;
      if (session !== undefined) return views.eraseSession(aptix, session, terminal);
      return workspace !== undefined ? views.eraseWorkspace(aptix, workspace, terminal) : views.eraseUser(aptix, user!, terminal);
    },
  },
  ticket: {
    usage: "ticket [--for USER] [--sessions S,…] [--turns T,…] [--operations O,…] [--workspaces W,…] [--contexts C,…] [--origins O,…] [--actor A] [--tokens N] [--expires SECONDS]",
    does: "Mints a ticket for a page or a guest.",
    options: {
      for: text("the user, whom a key has to name; that of the ticket"),
      sessions: text("these alone, draft-* for a beginning; all of the user's"),
      turns: text("these alone; all"),
      operations: text("these alone; Execute,Answer,Approve,Watch,Read,Cancel,List,Rename"),
      workspaces: text("those that may be searched; none"),
      contexts: text("those with which a session may begin; all"),
      origins: text("the pages that may use it; any that may call"),
      actor: text("who uses it, where that is not the user"),
      tokens: text("the most tokens of a turn; no limit of its own"),
      expires: text("seconds, 10 to 3600; 600"),
    },
    takes: [0, 0],
    run: ({ aptix, values, terminal }) => {
      const all = (name: string) => optional(values, name)?.split(",");
      // A ticket that makes a narrower one names nobody. Of a key the service demands a user.
      if (optional(values, "user") !== undefined && optional(values, "for") === undefined) throw new UsageError("--for names the user of a ticket; --user is whom a key acts for.");
      const grant = {
        User: optional(values, "for"),
        Actor: optional(values, "actor"),
        Sessions: all("sessions"),
        Turns: all("turns"),
        Operations: all("operations") as Operation[] | undefined,
        Workspaces: all("workspaces"),
        Contexts: all("contexts"),
        Origins: all("origins"),
        TurnTokens: count(values, "tokens", Number.MAX_SAFE_INTEGER),
        ExpiresInS: count(values, "expires", 3600, 10),
      };
      return views.ticket(aptix, grant, terminal);
    },
  },
  login: {
    usage: "login",
    does: "Keeps the key of the service in this system's keychain. It is read from standard input.",
    options: {},
    takes: [0, 0],
    run: async ({ url, terminal }) => {
      const key = (await secret(`Key for ${url}: `, terminal)).trim();
      if (key === "") throw new UsageError("No key was given.");
      await keep(url, key);
      terminal.err(`The keychain has the key for ${url}.\n`);
      return EXIT.done;
    },
  },
  dev: {
    usage: "dev [--port P] [--catalog FILE] [--data DIR]",
    does: "Serves on this machine, by the package aptix-edge-server; without a key, with a stand-in for the model service.",
    options: {
      port: text("the port on 127.0.0.1; 8787"),
      catalog: text("a catalog of your own; one for trying"),
      data: text("the folder that keeps the sessions; .aptix-edge/PORT"),
    },
    takes: [0, 0],
    endsItself: true,
    run: ({ values, terminal }) =>
      dev(["port", "catalog", "data"].flatMap((name) => (values[name] === undefined ? [] : [`--${name}`, values[name] as string])), terminal),
  },
  completion: {
    usage: `completion ${SHELLS.join("|")}`,
    does: "Prints what makes a shell complete commands and options: source <(aptix-edge completion bash).",
    options: {},
    values: SHELLS,
    takes: [1, 1],
    run: async ({ positionals: [shell], terminal }) => {
      const made = completion(shell!, COMMANDS, COMMON);
      if (made === undefined) throw new UsageError(`There is no completion for ${shell}. Shells: ${SHELLS.join(", ")}.`);
      terminal.out(made);
      return EXIT.done;
    },
  },
  logout: {
    usage: "logout",
    does: "Takes the key out of the keychain.",
    options: {},
    takes: [0, 0],
    run: async ({ url, terminal }) => {
      await keep(url, undefined);
      terminal.err(`The keychain has no key for ${url} any more.\n`);
      return EXIT.done;
    },
  },
};

const COMMON: Options = {
  url: text(`the service; APTIX_URL, else ${DEFAULT_URL}`),
  user: text("whom a key acts for; nobody"),
  json: flag("what is told is JSON, for scripts"),
  help: { ...flag("shows this"), short: "h" },
  version: flag("shows the version"),
};

/** Options as the help lists them: what each is, and behind a semicolon what holds without it. */
function described(options: Options): string {
  const rows = Object.entries(options).map(([name, { type, about }]) => [`  --${name}${type === "string" ? " …" : ""}`, about] as const);
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, about]) => `${name.padEnd(width)}  ${about}\n`).join("");
}

function usage(name?: string): string {
  const command = name === undefined ? undefined : COMMANDS[name];
  if (command) return `${command.does}\n\n  aptix-edge ${command.usage}\n\n${described({ ...command.options, ...COMMON })}`;
  const rows = Object.values(COMMANDS).map(({ usage: line, does }) => `  ${line}\n      ${does}`);
  return `aptix-edge COMMAND: agent turns over an aptix-edge service, from a terminal.
To begin, "aptix-edge dev" serves on this machine; "aptix-edge chat", in another terminal, talks with it.

${rows.join("\n")}

With every command:
${described(COMMON)}
What a command's options mean: aptix-edge help COMMAND.
The key is in APTIX_KEY, or in this system's keychain by \`aptix-edge login\`; it is never an argument.
To another machine http:// is asked for, since others can read along; APTIX_ALLOW_HTTP=1 agrees.
Exit codes: 0 done, 1 failed, 2 wrong usage, 3 the service cannot be reached, 4 the turn waits or runs, 5 done in part, 130 interrupted.
`;
}

function unknown(command: string): UsageError {
  const known = Object.keys(COMMANDS);
  return new UsageError(`There is no command ${command}.${meant(command, known)} Commands: ${known.join(", ")}.`);
}

async function agreed(question: string, terminal: Terminal, otherwise = "say --yes."): Promise<boolean> {
  if (!terminal.isInteractive) throw new UsageError(`Nobody can be asked here: ${otherwise}`);
  const person = new Person(terminal);
  try {
    const agrees = await person.agrees(question);
    person.quit.signal.throwIfAborted();
    return agrees;
  } finally {
    person.close();
  }
}

/** A line that is not shown as it is typed. */
async function secret(question: string, terminal: Terminal): Promise<string> {
  if (terminal.isInteractive) terminal.err(question);
  const output = new Writable({ write: (_chunk, _encoding, done) => done() });
  const reader = createInterface({ input: process.stdin, output, terminal: terminal.isInteractive });
  let isInterrupted = false;
  reader.once("SIGINT", () => {
    isInterrupted = true;
    reader.close();
  });
  try {
    for await (const line of reader) return line;
    if (isInterrupted) throw INTERRUPTED;
    return "";
  } finally {
    reader.close();
    if (terminal.isInteractive) terminal.err("\n");
  }
}

async function main(args: string[]): Promise<number> {
  const controller = new AbortController();
  process.once("SIGINT", () => controller.abort(INTERRUPTED));
  process.once("SIGTERM", () => controller.abort(KILLED));
  // A reader that has enough, such as head, ends the program.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? EXIT.done : EXIT.failed));
  // What is told to people beside the result is not what was asked for: where nobody reads it, the command goes on.
  process.stderr.on("error", () => {});
  const terminal: Terminal = {
    env: process.env,
    isInteractive: process.stdin.isTTY === true && process.stderr.isTTY === true,
    isTerminal: process.stderr.isTTY === true && process.env.NO_COLOR === undefined && process.env.TERM !== "dumb",
    json: optionsIn(args).includes("--json"),
    signal: controller.signal,
    // Of what is for a file, the stream would take the part for all for which a disk has room.
    out: (words) => void (process.stdout instanceof Socket ? process.stdout.write(words) : writeFileSync(1, words)),
    err: (words) => void process.stderr.write(words),
  };
  let url = process.env.APTIX_URL ?? DEFAULT_URL;
  try {
    const at = nameAt(args);
    const [name, rest] = [args[at], [...args.slice(0, at), ...args.slice(at + 1)]];
    if (name === undefined || name === "--help" || name === "-h" || name === "help") {
      const about = name === "help" && args[at + 1] !== "help" ? args[at + 1] : undefined;
      if (about !== undefined && !Object.hasOwn(COMMANDS, about)) throw unknown(about);
      terminal.out(usage(about));
      return name === undefined ? EXIT.usage : EXIT.done;
    }
    if (name === "--version") {
      terminal.out(`${VERSION}\n`);
      return EXIT.done;
    }
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!command) throw name.startsWith("-") ? new UsageError(`A command comes before ${name}. Usage: aptix-edge COMMAND; aptix-edge --help names them.`) : unknown(name);
    const { values, positionals } = parsed(command, rest);
    if (values.help || values.version) {
      terminal.out(values.help ? usage(name) : `${VERSION}\n`);
      return EXIT.done;
    }
    const [least, most] = command.takes;
    if (positionals.length < least || positionals.length > most) throw new UsageError(`Usage: aptix-edge ${command.usage}`);
    url = optional(values, "url") ?? url;
    // The words do not repeat it: it may have a password.
    if (!isAddress(url)) throw new UsageError("The address of the service begins with https:// or http://, and has no user and no password.");
    // The others ask the service for nothing.
    const asks = !["login", "logout", "dev", "completion"].includes(name);
    if (asks && isOpenToOthers(url) && process.env.APTIX_ALLOW_HTTP !== "1") {
      const question = `${url} is another machine, and http:// shows the key and all words to whoever is on the way. Go on? APTIX_ALLOW_HTTP=1 always does.`;
      const otherwise = `${url} is another machine, to which http:// carries the key and all words for anybody to read. Use https://, or say APTIX_ALLOW_HTTP=1.`;
      if (!(await agreed(question, terminal, otherwise))) return EXIT.failed;
    }
    const credential = asks ? process.env.APTIX_KEY || (await keptKey(url)) : undefined;
    if (credential && !/^[\x21-\x7e]*$/.test(credential.trim())) throw new UsageError("The key has characters that no key has, such as a line break within it. Give it anew in APTIX_KEY, or with: aptix-edge login");
    const user = optional(values, "user");
    const owner = createHash("sha256").update(`${url}\n${holderOf(credential ?? "")}\n${user ?? ""}`).digest("hex");
    // Nobody waits a minute at a terminal to learn that nobody listens.
    const options = { baseUrl: url, credential, maxReconnects: 2, ...(user !== undefined && { user }) };
    const store = fileStore(stateFolder(process.env), owner);
    const running = command.run({ aptix: new Aptix({ ...options, store }), url, owner, positionals, values, terminal });
    return await (command.endsItself ? running : unlessAborted(running, terminal.signal));
  } catch (error) {
    return failed(terminal, error, url);
  }
}

/** Whose what is kept is: of a key the key; a ticket or a JWT, which another one follows within the hour, names its user. */
function holderOf(credential: string): string {
  try {
    const { T, U, iss, sub } = JSON.parse(Buffer.from(credential.split(".")[1]!, "base64url").toString());
    return [T ?? iss, U ?? sub].every((each) => typeof each === "string") ? JSON.stringify([T ?? iss, U ?? sub]) : credential;
  } catch {
    return credential;
  }
}

function isAddress(url: string): boolean {
  if (!/^https?:\/\//i.test(url) || !URL.canParse(url)) return false;
  const { username, password } = new URL(url);
  return username === "" && password === "";
}

/** Whether others on the way can read what goes to this address. */
function isOpenToOthers(url: string): boolean {
  const { protocol, hostname } = new URL(url);
  return protocol === "http:" && !/^(?:localhost|(?:.+\.)localhost|127(?:\.\d+){3}|\[::1\])\.?$/i.test(hostname);
}

/** What may be an option: behind `--` all are words. */
const optionsIn = (args: string[]) => (args.includes("--") ? args.slice(0, args.indexOf("--")) : args);

/** Where the command is named: options that every command has may stand before it. */
function nameAt(args: string[]): number {
  let at = 0;
  for (; ["--url", "--user", "--json"].some((each) => args[at] === each || args[at]?.startsWith(`${each}=`)); at += 1) {
    if (args[at] === "--url" || args[at] === "--user") at += 1;
  }
  return at;
}

function parsed(command: Command, args: string[]): { values: Values; positionals: string[] } {
  if (optionsIn(args).some((each) => /^--?(api-?)?(key|token|credential)\b/i.test(each))) {
    throw new UsageError("A key is no argument, since every user of this computer can see those. Give it in APTIX_KEY, or keep it with: aptix-edge login");
  }
  const options: Options = { ...COMMON, ...command.options };
  let read;
  try {
    read = parseArgs({ args, options, allowPositionals: true, strict: true }) as { values: Values; positionals: string[] };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const [, option = ""] = /'(-[^'\s]*)'/.exec(message) ?? [];
    const known = Object.keys({ ...command.options, ...COMMON }).map((each) => `--${each}`);
    const what = code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" ? `There is no option ${option} here.${meant(option, known)}` : message;
    throw new UsageError(`${what}\nUsage: aptix-edge ${command.usage}`);
  }
  for (const [name, { values: known, about }] of Object.entries(options)) {
    const value = optional(read.values, name);
    if (known && value !== undefined && !known.includes(value)) throw new UsageError(`--${name} ${value} is none of ${about.replace(/ or (\w+);.*/, ", $1")}.`);
  }
  return read;
}

process.exitCode = await main(process.argv.slice(2));
// A reader of standard input, a connection that is kept, or Node's watcher of a folder would hold the process. What was
// written goes out first.
process.stdout.write("", () => process.exit());
