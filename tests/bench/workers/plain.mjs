// The same turns written by hand, without aptix-edge's guarantees: an object per session reads every event of the model
// service, writes its own event for each delta, and keeps turn, conversation and call in a handful of rows. It replays
// a repeated turn from storage; it recovers nothing, retries nothing, checks little, and knows no tools.
import { DurableObject } from 'cloudflare:workers';

const TABLES = [
  `CREATE TABLE IF NOT EXISTS session (
    id INTEGER PRIMARY KEY CHECK (id = 1), chain_head TEXT, live_turn TEXT, updated_at INTEGER NOT NULL)`,
  `CREATE TABLE IF NOT EXISTS turns (
    turn_id TEXT PRIMARY KEY, status TEXT NOT NULL, started_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
    outcome TEXT) WITHOUT ROWID`,
  'CREATE TABLE IF NOT EXISTS conversation (seq INTEGER PRIMARY KEY, turn_id TEXT NOT NULL, items TEXT NOT NULL)',
  'CREATE TABLE IF NOT EXISTS model_calls (seq INTEGER PRIMARY KEY, turn_id TEXT NOT NULL, record TEXT NOT NULL)',
];

export default {
  async fetch(request, env) {
    const body = await request.text();
    let turn;
    try {
      turn = JSON.parse(body);
    } catch {
      return refusal(400, 'malformed_json');
    }
    for (const member of ['SessionId', 'TurnId', 'Instruction']) {
      if (typeof turn[member] !== 'string' || turn[member] === '') return refusal(400, 'missing_field');
    }
    return env.SESSIONS.getByName(`local/${turn.SessionId}`).fetch('https://session/execute', { method: 'POST', body });
  },
};

export class SessionObject extends DurableObject {
  #encoder = new TextEncoder();
  #rows = { rows_read: 0, rows_written: 0 };

  constructor(state, env) {
    super(state, env);
    this.begin();
  }

  begin() {
    for (const table of TABLES) this.run(table);
  }

  async fetch(request) {
    const turn = await request.json();
    const [known] = this.run('SELECT outcome FROM turns WHERE turn_id = ?', turn.TurnId);
    if (known?.outcome) return new Response(known.outcome, { headers: { 'content-type': 'application/json' } });
    const [session] = this.run('SELECT chain_head, live_turn FROM session WHERE id = 1');
    if (session?.live_turn) return refusal(409, 'turn_in_progress');

    const said = [{ role: 'user', content: [{ type: 'input_text', text: turn.Instruction }] }];
    const now = Date.now();
    this.ctx.storage.transactionSync(() => {
      this.run('INSERT INTO turns VALUES (?, ?, ?, ?, NULL)', turn.TurnId, 'running', now, now);
      this.run('INSERT INTO conversation (turn_id, items) VALUES (?, ?)', turn.TurnId, JSON.stringify(said));
      this.run(
        `INSERT INTO session VALUES (1, NULL, ?1, ?2)
         ON CONFLICT (id) DO UPDATE SET live_turn = ?1, updated_at = ?2`,
        turn.TurnId,
        now,
      );
    });
    return this.answer(turn, said, session?.chain_head);
  }

  /** The answer of a turn that is stored: in one piece, or as it comes. */
  async answer(turn, input, chainHead) {
    if (!turn.Streaming) {
      const outcome = await this.turn(turn, input, chainHead, null);
      return new Response(outcome, { headers: { 'content-type': 'application/json; charset=utf-8' } });
    }
    const { readable, writable } = new IdentityTransformStream();
    this.ctx.waitUntil(this.turn(turn, input, chainHead, writable.getWriter()));
    return new Response(readable, { headers: { 'content-type': 'text/event-stream; charset=utf-8' } });
  }

  /** Runs a turn that is stored. `this.stop`, where there is one, ends its call. */
  async turn(turn, input, chainHead, writer) {
    const startedAt = Date.now();
    const upstream = await fetch(`${this.env.OPENAI_BASE_URL}/responses`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        authorization: `Bearer ${this.env.OPENAI_API_KEY}`,
      },
      body: JSON.stringify({ model: 'bench-model', input, previous_response_id: chainHead, store: true, stream: true }),
      signal: this.stop?.signal,
    });
    if (!upstream.ok) throw new Error(`the model service answered ${upstream.status}`);
    let text = '';
    let bytes = 0;
    let response;
    for await (const events of this.readings(upstream.body, writer !== null)) {
      let delta = '';
      for (const event of events) {
        if (event.type === 'response.completed') response = event.response;
        if (event.type === 'response.output_text.delta') delta += event.delta;
      }
      text += delta;
      if (writer === null || delta === '') continue;
      bytes += this.#encoder.encode(delta).length;
      const data = JSON.stringify({ Segment: 0, Delta: delta });
      await writer.write(this.#encoder.encode(`event: output_text.delta\nid: 0.${bytes}\ndata: ${data}\n\n`));
    }
    const outcome = JSON.stringify({
      Successful: true,
      Result: {
        Kind: 'final',
        SessionId: turn.SessionId,
        TurnId: turn.TurnId,
        PrimaryOutputText: text,
        Usage: { PromptTokens: response.usage.input_tokens, CompletionTokens: response.usage.output_tokens },
      },
      Errors: [],
      Warnings: [],
    });
    this.keep(turn, response, outcome, startedAt);
    if (writer !== null) {
      await writer.write(this.#encoder.encode(`event: result\ndata: ${outcome}\n\n`));
      await writer.close();
    }
    console.log(JSON.stringify({ event: 'submission', turn: turn.TurnId, ...this.#rows }));
    this.#rows = { rows_read: 0, rows_written: 0 };
    return outcome;
  }

  /** The model service's events, as lists; the deltas of a list go out as one event. Here, each goes out by itself. */
  async *readings(body) {
    const parser = new EventParser();
    for await (const chunk of body) for (const event of parser.events(chunk)) yield [event];
  }

  keep(turn, response, outcome, startedAt) {
    const now = Date.now();
    const record = JSON.stringify({ started_at: startedAt, duration_ms: now - startedAt, usage: response.usage });
    this.ctx.storage.transactionSync(() => {
      const said = JSON.stringify(response.output);
      this.run('INSERT INTO conversation (turn_id, items) VALUES (?, ?)', turn.TurnId, said);
      this.run('INSERT INTO model_calls (turn_id, record) VALUES (?, ?)', turn.TurnId, record);
      this.run(
        "UPDATE turns SET status = 'completed', updated_at = ?, outcome = ? WHERE turn_id = ?",
        now,
        outcome,
        turn.TurnId,
      );
      this.run('UPDATE session SET chain_head = ?, live_turn = NULL, updated_at = ? WHERE id = 1', response.id, now);
    });
  }

  /** Runs a statement, and counts its rows for the log. */
  run(statement, ...values) {
    const cursor = this.ctx.storage.sql.exec(statement, ...values);
    const rows = cursor.toArray();
    this.#rows.rows_read += cursor.rowsRead;
    this.#rows.rows_written += cursor.rowsWritten;
    return rows;
  }
}

/** The events of a stream, from its bytes as they come. */
export class EventParser {
  #decoder = new TextDecoder();
  #held = '';

  *events(bytes) {
    this.#held += this.#decoder.decode(bytes, { stream: true });
    for (let end = this.#held.indexOf('\n\n'); end >= 0; end = this.#held.indexOf('\n\n')) {
      const block = this.#held.slice(0, end);
      this.#held = this.#held.slice(end + 2);
      for (const line of block.split('\n')) if (line.startsWith('data: ')) yield JSON.parse(line.slice(6));
    }
  }
}

const refusal = (status, ErrorCode) =>
  Response.json({ Successful: false, Errors: [{ ErrorCode }], Warnings: [] }, { status });
