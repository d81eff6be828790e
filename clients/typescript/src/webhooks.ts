// What a receiver of webhooks needs (interface §15): whether a message is the service's, by Standard Webhooks 1.0, and the
// shapes of what it tells. It uses Web Crypto alone, so that it runs wherever `fetch` does, and nothing of the client.
import type { AgentExecuteResponse, Entry, ErrorCode, TurnStatus } from "./types.js";

/** What every message tells of its turn. */
export interface TurnData {
  SessionId: string;
  TurnId: string;
  Tenant: string;
  /** Of a user's session. */
  User?: string;
  Status: TurnStatus;
  /** The stored outcome: where the webhook is sent contents, and they are not longer than 256 KiB. */
  Outcome?: { Successful: boolean; Result?: AgentExecuteResponse; Errors: Entry[]; Warnings: Entry[] };
}

/** A message: `type` says what has happened, `timestamp` when. */
export type WebhookEvent =
  | { type: "turn.completed"; timestamp: string; data: TurnData & { Status: "completed"; Kind: "final" } }
  | { type: "turn.failed"; timestamp: string; data: TurnData & { Status: "failed"; ErrorCode: ErrorCode } }
  | { type: "turn.aborted"; timestamp: string; data: TurnData & { Status: "aborted"; ErrorCode: ErrorCode } }
  | {
      type: "turn.awaiting_tools";
      timestamp: string;
      data: TurnData & {
        Status: "awaiting_tools";
        Kind: "client_tool_continuation";
        ToolCalls: { ToolCallId: string; Name: string }[];
      };
    }
  /** `make check-catalog ONLINE=webhooks` asks whether anybody is there. */
  | { type: "ping"; timestamp: string; data: Record<string, unknown> };

/** A message that holds. It may come twice, with the same `id`: a receiver remembers the ids of two days. */
export interface ReceivedWebhook {
  id: string;
  event: WebhookEvent;
}

/** Why a message is not taken: it is not signed by the secret, too old, or nothing that the service sends. Answer it with 401. */
export class WebhookError extends Error {
  override name = "WebhookError";
}

export interface VerifyOptions {
  /** How much older or newer than now a message may be, in seconds. 300. */
  toleranceS?: number;
}

/** Headers in any of the usual forms: of `fetch`, of Node's `http`, of Express. */
export type HeadersLike = { get(name: string): string | null } | Record<string, string | readonly string[] | undefined>;

const PREFIX = "whsec_";

/**
 * The message, if one of the secrets (`whsec_…`) has signed it; else throws a `WebhookError`, whatever the headers and the
 * body are. A secret without the bytes of a key is a `TypeError`: with an empty key, anybody could sign. `body` are the bytes as they
 * came, before any parser. While a secret is being changed, both are given.
 */
export async function verifyWebhook(
  body: string | ArrayBuffer | Uint8Array,
  headers: HeadersLike,
  secrets: string | readonly string[],
  options: VerifyOptions = {},
): Promise<ReceivedWebhook> {
  const keys = [secrets].flat().map(keyOf);
  if (keys.length === 0) throw new TypeError("There is no signing secret.");
  const [id, sentAt, signatures] = ["id", "timestamp", "signature"].map((name) => header(headers, `webhook-${name}`));
  if (!id || !sentAt || !signatures) throw new WebhookError("The message has no webhook-id, webhook-timestamp or webhook-signature.");
  // What is no number is not within the tolerance either.
  if (!(Math.abs(Date.now() / 1000 - Number(sentAt)) <= (options.toleranceS ?? 300))) {
    throw new WebhookError("The message is not of now: its timestamp is too old, or in the future.");
  }
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : new Uint8Array(body);
  const signed = joined(new TextEncoder().encode(`${id}.${sentAt}.`), bytes);
  if (!(await isSigned(signed, signatures, keys))) throw new WebhookError("No signature of the message is that of a secret.");
  try {
    return { id, event: JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes)) as WebhookEvent };
  } catch (error) {
    throw new WebhookError("The message is signed, but it is no JSON.", { cause: error });
  }
}

/** The bytes of a secret. */
function keyOf(secret: string): Uint8Array<ArrayBuffer> {
  const key = typeof secret === "string" && secret.startsWith(PREFIX) ? fromBase64(secret.slice(PREFIX.length)) : undefined;
  if (!key?.length) throw new TypeError(`A signing secret is ${PREFIX} and base64.`);
  return key;
}

/** Whether one of the signatures (`v1,…`, with spaces between) is that of one of the keys. */
async function isSigned(signed: Uint8Array<ArrayBuffer>, signatures: string, keys: readonly Uint8Array<ArrayBuffer>[]): Promise<boolean> {
  const given = signatures.split(" ").flatMap((each) => (each.startsWith("v1,") ? fromBase64(each.slice(3)) ?? [] : []));
  for (const bytes of keys) {
    const key = await crypto.subtle.importKey("raw", bytes, { name: "HMAC", hash: "SHA-256" }, false, ["sign"]);
    // Once: whoever sends a message chooses how many signatures it has.
    const own = new Uint8Array(await crypto.subtle.sign("HMAC", key, signed));
    if (given.some((signature) => isEqual(own, signature))) return true;
  }
  return false;
}

/** Takes the same time wherever they differ. */
function isEqual(own: Uint8Array, other: Uint8Array): boolean {
  let differs = own.length ^ other.length;
  for (const [at, byte] of own.entries()) differs |= byte ^ (other[at] ?? 0);
  return differs === 0;
}

function header(headers: HeadersLike, name: string): string | undefined {
  if (typeof headers.get === "function") return headers.get(name) ?? undefined;
  const entry = Object.entries(headers).find(([each]) => each.toLowerCase() === name);
  return entry && String(entry[1]);
}

function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
  } catch {
    return undefined;
  }
}

function joined(first: Uint8Array, second: Uint8Array): Uint8Array<ArrayBuffer> {
  const both = new Uint8Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}
