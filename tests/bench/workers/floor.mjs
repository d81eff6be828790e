// The cheapest possible turn on this platform: one object, one row, and the model service's bytes piped to the client
// by the runtime, past JavaScript. Its response is the model service's stream, whatever the request.
import { DurableObject } from 'cloudflare:workers';

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
    return new Response(await this.passedOn(upstream.body, Streaming), {
      status: upstream.status,
      headers: { 'content-type': 'text/event-stream', 'rows-read': rowsRead, 'rows-written': rowsWritten },
    });
  }

  /** The body of the response, for both kinds of delivery. */
  passedOn(body) {
    return body;
  }
}
