// Whether the service can be reached, as the newest attempt at a request found it. Owns asking again by itself, until the
// service answers: the wait grows with each attempt, and is over as soon as the browser or the human says that it may work.
import { signal } from '@preact/signals';
import type { LogEntry } from '../../../typescript/src/index.js';

/** The service did not answer, and is asked again. */
export const isLost = signal(false);

const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 30_000;
/** Without an answer for so long, an attempt has failed. */
const PATIENCE_MS = 10_000;

const listeners: (() => void)[] = [];
let waitMs = FIRST_WAIT_MS;
let returnedAt = -Infinity;
let timer: ReturnType<typeof setTimeout> | undefined;
let isAsking = false;

/** Is called each time that the service can be reached again. */
export const onReturn = (listener: () => void): void => void listeners.push(listener);

/** What ends an attempt without that the service was asked: the page's own will, and a credential that does not come. */
const NOT_ASKED = ['AbortError', 'AptixError'];

/** Takes note of an attempt at a request. Nobody answered where there is no status. */
export function noteAttempt({ status, error }: Pick<LogEntry, 'status' | 'error'>): void {
  if (status === undefined && !NOT_ASKED.includes(error ?? '')) noteLoss();
}

/** Takes note that the service could not be reached. */
export function noteLoss(): void {
  if (isLost.peek()) return;
  isLost.value = true;
  // A service that is lost again and again is not asked more often for it.
  if (performance.now() - returnedAt > LONGEST_WAIT_MS) waitMs = FIRST_WAIT_MS;
  wait();
}

/** Asks the service now, and not after the wait. */
export function askNow(): void {
  if (isLost.peek() && !isAsking) void ask();
}
addEventListener('online', askNow);
addEventListener('focus', askNow);
document.addEventListener('visibilitychange', () => document.hidden || askNow());

function wait(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), waitMs);
  waitMs = Math.min(LONGEST_WAIT_MS, waitMs * 2);
}

async function ask(): Promise<void> {
  clearTimeout(timer);
  isAsking = true;
  try {
    const { Successful } = await (await fetch('/health', { signal: AbortSignal.timeout(PATIENCE_MS) })).json();
    if (Successful !== true) throw new Error('something else answered');
  } catch {
    return wait();
  } finally {
    isAsking = false;
  }
  returnedAt = performance.now();
  isLost.value = false;
  for (const listener of listeners) listener();
}
