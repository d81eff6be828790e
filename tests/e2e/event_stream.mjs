// Reads server-sent events from raw bytes as they arrive, by the rules of the HTML standard, which the Worker promises
// to keep.
// Owns parsing and waiting; the tests interpret the events.
import assert from 'node:assert/strict';

/** A stream that is read in the background: `events` (`{event, id, data}`), `comments`, `bytes`, `broken`. */
export class EventStream {
  events = [];
  comments = [];
  bytes = Buffer.alloc(0);
  /** The fault that broke the stream; `null` while it runs and after a proper end. */
  broken = null;
  ended = false;
  #pending = Buffer.alloc(0);
  #wake = Promise.withResolvers();
  #finished;

  /** `body` is an async iterable of Uint8Array, such as `fetch`'s `response.body`. */
  constructor(body) {
    this.#finished = this.#read(body);
  }

  /** Resolves to the stream itself at its end; fails when the stream broke. */
  async end() {
    await this.#finished;
    if (this.broken !== null) throw this.broken;
    return this;
  }

  /** Resolves as soon as `condition(stream)` holds; fails when the stream ends before. */
  async until(condition, what) {
    while (!condition(this)) {
      assert.ok(!this.ended, `the stream ended before ${what}; it said ${this.bytes}`);
      await this.#wake.promise;
    }
  }

  of(kind) {
    return this.events.filter(({ event }) => event === kind);
  }

  /** The text of the deltas received so far, all segments. */
  get text() {
    return this.of('output_text.delta').map(({ data }) => JSON.parse(data).Delta).join('');
  }

  /** The text without discarded segments. */
  get keptText() {
    const discarded = new Set(this.of('output_text.discard').map(({ data }) => JSON.parse(data).Segment));
    return this.of('output_text.delta')
      .map(({ data }) => JSON.parse(data))
      .filter(({ Segment }) => !discarded.has(Segment))
      .map(({ Delta }) => Delta)
      .join('');
  }

  /** The data of the result event, as text; fails unless there is exactly one and it comes last. */
  get result() {
    assert.equal(this.of('result').length, 1, `exactly one result in ${this.bytes}`);
    assert.equal(this.events.at(-1).event, 'result', 'the result comes last');
    return this.events.at(-1).data;
  }

  async #read(body) {
    try {
      for await (const chunk of body) {
        this.bytes = Buffer.concat([this.bytes, chunk]);
        this.#pending = Buffer.concat([this.#pending, chunk]);
        this.#takeBlocks();
        this.#notify();
      }
      assert.equal(this.#pending.length, 0, `the stream ended inside an event: ${this.#pending}`);
    } catch (fault) {
      this.broken = fault;
    }
    this.ended = true;
    this.#notify();
  }

  #takeBlocks() {
    for (let end = this.#pending.indexOf('\n\n'); end >= 0; end = this.#pending.indexOf('\n\n')) {
      // Strict decoding, since no event may split a character.
      const block = new TextDecoder('utf-8', { fatal: true }).decode(this.#pending.subarray(0, end));
      this.#pending = this.#pending.subarray(end + 2);
      this.#takeBlock(block.split('\n'));
    }
  }

  #takeBlock(lines) {
    const fields = { event: 'message', id: null, data: null };
    for (const line of lines) {
      if (line.startsWith(':')) {
        this.comments.push(line.slice(1).trim());
        continue;
      }
      const [, name, value] = /^([a-z]+): ?(.*)$/.exec(line) ?? [];
      assert.ok(name in fields || name === 'retry', `a line that is no field of an event: ${JSON.stringify(line)}`);
      if (name === 'data') fields.data = fields.data === null ? value : `${fields.data}\n${value}`;
      else if (name !== 'retry') fields[name] = value;
    }
    if (fields.data !== null) this.events.push(fields);
  }

  #notify() {
    this.#wake.resolve();
    this.#wake = Promise.withResolvers();
  }
}
