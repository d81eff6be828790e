// The runtime's byte streams, read and written with one call for each step.

/** The number of buffers that are kept for later readers. */
const SPARE_BUFFERS = 32;
const spare = [];

/** The reader of a body, into buffers that are used again. */
class BodyReader {
  #stream;
  #reader;
  #bytes;
  #room;

  constructor(stream) {
    this.#stream = stream;
    this.#reader = stream.getReader({ mode: 'byob' });
  }

  /**
   * Reads as many bytes as there are, at least `atLeast` unless the body ends: into a buffer of `room` bytes, which is used
   * again, or with `only` into one for this read. Resolves to whether the body has ended.
   */
  read(atLeast, room, only) {
    const buffer = only ? new ArrayBuffer(room) : (this.#room ?? spare.pop() ?? new ArrayBuffer(room));
    this.#room = this.#bytes = undefined;
    return this.#reader.readAtLeast(atLeast, new Uint8Array(buffer)).then(({ done, value }) => {
      this.#bytes = value;
      if (!only) this.#room = value?.buffer;
      const length = value?.length ?? 0;
      if (length === 0 && !done) throw new Error('A read gave nothing.');
      // `readAtLeast` returns fewer bytes only at the end.
      return done || length < atLeast;
    });
  }

  /** The bytes of the last read; `undefined` when there were none. */
  bytes() {
    return this.#bytes?.length > 0 ? this.#bytes : undefined;
  }

  /** Gives the rest of the body back, and reads nothing more. */
  release() {
    this.#reader.releaseLock();
    this.#keepRoom();
    return this.#stream;
  }

  /** Nobody reads any more; nothing depends on how the sender takes it. */
  close(isEnded) {
    this.#keepRoom();
    if (!isEnded) this.#reader.cancel().catch(() => {});
  }

  #keepRoom() {
    if (this.#room && spare.length < SPARE_BUFFERS) spare.push(this.#room);
    this.#room = this.#bytes = undefined;
  }
}

export const readerOf = (stream) => new BodyReader(stream);

/** Ends a body that nobody reads. */
export const cancel = (stream) => void stream.cancel().catch(() => {});

/** A body in two: the branch that is read later, and the reader of one that the runtime takes by itself. */
class SplitBody {
  constructor(stream) {
    const [branch, taken] = stream.tee();
    this.branch = branch;
    // A pipe takes all that comes: reading the branch itself would hold up the other one.
    this.reader = new BodyReader(taken.pipeThrough(new IdentityTransformStream()));
  }
}

export const split = (stream) => new SplitBody(stream);

/**
 * A pipe, whose `readable` is a body. Its writer notices a client's disconnect, which that of a stream in JavaScript does
 * not. One with a length announces it.
 */
class BodyWriter {
  #writer;
  #room;

  constructor(pipe, room) {
    this.readable = pipe.readable;
    this.#writer = pipe.writable.getWriter();
    if (room !== undefined) this.#room = new Uint8Array(room);
  }

  /** Resolves when the runtime has taken the bytes, so that the next ones can stand in the same place. */
  write(bytes) {
    if (this.#room === undefined) return this.#writer.write(bytes.slice());
    this.#room.set(bytes);
    return this.#writer.write(this.#room.subarray(0, bytes.length));
  }

  close() {
    return this.#writer.close();
  }

  /** Breaks the body off, so that it does not look whole. */
  abort(reason) {
    return this.#writer.abort(reason);
  }
}

export const pipe = () => new BodyWriter(new IdentityTransformStream());

/** A pipe for `length` bytes in pieces of at most `room`. */
export const pipeOfLength = (length, room) => new BodyWriter(new FixedLengthStream(length), room);
