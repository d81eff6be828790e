// One workerd that serves the built Worker: its start, what is asked of its front, and its end. Owns the process and the
// folder with the socket of its front.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import workerd from 'workerd';
import { Fault } from './fault.mjs';
import { workerdConfig } from './workerd_config.mjs';

/** The longest that a start may take, in ms: a catalog of megabytes and a thousand alarms are less than a second. */
const START_MS = 60_000;
/** What workerd gets after SIGTERM before it is killed, in ms. Nothing that was acknowledged is lost by that. */
const END_MS = 3000;
/** The longest that an answer of the front's may take, in ms: a process that hangs is ended all the same. */
const ASK_MS = 5000;
/** The longest that the operating system lets a text of the environment be. */
const MOST_OF_A_VALUE = 128 * 1024 - 1;

/** The oldest glibc 2 that the runtime's program takes. */
const GLIBC = 35;

/** What a Linux lacks that has this glibc, `undefined` where its C library is another one: the end of a sentence. */
export const lacking = (glibc = 'none') =>
  Number(glibc.split('.')[1]) >= GLIBC ? '' : `; it needs glibc 2.${GLIBC} or later, as Debian 12 and Ubuntu 22.04 have it, and this system has ${glibc}`;

/** That of this system, where the program only says that a file is not there, or says it to a log that is gone. */
function lack() {
  if (process.platform !== 'linux') return '';
  // No names of the machine's addresses are asked for.
  process.report.excludeNetwork = true;
  return lacking(process.report.getReport().header.glibcVersionRuntime);
}

export class Workerd {
  /** Resolves to `[code, signal]` when the process has ended. */
  ended;
  /** The port that it listens on. */
  port;
  #process;
  #run;

  /**
   * Starts and resolves when objects can be reached. `config` is the file to write; `values` are the variables and secrets,
   * the rest is `workerdConfig`'s. `stdio` is where its log goes.
   */
  static async start({ config, values, stdio = ['ignore', 'inherit', 'inherit'], onSpawn = () => {}, ...members }) {
    for (const [name, value] of Object.entries(values)) {
      if (Buffer.byteLength(value) + name.length >= MOST_OF_A_VALUE) throw new Fault(`${name} has more than ${MOST_OF_A_VALUE} bytes, which no program takes`);
    }
    const started = new Workerd();
    // The path of a socket has at most 100 characters, which a data folder's may have already.
    started.#run = mkdtempSync(path.join(tmpdir(), 'aptix-edge-'));
    const control = path.join(started.#run, 'control');
    const file = config ?? path.join(started.#run, 'config.capnp');
    try {
      writeFileSync(file, workerdConfig({ ...members, control, names: Object.keys(values) }), { mode: 0o600 });
    } catch (error) {
      rmSync(started.#run, { recursive: true, force: true });
      throw error;
    }
    const environment = Object.fromEntries(['PATH', 'HOME', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'TZ', 'LD_LIBRARY_PATH'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));
    // A group of its own: Ctrl-C reaches the process that ends it in order.
    const child = spawn(workerd.default ?? workerd, ['serve', file, '--import-path=/', '--control-fd=3'], {
      stdio: [...stdio, 'pipe'],
      env: { ...environment, ...values },
      detached: true,
    });
    started.#process = child;
    const failed = once(child, 'error').then(([error]) => {
      throw new Fault(`workerd could not be started: ${error.message}${lack()}`);
    });
    failed.catch(() => {});
    started.ended = once(child, 'exit');
    started.ended.catch(() => {}).finally(() => rmSync(started.#run, { recursive: true, force: true }));
    try {
      await Promise.race([
        failed,
        started.ended.then(([code, signal]) => {
          throw new Fault(`workerd ended before it served (${signal ?? code})${lack()}`);
        }),
        started.#ready(onSpawn),
      ]);
    } catch (fault) {
      child.kill('SIGKILL');
      throw fault;
    }
    return started;
  }

  get pid() {
    return this.#process.pid;
  }

  async #ready(onSpawn) {
    await once(this.#process, 'spawn');
    onSpawn(this.pid);
    const timeout = AbortSignal.timeout(START_MS);
    const control = this.#process.stdio[3];
    // A process that says nothing at all is not waited for either.
    timeout.onabort = () => control.destroy(new Fault(`workerd did not listen within ${START_MS / 1000} s`));
    let told = '';
    for await (const chunk of control.setEncoding('utf8')) {
      told += chunk;
      const lines = told.split('\n').filter((line) => line.endsWith('}')).map((line) => JSON.parse(line));
      const of = (socket) => lines.find((line) => line.event === 'listen' && line.socket === socket);
      this.port ??= of('http')?.port;
      if (of('http') && of('control')) break;
    }
    const { status, body } = await this.#ask('GET', '/ready', undefined, timeout);
    if (status !== 200) throw new Fault(`no object can be reached: ${body}`);
  }

  /** Tells the front what has changed; resolves to `{ Open }`, the requests that are open. */
  async tell(changes) {
    return JSON.parse((await this.#ask('POST', '/', JSON.stringify(changes))).body);
  }

  #ask(method, route, body, signal = AbortSignal.timeout(ASK_MS)) {
    return new Promise((resolve, reject) => {
      const request = http.request({ socketPath: path.join(this.#run, 'control'), method, path: route, signal, headers: { host: 'control', connection: 'close' } }, (response) => {
        text(response).then((body) => resolve({ status: response.statusCode, body }), reject);
      });
      request.once('error', reject).end(body);
    });
  }

  /** Ends the process; resolves when it has ended. */
  async end() {
    this.#process.kill('SIGTERM');
    const late = setTimeout(() => this.#process.kill('SIGKILL'), END_MS);
    await this.ended;
    clearTimeout(late);
  }

  /** Ends the process at once. */
  async kill() {
    this.#process.kill('SIGKILL');
    await this.ended;
  }
}
