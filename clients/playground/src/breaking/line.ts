// The line to the service: what is open on it, and what went over it. Owns cutting it, as a tunnel does to a phone: the
// client's signals are not aborted, so what the client sees is a connection that broke.

/** A request, as the trials look at it. */
export interface Sent {
  path: string;
  /** Where a stream was to go on. */
  resumedAt?: string;
}

const open = new Set<AbortController>();
const KEPT = 200;
/** The newest requests, newest last. */
export const sent: Sent[] = [];

/** `fetch` over this line. */
export async function onTheLine(url: Parameters<typeof fetch>[0], init: RequestInit = {}): Promise<Response> {
  const connection = new AbortController();
  const { signal } = init;
  const end = () => {
    open.delete(connection);
    connection.abort(signal?.reason);
  };
  if (signal?.aborted) end();
  else signal?.addEventListener('abort', end, { once: true });
  const resumedAt = new Headers(init.headers).get('Last-Event-ID');
  sent.push({ path: new URL(String(url), location.href).pathname, ...(resumedAt !== null && { resumedAt }) });
  sent.splice(0, sent.length - KEPT);
  open.add(connection);
  return fetch(url, { ...init, signal: connection.signal });
}

/** Breaks every open connection. */
export function cut(): void {
  for (const connection of open) connection.abort(new TypeError('the connection was cut by hand'));
  open.clear();
}
