// The services of embeddings of a catalog: each embeds a word, as the Worker embeds a workspace.
import { noFindings } from './report.mjs';

export const COLUMNS = ['embeddings of', 'model', 'Dimensions', 'numbers', 'takes dimensions'];
/** The longest wait for a vector, in ms. */
const PATIENCE_MS = 60_000;

/** Asks the service of every agent context that has one. */
export async function askEmbeddings(online) {
  const findings = noFindings();
  for (const id of Object.keys(online.document.AgentContexts ?? {}).sort()) {
    const agent = online.document.AgentContexts[id];
    const embeddings = agent.Retrieval?.Index?.Embeddings;
    if (!embeddings) continue;
    const { failure, takes, missing } = await embedded(online, id, agent, embeddings);
    const said = `${id}, ${embeddings.Model}`;
    const dimensions = String(embeddings.Dimensions);
    const row = (numbers, taken) => findings.rows.push([id, embeddings.Model, dimensions, numbers, taken]);
    const [, numbers] = /^its vectors have (\S+) /.exec(failure ?? '') ?? [];
    if (missing || (failure && !numbers)) {
      row('–', '–');
      findings.advice.push(`${said}: gives no embedding: ${missing ?? online.shown(failure)}`);
    } else {
      row(numbers ?? dimensions, takes ? 'yes' : 'no');
      if (numbers) findings.advice.push(`${said}: gives ${numbers} numbers; set "Dimensions": ${numbers}`);
    }
  }
  return findings;
}

/**
 * `{ failure, takes }`: why there is no vector of that length, and whether the service takes the member `dimensions`. Embeddings do
 * not fall back, and the other services are not in this catalog.
 */
async function embedded(online, id, { Fallbacks, ...agent }, embeddings) {
  const missing = online.missingIn(agent);
  if (missing) return { missing };
  const name = online.newName();
  const of = (url) => online.gateway.before(name, url);
  const written = embeddings.BaseUrl
    ? { ...agent, Retrieval: { ...agent.Retrieval, Index: { ...agent.Retrieval.Index, Embeddings: { ...embeddings, BaseUrl: of(embeddings.BaseUrl) } } } }
    : { ...agent, BaseUrl: of(agent.BaseUrl ?? (online.values.OPENAI_BASE_URL || 'https://api.openai.com/v1')) };
  const catalog = {
    AgentContexts: { [id]: written },
    ConversationContexts: { default: { AgentContextId: id, BootPrompt: 'No turn is made.' } },
    Modes: [{ Key: 'general', DisplayName: 'General' }],
  };
  return online.serve(catalog, async (ask, _, log) => {
    const { Errors } = await ask('/workspaces/check/documents', { Documents: [{ Path: 'word.txt', Contents: 'A word.' }] }, 'PUT');
    if (Errors.length > 0) return { failure: Errors[0].Message };
    let line;
    let vectors;
    for (const until = Date.now() + PATIENCE_MS; ; ) {
      line = log().find(({ event }) => event === 'embedding_failed');
      vectors = (await ask('/workspaces/check')).Result?.EmbeddedChunks;
      if (line || vectors > 0 || Date.now() > until) break;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const last = online.gateway.of(name).findLast(({ method }) => method === 'POST');
    const takes = last?.asked?.dimensions !== undefined;
    if (!line) return vectors > 0 ? { takes } : { failure: `it did not answer within ${PATIENCE_MS} ms` };
    // The line begins with the model's name.
    const failure = line.failure.slice(line.failure.indexOf(': ') + 2);
    return { takes, failure: failure.startsWith('its vectors have ') ? failure : (online.gateway.latestFault(name) ?? failure) };
  });
}
