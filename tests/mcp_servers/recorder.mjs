// A server that a test looks through: passes every request on to another one, streams included, and keeps what it held.
import http from 'node:http';

export class Recorder {
  /** Every request: `{method, headers, text, message, abortedAt}`; `message` is the parsed body, or `null`. */
  requests = [];
  /** The URL of the server behind it. A test may put another one in its place. */
  target;
  #server;

  static async start(target) {
    const recorder = new Recorder();
    recorder.target = new URL(target);
    recorder.#server = http.createServer({ keepAliveTimeout: 0 }, (request, response) => recorder.#pass(request, response));
    await new Promise((resolve) => {
      recorder.#server.listen(0, '127.0.0.1', resolve);
    });
    return recorder;
  }

  get url() {
    return `http://127.0.0.1:${this.#server.address().port}${this.target.pathname}`;
  }

  /** The JSON-RPC methods of the requests, in the order in which they came. */
  get methods() {
    return this.requests.map(({ method, message }) => message?.method ?? method);
  }

  /** The parameters of every call of a tool. */
  get calls() {
    return this.requests.filter(({ message }) => message?.method === 'tools/call').map(({ message }) => message.params);
  }

  clear() {
    this.requests.length = 0;
  }

  close() {
    return new Promise((resolve) => {
      this.#server.close(resolve);
      this.#server.closeAllConnections();
    });
  }

  async #pass(request, response) {
    const chunks = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const { method, headers } = request;
    const record = { method, headers, text, message: JSON.parse(text || 'null'), abortedAt: null };
    this.requests.push(record);
    const inner = http.request(this.target, { method, headers: { ...headers, host: this.target.host }, agent: false }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    inner.on('error', () => response.destroy());
    response.once('close', () => {
      if (!response.writableFinished) record.abortedAt = performance.now();
      inner.destroy();
    });
    inner.end(text);
  }
}
