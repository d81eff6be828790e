// The transport is what the AI SDK takes, in both of its versions; it is compiled, never run.
import type { ChatInit, ChatTransport, UIMessage } from "ai";
import type { ChatInit as ChatInit6, ChatTransport as ChatTransport6, UIMessage as UIMessage6 } from "ai6";
import { Aptix } from "aptix-edge";
import { AptixChatTransport, isAnswered } from "aptix-edge/ai-sdk";
import { useSession } from "aptix-edge/react";

const transport = new AptixChatTransport({
  client: new Aptix({ baseUrl: "https://agent.example.com" }),
  tools: [{ name: "read", parameters: { type: "object" } }],
  request: () => ({ WorkspaceId: "w" }),
  steer: "add",
});
type Priced = UIMessage<{ Usage: { TotalTokens: number } }>;
export const plain: ChatTransport<UIMessage> = transport;
export const typed: ChatTransport<Priced> = transport;
export const six: ChatTransport6<UIMessage6> = transport;
export const init: Partial<ChatInit<Priced>> = { transport, sendAutomaticallyWhen: isAnswered };
export const init6: Partial<ChatInit6<UIMessage6>> = { transport, sendAutomaticallyWhen: isAnswered };
// @ts-expect-error: a client is needed
new AptixChatTransport({});

// The hook for React.
export function shown(client: Aptix): string {
  const { messages, status, approvals, error, send, steer, stop, resume } = useSession(client, "trip", { request: { WorkspaceId: "handbook" } });
  for (const { AllowEdit, Arguments, decide } of approvals) decide(AllowEdit && { Approved: true, Arguments: Arguments as object });
  void [send({ Instruction: "Hello", RagScope: undefined }), steer("More.", { interrupt: true }), stop(), resume(), error?.code === "connection_lost"];
  // @ts-expect-error there is no such status
  if (status === "idle") return "";
  const usage: number | undefined = messages.at(-1)?.response?.Usage?.PromptTokens;
  return `${usage} ${messages.map(({ role, text, state }) => `${role} ${state === "done" ? text : state}`)}`;
}
