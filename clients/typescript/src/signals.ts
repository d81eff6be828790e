// Ends that come from outside: `AbortSignal`, or an editor's cancellation token.

/** What `vscode.CancellationToken` looks like. */
export interface CancellationTokenLike {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): unknown };
}
export type Signal = AbortSignal | CancellationTokenLike;

/** Any signal as an `AbortSignal`, and what ends listening to it. */
export function abortable(signal: Signal | undefined): { signal?: AbortSignal; dispose(): void } {
  if (signal === undefined || "aborted" in signal) return { signal, dispose() {} };
  const controller = new AbortController();
  const listening = signal.onCancellationRequested(() => controller.abort());
  if (signal.isCancellationRequested) controller.abort();
  return { signal: controller.signal, dispose: () => void listening.dispose() };
}

/** Calls `then` once when the signal is aborted, at once if it was; returns what ends listening. */
export function onAbort(signal: AbortSignal | undefined, then: (reason: unknown) => void): () => void {
  const listener = () => then(signal!.reason);
  if (signal?.aborted) listener();
  else signal?.addEventListener("abort", listener, { once: true });
  return () => signal?.removeEventListener("abort", listener);
}

/** Waits for something that knows no signal; rejects with the signal's reason as soon as it is aborted. */
export const unlessAborted = <T>(wait: Promise<T>, signal: AbortSignal): Promise<T> =>
  new Promise((resolve, reject) => {
    onAbort(signal, reject);
    wait.then(resolve, reject);
  });

/** Waits so many ms; rejects with the signal's reason as soon as it is aborted. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  let unlisten = () => {};
  let timer: ReturnType<typeof setTimeout> | undefined;
  try {
    await new Promise<void>((resolve, reject) => {
      timer = setTimeout(resolve, ms);
      unlisten = onAbort(signal, reject);
    });
  } finally {
    clearTimeout(timer);
    unlisten();
  }
}
