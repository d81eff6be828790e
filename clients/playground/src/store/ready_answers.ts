// Which calls this page answers by itself, and with what. Any other one waits for the user.
import type { SubmittedToolResult, ToolCall } from '../../../typescript/src/index.js';
import { READY } from './ready_tools.js';
import { answersByHand } from './settings.js';
import { APPROVAL } from './turn_record.js';

/** The answer of a ready tool to a call; `undefined` leaves the call to the user. */
export function readyAnswer({ ToolCallId, Name, ArgumentsJson }: ToolCall): SubmittedToolResult | undefined {
  if (answersByHand.peek() || Name === APPROVAL) return undefined;
  const began = performance.now();
  const ResultJson = resultOf(Name, ArgumentsJson);
  return ResultJson === undefined ? undefined : { ToolCallId, ExecutionMs: Math.round(performance.now() - began), ResultJson };
}

function resultOf(name: string, argumentsJson: string): string | undefined {
  const tool = READY.find((each) => each.name === name);
  try {
    const args: unknown = JSON.parse(argumentsJson);
    return tool && typeof args === 'object' && args !== null ? tool.run(args as Record<string, unknown>, argumentsJson) : undefined;
  } catch {
    return undefined;
  }
}
