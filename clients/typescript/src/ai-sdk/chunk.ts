// The chunks of a UI message: the shapes alone, which every file that writes some shares.
import type { Progress } from "../types.js";

/** The chunks that are written, each one of the AI SDK's `UIMessageChunk`. */
export type Chunk =
  | { type: "start"; messageId: string }
  | { type: "start-step" | "finish-step" }
  | { type: "text-start" | "text-end" | "reasoning-start" | "reasoning-end"; id: string }
  | { type: "text-delta" | "reasoning-delta"; id: string; delta: string }
  | {
      type: "tool-input-available";
      toolCallId: string;
      toolName: string;
      input: unknown;
      dynamic: true;
      providerExecuted?: boolean;
    }
  | { type: "tool-approval-request"; toolCallId: string; approvalId: string; reason?: string }
  | { type: "tool-output-available"; toolCallId: string; output: unknown; providerExecuted: true; dynamic: true; preliminary?: boolean }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; providerExecuted: true; dynamic: true }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "file"; url: string; mediaType: string }
  | { type: "data-progress"; data: Progress; transient: true }
  | { type: "message-metadata"; messageMetadata: any }
  | { type: "finish"; finishReason: "stop" | "tool-calls" };
