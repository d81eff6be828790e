// The archive of a backup: a tar of files, compressed by gzip, as every machine's own tar reads it. Owns the form of an entry's
// head.
import path from 'node:path';

const BLOCK = 512;
/** Where a head has the name's folder. */
const FOLDER = 345;
/** What a head has of a file: its octal numbers' places and lengths. */
const FIELDS = { mode: [100, 8], owner: [108, 8], group: [116, 8], size: [124, 12], time: [136, 12], sum: [148, 8] };

/** The head of an entry of so many bytes. */
export function headOf(name, size, time) {
  const head = Buffer.alloc(BLOCK);
  const cut = name.lastIndexOf('/');
  head.write(name.slice(cut + 1), 0);
  head.write(name.slice(0, Math.max(cut, 0)), FOLDER);
  const put = (field, value) => head.write(`${value.toString(8).padStart(FIELDS[field][1] - 1, '0')}\0`, FIELDS[field][0]);
  put('mode', 0o600);
  put('owner', 0);
  put('group', 0);
  // A size beyond 8 GiB is written in binary, as GNU's tar has it.
  if (size < 2 ** 33) put('size', size);
  else {
    head.writeUInt8(0x80, FIELDS.size[0]);
    head.writeBigUInt64BE(BigInt(size), FIELDS.size[0] + 4);
  }
  put('time', Math.floor(time / 1000));
  head.write('        ', FIELDS.sum[0]);
  head.write('0', 156);
  head.write('ustar\0' + '00', 257);
  head.write(`${head.reduce((sum, byte) => sum + byte, 0).toString(8).padStart(6, '0')}\0 `, FIELDS.sum[0]);
  return head;
}

/** What fills up the last block of so many bytes. */
export const padding = (size) => Buffer.alloc((BLOCK - (size % BLOCK)) % BLOCK);
/** The end of an archive. */
export const END = Buffer.alloc(2 * BLOCK);

/** Reads an archive: yields `{ name, size, chunks }`, whose `chunks` have to be read before the next one. */
export async function* entries(stream) {
  const bytes = new Bytes(stream);
  for (;;) {
    const head = await bytes.take(BLOCK);
    if (head.length < BLOCK) throw new Error('it ends in its middle');
    if (head.every((byte) => byte === 0)) return;
    const number = ([at, length]) => parseInt(head.toString('latin1', at, at + length), 8);
    const blank = Buffer.from(head);
    blank.write('        ', FIELDS.sum[0]);
    if (number(FIELDS.sum) !== blank.reduce((sum, byte) => sum + byte, 0)) throw new Error('it is no archive of a backup');
    const size = head[FIELDS.size[0]] === 0x80 ? Number(head.readBigUInt64BE(FIELDS.size[0] + 4)) : number(FIELDS.size);
    const textAt = (at) => head.toString('utf8', at, head.indexOf(0, at));
    const name = path.posix.join(textAt(FOLDER), textAt(0));
    yield { name, size, chunks: bytes.chunks(size) };
    await bytes.take(padding(size).length);
  }
}

/** Bytes of a stream by counts. */
class Bytes {
  #source;
  #rest = Buffer.alloc(0);

  constructor(stream) {
    this.#source = stream[Symbol.asyncIterator]();
  }

  async *chunks(count) {
    for (let left = count; left > 0; ) {
      if (this.#rest.length === 0) {
        const { value, done } = await this.#source.next();
        if (done) throw new Error('it ends in its middle');
        this.#rest = value;
      }
      const chunk = this.#rest.subarray(0, left);
      this.#rest = this.#rest.subarray(chunk.length);
      left -= chunk.length;
      yield chunk;
    }
  }

  async take(count) {
    const chunks = [];
    for await (const chunk of this.chunks(count)) chunks.push(chunk);
    return Buffer.concat(chunks);
  }
}
