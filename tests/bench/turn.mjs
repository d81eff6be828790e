// One turn as a client runs it: the request, the time of its response, and a check of the response.
// The client stays cheap: it only collects bytes while they arrive, and parses them at the end.
import http from 'node:http';

/** The longest that a turn may take, in ms. */
const PATIENCE_MS = 60_000;
const STAMP = /\[(\d{16})\]/g;

/**
 * workerd closes a connection after 5 s of idling and loses a request that arrives just then; this agent closes
 * earlier.
 */
const agent = new http.Agent({ keepAlive: true, noDelay: true, timeout: 3_000 });

/**
 * Sends `body` to `url` and resolves to `{status, headers, text, ms}`. With `stamped`, also `firstMs`, the time until
 * the first delta, and `relayMs`, the time of each delta from the model service's write to its arrival here.
 */
export function post(url, body, { stamped = false } = {}) {
  const sent = Buffer.from(JSON.stringify(body));
  return new Promise((resolve, reject) => {
    const from = performance.now();
    const chunks = [];
    const clock = stamped ? new StampReader() : null;
    const request = http.request(
      url,
      { method: 'POST', agent, headers: { 'content-type': 'application/json', 'content-length': sent.length } },
      (response) => {
        response.on('data', (chunk) => {
          clock?.read(chunk);
          chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          resolve({
            status: response.statusCode,
            headers: response.headers,
            text: Buffer.concat(chunks).toString('utf8'),
            ms: performance.now() - from,
            ...(clock && { firstMs: clock.firstAt - from, relayMs: clock.relayMs }),
          });
        });
      },
    );
    request.setTimeout(PATIENCE_MS, () => request.destroy(new Error(`no answer within ${PATIENCE_MS} ms`)));
    request.on('error', reject);
    request.end(sent);
  });
}

/** Finds the times in stamped deltas, each at its first occurrence. */
class StampReader {
  relayMs = [];
  firstAt = NaN;
  #last = 0;
  #held = '';

  read(chunk) {
    const now = Number(process.hrtime.bigint() / 1000n);
    const text = this.#held + chunk.toString('latin1');
    let end = 0;
    for (const found of text.matchAll(STAMP)) {
      end = found.index + found[0].length;
      const written = Number(found[1]);
      if (written <= this.#last) continue; // The events at the end repeat the text.
      if (this.#last === 0) this.firstAt = performance.now();
      this.#last = written;
      this.relayMs.push((now - written) / 1000);
    }
    // Keeps the end, since a chunk can cut a time, but no more than that.
    this.#held = text.slice(Math.max(end, text.length - 17));
  }
}

/** The fault in a response to `turn`, or `null`. `text` is the model's text; `null` when its deltas carry times. */
export function wrong({ raw }, turn, answer, { text, deltas }) {
  if (answer.status !== 200) return `status ${answer.status}: ${answer.text.slice(0, 300)}`;
  try {
    const said = raw ? spoken(answer.text) : turn.Streaming ? streamed(answer.text, turn) : result(answer.text, turn);
    if (text === null ? stamps(said) !== deltas : said !== text) return `another text: ${said.slice(0, 300)}`;
    const seen = answer.relayMs?.length ?? deltas;
    if (seen !== deltas) return `${seen} of ${deltas} deltas were seen`;
    return null;
  } catch (fault) {
    return `${fault.message}: ${answer.text.slice(-300)}`;
  }
}

/** The text of the model service's own stream. */
function spoken(text) {
  const { type, data } = blocks(text).at(-1);
  if (type !== 'response.completed') throw new Error(`the stream ends with ${type}`);
  return JSON.parse(data).response.output[0].content[0].text;
}

/** The text of a turn's stream from its deltas, which must agree with the result. */
function streamed(text, turn) {
  const events = blocks(text);
  const last = events.pop();
  if (last?.type !== 'result') throw new Error('no result at the end of the stream');
  let said = '';
  let bytes = 0;
  for (const { type, id, data } of events) {
    if (type !== 'output_text.delta') throw new Error(`an event ${type} in the stream`);
    const { Segment, Delta } = JSON.parse(data);
    said += Delta;
    bytes += Buffer.byteLength(Delta);
    if (id !== `${Segment}.${bytes}`) throw new Error(`id ${id} at byte ${bytes} of segment ${Segment}`);
  }
  if (result(last.data, turn) !== said) throw new Error('the result is not what was streamed');
  return said;
}

function result(text, { SessionId, TurnId }) {
  const { Successful, Result } = JSON.parse(text);
  if (!Successful || Result.Kind !== 'final') throw new Error('not a final result');
  if (Result.SessionId !== SessionId || Result.TurnId !== TurnId) throw new Error('the ids are those of another turn');
  return Result.PrimaryOutputText;
}

function blocks(text) {
  if (!text.endsWith('\n\n')) throw new Error('the stream ends inside an event');
  return text
    .slice(0, -2)
    .split('\n\n')
    .filter((block) => !block.startsWith(':'))
    .map((block) => ({
      type: /^event: (.*)$/m.exec(block)?.[1],
      id: /^id: (.*)$/m.exec(block)?.[1],
      data: /^data: (.*)$/m.exec(block)?.[1],
    }));
}

const stamps = (text) => text.match(STAMP)?.length ?? 0;
