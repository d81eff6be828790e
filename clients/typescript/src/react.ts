// A session in a page with React: `useSession`. React is an optional peer; this entry alone needs it. Owns that a page which
// comes back shows what the service has, and that words which are sent again are the same turn.
import { useInsertionEffect, useMemo, useSyncExternalStore } from "react";
import type { ApprovalRequest, Aptix, AptixError, Decision, LogEntry, Session, SteerContent, Tool, Turn, TurnEvent, TurnOptions, TurnRequest } from "./index.js";
import { newId } from "./ids.js";
import { type Said, answerId, isLive, saidIn } from "./said.js";

export type { Said } from "./said.js";

/** What the turns of a page are made with. */
export interface UseSessionOptions {
  /** What the model may call and the page runs. A call of another tool is answered with an error. */
  tools?: Tool[];
  /** Members of every turn, such as `WorkspaceId`. */
  request?: TurnRequest;
}

/** A call that waits for consent. */
export interface Approval extends ApprovalRequest {
  turnId: string;
  /** Throws a `SyntaxError` for `ArgumentsJson` that is no JSON; the question stays. */
  decide(decision: Decision): void;
}

interface Shown {
  messages: readonly Said[];
  /** `waiting`: for a decision. */
  status: "loading" | "ready" | "running" | "waiting";
  /** What waits for a human, one call after another. */
  approvals: readonly Approval[];
  /** Why the newest turn, or the watching, came to no answer. `resume` goes on. */
  error: AptixError | undefined;
  /** The service is not reached just now, and asked again. */
  connecting: boolean;
}

export interface UseSession extends Shown {
  /** Begins a turn; while one runs, the words are added to that. */
  send(words: string | TurnRequest): Promise<void>;
  /** Adds words to the turn that runs or waits; where none does, they begin one. `interrupt` drops the model call under way. */
  steer(words: string | SteerContent, options?: { interrupt?: boolean }): Promise<void>;
  /** Ends the turn, and not the watching alone. */
  stop(): Promise<void>;
  /** Shows what the service has, goes on with the turn that runs or waits, and sends again what failed or was not taken. */
  resume(): Promise<void>;
}

/** The session of this id, as the service has it. `client` is made once, outside of the component. */
export function useSession(client: Aptix, sessionId: string, options: UseSessionOptions = {}): UseSession {
  const watched = useMemo(() => new WatchedSession(client, sessionId), [client, sessionId]);
  // Before the subscription, which may go on with a turn whose tools these are, and before anybody can send: a busy page runs its
  // effects later than a click.
  useInsertionEffect(() => void (watched.options = options));
  const shown = useSyncExternalStore(watched.subscribe, watched.shown, watched.shown);
  const { send, steer, stop, resume } = watched;
  return useMemo(() => ({ ...shown, send, steer, stop, resume }), [watched, shown]);
}

/** Begins to read when a component subscribes, and stops when none is left; the turn runs on. */
class WatchedSession {
  options: UseSessionOptions = {};
  readonly #listeners = new Set<() => void>();
  #shown: Shown = { messages: [], status: "loading", approvals: [], error: undefined, connecting: false };
  private readonly session: Session;
  /** Ends with the last component. */
  #present = new AbortController();
  #opened!: () => void;
  /** Until a component has subscribed, nothing is known of what was said before. */
  #loaded = new Promise<void>((opened) => (this.#opened = opened));
  #turn: Turn | undefined;
  /** What this page has sent, until it has its answer. */
  #sent: { turnId: string; request: TurnRequest } | undefined;
  /** The ids of what the service has told. */
  #told: ReadonlySet<string> = new Set();
  /** The segment that the open answer shows. */
  #segment: number | undefined;
  /** Words waited for the turn when it was read: that an answer stands in front of them, the service tells at the end. */
  #isPartial = false;
  /** Steers that drop the model call under way, and what it has said. */
  readonly #interrupting = new Set<string>();
  /**
   * Functions that add words once more which could not be added to a turn. Whoever begins another turn gives these words up; a stop
   * begins another list.
   */
  #lost: (() => Promise<void>)[] = [];

  /** Words of the page are on their way, its tools run, or what they gave is on its way: whoever leaves takes none of that back. */
  #isSending = false;

  constructor(client: Aptix, sessionId: string) {
    const onLog = ({ status, error }: LogEntry) => {
      const connecting = status === undefined && error !== "AbortError";
      if (connecting !== this.#shown.connecting) this.#show({ connecting });
    };
    this.session = client.session(sessionId, { onLog });
  }

  shown = (): Shown => this.#shown;

  subscribe = (listener: () => void): (() => void) => {
    if (this.#listeners.size === 0 && !this.#isSending) this.#open();
    this.#listeners.add(listener);
    globalThis.addEventListener?.("online", this.#back);
    return () => {
      this.#listeners.delete(listener);
      this.#leave();
    };
  };

  /** Ends the watching where nobody is left; words that were sent have arrived before that, and results of tools that run. */
  #leave(): void {
    if (this.#listeners.size > 0) return;
    globalThis.removeEventListener?.("online", this.#back);
    if (this.#isSending && this.#shown.status !== "waiting") return;
    this.#isSending = false;
    this.#present.abort();
  }

  send = (words: string | TurnRequest): Promise<void> => this.steer(words as SteerContent);

  steer = async (words: string | SteerContent, { interrupt }: { interrupt?: boolean } = {}): Promise<void> => {
    if (isEmpty(words)) return;
    const lost = this.#lost;
    await this.#ready();
    if (!this.#turn) lost.length = 0;
    await this.#say(words, lost, interrupt);
  };

  /** Adds words to the turn that runs; where none does, they begin one. `lost` is the list of their time. */
  async #say(words: string | SteerContent, lost: unknown, interrupt?: boolean): Promise<void> {
    await this.#ready();
    // They waited, and a stop has come meanwhile.
    if (lost !== this.#lost) {
      const id = newId();
      this.#asked(id, id, contentOf(words));
      return this.#failed(this.#shown.error, id);
    }
    if (this.#turn) return this.#add(this.#turn, newId(), words, interrupt);
    const request = { ...this.options.request, ...contentOf(words) };
    this.#begin({ turnId: newId(), request });
  }

  /** Under the same id, words that are added once more are in the turn once. */
  async #add(turn: Turn, id: string, words: string | SteerContent, interrupt?: boolean): Promise<void> {
    // A turn that runs takes words, and no settings.
    const { Instruction, InputArtifacts, ClipboardImages } = contentOf(words);
    const content = { Instruction, InputArtifacts, ClipboardImages };
    const isRead = () => this.#turn?.turnId === turn.turnId;
    const lost = this.#lost;
    this.#asked(id, turn.turnId, content);
    if (interrupt) this.#interrupting.add(id);
    try {
      await turn.steer(content, { steerId: id, interrupt });
    } catch (error) {
      const isLate = (error as AptixError).code === "turn_ended";
      // Where the turn is sent once more as well, its new sending is the one to wait for.
      if (!isLate) lost.push(() => (this.#forget(id), this.#add(isRead() ? this.#turn! : turn, id, words, interrupt)));
      // What was on its way when the turn was stopped begins no other one.
      if (!isLate || lost !== this.#lost) return this.#failed(error, id);
      this.#forget(id);
      // Whoever reads the turn hears of its end in a moment, but not while a human is asked, or a tool of the page runs.
      if (isRead()) await (this.#shown.status === "waiting" || this.#isSending ? this.#readAnew(turn) : this.#reading);
      await this.#say(words, lost, interrupt);
    }
  }

  stop = async (): Promise<void> => {
    this.#lost = [];
    await this.#ready();
    const turn = this.#turn;
    try {
      await turn?.cancel();
    } catch (error) {
      // What has not arrived is not sent again.
      this.#answered(turn);
      return this.#failed(error);
    }
    // While a human is asked, or a tool of the page runs, nobody reads that the turn has ended.
    if (this.#shown.status === "waiting" || this.#isSending) await this.#readAnew(this.#turn);
  };

  /** Reads what has become of a turn that has ended elsewhere. Its request is not sent again, since that replays the pause. */
  #readAnew(turn: Turn | undefined): Promise<void> {
    this.#answered(turn);
    return this.resume();
  }

  resume = (): Promise<void> => (this.#resuming ??= this.#resumed().finally(() => (this.#resuming = undefined)));

  /** One at a time: who asks meanwhile, such as a click when the network is back, asks for the same. */
  #resuming: Promise<void> | undefined;

  async #resumed(): Promise<void> {
    this.#present.abort();
    await this.#reading;
    this.#open();
    await this.#ready();
    this.#again();
  }

  /** Sends once more what failed; what was refused because another turn runs, when that has ended. */
  #again(): void {
    const [turn, sent] = [this.#turn, this.#sent];
    if (this.#shown.error || (turn && sent && turn.turnId !== sent.turnId)) return;
    if (sent && !turn) this.#begin(sent);
    const lost = this.#lost;
    // One after the other, so that they keep their order. Nobody waits: what has come too late for its turn may resume.
    void (async () => {
      for (const add of lost.splice(0)) if (lost === this.#lost) await add();
    })();
  }

  #reading: Promise<void> = Promise.resolve();

  readonly #back = () => {
    if (this.#shown.error?.code === "connection_lost") void this.resume();
  };

  /** What was there before is shown, also where it is loaded once more meanwhile. */
  async #ready(): Promise<void> {
    for (let loaded; loaded !== this.#loaded; ) await (loaded = this.#loaded);
  }

  #open(): void {
    this.#present.abort();
    this.#present = new AbortController();
    this.#loaded = this.#load(this.#present.signal);
    this.#opened();
  }

  async #load(signal: AbortSignal): Promise<void> {
    this.#show({ status: "loading", approvals: [], error: undefined });
    try {
      const live = await this.#kept(signal);
      if (signal.aborted) return;
      this.#show({ status: "ready" });
      if (live) this.#read(this.session.attach(live, this.#watching(signal)));
    } catch (error) {
      if (!signal.aborted) this.#failed(error);
    }
  }

  /** Shows what was said before; resolves to the turn that is to be read. */
  async #kept(signal: AbortSignal): Promise<string | undefined> {
    try {
      const exported = await this.session.export();
      // Whoever has left may come back to it; another loading shows its own.
      if (signal !== this.#present.signal) return undefined;
      const messages = saidIn(exported);
      this.#told = new Set(messages.map(({ id }) => id));
      // What the service does not have stays to be seen: it is on its way, or is sent again.
      const own = this.#shown.messages.filter(({ id, role }) => role === "user" && !messages.some((message) => message.id === id));
      this.#show({ messages: [...messages, ...own] });
      // What has ended meanwhile is shown. Sent again, it would replay its first pause, and lose the words that were added to it.
      const sent = exported.Turns.find(({ TurnId }) => TurnId === this.#sent?.turnId);
      if (sent?.Status === "completed" || sent?.Status === "aborted") this.#sent = undefined;
      const last = exported.Turns.at(-1);
      this.#isPartial = last?.Steers?.some(({ State }) => State === "pending") ?? false;
      return last && isLive(last.Status) ? last.TurnId : undefined;
    } catch (error) {
      const { code } = error as AptixError;
      if (code === "session_not_found") {
        // It is not begun, or erased: nothing is left but words that are on their way, or were not taken.
        const messages = this.#shown.messages.filter(({ id, turnId, role, state }) => role === "user" && ((state === "failed" && !this.#told.has(id)) || turnId === this.#sent?.turnId));
        if (signal === this.#present.signal) this.#show({ messages });
        return undefined;
      }
      if (code !== "forbidden") throw error;
      // A ticket without the right to export has what this page has shown, and the newest turn.
      const { LiveTurn, LatestTurn } = await this.session.get();
      const turn = LiveTurn ?? (LatestTurn?.Status === "completed" ? LatestTurn : undefined);
      const messages = this.#shown.messages.filter(({ turnId, role }) => turnId !== turn?.TurnId || role === "user");
      if (signal === this.#present.signal) this.#show({ messages });
      return turn?.TurnId;
    }
  }

  #begin(sent: { turnId: string; request: TurnRequest }): void {
    const { turnId, request } = (this.#sent = sent);
    this.#isSending = true;
    // Whoever has left meanwhile has said it before.
    if (this.#present.signal.aborted) this.#present = new AbortController();
    const { messages } = this.#shown;
    const added = messages.filter((message) => message.turnId === turnId && message.role === "user" && message.id !== turnId);
    this.#show({ messages: messages.filter((message) => message.turnId !== turnId) });
    this.#asked(turnId, turnId, request);
    this.#show({ messages: [...this.#shown.messages, ...added] });
    this.#read(this.session.turn(request, { turnId, ...this.#watching(this.#present.signal) }));
  }

  #watching(signal: AbortSignal): TurnOptions {
    const onApproval = (request: ApprovalRequest, context: { signal: AbortSignal }) =>
      new Promise<Decision>((resolve) => {
        const decide = (decision: Decision) => {
          if (typeof decision === "object" && decision.ArgumentsJson !== undefined) JSON.parse(decision.ArgumentsJson);
          const approvals = this.#shown.approvals.filter((each) => each !== approval);
          this.#show({ approvals, ...(approvals.length === 0 && this.#turn && { status: "running" }) });
          resolve(decision);
        };
        const approval: Approval = { ...request, turnId: this.#turn?.turnId ?? "", decide };
        this.#show({ approvals: [...this.#shown.approvals, approval], status: "waiting" });
        context.signal.addEventListener("abort", () => decide(false), { once: true });
        this.#leave();
      });
    // Each as it is when it runs: renderings since then have made it anew, with what the component knows now.
    const newest = (tool: Tool) => this.options.tools?.find(({ name }) => name === tool.name) ?? tool;
    const tools = this.options.tools?.map((tool): Tool => Object.create(tool, { run: { value: (...call: Parameters<Tool["run"]>) => newest(tool).run(...call) } }));
    return { signal, onApproval, ...(tools && { tools }) };
  }

  #read(turn: Turn): void {
    this.#turn = turn;
    this.#segment = undefined;
    this.#show({ status: "running", error: undefined });
    const { signal } = this.#present;
    this.#reading = (async () => {
      try {
        for await (const event of turn) {
          this.#isSending = event.type === "tool_calls" || event.type === "tool_results";
          this.#leave();
          if (!signal.aborted) this.#take(turn, event);
        }
        this.#answered(turn);
        if (this.#isPartial && !signal.aborted) await this.#kept(signal).catch(() => {});
      } catch (error) {
        if (!signal.aborted) this.#ended(turn, error as AptixError);
      } finally {
        // Another reading may have begun since.
        if (this.#turn === turn) {
          this.#turn = undefined;
          this.#isSending = false;
        }
        if (!signal.aborted) this.#show({ status: "ready", approvals: [] });
      }
      if (!signal.aborted) this.#again();
    })();
  }

  #take(turn: Turn, event: TurnEvent): void {
    if (event.type === "text") {
      this.#segment = event.segment;
      this.#answer(turn, { text: turn.text });
    } else if (event.type === "discard" && event.segment === this.#segment) this.#discarded(turn);
    else if (event.type === "result") {
      const { response } = event;
      const isFinal = response.Kind === "final";
      const text = isFinal ? response.PrimaryOutputText : (response.ToolContinuationMessage ?? "");
      this.#answer(turn, { text, state: "done", ...(isFinal && { response }) });
      this.#segment = undefined;
    }
  }

  /** An answer to which words were added stays to be read: it is in the conversation. Other text that is taken back goes. */
  #discarded(turn: Turn): void {
    const { messages } = this.#shown;
    const added = messages.slice(this.#openAnswer(turn) + 1).filter(({ role }) => role === "user");
    if (added.length > 0 && !added.some(({ id }) => this.#interrupting.has(id))) this.#answer(turn, { state: "done" });
    else this.#answer(turn, { text: turn.text });
    this.#segment = undefined;
  }

  /** Where the answer stands that is being written; -1 where there is none. */
  #openAnswer({ turnId }: Turn): number {
    return this.#shown.messages.findLastIndex((message) => message.turnId === turnId && message.state === "streaming");
  }

  #answer(turn: Turn, change: Partial<Said>): void {
    const { turnId } = turn;
    const messages = [...this.#shown.messages];
    const at = this.#openAnswer(turn);
    const open = messages[at] ?? { id: answerId(messages, turnId), turnId, role: "assistant", text: "", state: "streaming" };
    const answer: Said = { ...open, ...change };
    // What has neither words nor a response is no message.
    messages.splice(at < 0 ? messages.length : at, at < 0 ? 0 : 1, ...(answer.text || answer.response ? [answer] : []));
    this.#show({ messages });
  }

  #asked(id: string, turnId: string, { Instruction }: TurnRequest): void {
    this.#show({ messages: [...this.#shown.messages, { id, turnId, role: "user", text: Instruction ?? "", state: "done" }] });
  }

  #forget(id: string): void {
    this.#show({ messages: this.#shown.messages.filter((message) => message.id !== id) });
  }

  #ended(turn: Turn, error: AptixError): void {
    const isStopped = error.code === "turn_aborted";
    if (this.#openAnswer(turn) >= 0) this.#answer(turn, { state: isStopped ? "stopped" : "failed" });
    if (isStopped) this.#answered(turn);
    // Words behind another page's turn are sent when that has failed, too, which it says in its stream, of status 200.
    else if (error.status !== 200 || !this.#sent || this.#sent.turnId === turn.turnId) this.#failed(error, this.#sent?.turnId);
  }

  #answered(turn: Turn | undefined): void {
    if (this.#sent?.turnId === turn?.turnId) this.#sent = undefined;
  }

  /** Words that failed are marked: they are in no answer. */
  #failed(error: unknown, id?: string): void {
    const messages = this.#shown.messages.map((message) => (message.id === id ? { ...message, state: "failed" as const } : message));
    this.#show({ messages, error: error as AptixError, connecting: false, ...(!this.#turn && { status: "ready" }) });
  }

  #show(change: Partial<Shown>): void {
    this.#shown = { ...this.#shown, ...change };
    for (const listener of this.#listeners) listener();
  }
}

const isEmpty = (words: string | TurnRequest) => {
  const { Instruction, InputArtifacts, ClipboardImages } = contentOf<TurnRequest>(words);
  return !Instruction?.trim() && !InputArtifacts?.length && !ClipboardImages?.length;
};
const contentOf = <T extends object>(words: string | T) => (typeof words === "string" ? { Instruction: words } : words) as T & TurnRequest;
