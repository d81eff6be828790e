// A back end that hides the key from its page: who asks is this program's to know, and a session belongs to who began it.
import { Aptix } from 'aptix-edge';
import { AptixChatTransport, chatHandler } from 'aptix-edge/ai-sdk';

const { APTIX_URL: baseUrl = 'http://127.0.0.1:8787', APTIX_KEY: credential } = process.env;
const tools = [{ name: 'read_clock', description: 'The time at the user.', parameters: { type: 'object', properties: {} } }];

/** Whom your sign-in says: here, anybody whom a header names. Put the session cookie of your own in its place. */
function userOf(request) {
  const user = request.headers.get('x-user');
  if (!user) throw new Response('Sign in first.', { status: 401 });
  return user;
}

/** The chat of `useChat`, for Hono, Next, Workers, Deno and Bun as it is. */
export const chat = chatHandler((request) => new AptixChatTransport({ client: new Aptix({ baseUrl, credential, user: userOf(request) }), tools }));

/** A ticket, for a page that talks to the service itself. */
export async function ticket(request) {
  try {
    return Response.json(await new Aptix({ baseUrl, credential }).ticket({ User: userOf(request), ExpiresInS: 600 }));
  } catch (error) {
    return error instanceof Response ? error : new Response('There is no ticket now.', { status: 502 });
  }
}
