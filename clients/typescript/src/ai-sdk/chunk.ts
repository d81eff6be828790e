// The chunks of a UI message: the shapes alone, which every file that writes some shares.
import type { Progress } from "../types.js";

/**
 * A call's arguments as they were written: `input` is what JavaScript reads of them, and it holds numbers as doubles. The
 * AI SDK keeps them in the part, as `callProviderMetadata`.
 */
export type WrittenArguments = { aptix: { argumentsJson: string } };
/** Likewise a result, beside `output`; in the part as `resultProviderMetadata`. */
export type WrittenResult = { aptix: { resultJson: string } };

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
      providerMetadata?: WrittenArguments;
    }
  | { type: "tool-approval-request"; toolCallId: string; approvalId: string; reason?: string }
  | {
      type: "tool-output-available";
      toolCallId: string;
      output: unknown;
      providerExecuted: true;
      dynamic: true;
      preliminary?: boolean;
      providerMetadata?: WrittenResult;
    }
  | { type: "tool-output-error"; toolCallId: string; errorText: string; providerExecuted: true; dynamic: true }
  | { type: "tool-output-denied"; toolCallId: string }
  | { type: "file"; url: string; mediaType: string }
  | { type: "data-progress"; data: Progress; transient: true }
  | { type: "message-metadata"; messageMetadata: any }
  | { type: "finish"; finishReason: "stop" | "tool-calls" };
