// What a run of a turn was, as figures and calls, from its session's export. Pure.
import type { SessionExport } from '../../../typescript/src/index.js';
import { argumentsOf } from '../store/history.js';

type ExportedTurn = SessionExport['Turns'][number];

export interface CalledTool {
  name: string;
  argumentsJson: string;
  /** `unanswered`: nobody has run it. */
  outcome: 'done' | 'failed' | 'unanswered';
  /** The result as it is written, or the error's message. */
  result: string;
  ms: number;
}

/** What is counted; times in ms. */
export interface Figures {
  tokensIn: number;
  cached: number;
  tokensOut: number;
  reasoning: number;
  modelCalls: number;
  toolCalls: number;
  modelMs: number;
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

/** The export's calls have more than their schema promises. */
interface ModelCall {
  DurationMs?: number;
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

export function figuresOf({ Usage, ModelCalls, ToolCalls, StartedAt, UpdatedAt }: ExportedTurn): Figures {
  return {
    tokensIn: Usage?.PromptTokens ?? 0,
    cached: Usage?.CachedTokens ?? 0,
    tokensOut: Usage?.CompletionTokens ?? 0,
    reasoning: Usage?.ReasoningTokens ?? 0,
    modelCalls: ModelCalls.length,
    toolCalls: ToolCalls.length,
    modelMs: ModelCalls.reduce((sum, call) => sum + ((call as ModelCall).DurationMs ?? 0), 0),
    ms: Math.max(0, Date.parse(UpdatedAt) - Date.parse(StartedAt)),
  };
}

/** The sum of the figures of several turns. */
export const sumOf = (all: readonly Figures[]): Figures =>
  all.reduce(
    (sum, each) => Object.fromEntries(Object.entries(sum).map(([name, value]) => [name, value + each[name as keyof Figures]])) as unknown as Figures,
    { tokensIn: 0, cached: 0, tokensOut: 0, reasoning: 0, modelCalls: 0, toolCalls: 0, modelMs: 0, ms: 0 },
  );

/** How much more or less the second is: `+12`, `−3`, or nothing where they are the same. */
export function differenceOf(first: number, second: number, shown: (value: number) => string): string {
  if (first === second) return '';
  return `${second > first ? '+' : '−'}${shown(Math.abs(second - first))}`;
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
