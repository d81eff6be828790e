// A back end between `useChat` and the service: the page knows this address alone, and the key stays here. Owns the HTTP form
// of the AI SDK's stream (its `DefaultChatTransport`), and that a page says words, and no settings of a turn.
import type { Chunk } from "./chunk.js";
import type { ChatMessage } from "./messages.js";

const HEADERS = {
  "Content-Type": "text/event-stream",
  "Cache-Control": "no-cache",
  "X-Accel-Buffering": "no",
  "X-Vercel-AI-UI-Message-Stream": "v1",
};

/**
 * Serves a chat's two routes, `POST …` and `GET …/{chatId}/stream`, in whatever takes a `Request` and gives a `Response`: Hono,
 * Next, Workers, Deno, Bun. `transportOf` says who asks: it makes the transport with a client that acts for that user, whose
 * sessions alone are then reached, or throws a `Response`, such as a 401.
 */
export function chatHandler(
  transportOf: (request: Request, chatId: string) => Transport | PromiseLike<Transport>,
): (request: Request) => Promise<Response> {
  return async (request) => {
    try {
      const { chatId, open } = await asked(request);
      const transport = await transportOf(request, chatId);
      return await answered(await open(transport));
    } catch (error) {
      if (error instanceof Response) return error;
      if (error instanceof SyntaxError) return new Response("The request is no JSON.", { status: 400 });
      const { status = 0 } = error as { status?: number };
      return new Response(textOf(error) ?? "The turn could not be sent.", { status: status >= 400 ? status : error instanceof TypeError ? 400 : 502 });
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
async function asked(request: Request): Promise<{ chatId: string; open: Open }> {
  const { signal: abortSignal, method, url } = request;
  if (method === "GET") {
    const [, id] = /\/([^/]+)\/stream$/.exec(new URL(url).pathname) ?? [];
    if (id === undefined) throw new Response("There is no such chat.", { status: 404 });
    const chatId = decodeURIComponent(id);
    return { chatId, open: (transport) => transport.reconnectToStream({ chatId, abortSignal }) };
  }
  if (method !== "POST") throw new Response("A chat takes GET and POST.", { status: 405, headers: { Allow: "GET, POST" } });
  const { id: chatId, messages, trigger, messageId } = (await request.json()) as {
    id: string;
    messages: ChatMessage[];
    trigger: "submit-message" | "regenerate-message";
    messageId?: string;
  };
  if (typeof chatId !== "string" || !Array.isArray(messages)) throw new Response("A chat has an id and messages.", { status: 400 });
  return { chatId, open: (transport) => transport.sendMessages({ chatId, messages, trigger, messageId, abortSignal }) };
}

/** The response, once something has come: what fails before is a failure of the request. */
async function answered(stream: ReadableStream<Chunk> | null): Promise<Response> {
  if (!stream) return new Response(null, { status: 204 });
  const reader = stream.getReader();
  let next: ReadableStreamReadResult<Chunk> | undefined = await reader.read();
  const encoder = new TextEncoder();
  const line = (data: string) => encoder.encode(`data: ${data}\n\n`);
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = next ?? (await reader.read());
        next = undefined;
        controller.enqueue(line(done ? "[DONE]" : JSON.stringify(value)));
        if (done) controller.close();
      } catch (error) {
        controller.enqueue(line(JSON.stringify({ type: "error", errorText: textOf(error) ?? "The turn failed." })));
        controller.close();
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
  return new Response(body, { headers: HEADERS });
}

/** What a page is told: the code and the words of the service; of anything else, nothing. */
function textOf(error: unknown): string | undefined {
  const { code, message, cause } = error as { code?: string; message?: string; cause?: { code?: string } };
  if (cause?.code === "connection_lost" || code === "connection_lost") return "connection_lost: The service cannot be reached.";
  return code === undefined ? undefined : `${code}: ${message}`;
}
