// One submission, from its request to its `result`. A stream that ends without a result was cut, however cleanly it
// ended, and goes on from the last position; where no stream gets through, the turn's stored outcome is asked for.
import { AptixConnectionError, AptixError } from "./errors.js";
import { type Answer, Attempts, type Call, Exchange, type Http, failureOf, request, resultOf, toldBy } from "./http.js";
import type { Signal } from "./signals.js";
import type { AcceptedTurn, AgentExecuteResponse, DiscardEvent, ExecuteRequest, ProgressEvent, TextEvent, TurnView } from "./types.js";

export interface Submission {
  call: Call;
  /** The path of its turn's view. */
  turnPath: string;
  /** Where its stream goes on. */
  position?: string;
}

export const sessionPath = (sessionId: string) => `/sessions/${encodeURIComponent(sessionId)}`;
export const turnPath = (sessionId: string, turnId: string) => `${sessionPath(sessionId)}/turns/${encodeURIComponent(turnId)}`;
/** How a submission is watched. */
interface Watched {
  progress?: boolean;
  position?: string;
}

/** Sends a submission that nobody watches; resolves when it is stored, or with the outcome of one that has ended. */
export const detached = (options: Http, { call }: Submission, signal?: Signal): Answer<AcceptedTurn | AgentExecuteResponse> =>
  request(options, { ...call, headers: { Prefer: "respond-async" } }, { signal });

/** What is stored of a turn that was sent before. */
export async function stored(options: Http, { turnPath: path }: Submission, signal?: Signal): Promise<AcceptedTurn | AgentExecuteResponse> {
  const view = await request<TurnView>(options, { method: "GET", path, live: true }, { signal });
  const { SessionId, TurnId } = view;
  return outcomeOf(view) ?? { SessionId, TurnId, Status: "running" };
}

/** A POST. It is written once: a repetition is the same bytes. `live`: it is surely answered with a stream. */
export function posted(body: ExecuteRequest, more: Watched & { live: boolean }): Submission {
  return submission(turnPath(body.SessionId, body.TurnId), { method: "POST", path: "/execute", body: JSON.stringify(body), live: more.live }, more);
}

/** The newest submission of a turn, followed while it runs and replayed when it has ended. */
export const followed = (turnPath: string, more: Watched): Submission =>
  submission(turnPath, { method: "GET", path: `${turnPath}/stream`, live: true }, more);

const submission = (turnPath: string, call: Call, { progress, position }: Watched): Submission => ({
  call: progress ? { ...call, query: "Progress=true" } : call,
  turnPath,
  position,
});

/** Of other events nothing is known, not even that their data are JSON. */
const KNOWN = /^(?:output_text\.(?:delta|discard)|progress|result)$/;

/** Yields what comes, and returns the response. Every failure is thrown, those inside a stream included. */
export async function* submit(
  options: Http,
  submission: Submission,
  signal?: AbortSignal,
): AsyncGenerator<TextEvent | DiscardEvent | ProgressEvent, AgentExecuteResponse, void> {
  // Only the request that began a turn runs it again.
  const isPost = submission.call.method === "POST";
  const attempts = new Attempts(isPost ? options : { ...options, retryFailedTurns: 0 }, signal);
  let position = submission.position;
  for (;;) {
    const exchange = new Exchange(options, submission.call, signal);
    let failure: AptixError;
    try {
      const response = await exchange.response(attempts.count, position);
      if (!exchange.isStream) return await exchange.result<AgentExecuteResponse>();
      // What stands between may send an event twice. Within one stream, positions only rise.
      let last: number[] = [];
      for await (const { name, data, id } of exchange.events()) {
        if (!KNOWN.test(name)) continue;
        const read = JSON.parse(data);
        if (name === "output_text.delta") {
          const at = `${id}`.split(".").map(Number);
          if (isNaN(at[0]! + at[1]!)) throw new Error("no position");
          if ((at[0]! - last[0]! || at[1]! - last[1]!) <= 0) continue;
          last = at;
          attempts.progressed();
          position = id!;
          yield { type: "text", segment: read.Segment, delta: read.Delta, position };
        } else if (name === "output_text.discard") yield { type: "discard", segment: read.Segment };
        else if (name === "progress") yield { type: "progress", progress: read };
        else if (name === "result") return resultOf<AgentExecuteResponse>(read, toldBy(response));
      }
      throw new Error("the stream ended without a result");
    } catch (error) {
      failure = failureOf(error, signal, position);
    } finally {
      exchange.close();
    }
    try {
      await attempts.after(failure, exchange.bearer);
    } catch (error) {
      if (error !== failure || !(failure instanceof AptixConnectionError && failure.retryable)) throw error;
      const response = await outcome(options, submission, failure, signal);
      if (response) return response;
      attempts.progressed();
    }
  }
}

/** The turn's stored response; `undefined` while it runs. Throws `failure` when the service does not tell. */
async function outcome(
  options: Http,
  { turnPath: path }: Submission,
  failure: AptixError,
  signal?: AbortSignal,
): Promise<AgentExecuteResponse | undefined> {
  const view = await request<TurnView>({ ...options, maxReconnects: 0, deadlineMs: undefined }, { method: "GET", path, live: true }, { signal }).catch(() => {
    if (signal?.aborted) throw signal.reason;
    throw failure;
  });
  return outcomeOf(view);
}

const outcomeOf = ({ Status, Outcome }: TurnView) =>
  Status === "running" ? undefined : resultOf<AgentExecuteResponse>(Outcome, { status: 200 });
