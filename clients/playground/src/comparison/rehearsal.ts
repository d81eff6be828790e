// A rehearsal's report, the file of `make rehearse JSON=…`, as turns whose recorded and rehearsed runs can be compared. Pure.
import type { SessionExport } from '../../../typescript/src/index.js';
import type { ExportedTurn } from '../store/figures.js';
import { runOf, type Run } from './run.js';

export interface RehearsedTurn {
  /** Its session and its own id, and what came of it. */
  name: string;
  words: string;
  drifts: boolean;
  recorded: Run;
  /** Absent of a turn that was refused at once. */
  rehearsed?: Run;
}

interface Report {
  Rehearsal: number;
  Sessions: {
    SessionId: string;
    Lane: string;
    Run: number;
    Turns: { TurnId: string; Instruction: string; Drifts: boolean; Recorded: ExportedTurn; Rehearsed?: ExportedTurn }[];
  }[];
}

/** The turns of a report's text, those that drift first; throws where it is no such report. */
export function rehearsedTurns(text: string): RehearsedTurn[] {
  const report = JSON.parse(text) as Partial<Report> | null;
  if (report?.Rehearsal !== 1 || !Array.isArray(report.Sessions)) throw new Error('This file is no report of a rehearsal.');
  const turns = report.Sessions.flatMap(({ SessionId, Lane, Run: number, Turns }) =>
    Turns.map(({ TurnId, Instruction, Drifts, Recorded, Rehearsed }): RehearsedTurn => {
      const which = [`${SessionId} / ${TurnId}`, Lane === 'baseline' && 'baseline', number > 1 && `run ${number}`, Drifts && 'drifts'];
      const rehearsed = Rehearsed && ranAs(Rehearsed);
      return { name: which.filter(Boolean).join(', '), words: Instruction, drifts: Drifts, recorded: ranAs(Recorded), ...(rehearsed && { rehearsed }) };
    }),
  );
  if (turns.length === 0) throw new Error('This rehearsal has no turn.');
  return [...turns.filter(({ drifts }) => drifts), ...turns.filter(({ drifts }) => !drifts)];
}

/** The report has of a turn's export what a run is made of. */
const ranAs = (turn: ExportedTurn): Run => runOf({ Turns: [turn] } as unknown as SessionExport, turn.TurnId)!;
