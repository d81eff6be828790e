// What stands beside the service for local work, whoever serves it (`make dev`, or the package's `dev`): a stand-in for the
// model service where none is configured, a receiver of webhooks, a back end that gives the playground tickets.
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { standIn } from './stand_in/service.mjs';
import { ticketServer } from './tickets.mjs';
import { webhookReceiver } from './webhook_receiver.mjs';

/** An address has room for so many. */
const MOST_CONTEXTS = 50;

/**
 * Starts them for a service on this port, and resolves to `{ settings, receiver, spareUrl, brought }`: the settings that were
 * given with those for local work, where the stand-in's spare one is, if there is one, and what tells the playground
 * (`brought({ isDemo, catalog })`, with the file of a catalog of one's own) which suggestions fit, which conversation contexts
 * there are, and who gives it tickets. `say` gets a line for the terminal.
 */
export async function localServices(given, port, say) {
  const settings = { ...given };
  const isStandIn = !settings.OPENAI_API_KEY && !settings.OPENAI_BASE_URL;
  let spareUrl;
  if (isStandIn) {
    settings.OPENAI_BASE_URL = (await standIn()).url;
    spareUrl = (await standIn({ isSpare: true })).url;
    settings.OPENAI_API_KEY = 'stand-in';
    // Nobody wants to wait two minutes for a silence that was asked for.
    settings.UPSTREAM_IDLE_TIMEOUT_MS ||= '10000';
    // What is asked of the stand-in is asked of the first one, whatever became of the turn before.
    settings.FALLBACK_REST_MS ||= '0';
    say(`no OPENAI_API_KEY, so a stand-in answers for the model service at ${settings.OPENAI_BASE_URL}`);
  } else {
    say(`the model service is ${settings.OPENAI_BASE_URL ?? 'the one the catalog names'}`);
  }
  settings.AUTH ||= 'none';
  settings.PLAYGROUND ||= 'on';
  // A fixed key keeps earlier links valid after a restart.
  settings.FILE_LINK_KEY ||= 'for local work only';
  // A key of this run: tickets end with it.
  settings.TICKET_KEYS ||= JSON.stringify([{ Id: 'dev', Secret: randomBytes(32).toString('base64') }]);
  // A page cannot make its own ticket, and whoever makes one holds a key, save where none is asked for.
  const tickets = settings.AUTH === 'none' ? await ticketServer(port) : undefined;
  if (tickets) say('AUTH=none, so every request from this machine is let in');
  const receiver = await webhookReceiver(say);
  // The name under which the demo's catalog has it; a catalog of one's own may use both, too.
  settings.DEV_WEBHOOK_SECRET ||= receiver.secret;
  /** A catalog of one's own may name another model service. */
  const brought = ({ isDemo, catalog }) => {
    const contexts = contextsIn(catalog).slice(0, MOST_CONTEXTS).map(encodeURIComponent);
    const known = contexts.length > 1 && `contexts=${contexts.join(',')}`;
    const all = [isDemo && 'demo-catalog', known, isDemo && isStandIn && 'stand-in', tickets && `tickets=${tickets.port}`].filter(Boolean);
    return all.length > 0 ? `?${all.join('&')}` : '';
  };
  return { settings, receiver, spareUrl, brought };
}

/** The conversation contexts of a catalog in a file. What cannot be read is told by whoever serves it. */
function contextsIn(file) {
  try {
    // A decoder leaves out the mark that some editors write first, as the Worker does.
    return Object.keys(JSON.parse(new TextDecoder().decode(readFileSync(file))).ConversationContexts);
  } catch {
    return [];
  }
}
