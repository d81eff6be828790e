// The receiver of webhooks for local work: it verifies each message and prints a line about it. Owns the secret that it shares
// with the service, which is one of this run alone.
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { serve } from '../../tests/local_server.mjs';

/** The oldest message that is taken, in seconds. */
const TOLERANCE_S = 300;

/** Receives until closed; resolves to `{ url, secret, close }`. `print` gets a line for each message. */
export async function webhookReceiver(print) {
  const key = randomBytes(32);
  const { origin, close } = await serve(async (request, response) => {
    // Whoever leaves in the middle of a message has signed none.
    const body = await text(request).catch(() => '');
    const problem = problemOf(key, request.headers, body);
    print(problem ? `webhook refused: ${problem}` : `webhook ${told(JSON.parse(body))}`);
    response.writeHead(problem ? 401 : 204).end();
  });
  return { url: `${origin}/hooks`, secret: `whsec_${key.toString('base64')}`, close };
}

/** What is wrong with a message; `undefined` for one that holds. */
export function problemOf(key, headers, body, now = Date.now() / 1000) {
  const [id, sentAt, given] = ['id', 'timestamp', 'signature'].map((name) => headers[`webhook-${name}`] ?? '');
  if (!id || !(Math.abs(now - Number(sentAt)) <= TOLERANCE_S)) return 'no id, or not of now';
  const wanted = createHmac('sha256', key).update(`${id}.${sentAt}.${body}`).digest();
  const signatures = given.split(' ').filter((one) => one.startsWith('v1,')).map((one) => Buffer.from(one.slice(3), 'base64'));
  return signatures.some((one) => one.length === wanted.length && timingSafeEqual(one, wanted)) ? undefined : 'no signature of ours';
}

const told = ({ type, data }) => `${type} ${[data.SessionId, data.TurnId, data.ErrorCode].filter(Boolean).join(' ')}`.trim();
