// The HTTP server that the model services share: their routes, a JSON body, refusals in the live envelope.
// The caller decides on the responses.
import { serve } from '../../local_server.mjs';
import { Refusal } from './refusal.mjs';
import { newId } from './response_stream.mjs';

/**
 * Listens on 127.0.0.1 and passes each `POST /v1/responses` with a JSON body to `take(request, response, body)`,
 * each `DELETE /v1/responses/{id}` to `remove(request, id)`, and each `POST /v1/embeddings` to `embed(request, body)`,
 * which gives the answer; without it there is no such route. `background` answers `GET /v1/responses/{id}` with
 * `read(request, response, id, query)`, and `POST /v1/responses/{id}/cancel` with `cancel(request, id)`. A Refusal that they or the routes throw becomes the
 * response. Resolves to `{ url, close }`; `url` ends in `/v1`.
 */
export async function listen(port, take, remove, embed, background) {
  const { origin, close } = await serve(async (request, response) => {
    try {
      // Some services want a version in the query.
      const [path, query] = request.url.split('?');
      const [, id, cancels] = /^\/v1\/responses\/([^/]+)(\/cancel)?$/.exec(path) ?? [];
      if (background && id !== undefined && cancels && request.method === 'POST') {
        return answerJson(response, 200, background.cancel(request, id));
      }
      if (background && id !== undefined && !cancels && request.method === 'GET') {
        return await background.read(request, response, id, new URLSearchParams(query));
      }
      if (id !== undefined && !cancels && request.method === 'DELETE') {
        await remove(request, id);
        return answerJson(response, 200, { id, object: 'response', deleted: true });
      }
      const embeds = embed !== undefined && path === '/v1/embeddings';
      if (path !== '/v1/responses' && !embeds) throw invalidRoute(404, request);
      if (request.method !== 'POST') throw invalidRoute(405, request);
      if (embeds) return answerJson(response, 200, embed(request, await jsonBody(request)));
      await take(request, response, await jsonBody(request));
    } catch (fault) {
      if (response.headersSent || response.destroyed) return response.destroy();
      const refused =
        fault instanceof Refusal ? fault : new Refusal(String(fault?.stack ?? fault), { status: 500, type: 'server_error' });
      answerJson(response, refused.status, refused.body);
    }
  }, port);
  return { url: `${origin}/v1`, close };
}

export function answerJson(response, status, body, headers = {}) {
  response.writeHead(status, { 'content-type': 'application/json', 'x-request-id': newId('req'), ...headers });
  response.end(JSON.stringify(body));
}

/** The headers of a streamed response, sent at once so that the client sees the response begin. */
export function openStream(response, headers = {}) {
  response.writeHead(200, {
    'content-type': 'text/event-stream; charset=utf-8',
    'cache-control': 'no-cache',
    'x-request-id': newId('req'),
    ...headers,
  });
  response.flushHeaders();
}

/** The bearer key, or the `api-key` of other services, which identifies the caller; throws a Refusal when there is none. */
export function keyOf(request) {
  const [, bearer] = /^Bearer (.+)$/.exec(request.headers.authorization ?? '') ?? [];
  const key = bearer ?? request.headers['api-key'];
  if (key === undefined) {
    throw new Refusal("You didn't provide an API key.", { status: 401, code: 'invalid_api_key' });
  }
  return key;
}

async function jsonBody(request) {
  const chunks = [];
  for await (const chunk of request) chunks.push(chunk);
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new Refusal('We could not parse the JSON body of your request.');
  }
}

const invalidRoute = (status, request) =>
  new Refusal(`Invalid URL (${request.method} ${request.url})`, { status });
