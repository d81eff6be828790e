// Which session a chat goes on in, where a message that is asked anew goes on in a fork. Owns the place of that message in the
// conversation: what the service has from there on is left to the session that it is in.
import type { Aptix } from "../client.js";
import type { Session, TurnRequest } from "../session.js";
import { newId } from "../ids.js";
import type { Store } from "../tools.js";
import { type ChatMessage, isTurnOf, turnIdFor, turnIdOf } from "./messages.js";

/** What is sent, and to which session. */
interface Asked {
  session: Session;
  turnId: string;
  message: ChatMessage;
}

export class Forks {
  constructor(
    private readonly client: Aptix,
    private readonly store: Store | undefined,
  ) {}

  /** No key of a turn's results, which has a slash. Chats of two users may have the same id. */
  #key(chatId: string): string {
    const { user } = this.client;
    return `aptix:session-of:${user === undefined ? "" : `${encodeURIComponent(user)}:`}${encodeURIComponent(chatId)}`;
  }

  /** The session that the chat goes on in: of its own id, until there is a fork. */
  async sessionOf(chatId: string): Promise<Session> {
    return this.client.session((await this.store?.get<string>(this.#key(chatId))) ?? chatId);
  }

  /**
   * The newest message in a session that ends before it: a fork, where the service has more. A turn behind that place that
   * runs or waits is given up. Words that were `added` to a turn are asked anew with the words that began it.
   */
  async anew(chatId: string, messages: readonly ChatMessage[], added: boolean, ConversationContextId: TurnRequest["ConversationContextId"]): Promise<Asked> {
    const session = await this.sessionOf(chatId);
    const { at, turnId } = await answered(session, messages);
    const words = messages.slice(at + 1).filter(({ role }) => role === "user");
    let AfterTurnId = turnId;
    let isFollowed = false;
    let begin = -1;
    try {
      for await (const { TurnId, Status } of session.turns({ after: turnId })) {
        const began = words.findIndex((message) => isTurnOf(message, TurnId));
        // A page may have the end of a conversation alone; the service has all of it.
        isFollowed ||= turnId !== undefined || began >= 0;
        if (!isFollowed) AfterTurnId = TurnId;
        else if (Status === "running" || Status === "awaiting_tools") await session.cancel(TurnId);
        begin = Math.max(begin, began);
      }
    } catch (error) {
      if ((error as { code?: string }).code !== "session_not_found") throw error;
    }
    const asked = words.slice(added ? begin : -1);
    const [first] = asked as [ChatMessage];
    // The answer that is shown between several words has the turn's plain id.
    const of = { turnId: turnIdFor(first) + (asked.length > 1 ? suffix() : ""), message: { ...first, parts: asked.flatMap(({ parts }) => parts) } };
    if (!isFollowed) return { ...of, session };
    const next = AfterTurnId === undefined ? this.client.session(newId()) : await session.fork({ AfterTurnId, ConversationContextId });
    // Before anything is sent there: a page that is reloaded from now on finds it.
    await this.store?.update(this.#key(chatId), next.sessionId);
    return { ...of, session: next };
  }
}

/** What makes another turn of the same message. */
export const suffix = () => `:${Math.random().toString(36).slice(2, 12)}`;

/** The newest answer before the newest message: its place, and its turn. */
async function answered(session: Session, messages: readonly ChatMessage[]): Promise<{ at: number; turnId?: string }> {
  const steerId = turnIdFor(messages.at(-1)!);
  for (const [at, message] of [...messages.entries()].reverse()) {
    const turnId = turnIdOf(message);
    if (turnId === undefined) continue;
    const turn = await session.getTurn(turnId).catch((error: { code?: string }) => {
      if (error.code !== "turn_not_found" && error.code !== "session_not_found") throw error;
    });
    // A turn to which the message was added is no earlier one, and one that is not there was left in another session.
    if (turn && !turn.Steers?.some(({ SteerId }) => SteerId === steerId)) return { at, turnId };
  }
  return { at: -1 };
}
