// What the tests in Python run against: the Worker with a scripted model, the proxy of the tests of all clients before it,
// and an endpoint by which the tests, which run in another process, say what the network does and look at what came.
import { once } from 'node:events';
import { Proxy } from '../../../tests/clients/proxy.mjs';
import { asScripted, gateOf, planned, scriptedRig, sessionOf, told } from '../../../tests/clients/turns.mjs';
import { httpTool } from '../../../tests/e2e/harness.mjs';
import { serve } from '../../../tests/local_server.mjs';

const Approval = { When: 'Always', AllowEdit: false, Message: 'It leaves the house.' };
const TICKET_KEYS = JSON.stringify([{ Id: 'one', Secret: Buffer.alloc(32, 7).toString('base64') }]);

function tools(catalog, { toolUrl }) {
  catalog.ServerTools.push(
    httpTool('send_mail', toolUrl, { Approval }),
    httpTool('pay', toolUrl, { Parameters: { type: 'object' }, Approval: { When: 'Always', AllowEdit: true } }),
    httpTool('print', toolUrl),
  );
  catalog.Modes[0].Tools.push('send_mail', 'pay', 'print');
}

/** Starts it all; resolves to `{ origin, url, leftovers, close }`. */
export async function startBed() {
  const rig = await scriptedRig({ KEEP_ALIVE_MS: '50', TURN_ALARM_MS: '200', TICKET_KEYS }, tools);
  rig.tools.on('/send_mail', '{"sent":true}');
  rig.tools.on('/pay', '{"paid":true}');
  rig.tools.on('/print', '{"Files":[{"Name":"q3.csv","MimeType":"text/csv","Text":"id;sum\\n1;2ä\\n"}]}');
  const proxy = await Proxy.before(rig.url);
  const plans = new Map();
  proxy.fault = (request) => plans.get(sessionOf(request))?.(request);
  const actions = {
    '/urls': () => ({ direct: `${rig.url}`.replace(/\/$/, ''), proxied: proxy.url }),
    '/plan': ({ session, plan }) => void plans.set(session, planned(plan)),
    '/open': ({ gate }) => gateOf(gate).open(),
    '/told': ({ script }) => told.get(script) ?? null,
    '/requests': ({ session }) => proxy.requests.filter(({ url, body }) => sessionOf({ url, body }) === session),
    '/ran': ({ tool, session }) => rig.tools.requests.filter(({ path, body }) => path === `/${tool}` && body.SessionId === session).map(({ text }) => text),
    '/logged': ({ id }) => rig.logs.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).filter(({ request_id: of }) => of === id),
    '/openapi': async () => (await fetch(new URL('/openapi.json', rig.url))).json(),
  };
  const server = await serve(async (request, response) => {
    const chunks = [];
    request.on('data', (chunk) => chunks.push(chunk));
    await once(request, 'end');
    const given = (await actions[request.url](JSON.parse(Buffer.concat(chunks).toString() || '{}'))) ?? null;
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(given));
  });
  rig.model.otherwise(asScripted);
  const close = async () => {
    await server.close();
    await proxy.close();
    await rig.dispose();
  };
  return { origin: server.origin, url: `${rig.url}`, leftovers: () => rig.model.leftovers, close };
}

/** Every code of the dictionary as the Worker sends it: `{ dictionary, refusals: { code: { status, text } } }`. */
export async function errorCodes() {
  // It starts a server when it is imported, which lasts until it is disposed of.
  const { KEY, WAYS, disposeOfRigs, rig: failing, startRigs } = await import('../../../tests/e2e/ways_to_fail.mjs');
  await startRigs();
  try {
    const { Result: dictionary } = await (await fetch(new URL('/errors', failing.url), { headers: { authorization: `Bearer ${KEY}` } })).json();
    const refusals = {};
    for (const [code, way] of Object.entries(WAYS)) {
      const [{ status, text }] = await way();
      refusals[code] = { status, text };
    }
    return { dictionary, refusals };
  } finally {
    await disposeOfRigs();
  }
}
