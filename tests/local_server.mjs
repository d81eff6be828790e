// An HTTP server on this machine, as every service of the tests is one. Owns its start and its end, and the record of
// a request.
import http from 'node:http';

/** Listens on 127.0.0.1 until closed, on any free port unless one is given; resolves to `{ port, origin, close }`. */
export async function serve(take, port = 0) {
  // The caller closes its connections; one that the server closes may just then be used again.
  const server = http.createServer({ keepAliveTimeout: 0 }, take);
  await new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', resolve);
  });
  const close = () =>
    new Promise((resolve) => {
      server.close(resolve);
      server.closeAllConnections();
    });
  return { port: server.address().port, origin: `http://127.0.0.1:${server.address().port}`, close };
}

/**
 * Resolves to `{ method, path, headers, text, abortedAt }` when the request has come whole: `text` is its body,
 * `abortedAt` the time in ms at which the caller ceased to wait for the response, or `null`. Resolves to `null` when the
 * caller gave the request up before: that is no call.
 */
export async function recorded(request, response) {
  const chunks = [];
  try {
    for await (const chunk of request) chunks.push(chunk);
  } catch {
    return null;
  }
  const { method, url: path, headers } = request;
  const record = { method, path, headers, text: Buffer.concat(chunks).toString(), abortedAt: null };
  response.once('close', () => {
    if (!response.writableFinished) record.abortedAt = performance.now();
  });
  return record;
}
