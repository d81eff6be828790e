// The back end of the playground in `make dev`: as an application has one, it gives the page a ticket for its user. Owns whom
// it gives one: the page of this service, for whatever name somebody made up there. A real back end knows its users.
import { json } from 'node:stream/consumers';
import { serve } from '../../tests/local_server.mjs';

/** The playground shows all that is kept of a session, and erases it, for which a ticket is good only where it says so. */
const Operations = [
  'Execute', 'Answer', 'Approve', 'Watch', 'Read', 'Cancel', 'List', 'Rename', 'Search', 'Trace', 'Export', 'Erase',
];

/** Gives tickets for the service on a port of this machine; resolves to `{ port, close }`. */
export function ticketServer(port) {
  const Origins = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
  return serve(async (request, response) => {
    const { origin } = request.headers;
    if (!Origins.includes(origin)) return response.writeHead(403).end();
    const head = { 'content-type': 'application/json', 'access-control-allow-origin': origin, 'cache-control': 'no-store' };
    try {
      const { User, Workspaces } = await json(request);
      const body = JSON.stringify({ User, Workspaces, Operations, Origins });
      const answer = await fetch(`http://127.0.0.1:${port}/tickets`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
      // It may break off, and then there is no head yet.
      const text = await answer.text();
      response.writeHead(answer.status, head).end(text);
    } catch {
      response.writeHead(502, head).end();
    }
  });
}
