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
  const launch = () => chromium.launch({ executablePath, headless: true, args: optimised ? QUIET : [...QUIET, UNOPTIMISED] });
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
