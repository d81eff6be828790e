// Ends that come from outside: `AbortSignal`, an editor's cancellation token, or a deadline.
import { AptixConnectionError } from "./errors.js";

/** What `vscode.CancellationToken` looks like. */
export interface CancellationTokenLike {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): unknown };
}
export type Signal = AbortSignal | CancellationTokenLike;

/** Any signal as an `AbortSignal` that is also aborted after `deadlineMs`, and what ends listening to both. */
export function abortable(signal: Signal | undefined, deadlineMs?: number): { signal?: AbortSignal; dispose(): void } {
  const isPlain = signal === undefined || "aborted" in signal;
  if (isPlain && deadlineMs === undefined) return { signal, dispose() {} };
  const controller = new AbortController();
  const abort = (reason?: unknown) => controller.abort(reason);
  const late = () => abort(new AptixConnectionError(`It took longer than ${deadlineMs} ms. A turn may well run on.`));
  const timer = deadlineMs === undefined ? undefined : setTimeout(late, deadlineMs);
  const end = isPlain ? onAbort(signal, abort) : signal.onCancellationRequested(() => abort());
  if (!isPlain && signal.isCancellationRequested) abort();
  const unlisten = () => void (typeof end === "function" ? end() : end.dispose());
  return { signal: controller.signal, dispose: () => (clearTimeout(timer), unlisten()) };
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
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await unlessAborted(new Promise((passed) => (timer = setTimeout(passed, ms))), signal);
  } finally {
    clearTimeout(timer);
  }
}
