// The other side of `turn.toReadableStream()`: a webview, or a page behind one's own back end. An entry of its own, which
// holds no key and calls nobody. Owns that whatever comes in place of a turn's events is told as an `AptixError`.
import { Lines } from "./events.js";
import { AptixConnectionError, AptixError, type TurnEvent } from "./index.js";

/** How much of what is no event is shown. */
const SHOWN = 80;

/**
 * The events of a turn, from a stream of lines or from the response that brings one. A failure of the turn is thrown as it
 * was at the other side; a page of a proxy, an end before the turn's and a refusal of one's own back end are errors, too.
 */
export async function* readTurnEvents(source: ReadableStream<Uint8Array> | Response): AsyncGenerator<TurnEvent, void, void> {
  const response = "headers" in source ? source : undefined;
  const status = response?.status;
  if (response && !response.ok) throw refused(await response.text().catch(() => ""), response.status);
  const stream = "headers" in source ? source.body : source;
  if (!stream) throw new AptixConnectionError("The response has no body.", { status });
  const reader = stream.getReader();
  const lines = new Lines();
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((cause: unknown) => {
        throw new AptixConnectionError(`The connection was lost: ${(cause as Error)?.message}.`, { status, cause });
      });
      if (done) break;
      for (const line of lines.of(value)) {
        const { goesOn, ...event } = eventOf(line, status);
        ended = (event.type === "tool_calls" && !goesOn) || (event.type === "result" && event.response?.Kind === "final");
        yield event;
      }
    }
    // What stands behind the last line break was cut, or is no event at all.
    const { rest } = lines;
    if (!ended && rest.trim() && !rest.startsWith("{")) eventOf(rest, status);
    if (!ended) throw new AptixConnectionError("The events end before the turn.", { status });
  } finally {
    // As in src/events.ts, nobody waits for that.
    void reader.cancel().catch(() => {});
  }
}

/** `goesOn`: the other side answers the calls of the pause, so that it is not the end. */
function eventOf(line: string, status: number | undefined): TurnEvent & { goesOn?: boolean } {
  let event;
  try {
    event = JSON.parse(line);
  } catch (cause) {
    throw new AptixConnectionError(`What came is no event of a turn: ${line.trim().slice(0, SHOWN)}`, { status, cause });
  }
  if (event?.type === "error" || typeof event?.type !== "string") throw refused(line, status ?? 0);
  return event;
}

/** An answer of the service that a back end has passed on is that error; all else is none of the service's. */
function refused(text: string, status: number): AptixError {
  try {
    const { Errors, type, error } = JSON.parse(text);
    if (type === "error") return AptixError.from(error);
    if (Errors.length > 0) return new AptixError(status, Errors);
  } catch {
    // A page of something in between, or an error that is none.
  }
  return new AptixConnectionError(`The answer of status ${status} holds no events of a turn: ${text.trim().slice(0, SHOWN)}`, { status });
}
