// The bucket for files, which workerd lacks: an object for each folder of keys, with the bytes in its rows. Owns the five
// calls that the Worker makes of a bucket (src/platform/file_bucket.rs).
import { DurableObject, waitUntil } from 'cloudflare:workers';

/** The bytes of one row: rows of more than 2 MB are refused elsewhere, and a range reads whole rows. */
const ROW_BYTES = 1 << 20;

export class FileStore extends DurableObject {
  #sql;

  constructor(ctx, env) {
    super(ctx, env);
    this.#sql = ctx.storage.sql;
    this.#begin();
  }

  #begin() {
    this.#sql.exec('CREATE TABLE IF NOT EXISTS file (key TEXT PRIMARY KEY, size INTEGER NOT NULL) WITHOUT ROWID');
    this.#sql.exec('CREATE TABLE IF NOT EXISTS part (key TEXT, number INTEGER, bytes BLOB NOT NULL, PRIMARY KEY (key, number))');
  }

  /** Keeps a file, in the place of one of the same key. */
  put(key, bytes) {
    this.ctx.storage.transactionSync(() => {
      this.#remove(key);
      this.#sql.exec('INSERT INTO file (key, size) VALUES (?, ?)', key, bytes.byteLength);
      for (let at = 0; at < bytes.byteLength; at += ROW_BYTES) {
        this.#sql.exec('INSERT INTO part (key, number, bytes) VALUES (?, ?, ?)', key, at / ROW_BYTES, bytes.slice(at, at + ROW_BYTES));
      }
    });
  }

  /** The size in bytes; `null` without such a file. */
  head(key) {
    return this.#sql.exec('SELECT size FROM file WHERE key = ?', key).toArray()[0]?.size ?? null;
  }

  /** A range's bytes as a stream, and their count; `null` without such a file. */
  get(key, offset, length) {
    const size = this.head(key);
    if (size === null) return null;
    const end = Math.min(size, offset + length);
    const { readable, writable } = new IdentityTransformStream();
    // Whoever reads the stream has left, or the object has ended: either is known to the reader.
    this.ctx.waitUntil(this.#write(writable, key, offset, end).catch(() => {}));
    return { bytes: end - offset, body: readable };
  }

  async #write(writable, key, offset, end) {
    const writer = writable.getWriter();
    for (let at = offset; at < end; ) {
      const number = Math.floor(at / ROW_BYTES);
      const [row] = this.#sql.exec('SELECT bytes FROM part WHERE key = ? AND number = ?', key, number).toArray();
      // The file was removed meanwhile: a stream that just ended would look whole.
      if (!row) return writer.abort(new Error('the file was removed'));
      const from = at - number * ROW_BYTES;
      const bytes = new Uint8Array(row.bytes, from, Math.min(ROW_BYTES - from, end - at));
      await writer.write(bytes);
      at += bytes.byteLength;
    }
    await writer.close();
  }

  /** `[{ key, size }]` of the first files whose keys begin so. */
  list(prefix, limit = 1000) {
    return this.#sql.exec('SELECT key, size FROM file WHERE substr(key, 1, length(?1)) = ?1 ORDER BY key LIMIT ?2', prefix, limit).toArray();
  }

  /** Removes files; resolves to their bytes. */
  async remove(keys) {
    const bytes = this.ctx.storage.transactionSync(() => keys.reduce((bytes, key) => bytes + this.#remove(key), 0));
    if (this.#sql.exec('SELECT 1 FROM file LIMIT 1').toArray().length === 0) {
      // SQLite keeps the pages of removed rows, and what stood in them: what was erased would go on to fill the disk, and would
      // be in each backup.
      const freed = this.ctx.storage.deleteAll();
      this.#begin();
      await freed;
    }
    return bytes;
  }

  #remove(key) {
    const size = this.head(key) ?? 0;
    this.#sql.exec('DELETE FROM file WHERE key = ?', key);
    this.#sql.exec('DELETE FROM part WHERE key = ?', key);
    return size;
  }
}

/**
 * A bucket of at most `most` bytes over the namespace of `FileStore`; `state.filesBytes` counts what it holds, and `state.open` has
 * the downloads that are under way.
 */
export function bucketOver(namespace, state, most = Infinity) {
  const store = (key) => namespace.getByName(key.slice(0, key.indexOf('/') + 1));
  return {
    async put(key, bytes) {
      if (state.filesBytes + bytes.byteLength > most) throw new Error(`the files of this server would have more than MaxBytesOfFiles, ${most}`);
      state.filesBytes += bytes.byteLength;
      await store(key).put(key, bytes);
    },
    async head(key) {
      const size = await store(key).head(key);
      return size === null ? null : { key, size };
    },
    async get(key, { range: { offset, length } }) {
      const found = await store(key).get(key, offset, length);
      if (found === null) return null;
      // A stream that comes from an object does not know its length, which a response tells.
      const { readable, writable } = new FixedLengthStream(found.bytes);
      const passed = found.body.pipeTo(writable).catch(() => {
        // Whoever reads the stream sees it break.
      });
      // An end in order waits for its last byte. Also where its reader leaves, this has to be counted.
      state.open += 1;
      waitUntil(passed.finally(() => {
        state.open -= 1;
      }));
      return { key, body: readable };
    },
    list: async ({ prefix, limit }) => ({ objects: await store(prefix).list(prefix, limit) }),
    async delete(keys) {
      state.filesBytes -= await store(keys[0]).remove(keys);
    },
  };
}
