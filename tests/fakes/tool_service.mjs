// The service behind HTTP server tools: records every request and sends the responses that a test sets.
import { recorded, serve } from '../local_server.mjs';

export class ToolService {
  /** Every request: as `recorded` has it, with the parsed `body`. */
  requests = [];
  #server;
  #answers = new Map(); // path -> (response, body) => void

  static async start() {
    const service = new ToolService();
    service.#server = await serve((...exchange) => service.#take(...exchange));
    return service;
  }

  /** `http://127.0.0.1:port` by default, or the same port under another host name. */
  url(path, host = '127.0.0.1') {
    return `http://${host}:${this.#server.port}${path}`;
  }

  /** Sets the response for `path`: JSON text, a status and headers. With `null` as text no response is sent. */
  on(path, text, { status = 200, headers = {} } = {}) {
    this.#answers.set(path, (response) => {
      if (text === null) return;
      response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
    });
  }

  /** Has `play(response, body)` write the responses of `path`. */
  play(path, play) {
    this.#answers.set(path, play);
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
    return this.#server.close();
  }

  async #take(request, response) {
    const record = await recorded(request, response);
    if (record === null) return;
    record.body = JSON.parse(record.text || 'null');
    this.requests.push(record);
    const answer = this.#answers.get(request.url);
    if (answer === undefined) response.writeHead(404).end();
    else await answer(response, record.body);
  }
}
