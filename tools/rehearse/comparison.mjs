// What a rehearsed turn has in common with the recorded one, and what all of them have.
import { canonical } from './canonical.mjs';

/** The text of a turn: its answer, or what was said until it ended. */
export function textOf({ Submissions, TextSoFar, SaidWithCalls }) {
  return Submissions.at(-1)?.Outcome?.Result?.PrimaryOutputText ?? TextSoFar ?? SaidWithCalls ?? '';
}

/** The calls of a turn in their order, as they are compared. */
export const callsOf = ({ ToolCalls }) => ToolCalls.map(({ Name, ArgumentsJson }) => ({ Name, ArgumentsJson: canonical(ArgumentsJson) }));

/**
 * What became of a recorded turn. `rehearsed` is the turn in the export of the new session, `undefined` where it was refused at
 * once; `run` tells how it went (session_run.mjs).
 */
export function turnReport(recorded, rehearsed, run) {
  const [before, after] = [callsOf(recorded), rehearsed ? callsOf(rehearsed) : []];
  const written = (calls) => calls.map(({ Name, ArgumentsJson }) => `${Name} ${ArgumentsJson}`);
  const isFailed = run.error !== undefined && !(rehearsed?.Status === 'aborted' && recorded.Status === 'aborted');
  return {
    TurnId: recorded.TurnId,
    // It is cancelled where the record ends.
    Status: run.isOpen ? recorded.Status : (rehearsed?.Status ?? 'refused'),
    RecordedStatus: recorded.Status,
    ...(isFailed && { ErrorCode: run.error }),
    HasFailed: isFailed && recorded.Status !== 'failed',
    Drifts: written(before).join('\n') !== written(after).join('\n'),
    Missing: lacking(before, after),
    Added: lacking(after, before),
    WithoutRecord: run.unrecorded,
    EqualText: rehearsed !== undefined && textOf(rehearsed) === textOf(recorded),
    UnsentSteers: run.unsent,
    Took: tookOf(rehearsed),
    RecordedTook: tookOf(recorded),
  };
}

/** Of the first calls, those that the second lack, each counted once. */
function lacking(first, second) {
  const rest = second.map(({ Name, ArgumentsJson }) => `${Name} ${ArgumentsJson}`);
  return first.filter(({ Name, ArgumentsJson }) => {
    const at = rest.indexOf(`${Name} ${ArgumentsJson}`);
    if (at >= 0) rest.splice(at, 1);
    return at < 0;
  });
}

/** Tokens, and the milliseconds of the model calls: tools take no time here. */
const tookOf = ({ Usage, ModelCalls = [] } = {}) => ({
  Tokens: Usage?.TotalTokens ?? 0,
  ModelMs: ModelCalls.reduce((sum, { DurationMs }) => sum + DurationMs, 0),
});

/** The sums over the reports of turns. `Score` is the mean of those that there are. */
export function totalsOf(turns) {
  const count = (is) => turns.filter(is).length;
  const sum = (of) => turns.reduce((all, turn) => all + of(turn), 0);
  const scores = turns.flatMap(({ Score }) => (Score === undefined ? [] : [Score]));
  return {
    Turns: turns.length,
    Drifting: count(({ Drifts }) => Drifts),
    Drift: turns.length === 0 ? 0 : count(({ Drifts }) => Drifts) / turns.length,
    WithoutRecord: sum(({ WithoutRecord }) => WithoutRecord.length),
    EqualTexts: count(({ EqualText }) => EqualText),
    Failed: count(({ HasFailed }) => HasFailed),
    ...(scores.length > 0 && { Score: scores.reduce((all, score) => all + score, 0) / scores.length }),
    Tokens: sum(({ Took }) => Took.Tokens),
    RecordedTokens: sum(({ RecordedTook }) => RecordedTook.Tokens),
    ModelMs: sum(({ Took }) => Took.ModelMs),
    RecordedModelMs: sum(({ RecordedTook }) => RecordedTook.ModelMs),
  };
}
