// A recorded session, run again turn by turn: under its own ids and for its own user, through the service's front door.
import { RecordedAnswers } from './recorded_answers.mjs';
import { TurnRun } from './turn_run.mjs';

/**
 * Runs `session` (record.mjs) under a conversation context at `origin`; resolves to `{ exported, runs }`: the export of the new
 * session, where it has one, and by the turns' ids what happened: `{ error, isOpen, unrecorded, unsent }`.
 */
export async function runSession({ session, context, origin, outbound }) {
  const headers = session.user === undefined ? {} : { 'aptix-user': encodeURIComponent(session.user) };
  const ask = (route, body) => asked(new URL(route, origin), headers, body);
  const answers = new RecordedAnswers(session.turns);
  const runs = Object.create(null);
  for (const [place, recorded] of session.turns.entries()) {
    const request = {
      ...recorded.request,
      ...(place === 0 && { ConversationContextId: context }),
      // Whoever has chunks had a workspace; which one, the record does not say.
      ...(recorded.retrieved.length > 0 && { WorkspaceId: 'rehearsal' }),
    };
    const run = new TurnRun({ session, turn: { ...recorded, request }, answers, ask });
    outbound.turn = run;
    const end = await run.run();
    runs[recorded.id] = { ...end, unrecorded: run.unrecorded, unsent: run.unsent.length };
  }
  const { Result: exported } = await ask(`/sessions/${session.id}/export`);
  // Where the catalog says so, the model service is asked to delete what it has stored.
  if (exported) await asked(new URL(`/sessions/${session.id}`, origin), headers, undefined, 'DELETE');
  return { exported, runs };
}

/** The response's JSON; of a stream its result. `null` is posted as no body. */
async function asked(url, headers, body, method = body === undefined ? 'GET' : 'POST') {
  const sent = { method, headers: { connection: 'close', ...headers, ...(body && { 'content-type': 'application/json' }) }, ...(body && { body: JSON.stringify(body) }) };
  const response = await fetch(url, sent);
  const text = await response.text();
  if (!response.headers.get('content-type').startsWith('text/event-stream')) return JSON.parse(text);
  // Other characters end a line for a pattern's dot, too.
  const [, result] = /^event: result\n(?:id: [^\n]*\n)?data: ([^\n]*)/m.exec(text) ?? [];
  return result ? JSON.parse(result) : { Successful: false, Errors: [{ ErrorCode: 'interrupted' }] };
}
