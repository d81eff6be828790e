// The service that this page talks to: its own origin. Owns the key, which lives in this module's memory alone, and as
// whom requests are made.
import { computed, signal } from '@preact/signals';
import { Aptix, AptixError, type AptixOptions, type LogEntry, type Ticket } from '../../../typescript/src/index.js';
import { onTheLine } from '../breaking/line.js';
import { noteDate } from './clock.js';
import { noteAttempt } from './connection.js';
import { workspace } from './settings.js';

/** Whether the service asks for a key, and whether this page holds one. `refused`: the one that was given. */
export const access = signal<'unknown' | 'open' | 'asked' | 'refused' | 'given'>('unknown');
export const isLetIn = computed(() => access.value === 'open' || access.value === 'given');
export const version = signal('');

let key: string | undefined;
/** The service has refused the key that is held now; what was sent with an earlier one may be answered later. */
let isRefused = false;
let actingFor: string | undefined;

/** A request of this page, by the client or without it: it takes note of a key that is refused. */
export async function ask(url: Parameters<typeof fetch>[0], init?: RequestInit): Promise<Response> {
  const response = noteDate(await onTheLine(url, init));
  const held = new Headers(headersOfTenant());
  isRefused ||= response.status === 401 && new Headers(init?.headers).get('Authorization') === held.get('Authorization');
  return response;
}

/** Every attempt of a request, newest last. */
export const attempts = signal<readonly (LogEntry & { at: number })[]>([]);
const KEPT_ATTEMPTS = 500;

const options: AptixOptions = {
  baseUrl: location.origin,
  credential: () => key,
  fetch: ask,
  onLog: (entry) => {
    attempts.value = [...attempts.value.slice(1 - KEPT_ATTEMPTS), { ...entry, at: Date.now() }];
    noteAttempt(entry);
  },
};
/** The service as the tenant has it: workspaces, and looking after users. */
export const tenant = new Aptix(options);
/** The service as the user of this tab has it, and as the tenant where nobody is signed in. */
export let aptix = tenant;

/** Makes the requests of `aptix` those of a user; `undefined`: of nobody. */
export function actFor(user: string | undefined): void {
  actingFor = user;
  if (user === undefined) aptix = tenant;
  else aptix = new Aptix(TICKETS === null ? { ...options, user } : { ...options, credential: () => ticketFor(user) });
}

/** Where `make dev` has brought a back end that gives tickets: its port on this machine. */
const TICKETS = new URLSearchParams(location.search).get('tickets');

/** What helps where tickets are of a service that is gone: the page's address names the port of those who give them. */
const ANEW = 'Where `make dev` was started again, open the address that it printed last.';
/** The same of a ticket that was refused. */
export const adviceOnTickets = (): string => (TICKETS !== null && actingFor !== undefined ? ` ${ANEW}` : '');

async function ticketFor(user: string): Promise<Ticket> {
  // As plain text, so that the browser does not ask beforehand whether it may.
  const body = JSON.stringify({ User: user, Workspaces: workspace.peek() ? [workspace.peek()] : [] });
  const response = await fetch(`http://127.0.0.1:${TICKETS}/`, { method: 'POST', body }).catch(() => undefined);
  if (!response) throw new AptixError(502, [{ ErrorCode: 'unauthenticated', Message: `Nobody gives this page tickets any more. ${ANEW}`, SystemError: false }]);
  const { Result, Errors } = await response.json();
  if (!Result) throw new AptixError(response.status, Errors);
  return Result;
}

// A ticket names the workspaces that turns may search, so another one needs another ticket.
workspace.subscribe(() => {
  if (TICKETS !== null && actingFor !== undefined) actFor(actingFor);
});

/**
 * Asks the service whether it wants a key: its own document says so, and takes none. Whoever gives no such document is not the
 * service, or one that is being stopped: it is lost, and asked again.
 */
export async function knock(): Promise<void> {
  const response = noteDate(await fetch('/openapi.json'));
  const told = await response.json().catch(() => undefined);
  // A deployment with malformed variables publishes no document, and says which one it is.
  if (response.status === 500 && told?.Errors) throw new Error(told.Errors[0].Message);
  if (!response.ok || !told) throw new TypeError(told?.Errors?.[0].Message ?? `status ${response.status}`);
  version.value = told.info.version;
  access.value = told.security?.length > 0 ? 'asked' : 'open';
}

export function giveKey(given: string): void {
  key = given;
  isRefused = false;
  access.value = 'given';
}

/** Forgets what the service does not know: the user's ticket, or else the key, and the page asks for another one. */
export function credentialWasRefused(): void {
  if (actingFor !== undefined && TICKETS !== null) return actFor(actingFor);
  if (!isRefused) return;
  key = undefined;
  access.value = 'refused';
}

/** The headers with which a request that is made without the client is the tenant's. */
const headersOfTenant = (): Record<string, string> => ({ ...(key && { Authorization: `Bearer ${key}` }) });

/** The same for the user of this tab. */
export async function headersOfUser(): Promise<Record<string, string>> {
  if (actingFor === undefined) return headersOfTenant();
  if (TICKETS !== null) return { Authorization: `Bearer ${(await ticketFor(actingFor)).Ticket}` };
  return { ...headersOfTenant(), 'Aptix-User': encodeURIComponent(actingFor) };
}

/** What a back end sends that makes the same request: a key where one is needed, and the user for whom it acts. */
export const senders = (): { hasKey: boolean; user?: string } => ({ hasKey: key !== undefined, ...(actingFor !== undefined && { user: actingFor }) });
