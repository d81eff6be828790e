// A rehearsal: every recorded session, in each lane and as often as wanted, one after the other, and what came of it. Who serves
// the Worker is its caller's business.
import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { comparedTurn } from './report.mjs';
import { totalsOf, turnReport } from './comparison.mjs';
import { runSession } from './session_run.mjs';

/**
 * Resolves to the report (report.mjs). `lanes` are `{ name, catalog, contextOf }`: a catalog's text and which conversation context
 * a session gets. `serve({ catalog, use })` serves such a catalog and hands `use` `{ origin, outbound, notes }`; `judge` may be
 * absent; `onSession` is told each run of a session.
 */
export async function rehearsal({ sessions, lanes, times, serve, judge, onSession }) {
  const Sessions = [];
  const Notes = new Set();
  for (const lane of lanes) {
    for (let Run = 1; Run <= times; Run++) {
      // One Worker has one list of tools of each MCP server.
      for (const group of groupsOf(sessions)) {
        await serve({
          catalog: lane.catalog,
          use: async ({ origin, outbound, notes }) => {
            for (const note of notes) Notes.add(note);
            for (const session of group) {
              const context = lane.contextOf(session);
              const ran = await runSession({ session, context, origin, outbound });
              Sessions.push({ Lane: lane.name, Run, ...(await sessionReport(session, context, ran, judge)) });
              onSession(Sessions.at(-1));
            }
            for (const refused of outbound.refused) Notes.add(`${refused} was asked for and is not reached.`);
          },
        });
      }
    }
  }
  const totals = (name) => totalsOf(Sessions.filter(({ Lane }) => Lane === name).flatMap(({ Turns }) => Turns));
  const [, baseline] = lanes;
  return {
    Rehearsal: 1,
    Catalog: stampOf(lanes[0].catalog),
    Totals: totals(lanes[0].name),
    ...(baseline && { BaselineTotals: totals(baseline.name) }),
    Notes: [...Notes],
    Sessions,
  };
}

/** By what a deployment's traces name the catalog; the one that was served had other addresses. */
function stampOf(catalog) {
  const { Version } = JSON.parse(catalog);
  return { Sha256: createHash('sha256').update(catalog).digest('hex').slice(0, 16), ...(Version !== undefined && { Version }) };
}

async function sessionReport({ id, file, context: recordedContext, turns }, context, { exported, runs }, judge) {
  const Turns = [];
  for (const { id: turn, request, exported: recorded } of turns) {
    const rehearsed = exported?.Turns.find(({ TurnId }) => TurnId === turn);
    const report = turnReport(recorded, rehearsed, runs[turn]);
    const verdict = judge && (await judge.judged(request.Instruction ?? '', recorded, rehearsed));
    Turns.push({ ...report, ...verdict, Instruction: request.Instruction ?? '', Recorded: comparedTurn(recorded), Rehearsed: comparedTurn(rehearsed) });
  }
  // An `Instead` has led to another one.
  const ran = exported?.ConversationContextId ?? context;
  return { SessionId: id, File: file, ConversationContextId: ran, RecordedContextId: recordedContext, Turns };
}

/** Sessions whose MCP servers listed the same tools. One that was offered none is offered none of another's. */
function groupsOf(sessions) {
  const groups = [];
  for (const session of sessions) {
    const group = groups.find(([first]) => isDeepStrictEqual(first.servers, session.servers));
    if (group) group.push(session);
    else groups.push([session]);
  }
  return groups;
}
