// aptix-edge: agent turns over a service that keeps them. See README.md.
export { Aptix, type AptixOptions, type SessionsOptions, type StreamOptions } from "./client.js";
export type { Credential, Given } from "./credential.js";
export { AptixConnectionError, AptixError, type ErrorDetails, SchemaError } from "./errors.js";
export { formatJson } from "./json_text.js";
export type { Answer, Call, HttpOptions, LogEntry, Middleware, RequestOptions, WithResponse } from "./http.js";
export type { AnswerOf } from "./schema/answer.js";
export { type Fork, Session, type TurnRequest } from "./session.js";
export type { CancellationTokenLike, Signal } from "./signals.js";
export { memoryStore } from "./tools.js";
export type { ApprovalRequest, Decision, Store, Tool, ToolContext, ToolOptions } from "./tools.js";
export { type SteerOptions, Turn, type TurnOptions } from "./turn.js";
export type * from "./types.js";
