// A proxy between client and Worker that cuts, delays and buffers responses. Owns the faults; it changes no byte.
import { setImmediate as turnOfTheLoop } from 'node:timers/promises';
import { serve } from '../local_server.mjs';

/** The ways in which a response is cut: each looks different to a client. */
export const CUTS = ['reset', 'close', 'end'];

export class Proxy {
  /** `{method, url, position, body}` of every request. */
  requests = [];
  /**
   * Given a request, what is done to its response: `undefined`, or
   * - `cutAfter` and `cut`: after so many bytes of the body it is reset, closed within a chunk, ended cleanly, or, by
   *   `silence`, goes on without a byte until the client leaves; -1 is before the request is passed on, -2 when the Worker
   *   has responded and the client has heard nothing;
   * - `pieces`: the bytes come in pieces of this length, a turn of the event loop apart;
   * - `whole`: nothing is passed on before the Worker's response is complete;
   * - `until`: so many ms after its start the response ends cleanly;
   * - `says`: `{status, headers, text}`, which is answered in place of the Worker.
   */
  fault = () => undefined;
  #server;
  #target;

  static async before(target) {
    const proxy = new Proxy();
    await proxy.start(target);
    return proxy;
  }

  async start(target) {
    this.#target = target;
    this.#server = await serve((request, response) => this.#pass(request, response).catch(() => response.destroy()));
    this.url = this.#server.origin;
  }

  close() {
    return this.#server?.close();
  }

  async #pass(request, response) {
    const { method, url, headers } = request;
    const seen = { method, url, position: headers['last-event-id'] };
    this.requests.push(seen);
    const body = method === 'GET' ? undefined : Buffer.concat(await Array.fromAsync(request));
    seen.body = body && `${body}`;
    const fault = this.fault(seen) ?? {};
    const cut = () => (fault.cut === 'reset' ? response.socket?.resetAndDestroy() : response.socket?.destroy());
    if (fault.cutAfter === -1) return cut();
    if (fault.says) return response.writeHead(fault.says.status, fault.says.headers).end(fault.says.text);

    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const { connection, host, 'transfer-encoding': _, 'content-length': __, ...passed } = headers;
    // What comes here is passed on as it is without compression, so that would be work for nothing at both ends.
    passed['accept-encoding'] = 'identity';
    const answer = await fetch(new URL(url, this.#target), { method, headers: passed, body, signal: gone.signal });
    if (fault.cutAfter === -2) return cut();
    const { 'content-length': ___, 'transfer-encoding': ____, 'content-encoding': _____, ...told } = Object.fromEntries(answer.headers);
    const head = () => response.writeHead(answer.status, told).flushHeaders();
    if (!fault.whole) head();
    const timer = fault.until === undefined ? undefined : setTimeout(() => response.end(), fault.until);
    let passedOn = 0;
    const held = [];
    for await (const chunk of answer.body ?? []) {
      if (fault.whole) {
        held.push(chunk);
        continue;
      }
      const room = fault.cutAfter === undefined ? chunk.length : Math.min(chunk.length, fault.cutAfter - passedOn);
      for (let at = 0; at < room; at += fault.pieces ?? room) {
        response.write(chunk.subarray(at, Math.min(room, at + (fault.pieces ?? room))));
        if (fault.pieces) await turnOfTheLoop();
      }
      passedOn += room;
      fault.passed?.(room);
      if (passedOn === fault.cutAfter) {
        if (fault.cut === 'end') return response.end();
        if (fault.cut === 'silence') return undefined;
        // What was written must leave before the connection is cut.
        return response.write('', () => setImmediate(cut));
      }
    }
    clearTimeout(timer);
    if (fault.whole) head();
    response.end(Buffer.concat(held));
  }
}
