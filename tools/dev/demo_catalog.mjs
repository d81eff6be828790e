// What `make dev` has besides the built-in catalog: one server tool that needs approval, so that approvals can be tried, the
// webhook of its receiver, and a spare model service where the stand-in has one.
// Owns the tool's definition and the service behind it, which sends nothing anywhere.
import { json } from 'node:stream/consumers';
import BUILT_IN from '../../src/catalog/builtin.json' with { type: 'json' };
import { serve } from '../../tests/local_server.mjs';

const POSTCARD = {
  Name: 'send_postcard',
  Description: 'Sends a postcard to somebody.',
  Parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'] },
  Approval: { When: 'Always', AllowEdit: true, Message: 'The postcard becomes a file, and leaves this machine only with you.' },
};

/**
 * Resolves to the catalog, JSON text, and to `close`, which ends the service behind its tool. `webhookUrl`: the receiver;
 * `spareUrl`: the model service that takes over from the first one.
 */
export async function demoCatalog(webhookUrl, spareUrl) {
  const { origin, close } = await serve(async (request, response) => {
    // Any program and any page on this machine may write here, and what none of them can mean ends nothing.
    const { Arguments } = (await json(request).catch(() => undefined)) ?? {};
    if (!Arguments) return response.writeHead(400).end();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(postcard(Arguments)));
  });
  const catalog = structuredClone(BUILT_IN);
  catalog.ServerTools.push({ ...POSTCARD, Http: { Url: `${origin}/` } });
  for (const mode of catalog.Modes) mode.Tools.push(POSTCARD.Name);
  if (webhookUrl) {
    catalog.Webhooks = { dev: { Url: webhookUrl, SigningSecrets: ['DEV_WEBHOOK_SECRET'] } };
    for (const context of Object.values(catalog.ConversationContexts)) context.Webhooks = ['dev'];
  }
  if (spareUrl) {
    catalog.AgentContexts.default.Fallbacks = ['spare'];
    catalog.AgentContexts.spare = { BaseUrl: spareUrl, ApiKeySecret: 'OPENAI_API_KEY', Model: 'spare' };
  }
  return { catalog: JSON.stringify(catalog), close };
}

/** The result of a call: the postcard, as a file. */
const postcard = ({ to }) => ({
  text: `The postcard to ${to} is written.`,
  Files: [{ Name: `postcard to ${to}.txt`.replaceAll('/', ' '), MimeType: 'text/plain', Text: `Greetings from the edge.\n\nTo ${to}\n` }],
});
