// An extension that is compiled to CommonJS; it is compiled, never run.
import { Aptix, AptixError, type FinalResponse } from "aptix-edge";
import { AptixChatTransport } from "aptix-edge/ai-sdk";

export async function answer(instruction: string): Promise<FinalResponse | AptixError["code"]> {
  const aptix = new Aptix({ baseUrl: "https://agent.example.com" });
  new AptixChatTransport({ client: aptix });
  return aptix.session("s").turn({ Instruction: instruction }).final().catch((error: AptixError) => error.code);
}
