// The back end in Express, whose requests and responses are those of Node.
import { Readable } from 'node:stream';
import express from 'express';
import { chat, ticket } from './chat.mjs';

/** Runs a handler of Request and Response in Express. No parser of bodies may stand before it. */
const inExpress = (handler) => async (request, response, next) => {
  const left = new AbortController();
  response.on('close', () => left.abort());
  const body = request.method === 'GET' ? undefined : Readable.toWeb(request);
  const url = new URL(request.originalUrl, `http://${request.headers.host}`);
  try {
    const answer = await handler(new Request(url, { method: request.method, headers: request.headers, body, duplex: 'half', signal: left.signal }));
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) Readable.fromWeb(answer.body).on('error', () => response.destroy()).pipe(response);
    else response.end();
  } catch (error) {
    next(error);
  }
};

export const app = express();
app.post('/api/chat', inExpress(chat));
app.get('/api/chat/:id/stream', inExpress(chat));
app.post('/ticket', inExpress(ticket));
