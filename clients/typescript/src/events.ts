// Server-sent events of a body, by the rules of the HTML standard: lines end with LF, CR or CRLF, data may take several
// lines, comments are skipped, and an event that was cut before its blank line is dropped. Owns that reading takes a time
// in proportion to the bytes, however long a line is and in however many pieces it comes.

export interface ServerSentEvent {
  name: string;
  data: string;
  id?: string;
}

/** The lines of a body, whose bytes come in pieces. */
export class Lines {
  readonly #decoder = new TextDecoder();
  /** Of the line whose end has not come. They are joined once, since to search or to join a growing text takes its length each time. */
  #pieces: string[] = [];
  #endedInCr = false;

  /** What has come of the line that has no end yet. */
  get rest(): string {
    return this.#pieces.join("");
  }

  /** The lines that these bytes complete. */
  *of(bytes: Uint8Array | undefined): Generator<string, void, void> {
    const text = this.#decoder.decode(bytes, { stream: true });
    if (text === "") return;
    // The line feed behind a CR that came before is of the same end.
    const [first, ...more] = text.slice(this.#endedInCr && text[0] === "\n" ? 1 : 0).split(/\r\n?|\n/);
    this.#endedInCr = text.endsWith("\r");
    this.#pieces.push(first!);
    for (const next of more) {
      const line = this.rest;
      this.#pieces = [next];
      yield line;
    }
  }
}

/** The events of the pieces of a body. */
export async function* serverSentEvents(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent, void, void> {
  const lines = new Lines();
  let event: { name: string; data: string[]; id?: string } = { name: "message", data: [] };
  for await (const piece of pieces) {
    for (const line of lines.of(piece)) {
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
  }
}

/** Reads with `getReader`, since not every browser iterates over a body. Each read is waited for by `inTime`. */
export async function* piecesOf(
  body: ReadableStream<Uint8Array>,
  inTime: <T>(read: Promise<T>) => Promise<T>,
): AsyncGenerator<Uint8Array, void, void> {
  const reader = body.getReader();
  try {
    for (let read; !(read = await inTime(reader.read())).done; ) yield read.value;
  } finally {
    // Leaving early gives the connection up. Nobody waits for that: where somebody holds a copy of the response, it has no end.
    void reader.cancel().catch(() => {});
  }
}
