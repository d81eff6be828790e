// `trace`: what a turn did, as a tree of model calls and the tool calls that each made.
import type { Aptix, Trace, Usage } from "../index.js";
import { placesOf } from "./model_calls.js";
import { EXIT, type Terminal, shown, tell } from "./terminal.js";
import { turnOf } from "./views.js";

/** What the service says of a model call, beside its beginning. */
interface ModelCall {
  DurationMs?: number | null;
  Mode: string;
  Usage?: Usage | null;
  Retries: unknown[];
  Fault?: { ErrorCode: string } | null;
  /** It wrote a summary of earlier turns. */
  Summary?: boolean;
  /** It was dropped for words that were added. */
  Interrupted?: boolean;
  /** The whole conversation was sent. */
  Rebuilt?: boolean;
  /** How far the conversation is reduced. */
  Reduced?: string;
  /** The agent context whose model service was called, where others can take over. */
  Service?: string;
}
interface Node {
  text: string;
  below: Node[];
}

export async function trace(aptix: Aptix, sessionId: string, turnId: string | undefined, terminal: Terminal): Promise<number> {
  const found = await aptix.session(sessionId).trace(await turnOf(aptix, sessionId, turnId));
  tell(terminal, found, drawn(treeOf(found)));
  return EXIT.done;
}

function treeOf(trace: Trace): Node {
  const calls = trace.ModelCalls as unknown as ModelCall[];
  const places = placesOf(calls);
  const isLive = trace.Status === "running" || trace.Status === "awaiting_tools";
  const below = calls.map(({ DurationMs, Mode, Usage, Retries, Fault, Summary, Rebuilt, Reduced, Service }, at): Node => ({
    text: words(
      `model call ${at + 1}`,
      Mode,
      Service && `at ${Service}`,
      Summary && "a summary",
      Rebuilt && "the whole conversation",
      Reduced && `reduced: ${Reduced}`,
      ms(DurationMs),
      used(Usage),
      Retries?.length > 0 && `${Retries.length} retries`,
      Fault?.ErrorCode,
    ),
    below: trace.ToolCalls.filter(({ ModelCall }) => places[ModelCall] === at).map((call) => toolCall(call, isLive)),
  }));
  const named = (name: string, nodes: string[]): Node[] => nodes.map((text) => ({ text: words(name, text), below: [] }));
  below.push(
    ...named("steer", (trace.Steers ?? []).map(({ SteerId, State }) => words(SteerId, State))),
    ...named("context", trace.ContextChanged ? [`${trace.ContextChanged.From} → ${trace.ContextChanged.To}`] : []),
    ...named("mode", trace.ModeChanges.map(({ PreviousMode, NewMode }) => `${PreviousMode} → ${NewMode}`)),
    ...named("compaction", trace.Compactions.map(({ Reason, ItemsBefore, ItemsAfter }) => words(Reason, `${ItemsBefore} → ${ItemsAfter} items`))),
    ...named("webhook", (trace.Webhooks ?? []).map((webhook) => words(...Object.values(webhook).filter((value) => typeof value === "string").slice(0, 3)))),
  );
  const running = trace.Running && `at ${trace.Running.Kind} since ${trace.Running.Since}`;
  const attempts = trace.Attempts > 1 ? `${trace.Attempts} attempts` : undefined;
  const catalogs = trace.Submissions.flatMap(({ Catalog }) => (Catalog ? [Catalog.Version ?? Catalog.Sha256] : []));
  const catalog = catalogs.length > 0 && `catalog ${[...new Set(catalogs)].join(", ")}`;
  return { text: words(`turn ${trace.TurnId}`, trace.Status, attempts, catalog, running), below };
}

function toolCall({ Name, RunsOn, ExecutionMs, Successful, ResultBytes, Approval, Mcp }: Trace["ToolCalls"][number], isLive: boolean): Node {
  // A tool that fails its turn leaves its call open.
  const end = Successful === undefined ? (isLive ? "waits" : "no result") : Successful ? "succeeded" : "failed";
  const asked = Approval && words(Approval.Decision ?? "waits for approval", Approval.DecidedBy && `by ${Approval.DecidedBy}`, Approval.Edited ? "edited" : undefined, ms(Approval.WaitedMs));
  const place = Mcp ? `MCP ${Mcp.Server}` : RunsOn;
  return {
    text: words(`tool ${Name}`, place, end, ms(ExecutionMs), ResultBytes === undefined ? undefined : `${ResultBytes} bytes`),
    below: asked ? [{ text: `approval · ${asked}`, below: [] }] : [],
  };
}

const words = (...texts: (string | false | undefined)[]) => shown(texts.filter(Boolean).join(" · "));
const ms = (count: number | null | undefined) => (count === undefined || count === null ? undefined : count < 1000 ? `${count} ms` : `${(count / 1000).toFixed(1)} s`);
const used = (usage: Usage | null | undefined) => {
  if (!usage) return undefined;
  const { PromptTokens, CachedTokens, CompletionTokens } = usage;
  return `${PromptTokens} tokens in${CachedTokens ? ` (${CachedTokens} cached)` : ""}, ${CompletionTokens} out`;
};

function drawn({ text, below }: Node, indent = ""): string {
  const rest = below.map((node, at) => {
    const isLast = at === below.length - 1;
    return `${indent}${isLast ? "└─ " : "├─ "}${drawn(node, indent + (isLast ? "   " : "│  "))}`;
  });
  return [text, ...rest].join("\n");
}
