// The same turns on Cloudflare's Agents SDK, written as its documentation shows and as short as that allows: an Agent
// per session, `onRequest`, rows by `this.sql`, and server-sent events from a `ReadableStream`. Rows are those that a
// conversation needs; like plain.mjs it recovers nothing, retries nothing and checks little.
import { Agent, getAgentByName } from 'agents';

export default {
  async fetch(request, env) {
    const { SessionId } = await request.clone().json();
    const agent = await getAgentByName(env.SESSIONS, SessionId);
    return agent.fetch(request);
  },
};

export class SessionObject extends Agent {
  onStart() {
    this.sql`CREATE TABLE IF NOT EXISTS messages (
      id INTEGER PRIMARY KEY AUTOINCREMENT, turn_id TEXT NOT NULL, role TEXT NOT NULL, content TEXT NOT NULL)`;
    this.sql`CREATE TABLE IF NOT EXISTS session (id INTEGER PRIMARY KEY CHECK (id = 1), previous TEXT NOT NULL)`;
  }

  async onRequest(request) {
    const turn = await request.json();
    const upstream = await this.callModel(turn);
    if (!turn.Streaming) return Response.json(await this.answer(turn, upstream, () => {}));
    const encoder = new TextEncoder();
    const stream = new ReadableStream({
      start: async (controller) => {
        let bytes = 0;
        const result = await this.answer(turn, upstream, (delta) => {
          bytes += encoder.encode(delta).length;
          const data = JSON.stringify({ Segment: 0, Delta: delta });
          controller.enqueue(encoder.encode(`event: output_text.delta\nid: 0.${bytes}\ndata: ${data}\n\n`));
        });
        controller.enqueue(encoder.encode(`event: result\ndata: ${JSON.stringify(result)}\n\n`));
        controller.close();
      },
    });
    return new Response(stream, { headers: { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-cache' } });
  }

  async callModel({ TurnId, Instruction }) {
    const [session] = this.sql`SELECT previous FROM session`;
    this.sql`INSERT INTO messages (turn_id, role, content) VALUES (${TurnId}, 'user', ${Instruction})`;
    const upstream = await fetch(`${this.env.OPENAI_BASE_URL}/responses`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${this.env.OPENAI_API_KEY}` },
      body: JSON.stringify({
        model: this.env.OPENAI_MODEL,
        input: Instruction,
        previous_response_id: session?.previous,
        stream: true,
      }),
    });
    if (!upstream.ok) throw new Error(`the model service answered ${upstream.status}`);
    return upstream;
  }

  async answer({ SessionId, TurnId }, upstream, onDelta) {
    let text = '';
    let response;
    for await (const event of eventsOf(upstream.body)) {
      if (event.type === 'response.completed') response = event.response;
      if (event.type !== 'response.output_text.delta') continue;
      text += event.delta;
      onDelta(event.delta);
    }
    this.sql`INSERT INTO messages (turn_id, role, content) VALUES (${TurnId}, 'assistant', ${text})`;
    this.sql`INSERT INTO session VALUES (1, ${response.id})
      ON CONFLICT (id) DO UPDATE SET previous = excluded.previous`;
    return {
      Successful: true,
      Result: {
        Kind: 'final',
        SessionId,
        TurnId,
        PrimaryOutputText: text,
        Usage: { PromptTokens: response.usage.input_tokens, CompletionTokens: response.usage.output_tokens },
      },
      Errors: [],
      Warnings: [],
    };
  }
}

async function* eventsOf(body) {
  let held = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const blocks = (held + text).split('\n\n');
    held = blocks.pop();
    for (const block of blocks) yield JSON.parse(block.slice(block.indexOf('data: ') + 6));
  }
}
