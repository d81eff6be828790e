// Turns as a model service scripts them, and what a network does to them: one file, `scenarios.json`, for the tests of
// every client. Owns how that file is played; the tests judge what a client makes of it.
import { readFileSync } from 'node:fs';
import { Rig, httpTool } from '../e2e/harness.mjs';
import { Gate, answer, call, commentary, text } from '../e2e/scripted_model.mjs';

/**
 * `Turns`: by name, what the model says in answer to so many outputs of tools, the final text, and how often it pauses.
 * `Faults`: what no client may be harmed by, as `planned` takes it. `GivenUp`: what no client can help, with the status, the
 * retryable flag and the number of requests of the `connection_lost` that it comes to.
 */
export const SCENARIOS = JSON.parse(readFileSync(new URL('scenarios.json', import.meta.url), 'utf8'));

const ITEMS = { text, commentary, call: (name, args) => call(name, args) };
const gates = new Map();
/** The gate of this name, at which a model waits that comes to `{"Gate": name}` among its pieces. */
export function gateOf(name) {
  if (!gates.has(name)) gates.set(name, new Gate());
  return gates.get(name);
}
const piece = (each) => (each?.Gate ? gateOf(each.Gate) : each);
/** A reply of the file as the scripted model plays it. */
export const reply = (items) => answer(...items.map(([kind, ...pieces]) => ITEMS[kind](...pieces.map(piece))));

/** By the turn's instruction: the outputs of tools that the model was given in it, as texts. */
export const told = new Map();

/**
 * A model that follows the instruction and the outputs that the conversation has since. The instruction is the name of a
 * turn, `<plain>`, or it ends in a turn of its own, as JSON behind `script:`.
 */
export const asScripted = {
  async play(exchange) {
    const { conversation } = exchange.record;
    const begin = conversation.findLastIndex(({ role, content }) => role === 'user' && /<[^>]*>|script:/.test(JSON.stringify(content)));
    const words = conversation[begin].content.map((part) => part.text ?? '').join('\n');
    const outputs = conversation.slice(begin).filter(({ type }) => type === 'function_call_output');
    const own = /script:(\{.*\})/.exec(words)?.[1];
    told.set(own ?? words, { outputs: outputs.map(({ output }) => output), steers: conversation.slice(begin + 1).filter(({ role }) => role === 'user').map(({ content }) => content.map((part) => part.text).join('\n')) });
    const { Replies } = own ? JSON.parse(own) : SCENARIOS.Turns[/<([^>]*)>/.exec(words)[1]];
    await reply(Replies[outputs.length]).play(exchange);
  },
};

/** A rig whose model follows the scripts, with the server tool `look`. Deltas are not joined, so that there are several. */
export async function scriptedRig(vars = {}, catalog = () => {}) {
  const rig = new Rig({
    vars: { DELTA_INTERVAL_MS: '0', ...vars },
    catalog: (made, urls) => {
      made.ServerTools.push(httpTool('look', urls.toolUrl));
      made.Modes[0].Tools.push('look');
      catalog(made, urls);
    },
  });
  await rig.start();
  rig.model.otherwise(asScripted);
  rig.tools.on('/look', '{"found":1}');
  return rig;
}

/** The session that a request is about. */
export const sessionOf = ({ url, body }) => /sessions\/([^/?]+)/.exec(url)?.[1] ?? (body ? JSON.parse(body).SessionId : undefined);

/**
 * What a proxy does to the requests of one session, request after request: `First`, a fault or `null` for each of the first
 * ones; then `Each`, which is for all. With `Under` only requests whose path holds one of these are meant. `Left`: after so
 * many bytes of all responses together they are cut, once, as `Cut` says.
 */
export function planned({ First = [], Each, Under, Left, Cut }) {
  let at = 0;
  let left = Left;
  return ({ url }) => {
    if (Under && !Under.some((part) => url.includes(part))) return undefined;
    if (Left === undefined) return (at < First.length ? First[at++] : Each) ?? undefined;
    if (left === undefined) return undefined;
    const cutAfter = left;
    if (left <= 0) left = undefined;
    return { cutAfter, cut: Cut, passed: (bytes) => void (left !== undefined && (left -= bytes) <= 0 && (left = undefined)) };
  };
}
