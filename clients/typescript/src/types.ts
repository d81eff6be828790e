// The shapes of the wire under short names. They are generated from the service's OpenAPI document, so that what the
// README and `curl` show is what the code shows.
import type { components } from "./openapi.js";

type Schemas = components["schemas"];

/** A code of the error dictionary (`GET /errors`). */
export type ErrorCode = Schemas["ErrorCode"];
/** An error or a warning of an `InvokeResult`. */
export type Entry = Schemas["Entry"];
/** What a submission ended with: a final response, or a pause for tools of the client. */
export type AgentExecuteResponse = Schemas["AgentExecuteResponse"];
export type FinalResponse = Schemas["FinalResponse"];
export type ToolContinuationResponse = Schemas["ToolContinuationResponse"];
export type ExecuteRequest = Schemas["ExecuteRequest"];
export type UserTurn = Schemas["UserTurn"];
export type ToolContinuation = Schemas["ToolContinuation"];
/** A call that waits for the client: `ToolCallId`, `Name`, `ArgumentsJson`. */
export type ToolCall = Schemas["ToolCall"];
/** The client's answer to a call: `ResultJson` or `ErrorMessage`. */
export type SubmittedToolResult = Schemas["SubmittedToolResult"];
/** A result of a tool that the service ran. */
export type ToolResult = Schemas["ToolResult"];
export type FileRef = Schemas["FileRef"];
export type Usage = Schemas["Usage"];
export type InputArtifact = Schemas["InputArtifact"];
export type ClipboardImage = Schemas["ClipboardImage"];
export type RagScope = Schemas["RagScope"];
export type TurnStatus = Schemas["TurnStatus"];
export type SessionView = Schemas["Session"];
export type TurnView = Schemas["Turn"];
export type TurnEntry = Schemas["TurnEntry"];
export type Trace = Schemas["Trace"];
export type Modes = Schemas["Modes"];
export type SessionExport = Schemas["Export"];
/** What a fork is made of: the new session, its last turn, the context under which it goes on. */
export type ForkRequest = Schemas["ForkRequest"];
export type ForkResult = Schemas["ForkResult"];
export type ErasureReceipt = Schemas["ErasureReceipt"];
export type Document = Schemas["Document"];
export type Upserted = Schemas["Upserted"];
export type Comparison = Schemas["Comparison"];
export type SearchRequest = Schemas["SearchRequest"];
export type Found = Schemas["Found"];
export type WorkspaceCounts = Schemas["WorkspaceCounts"];
export type SessionStatus = Schemas["SessionStatus"];
/** A session as the list of a user's sessions shows it. */
export type SessionEntry = Schemas["SessionEntry"];
export type SessionList = Schemas["SessionList"];
/** What a ticket or a JWT permits. */
export type Operation = Schemas["Operation"];
/** What a ticket is for. A key names the user; what a ticket leaves out that makes a narrower one, it hands on. */
export type TicketRequest = Schemas["TicketRequest"];
export type Ticket = Schemas["Ticket"];
export type UserView = Schemas["UserView"];
export type Revocation = Schemas["Revocation"];
export type UserErasureReceipt = Schemas["UserErasureReceipt"];
/** Words that are added to a turn while it runs or waits. */
export type SteerContent = Omit<Schemas["SteerRequest"], "SteerId" | "Interrupt">;
/** What has become of a steer: `pending` until a model call takes it. */
export type SteerResult = Schemas["SteerResult"];
export type SteerState = Schemas["SteerState"];
export type Steer = Schemas["Steer"];
/** A detached turn that the service has stored. */
export type AcceptedTurn = Schemas["AcceptedTurn"];
export type Health = Schemas["Health"];
export type ErrorDictionary = Schemas["ErrorDictionary"];

/** What a turn is at: live only, never replayed, no part of the result. */
export type Progress = Schemas["Progress"];

/** Text of a segment, that is of one model call. `position` stands behind it. */
export interface TextEvent {
  type: "text";
  segment: number;
  delta: string;
  position: string;
}
/** The segment's text was not the answer: drop it. It may come twice, and for a segment that was never seen. */
export interface DiscardEvent {
  type: "discard";
  segment: number;
}
export interface ProgressEvent {
  type: "progress";
  progress: Progress;
}
/** The end of a submission: of the turn, or of its way to a pause. */
export interface ResultEvent {
  type: "result";
  response: AgentExecuteResponse;
}
/** What one submission tells. */
export type StreamEvent = TextEvent | DiscardEvent | ProgressEvent | ResultEvent;
/** What a turn tells, its pauses included. */
export type TurnEvent =
  | StreamEvent
  | { type: "tool_calls"; calls: ToolCall[]; message?: string }
  | { type: "tool_results"; results: SubmittedToolResult[] };
