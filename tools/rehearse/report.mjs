// The report of a rehearsal in its three forms: lines for people, JUnit for a build's page, JSON for programs and for the
// playground's comparison.

const percent = (share) => `${(100 * share).toFixed(1).replace(/\.0$/, '')} %`;
const seconds = (ms) => `${(ms / 1000).toFixed(1)} s`;
const number = (count) => count.toLocaleString('en');
const some = (count, one, more = `${one}s`) => `${number(count)} ${count === 1 ? one : more}`;

/** What became of one run of a session, told as soon as it has ended. */
export function sessionText({ File, SessionId, Lane, Run, Turns }) {
  const which = `${Lane === 'baseline' ? ', baseline' : ''}${Run > 1 ? `, run ${Run}` : ''}`;
  return [`session ${SessionId} (${File})${which}`, ...Turns.flatMap(linesOf)].join('\n');
}

/** The end of the report; `outcome` is what came of the bounds, in sentences. */
export function totalsText({ Totals, BaselineTotals, Notes }, outcome) {
  const baseline = BaselineTotals ? [`baseline: ${totalsLine(BaselineTotals)}`] : [];
  return [...Notes.map((note) => `note: ${note}`), `in all: ${totalsLine(Totals)}`, ...baseline, ...outcome].join('\n');
}

function linesOf(turn) {
  const { TurnId, Drifts, EqualText, Took, RecordedTook, Score, Reason, Missing, Added, WithoutRecord, UnsentSteers } = turn;
  const told = [
    Drifts ? 'drifts' : 'the same calls',
    EqualText ? 'the same text' : 'another text',
    ...(Score === undefined ? [] : [`score ${Score}${Reason ? ` (${Reason})` : ''}`]),
    `${number(Took.Tokens)} tokens for ${number(RecordedTook.Tokens)}`,
    `${seconds(Took.ModelMs)} for ${seconds(RecordedTook.ModelMs)}`,
  ];
  return [
    `  turn ${TurnId}: ${told.join(', ')}`,
    ...failureOf(turn),
    ...differencesOf({ Drifts, Missing, Added }).map((line) => `    ${line}`),
    ...WithoutRecord.map(({ Name, ArgumentsJson }) => `    without a record: ${Name} ${ArgumentsJson}`),
    ...(UnsentSteers > 0 ? [`    ${some(UnsentSteers, 'steer')} found no moment`] : []),
  ];
}

const failureOf = ({ ErrorCode, RecordedStatus }) => (ErrorCode ? [`    failed: ${ErrorCode}; recorded: ${RecordedStatus}`] : []);

function differencesOf({ Drifts, Missing, Added }) {
  if (Drifts && Missing.length + Added.length === 0) return ['the same calls in another order'];
  const lines = (sign, calls) => calls.map(({ Name, ArgumentsJson }) => `${sign} ${Name} ${ArgumentsJson}`);
  return [...lines('-', Missing), ...lines('+', Added)];
}

function totalsLine(totals) {
  const { Turns, Drifting, Drift, WithoutRecord, EqualTexts, Failed, Score, Tokens, RecordedTokens, ModelMs, RecordedModelMs } = totals;
  return [
    some(Turns, 'turn'),
    `${number(Drifting)} drift (${percent(Drift)})`,
    `${some(WithoutRecord, 'call')} without a record`,
    `${number(EqualTexts)} with the same text`,
    ...(Score === undefined ? [] : [`score ${Score.toFixed(3)}`]),
    ...(Failed > 0 ? [`${number(Failed)} failed that had not`] : []),
    `${number(Tokens)} tokens for ${number(RecordedTokens)}`,
    `${seconds(ModelMs)} for ${seconds(RecordedModelMs)}`,
  ].join(', ');
}

/** A suite for each run of a session, a case for each turn: one that drifts is a failure, one that failed an error. The baseline is left out. */
export function junitReport({ Sessions }) {
  const suites = Sessions.filter(({ Lane }) => Lane === 'rehearsed').map(({ SessionId, Run, Turns }) => {
    const cases = Turns.map((turn) => caseOf(SessionId, turn));
    const counted = `tests="${Turns.length}" failures="${Turns.filter(isFailure).length}" errors="${Turns.filter(({ HasFailed }) => HasFailed).length}"`;
    return `  <testsuite name="${escaped(SessionId)}${Run > 1 ? `, run ${Run}` : ''}" ${counted}>\n${cases.join('\n')}\n  </testsuite>`;
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="rehearsal">\n${suites.join('\n')}\n</testsuites>\n`;
}

const isFailure = ({ Drifts, HasFailed }) => Drifts && !HasFailed;

function caseOf(session, turn) {
  const time = (turn.Took.ModelMs / 1000).toFixed(3);
  const inside = turn.HasFailed
    ? `<error message="${escaped(turn.ErrorCode)}"/>`
    : isFailure(turn) ? `<failure message="drifts">${escaped(differencesOf(turn).join('\n'))}</failure>` : '';
  return `    <testcase classname="${escaped(session)}" name="${escaped(turn.TurnId)}" time="${time}">${inside}</testcase>`;
}

/** Characters that XML 1.0 has not in any form are left out. */
const escaped = (text) =>
  text.replace(/[^\t\n\r\u0020-\ud7ff\ue000-\ufffd]/g, '').replace(/[<>&"\n\r\t]/g, (each) => `&#${each.charCodeAt(0)};`);

/** What the playground's comparison reads of a turn of an export, without the conversation. */
export function comparedTurn(turn) {
  if (!turn) return undefined;
  const { TurnId, Status, StartedAt, UpdatedAt, TextSoFar, SaidWithCalls, Usage, Submissions, ModelCalls, ToolCalls } = turn;
  return {
    TurnId,
    Status,
    StartedAt,
    UpdatedAt,
    TextSoFar,
    SaidWithCalls,
    Usage,
    Submissions: Submissions.slice(-1).map(({ Outcome }) => ({ Outcome })),
    ModelCalls: ModelCalls.map(({ DurationMs }) => ({ DurationMs })),
    ToolCalls,
  };
}
