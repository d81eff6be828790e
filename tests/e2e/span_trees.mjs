// The spans of the Worker under test, as a streaming tail hears them: the trees of each invocation, whole once it has
// ended. Owns the listening Worker and the reading of its events; the tests judge the trees.

/** What a line of the listener begins with. */
export const SPAN_EVENT = 'span event: ';

/** A Worker that logs each event of another one's invocations. */
export const LISTENER = {
  name: 'listener',
  modules: true,
  compatibilityDate: '2026-07-30',
  compatibilityFlags: ['experimental'],
  script: `
    const plain = (name, value) => (typeof value === 'bigint' ? Number(value) : value);
    const tell = ({ spanContext, invocationId, event }) =>
      console.log('${SPAN_EVENT}' + JSON.stringify({ spanContext, invocationId, event }, plain));
    export default {
      fetch: () => new Response(null, { status: 404 }),
      tailStream(onset) {
        tell(onset);
        return { spanOpen: tell, attributes: tell, spanClose: tell, outcome: tell };
      },
    };`,
};

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

  get events() {
    return this.#events;
  }

  /** Every span so far: `{name, id, parent, trace, attributes, ended}`; an invocation is one, too. */
  get spans() {
    const spans = new Map();
    for (const { spanContext, event } of this.#events) {
      const own = spans.get(spanContext.spanId);
      if (event.type === 'onset' || event.type === 'spanOpen') {
        const name = event.type === 'onset' ? `(${event.info.type})` : event.name;
        const { traceId, spanId: parent } = spanContext;
        spans.set(event.spanId, { name, id: event.spanId, parent, trace: traceId, attributes: {}, ended: false });
      } else if (event.type === 'attributes') {
        for (const { name, value } of event.info) if (own) own.attributes[name] = value;
      } else if (event.type === 'spanClose' && own) {
        own.ended = true;
      }
    }
    return [...spans.values()];
  }

  /** The spans of that name. */
  named(name) {
    return this.spans.filter((span) => span.name === name);
  }

  /**
   * The spans for which `isShown` is true, each below its nearest parent that is shown, as texts indented by two spaces,
   * from each span of the name `root` down.
   */
  trees(root, isShown = () => true) {
    const all = this.spans;
    const below = (parent, depth) =>
      all.filter((span) => span.parent === parent.id).flatMap((span) =>
        isShown(span) ? [`${'  '.repeat(depth)}${span.name}`, ...below(span, depth + 1)] : below(span, depth),
      );
    return all.filter(({ name }) => name === root).map((span) => [span.name, ...below(span, 1)]);
  }
}
