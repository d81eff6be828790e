// The arguments of the service's own calls, which no stream tells.
import { argumentsOf } from './history.js';
import { aptix } from './service.js';
import type { ShownTurn } from './shown_turn.js';
import type { Step } from './turn_record.js';

/** Fetches the arguments of a turn's server calls, which only the session's export tells. */
export async function fetchArguments(turn: ShownTurn): Promise<void> {
  const { turnId } = turn.record.peek();
  const { Turns } = await aptix.session(turn.session).export();
  const calls = Turns.find(({ TurnId }) => TurnId === turnId)?.ToolCalls ?? [];
  const known = new Map(calls.map((call) => [call.ToolCallId, call]));
  const withArguments = (step: Step): Step => {
    const call = step.kind === 'server_tool' ? known.get(step.id) : undefined;
    if (step.kind !== 'server_tool' || !call) return step;
    return { ...step, argumentsJson: argumentsOf(call), ...(call.Answer && { result: call.Answer }) };
  };
  turn.change((record) => ({ ...record, steps: record.steps.map(withArguments) }));
}
