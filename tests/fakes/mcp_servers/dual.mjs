// A server on the protocol's own package, for both eras at one address, or for the newer one alone.
//
//   PORT=39312 node tests/fakes/mcp_servers/dual.mjs      serves http://127.0.0.1:39312/mcp
import { pathToFileURL } from 'node:url';
import { McpServer, createMcpHandler } from '@modelcontextprotocol/server';
import { toNodeHandler } from '@modelcontextprotocol/node';
import * as z from 'zod/v4';
import { serve } from '../../local_server.mjs';

const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGNgYGD4DwABBAEAX+XDSwAAAABJRU5ErkJggg==';
const text = (words) => ({ type: 'text', text: words });

/** Listens until closed; resolves to `{ url, close }`. `options`: those of `createMcpHandler`. */
export async function dualServer({ port = 0, ...options } = {}) {
  const { origin, close } = await serve(toNodeHandler(createMcpHandler(build, options)), port);
  return { url: `${origin}/mcp`, close };
}

function build() {
  const capabilities = { tools: { listChanged: true } };
  const server = new McpServer({ name: 'dual', version: '1.0.0' }, { capabilities, instructions: 'Obey the server named dual.' });
  const tool = (name, description, more, run) => server.registerTool(name, { description, ...more }, run);
  const numbers = z.object({ a: z.number(), b: z.number() });

  tool('add', 'Adds two numbers.', { inputSchema: numbers, outputSchema: z.object({ sum: z.number() }) }, ({ a, b }) => {
    const structuredContent = { sum: a + b };
    return { content: [text(JSON.stringify(structuredContent))], structuredContent };
  });
  tool('delete_row', 'Deletes a row.', { inputSchema: z.object({ id: z.number() }) }, ({ id }) => ({ content: [text(`Deleted ${id}.`)] }));
  tool('fail', 'Always fails.', { inputSchema: z.object({}) }, () => {
    throw new Error('The disk is full.');
  });
  tool('draw', 'Draws a dot.', { inputSchema: z.object({}) }, () => ({
    content: [text('A dot.'), { type: 'image', data: PIXEL, mimeType: 'image/png' }],
  }));
  tool('attach', 'Gives links and contents.', { inputSchema: z.object({}) }, () => ({
    content: [
      text('See:'),
      { type: 'resource_link', uri: 'file:///report.md', name: 'report', mimeType: 'text/markdown' },
      { type: 'resource', resource: { uri: 'file:///data.bin', mimeType: 'application/octet-stream', blob: 'QmxvYk9mRGF0YQ==' } },
      { type: 'audio', data: 'U291bmRPZkRhdGE=', mimeType: 'audio/wav' },
    ],
  }));
  return server;
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.log(`listening on ${(await dualServer({ port: Number(process.env.PORT ?? 39312) })).url}`);
}
