// A Worker with a proxy before it, for the tests of one file: both are there before the first test, and each test leaves the
// model's script used up and the network whole.
import assert from 'node:assert/strict';
import { after, afterEach, before } from 'node:test';
import { Proxy } from '../../../tests/clients/proxy.mjs';
import { Rig } from '../../../tests/e2e/harness.mjs';

/** `{ rig, proxy }`; `options` are the rig's. When both have started, `then` is called. */
export function rigBehindProxy(options, then) {
  const rig = new Rig(options);
  const proxy = new Proxy();
  before(async () => {
    await rig.start();
    await proxy.start(rig.url);
    await then?.();
  });
  after(async () => {
    await proxy.close();
    await rig.dispose();
  });
  afterEach(() => {
    assert.deepEqual(rig.model.leftovers, []);
    rig.clear();
    proxy.fault = () => undefined;
    proxy.requests.length = 0;
  });
  return { rig, proxy };
}
