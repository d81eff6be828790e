// What turns took, counted from what the service keeps of them. Pure.
import type { SessionExport } from '../../../typescript/src/index.js';

export type ExportedTurn = SessionExport['Turns'][number];

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

/** A model call has more than the export's schema promises. */
interface ModelCall {
  DurationMs?: number;
}

/** What is counted of a turn, as its export has it, or its trace with the turn itself. */
type Counted = Pick<ExportedTurn, 'Usage' | 'ModelCalls' | 'StartedAt' | 'UpdatedAt'> & { ToolCalls: readonly unknown[] };

export function figuresOf({ Usage, ModelCalls, ToolCalls, StartedAt, UpdatedAt }: Counted): Figures {
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

export const sumOf = (all: readonly Figures[]): Figures => {
  const sum = { tokensIn: 0, cached: 0, tokensOut: 0, reasoning: 0, modelCalls: 0, toolCalls: 0, modelMs: 0, ms: 0 };
  for (const each of all) for (const name of Object.keys(sum) as (keyof Figures)[]) sum[name] += each[name];
  return sum;
};

/** What a number counts, in the plural, as it is called beside that number. */
export const namedFor = (number: number, plural: string): string => (number === 1 ? plural.replace(/s$/, '') : plural);

/** How much more or less the second is: `+12`, `−3`, or nothing where they are the same. */
export function differenceOf(first: number, second: number, shown: (value: number) => string): string {
  if (first === second) return '';
  return `${second > first ? '+' : '−'}${shown(Math.abs(second - first))}`;
}
