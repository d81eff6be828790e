// A back end between `useChat` and the service: the page knows this address alone, and the key stays here. Owns the HTTP form
// of the AI SDK's stream (its `DefaultChatTransport`), that a page says words, and no settings of a turn, and that a page is
// told what the service says of a failure, and nothing that this program says.
import { AptixError } from "../index.js";
import { after, onAbort } from "../signals.js";
import type { Chunk } from "./chunk.js";
import { type ChatMessage, MessageError } from "./messages.js";

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
  "X-Vercel-AI-UI-Message-Stream": "v1",
};

export interface ChatHandlerOptions {
  /** Told of every failure, as it was thrown: what the page is not told stands here. Unless given, the console is. */
  onError?(error: unknown, request: Request): void;
  /** The longest body of a request, in bytes: a chat sends all its messages. 16 MiB. */
  maxBodyBytes?: number;
}
const MAX_BODY_BYTES = 16 << 20;
/** The longest silence of a stream. Load balancers end one that is silent for a minute, as while a tool runs. */
const SILENCE_MS = 15_000;

/**
 * Serves a chat's two routes, `POST …` and `GET …/{chatId}/stream`, in whatever takes a `Request` and gives a `Response`: Hono,
 * Next, Workers, Deno, Bun. `transportOf` says who asks: it makes the transport with a client that acts for that user, whose
 * sessions alone are then reached, or throws a `Response`, such as a 401.
 */
export function chatHandler(
  transportOf: (request: Request, chatId: string) => Transport | PromiseLike<Transport>,
  options: ChatHandlerOptions = {},
): (request: Request) => Promise<Response> {
  const { onError = (error: unknown) => console.error(error), maxBodyBytes = MAX_BODY_BYTES } = options;
  return async (request) => {
    // A page that has left is no failure.
    const left = new AbortController();
    onAbort(request.signal, (reason) => left.abort(reason));
    const told = (error: unknown) => void (left.signal.aborted || onError(error, request));
    try {
      const { chatId, open } = await asked(request, maxBodyBytes, left.signal);
      const transport = await transportOf(request, chatId);
      return await answered(await open(transport), left, told);
    } catch (error) {
      if (error instanceof Response) return error;
      if (error instanceof MessageError) return new Response(error.message, { status: 400 });
      told(error);
      const service = ofService(error);
      const status = service ? (service.status >= 400 ? service.status : 502) : 500;
      return new Response(textOf(error) ?? "The turn could not be sent.", { status });
    }
  };
}

/** What is needed of an `AptixChatTransport`. */
interface Transport {
  sendMessages(options: {
    chatId: string;
    messages: ChatMessage[];
    trigger: "submit-message" | "regenerate-message";
    messageId: string | undefined;
    abortSignal: AbortSignal;
  }): Promise<ReadableStream<Chunk>>;
  reconnectToStream(options: { chatId: string; abortSignal: AbortSignal }): Promise<ReadableStream<Chunk> | null>;
}

type Open = (transport: Transport) => Promise<ReadableStream<Chunk> | null>;

/** Which chat is meant, and what is asked of it. */
async function asked(request: Request, maxBytes: number, abortSignal: AbortSignal): Promise<{ chatId: string; open: Open }> {
  const { method, url } = request;
  if (method === "GET") {
    const [, id] = /\/([^/]+)\/stream$/.exec(new URL(url).pathname) ?? [];
    const chatId = id === undefined ? undefined : decoded(id);
    if (chatId === undefined) throw new Response("There is no such chat.", { status: 404 });
    return { chatId, open: (transport) => transport.reconnectToStream({ chatId, abortSignal }) };
  }
  if (method !== "POST") throw new Response("A chat takes GET and POST.", { status: 405, headers: { Allow: "GET, POST" } });
  const { id: chatId, messages, trigger, messageId } = ((await json(request, maxBytes)) ?? {}) as {
    id: string;
    messages: ChatMessage[];
    trigger: "submit-message" | "regenerate-message";
    messageId?: string;
  };
  if (typeof chatId !== "string" || !Array.isArray(messages) || !messages.every(isMessage)) throw new MessageError("A chat has an id and messages.");
  return { chatId, open: (transport) => transport.sendMessages({ chatId, messages, trigger, messageId, abortSignal }) };
}

const isMessage = (message: unknown): message is ChatMessage => {
  const { id, role, parts } = (message ?? {}) as Partial<ChatMessage>;
  return typeof id === "string" && typeof role === "string" && Array.isArray(parts) && parts.every((part) => typeof part?.type === "string");
};

function decoded(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** The body, of which no more is held than is permitted. */
async function json(request: Request, maxBytes: number): Promise<unknown> {
  const tooLong = () => new Response(`The request is longer than ${maxBytes} bytes.`, { status: 413 });
  if (Number(request.headers.get("Content-Length")) > maxBytes) throw tooLong();
  const pieces: Uint8Array<ArrayBuffer>[] = [];
  const reader = request.body?.getReader();
  for (let length = 0; reader; ) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > maxBytes) {
      // As in src/events.ts, nobody waits for that.
      void reader.cancel().catch(() => {});
      throw tooLong();
    }
    pieces.push(value);
  }
  try {
    return JSON.parse(await new Blob(pieces).text());
  } catch {
    throw new Response("The request is no JSON.", { status: 400 });
  }
}

/** The response, once something has come or nothing for long: what fails before is a failure of the request. */
async function answered(stream: ReadableStream<Chunk> | null, left: AbortController, told: (error: unknown) => void): Promise<Response> {
  if (!stream) return new Response(null, { status: 204 });
  const reader = stream.getReader();
  /** Asked for, and not yet told. */
  let next: Promise<ReadableStreamReadResult<Chunk>> | undefined = reader.read();
  // A turn that is resumed while a tool runs says nothing until the tool has ended.
  const isSilent = !(await unlessSilent(next));
  const encoder = new TextEncoder();
  const line = (data: string) => encoder.encode(`data: ${data}\n\n`);
  // A comment, which readers of such a stream skip.
  const silence = encoder.encode(": \n\n");
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => (isSilent ? controller.enqueue(silence) : undefined),
    async pull(controller) {
      try {
        const heard = await unlessSilent((next ??= reader.read()));
        if (!heard) return controller.enqueue(silence);
        next = undefined;
        const { done, value } = heard;
        controller.enqueue(line(done ? "[DONE]" : JSON.stringify(value)));
        if (done) controller.close();
      } catch (error) {
        told(error);
        controller.enqueue(line(JSON.stringify({ type: "error", errorText: textOf(error) ?? "The turn failed." })));
        controller.close();
      }
    },
    // Not every server aborts the request of a page that has left.
    cancel: (reason) => {
      left.abort(reason);
      return reader.cancel(reason);
    },
  });
  return new Response(body, { headers: HEADERS });
}

/** What comes; `undefined` where that is nothing for `SILENCE_MS`. */
async function unlessSilent<T>(next: Promise<T>): Promise<T | undefined> {
  let callOff = () => {};
  const silent = new Promise<undefined>((passed) => (callOff = after(SILENCE_MS, () => passed(undefined))));
  try {
    return await Promise.race([next, silent]);
  } finally {
    callOff();
  }
}

/** The service's failure, which a lost connection wraps in the words that a chat knows it by. */
function ofService(error: unknown): AptixError | undefined {
  const { cause } = (error ?? {}) as { cause?: unknown };
  return [error, cause].find((each) => each instanceof AptixError);
}

/** What a page is told: the code and the words of the service; of anything else, nothing. */
function textOf(error: unknown): string | undefined {
  const service = ofService(error);
  if (service?.code === "connection_lost") return "connection_lost: The service cannot be reached.";
  return service && `${service.code}: ${service.message}`;
}
