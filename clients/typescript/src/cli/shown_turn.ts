// A turn on a terminal: its text as it comes, calls and progress beside it, and its end. Scripts get its events as they are.
import { type FinalResponse, type ToolCall, type Turn, formatJson } from "../index.js";
import { EXIT, type Terminal, ShownPieces, jsonOf, shown, shownLines } from "./terminal.js";

/** The question whether a call may run is put by itself. */
const APPROVAL = "agent_approve_tool";
const LONGEST = 500;

/** Reads a turn to its end; gives the exit code. */
export async function show(turn: Turn, terminal: Terminal): Promise<number> {
  const { out, err, json } = terminal;
  let isOpen = false;
  const pieces = new ShownPieces();
  const close = () => {
    if (isOpen) out(`${pieces.end()}\n`);
    isOpen = false;
  };
  for await (const event of turn) {
    if (json) {
      out(`${jsonOf(event)}\n`);
      continue;
    }
    if (event.type === "text") {
      out(pieces.take(event.delta));
      isOpen = true;
    } else if (event.type === "discard") {
      close();
      err(dim(terminal, "(that was not the answer)\n"));
    } else if (event.type === "tool_calls") {
      close();
      for (const { Name, ArgumentsJson } of event.calls) if (Name !== APPROVAL) err(dim(terminal, `[${shown(Name)} ${short(ArgumentsJson)}]\n`));
    } else if (event.type === "progress" && event.progress.Kind === "server_tool" && event.progress.State === "started") {
      close();
      err(dim(terminal, `[${shown(event.progress.Name)}, in the service]\n`));
    } else if (event.type === "result" && event.response.Kind === "final") {
      // Where no stream got through, the answer comes as a whole.
      const whole = turn.text === "" ? event.response.PrimaryOutputText : "";
      out(shownLines(whole));
      isOpen ||= whole !== "";
      close();
      ended(event.response, terminal);
    }
  }
  // A turn that waits for somebody else ends its events without a response.
  return turn.final().then(() => EXIT.done, (error) => {
    if (error?.code !== "turn_awaiting_tools") throw error;
    if (!json) err(`The turn ${shown(turn.turnId)} waits: ${(error.details?.ToolCalls ?? []).map(waiting).join(", ")}\n`);
    return EXIT.waiting;
  });
}

function ended({ UserWarnings, Usage, Files }: FinalResponse, terminal: Terminal): void {
  for (const { Name, Url } of Files ?? []) terminal.err(`${shown(Name)}: ${shown(Url)}\n`);
  for (const warning of UserWarnings ?? []) terminal.err(`! ${shown(warning)}\n`);
  if (Usage) terminal.err(dim(terminal, `${shown(String(Usage.TotalTokens))} tokens\n`));
}

/** What a call waits for: of a question, the tool that it is about. */
function waiting({ Name, ArgumentsJson }: ToolCall): string {
  if (Name !== APPROVAL) return shown(Name);
  try {
    return `${shown(String(JSON.parse(ArgumentsJson).Name))}, which needs consent`;
  } catch {
    return "consent";
  }
}

const dim = ({ isTerminal }: Terminal, text: string) => (isTerminal ? `\u001b[2m${text}\u001b[22m` : text);
function short(json: string): string {
  const text = shown(formatJson(json).replace(/\n */g, " "));
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
