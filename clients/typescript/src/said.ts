// What was said in a session, from its export: what users wrote and what they were answered. Owns what of the conversation is
// shown: no reasoning, no calls, and of what was said beside calls only what a pause has told.
import type { FinalResponse, SessionExport, ToolContinuationResponse } from "./types.js";

/** A message of a session. */
export interface Said {
  /** Of a turn's first words its TurnId, of words that were added the SteerId; answers begin with their TurnId. */
  id: string;
  turnId: string;
  role: "user" | "assistant";
  text: string;
  /** Of an answer. `streaming` is still being written; `failed` words were not taken, or their turn has failed. */
  state: "streaming" | "done" | "stopped" | "failed";
  /** The final response: files, warnings, usage. */
  response?: FinalResponse;
}

/** Whether a turn of that status runs or waits. */
export const isLive = (status: string) => status === "running" || status === "awaiting_tools";

type ExportedTurn = SessionExport["Turns"][number];
type Item = { type?: string; phase?: string; content?: { text?: string; refusal?: string }[] };
type Result = FinalResponse | ToolContinuationResponse;

/** How often an answer has been added to these messages of a turn. */
const answersOf = (messages: readonly Said[], turnId: string) => messages.filter((message) => message.role === "assistant" && message.turnId === turnId).length;

/** What the ids of a turn's answers begin with. */
export const answersBegin = (turnId: string) => `${turnId}.said.`;
/** The id of a turn's next answer. */
export const answerId = (messages: readonly Said[], turnId: string) => answersBegin(turnId) + answersOf(messages, turnId);

/** Everything that was said before; of a turn that runs or waits, what its newest submission has not told. */
export const saidIn = ({ Turns }: SessionExport): Said[] => Turns.flatMap(saidInTurn);

function saidInTurn(turn: ExportedTurn): Said[] {
  const { TurnId: turnId, Status, Conversation, Steers = [], Submissions, TextSoFar = "" } = turn;
  const messages: Said[] = [];
  const asked = (id: string, text: string) =>
    messages.push({ id, turnId, role: "user", text, state: id === turnId && Status === "failed" ? "failed" : "done" });
  const answered = (text: string, more: Partial<Said> = {}) =>
    (text !== "" || more.response) && messages.push({ id: answerId(messages, turnId), turnId, role: "assistant", text, state: "done", ...more });
  const outcomes = Submissions.map(({ Outcome }) => (Outcome as unknown as { Result?: Result } | undefined)?.Result);
  const isOpen = isLive(Status);
  const told = outcomes.flatMap((result, at) => (result?.Kind === "client_tool_continuation" && !(isOpen && at === outcomes.length - 1) ? result.ToolContinuationMessage ?? [] : []));
  for (const [at, { Kind, Sequence, Items }] of Conversation.entries()) {
    const items = Items as unknown as Item[];
    // The message of a turn that is repeated may be in the conversation once more.
    if (Kind === "user" && !messages.some(({ id }) => id === turnId)) asked(turnId, wordsOf(items));
    if (Kind === "steer") asked(Steers.find((steer) => steer.Sequence === Sequence)?.SteerId ?? `${turnId}.${Sequence}`, wordsOf(items));
    if (Kind !== "answer") continue;
    const hasCalls = items.some(({ type }) => type === "function_call");
    const text = textOf(items, hasCalls);
    // Each pause has told its text once. The last answer is the response's, whole.
    const place = told.indexOf(text);
    if (hasCalls ? place >= 0 && told.splice(place, 1) : Conversation[at + 1]?.Kind === "steer") answered(text);
  }
  for (const { SteerId, Sequence, Instruction = "" } of Steers) if (Sequence === undefined) asked(SteerId, Instruction);
  const last = outcomes.at(-1);
  if (last?.Kind === "final") answered(last.PrimaryOutputText, { response: last });
  else if (!isOpen) answered(TextSoFar, { state: Status === "aborted" ? "stopped" : "failed" });
  return messages;
}

/** An answer's messages as the service joins them: commentary is left out where there is other text, unless they are `whole`. */
function textOf(items: readonly Item[], whole: boolean): string {
  const wordsIn = ({ content = [] }: Item) => content.map(({ text, refusal }) => text ?? refusal ?? "").join("");
  const messages = items.filter((item) => item.type === "message" && wordsIn(item) !== "");
  const spoken = messages.filter(({ phase }) => phase !== "commentary");
  return (whole || spoken.length === 0 ? messages : spoken).map(wordsIn).join("\n\n");
}

/** The user's own words, without what the service puts around them. */
function wordsOf(items: readonly Item[]): string {
  const first = items[0]?.content?.find(({ text }) => text !== undefined)?.text ?? "";
  return first.replace(/^\[MODE: [^\]]*\]\s*/, "").replace(/^\[INSTRUCTION\]\n/, "");
}
