// The tools of the client, and the questions whether a tool of the service may run. Owns that each call is run once, and
// that a decision changes no argument but those that it names.
import type { AptixError } from "./errors.js";
import { isSameJson, membersOf } from "./json_text.js";
import { abortable, unlessAborted } from "./signals.js";
import type { SubmittedToolResult, ToolCall } from "./types.js";

/** What a tool, or a question, knows of its call. */
export interface ToolContext {
  toolCallId: string;
  /**
   * The arguments as the model wrote them. Parsed, they may be others: JavaScript holds numbers as doubles, so
   * `12345678901234567890` is read as `12345678901234567000`.
   */
  argumentsJson: string;
  /** Aborted when the turn is no longer watched, or the tool took too long. */
  signal: AbortSignal;
}

/** A function that the model may call and the client runs. */
export interface Tool<Arguments = unknown> {
  name: string;
  description?: string;
  /** JSON Schema of the arguments. */
  parameters?: object;
  strict?: boolean;
  /** In ms; without it a tool may take any time. */
  timeoutMs?: number;
  /** A run that a reload has cut off may be run again. Else the model is told that it was interrupted. */
  repeatable?: boolean;
  /**
   * What it returns is the result, as JSON. What it throws is told to the model and ends nothing. The arguments are the
   * model's: they may break the schema. Numbers that a double cannot hold are whole in `argumentsJson` alone.
   */
  run(args: Arguments, context: ToolContext): unknown;
}

/** A call of one of the service's tools that needs consent. */
export interface ApprovalRequest {
  ToolCallId: string;
  Name: string;
  /** The arguments with which the call runs, as they are written. This is what to show, by `formatJson`. */
  ArgumentsJson: string;
  /** `ArgumentsJson` as JavaScript reads it: numbers are doubles. */
  Arguments: unknown;
  Message?: string;
  /** Whether the decision may bring other arguments. */
  AllowEdit: boolean;
  /** Where the service did not take the decision before: why. */
  Refusal?: string;
}
/**
 * `true` and `false` are short for `{Approved}`. Other arguments come as an object, or as `ArgumentsJson`, a text that is
 * sent as it is; those that are the call's own are not sent.
 */
export type Decision = boolean | { Approved: boolean; Reason?: string; Arguments?: object; ArgumentsJson?: string };

/**
 * What outlives a reload, such as an extension's `workspaceState`. Each turn has one entry, which is removed when who
 * watches it has seen it complete or cancelled. That of a failed turn stays: sent again, it goes on with these results.
 */
export interface Store {
  get<T>(key: string): T | undefined | PromiseLike<T | undefined>;
  update(key: string, value: unknown): void | PromiseLike<void>;
}

/** A store that lives as long as the process. */
export function memoryStore(): Store {
  const entries = new Map<string, unknown>();
  return {
    get: <T>(key: string) => entries.get(key) as T | undefined,
    update: (key, value) => void (value === undefined ? entries.delete(key) : entries.set(key, value)),
  };
}

/** Who answers the calls of a turn. With neither, the turn is left waiting. */
export interface ToolOptions {
  /** What the model may call and the client runs. */
  tools?: Tool[];
  /** Decides about calls of the service's tools that need consent; with `tools` alone they are refused. */
  onApproval?(request: ApprovalRequest, context: ToolContext): Decision | PromiseLike<Decision>;
}

/** Of each call its result, or `null` while it runs. */
type Records = Record<string, SubmittedToolResult | null | undefined>;

/** The service's own name for the question whether a call may run (interface §12). */
export const APPROVAL = "agent_approve_tool";
/** Longer results would not pass: a request has a greatest length. One has so many characters, all of a pause so many bytes. */
const LONGEST_RESULT = 4_000_000;
const LONGEST_RESULTS = 8_000_000;
const LONGEST_MESSAGE = 100_000;

/** What was thrown, in words: what a tool throws may have none, or throw itself when it is asked for some. */
export const said = (thrown: unknown): string => {
  try {
    return String((thrown as Error)?.message || thrown || "failed");
  } catch {
    return "failed";
  }
};

/** An `ErrorMessage`. A half of a character is none that a request can have: a text that was cut may end in one. */
export const worded = (message: string) => message.slice(0, LONGEST_MESSAGE).replace(/\p{Surrogate}/gu, "\ufffd");

const failed = ({ ToolCallId }: Pick<ToolCall, "ToolCallId">, message: string, ExecutionMs = 0) => ({ ToolCallId, ErrorMessage: worded(message), ExecutionMs });

/** The results of a pause; an error stands in the place of one for which those before it leave no room in a request. */
export function fitting(results: SubmittedToolResult[]): SubmittedToolResult[] {
  let room = LONGEST_RESULTS;
  return results.map((result) => {
    const bytes = new TextEncoder().encode(JSON.stringify(result)).length;
    if (bytes > room) return failed(result, `The results are too long: with those before it, this one has ${LONGEST_RESULTS - room + bytes} bytes.`, result.ExecutionMs);
    room -= bytes;
    return result;
  });
}

/** The tools as `ToolsJson` has them. */
export const toolsJson = (tools: Omit<Tool, "run">[]) =>
  JSON.stringify(
    tools.map(({ name, description, parameters, strict }) => ({ type: "function", name, description, parameters, strict })),
  );

/** Who watches a turn, and whether one of them has seen its end: who comes later leaves a turn that has ended. */
interface Watch {
  readonly runners: Set<ToolRunner>;
  hasEnded: boolean;
}

/** What all turns of a client share: two that watch the same one share its runs, and their results. */
export class Runs {
  /** By the keys of turn and call. */
  readonly running = new Map<string, Promise<SubmittedToolResult>>();
  /** By the turn's key. */
  readonly watching = new Map<string, Watch>();
}

/** Answers the calls of one turn. */
export class ToolRunner {
  /** `key` is the turn's in the store. */
  constructor(
    private readonly options: ToolOptions,
    private readonly store: Store,
    private readonly runs: Runs,
    private readonly key: string,
  ) {}

  /** Of questions the decision that the service did not take, and why. */
  readonly #refused = new Map<string, [why: string | undefined, sent: SubmittedToolResult["ResultJson"]]>();

  /** Whether there is anybody to answer. */
  get answers(): boolean {
    return !!(this.options.tools || this.options.onApproval);
  }

  /** The results of these calls, in their order, one after the other. Rejects when the signal is aborted, and with what the store throws. */
  async results(calls: ToolCall[], signal?: AbortSignal): Promise<SubmittedToolResult[]> {
    const results: SubmittedToolResult[] = [];
    for (const call of calls) results.push(await this.#once(call, signal));
    return fitting(results);
  }

  /** Forgets the decision that the service has refused. Whether to ask again: the same one twice is the program's own fault. */
  async refused(calls: ToolCall[], results: SubmittedToolResult[], error: unknown): Promise<boolean> {
    const { path, message: why } = error as AptixError;
    const at = path?.split("/")[2] as unknown as number;
    if (calls[at]?.Name !== APPROVAL) return false;
    const { ToolCallId: id, ResultJson: sent } = results[at]!;
    const before = this.#refused.get(id)?.[1];
    this.#refused.set(id, [why, sent]);
    const { [id]: kept, ...others } = await this.#records();
    // Where another watcher has asked again meanwhile, the record is of that.
    if (kept?.ResultJson === sent) await this.store.update(this.key, others);
    return sent !== before;
  }

  /** From now on this one may come to calls of the turn, however late: their results are kept until it has `left`. */
  watches(): void {
    const watch = this.runs.watching.get(this.key) ?? { runners: new Set(), hasEnded: false };
    watch.runners.add(this);
    this.runs.watching.set(this.key, watch);
  }

  /** The turn has ended: nothing of it will be asked for again, save by those who watch it now. */
  async ended(): Promise<void> {
    const watch = this.runs.watching.get(this.key);
    // Whoever has left it before, with the signal that ended it, has left what is kept.
    if (!watch) return this.forget();
    watch.hasEnded = true;
    await this.left();
  }

  /** Asks for nothing more. The last one forgets a turn that has ended. */
  async left(): Promise<void> {
    const watch = this.runs.watching.get(this.key);
    if (!watch?.runners.delete(this) || watch.runners.size > 0) return;
    this.runs.watching.delete(this.key);
    if (watch.hasEnded) await this.forget();
  }

  /** Removes what is kept. However the store fails at the end of a turn, that has ended as it has. */
  async forget(): Promise<void> {
    try {
      if (await this.store.get(this.key)) await this.store.update(this.key, undefined);
    } catch {
      // What stays is of a turn that nobody runs tools for any more.
    }
  }

  async #records(): Promise<Records> {
    return { ...(await this.store.get<Records>(this.key)) };
  }

  async #once(call: ToolCall, signal?: AbortSignal): Promise<SubmittedToolResult> {
    const id = `${this.key} ${call.ToolCallId}`;
    for (;;) {
      const others = this.runs.running.get(id);
      const run = others ?? this.#recorded(call, signal).finally(() => this.runs.running.delete(id));
      if (!others) this.runs.running.set(id, run);
      try {
        return await (others ? unlessAborted(run, signal) : run);
      } catch (error) {
        // Another watcher's run was given up; its record says so. What fails with one's own, such as a full store, ends it.
        if (!others || signal?.aborted) throw error;
      }
    }
  }

  async #recorded(call: ToolCall, signal?: AbortSignal): Promise<SubmittedToolResult> {
    const tool = this.options.tools?.find(({ name }) => name === call.Name);
    const record = async (result: SubmittedToolResult | null | undefined) =>
      this.store.update(this.key, { ...(await this.#records()), [call.ToolCallId]: result });
    // Of its own members: the model service chooses the id, which may be a name that every object has.
    const known = new Map(Object.entries(await this.#records())).get(call.ToolCallId);
    if (known) return known;
    if (known === null && call.Name !== APPROVAL && !tool?.repeatable) {
      return failed(call, "The call was interrupted and is not run again: whether it took effect is not known.");
    }
    await record(null);
    // Whoever has left meanwhile has it run neither now nor, later, taken for one that was cut off.
    if (signal?.aborted) await record(undefined);
    signal?.throwIfAborted();
    const result = await this.#result(call, tool, signal);
    await record(result);
    return result;
  }

  async #result(call: ToolCall, tool: Tool | undefined, signal?: AbortSignal): Promise<SubmittedToolResult> {
    const began = Date.now();
    const ended = () => Math.max(0, Date.now() - began);
    try {
      const ResultJson = await inTime(tool?.timeoutMs, signal, async (aborted) => {
        const context = { ...aborted, toolCallId: call.ToolCallId, argumentsJson: call.ArgumentsJson };
        if (call.Name === APPROVAL) return this.#decision(context);
        if (!tool) throw new Error(`This client has no tool ${call.Name}.`);
        return JSON.stringify((await tool.run(JSON.parse(call.ArgumentsJson), context)) ?? null) ?? "null";
      });
      if (ResultJson.length > LONGEST_RESULT) throw new Error(`The result is too long: ${ResultJson.length} characters.`);
      return { ToolCallId: call.ToolCallId, ExecutionMs: ended(), ResultJson };
    } catch (error) {
      if (signal?.aborted) throw signal.reason;
      return failed(call, said(error), ended());
    }
  }

  /** The answer to a question, whose arguments are those of the question's own tool. */
  async #decision(context: ToolContext): Promise<string> {
    const { onApproval } = this.options;
    if (!onApproval) throw new Error("Nobody here can be asked for consent.");
    const asked = membersOf(context.argumentsJson);
    const argumentsJson = asked.get("Arguments") ?? "null";
    const Refusal = this.#refused.get(context.toolCallId)?.[0];
    const request: ApprovalRequest = { ...JSON.parse(context.argumentsJson), ArgumentsJson: argumentsJson, Refusal };
    // Not of the request itself, whose arguments may be changed in place.
    const before = JSON.stringify(JSON.parse(argumentsJson));
    const decision = await onApproval(request, { ...context, argumentsJson });
    const { Arguments, ArgumentsJson, ...said } = typeof decision === "object" ? decision : { Approved: decision === true };
    const edited = ArgumentsJson ?? JSON.stringify(Arguments);
    if (edited === undefined || edited === before || isSameJson(edited, argumentsJson)) return JSON.stringify(said);
    JSON.parse(edited); // A text that is none refuses the call.
    return `${JSON.stringify(said).slice(0, -1)},"Arguments":${edited}}`;
  }
}

/** Runs a tool with a signal of its own, and gives it up with the turn's signal or after `timeoutMs`. */
async function inTime<T>(
  timeoutMs: number | undefined,
  signal: AbortSignal | undefined,
  run: (context: { signal: AbortSignal }) => Promise<T>,
): Promise<T> {
  const { signal: own, dispose } = abortable(signal, timeoutMs, () => new Error(`The tool took longer than ${timeoutMs} ms.`));
  try {
    return await unlessAborted(run({ signal: own }), own);
  } finally {
    dispose();
  }
}
