// From the events of a submission to those of a run. Owns what AG-UI's verifier holds: everything that is open is closed
// before the end, the end comes once, and text that was taken back leaves the messages.
import { type BaseEvent, EventType, type RunAgentInput } from "@ag-ui/client";
import type { AgentExecuteResponse, AptixError, Progress, StreamEvent, ToolCall } from "../index.js";
import { membersOf } from "../json_text.js";
import { APPROVAL } from "../tools.js";
import { type Message, hasCall, isAnswered, isShown, resultId, withResults } from "./shown.js";

type Events = Generator<BaseEvent, void, void>;
type Open = { kind: "text" | "reasoning"; id: string; segment?: number };

const made = (type: EventType, members: object = {}) => ({ type, ...members }) as BaseEvent;

export class RunWriter {
  /** The turn of the run; it is part of the ids of its messages. */
  turnId: string;
  #open: Open | undefined;
  #serial = 0;
  #isOver = false;
  readonly #steps = new Set<string>();
  /** Of the service's tools that ran in this run, by their calls. */
  readonly #names = new Map<string, string>();
  /** The messages of this run, which a snapshot has to name. */
  readonly #said: Message[] = [];
  readonly #segments = new Map<number, string>();

  constructor(
    private input: RunAgentInput,
    private readonly handed: Map<string, number>,
  ) {
    this.turnId = input.runId;
  }

  /** Whether the front end is of the protocol's version 1, which knows more ends. */
  get #isNew(): boolean {
    return (this.input as { protocolVersion?: string }).protocolVersion !== undefined;
  }

  *start(): Events {
    const { threadId, runId } = this.input;
    yield made(EventType.RUN_STARTED, { threadId, runId });
  }

  /** The messages without some of them: a snapshot removes what it leaves out. */
  *rewritten(messages: Message[]): Events {
    this.input = { ...this.input, messages };
    yield made(EventType.MESSAGES_SNAPSHOT, { messages });
  }

  *event(event: StreamEvent): Events {
    if (event.type === "text") yield* this.#text(event.segment, event.delta);
    else if (event.type === "discard") yield* this.#discard(event.segment);
    else if (event.type === "progress") yield* this.#progress(event.progress);
    else yield* this.#result(event.response);
  }

  /** The end of a run without a result, as one that found nothing to do. */
  *end(): Events {
    yield* this.#finish({ outcome: { type: "success" } });
  }

  *cancelled(): Events {
    yield* this.#finish(this.#isNew ? { outcome: { type: "cancelled" } } : { metadata: { finishReason: "cancelled" } });
  }

  *failed(error: unknown): Events {
    if (this.#isOver) return;
    this.#isOver = true;
    yield* this.#close();
    const { code, message } = (error ?? {}) as Partial<AptixError>;
    yield made(EventType.RUN_ERROR, { message: message ?? String(error), ...(typeof code === "string" && { code }) });
  }

  *#finish(members: object): Events {
    if (this.#isOver) return;
    this.#isOver = true;
    yield* this.#close();
    const { threadId, runId } = this.input;
    yield made(EventType.RUN_FINISHED, { threadId, runId, ...members });
  }

  /** Ids are new for each message of a thread, also of a segment that was written anew, and of a run whose id came before. */
  #newId(kind: string): string {
    const { runId, messages } = this.input;
    const begin = `${this.turnId}.${runId === this.turnId ? "" : `${runId}.`}${kind}`;
    do this.#serial += 1;
    while (messages.some(({ id }) => id === begin + this.#serial));
    return begin + this.#serial;
  }

  *#text(segment: number, delta: string): Events {
    if (this.#open?.kind !== "text" || this.#open.segment !== segment) {
      yield* this.#closePart();
      this.#open = { kind: "text", id: this.#newId("text"), segment };
      this.#segments.set(segment, this.#open.id);
      this.#said.push({ id: this.#open.id, role: "assistant", content: "" } as Message);
      yield made(EventType.TEXT_MESSAGE_START, { messageId: this.#open.id, role: "assistant" });
    }
    this.#add(delta);
    if (delta !== "") yield made(EventType.TEXT_MESSAGE_CONTENT, { messageId: this.#open!.id, delta });
  }

  /** Adds to what a snapshot has of the open message. */
  #add(delta: string): void {
    const said = this.#said.find(({ id }) => id === this.#open!.id) as { content: string };
    said.content += delta;
  }

  /** A snapshot removes what it leaves out. A segment that was never seen was none of this run's. */
  *#discard(segment: number): Events {
    const id = this.#segments.get(segment);
    if (id === undefined) return;
    this.#segments.delete(segment);
    yield* this.#closePart();
    const at = this.#said.findIndex((message) => message.id === id);
    if (at >= 0) this.#said.splice(at, 1);
    yield made(EventType.MESSAGES_SNAPSHOT, { messages: [...this.input.messages, ...this.#said] });
  }

  *#progress(progress: Progress): Events {
    if (progress.Kind === "reasoning" || progress.Kind === "commentary") {
      if (this.#open?.kind === "text") return;
      if (!this.#open) {
        this.#open = { kind: "reasoning", id: this.#newId("reasoning") };
        // A snapshot with reasoning of earlier runs takes away all that it does not have.
        this.#said.push({ id: this.#open.id, role: "reasoning", content: "" } as Message);
        yield made(EventType.REASONING_START, { messageId: this.#open.id });
        yield made(EventType.REASONING_MESSAGE_START, { messageId: this.#open.id, role: "reasoning" });
      }
      this.#add(progress.Text);
      if (progress.Text !== "") yield made(EventType.REASONING_MESSAGE_CONTENT, { messageId: this.#open.id, delta: progress.Text });
    } else if (progress.Kind === "server_tool") {
      const stepName = progress.Name;
      this.#names.set(progress.ToolCallId, stepName);
      const isOpen = this.#steps.has(stepName);
      if (progress.State === "started" && !isOpen) {
        this.#steps.add(stepName);
        yield made(EventType.STEP_STARTED, { stepName });
      } else if (progress.State === "finished" && isOpen) {
        this.#steps.delete(stepName);
        yield made(EventType.STEP_FINISHED, { stepName });
      }
    } else yield made(EventType.CUSTOM, { name: `aptix.${progress.Kind}`, value: progress });
  }

  *#result(response: AgentExecuteResponse): Events {
    this.turnId = response.TurnId;
    if (response.Kind === "final") {
      yield* this.#whole(response.PrimaryOutputText);
      yield* this.#closePart();
      const inFull = withResults(this.input.messages, response.ToolResults ?? []);
      if (inFull) {
        this.input = { ...this.input, messages: inFull };
        yield made(EventType.MESSAGES_SNAPSHOT, { messages: [...inFull, ...this.#said] });
      }
      for (const { ToolCallId, ResultJson, ErrorMessage } of response.ToolResults ?? []) {
        if (isAnswered(ToolCallId, this.input.messages)) continue;
        // A call that was put as a question is there already. Of others, the service tells no arguments.
        const Name = this.#names.get(ToolCallId) ?? "server_tool";
        if (!this.#isKnown(ToolCallId)) yield* this.#call({ ToolCallId, Name, ArgumentsJson: "{}" });
        yield made(EventType.TOOL_CALL_RESULT, { messageId: resultId(ToolCallId), toolCallId: ToolCallId, role: "tool", content: ResultJson ?? ErrorMessage ?? "" });
      }
      if (response.Files?.length) yield made(EventType.CUSTOM, { name: "aptix.files", value: response.Files });
      if (response.UserWarnings?.length) yield made(EventType.CUSTOM, { name: "aptix.warnings", value: response.UserWarnings });
      const { PromptTokens, CachedTokens, CompletionTokens, ReasoningTokens, TotalTokens } = response.Usage ?? {};
      const usage = response.Usage && [
        { inputTokens: PromptTokens, outputTokens: CompletionTokens, totalTokens: TotalTokens, reasoningTokens: ReasoningTokens, cachedInputTokens: CachedTokens },
      ];
      return yield* this.#finish({ outcome: { type: "success" }, ...(usage && { usage }) });
    }
    const { ToolCalls } = response;
    // The words in front of calls that are shown are shown, too.
    if (!ToolCalls.some((call) => isShown(call, this.input.messages))) yield* this.#whole(response.ToolContinuationMessage ?? "");
    yield* this.#closePart();
    const own = ToolCalls.filter(({ Name }) => Name !== APPROVAL);
    const unanswered = own.filter(({ ToolCallId }) => !isAnswered(ToolCallId, this.input.messages));
    for (const call of own) {
      this.handed.set(call.ToolCallId, Date.now());
      if (!this.#isKnown(call.ToolCallId)) yield* this.#call(call);
    }
    // The front end's own tools go first: their results stay in the messages until all is decided.
    if (unanswered.length > 0) {
      const pendingToolCallIds = unanswered.map(({ ToolCallId }) => ToolCallId);
      // An outcome that cannot say what is pending means to assistant-ui that nothing is: it would not send the results.
      return yield* this.#finish(this.#isNew ? { outcome: { type: "success", pendingToolCallIds } } : {});
    }
    const interrupts = [];
    for (const question of ToolCalls.filter(({ Name }) => Name === APPROVAL)) {
      const { ToolCallId, Name, Message, AllowEdit } = JSON.parse(question.ArgumentsJson);
      const ArgumentsJson = membersOf(question.ArgumentsJson).get("Arguments") ?? "{}";
      if (!this.#isKnown(ToolCallId)) yield* this.#call({ ToolCallId, Name, ArgumentsJson });
      this.handed.set(question.ToolCallId, Date.now());
      interrupts.push(interruptOf(question.ToolCallId, ToolCallId, Message ?? `Run ${Name}?`, AllowEdit === true));
    }
    yield* this.#finish({ outcome: interrupts.length > 0 ? { type: "interrupt", interrupts } : { type: "success" } });
  }

  /** Text that nobody has streamed, as of a turn that is replayed as a whole. */
  *#whole(text: string): Events {
    if (text !== "" && this.#segments.size === 0) yield* this.#text(-1, text);
  }

  /** Whether the messages have the call, those of this run included. */
  #isKnown(toolCallId: string): boolean {
    return hasCall([...this.input.messages, ...this.#said], toolCallId);
  }

  *#call({ ToolCallId: toolCallId, Name: toolCallName, ArgumentsJson }: ToolCall): Events {
    const parent = this.#said.findLast(({ role }) => role === "assistant");
    const toolCall = { id: toolCallId, type: "function" as const, function: { name: toolCallName, arguments: ArgumentsJson } };
    if (parent?.role === "assistant") parent.toolCalls = [...(parent.toolCalls ?? []), toolCall];
    else this.#said.push({ id: toolCallId, role: "assistant", toolCalls: [toolCall] } as Message);
    yield made(EventType.TOOL_CALL_START, { toolCallId, toolCallName, ...(parent && { parentMessageId: parent.id }) });
    yield made(EventType.TOOL_CALL_ARGS, { toolCallId, delta: ArgumentsJson });
    yield made(EventType.TOOL_CALL_END, { toolCallId });
  }

  *#closePart(): Events {
    const open = this.#open;
    this.#open = undefined;
    if (open?.kind === "text") yield made(EventType.TEXT_MESSAGE_END, { messageId: open.id });
    if (open?.kind === "reasoning") {
      yield made(EventType.REASONING_MESSAGE_END, { messageId: open.id });
      yield made(EventType.REASONING_END, { messageId: open.id });
    }
  }

  *#close(): Events {
    yield* this.#closePart();
    for (const stepName of this.#steps) yield made(EventType.STEP_FINISHED, { stepName });
    this.#steps.clear();
  }
}

function interruptOf(id: string, toolCallId: string, message: string, mayEdit: boolean) {
  const edited = mayEdit && { editedArgs: { type: "object", description: "The arguments with which the call runs instead, as a whole." } };
  const properties = { approved: { type: "boolean" }, reason: { type: "string" }, ...edited };
  return { id, reason: "tool_call", message, toolCallId, responseSchema: { type: "object", properties, required: ["approved"] } };
}
