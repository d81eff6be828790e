// The least that code costs which lets every delta pass through its hands: the floor's object, but the model service's
// bytes are read and written by JavaScript, chunk by chunk as they come, and nobody looks at what they say.
import { DurableObject } from 'cloudflare:workers';

/** A chunk is read from its first byte; the runtime gives that one apart from the rest, and no event is this short. */
const LEAST_BYTES = 32;

export default {
  async fetch(request, env) {
    const body = await request.text();
    const { SessionId } = JSON.parse(body);
    return env.SESSIONS.getByName(SessionId).fetch('https://session/execute', { method: 'POST', body });
  },
};

export class SessionObject extends DurableObject {
  #sql;

  constructor(state, env) {
    super(state, env);
    this.#sql = state.storage.sql;
    this.#sql.exec('CREATE TABLE IF NOT EXISTS turns (turn_id TEXT NOT NULL, said TEXT NOT NULL)');
  }

  async fetch(request) {
    const { TurnId, Instruction, Streaming } = await request.json();
    const { rowsRead, rowsWritten } = this.#sql.exec('INSERT INTO turns VALUES (?, ?)', TurnId, Instruction);
    const upstream = await fetch(`${this.env.OPENAI_BASE_URL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.env.OPENAI_API_KEY}` },
      body: JSON.stringify({ model: 'bench-model', input: Instruction, stream: true }),
    });
    const headers = { 'content-type': 'text/event-stream', 'rows-read': rowsRead, 'rows-written': rowsWritten };
    if (!Streaming) {
      const chunks = [];
      for await (const chunk of chunksOf(upstream.body)) chunks.push(chunk.slice());
      return new Response(new Blob(chunks), { status: upstream.status, headers });
    }
    const { readable, writable } = new IdentityTransformStream();
    this.ctx.waitUntil(relay(upstream.body, writable.getWriter()));
    return new Response(readable, { status: upstream.status, headers });
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
