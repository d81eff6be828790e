// Another tenant beside a hostile one: a process of its own, with a model service of its own, so that whatever keeps the
// test busy does not count as the Worker's delay. Nor does what keeps the machine busy: a probe's time is without the time
// for which the Worker's thread, or this process's own, was ready to run and had to wait for a core. Owns the probes and
// their times; the tests judge them.
//
// Started by `Neighbour.start`, this file is also the process: its parent sends `{url, key, pid}` to begin a watch and
// `'stop'` to end it; it sends its model's URL once, then the probes of each watch.
import { fork } from 'node:child_process';
import { once } from 'node:events';
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { waitedMs } from '../bench/process_cost.mjs';
import { listen, openStream } from '../fakes/model_service/http_service.mjs';
import { frame, newResponse, responseEvents, text } from '../fakes/model_service/response_stream.mjs';

/** Between two probes of a kind. A stall that begins in this pause loses as much of its length. */
const PAUSE_MS = 5;

/** The name of the neighbour's contexts in the catalog. */
export const CONTEXT = 'neighbour';

/** Adds the neighbour's contexts to a catalog; its model service is at `url`. */
export function addNeighbour(catalog, url) {
  catalog.AgentContexts[CONTEXT] = { ...catalog.AgentContexts.default, BaseUrl: url };
  catalog.ConversationContexts[CONTEXT] = { ...catalog.ConversationContexts.default, AgentContextId: CONTEXT };
}

export class Neighbour {
  /** The base URL of its model service. */
  url;
  #process;

  static async start() {
    const neighbour = new Neighbour();
    neighbour.#process = fork(fileURLToPath(import.meta.url));
    [neighbour.url] = await once(neighbour.#process, 'message');
    return neighbour;
  }

  /**
   * Probes the Worker of `rig` while `work` runs, plain turns and `GET /health` side by side. Resolves to `{turns,
   * healths}`, lists of `{ms, status}`; both hold one probe at least that ended after `work` began.
   */
  async watch({ url, processId }, key, work) {
    this.#process.send({ url: String(url), key, pid: processId });
    await once(this.#process, 'message'); // Both kinds have been answered once.
    const [worked] = await Promise.allSettled([work()]);
    this.#process.send('stop');
    const [probes] = await once(this.#process, 'message');
    if (worked.status === 'rejected') throw worked.reason;
    return probes;
  }

  close() {
    this.#process.disconnect();
  }
}

if (process.send !== undefined && process.argv[1] === fileURLToPath(import.meta.url)) serve();

async function serve() {
  const service = await listen(0, (request, response, body) => {
    openStream(response);
    const events = responseEvents(newResponse(body), [text('Quite', ' well.')], { usage: null });
    for (const event of events) response.write(frame(event));
    response.end();
  });
  let watch = null;
  process.on('disconnect', () => process.exit());
  process.on('message', async (message) => {
    if (message !== 'stop') {
      watch = begin(message);
      await watch.begun;
      process.send('begun');
      return;
    }
    watch.stopped = true;
    process.send(await watch.probes);
  });
  process.send(service.url);
}

let serial = 0;

function begin({ url, key, pid }) {
  const watch = { stopped: false };
  const agent = new http.Agent({ keepAlive: true, timeout: 3000 });
  const headers = { authorization: `Bearer ${key}` };
  const turn = () => {
    serial += 1;
    const body = JSON.stringify({
      SessionId: `neighbour-${process.pid}`, TurnId: `turn-${serial}`, Instruction: 'How are you?',
      AgentContextId: CONTEXT, ConversationContextId: CONTEXT,
    });
    return ask(new URL('/execute', url), { method: 'POST', agent, headers: { ...headers, 'content-type': 'application/json' } }, body, pid);
  };
  const health = () => ask(new URL('/health', url), { method: 'GET', agent }, '', pid);
  const begun = [];
  const loop = async (probe) => {
    const first = Promise.withResolvers();
    begun.push(first.promise);
    await probe();
    first.resolve();
    const probes = [];
    do {
      await pause(PAUSE_MS);
      probes.push(await probe());
    } while (!watch.stopped);
    return probes;
  };
  watch.probes = Promise.all([loop(turn), loop(health)]).then(([turns, healths]) => {
    agent.destroy();
    return { turns, healths };
  });
  watch.begun = Promise.all(begun);
  return watch;
}

function ask(url, options, body, pid) {
  return new Promise((resolve) => {
    const time = () => performance.now() - waitedMs(pid) - waitedMs(process.pid);
    const from = time();
    // The two processes may have waited at the same time, which a quick probe would make less than no time.
    const done = (status) => resolve({ ms: Math.max(0, time() - from), status });
    const request = http.request(url, options, (response) => {
      response.resume();
      response.on('end', () => done(response.statusCode));
      response.on('error', () => done(0));
    });
    request.on('error', () => done(0));
    request.end(body);
  });
}
