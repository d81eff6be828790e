// Server-sent events of a body, by the rules of the HTML standard: lines end with LF, CR or CRLF, data may take several
// lines, comments are skipped, and an event that was cut before its blank line is dropped.

export interface ServerSentEvent {
  name: string;
  data: string;
  id?: string;
}

/** Reads with `getReader`, since not every browser iterates over a body. Each read is waited for by `inTime`. */
export async function* serverSentEvents(
  body: ReadableStream<Uint8Array>,
  inTime: <T>(read: Promise<T>) => Promise<T>,
): AsyncGenerator<ServerSentEvent, void, void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const endOfLine = /\r\n|\n|\r(?!$)/g;
  let rest = "";
  let event: { name: string; data: string[]; id?: string } = { name: "message", data: [] };
  try {
    for (;;) {
      const { done, value } = await inTime(reader.read());
      if (done) return;
      // What was searched before holds no end of a line, save a CR that stood at its end.
      endOfLine.lastIndex = Math.max(rest.length - 1, 0);
      rest += decoder.decode(value, { stream: true });
      let begin = 0;
      for (let end; (end = endOfLine.exec(rest)); begin = endOfLine.lastIndex) {
        const line = rest.slice(begin, end.index);
        if (line === "") {
          if (event.data.length > 0) yield { ...event, data: event.data.join("\n") };
          event = { name: "message", data: [] };
          continue;
        }
        const [, field, text] = /^([^:]*):? ?(.*)$/s.exec(line) as unknown as [string, string, string];
        if (field === "event") event.name = text;
        else if (field === "data") event.data.push(text);
        else if (field === "id") event.id = text;
      }
      rest = rest.slice(begin);
    }
  } finally {
    // Leaving early gives the connection up.
    await reader.cancel().catch(() => {});
  }
}
