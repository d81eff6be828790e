// The least that code costs which lets every delta pass through its hands: the floor's object, but the model service's
// bytes are read and written by JavaScript, chunk by chunk as they come, and nobody looks at what they say.
import { SessionObject as FloorObject } from './floor.mjs';

export { default } from './floor.mjs';

/** A chunk is read from its first byte; the runtime gives that one apart from the rest, and no event is this short. */
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
