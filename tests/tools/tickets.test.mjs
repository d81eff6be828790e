// The back end that `make dev` brings gives tickets to the playground of its own service, and to nobody else.
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { ticketServer } from '../../tools/dev/tickets.mjs';
import { serve } from '../local_server.mjs';

test('tickets are for the page of the service, and are asked for as a back end asks', async () => {
  const asked = [];
  const service = await serve(async (request, response) => {
    asked.push({ url: request.url, headers: request.headers, body: JSON.parse(await text(request)) });
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"Successful":false}');
  });
  const tickets = await ticketServer(service.port);
  const ask = (origin) => fetch(tickets.origin, { method: 'POST', headers: origin ? { origin } : {}, body: '{"User":"zoë","Workspaces":["zoo"]}' });
  try {
    for (const foreign of [undefined, 'null', 'https://evil.example', `http://127.0.0.1:${tickets.port}`]) {
      const { status, headers } = await ask(foreign);
      assert.deepEqual([status, headers.get('access-control-allow-origin')], [403, null], foreign);
    }
    assert.deepEqual(asked, []);
    const pages = [`http://127.0.0.1:${service.port}`, `http://localhost:${service.port}`];
    for (const page of pages) {
      const answer = await ask(page);
      assert.deepEqual([answer.status, await answer.json()], [400, { Successful: false }], 'what the service says reaches the page');
      assert.deepEqual([answer.headers.get('access-control-allow-origin'), answer.headers.get('cache-control')], [page, 'no-store']);
      const { url, headers, body } = asked.pop();
      const { Operations, ...rest } = body;
      assert.deepEqual([url, rest], ['/tickets', { User: 'zoë', Workspaces: ['zoo'], Origins: pages }]);
      assert.ok(Operations.includes('Export') && Operations.includes('Erase'));
      assert.deepEqual([headers.origin, headers['sec-fetch-site']], [undefined, undefined], 'a request of a page mints nothing');
    }
    await service.close();
    assert.equal((await ask(pages[0])).status, 502);
  } finally {
    await service.close();
    await tickets.close();
  }
});

test('a service that breaks off in the middle of its answer is told as one that is not there', async () => {
  const service = await serve((_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('{"Successful":', () => response.destroy());
  });
  const tickets = await ticketServer(service.port);
  try {
    const answer = await fetch(tickets.origin, { method: 'POST', headers: { origin: `http://127.0.0.1:${service.port}` }, body: '{"User":"zoë"}' });
    assert.equal(answer.status, 502);
  } finally {
    await service.close();
    await tickets.close();
  }
});
