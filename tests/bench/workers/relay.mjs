// The cheapest turn in which every delta passes through code: the floor's object, but JavaScript reads and writes the
// model service's bytes, chunk by chunk as they come, without parsing them.
import { SessionObject as FloorObject } from './floor.mjs';

export { default } from './floor.mjs';

/**
 * A lower bound for a read, since the pinned workerd returns a chunk's first byte apart from the rest. No event is this
 * short.
 */
const LEAST_BYTES = 32;

export class SessionObject extends FloorObject {
  async passedOn(body, streaming) {
    if (!streaming) {
      const chunks = [];
      for await (const chunk of chunksOf(body)) chunks.push(chunk.slice());
      return new Blob(chunks);
    }
    const { readable, writable } = new IdentityTransformStream();
    this.ctx.waitUntil(relay(body, writable.getWriter()));
    return readable;
  }
}

async function relay(body, writer) {
  for await (const chunk of chunksOf(body)) await writer.write(chunk.slice());
  await writer.close();
}

async function* chunksOf(body) {
  const reader = body.getReader({ mode: 'byob' });
  let buffer = new Uint8Array(64 * 1024);
  for (;;) {
    const { done, value } = await reader.readAtLeast(LEAST_BYTES, buffer);
    if (value?.length > 0) yield value;
    if (done) return;
    buffer = new Uint8Array(value.buffer);
  }
}
