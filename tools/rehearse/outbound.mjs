// The Worker's one way out: it passes what is asked of the model services' origins, answers what the record answers, and refuses
// everything else. The Worker knows no other network.
import http from 'node:http';
import https from 'node:https';
import { ORIGIN } from './rehearsed_catalog.mjs';

/** Headers that concern one connection alone. */
const OF_A_CONNECTION = ['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'];

export class Outbound {
  /** Where the Worker finds it. */
  address;
  /** Origins that were asked for and refused, each once. */
  refused = new Set();
  /**
   * Who answers: `modelCall()` resolves to whether a call goes on to its service, `modelAnswered(status)` is told its status, and
   * `recorded(path, text)` resolves to `{ status, text }`, or to nothing where the connection is to break.
   */
  turn;
  #origins;
  #server;

  /** `origins` are those of the model services. */
  static async start(origins) {
    const outbound = new Outbound();
    outbound.#origins = origins;
    // A turn may wait for its model service as long as it likes; what is said to a proxy names no host but in its URL.
    const server = http.createServer({ requestTimeout: 0, keepAliveTimeout: 0, requireHostHeader: false }, (request, response) => void outbound.#take(request, response));
    outbound.#server = server;
    await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
    outbound.address = `127.0.0.1:${server.address().port}`;
    return outbound;
  }

  close() {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** The Worker speaks to it as to a proxy: the request names the whole URL. */
  async #take(request, response) {
    try {
      const chunks = [];
      for await (const chunk of request) chunks.push(chunk);
      const body = Buffer.concat(chunks);
      const url = new URL(request.url);
      if (url.origin === ORIGIN) return await this.#answer(url, body, response);
      if (!this.#origins.has(url.origin)) {
        this.refused.add(url.origin);
        return void response.writeHead(403).end();
      }
      const isCall = request.method === 'POST' && url.pathname.endsWith('/responses');
      // The Worker gives up a call that is held here.
      if (!isCall || (await this.turn.modelCall())) this.#pass(request, url, body, response, isCall);
    } catch {
      // Whoever asked has left, or asks what nobody understands.
      response.destroy();
    }
  }

  async #answer(url, body, response) {
    const answer = await this.turn.recorded(url.pathname, body.toString());
    if (!answer) return void response.destroy();
    response.writeHead(answer.status, { 'content-type': 'application/json' }).end(answer.text);
  }

  #pass(request, url, body, response, isCall) {
    const headers = { ...without(request.headers), host: url.host, ...(body.length > 0 && { 'content-length': body.length }) };
    const { request: ask } = url.protocol === 'https:' ? https : http;
    const passed = ask(url, { method: request.method, headers }, (answer) => {
      if (isCall) this.turn.modelAnswered(answer.statusCode);
      response.writeHead(answer.statusCode, without(answer.headers));
      response.flushHeaders();
      answer.once('error', () => response.destroy());
      answer.pipe(response);
    });
    passed.once('error', () => response.destroy());
    response.once('close', () => passed.destroy());
    passed.end(body);
  }
}

const without = (headers) => Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_A_CONNECTION.includes(name)));
