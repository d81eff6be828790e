// The same turns as joining.mjs, with what a turn of aptix-edge promises by itself: no time limits left out, nothing
// stored of a request that is refused, a turn that is durable before the model service is called, an alarm that would
// run it again after a crash, and the text so far of an answer that breaks off. It is the cheapest program that does
// so, and it does no more: it runs nothing again, checks little, and knows no modes, tools, users or catalogs.
import { SessionObject as JoiningObject, gathering } from './joining.mjs';
import { EventParser } from './plain.mjs';

export { default } from './plain.mjs';

const TABLES = `
  CREATE TABLE session (id INTEGER PRIMARY KEY CHECK (id = 1), version INTEGER NOT NULL, state TEXT NOT NULL);
  CREATE TABLE turns (
    ordinal INTEGER PRIMARY KEY, turn_id TEXT NOT NULL UNIQUE, status TEXT NOT NULL, started_at INTEGER NOT NULL,
    fingerprint TEXT NOT NULL, record TEXT, outcome TEXT, session_after TEXT);
  CREATE TABLE conversation (seq INTEGER PRIMARY KEY, turn INTEGER NOT NULL, items TEXT NOT NULL);
  CREATE TABLE texts (hash TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID`;
const SYSTEM = JSON.stringify([{ role: 'developer', content: [{ type: 'input_text', text: 'Answer briefly.' }] }]);
const TURN_MS = 900_000;
const SILENCE_MS = 120_000;
const ALARM_MS = 930_000;
/** How often an answer that nobody watches is taken over. */
const PAUSE_MS = 250;
const BUFFER_BYTES = 64 * 1024;

export class SessionObject extends JoiningObject {
  /** Creates nothing: the first turn that is accepted does. Called while the object is made, before it has fields. */
  begin() {
    Object.assign(this, { session: undefined, newest: 0, hasAlarm: false });
    if (this.run("SELECT 1 FROM sqlite_master WHERE name = 'session'").length === 0) return;
    this.newest = this.run('SELECT MAX(ordinal) AS newest FROM turns')[0].newest;
    const [{ after }] = this.run(
      `SELECT COALESCE((SELECT session_after FROM turns WHERE ordinal = ?), state) AS after FROM session`,
      this.newest,
    );
    this.session = JSON.parse(after);
  }

  async fetch(request) {
    const body = await request.arrayBuffer();
    const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', body));
    const fingerprint = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('');
    const turn = JSON.parse(new TextDecoder().decode(body));
    if (this.session) {
      const [known] = this.run('SELECT fingerprint, outcome FROM turns WHERE turn_id = ?', turn.TurnId);
      if (known && known.fingerprint !== fingerprint) return refusal('turn_conflict');
      if (known?.outcome) return new Response(known.outcome, { headers: { 'content-type': 'application/json' } });
      if (known || this.session.liveTurn) return refusal('turn_in_progress');
    }
    if (!this.hasAlarm) this.ctx.storage.setAlarm(Date.now() + ALARM_MS);
    this.hasAlarm = true;
    const said = [{ role: 'user', content: [{ type: 'input_text', text: turn.Instruction }] }];
    turn.ordinal = this.#accept(turn, said, fingerprint);
    await this.ctx.storage.sync();
    return this.answer(turn, said, this.session.chainHead);
  }

  alarm() {}

  async turn(...turn) {
    const stop = new AbortController();
    this.stop = stop;
    const limit = setTimeout(() => stop.abort(), TURN_MS);
    const silence = setTimeout(() => stop.abort(), SILENCE_MS);
    try {
      return await super.turn(...turn);
    } finally {
      clearTimeout(limit);
      clearTimeout(silence);
    }
  }

  /** Watched, as in joining.mjs. Otherwise what has come is taken over in pauses, so that a break loses little of it. */
  async *readings(body, streaming) {
    if (streaming) {
      yield* super.readings(body, streaming);
      return;
    }
    const parser = new EventParser();
    const { branch, end } = gathering(body);
    const reader = branch.getReader({ mode: 'byob' });
    for (;;) {
      await Promise.race([end, scheduler.wait(PAUSE_MS)]);
      const { done, value } = await reader.readAtLeast(BUFFER_BYTES, new Uint8Array(BUFFER_BYTES));
      if (value?.length) yield parser.events(value);
      if (done || value.length < BUFFER_BYTES) return;
    }
  }

  keep(turn, response, outcome, startedAt) {
    const { ordinal } = turn;
    const record = JSON.stringify({ started_at: startedAt, duration_ms: Date.now() - startedAt, usage: response.usage });
    this.session = { ...this.session, chainHead: response.id, liveTurn: undefined };
    this.ctx.storage.transactionSync(() => {
      const said = JSON.stringify(response.output);
      this.run('INSERT INTO conversation (turn, items) VALUES (?, ?)', ordinal, said);
      this.run(
        "UPDATE turns SET status = 'completed', record = ?, outcome = ?, session_after = ? WHERE ordinal = ?",
        record,
        outcome,
        JSON.stringify(this.session),
        ordinal,
      );
    });
  }

  /** Stores a turn, with the tables where it is the session's first; returns its ordinal. */
  #accept(turn, said, fingerprint) {
    const isFirst = this.session === undefined;
    const ordinal = this.newest + 1;
    const session = { ...this.session, liveTurn: ordinal };
    this.ctx.storage.transactionSync(() => {
      if (isFirst) {
        this.run(TABLES);
        for (const text of ['[]', SYSTEM]) this.run('INSERT OR IGNORE INTO texts VALUES (?, ?)', `${text.length}`, text);
        this.run('INSERT INTO session VALUES (1, 1, ?)', JSON.stringify(session));
        this.run('INSERT INTO conversation (turn, items) VALUES (?, ?)', ordinal, SYSTEM);
      }
      this.run(
        'INSERT INTO turns (ordinal, turn_id, status, started_at, fingerprint, session_after) VALUES (?, ?, ?, ?, ?, ?)',
        ordinal,
        turn.TurnId,
        'running',
        Date.now(),
        fingerprint,
        JSON.stringify(session),
      );
      this.run('INSERT INTO conversation (turn, items) VALUES (?, ?)', ordinal, JSON.stringify(said));
    });
    this.session = session;
    this.newest = ordinal;
    return ordinal;
  }
}

const refusal = (ErrorCode) => Response.json({ Successful: false, Errors: [{ ErrorCode }], Warnings: [] }, { status: 409 });
