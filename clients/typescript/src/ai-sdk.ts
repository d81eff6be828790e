// A chat transport for Vercel's AI SDK, 6 and 7: `useChat` over a service that keeps the conversation. It needs nothing of
// the SDK but the shapes, so `ai` is no dependency.
import type { Aptix } from "./client.js";
import type { Session, TurnRequest } from "./session.js";
import type { Chunk, WrittenArguments, WrittenResult } from "./ai-sdk/chunk.js";
import { ChunkWriter, type Before } from "./ai-sdk/chunks.js";
import { earlierParts } from "./ai-sdk/earlier.js";
import { type ChatMessage, answerId, answers, asked, turnIdFor, turnIdOf, turnOf } from "./ai-sdk/messages.js";
import { type Tool, toolsJson } from "./tools.js";
import type { TurnEvent } from "./types.js";

export type { ChatMessage, Chunk, WrittenArguments, WrittenResult };

/** What a chat's turns are made with. */
export interface AptixChatTransportOptions {
  /** The service. */
  client: Aptix;
  /** Tools of the page, declared to the model; `onToolCall` and `addToolOutput` run them. */
  tools?: Omit<Tool, "run">[] | (() => Omit<Tool, "run">[]);
  /** Members of every turn, such as `WorkspaceId`; the `body` of a message goes before them. */
  request?: TurnRequest | (() => TurnRequest);
  /**
   * What the page showed when it was left: the whole answer of a turn is not fetched once more, and what stands before a
   * turn's last pause is kept.
   */
  shown?(): readonly ChatMessage[];
  /** `stop()` also cancels the turn. Without it the turn runs on, and can be resumed. */
  cancelOnStop?: boolean;
  /** Reasoning, commentary and tools of the service as they happen. true. */
  progress?: boolean;
  /** Text is shown when it is known to be kept, as AI SDKs before 7.0.77 need it, which cannot take text back. */
  holdText?: boolean;
}

interface SendOptions {
  trigger: "submit-message" | "regenerate-message";
  chatId: string;
  messageId?: string | undefined;
  messages: readonly ChatMessage[];
  abortSignal?: AbortSignal | undefined;
  body?: object | undefined;
}

/**
 * The chat's id is the SessionId, a user message's id the TurnId. Anything but the newest message is the service's own
 * memory: what the page shows of it is the page's affair.
 */
export class AptixChatTransport {
  /** `reconnectToStream` gives the whole response from its start. */
  readonly resumeStreamIsReplay = true;

  constructor(private readonly options: AptixChatTransportOptions) {}

  async sendMessages({ trigger, chatId, messages, abortSignal, body }: SendOptions): Promise<ReadableStream<Chunk>> {
    const last = messages.at(-1);
    if (last === undefined) throw new TypeError("There is no message to send.");
    const session = this.options.client.session(chatId);
    if (this.options.cancelOnStop) abortSignal?.addEventListener("abort", () => void this.cancel(chatId).catch(() => {}), { once: true });
    if (last.role === "assistant") return this.#continued(session, last, abortSignal);
    const { request, tools } = this.options;
    const asked = { ...(typeof request === "function" ? request() : request), ...turnOf(last), ...body } as TurnRequest;
    const declared = typeof tools === "function" ? tools() : tools;
    if (declared) asked.ToolsJson = toolsJson(declared);
    // The same message asked anew is another turn: the model remembers the earlier answer.
    const turnId = turnIdFor(last) + (trigger === "regenerate-message" ? suffix() : "");
    return this.#stream(this.#begun(session, turnId, asked, abortSignal));
  }

  /** Follows the newest turn, or shows it once more; `null` when there is nothing to show. */
  async reconnectToStream({ chatId, abortSignal }: { chatId: string; abortSignal?: AbortSignal | undefined }): Promise<ReadableStream<Chunk> | null> {
    const session = this.options.client.session(chatId);
    const view = await session.get().catch((error) => {
      if (error.code !== "session_not_found") throw error;
    });
    const turn = view?.LiveTurn ?? view?.LatestTurn;
    if (!turn || turn.Status === "failed" || turn.Status === "aborted") return null;
    const { TurnId: turnId, ToolCalls = [] } = turn;
    const message = this.options.shown?.().find(({ id }) => id === answerId(turnId));
    if (message?.metadata?.Status === "completed") return null;
    const parts = message && earlierParts(message, ToolCalls.map(({ ToolCallId }) => ToolCallId));
    return this.#stream(this.#chunks({ turnId, parts, rewritten: true }, session.attach(turnId, this.#watching(abortSignal))));
  }

  /** Ends the turn that runs or waits, which `stop()` alone does not. */
  async cancel(chatId: string): Promise<void> {
    const session = this.options.client.session(chatId);
    const { LiveTurn } = await session.get();
    if (LiveTurn) await session.cancel(LiveTurn.TurnId);
  }

  #watching(signal: AbortSignal | undefined) {
    return { signal, progress: this.options.progress ?? true };
  }

  async *#begun(session: Session, turnId: string, request: TurnRequest, signal?: AbortSignal): AsyncGenerator<Chunk, void, void> {
    for (let id = turnId, attempts = 0; ; attempts += 1) {
      let begun = false;
      try {
        for await (const chunk of this.#chunks({ turnId: id }, session.turn(request, { turnId: id, ...this.#watching(signal) }))) {
          begun = true;
          yield chunk;
        }
        return;
      } catch (error) {
        const { code, details } = error as { code?: string; details?: { TurnId?: string } };
        if (begun || attempts > 1) throw error;
        // Whoever writes on has given up the turn that was stopped, or that waits for an answer.
        if ((code === "turn_awaiting_tools" || code === "turn_in_progress") && details?.TurnId) await session.cancel(details.TurnId);
        // An edited message is another turn, and so is one that was stopped.
        else if (code === "turn_conflict" || code === "turn_aborted") id = turnId + suffix();
        else throw error;
      }
    }
  }

  #continued(session: Session, message: ChatMessage, signal?: AbortSignal): ReadableStream<Chunk> {
    const turnId = turnIdOf(message);
    const ToolResults = answers(message);
    if (turnId === undefined || !ToolResults) throw new TypeError("The last message waits for answers that it does not have.");
    const refused = asked(message).filter(({ approval }) => approval?.approved === false);
    const events = this.options.client.stream({ SessionId: session.sessionId, TurnId: turnId, ToolResults }, this.#watching(signal));
    return this.#stream(this.#chunks({ turnId, parts: message.parts, denied: refused.map((part) => part.toolCallId) }, events));
  }

  async *#chunks(before: Before, events: AsyncIterable<TurnEvent>): AsyncGenerator<Chunk, void, void> {
    const writer = new ChunkWriter({ ...before, holdText: this.options.holdText });
    let begun = false;
    for await (const event of events) {
      if (!begun) yield* writer.start();
      begun = true;
      yield* writer.event(event);
    }
  }

  #stream(chunks: AsyncGenerator<Chunk, void, void>): ReadableStream<Chunk> {
    return new ReadableStream<Chunk>({
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (done) controller.close();
          else controller.enqueue(value);
        } catch (error) {
          // By these words a chat knows that the connection was lost, and that it can resume.
          const lost = (error as { code?: string }).code === "connection_lost";
          controller.error(lost ? new TypeError("network error", { cause: error }) : error);
        }
      },
      async cancel() {
        await chunks.return();
      },
    });
  }
}

/**
 * For `sendAutomaticallyWhen`: whether the last message's pause has all its answers, results of tools and decisions about
 * calls alike.
 */
export function isAnswered({ messages }: { messages: readonly ChatMessage[] }): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && answers(last) !== undefined;
}

const suffix = () => `:${Math.random().toString(36).slice(2, 12)}`;
