// What a run of a turn was, as figures and calls, from its session's export. Pure.
import type { SessionExport } from '../../../typescript/src/index.js';
import { figuresOf, type ExportedTurn, type Figures } from '../store/figures.js';
import { argumentsOf } from '../store/history.js';

export interface CalledTool {
  name: string;
  argumentsJson: string;
  /** `unanswered`: nobody has run it. */
  outcome: 'done' | 'failed' | 'unanswered';
  /** The result as it is written, or the error's message. */
  result: string;
  ms: number;
}

export interface Run {
  status: ExportedTurn['Status'];
  /** The answer, or what was said until the turn ended. */
  text: string;
  failure: string;
  mode: string;
  tools: readonly CalledTool[];
  figures: Figures;
}

interface Outcome {
  Result?: { PrimaryOutputText?: string; ModeDisplayName?: string };
  Errors?: { Message: string }[];
}

export function runOf({ Turns }: SessionExport, turnId: string): Run | undefined {
  const turn = Turns.find(({ TurnId }) => TurnId === turnId);
  if (!turn) return undefined;
  const { Status: status, Submissions, TextSoFar = '', SaidWithCalls = '' } = turn;
  const { Result, Errors = [] } = (Submissions.at(-1)?.Outcome ?? {}) as Outcome;
  return {
    status,
    text: Result?.PrimaryOutputText ?? (TextSoFar || SaidWithCalls),
    failure: Errors.map(({ Message }) => Message).join(' '),
    mode: Result?.ModeDisplayName ?? '',
    tools: turn.ToolCalls.map(calledTool),
    figures: figuresOf(turn),
  };
}

function calledTool(call: ExportedTurn['ToolCalls'][number]): CalledTool {
  const { Name: name, Answer } = call;
  const called = { name, argumentsJson: argumentsOf(call) };
  if (!Answer) return { ...called, outcome: 'unanswered', result: '', ms: 0 };
  const { ErrorMessage, ResultJson, ExecutionMs: ms } = Answer;
  if (ErrorMessage != null) return { ...called, outcome: 'failed', result: ErrorMessage, ms };
  return { ...called, outcome: 'done', result: ResultJson ?? 'null', ms };
}

const isSame = (one: CalledTool, other: CalledTool): boolean =>
  one.name === other.name && one.argumentsJson === other.argumentsJson && one.outcome === other.outcome && one.result === other.result;

/** Of the first run's calls, those that the second has not made alike, each call counted once. */
export function callsMissingIn(second: readonly CalledTool[], first: readonly CalledTool[]): Set<CalledTool> {
  const rest = [...second];
  return new Set(
    first.filter((call) => {
      const at = rest.findIndex((other) => isSame(call, other));
      if (at >= 0) rest.splice(at, 1);
      return at < 0;
    }),
  );
}
