// An agent of AG-UI, for CopilotKit, assistant-ui and other front ends of that protocol, over a service that keeps the
// conversation. `@ag-ui/client` is an optional peer: this entry alone needs it.
import { AbstractAgent, type AgentConfig, type AgentSubscriberParams, type BaseEvent, type RunAgentInput } from "@ag-ui/client";
import { Observable } from "rxjs";
import type { Aptix, AptixError, ExecuteRequest, LogEntry, Session, SessionView, Store, StreamEvent, TurnRequest } from "./index.js";
import { answersAlone, answersTo, identifier, userTurn, writesOn, writtenOn } from "./ag-ui/input.js";
import { hasHad, isShown, lacksAnswer, withoutPart } from "./ag-ui/shown.js";
import { RunWriter } from "./ag-ui/run_writer.js";
import { inTime } from "./arrival.js";
import { saidIn } from "./said.js";

/** What an agent's turns are made with. */
export interface AptixAgentConfig extends AgentConfig {
  /** The service. */
  client: Aptix;
  /** Members of every turn, such as `WorkspaceId`; those of `forwardedProps` go before them. */
  request?: TurnRequest | (() => TurnRequest);
  /**
   * Keeps the messages of each thread, under `thread:` and its id, for a front end that has none after a reload, such as
   * CopilotKit: `connectAgent` gives it these, with their tools and reasoning. What outlives the page, such as `localStorage`.
   * Of a thread that it does not have, the service tells what was said, where the credential may export.
   */
  history?: Store;
}

/**
 * The thread's id is the SessionId, the id of a turn's first run its TurnId. A pause for tools of the front end is a run
 * that succeeded; the next run brings their results. A call that needs consent is an interrupt. State is left alone: the
 * service has none of the front end's.
 */
export class AptixAgent extends AbstractAgent {
  private client: Aptix;
  private request: AptixAgentConfig["request"];
  private history: Store | undefined;
  /** What ends the watching of the run under way, and the turn with it. */
  private running: { abort(): void } | undefined;
  /** When calls were handed to the front end, by their id. */
  private handed = new Map<string, number>();

  constructor({ client, request, history, ...config }: AptixAgentConfig) {
    super(config);
    this.client = client;
    this.request = request;
    this.history = history;
    if (history) {
      const keep = (now: Told) => kept(history, now);
      this.subscribe({ onNewMessage: keep, onRunInitialized: keep, onRunFinalized: keep });
    }
  }

  run(input: RunAgentInput): Observable<BaseEvent> {
    return this.observed(input, true, (signal) => this.submission(input, signal));
  }

  /**
   * Follows the turn that runs or waits, such as after a reload, else replays the answer that the messages lack. Answers that
   * the messages have of a pause are sent. Where there are no messages, those of `history` or of the service come first.
   */
  protected override connect(given: RunAgentInput): Observable<BaseEvent> {
    return this.observed(given, false, async (signal, show) => {
      const sessionId = await identifier(given.threadId);
      const session = this.client.session(sessionId);
      const earlier = async () => (await keptOf(this.history, given.threadId)) ?? told(session);
      const before = given.messages.length > 0 ? undefined : await earlier();
      const input = before ? { ...given, messages: before } : given;
      if (before) show(before);
      const { LiveTurn, LatestTurn } = await session.get().catch(unlessUnknown);
      if (LiveTurn) return (await this.continued(sessionId, LiveTurn, input, signal)) ?? this.attached(sessionId, LiveTurn, input, signal);
      const isLacking = LatestTurn && (await lacksAnswer(input, LatestTurn.TurnId, () => session.getTurn(LatestTurn.TurnId)));
      return isLacking ? this.attached(sessionId, LatestTurn, input, signal) : undefined;
    });
  }

  /** Ends the run and its turn. Leaving a run, as `detachActiveRun` does, leaves the turn to itself. */
  override abortRun(): void {
    this.running?.abort();
  }

  override clone(): AptixAgent {
    const cloned = super.clone() as AptixAgent;
    Object.assign(cloned, { client: this.client, request: this.request, history: this.history, running: undefined, handed: new Map(this.handed) });
    return cloned;
  }

  /** `brings`: the input has something for the service. */
  private observed(input: RunAgentInput, brings: boolean, begin: Begin): Observable<BaseEvent> {
    return new Observable((subscriber) => {
      const controller = new AbortController();
      let isAborted = false;
      /** What the front end has said is on its way: whoever leaves takes none of it back. */
      let isSending = brings;
      let turn: Submission | undefined;
      const running = {
        abort: () => {
          isAborted = true;
          const end = () => controller.abort();
          if (turn?.arrival && isSending) void inTime(turn.arrival).then(end);
          else end();
        },
      };
      this.running = running;
      const writer = new RunWriter(input, this.handed);
      const emit = (events: Iterable<BaseEvent>) => {
        for (const event of events) subscriber.next(event);
      };
      const run = async () => {
        emit(writer.start());
        try {
          turn = await begin(controller.signal, (messages) => emit(writer.rewritten(messages)));
          isSending = turn?.arrival !== undefined;
          if (turn && (isSending || !subscriber.closed)) {
            writer.turnId = turn.turnId;
            if (turn.messages) emit(writer.rewritten(turn.messages));
            for await (const event of turn.events) {
              isSending = false;
              if (subscriber.closed) break;
              emit(writer.event(event));
            }
          }
          emit(writer.end());
        } catch (error) {
          if (isAborted) {
            if (turn) await inTime(this.client.session(turn.sessionId).cancel(turn.turnId));
            emit(writer.cancelled());
          } else if (!controller.signal.aborted) emit(writer.failed(error));
        } finally {
          if (this.running === running) this.running = undefined;
        }
        subscriber.complete();
      };
      void run();
      // Who leaves stops the watching alone.
      return () => isSending || controller.abort();
    });
  }

  /** What the input asks for: the answers to a pause, what waits still, or a new turn. */
  private async submission(input: RunAgentInput, signal: AbortSignal): Promise<Submission> {
    const sessionId = await identifier(input.threadId);
    const session = this.client.session(sessionId);
    const turnId = await identifier(input.runId);
    const { LiveTurn, LatestTurn } = await session.get().catch(unlessUnknown);
    // A run that comes again, as after a lost connection, brings nothing new.
    const comesAgain = ({ TurnId }: LiveTurn) => hasHad(input, TurnId, () => session.getTurn(TurnId));
    if (LiveTurn) {
      const continued = await this.continued(sessionId, LiveTurn, input, signal);
      if (continued) return continued;
      // What is not answered yet is put again; a user who writes on gives the turn up.
      const isLeft = writesOn(input) && LiveTurn.TurnId !== turnId && !(await comesAgain(LiveTurn));
      if (!isLeft) return this.attached(sessionId, LiveTurn, input, signal);
      await session.cancel(LiveTurn.TurnId);
    } else if (LatestTurn?.Status === "completed" && (await comesAgain(LatestTurn))) {
      return this.attached(sessionId, LatestTurn, input, signal);
    } else if (LatestTurn?.Status === "aborted" && answersAlone(input)) {
      // What answers a turn that was cancelled begins none: it is told of that end.
      return { ...this.attached(sessionId, LatestTurn, input, signal), messages: undefined };
    }
    const { request } = this;
    const asked = { ...(typeof request === "function" ? request() : request), ...userTurn(input) };
    const body = { ...asked, SessionId: sessionId, TurnId: turnId, Streaming: true };
    return { sessionId, turnId, ...this.sent(body, signal) };
  }

  /**
   * The turn with the answers to its pause; `undefined` while one is missing, or where nothing waits. What the user wrote
   * behind the answers, as after a tool without a follow-up, is added to the turn: the model gets both at once.
   */
  private async continued(sessionId: string, { TurnId: turnId, ToolCalls = [] }: LiveTurn, input: RunAgentInput, signal: AbortSignal): Promise<Submission | undefined> {
    const ToolResults = answersTo(ToolCalls, input, this.handed);
    if (!ToolResults) return undefined;
    const turn = this.client.session(sessionId).attach(turnId, { signal });
    for (const { id, words } of writtenOn(input)) await turn.steer(words, { steerId: await identifier(id) });
    const body = { SessionId: sessionId, TurnId: turnId, ToolResults };
    return { sessionId, turnId, ...this.sent(body, signal) };
  }

  /** What is sent once its events are read. */
  private sent(body: ExecuteRequest, signal: AbortSignal): Pick<Submission, "events" | "arrival"> {
    let arrive!: () => void;
    const arrival = new Promise<void>((resolve) => (arrive = resolve));
    const onLog = ({ status }: LogEntry) => void (status === 200 && arrive());
    return { arrival, events: this.client.stream(body, { progress: true, signal, onLog }) };
  }

  /** The turn from the beginning of its newest submission on. What the messages have of it in part is taken back first. */
  private attached(sessionId: string, { TurnId: turnId, ToolCalls = [] }: LiveTurn, input: RunAgentInput, signal: AbortSignal): Submission {
    const isSaid = ToolCalls.some((call) => isShown(call, input.messages));
    const turn = this.client.session(sessionId).attach(turnId, { progress: true, signal });
    const events = (async function* () {
      for await (const event of turn) {
        if (event.type === "tool_calls" || event.type === "tool_results") continue;
        if (!isSaid || (event.type !== "text" && event.type !== "discard")) yield event;
      }
    })();
    return { sessionId, turnId, events, messages: isSaid ? undefined : withoutPart(input.messages, turnId) };
  }
}

/** Begins what a run watches; `show` puts messages in the place of those that the front end has. */
type Begin = (signal: AbortSignal, show: (messages: RunAgentInput["messages"]) => void) => Promise<Submission | undefined>;

type LiveTurn = Pick<NonNullable<SessionView["LiveTurn"]>, "TurnId" | "ToolCalls">;

interface Submission {
  sessionId: string;
  turnId: string;
  events: AsyncIterable<StreamEvent>;
  /** Of what is sent with it: the service has that. Its first event says so, too. */
  arrival?: Promise<void>;
  /** The messages, where some of them are to be taken back before the events. */
  messages?: RunAgentInput["messages"] | undefined;
}

/** What was said in the thread, as the service has it; `undefined` where nothing was, or where the credential may not read it. */
async function told(session: Session): Promise<RunAgentInput["messages"] | undefined> {
  try {
    const said = saidIn(await session.export()).filter(({ role, text }) => role === "user" || text !== "");
    return said.map(({ id, role, text }) => ({ id, role, content: text }));
  } catch (error) {
    const { code } = error as AptixError;
    if (code !== "session_not_found" && code !== "forbidden") throw error;
    return undefined;
  }
}

const key = (threadId: string) => `thread:${threadId}`;

/** What an agent tells; `input` is its run's. */
type Told = Pick<AgentSubscriberParams, "messages" | "agent"> & { input?: RunAgentInput };

/** What is kept of a thread. A store that cannot be read, as `localStorage` where site data is blocked, ends no run either. */
async function keptOf(history: Store | undefined, threadId: string): Promise<RunAgentInput["messages"] | undefined> {
  try {
    return await history?.get<RunAgentInput["messages"]>(key(threadId));
  } catch (error) {
    console.warn(`aptix-edge: the messages of ${threadId} could not be read.`, error);
    return undefined;
  }
}

/** Keeps the messages of an agent's thread. A store that is full, as `localStorage` may be, ends no run. */
async function kept(history: Store, { messages, agent, input }: Told): Promise<void> {
  // A front end that comes back begins with none.
  if (messages.length === 0) return;
  // A run tells of its end when the front end may have led its agent to another thread already.
  const threadId = input?.threadId ?? agent.threadId;
  try {
    await history.update(key(threadId), structuredClone(messages));
  } catch (error) {
    console.warn(`aptix-edge: the messages of ${threadId} were not kept.`, error);
  }
}

/** A session that has no turn yet is one without a live turn. */
function unlessUnknown(error: unknown): { LiveTurn?: undefined; LatestTurn?: undefined } {
  if ((error as AptixError)?.code === "session_not_found") return {};
  throw error;
}
