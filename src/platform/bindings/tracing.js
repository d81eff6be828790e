// The runtime's tracing, which a span's callback makes the place of whatever is opened or sent inside of it. A Rust
// future has no asynchronous context of its own, so a span keeps the context of its callback, and each step of a future
// runs in that one.
import * as workers from 'cloudflare:workers';

// Without the flag `nodejs_als` there is no such module; spans are then siblings.
let AsyncLocalStorage;
try {
  ({ AsyncLocalStorage } = await import('node:async_hooks'));
} catch {}

const { tracing } = workers;

class OpenSpan {
  #span;
  #run;

  constructor(span) {
    this.#span = span;
    if (AsyncLocalStorage) this.#run = AsyncLocalStorage.snapshot();
    else if (tracing.withActiveSpan) this.#run = (work) => tracing.withActiveSpan(span, work);
    else this.#run = (work) => work();
  }

  set(name, value) {
    this.#span.setAttribute(name, value);
  }

  /** Does synchronous work inside of the span. */
  run(work) {
    this.#run(work);
  }

  /** The span's place in its trace, as a `traceparent`; `undefined` where the runtime does not tell. */
  context() {
    const context = this.#span.spanContext?.();
    if (!context?.traceId) return undefined;
    const flags = (context.traceFlags ?? 0).toString(16).padStart(2, '0');
    return `00-${context.traceId}-${context.spanId}-${flags}`;
  }

  end() {
    this.#span.end();
  }
}

/** The place in which this was called: what is opened or sent by its `run` is below the same span. */
class Place {
  #run = AsyncLocalStorage.snapshot();

  run(work) {
    this.#run(work);
  }
}

/** The present place; `undefined` where the runtime tells none. */
export const here = () => (AsyncLocalStorage ? new Place() : undefined);

/** Opens a span; `undefined` where nobody listens, or the runtime has no tracing. */
export function openSpan(name) {
  let opened;
  tracing?.startActiveSpan?.(name, (span) => {
    if (span.isTraced) opened = new OpenSpan(span);
    else span.end();
  });
  return opened;
}
