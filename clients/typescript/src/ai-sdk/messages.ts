// From the messages of a chat to what the service is asked. Owns what of a message goes into a turn, and which answers a
// pause has been given.
import type { TurnRequest } from "../session.js";
import { fitting, said, worded } from "../tools.js";
import type { ClipboardImage, InputArtifact, SubmittedToolResult } from "../types.js";

/** What is read of a `UIMessage`, whichever version of the AI SDK it comes from. */
export interface ChatMessage {
  id: string;
  role: string;
  parts: readonly any[];
  metadata?: any;
}

/** What a page has sent can't be sent on. */
export class MessageError extends TypeError {}

/** Messages of the service are known by this beginning of their id; their turn's id follows. */
const ANSWER = "answer:";
/** What follows the words that were added to a turn is a message of its own: the steer's id comes behind that of the turn. */
export const answerId = (turnId: string, steerId?: string) => ANSWER + turnId + (steerId === undefined ? "" : `/${steerId}`);
export const turnIdOf = ({ id }: ChatMessage) => (id.startsWith(ANSWER) ? id.slice(ANSWER.length).split("/")[0] : undefined);
/** The turn of a user's message: sent again, it is the same turn. */
export const turnIdFor = ({ id }: ChatMessage) => id.replace(/[^A-Za-z0-9._:-]/g, "_").slice(0, 80);
/** Whether the message began this turn: one that was asked anew, or sent with other words, has an id of its own behind it. */
export const isTurnOf = (message: ChatMessage, turnId: string) => turnId === turnIdFor(message) || turnId.startsWith(`${turnIdFor(message)}:`);
export const steerIdOf = ({ id }: ChatMessage) => id.split("/")[1];

const IMAGES = ["image/png", "image/jpeg", "image/webp", "image/gif"];

/** A user's message as a turn: its text, its pictures, its other files. */
export function turnOf(message: ChatMessage): TurnRequest {
  const texts = message.parts.filter(({ type }) => type === "text").map(({ text }) => text as string);
  const images: ClipboardImage[] = [];
  const artifacts: InputArtifact[] = [];
  for (const [at, { type, mediaType, filename, url }] of message.parts.entries()) {
    if (type !== "file") continue;
    const [, ofUrl, DataBase64] = /^data:([^;,]*)[^,]*;base64,(.*)$/s.exec(url) ?? [];
    if (DataBase64 === undefined) throw new MessageError("A file of a message has to be a data URL with base64.");
    const name = filename ?? `file-${at + 1}`;
    // Some say `image` or `image/*`, and a browser nothing of a kind that it does not know, as that of most source files.
    const MimeType = /.\/[^*]/.test(mediaType) ? mediaType : ofUrl || null;
    if (IMAGES.includes(MimeType)) images.push({ Id: `${at + 1}`, MimeType, DataBase64 });
    else {
      const of = { RelativePath: name, FileName: name, MimeType, Origin: "user" } as const;
      artifacts.push({ ...of, Contents: DataBase64, Encoding: "base64" });
    }
  }
  return {
    ...(texts.length > 0 && { Instruction: texts.join("\n\n") }),
    ...(images.length > 0 && { ClipboardImages: images }),
    ...(artifacts.length > 0 && { InputArtifacts: artifacts }),
  };
}

/** The tool parts of the message's last step that the client or its user has to answer. */
export function asked(message: ChatMessage): any[] {
  const lastStep = message.parts.slice(message.parts.findLastIndex(({ type }) => type === "step-start") + 1);
  return lastStep.filter(isAsked);
}

/** Whether the part is a call that the client or its user answers, rather than one of the service's own. */
export const isAsked = ({ type, approval, providerExecuted }: any): boolean =>
  (type === "dynamic-tool" || type.startsWith("tool-")) && Boolean(approval || !providerExecuted);

/** The answers to a pause, in the calls' order; `undefined` while one is missing. */
export function answers(message: ChatMessage): SubmittedToolResult[] | undefined {
  const results = asked(message).map(answer);
  return results.length > 0 && results.every((result) => result !== undefined) ? fitting(results) : undefined;
}

/** A value as the result of a call; of what is no JSON, such as a `bigint`, the model is told, as of the client's own tools. */
function given(ToolCallId: string, value: unknown): SubmittedToolResult {
  try {
    return { ToolCallId, ExecutionMs: 0, ResultJson: JSON.stringify(value ?? null) ?? "null" };
  } catch (error) {
    return { ToolCallId, ExecutionMs: 0, ErrorMessage: worded(said(error)) };
  }
}

function answer(part: any): SubmittedToolResult | undefined {
  const { approval, state, output, errorText, toolCallId } = part;
  if (state === "approval-responded") {
    const { approved, reason } = approval;
    // The service takes a reason of a refusal alone.
    return given(approval.id, approved === true ? { Approved: true } : { Approved: false, ...(reason && { Reason: reason }) });
  }
  if (approval) return undefined;
  if (state === "output-available" && !part.preliminary) return given(toolCallId, output);
  return state === "output-error" ? { ToolCallId: toolCallId, ExecutionMs: 0, ErrorMessage: worded(`${errorText || "failed"}`) } : undefined;
}
