// A reader who follows a page: types its commands into terminals, saves its files, and compares what the page says comes
// out. Owns the processes that the page starts, and the replacement of what is this machine's own: ports, and the places of
// the reader's files.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { SERVER, commandsOf } from './commands.mjs';
import { checkOutput } from './output.mjs';
import { ROOT } from './pages.mjs';

/** The port on which `make dev` serves, as pages have it. */
const PORT = '8787';
const CLIENT = path.join(ROOT, 'clients/typescript');
/** The longest that a command and the start of a server take, in ms. */
const PATIENCE_MS = 240_000;
/** The longest that a server which has answered takes to say on its terminal what it did, on a machine with much to do. */
const SAYING_MS = 60_000;

/**
 * The shell of the page's first terminal: it reads the names of scripts, and stops at the first that fails. A refusal of
 * the service is a failure of curl.
 */
const SHELL = `set -euo pipefail
curl() { command curl --fail-with-body --max-time 60 "$@"; }
while IFS= read -r how <&3; do
  read -r script <&3
  case $how in
    run) . "$script" </dev/null ;;
    fails) status=0; (. "$script" </dev/null) || status=$?; [ $status = 22 ] || { echo "it did not fail but ended with $status" >&2; exit 1; } ;;
    serves) set -m; (. "$script") </dev/null >"$script.log" 2>&1 & set +m; echo $! ;;
  esac
  printf '\\0'
done`;

/** What is done with the blocks of the pages. `catalogFaults(file)` resolves to what the check of a catalog says. */
export class Reader {
  #page;
  #folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-docs-'));
  #shell;
  #said = '';
  #complained = '';
  /** By the port of the page: the port on this machine. */
  #ports = new Map();
  /** By the port of the page: what serves there. */
  #servers = new Map();
  /** Names of files in the checkout that are the reader's own. */
  #ownFiles = [];
  #saved = 0;
  /** The output of the block before: a function, since a server goes on to write. */
  #output = () => '';
  #options;

  /** `shared`: what serves plain \`make dev\` for all pages, as `start()` has it; `catalogFaults`: see above. */
  constructor(page, options) {
    this.#page = page;
    this.#options = options;
    mkdirSync(path.join(this.#folder, 'node_modules'));
    symlinkSync(CLIENT, path.join(this.#folder, 'node_modules/aptix-edge'));
  }

  /** Follows the page to its end. */
  async follow() {
    for (const block of this.#page.blocks) {
      try {
        await this.#take(block);
      } catch (error) {
        error.message = `${block.page}:${block.at}: ${error.message}`;
        throw error;
      }
    }
  }

  async #take({ language, marks, text }) {
    if (marks['not-run'] || ['sql', 'dotenv', 'mermaid', 'ini', 'nginx', 'caddy', 'dockerfile'].includes(language)) return;
    if (marks.creates) this.#ownFiles.push(marks.creates);
    if (marks.shows) this.#output = this.#servers.get(marks.shows).output;
    if (marks.output || marks.shows) await this.#compare(language, text);
    else if (marks.file) await this.#save(marks.file, text);
    else if (marks.catalog) await this.#check(this.#withCatalog(text));
    else if (marks.configuration) await this.#configure(text);
    else if (language === 'ts') await this.#runProgram(text);
    else if (marks.serves) await this.#serve(marks.serves, text);
    else await this.#run(marks, text);
  }

  /** A page's text as it is on this machine. */
  #here(text) {
    const agent = path.join(this.#folder, 'my-agent');
    let here = text.replaceAll('../my-agent', agent);
    for (const name of this.#ownFiles) here = here.replace(new RegExp(`(?<![\\w./-])${name.replaceAll('.', '\\.')}(?![\\w-])`, 'g'), path.join(this.#folder, name));
    for (const [paged, port] of this.#ports) here = here.replaceAll(new RegExp(`\\b${paged}\\b`, 'g'), port);
    return here;
  }

  /** What this machine says, as the page has it. */
  #asPaged(text) {
    let paged = text.replaceAll(path.join(this.#folder, 'my-agent'), '../my-agent').replaceAll(`${this.#folder}/`, '');
    for (const [port, here] of this.#ports) paged = paged.replaceAll(new RegExp(`\\b${here}\\b`, 'g'), port);
    return paged;
  }

  async #save(name, text) {
    const isOfCheckout = !name.startsWith('../');
    if (isOfCheckout && !this.#ownFiles.includes(name)) this.#ownFiles.push(name);
    // A catalog may name a server that starts later.
    for (const [, port] of text.matchAll(/127\.0\.0\.1:(\d{4,5})/g)) await this.#portOf(port);
    const file = this.#here(name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, this.#here(text));
    if (/catalog\.json$/.test(name)) await this.#check(file);
  }

  async #portOf(port) {
    if (!this.#ports.has(port)) this.#ports.set(port, port === PORT ? (await this.#options.shared()).port : await freePort());
    return this.#ports.get(port);
  }

  /** The built-in catalog with other members, as a file. */
  #withCatalog(members) {
    const builtIn = JSON.parse(readFileSync(path.join(ROOT, 'src/catalog/builtin.json'), 'utf8'));
    return this.#scratch('json', JSON.stringify({ ...builtIn, $schema: undefined, ...JSON.parse(members) }));
  }

  async #check(file) {
    const { code, output } = await this.#options.checkCatalog(file);
    assert.equal(code, 0, `the catalog has faults:\n${output}`);
  }

  /** What the package makes of members of a configuration. */
  async #configure(text) {
    const args = ['config', '--config', this.#scratch('json', text), '--to', path.join(this.#folder, 'made')];
    const { code, stderr } = await ended(spawn(process.execPath, [SERVER, ...args], { cwd: ROOT }));
    assert.equal(code, 0, `the configuration has faults:\n${stderr}`);
  }

  #scratch(extension, text) {
    this.#saved += 1;
    const file = path.join(this.#folder, `block-${this.#saved}.${extension}`);
    writeFileSync(file, text);
    return file;
  }

  async #runProgram(text) {
    await this.#portOf(PORT);
    const file = this.#scratch('mts', this.#here(text));
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file], { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'] });
    const { code, stdout, stderr } = await ended(child);
    assert.equal(code, 0, `the program failed:\n${stderr}`);
    assert.notEqual(stdout.trim(), '', 'the program printed nothing');
    this.#output = () => stdout;
  }

  async #run(marks, text) {
    if (text.includes(PORT)) await this.#portOf(PORT);
    for (const deadline = performance.now() + PATIENCE_MS; ; await pause(200)) {
      const output = await this.#type(marks.fails ? 'fails' : 'run', text);
      this.#output = () => output;
      if (!marks.until || output.includes(marks.until)) return;
      assert.ok(performance.now() < deadline, `waited in vain for ${marks.until}: ${output}`);
    }
  }

  async #serve(port, text) {
    const isPlain = JSON.stringify(commandsOf(text)) === '[["make","dev"]]';
    await this.#end(port);
    if (isPlain) {
      const shared = await this.#options.shared();
      this.#ports.set(port, shared.port);
      this.#output = shared.output;
      return;
    }
    // A file that was saved before may name the port.
    if (port === PORT || !this.#ports.has(port)) this.#ports.set(port, await freePort());
    const script = this.#scratch('sh', this.#here(text));
    writeFileSync(`${script}.log`, '');
    const pid = Number(await this.#give('serves', script));
    this.#output = () => readFileSync(`${script}.log`, 'utf8');
    this.#servers.set(port, { pid, port: this.#ports.get(port), output: this.#output });
    await answers(this.#ports.get(port), () => isAlive(pid), this.#output);
  }

  async #type(how, text) {
    return this.#give(how, this.#scratch('sh', this.#here(text)));
  }

  /** Gives the shell a script; resolves to what it wrote. */
  async #give(how, script) {
    this.#shell ??= this.#open();
    const shell = this.#shell;
    [this.#said, this.#complained] = ['', ''];
    const port = this.#ports.get(PORT);
    // \`make dev\` takes its port from the environment.
    if (how === 'serves') writeFileSync(script, `export PORT=${port}\n${readFileSync(script, 'utf8')}`);
    shell.stdio[3].write(`${how}\n${script}\n`);
    const deadline = AbortSignal.timeout(PATIENCE_MS);
    while (!this.#said.includes('\0')) {
      assert.equal(shell.exitCode, null, `a command failed:\n${this.#said}${this.#complained}`);
      assert.ok(!deadline.aborted, `a command did not end:\n${this.#said}${this.#complained}`);
      await pause(50);
    }
    return this.#said.slice(0, this.#said.indexOf('\0'));
  }

  #open() {
    const env = { ...process.env, ...this.#options.environment };
    const shell = spawn('bash', ['--norc', '-c', SHELL], { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
    shell.stdout.setEncoding('utf8').on('data', (said) => (this.#said += said));
    shell.stderr.setEncoding('utf8').on('data', (said) => (this.#complained += said));
    shell.stdio[3].on('error', () => {});
    return shell;
  }

  async #compare(language, expected) {
    const deadline = performance.now() + SAYING_MS;
    for (;;) {
      try {
        return checkOutput(language, expected, this.#asPaged(this.#output()));
      } catch (error) {
        if (performance.now() > deadline || this.#servers.size === 0) throw error;
        await pause(200);
      }
    }
  }

  async #end(port) {
    const server = this.#servers.get(port);
    if (server === undefined) return;
    this.#servers.delete(port);
    await endGroup(server.pid);
    forget(server.port);
  }

  /** Ends what the page started, and removes its files. */
  async close() {
    for (const port of [...this.#servers.keys()]) await this.#end(port);
    this.#shell?.stdio[3].end();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Starts plain \`make dev\`, once for all who ask: resolves to `{port, output, close}`. */
export function sharedService(environment) {
  let started;
  const start = async () => {
    const port = await freePort();
    const env = { ...process.env, ...environment, PORT: port };
    const child = spawn('make', ['dev'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
    let said = '';
    for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (more) => (said += more));
    await answers(port, () => child.exitCode === null, () => said);
    const close = async () => {
      await endGroup(child.pid);
      forget(port);
    };
    return { port, output: () => said, close };
  };
  return { get: () => (started ??= start()), close: async () => (await started?.catch(() => {}))?.close() };
}

/** Resolves when something on the port answers HTTP. */
async function answers(port, isRunning, output) {
  for (const deadline = performance.now() + PATIENCE_MS; ; await pause(100)) {
    assert.ok(isRunning(), `the server ended:\n${output()}`);
    assert.ok(performance.now() < deadline, `the server on port ${port} does not answer:\n${output()}`);
    const answer = await fetch(`http://127.0.0.1:${port}/health`, { signal: AbortSignal.timeout(5000) }).catch(() => undefined);
    await answer?.body?.cancel();
    if (answer) return;
  }
}

/**
 * A port that nobody has. It lies below those that systems give out by themselves (32768 on Linux, 49152 elsewhere), so
 * that no connection of another test takes it before the server does.
 */
async function freePort() {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    const probe = net.createServer().listen(port, '127.0.0.1');
    const isFree = await once(probe, 'listening').then(() => true, () => false);
    await new Promise((closed) => probe.close(closed));
    if (isFree) return String(port);
  }
}

/** Resolves to the exit code and the output of a process. */
export async function ended(child) {
  let [stdout, stderr] = ['', ''];
  child.stdout.setEncoding('utf8').on('data', (more) => (stdout += more));
  child.stderr.setEncoding('utf8').on('data', (more) => (stderr += more));
  const [code] = await once(child, 'close');
  return { code, stdout, stderr };
}

function isAlive(pid) {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

async function endGroup(pid) {
  const signal = (name) => {
    try {
      return process.kill(-pid, name);
    } catch {
      return false;
    }
  };
  signal('SIGTERM');
  for (const deadline = performance.now() + 10_000; signal(0); await pause(50)) {
    if (performance.now() > deadline) signal('SIGKILL');
  }
}

/** Removes what `make dev` on a port has kept. */
function forget(port) {
  const kept = path.join(ROOT, `.wrangler/state-${port}`);
  if (existsSync(kept)) rmSync(kept, { recursive: true, force: true });
}
