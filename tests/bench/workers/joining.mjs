// The same turns as plain.mjs, but deltas that come within 16 ms of each other go out together: what joining costs at
// least. A page shows sixty frames a second, so nobody sees the difference.
//
// A read of the network returns one HTTP chunk at most, however many have come, and the model service sends each event
// as a chunk of its own. One branch of a tee is therefore drained by the runtime, past JavaScript; meanwhile the bytes
// of the other branch gather, and one read takes all of them.
import { EventParser, SessionObject as PlainObject } from './plain.mjs';

export { default } from './plain.mjs';

const INTERVAL_MS = 16;
/** How much later than the interval a delta of a fast stream may come. */
const SLACK_MS = 5;
const BUFFER_BYTES = 64 * 1024;

export class SessionObject extends PlainObject {
  async *readings(body, streaming) {
    const parser = new EventParser();
    if (!streaming) {
      // Nobody watches, so that one reading is enough.
      yield parser.events(new Uint8Array(await new Response(body).arrayBuffer()));
      return;
    }
    const { branch } = gathering(body);
    const reader = branch.getReader({ mode: 'byob' });
    let buffer = new Uint8Array(BUFFER_BYTES);
    let writtenAt = -Infinity;
    for (;;) {
      const { done, value } = await reader.read(buffer);
      if (done) return;
      const sinceWrite = Date.now() - writtenAt;
      const events = [...parser.events(value)];
      buffer = new Uint8Array(value.buffer);
      yield events;
      if (!events.some(({ type }) => type === 'response.output_text.delta')) continue;
      writtenAt = Date.now();
      // A first delta, and each of a slow stream, goes out at once, and so does what comes after it.
      if (sinceWrite < INTERVAL_MS + SLACK_MS) await scheduler.wait(INTERVAL_MS);
    }
  }
}

/** `{branch, end}`: a branch whose bytes gather while nobody reads it, and the promise of the body's end. */
export function gathering(body) {
  const [drained, branch] = body.tee();
  const end = new Response(drained.pipeThrough(new IdentityTransformStream())).arrayBuffer();
  end.catch(() => {}); // A fault reaches the other branch, too.
  return { branch, end };
}
