// The embeddings' part of `make check-catalog ONLINE=1` (check_services.mjs): asks each service of embeddings for one
// vector, and compares its length with the catalog's `Dimensions`. Owns the request, in both forms that the product sends
// (interface §7).

const PATIENCE_MS = 60_000;
/** What is embedded. */
const TEXT = 'A word.';
/** The columns of the table. */
export const EMBEDDING_COLUMNS = ['embeddings of', 'model', 'Dimensions', 'numbers', 'takes dimensions'];

/**
 * What the services of a catalog give: `{rows, advice}`, a table and lines. `address` and `headersOf` are of a service
 * with the members of an agent context; `messageIn` finds the message of a refusal, `shown` takes secrets out of it.
 */
export async function embeddingsOf({ AgentContexts }, asks) {
  const [rows, advice] = [[], []];
  for (const [id, agent] of Object.entries(AgentContexts)) {
    const embeddings = agent.Retrieval?.Index?.Embeddings;
    if (embeddings === undefined) continue;
    const { Model, Dimensions } = embeddings;
    const named = (line) => `${id}, ${Model}: ${line}`;
    const { numbers, isPlain, fault } = await explored(embeddings, serviceOf(agent, embeddings), asks);
    rows.push([id, Model, String(Dimensions), String(numbers ?? '–'), fault ? '–' : isPlain ? 'no' : 'yes']);
    if (fault) advice.push(named(`gives no embedding: ${fault}`));
    else if (numbers !== Dimensions) advice.push(named(`gives ${numbers} numbers; set "Dimensions": ${numbers}`));
  }
  return { rows, advice };
}

/** Without an address of their own, embeddings come from the context's model service, with its key, headers and query. */
function serviceOf({ BaseUrl, ApiKeySecret, Query, Headers = {} }, { BaseUrl: own, Headers: more = {} }) {
  if (own !== undefined) return { BaseUrl: own, Headers: more };
  const names = new Set(Object.keys(more).map((name) => name.toLowerCase()));
  const lent = Object.entries(Headers).filter(([name]) => !names.has(name.toLowerCase()));
  return { BaseUrl, ApiKeySecret, Query, Headers: { ...Object.fromEntries(lent), ...more } };
}

/** `{numbers, isPlain}`, the length of a vector and whether it took a request without `dimensions`; or `{fault}`. */
async function explored({ Model: model, Dimensions: dimensions }, service, asks) {
  const plain = { model, input: [TEXT] };
  const first = await ask(service, { ...plain, dimensions, encoding_format: 'base64' }, asks);
  if (![400, 422].includes(first.status)) return first;
  const second = await ask(service, plain, asks);
  return second.fault ? first : { ...second, isPlain: true };
}

async function ask(service, body, { address, headersOf, shown, messageIn }) {
  try {
    const response = await fetch(address(service, 'embeddings'), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersOf(service) },
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const { status, ok } = response;
    const text = await response.text();
    const told = text.startsWith('{') ? JSON.parse(text) : null;
    if (!ok) return { status, fault: shown(`${status} ${messageIn(told) ?? text}`) };
    const vector = told?.data?.[0]?.embedding;
    if (typeof vector === 'string') return { numbers: Buffer.from(vector, 'base64').length / 4 };
    return Array.isArray(vector) ? { numbers: vector.length } : { fault: 'its answer holds no vector' };
  } catch (error) {
    return { fault: shown(error.cause?.message ?? error.message) };
  }
}
