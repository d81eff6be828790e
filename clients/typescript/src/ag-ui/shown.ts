// What a front end shows of a turn already. Owns that a turn which is followed anew is shown once: by its id, which begins the
// ids of its messages.
import type { RunAgentInput } from "@ag-ui/client";
import type { ToolCall, ToolResult, TurnView } from "../index.js";
import { answersBegin } from "../said.js";
import { APPROVAL } from "../tools.js";
import { identifier, writesOn } from "./input.js";

export type Message = RunAgentInput["messages"][number];

export const hasCall = (messages: readonly Message[], toolCallId: string): boolean =>
  messages.some((message) => message.role === "assistant" && message.toolCalls?.some(({ id }) => id === toolCallId));

/** Whether the messages have a call that waits; of a question, the call that it is about. */
export const isShown = ({ ToolCallId, Name, ArgumentsJson }: ToolCall, messages: readonly Message[]): boolean =>
  hasCall(messages, Name === APPROVAL ? JSON.parse(ArgumentsJson).ToolCallId : ToolCallId);

export const isAnswered = (toolCallId: string, messages: readonly Message[]): boolean =>
  messages.some((message) => message.role === "tool" && message.toolCallId === toolCallId);

/**
 * The messages with what the service's tools gave, where a front end has put its user's decision as the call's result, as
 * CopilotKit does; `undefined` where none has.
 */
export function withResults(messages: readonly Message[], results: readonly ToolResult[]): Message[] | undefined {
  let isOther = false;
  const full = messages.map((message) => {
    const result = message.role === "tool" && results.find(({ ToolCallId }) => ToolCallId === message.toolCallId);
    const content = result ? (result.ResultJson ?? result.ErrorMessage ?? "") : undefined;
    if (content === undefined || message.content === content) return message;
    isOther = true;
    return { ...message, content } as Message;
  });
  return isOther ? full : undefined;
}

/** The id of the message that brings what one of the service's tools gave. */
export const resultId = (toolCallId: string) => `${toolCallId}.result`;

const isOf = (turnId: string) => ({ id }: Message) => id.startsWith(`${turnId}.`);
const byOthers = ({ role }: Message) => role === "user" || role === "tool";

/**
 * The messages without what the turn has said since it was begun or answered; `undefined` where that is nothing. What the service
 * has told of a turn that runs or waits is of its earlier submissions, which no replay brings again.
 */
export function withoutPart(messages: readonly Message[], turnId: string): Message[] | undefined {
  const since = messages.findLastIndex(byOthers);
  const isTold = ({ id }: Message) => id.startsWith(answersBegin(turnId));
  const kept = messages.filter((message, at) => at <= since || message.role !== "assistant" || !isOf(turnId)(message) || isTold(message));
  return kept.length < messages.length ? kept : undefined;
}

/** Whether a turn has had what the input brings: answers to a pause, or words that were added to the turn with them. */
export async function hasHad(input: RunAgentInput, turnId: string, view: () => PromiseLike<TurnView>): Promise<boolean> {
  const { messages, resume = [] } = input;
  const before = messages.findLast(({ role }) => role !== "user")?.role;
  if (writesOn(input)) return (before === "tool" || resume.length > 0) && hasTaken(await view(), input);
  return before === "tool" ? lacksAnswer(input, turnId, view) : resume.length > 0;
}

/** Whether the newest words of the user were added to a turn. */
async function hasTaken({ Steers = [] }: TurnView, { messages }: RunAgentInput): Promise<boolean> {
  const words = messages.findLast(({ role }) => role === "user");
  const steerId = words && (await identifier(words.id));
  return Steers.some(({ SteerId }) => SteerId === steerId);
}

/** Whether the messages end with a turn, the newest one, whose answer they lack or have in part. */
export async function lacksAnswer(input: RunAgentInput, turnId: string, view: () => PromiseLike<TurnView>): Promise<boolean> {
  const { messages } = input;
  const own = messages.filter((message) => message.role === "assistant" && isOf(turnId)(message));
  const last = messages.findLast(({ role }) => role !== "reasoning" && role !== "activity");
  // Results of the service's own tools come with the answer.
  if (own.length === 0) return last?.role === "user" || (last?.role === "tool" && last.id !== resultId(last.toolCallId));
  const words = messages.findLast(({ role }) => role === "user");
  const turn = await view();
  // A turn in front of the user's newest words is not theirs, unless these were added to it.
  if (words && messages.findLastIndex(isOf(turnId)) < messages.indexOf(words)) return hasTaken(turn, input);
  const { Outcome } = turn;
  const text = Outcome?.Successful === true && Outcome.Result?.Kind === "final" ? Outcome.Result.PrimaryOutputText : "";
  return text !== "" && !own.some(({ content }) => content === text);
}
