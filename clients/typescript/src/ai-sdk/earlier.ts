// What a message shows of its turn before the submission that is replayed, as chunks: a replay begins with an empty
// message, and the service tells of the newest submission only.
import type { Chunk } from "./chunk.js";
import { type ChatMessage, isAsked } from "./messages.js";

/**
 * The parts up to the last pause that has been answered, and behind it the steps of reasoning and of the service's tools, which
 * are told once; text comes with the replay, and so do calls that still wait (`pending`).
 */
export function earlierParts({ parts }: ChatMessage, pending: readonly string[]): readonly any[] {
  const isAnswered = (part: any) => isAsked(part) && !pending.includes(part.approval?.id ?? part.toolCallId);
  const last = parts.findLastIndex(isAnswered);
  const next = parts.findIndex(({ type }, at) => at > last && type === "step-start");
  const since = next < 0 ? [] : parts.slice(next);
  const steps: any[][] = [];
  for (const part of since) {
    if (part.type === "step-start") steps.push([]);
    steps.at(-1)!.push(part);
  }
  const isToldOnce = (part: any) => part.type !== "text" && part.type !== "file" && !isAsked(part);
  const before = last < 0 ? [] : parts.slice(0, parts.length - since.length);
  return [...before, ...steps.filter((step) => step.length > 1 && step.every(isToldOnce)).flat()];
}

export function* earlierChunks(parts: readonly any[]): Generator<Chunk> {
  for (const [at, part] of parts.entries()) {
    const { type, state, toolCallId } = part;
    const id = `earlier-${at}`;
    if (type === "step-start") {
      if (at > 0) yield { type: "finish-step" };
      yield { type: "start-step" };
    } else if (type === "text" || type === "reasoning") {
      const kind: "text" | "reasoning" = type;
      yield { type: `${kind}-start`, id };
      yield { type: `${kind}-delta`, id, delta: part.text };
      yield { type: `${kind}-end`, id };
    } else if (type === "file") yield { type, url: part.url, mediaType: part.mediaType };
    else if (type === "dynamic-tool") {
      // As if somebody else had run it: the page is not to run it again.
      const of = { toolCallId, dynamic: true, providerExecuted: true } as const;
      const written = <T>(providerMetadata: T | undefined) => providerMetadata && { providerMetadata };
      yield { type: "tool-input-available", ...of, toolName: part.toolName, input: part.input, ...written(part.callProviderMetadata) };
      if (state === "output-available") yield { type: "tool-output-available", ...of, output: part.output, ...written(part.resultProviderMetadata) };
      else if (state === "output-error") yield { type: "tool-output-error", ...of, errorText: part.errorText };
      else if (state === "output-denied") yield { type: "tool-output-denied", toolCallId };
    }
  }
  if (parts.length > 0) yield { type: "finish-step" };
}
