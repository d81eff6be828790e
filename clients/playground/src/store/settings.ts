// What goes with every turn besides the words: contexts, workspace, scope, tools. Owns what of it a browser keeps for a
// session, and which of what was kept is still right.
import { batch, computed, signal } from '@preact/signals';
import type { RagScope } from '../../../typescript/src/index.js';
import { READY, type Declared } from './ready_tools.js';

export interface Condition {
  key: string;
  operator: RagScope['Conditions'][number]['Operator'];
  /** One value in each line. */
  values: string;
}

export const agentContext = signal('');
export const conversationContext = signal('');
export const solution = signal('');
/** The solution context as the session has it; a turn sends it when it has changed. */
export const sentSolution = signal<string | undefined>('');
export const workspace = signal('');
export const conditions = signal<readonly Condition[]>([]);
/** `page`: the tools below; `context`: those that the session was last given, in a new one those that the conversation context declares. */
export const toolsFrom = signal<'page' | 'context'>('page');
export const offered = signal<ReadonlySet<string>>(new Set(READY.map(({ name }) => name)));
/** Calls of ready tools wait for the user, too. */
export const answersByHand = signal(false);
/** Further tools, as a JSON array of function tools. */
export const furtherTools = signal('');

export const furtherToolsFault = computed(() => {
  try {
    const tools = further();
    const isTool = (tool: unknown) => typeof (tool as Declared)?.name === 'string';
    return Array.isArray(tools) && tools.every(isTool) ? undefined : 'An array of objects with a name is needed.';
  } catch (error) {
    return (error as Error).message;
  }
});

const further = (): unknown => (furtherTools.value.trim() === '' ? [] : JSON.parse(furtherTools.value));

/** The `ToolsJson` of a turn; `undefined` leaves the session's own. */
export function toolsJson(): string | undefined {
  if (toolsFrom.value === 'context') return undefined;
  const ready = READY.filter(({ name }) => offered.value.has(name));
  const declared = ready.map(({ name, description, parameters }) => ({ type: 'function', name, description, parameters }));
  // As the user has written them: what is parsed and written again may have other numbers.
  const furtherJson = furtherToolsFault.value ? '' : furtherTools.value.trim().slice(1, -1).trim();
  return `[${[...declared.map((tool) => JSON.stringify(tool)), ...(furtherJson ? [furtherJson] : [])].join(',')}]`;
}

export function ragScope(): RagScope | undefined {
  const Conditions = conditions.value.flatMap(({ key, operator, values }) => {
    const Values = values.split('\n').map((value) => value.trim()).filter(Boolean);
    return key.trim() && Values.length > 0 ? [{ Key: key.trim(), Operator: operator, Values }] : [];
  });
  return Conditions.length > 0 ? { Conditions } : undefined;
}

/** What is set, at its defaults. `withheld`: the ready tools that are not offered. `solution`: one that is not sent yet. */
const DEFAULTS = {
  agentContext: '',
  conversationContext: '',
  workspace: '',
  conditions: [] as readonly Condition[],
  toolsFrom: 'page' as 'page' | 'context',
  answersByHand: false,
  furtherTools: '',
  withheld: [] as readonly string[],
  solution: '',
};
export type Settings = typeof DEFAULTS;

/** What is set otherwise than by default. What was sent of a solution context is the session's, and no part of it. */
export function changedSettings(): Partial<Settings> {
  const now: Settings = {
    agentContext: agentContext.value,
    conversationContext: conversationContext.value,
    workspace: workspace.value,
    conditions: conditions.value,
    toolsFrom: toolsFrom.value,
    answersByHand: answersByHand.value,
    furtherTools: furtherTools.value,
    withheld: READY.map(({ name }) => name).filter((name) => !offered.value.has(name)),
    solution: solution.value === sentSolution.value ? '' : solution.value,
  };
  const isChanged = ([name, value]: [string, unknown]) => JSON.stringify(value) !== JSON.stringify(DEFAULTS[name as keyof Settings]);
  return Object.fromEntries(Object.entries(now).filter(isChanged));
}

/** Sets what was kept, and all else to its default. */
export function setAgain(kept: Partial<Settings>): void {
  const { withheld, ...set } = { ...DEFAULTS, ...kept };
  batch(() => {
    agentContext.value = set.agentContext;
    conversationContext.value = set.conversationContext;
    workspace.value = set.workspace;
    conditions.value = set.conditions;
    toolsFrom.value = set.toolsFrom;
    answersByHand.value = set.answersByHand;
    furtherTools.value = set.furtherTools;
    offered.value = new Set(READY.map(({ name }) => name).filter((name) => !withheld.includes(name)));
    solution.value = set.solution;
  });
}

/** Of what storage held under these names, the members that are settings. */
export function settingsIn(held: unknown): Partial<Settings> {
  const isRight = ([name, value]: [string, unknown]) => {
    const like = DEFAULTS[name as keyof Settings];
    if (name === 'conditions') return Array.isArray(value) && value.every((each) => ['key', 'operator', 'values'].every((member) => typeof each?.[member] === 'string'));
    return Array.isArray(like) ? Array.isArray(value) : typeof value === typeof like;
  };
  return Object.fromEntries(Object.entries(held ?? {}).filter(isRight));
}

/** The session has this solution context. One that was typed and not sent yet stays. */
export function sessionHasSolution(text: string): void {
  const isUnsent = solution.peek() !== sentSolution.peek();
  batch(() => {
    sentSolution.value = text;
    if (!isUnsent) solution.value = text;
  });
}
