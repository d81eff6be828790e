// A page in a real Chromium and the Worker behind another origin, for the tests of one file.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before } from 'node:test';
import { serveFolder, startBrowser, withoutBrowser } from '../../../tests/browser/chromium.mjs';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { withApproval } from './approvals.mjs';

/**
 * `{ rig, faults, open }`: `build(folder)` makes the page's files, `open(place)` resolves to a new page at a place of them,
 * which has the service's address as `service`; `faults` is what pages complain of. When all has started, `then` is called.
 */
export function inChromium(build, then) {
  const rig = new Rig({ vars: { ALLOWED_ORIGINS: '*', DELTA_INTERVAL_MS: '0' }, catalog: withApproval });
  const faults = [];
  let folder, server, browser;
  before(async () => {
    if (withoutBrowser) return;
    folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-page-'));
    await build(folder);
    await rig.start();
    server = await serveFolder(folder);
    browser = await startBrowser();
    await then?.();
  });
  after(async () => {
    await browser?.close();
    await server?.close();
    await rig.dispose();
    if (folder) rmSync(folder, { recursive: true, force: true });
  });
  const open = async (place = '') => {
    const page = await (await browser.newContext()).newPage();
    page.on('pageerror', (fault) => faults.push(`${fault}`));
    const url = new URL(place, server.url);
    url.searchParams.set('service', rig.url);
    await page.goto(`${url}`);
    return page;
  };
  return { rig, faults, open };
}
