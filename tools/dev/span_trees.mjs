// The spans of a Worker, as a streaming tail hears them. Owns the listening Worker and the reading of its events into
// trees; who looks at a tree judges or prints it.

/** What a line of a listener begins with that logs its events. */
export const SPAN_EVENT = 'span event: ';

/** The compatibility that a listener needs. */
export const LISTENER_COMPATIBILITY = { date: '2026-07-30', flags: ['experimental'] };

/**
 * The module of a Worker that tells each event of another one's invocations: it logs each at once, or posts all of an
 * invocation to `url` when that has ended.
 */
export const listener = (url) => `
  const plain = (name, value) => (typeof value === 'bigint' ? Number(value) : value);
  const told = ({ spanContext, invocationId, timestamp, event }) => ({ spanContext, invocationId, at: +timestamp, event });
  const url = ${JSON.stringify(url ?? null)};
  export default {
    fetch: () => new Response(null, { status: 404 }),
    tailStream(onset) {
      const events = [];
      const tell = (event) => {
        if (url) events.push(told(event));
        else console.log('${SPAN_EVENT}' + JSON.stringify(told(event), plain));
      };
      const outcome = async (event) => {
        tell(event);
        if (url) await fetch(url, { method: 'POST', body: JSON.stringify(events, plain) });
      };
      tell(onset);
      return { spanOpen: tell, attributes: tell, spanClose: tell, outcome };
    },
  };`;

export class SpanTrees {
  #events = [];

  take(event) {
    this.#events.push(event);
  }

  clear() {
    this.#events.length = 0;
  }

  /** Every event as text. */
  get text() {
    return JSON.stringify(this.#events);
  }

  /**
   * Every span so far: `{name, id, parent, trace, invocation, attributes, ended, begunAt, endedAt}`, times in ms since the
   * epoch; an invocation is a span, too.
   */
  get spans() {
    const spans = new Map();
    for (const { spanContext, invocationId, at, event } of this.#events) {
      const own = spans.get(spanContext.spanId);
      if (event.type === 'onset' || event.type === 'spanOpen') {
        const name = event.type === 'onset' ? `(${event.info.type})` : event.name;
        const { traceId: trace, spanId: parent } = spanContext;
        const begun = { begunAt: at, endedAt: at, ended: false, attributes: {} };
        spans.set(event.spanId, { name, id: event.spanId, parent, trace, invocation: invocationId, ...begun });
      } else if (event.type === 'attributes') {
        for (const { name, value } of event.info) if (own) own.attributes[name] = value;
      } else if (event.type === 'spanClose' && own) {
        own.ended = true;
        own.endedAt = at;
      }
    }
    return [...spans.values()];
  }

  /** The spans of that name. */
  named(name) {
    return this.spans.filter((span) => span.name === name);
  }

  /**
   * For each span of the name `root` the spans below it for which `isShown` is true, as lines: `line(span)`, indented by two
   * spaces for each of its parents that is shown.
   */
  trees(root, isShown = () => true, line = ({ name }) => name) {
    const all = this.spans;
    const below = (parent, depth) =>
      all.filter((span) => span.parent === parent.id).flatMap((span) =>
        isShown(span) ? ['  '.repeat(depth) + line(span), ...below(span, depth + 1)] : below(span, depth),
      );
    const isRoot = ({ name }) => (root instanceof RegExp ? root.test(name) : name === root);
    return all.filter(isRoot).map((span) => [line(span), ...below(span, 1)]);
  }
}
