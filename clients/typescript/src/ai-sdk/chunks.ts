// From a turn's events to the chunks of a UI message. Owns the steps: each segment of text has one of its own, so that
// `reset-step` takes back that segment and nothing else.
import { membersOf } from "../json_text.js";
import { APPROVAL, type ApprovalRequest } from "../tools.js";
import type { AgentExecuteResponse, Progress, TurnEvent } from "../types.js";
import type { Chunk } from "./chunk.js";
import { earlierChunks } from "./earlier.js";
import { answerId } from "./messages.js";

/** What a message was before these events: a continuation goes on with it. */
export interface Before {
  sessionId: string;
  turnId: string;
  /** The words that were added to the turn, and that this message answers. */
  steerId?: string;
  /** A stream that resumes may go on with the next message: each steer begins one. */
  mayGoOn?: boolean;
  /** Progress is not told. */
  silent?: boolean;
  /** Its parts so far: calls among them can have their outcome told. */
  parts?: readonly any[];
  /** The parts are lost, and are to be written once more. */
  rewritten?: boolean;
  /** The calls that the user has just refused. */
  denied?: string[];
  /** Text is written when it is known to be kept, for an AI SDK without `reset-step`. */
  holdText?: boolean;
}

type Step = "none" | "empty" | "text" | "reasoning" | "tools" | "calls";

export class ChunkWriter {
  #step: Step = "none";
  /** The id of the text or reasoning part that is open, and its number. */
  #part: string | undefined;
  #parts = 0;
  #segment: number | undefined;
  #wroteText = false;
  readonly #held = new Map<number, string>();
  /** Progress that came before it was told what becomes of the text in front of it. */
  readonly #waiting: Progress[] = [];
  readonly #known: Set<string>;
  /** The turn's end, or its pause, is written. */
  isFinished = false;

  constructor(private readonly before: Before) {
    this.#known = new Set(before.parts?.flatMap((part) => part.toolCallId ?? []));
  }

  *start(): Generator<Chunk> {
    yield { type: "start", messageId: answerId(this.before.turnId, this.before.steerId) };
    if (this.before.rewritten) yield* earlierChunks(this.before.parts ?? []);
    for (const toolCallId of this.before.denied ?? []) yield { type: "tool-output-denied", toolCallId };
  }

  *event(event: TurnEvent): Generator<Chunk> {
    if (event.type === "text") {
      yield* this.#waited();
      if (this.before.holdText) this.#held.set(event.segment, (this.#held.get(event.segment) ?? "") + event.delta);
      else yield* this.#text(event.segment, event.delta);
    } else if (event.type === "discard") {
      this.#held.delete(event.segment);
      if (this.#step === "text" && this.#segment === event.segment) yield* this.#reset();
      yield* this.#waited();
    } else if (event.type === "progress") {
      const { progress } = event;
      if (this.before.mayGoOn && progress.Kind === "steer" && progress.State === "delivered") {
        yield* this.handOver();
        yield { type: "start", messageId: answerId(this.before.turnId, progress.SteerId) };
        this.#known.clear();
      }
      if (this.before.silent) return;
      // A call of a tool is told just before its text is taken back.
      if (this.#waiting.length > 0 || (this.#step === "text" && progress.Kind === "server_tool")) this.#waiting.push(progress);
      else yield* this.#progress(progress);
    }
    if (event.type === "result") {
      yield* this.#waited();
      yield* this.#result(event.response);
    }
  }

  /** Ends a message whose turn goes on in the next one: what was being written is taken back, and told there. */
  *handOver(): Generator<Chunk> {
    yield* this.#waited();
    if (this.#step === "text") yield* this.#reset();
    // Text before a steer is no final text, so none of it is kept.
    this.#held.clear();
    this.#wroteText = false;
    yield* this.#leave();
    yield { type: "message-metadata", messageMetadata: { SessionId: this.before.sessionId, TurnId: this.before.turnId } };
    yield { type: "finish", finishReason: "stop" };
  }

  *#waited(): Generator<Chunk> {
    for (const progress of this.#waiting.splice(0)) yield* this.#progress(progress);
  }

  *#text(segment: number, delta: string): Generator<Chunk> {
    if (this.#step !== "text" || this.#segment !== segment) yield* this.#enter("text", true);
    this.#segment = segment;
    this.#wroteText = true;
    yield* this.#say("text", delta);
  }

  *#reset(): Generator<Chunk> {
    this.#step = "empty";
    this.#part = undefined;
    // Version 6 has no such type; there `holdText` sees that none is needed.
    yield { type: "reset-step" } as never;
  }

  *#progress(progress: Progress): Generator<Chunk> {
    if (progress.Kind === "reasoning" || progress.Kind === "commentary") {
      // Within a step of text it is part of the same model call, and taken back with it.
      if (this.#step !== "text") yield* this.#enter("reasoning");
      return yield* this.#say("reasoning", progress.Text);
    }
    if (progress.Kind !== "server_tool") return yield { type: "data-progress", data: progress, transient: true };
    const { ToolCallId: toolCallId, Name: toolName, State, Successful } = progress;
    if (!this.#known.has(toolCallId)) {
      yield* this.#enter("tools");
      this.#known.add(toolCallId);
      yield { type: "tool-input-available", toolCallId, toolName, input: {}, dynamic: true, providerExecuted: true };
    }
    if (State === "started") return;
    const of = { toolCallId, providerExecuted: true, dynamic: true } as const;
    if (Successful === false) yield { type: "tool-output-error", ...of, errorText: "The tool failed." };
    // What it gave is told with the final response.
    else yield { type: "tool-output-available", ...of, output: null, preliminary: true };
  }

  *#result(response: AgentExecuteResponse): Generator<Chunk> {
    for (const [segment, text] of this.#held) yield* this.#text(segment, text);
    const final = response.Kind === "final";
    const text = final ? response.PrimaryOutputText : response.ToolContinuationMessage;
    if (text && !this.#wroteText) yield* this.#text(0, text);
    if (final) {
      for (const { ToolCallId: toolCallId, ResultJson, ErrorMessage } of response.ToolResults ?? []) {
        if (!this.#known.has(toolCallId)) continue;
        const of = { toolCallId, providerExecuted: true, dynamic: true } as const;
        if (ResultJson === undefined) yield { type: "tool-output-error", ...of, errorText: ErrorMessage ?? "failed" };
        else {
          const output: unknown = JSON.parse(ResultJson);
          yield { type: "tool-output-available", ...of, output, providerMetadata: { aptix: { resultJson: ResultJson } } };
        }
      }
      for (const { Url, MimeType } of response.Files ?? []) yield { type: "file", url: Url, mediaType: MimeType };
    } else {
      yield* this.#enter("calls", true);
      for (const { ToolCallId, Name, ArgumentsJson } of response.ToolCalls) yield* this.#call(ToolCallId, Name, ArgumentsJson);
    }
    yield* this.#leave();
    this.isFinished = true;
    const { SessionId, TurnId, ModeDisplayName } = response;
    const more = final
      ? { Status: "completed", Usage: response.Usage, UserWarnings: response.UserWarnings }
      : { Status: "awaiting_tools" };
    yield { type: "message-metadata", messageMetadata: { SessionId, TurnId, ModeDisplayName, ...more } };
    yield { type: "finish", finishReason: final ? "stop" : "tool-calls" };
  }

  *#call(id: string, name: string, argumentsJson: string): Generator<Chunk> {
    const input: unknown = JSON.parse(argumentsJson);
    const written = (text: string) => ({ dynamic: true, providerMetadata: { aptix: { argumentsJson: text } } }) as const;
    if (name !== APPROVAL) {
      return yield { type: "tool-input-available", toolCallId: id, toolName: name, input, ...written(argumentsJson) };
    }
    const { ToolCallId: toolCallId, Name: toolName, Arguments, Message } = input as ApprovalRequest;
    const of = written(membersOf(argumentsJson).get("Arguments") ?? "null");
    yield { type: "tool-input-available", toolCallId, toolName, input: Arguments, ...of, providerExecuted: true };
    yield { type: "tool-approval-request", toolCallId, approvalId: id, ...(Message && { reason: Message }) };
  }

  /** Adds to the open part of this kind, or opens one. */
  *#say(kind: "text" | "reasoning", delta: string): Generator<Chunk> {
    if (!this.#part?.startsWith(kind)) {
      yield* this.#close();
      this.#part = `${kind}-${this.before.turnId}-${++this.#parts}`;
      yield { type: `${kind}-start`, id: this.#part };
    }
    yield { type: `${kind}-delta`, id: this.#part!, delta };
  }

  *#close(): Generator<Chunk> {
    if (!this.#part) return;
    yield { type: this.#part.startsWith("text") ? "text-end" : "reasoning-end", id: this.#part };
    this.#part = undefined;
  }

  /** Sees that there is a step of this kind, in any case a new one where that is asked for. */
  *#enter(step: Step, anew = false): Generator<Chunk> {
    if (this.#step === step && !anew) return;
    if (this.#step !== "empty") {
      yield* this.#leave();
      yield { type: "start-step" };
    }
    this.#step = step;
  }

  *#leave(): Generator<Chunk> {
    yield* this.#close();
    if (this.#step !== "none") yield { type: "finish-step" };
    this.#step = "none";
  }
}
