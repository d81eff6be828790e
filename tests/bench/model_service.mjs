// The benchmark's handle on the model service: starts its process, sets its response, ends it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuMs } from './process_cost.mjs';

export class ModelService {
  /** The value for `OPENAI_BASE_URL`. */
  url;
  /** The text of the present response; `null` when its deltas carry times. */
  text = null;
  /** The number of deltas of the present response. */
  deltas = 0;
  #process;

  static async start() {
    const service = new ModelService();
    service.#process = fork(fileURLToPath(new URL('model_service_process.mjs', import.meta.url)));
    const [{ port }] = await once(service.#process, 'message');
    service.url = `http://127.0.0.1:${port}/v1`;
    return service;
  }

  /**
   * Sets all later responses to `deltas` deltas, `gapMs` apart; `stamped` deltas carry the time of their write.
   * `framing` is how they reach the network (model_service_process.mjs).
   */
  async answer({ deltas, gapMs = 0, stamped = false, framing = 'event' }) {
    const told = once(this.#process, 'message');
    this.#process.send({ deltas, gapMs, stamped, framing });
    const [{ text }] = await told;
    this.text = text;
    this.deltas = deltas;
  }

  get cpuMs() {
    return cpuMs(this.#process.pid);
  }

  close() {
    this.#process.disconnect();
  }
}
