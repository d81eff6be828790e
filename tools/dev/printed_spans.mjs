// `make dev TRACE=1`: each turn's tree of spans with its times, on the terminal. Owns the listening Worker, which
// wrangler serves beside the product, and the place where its events come to.
import http from 'node:http';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { json } from 'node:stream/consumers';
import { LISTENER_COMPATIBILITY, SpanTrees, listener } from './span_trees.mjs';

/** The name of the listening Worker. */
const NAME = 'aptix-edge-spans';

/** What is shown: the product's own spans, and requests below them. What a statement of SQL takes is not. */
const isShown = ({ name }) => /^(invoke_agent|chat|execute_tool|retrieval|embeddings|fetch|durable_object_subrequest)\b/.test(name);

/** What of a span's attributes is worth a glance, by what it is called there. */
const GLANCE = {
  session: 'gen_ai.conversation.id',
  input_tokens: 'gen_ai.usage.input_tokens',
  output_tokens: 'gen_ai.usage.output_tokens',
  finish_reasons: 'gen_ai.response.finish_reasons',
  status: 'aptix.turn.status',
  error: 'error.type',
};

/**
 * Begins to listen: `{consumer, config}`, the lines that the product's configuration needs, and the file with the
 * listener's own, in `folder`.
 */
export async function printedSpans(folder) {
  const server = http.createServer(async (request, response) => {
    // A page that a browser shows can send a text to any port here; what is printed would steer the terminal.
    if (request.headers.origin !== undefined) return response.writeHead(403).end();
    // Any program on this machine may write here, and what is none of the listener's ends nothing.
    try {
      for (const lines of linesOf(await json(request))) console.log(lines.join('\n'));
    } catch {
      // No spans.
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  server.unref();
  writeFileSync(path.join(folder, 'spans.mjs'), listener(`http://127.0.0.1:${server.address().port}`));
  const config = path.join(folder, 'spans.toml');
  const { date, flags } = LISTENER_COMPATIBILITY;
  writeFileSync(config, `name = "${NAME}"\nmain = "spans.mjs"\ncompatibility_date = "${date}"\ncompatibility_flags = ${JSON.stringify(flags)}\n`);
  return { consumer: `\n[[streaming_tail_consumers]]\nservice = "${NAME}"\n`, config };
}

/** The trees of the turns in an invocation's events. */
function linesOf(events) {
  const trees = new SpanTrees();
  for (const event of events) trees.take(event);
  const line = ({ name, attributes, begunAt, endedAt }) => {
    // Each call has its session's id, which its turn says already.
    const isNews = (called) => called !== 'session' || name.startsWith('invoke_agent ');
    const known = Object.entries(GLANCE).filter(([called, key]) => attributes[key] !== undefined && isNews(called));
    const glance = known.map(([called, key]) => `${called}=${attributes[key]}`);
    return [`${name}  ${endedAt - begunAt} ms`, ...glance].join('  ');
  };
  return trees.trees(/^invoke_agent /, isShown, line);
}
