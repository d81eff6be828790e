// The benchmark's end of the model service: starts its process, says what it shall answer, ends it.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { cpuMs } from './process_cost.mjs';

export class ModelService {
  /** As `OPENAI_BASE_URL` wants it. */
  url;
  /** The text of the present answer; `null` where its deltas carry times. */
  text = null;
  /** The number of deltas of the present answer. */
  deltas = 0;
  #process;

  static async start() {
    const service = new ModelService();
    service.#process = fork(fileURLToPath(new URL('model_service_process.mjs', import.meta.url)));
    const [{ port }] = await once(service.#process, 'message');
    service.url = `http://127.0.0.1:${port}/v1`;
    return service;
  }

  /** From here on every answer has `deltas` deltas, `gapMs` apart; `stamped` ones carry the time of their write. */
  async answer({ deltas, gapMs = 0, stamped = false }) {
    const told = once(this.#process, 'message');
    this.#process.send({ deltas, gapMs, stamped });
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
