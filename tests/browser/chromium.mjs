// A real Chromium for the tests of pages, and a server for their files. Owns finding and starting it; tools/setup/setup installs it.
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { serve } from '../local_server.mjs';
import { release, take } from '../shared.mjs';

// The first one is Chromium without windows: a page costs a quarter of the processor time, since a window has processes of its own.
const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];
// It is to ask nobody anything.
const QUIET = [
  '--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
  '--disable-component-update', '--disable-sync',
];
// A page of a test is gone before code that was optimised for it has paid: without that, pages cost a sixth less of processor time.
const UNOPTIMISED = '--js-flags=--no-opt,--no-maglev';
// The pages of a context are of one process, where code that one of them has compiled serves the next (`Contexts`).
const SHARED = ['--process-per-site', '--renderer-process-limit=1'];
const TYPES = { '.html': 'text/html; charset=utf-8', '.js': 'text/javascript', '.css': 'text/css' };

const executablePath = process.env.CHROMIUM_BIN ?? NAMES.map(found).find((file) => file !== undefined);

/** For a test's `skip`: why it cannot run; in CI it has to. */
export const withoutBrowser = executablePath || process.env.CI === 'true' ? false : 'there is no Chromium: tools/setup/setup chromium';

/**
 * Resolves to `{ newContext, close }`, of the one Chromium of this process: `close` closes the contexts that were made here.
 * `optimised`: of one that optimises code as that of a user does, for what is timed.
 */
export async function startBrowser({ optimised = false } = {}) {
  if (!executablePath) throw new Error('there is no Chromium: tools/setup/setup chromium');
  const key = optimised ? 'chromium, optimised' : 'chromium';
  const launch = () => chromium.launch({ executablePath, headless: true, args: optimised ? QUIET : [...QUIET, UNOPTIMISED, ...SHARED] });
  const browser = await take(key, launch, (launched) => launched.close());
  const contexts = [];
  const newContext = async (options) => {
    const context = await browser.newContext(options);
    contexts.push(context);
    return context;
  };
  const close = async () => {
    await Promise.all(contexts.map((context) => context.close()));
    await release(key);
  };
  return { newContext, close };
}

/**
 * Contexts of a browser for pages at an origin. What a test has left is emptied and serves a later one: in its process all
 * is compiled, and to load a page and to look through it costs a third less. A blank page keeps the process.
 */
export class Contexts {
  #browser;
  #origin;
  #all = new Map();

  /** Without an `origin`, each context is a new one, and closed at its end. */
  constructor(browser, origin) {
    this.#browser = browser;
    this.#origin = origin;
  }

  /** Resolves to a context of these options, with nothing in it. */
  async take(options) {
    const kind = JSON.stringify(options);
    for (const [context, entry] of this.#all) {
      if (entry.kind !== kind || entry.isTaken) continue;
      entry.isTaken = true;
      return context;
    }
    const context = await this.#browser.newContext(options);
    if (!this.#origin) return context;
    const blank = await context.newPage();
    await blank.route('**', (route) => route.fulfill({ contentType: 'text/html', body: '' }));
    await blank.goto(this.#origin);
    this.#all.set(context, { kind, blank, isTaken: true });
    return context;
  }

  /** Gives back a context that is in use, or closes one that is none of these. */
  async release(context) {
    const entry = this.#all.get(context);
    if (!entry) return context.close();
    for (const page of context.pages()) if (page !== entry.blank) await page.close();
    await context.setOffline(false);
    await context.clearCookies();
    await entry.blank.evaluate(() => localStorage.clear());
    entry.isTaken = false;
  }
}

/** Serves a folder on 127.0.0.1; resolves to `{ url, close }`. */
export async function serveFolder(folder) {
  const { origin, close } = await serve(async (request, response) => {
    const name = path.normalize(decodeURIComponent(new URL(request.url, 'http://page').pathname));
    const file = path.join(folder, name.endsWith('/') ? `${name}index.html` : name);
    try {
      const bytes = await readFile(file);
      response.writeHead(200, { 'content-type': TYPES[path.extname(file)] ?? 'application/octet-stream' }).end(bytes);
    } catch {
      response.writeHead(404).end();
    }
  });
  return { url: `${origin}/`, close };
}

function found(name) {
  try {
    return execFileSync('sh', ['-c', `command -v ${name}`], { encoding: 'utf8' }).trim();
  } catch {
    return undefined;
  }
}
