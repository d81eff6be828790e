// The trace of a turn as the service sends it, and what is fetched for the inspector.
import type { Modes, Trace as SentTrace, TurnEntry, TurnView, Usage } from '../../../typescript/src/index.js';

/** A part of a request: its size, where it came from, or why it was left out. */
export interface Block {
  Block: string;
  Source: string;
  Bytes: number;
  LeftOut?: string;
  DurationMs?: number;
}

export interface ModelCall {
  Number: number;
  StartedAt: string;
  DurationMs?: number | null;
  BodyBytes: number;
  Composition: Block[];
  Mode: string;
  Segment: number;
  Usage?: Usage | null;
  Retries: { HttpStatus?: number; WaitedMs: number }[];
  Fault?: { ErrorCode: string; Message: string } | null;
  /** It wrote a summary of earlier turns. */
  Summary?: boolean;
  /** The chain was lost, so the whole conversation was sent. */
  Rebuilt?: boolean;
  /** How far the conversation is reduced, because the service refused more of it. */
  Reduced?: string;
  Service?: string;
  PreviousResponseId?: string | null;
  /** It was dropped for words that were added. */
  Interrupted?: boolean;
  /** The service made the response without its reader. */
  Background?: boolean;
  /** How often a response in the background was read on. */
  Resumed?: number;
}

export interface TracedCall {
  /** The number of its call among those of `ModelCalls` whose output was kept, from 0. */
  ModelCall: number;
  ToolCallId: string;
  Name: string;
  RunsOn: 'server' | 'client' | 'nobody';
  ExecutionMs?: number;
  Successful?: boolean;
  /** Of the result, or of the error. */
  ResultBytes?: number;
  /** The MCP server that ran it. */
  Mcp?: { Server: string };
  Approval?: { Decision?: string; WaitedMs?: number; Edited?: boolean; DecidedBy?: string };
}

export type Trace = Omit<SentTrace, 'Composition' | 'ModelCalls' | 'ToolCalls'> & {
  Composition: Block[];
  ModelCalls: ModelCall[];
  ToolCalls: TracedCall[];
};

export interface Inspected {
  trace: Trace;
  view: TurnView;
}

/** The name of the key where `AUTH` is `none`. */
const OPEN = 'none';

/** Who sent a turn's submissions, each once: `support:bob for alice, by the ticket tk_1`. */
export function sendersOf({ Submissions }: Trace): string[] {
  const told = Submissions.map(({ Caller = {} }) => {
    const { Key, Ticket, Provider, User, Actor } = Caller;
    const who = [Actor, User].filter((each) => each !== undefined).join(' for ');
    const by = [Ticket && `the ticket ${Ticket}`, Provider && `a token of ${Provider}`, Key && Key !== OPEN && `the key ${Key}`].find(Boolean);
    return [who, by ? `by ${by}` : Key && 'without a key'].filter(Boolean).join(', ');
  });
  return [...new Set(told.filter(Boolean))];
}

export type { Modes, TurnEntry, TurnView };

export const bytes = (count: number): string => (count < 1000 ? `${count} B` : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)} KB`);
export const tokens = (count: number): string => count.toLocaleString('en');
