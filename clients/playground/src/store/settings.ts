// What goes with every turn besides the words: contexts, workspace, scope, tools. In memory only.
import { computed, signal } from '@preact/signals';
import type { RagScope, TurnRequest } from '../../../typescript/src/index.js';
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
export const workspace = signal('');
export const conditions = signal<readonly Condition[]>([]);
/** `page`: the tools below; `context`: those that the conversation context declares. */
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

/** What goes with a turn of any session; the contexts go with a session's first one. */
export function ofTurn(): TurnRequest {
  const [scope, tools] = [ragScope(), toolsJson()];
  return {
    ...(solution.value && { SolutionContextText: solution.value }),
    ...(workspace.value && { WorkspaceId: workspace.value }),
    ...(scope && { RagScope: scope }),
    ...(tools !== undefined && { ToolsJson: tools }),
  };
}

export function ragScope(): RagScope | undefined {
  const Conditions = conditions.value.flatMap(({ key, operator, values }) => {
    const Values = values.split('\n').map((value) => value.trim()).filter(Boolean);
    return key.trim() && Values.length > 0 ? [{ Key: key.trim(), Operator: operator, Values }] : [];
  });
  return Conditions.length > 0 ? { Conditions } : undefined;
}
