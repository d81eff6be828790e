// What users write, and what the compiler must refuse; it is compiled, never run.
import {
  Aptix,
  AptixConnectionError,
  AptixError,
  memoryStore,
  type AgentExecuteResponse,
  type CancellationTokenLike,
  type FinalResponse,
  type Fork,
  type SteerResult,
  type Store,
  type Tool,
  type ToolCall,
  type Turn,
  type TurnEvent,
} from "aptix-edge";
import { readTurnEvents } from "aptix-edge/relay";
import { jsonSchema, tool } from "aptix-edge/schema";
import { User } from "aptix-edge/users";
import { verifyWebhook } from "aptix-edge/webhooks";
import { Workspace } from "aptix-edge/workspace";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <T extends true>(): T | undefined => undefined;

declare const token: CancellationTokenLike;
declare const memento: { get<T>(key: string): T | undefined; update(key: string, value: any): PromiseLike<void> };

const store: Store = memento;
const aptix = new Aptix({ baseUrl: "https://agent.example.com", apiKey: async () => undefined, store });
new Aptix({ baseUrl: "/api", apiKey: "key", store: memoryStore(), onLog: ({ method, status }) => void [method, status] });
new Aptix({ baseUrl: "/api", credential: async () => ({ Ticket: "apt1.e30.x", ExpiresAt: "2026-11-23T12:00:00Z" }) });
new Aptix({ baseUrl: "/api", credential: "key", user: "alice" });
// @ts-expect-error: a ticket has an end
new Aptix({ baseUrl: "/api", credential: () => ({ Ticket: "apt1.e30.x" }) });
// @ts-expect-error: there is no client without an address
new Aptix({ apiKey: "key" });

const read: Tool<{ path: string }> = { name: "read", parameters: { type: "object" }, run: async ({ path }) => path.length };
const typed = tool({
  name: "list",
  parameters: jsonSchema({ type: "object", properties: { folder: { type: "string" }, deep: { type: "boolean" } }, required: ["folder"] }),
  run: (args) => is<Equal<typeof args, { folder: string; deep?: boolean }>>(),
});
is<Equal<typeof typed, Tool>>();
const turn = aptix.session("s").turn(
  { Instruction: "x", RagScope: { Conditions: [{ Key: "team", Operator: "==", Values: ["a"] }] } },
  { tools: [read, typed, { name: "list", run: (_args, { toolCallId, signal }) => [toolCallId, signal.aborted] }], signal: token, onApproval: ({ Name }) => Name !== "drop" },
);
// @ts-expect-error: an unknown member
aptix.session("s").turn({ Instructions: "x" });
// @ts-expect-error: the client's own members are not given twice
aptix.session("s").turn({ Instruction: "x", TurnId: "t" });
// @ts-expect-error: no such operator
aptix.session("s").turn({ RagScope: { Conditions: [{ Key: "team", Operator: "~", Values: ["a"] }] } });

for await (const event of turn) {
  is<Equal<typeof event, TurnEvent>>();
  switch (event.type) {
    case "text": is<Equal<typeof event.delta, string>>(); break;
    case "discard": is<Equal<typeof event.segment, number>>(); break;
    case "tool_calls": is<Equal<typeof event.calls, ToolCall[]>>(); break;
    case "result": {
      const { response } = event;
      is<Equal<typeof response, AgentExecuteResponse>>();
      if (response.Kind === "final") is<Equal<typeof response, FinalResponse>>();
      // @ts-expect-error: a pause has no final text
      else response.PrimaryOutputText;
      break;
    }
    case "progress":
      if (event.progress.Kind === "server_tool") is<Equal<typeof event.progress.State, "started" | "finished">>();
  }
}
is<Equal<Awaited<ReturnType<typeof turn.final>>, FinalResponse>>();
is<Equal<typeof turn.position, string | undefined>>();

const steered = await turn.steer("Shorter.", { interrupt: true });
is<Equal<typeof steered, SteerResult>>();
const heard = await turn.steer({ Instruction: "Shorter.", ClipboardImages: [] }, { ifEnded: "newTurn", steerId: "a" });
is<Equal<typeof heard, SteerResult | Turn>>();
if (!("State" in heard)) is<Equal<typeof heard, Turn>>();
// @ts-expect-error: a steer changes no setting of its turn
await turn.steer({ Instruction: "x", WorkspaceId: "w" });
for await (const text of turn.textStream) is<Equal<typeof text, string>>();
turn.on("text", ({ delta }) => is<Equal<typeof delta, string>>()).on("tool_calls", ({ calls }) => is<Equal<typeof calls, ToolCall[]>>());
// @ts-expect-error: no such event
turn.on("word", () => {});
const { data, response, requestId } = await aptix.session("s", { headers: { traceparent: "00" }, timeoutMs: 1000 }).get().withResponse();
is<Equal<typeof data.TurnCount, number>>();
is<Equal<typeof requestId, string | undefined>>();
response.headers.get("Server-Timing");
new Aptix({ baseUrl: "/api", deadlineMs: 60_000, middleware: [(url, init, next) => next(url, init)] });
new User(aptix, "alice").revoke();
const fork = await aptix.session("s").fork({ AfterTurnId: "t", ConversationContextId: "c" });
is<Equal<typeof fork, Fork>>();
fork.turn({ Instruction: "x" });
is<Equal<typeof fork.Turns, number>>();
// @ts-expect-error: no such member
await aptix.session("s").fork({ TurnId: "t" });
const stored = await turn.detach();
if ("Status" in stored) is<Equal<typeof stored.Status, "running">>();

const { event: message } = await verifyWebhook(new Uint8Array(), new Headers(), ["whsec_x"]);
if (message.type === "turn.failed") message.data.ErrorCode satisfies AptixError["code"];
// @ts-expect-error: a turn that has ended waits for nothing
if (message.type === "turn.completed") message.data.ToolCalls;

try {
  await aptix.execute({ SessionId: "s", TurnId: "t", Instruction: "x" });
  // @ts-expect-error: the ids are the caller's
  await aptix.execute({ Instruction: "x" });
} catch (error) {
  if (error instanceof AptixError && error.code === "turn_awaiting_tools") is<Equal<typeof error.details, AptixError["details"]>>();
  // @ts-expect-error: no such code
  if (error instanceof AptixError && error.code === "awaiting") throw error;
  if (error instanceof AptixConnectionError) is<Equal<typeof error.position, string | undefined>>();
}

const { sent } = await new Workspace(aptix, "w").sync([{ Path: "a", Contents: async () => "b", Language: "rust" }], { remove: true });
is<Equal<typeof sent, string[]>>();
for await (const event of readTurnEvents(turn.toReadableStream())) is<Equal<typeof event, TurnEvent>>();
for await (const { TurnId } of aptix.session("s").turns()) is<Equal<typeof TurnId, string>>();
