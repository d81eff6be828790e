// The playground in a real Chromium, over the built Worker and the stand-in for the model service, as `make dev` has
// them. Owns starting them, and watching each page for what it must never do: log an error, break its policy.
import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import { mkdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { httpTool, Rig } from '../e2e/harness.mjs';
import { demoCatalog } from '../../tools/dev/demo_catalog.mjs';
import { standIn } from '../../tools/dev/stand_in/service.mjs';
import { ticketServer } from '../../tools/dev/tickets.mjs';
import { Contexts, startBrowser } from './chromium.mjs';

const AXE = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const SHOTS = fileURLToPath(new URL('../../build-playground-shots/', import.meta.url));
/** The longest wait for what a page should show, in ms. */
const PATIENCE_MS = 60_000;
/** The words that a slow answer has at once. */
const WORDS_AT_ONCE = 3;
export const DESKTOP = { width: 1280, height: 800 };
export const PHONE = { width: 390, height: 780 };

export class Playground {
  rig;
  #model;
  #spare;
  #demo;
  #tickets;
  #browser;
  #contexts;
  #pages = new Set();
  #slow = Promise.withResolvers();

  /**
   * `vars` and `catalog` as for a `Rig`; without `catalog`, that of `make dev`. Answers come at once, but for slow ones, which
   * wait behind their first words for `goOn`; with `wordMs` they come as in `make dev`, and nothing waits. `timed`: in a
   * browser that optimises code, as that of a user does. `tickets`: with the back end that gives the page tickets, whose
   * port is `ticketPort`.
   */
  static async start({ vars = {}, catalog, wordMs, browser = true, timed = false, tickets = false } = {}) {
    const playground = new Playground();
    const slowly = (said) => said === WORDS_AT_ONCE && playground.#slow.promise;
    const pace = wordMs === undefined ? { wordMs: 0, slowly } : { wordMs };
    playground.#model = await standIn(pace);
    playground.#spare = await standIn({ ...pace, isSpare: true });
    const url = playground.#model.url;
    const changes = (document, services) => {
      document.AgentContexts.default.BaseUrl = url;
      catalog(document, services);
    };
    playground.#demo = await demoCatalog(undefined, playground.#spare.url);
    const served = catalog ? changes : playground.#demo.catalog;
    playground.rig = new Rig({ vars: { PLAYGROUND: 'on', OPENAI_BASE_URL: url, FALLBACK_REST_MS: '0', ...vars }, catalog: served });
    await playground.rig.start();
    if (tickets) playground.#tickets = await ticketServer(new URL(playground.rig.url).port);
    if (browser) {
      playground.#browser = await startBrowser({ optimised: timed });
      playground.#contexts = new Contexts(playground.#browser, timed ? undefined : playground.rig.url.href);
    }
    return playground;
  }

  /**
   * Opens the page, `address` being what follows its path; `page.shot(name)` takes a picture of it where SHOTS is set. `kept` is what the
   * browser has in its storage when it comes. `isTouched`: with fingers, as a phone is.
   */
  async page({ viewport = DESKTOP, colorScheme = 'light', address = '', expected = [], kept = {}, isTouched = false } = {}) {
    const context = await this.#contexts.take({ viewport: isTouched ? PHONE : DESKTOP, hasTouch: isTouched, isMobile: isTouched, reducedMotion: 'reduce', permissions: ['clipboard-read', 'clipboard-write'] });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    await page.setViewportSize(viewport);
    await page.emulateMedia({ colorScheme });
    this.#watch(page, expected);
    await page.addInitScript((entries) => {
      for (const [name, value] of Object.entries(entries)) if (localStorage.getItem(name) === null) localStorage.setItem(name, value);
    }, kept);
    await page.addInitScript(() => addEventListener('securitypolicyviolation', (event) => console.error(`policy: ${event.violatedDirective} ${event.blockedURI}`)));
    page.shot = async (name) => {
      if (!process.env.SHOTS) return;
      mkdirSync(SHOTS, { recursive: true });
      await page.screenshot({ path: path.join(SHOTS, `${name}.png`) });
    };
    await page.goto(new URL(`/${address}`, this.rig.url).href);
    await page.getByRole('textbox', { name: 'Message' }).waitFor();
    return page;
  }

  /** Opens another tab of the page's browser, at the same address. */
  async tab(page, { expected = [] } = {}) {
    const tab = await page.context().newPage();
    this.#watch(tab, expected);
    tab.shot = page.shot;
    await tab.goto(page.url());
    await tab.getByRole('textbox', { name: 'Message' }).waitFor();
    return tab;
  }

  /** Opens a page of somebody else, as a user who gives the browser a name and a password. */
  async pageOf(url, httpCredentials) {
    const context = await this.#browser.newContext({ httpCredentials });
    context.setDefaultTimeout(PATIENCE_MS);
    const page = await context.newPage();
    this.#watch(page, [/favicon/]);
    await page.goto(url);
    return page;
  }

  get ticketPort() {
    return this.#tickets.port;
  }

  /** Lets the slow answers that wait go on. */
  goOn() {
    this.#slow.resolve();
    this.#slow = Promise.withResolvers();
  }

  /** Takes note of what a page says that is not expected. */
  #watch(page, expected) {
    page.faults = [];
    const take = (fault) => expected.some((known) => known.test(fault)) || page.faults.push(fault);
    page.on('console', (message) => ['error', 'warning'].includes(message.type()) && take(`${message.type()}: ${message.text()} (${message.location().url})`));
    page.on('pageerror', (error) => take(`thrown: ${error.stack}`));
    this.#pages.add(page);
  }

  /** Closes the pages, and fails when one of them did what it must not. */
  async closePages() {
    this.goOn();
    const pages = [...this.#pages];
    this.#pages.clear();
    // What a test has put in the way of requests must not fail after its end.
    for (const page of pages) if (!page.isClosed()) await page.unrouteAll({ behavior: 'ignoreErrors' });
    for (const context of new Set(pages.map((page) => page.context()))) await this.#contexts.release(context);
    for (const page of pages) assert.deepEqual(page.faults, []);
  }

  async stop() {
    await this.#browser?.close();
    await this.rig?.dispose();
    await this.#model?.close();
    await this.#spare?.close();
    await this.#demo?.close();
    await this.#tickets?.close();
  }
}

/** Sends words as a user does, and resolves to the turn's place on the page. */
export async function say(page, words) {
  const turns = page.locator('.turn');
  const before = await turns.count();
  await page.getByRole('textbox', { name: 'Message' }).fill(words);
  await page.keyboard.press('Enter');
  const turn = turns.nth(before);
  await turn.waitFor();
  return turn;
}

/** Has the service asked now. The page may have done so by itself a moment before, and the button be gone: none that comes later is meant. */
export const tryNow = (page) => page.getByRole('button', { name: 'Try now' }).evaluateAll(([button]) => button?.click());

/** Makes the page busy: its frames come so many ms later, and so do its timers, unless it is the frames alone that wait. */
export const busy = (page, ms, { timers = true } = {}) =>
  page.evaluate(([lateMs, areTimersLate]) => {
    const [later, draws] = [setTimeout.bind(window), requestAnimationFrame.bind(window)];
    window.requestAnimationFrame = (draw) => later(() => draws(draw), lateMs);
    if (areTimersLate) window.setTimeout = (run, waitMs = 0, ...values) => later(run, waitMs + lateMs, ...values);
  }, [ms, timers]);

/** The service makes each fork that the page asks for; the answer to the first one is lost. Returns the ids that were asked for. */
export async function losesFirstFork(page) {
  const ids = [];
  await page.route('**/fork', async (route) => {
    ids.push(route.request().postDataJSON().SessionId);
    const response = await route.fetch();
    if (ids.length > 1) return route.fulfill({ response });
    const Errors = [{ ErrorCode: 'internal', Message: 'The answer is lost.', SystemError: true }];
    await route.fulfill({ status: 500, json: { Successful: false, Errors, Warnings: [] } });
  });
  return ids;
}

/** Says words, and resolves to the turn once it is completed. */
export async function done(page, words) {
  const turn = await say(page, words);
  await hasStatus(turn, 'completed');
  return turn;
}

/** A catalog for `Playground.start`: with a tool `send_mail` in each mode, whose calls wait for a human. `more` is of its `Approval`. */
export const withMail = (more = {}) => (catalog, { toolUrl }) => {
  const Parameters = { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] };
  catalog.ServerTools.push(httpTool('send_mail', toolUrl, { Parameters, Approval: { When: 'Always', AllowEdit: true, ...more } }));
  for (const mode of catalog.Modes) mode.Tools.push('send_mail');
};

/** Signs in as a user, and resolves when the list is that of the user. */
export async function signIn(page, name) {
  await page.getByRole('button', { name: 'Sign in as a user' }).click();
  await page.getByLabel('Any name that you make up').fill(name);
  await page.keyboard.press('Enter');
  // On a phone the list is closed then.
  await page.locator('.who').filter({ hasText: name }).waitFor({ state: 'attached' });
}

/** Opens the panel of this name. On a small screen their buttons are a menu. */
export async function openPanel(page, name) {
  const more = page.getByRole('button', { name: 'More', exact: true });
  if (await more.isVisible()) await more.click();
  await page.getByRole('button', { name, exact: true }).click();
}

/** Agrees to what the page asks before it does it. */
export const agree = (page, does = 'Erase') => page.getByRole('dialog').getByRole('button', { name: does, exact: true }).click();

/** Resolves when a turn has come to this status. */
export const hasStatus = (turn, status) => turn.and(turn.page().locator(`[data-status="${status}"]`)).waitFor();

/** Fails when axe finds anything on the page as it is. */
export async function assertAccessible(page) {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(AXE);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document, { resultTypes: ['violations'] }));
  const told = violations.flatMap(({ id, nodes }) => nodes.map(({ target, failureSummary }) => `${id}: ${target.join(' ')}: ${failureSummary}`));
  assert.deepEqual(told, []);
}
