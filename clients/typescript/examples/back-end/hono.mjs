// The back end in Hono. Its handlers take a Request and give a Response, as Workers, Deno and Bun do.
import { Hono } from 'hono';
import { chat, ticket } from './chat.mjs';

export const app = new Hono();
app.post('/api/chat', (context) => chat(context.req.raw));
app.get('/api/chat/:id/stream', (context) => chat(context.req.raw));
app.post('/ticket', (context) => ticket(context.req.raw));
export default app;
