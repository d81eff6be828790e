// What a network does to turns, by the file that the tests of all clients share (tests/clients/scenarios.json).
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Proxy } from '../../../tests/clients/proxy.mjs';
import { SCENARIOS, planned, scriptedRig, sessionOf } from '../../../tests/clients/turns.mjs';
import { TURNS, View, client, forEach, newLife } from './turns.mjs';

let rig, proxy;
const plans = new Map();
before(async () => {
  rig = await scriptedRig({ KEEP_ALIVE_MS: '50' });
  proxy = await Proxy.before(rig.url);
  proxy.fault = (request) => plans.get(sessionOf(request))?.(request);
});
after(async () => {
  await proxy?.close();
  await rig?.dispose();
});

for (const [name, plan] of Object.entries(SCENARIOS.Faults)) {
  test(name, () =>
    forEach(Object.keys(TURNS), 5, async (turn) => {
      const life = newLife(turn);
      plans.set(life.sessionId, planned(plan));
      const begun = life.begin(client(proxy.url));
      const view = new View();
      for await (const event of begun) view.take(event);
      await life.check(begun);
      if (!plan.Under) assert.deepEqual([view.text, view.pauses], [life.final, life.pauses]);
    }),
  );
}

for (const [name, { Status, Retryable, Requests, ...plan }] of Object.entries(SCENARIOS.GivenUp)) {
  test(name, async () => {
    const life = newLife('plain');
    plans.set(life.sessionId, planned(plan));
    const before = proxy.requests.length;
    await assert.rejects(life.begin(client(proxy.url)).final(), { code: 'connection_lost', status: Status, retryable: Retryable });
    assert.equal(proxy.requests.length - before, Requests);
  });
}
