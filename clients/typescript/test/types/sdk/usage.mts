// The transport is what the AI SDK takes, in both of its versions; it is compiled, never run.
import type { ChatInit, ChatTransport, UIMessage } from "ai";
import type { ChatInit as ChatInit6, ChatTransport as ChatTransport6, UIMessage as UIMessage6 } from "ai6";
import { Aptix } from "aptix-edge";
import { AptixChatTransport, isAnswered } from "aptix-edge/ai-sdk";

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
