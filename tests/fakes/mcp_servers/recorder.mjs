// A server that a test looks through: passes every request on to another one, streams included, and keeps what it held.
import http from 'node:http';
import { recorded, serve } from '../../local_server.mjs';

export class Recorder {
  /** Every request: as `recorded` has it, with the parsed body, or `null`, as `message`. */
  requests = [];
  /** The URL of the server behind it. A test may put another one in its place. */
  target;
  #server;

  static async start(target) {
    const recorder = new Recorder();
    recorder.target = new URL(target);
    recorder.#server = await serve((request, response) => recorder.#pass(request, response));
    return recorder;
  }

  get url() {
    return this.#server.origin + this.target.pathname;
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
    return this.#server.close();
  }

  async #pass(request, response) {
    const record = await recorded(request, response);
    if (record === null) return;
    const { method, headers, text } = record;
    record.message = JSON.parse(text || 'null');
    this.requests.push(record);
    const inner = http.request(this.target, { method, headers: { ...headers, host: this.target.host }, agent: false }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    inner.on('error', () => response.destroy());
    response.once('close', () => inner.destroy());
    inner.end(text);
  }
}
