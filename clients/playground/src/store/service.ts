// The service that this page talks to: its own origin. Owns the key, which lives in this module's memory alone.
import { signal } from '@preact/signals';
import { Aptix, type LogEntry } from '../../../typescript/src/index.js';
import { onTheLine } from '../breaking/line.js';

/** Whether the service asks for a key, and whether this page holds one. `refused`: the one that was given. */
export const access = signal<'unknown' | 'open' | 'asked' | 'refused' | 'given'>('unknown');
export const version = signal('');

let key: string | undefined;

/** Every attempt of a request, newest last. */
export const attempts = signal<readonly (LogEntry & { at: number })[]>([]);
const KEPT_ATTEMPTS = 500;

export const aptix = new Aptix({
  baseUrl: location.origin,
  apiKey: () => key,
  fetch: onTheLine,
  onLog: (entry) => (attempts.value = [...attempts.value.slice(1 - KEPT_ATTEMPTS), { ...entry, at: Date.now() }]),
});

/** Asks the service whether it wants a key: its own document says so, and takes none. */
export async function knock(): Promise<void> {
  const response = await fetch('/openapi.json');
  const told = await response.json();
  // A deployment with malformed variables publishes no document, and says which one it is.
  if (!response.ok) throw new Error(told.Errors[0].Message);
  version.value = told.info.version;
  access.value = told.security?.length > 0 ? 'asked' : 'open';
}

export function giveKey(given: string): void {
  key = given;
  access.value = 'given';
}

/** Forgets the key; the page asks for another one. */
export function keyWasRefused(): void {
  key = undefined;
  access.value = 'refused';
}

/** A key for requests that are made without the client; `undefined` where none is needed. */
export const bearer = (): string | undefined => key;
