// From the input of a run to what the service is asked. Owns which answers a pause has been given, and what of the messages
// is a turn: the service keeps the conversation, so that only the newest message counts.
import type { RunAgentInput } from "@ag-ui/client";
import type { ToolCall, TurnRequest, ClipboardImage, InputArtifact, SteerContent, SubmittedToolResult } from "../index.js";
import { isJson } from "../json_text.js";
import { APPROVAL, fitting, toolsJson, worded } from "../tools.js";

/** Members of a turn that `forwardedProps` may bring. */
const FORWARDED = ["WorkspaceId", "RagScope", "ConversationContextId", "AgentContextId", "ToolChoiceName", "Repo", "Language"];
const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/** An id of the front end as one of the service's: itself, where its characters are, else its hash. */
export async function identifier(id: string): Promise<string> {
  if (/^(?!\.{1,2}$)[A-Za-z0-9._:-]{1,128}$/.test(id)) return id;
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(id));
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** The answers to all calls that wait, in their order; `undefined` while one is missing, or where none waits. */
export function answersTo(calls: readonly ToolCall[], input: RunAgentInput, handed: Map<string, number>): SubmittedToolResult[] | undefined {
  const results: SubmittedToolResult[] = [];
  for (const call of calls) {
    const answer = call.Name === APPROVAL ? decision(call, input) : result(call, input);
    if (!answer) return undefined;
    const since = handed.get(call.ToolCallId);
    results.push({ ToolCallId: call.ToolCallId, ExecutionMs: since === undefined ? 0 : Math.max(0, Math.round(Date.now() - since)), ...answer } as SubmittedToolResult);
  }
  return results.length > 0 ? fitting(results) : undefined;
}

/** Whether the user has written on: answers alone stand behind the newest message of the user. */
export const writesOn = ({ messages }: RunAgentInput): boolean => messages.at(-1)?.role === "user";

/** Whether the input brings answers to a pause, and no words behind them. */
export const answersAlone = ({ messages, resume = [] }: RunAgentInput): boolean =>
  messages.at(-1)?.role === "tool" || (resume.length > 0 && messages.at(-1)?.role !== "user");

/** What the user wrote last, behind the answers to a pause, by the ids of the messages. */
export function writtenOn({ messages }: RunAgentInput): { id: string; words: SteerContent }[] {
  const words = messages.slice(messages.findLastIndex(({ role }) => role !== "user") + 1);
  return words.map(({ id, content }) => ({ id, words: contentOf(content) as SteerContent }));
}

function result({ ToolCallId }: ToolCall, { messages }: RunAgentInput) {
  const message = messages.findLast((each) => each.role === "tool" && each.toolCallId === ToolCallId);
  if (message?.role !== "tool") return undefined;
  if (message.error) return { ErrorMessage: worded(message.error) };
  const { content } = message as { content: unknown };
  return { ResultJson: typeof content === "string" && isJson(content) ? content : JSON.stringify(content ?? null) };
}

/** A refusal is in the payload; `cancelled` says that the user walked away, which is none's consent. */
function decision({ ToolCallId }: ToolCall, { resume }: RunAgentInput) {
  const entry = resume?.find(({ interruptId }) => interruptId === ToolCallId);
  if (!entry) return undefined;
  const { approved, reason, editedArgs } = (entry.status === "resolved" ? entry.payload : { reason: "The user did not decide." }) ?? {};
  const Approved = approved === true;
  return {
    ResultJson: JSON.stringify({
      Approved,
      ...(!Approved && typeof reason === "string" && reason && { Reason: reason }),
      ...(Approved && editedArgs && { Arguments: editedArgs }),
    }),
  };
}

/** The newest message of the user as a turn, with the front end's tools and context. */
export function userTurn({ messages, tools, context, forwardedProps }: RunAgentInput): TurnRequest {
  const message = messages.findLast(({ role }) => role === "user");
  if (message?.role !== "user") throw new TypeError("There is no message of a user to send.");
  const forwarded = Object.entries((forwardedProps ?? {}) as object).filter(([name]) => FORWARDED.includes(name));
  const told = (context ?? []).map(({ description, value }) => `${description}:\n${typeof value === "string" ? value : JSON.stringify(value)}`);
  return {
    ...contentOf(message.content),
    ...(told.length > 0 && { SolutionContextText: told.join("\n\n") }),
    // None is a list, too: a session keeps the tools that it was last given.
    ToolsJson: toolsJson((tools ?? []).map(({ name, description, parameters }) => ({ name, description, parameters: parameters ?? { type: "object" } }))),
    ...Object.fromEntries(forwarded),
  } as TurnRequest;
}

interface Part {
  type: string;
  text?: string;
  mimeType?: string;
  data?: string;
  filename?: string;
  source?: { type: string; value?: string; mimeType?: string };
  metadata?: { filename?: string };
}

function contentOf(content: unknown): TurnRequest {
  if (typeof content === "string") return { Instruction: content };
  const texts: string[] = [];
  const images: ClipboardImage[] = [];
  const artifacts: InputArtifact[] = [];
  for (const [at, part] of (content as Part[]).entries()) {
    if (part.type === "text") {
      texts.push(part.text ?? "");
      continue;
    }
    const { source, metadata } = part;
    const data = source?.type === "data" ? source.value : part.data;
    // A browser says an empty one of a kind that it does not know, as that of most source files.
    const MimeType = source?.mimeType || part.mimeType || "application/octet-stream";
    if (data === undefined) throw new TypeError(`A part of the type ${part.type} has to bring its data.`);
    if (IMAGES.includes(MimeType)) images.push({ Id: `${at + 1}`, MimeType, DataBase64: data } as ClipboardImage);
    else {
      const name = metadata?.filename ?? part.filename ?? `file-${at + 1}`;
      artifacts.push({ RelativePath: name, FileName: name, MimeType, Origin: "user", Contents: data, Encoding: "base64" } as InputArtifact);
    }
  }
  return {
    ...(texts.length > 0 && { Instruction: texts.join("\n\n") }),
    ...(images.length > 0 && { ClipboardImages: images }),
    ...(artifacts.length > 0 && { InputArtifacts: artifacts }),
  };
}
