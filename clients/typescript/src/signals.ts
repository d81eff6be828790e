// Ends that come from outside: `AbortSignal`, an editor's cancellation token, or a deadline.
import { AptixConnectionError } from "./errors.js";

/** What `vscode.CancellationToken` looks like. */
export interface CancellationTokenLike {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): unknown };
}
export type Signal = AbortSignal | CancellationTokenLike;

/** A signal that is aborted with any other one, and for being `late` after `deadlineMs`; and what ends listening to both. */
export function abortable(
  signal: Signal | undefined,
  deadlineMs?: number,
  late = (): Error => new AptixConnectionError(`It took longer than ${deadlineMs} ms. A turn may well run on.`),
): { signal: AbortSignal; dispose(): void } {
  const controller = new AbortController();
  const abort = (reason?: unknown) => controller.abort(reason);
  const dispose = after(deadlineMs, () => abort(late()));
  let unlisten: () => unknown;
  if (signal && !("aborted" in signal)) {
    const listening = signal.onCancellationRequested(() => abort());
    if (signal.isCancellationRequested) abort();
    unlisten = () => listening.dispose();
  } else unlisten = onAbort(signal, abort);
  return { signal: controller.signal, dispose: () => (dispose(), void unlisten()) };
}

/** The longest wait of a timer, in ms: of a longer one, such as `Infinity`, it makes none at all. */
const LONGEST_MS = 2 ** 31 - 1;

/** Does something after so many ms, never where there are none, or weeks of them; returns what calls it off. */
export function after(ms: number | undefined, does: () => void): () => void {
  const timer = ms === undefined || ms > LONGEST_MS ? undefined : setTimeout(does, ms);
  return () => clearTimeout(timer);
}

/** Calls `then` once when the signal is aborted, at once if it was; returns what ends listening. */
export function onAbort(signal: AbortSignal | undefined, then: (reason: unknown) => void): () => void {
  const listener = () => then(signal!.reason);
  if (signal?.aborted) listener();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/** Waits for something that knows no signal; rejects with the signal's reason as soon as it is aborted. */
export async function unlessAborted<T>(wait: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  let unlisten = () => {};
  try {
    return await Promise.race([wait, new Promise<never>((_, reject) => (unlisten = onAbort(signal, reject)))]);
  } finally {
    unlisten();
  }
}

/** Waits so many ms; rejects with the signal's reason as soon as it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let callOff = () => {};
  try {
    await unlessAborted(new Promise<void>((passed) => (callOff = after(ms, passed))), signal);
  } finally {
    callOff();
  }
}
