// A chat transport for Vercel's AI SDK, 6 and 7: `useChat` over a service that keeps the conversation. It needs nothing of
// the SDK but the shapes, so `ai` is no dependency.
import type { Aptix } from "./client.js";
import type { LogEntry } from "./http.js";
import type { Session, TurnRequest } from "./session.js";
import type { Chunk, WrittenArguments, WrittenResult } from "./ai-sdk/chunk.js";
import { ChunkWriter, type Before } from "./ai-sdk/chunks.js";
import { earlierParts } from "./ai-sdk/earlier.js";
import { Forks, suffix } from "./ai-sdk/forks.js";
import { type ChatMessage, MessageError, answerId, answers, asked, steerIdOf, turnIdFor, turnIdOf, turnOf } from "./ai-sdk/messages.js";
import { Watch } from "./ai-sdk/watch.js";
import { onAbort } from "./signals.js";
import { type Store, type Tool, toolsJson } from "./tools.js";
import { MOVED_ON, type Turn } from "./turn.js";
import type { SubmittedToolResult, TurnEvent } from "./types.js";

export { type ChatHandlerOptions, chatHandler } from "./ai-sdk/handler.js";
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
  /**
   * What is typed while a turn runs is added to that turn: the model gets it with its next call, or at once (`interrupt`).
   * Without it, whoever writes on gives up the turn that runs.
   */
  steer?: "add" | "interrupt";
  /**
   * `regenerate` and an edited message go on in a fork of the session, whose memory ends before that message; the session
   * itself stays as it is. Here is kept in which session each chat goes on: what outlives a reload of the page, else
   * `memoryStore()`. Without it both are further turns of the session, and the model remembers the earlier answer.
   */
  forks?: Store;
  /**
   * `stop()` also cancels the turn, and with it `useChat` where its component goes away or gets another `id`. Without it the
   * turn runs on, and can be resumed; so does one whose stream was resumed, since the AI SDK ends that by the same signal where
   * another one takes its place.
   */
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
 * The chat's id is the SessionId, until there is a fork; a user message's id is the TurnId. Anything but the newest message is the service's own
 * memory: what the page shows of it is the page's affair.
 */
export class AptixChatTransport {
  /** `reconnectToStream` gives the whole response from its start. */
  readonly resumeStreamIsReplay = true;

  /** The turns that are being watched, by their chat. */
  readonly #watches = new Map<string, Watch>();

  readonly #forks: Forks;

  constructor(private readonly options: AptixChatTransportOptions) {
    this.#forks = new Forks(options.client, options.forks);
  }

  async sendMessages({ trigger, chatId, messageId, messages, abortSignal, body }: SendOptions): Promise<ReadableStream<Chunk>> {
    const last = messages.at(-1);
    if (last === undefined) throw new MessageError("There is no message to send.");
    const session = await this.#forks.sessionOf(chatId);
    let current = session;
    const cancels = this.options.cancelOnStop && !abortSignal?.aborted;
    const left = leaving(abortSignal, () => {
      // The turn that is watched: which one runs, the service may say when the next one has begun.
      const watch = this.#watches.get(current.sessionId);
      if (cancels && watch) void current.cancel(watch.turnId).catch(() => {});
    });
    try {
      if (last.role === "assistant") return this.#continued(session, last, left);
      const { request, tools, steer, forks } = this.options;
      // An edited message is no addition; one that is sent again may have been one.
      const rest = messageId === undefined ? this.#added : this.#had;
      const added = steer && trigger === "submit-message" && (await rest.call(this, session, last, left.signal));
      if (added) return this.#stream(added, left);
      const always: TurnRequest = { ...(typeof request === "function" ? request() : request), ...body };
      const isAnew = trigger === "regenerate-message";
      // The same message asked anew in the same session is another turn: the model remembers the earlier answer.
      let next = { session, message: last, turnId: turnIdFor(last) + (isAnew ? suffix() : "") };
      if (forks && (isAnew || messageId !== undefined)) next = await this.#forks.anew(chatId, messages, steer !== undefined, always.ConversationContextId);
      const asked: TurnRequest = { ...always, ...turnOf(next.message), ...body };
      const declared = typeof tools === "function" ? tools() : tools;
      if (declared) asked.ToolsJson = toolsJson(declared);
      current = next.session;
      return this.#stream(this.#begun(current, next.turnId, asked, next.message, left.signal), left);
    } catch (error) {
      left.over();
      throw error;
    }
  }

  /** Follows the newest turn, or shows it once more; `null` when there is nothing to show. */
  async reconnectToStream({ chatId, abortSignal }: { chatId: string; abortSignal?: AbortSignal | undefined }): Promise<ReadableStream<Chunk> | null> {
    const session = await this.#forks.sessionOf(chatId);
    const { sessionId } = session;
    const view = await session.get().catch((error) => {
      if (error.code !== "session_not_found") throw error;
    });
    const turn = view?.LiveTurn ?? view?.LatestTurn;
    if (!turn || turn.Status === "failed" || turn.Status === "aborted") return null;
    const { TurnId: turnId, ToolCalls = [] } = turn;
    const { Steers = [] } = this.options.steer ? await session.getTurn(turnId) : {};
    const steerId = Steers.findLast(({ State }) => State === "delivered")?.SteerId;
    // A turn of the same id that a fork does not have is another one.
    const isShown = ({ id, metadata }: ChatMessage) => id === answerId(turnId, steerId) && (metadata?.SessionId ?? sessionId) === sessionId;
    const message = this.options.shown?.().find(isShown);
    if (message?.metadata?.Status === "completed") return null;
    const parts = message && earlierParts(message, ToolCalls.map(({ ToolCallId }) => ToolCallId));
    const before: Before = { sessionId, turnId, steerId, parts, rewritten: true, mayGoOn: this.options.steer !== undefined };
    const watch = new Watch(turnId, (signal) => session.attach(turnId, this.#watching(signal)));
    const left = leaving(abortSignal);
    return this.#stream(this.#watched(session, before, watch, left.signal), left);
  }

  /** Ends the turn that runs or waits, which `stop()` alone does not. */
  async cancel(chatId: string): Promise<void> {
    const session = await this.#forks.sessionOf(chatId);
    const watch = this.#watches.get(session.sessionId);
    // Of one that is on its way, the service knows nothing yet.
    if (watch?.turn && !watch.isOver) return void (await watch.turn.cancel());
    const { LiveTurn } = await session.get();
    if (LiveTurn) await session.cancel(LiveTurn.TurnId);
  }

  #watching(signal: AbortSignal | undefined) {
    const { progress = true, steer } = this.options;
    // Progress says when the model has what was added.
    return { signal, progress: progress || steer !== undefined };
  }

  /** The rest of the turn that runs, behind the words that are added to it; `undefined` when none runs. */
  async #added(session: Session, message: ChatMessage, signal?: AbortSignal): Promise<AsyncGenerator<Chunk, void, void> | undefined> {
    const watch = this.#watches.get(session.sessionId);
    if (!watch || watch.isOver) return undefined;
    const steerId = turnIdFor(message);
    // Before the words are sent: they may be delivered before that is answered.
    const { events, disown } = watch.heir(steerId);
    try {
      await this.#steer(watch.turn ?? session.attach(watch.turnId), message);
    } catch (error) {
      disown();
      if ((error as { code?: string }).code === "turn_ended") return undefined;
      throw error;
    }
    watch.endsWith(signal);
    return this.#chunks({ sessionId: session.sessionId, turnId: watch.turnId, steerId }, events);
  }

  /**
   * What the newest turn gave, where it has ended with these words: they were added to it by a sending of which nothing was
   * heard. As a turn of their own they would be said twice.
   */
  async #had(session: Session, message: ChatMessage, signal?: AbortSignal): Promise<AsyncGenerator<Chunk, void, void> | undefined> {
    try {
      const { LatestTurn } = await session.get();
      if (LatestTurn?.Status !== "completed") return undefined;
      const { TurnId: turnId } = LatestTurn;
      await this.#steer(session.attach(turnId), message);
      const watch = new Watch(turnId, (ends) => session.attach(turnId, this.#watching(ends)));
      return this.#watched(session, { sessionId: session.sessionId, turnId, steerId: turnIdFor(message) }, watch, signal);
    } catch (error) {
      // It has none of them, or other words by this id, which an edited message has.
      if (!["session_not_found", "turn_ended", "steer_conflict"].includes((error as { code?: string }).code!)) throw error;
      return undefined;
    }
  }

  #steer(turn: Turn, message: ChatMessage): Promise<unknown> {
    return turn.steer(turnOf(message), { steerId: turnIdFor(message), interrupt: this.options.steer === "interrupt" });
  }

  #watched(session: Session, before: Before, watch: Watch, signal?: AbortSignal): AsyncGenerator<Chunk, void, void> {
    watch.endsWith(signal);
    // Each has all that was sent with its turn, pictures and files, and a page has many chats.
    for (const [id, { isOver }] of this.#watches) if (isOver) this.#watches.delete(id);
    this.#watches.set(session.sessionId, watch);
    return this.#chunks(before, watch.read());
  }

  async *#begun(session: Session, turnId: string, request: TurnRequest, message: ChatMessage, signal?: AbortSignal): AsyncGenerator<Chunk, void, void> {
    const { sessionId } = session;
    const stopped = () => this.options.cancelOnStop === true && signal?.aborted === true && signal.reason !== GONE;
    for (let id = turnId, attempts = 0; ; attempts += 1) {
      let begun = false;
      let isTaken = false;
      const onLog = ({ status }: LogEntry) => void (isTaken ||= status === 200);
      try {
        const turnId = id;
        // Of the turn that is on its way only this watching knows; whoever leaves otherwise leaves it to itself.
        const stops = { get cancelOnAbort() { return stopped(); } };
        const watch = new Watch(turnId, (ends) => session.turn(request, Object.assign(stops, { turnId, onLog, ...this.#watching(ends) })));
        for await (const chunk of this.#watched(session, { sessionId, turnId }, watch, signal)) {
          begun = true;
          yield chunk;
        }
        return;
      } catch (error) {
        const { code, details } = error as { code?: string; details?: { TurnId?: string } };
        if (begun || attempts > 1) throw error;
        if (code === "turn_in_progress" && this.options.steer && details?.TurnId) {
          const running = details.TurnId;
          const watch = new Watch(running, (signal) => session.attach(running, this.#watching(signal)));
          const refusal = await this.#steer(watch.turn!, message).then(() => undefined, (refused) => refused);
          // Stopped while the words were on their way to it: until here, nothing knew which turn is meant.
          if (!refusal && stopped()) void session.cancel(running).catch(() => {});
          if (!refusal) return yield* this.#watched(session, { sessionId, turnId: running, steerId: turnIdFor(message) }, watch, signal);
          if (refusal.code !== "turn_ended") throw refusal;
          continue;
        }
        // Whoever writes on has given up the turn that was stopped, or that waits for an answer.
        if ((code === "turn_awaiting_tools" || code === "turn_in_progress") && details?.TurnId) await session.cancel(details.TurnId);
        // An edited message is another turn, and so is one that was stopped before; what is stopped now stays so.
        else if (code === "turn_conflict" || (code === "turn_aborted" && !isTaken)) id = turnId + suffix();
        else throw error;
      }
    }
  }

  #continued(session: Session, message: ChatMessage, left: Leaving): ReadableStream<Chunk> {
    const turnId = turnIdOf(message);
    const ToolResults = answers(message);
    if (turnId === undefined || !ToolResults) throw new MessageError("The last message waits for answers that it does not have.");
    const refused = asked(message).filter(({ approval }) => approval?.approved === false);
    const body = { SessionId: session.sessionId, TurnId: turnId, ToolResults };
    const watch = new Watch(turnId, (signal) => this.#answered(session, body, signal));
    const before = { sessionId: session.sessionId, turnId, steerId: steerIdOf(message), parts: message.parts, denied: refused.map((part) => part.toolCallId) };
    return this.#stream(this.#watched(session, before, watch, left.signal), left);
  }

  /** What comes of these answers; where somebody else, such as another tab, has answered first, of theirs. */
  async *#answered(session: Session, body: Continuation, signal: AbortSignal): AsyncGenerator<TurnEvent, void, void> {
    const watching = this.#watching(signal);
    try {
      yield* this.options.client.stream(body, watching);
    } catch (error) {
      if (!MOVED_ON.includes((error as { code?: string }).code!)) throw error;
      for await (const event of session.attach(body.TurnId, watching)) {
        // The turn still waits for what was refused: it has not gone on.
        if (event.type === "result" && event.response.Kind !== "final" && event.response.ToolCalls[0]?.ToolCallId === body.ToolResults[0]!.ToolCallId) throw error;
        yield event;
      }
    }
  }

  async *#chunks(before: Before, events: AsyncIterable<TurnEvent>): AsyncGenerator<Chunk, void, void> {
    const { holdText, progress } = this.options;
    const writer = new ChunkWriter({ ...before, holdText, silent: progress === false });
    let begun = false;
    for await (const event of events) {
      if (!begun) yield* writer.start();
      begun = true;
      yield* writer.event(event);
    }
    if (begun && !writer.isFinished) yield* writer.handOver();
  }

  #stream(chunks: AsyncGenerator<Chunk, void, void>, left: Leaving): ReadableStream<Chunk> {
    return new ReadableStream<Chunk>({
      async pull(controller) {
        try {
          const { done, value } = await chunks.next();
          if (!done) return controller.enqueue(value);
          left.over();
          controller.close();
        } catch (error) {
          left.over();
          // By these words a chat knows that the connection was lost, and that it can resume.
          const lost = (error as { code?: string }).code === "connection_lost";
          controller.error(lost ? new TypeError("network error", { cause: error }) : error);
        }
      },
      async cancel() {
        // What waits for the next event ends now.
        left.abort(GONE);
        await chunks.return();
      },
    });
  }
}

/** The answers to a pause. */
interface Continuation {
  SessionId: string;
  TurnId: string;
  ToolResults: SubmittedToolResult[];
}

const GONE = new Error("The stream is no longer read.");
/** Ends with the signal, or as `GONE` with the stream whose reader leaves. */
interface Leaving extends AbortController {
  /** Nothing is left to be stopped: some servers abort the signal of each request that they have answered. */
  over(): void;
}
function leaving(signal: AbortSignal | undefined, stopped = (): unknown => undefined): Leaving {
  const left = new AbortController();
  const over = onAbort(signal, (reason) => (stopped(), left.abort(reason)));
  return Object.assign(left, { over });
}

/**
 * For `sendAutomaticallyWhen`: whether the last message's pause has all its answers, results of tools and decisions about
 * calls alike.
 */
export function isAnswered({ messages }: { messages: readonly ChatMessage[] }): boolean {
  const last = messages.at(-1);
  return last?.role === "assistant" && answers(last) !== undefined;
}
