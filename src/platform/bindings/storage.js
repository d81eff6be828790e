// An object's storage with one call for each statement: what a statement binds crosses as flat data, its rows as one text.

/** The kinds of values that a statement binds. */
const [NULL, NUMBER, TEXT] = [0, 1, 2];

/**
 * The values of a statement. `shape` has two numbers for each of them, its kind, and the number that it is or its length
 * in `texts` or `bytes`.
 */
function values(texts, bytes, shape) {
  const list = new Array(shape.length / 2);
  let [text, byte] = [0, 0];
  for (let at = 0; at < list.length; at += 1) {
    const [kind, number] = [shape[2 * at], shape[2 * at + 1]];
    if (kind === NULL) list[at] = null;
    else if (kind === NUMBER) list[at] = number;
    else if (kind === TEXT) list[at] = texts.slice(text, (text += number));
    else list[at] = bytes.slice(byte, (byte += number));
  }
  return list;
}

/** The storage of one object. It counts the rows that statements read and wrote. */
export class ObjectStore {
  #storage;
  #sql;
  #read = 0;
  #written = 0;

  constructor(state) {
    this.#storage = state.storage;
    this.#sql = this.#storage.sql;
  }

  #exec(statement, texts, bytes, shape) {
    return shape.length === 0 ? this.#sql.exec(statement) : this.#sql.exec(statement, ...values(texts, bytes, shape));
  }

  #count(cursor) {
    this.#read += cursor.rowsRead;
    this.#written += cursor.rowsWritten;
  }

  /** A statement without rows, which is done when `exec` returns: its cursor need not be read. */
  run(statement, texts, bytes, shape) {
    this.#count(this.#exec(statement, texts, bytes, shape));
  }

  /** A statement's rows, as JSON. */
  rows(statement, texts, bytes, shape) {
    const cursor = this.#exec(statement, texts, bytes, shape);
    try {
      return JSON.stringify(cursor.toArray());
    } finally {
      this.#count(cursor);
    }
  }

  /** The value in a column of a statement's first row; `undefined` without a row. */
  first(statement, texts, bytes, shape, column) {
    const cursor = this.#exec(statement, texts, bytes, shape);
    try {
      return cursor.toArray()[0]?.[column];
    } finally {
      this.#count(cursor);
    }
  }

  /** Hands out a statement's rows of a number and bytes, one after the other. */
  each(statement, texts, bytes, shape, take) {
    const cursor = this.#exec(statement, texts, bytes, shape);
    for (const [id, held] of cursor.raw()) take(id, new Uint8Array(held));
    this.#count(cursor);
  }

  /** The rows since the last reset: read, and written. */
  counted(resets) {
    const rows = [this.#read, this.#written];
    if (resets) this.#read = this.#written = 0;
    return rows;
  }

  transaction(writes) {
    return this.#storage.transactionSync(writes);
  }

  setAlarm(atMs) {
    return this.#storage.setAlarm(atMs);
  }

  sync() {
    return this.#storage.sync();
  }
}
