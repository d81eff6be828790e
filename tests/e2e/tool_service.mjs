// The service behind HTTP server tools: records every request and sends the responses that a test sets.
import http from 'node:http';

export class ToolService {
  /** Every request: `{method, path, headers, body, abortedAt}`; `body` is parsed, `abortedAt` is in ms or `null`. */
  requests = [];
  #server;
  #answers = new Map(); // path -> (response, body) => void

  static async start() {
    const service = new ToolService();
    // The Worker closes its connections; one that the server closes may just then be used again.
    service.#server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => service.#take(request, response));
    await new Promise((resolve) => {
      service.#server.listen(0, '127.0.0.1', resolve);
    });
    return service;
  }

  /** `http://127.0.0.1:port` by default, or the same port under another host name. */
  url(path, host = '127.0.0.1') {
    return `http://${host}:${this.#server.address().port}${path}`;
  }

  /** Sets the response for `path`: JSON text, a status and headers. With `null` as text no response is sent. */
  on(path, text, { status = 200, headers = {} } = {}) {
    this.#answers.set(path, (response) => {
      if (text === null) return;
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    });
  }

  /** Sets what `path` responds: `reply(body)` gives JSON text, or a promise of it. */
  think(path, reply) {
    this.#answers.set(path, async (response, body) => {
      const text = await reply(body);
      if (!response.destroyed) response.writeHead(200, { 'content-type': 'application/json' }).end(text);
    });
  }

  clear() {
    this.requests.length = 0;
    this.#answers.clear();
  }

  close() {
    return new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  async #take(request, response) {
    const chunks = [];
    try {
      for await (const chunk of request) chunks.push(chunk);
    } catch {
      return; // The caller gave the request up before it had sent it whole: that is no call.
    }
    const record = {
      method: request.method,
      path: request.url,
      headers: request.headers,
      body: JSON.parse(Buffer.concat(chunks).toString() || 'null'),
      abortedAt: null,
    };
    this.requests.push(record);
    response.once('close', () => {
      if (!response.writableFinished) record.abortedAt = performance.now();
    });
    const answer = this.#answers.get(request.url);
    if (answer === undefined) response.writeHead(404).end();
    else await answer(response, record.body);
  }
}
