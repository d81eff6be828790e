// A way to produce each code of the error dictionary on the real runtime. Owns the rigs that it takes; the tests judge.
import assert from 'node:assert/strict';
import net from 'node:net';
import { IdentityProvider, claimsOf, inSeconds, joseToken, keyPair } from '../fakes/identity_provider.mjs';
import { release, take } from '../shared.mjs';
import { exchange } from './raw_http.mjs';
import { BY_PACKAGE, Rig, apiKeys, clientTool, eventually, httpTool, resultOf, userTurn } from './harness.mjs';
import { Gate, answer, call, gated, httpError, raw, silence, text } from './scripted_model.mjs';

export const KEY = 'key-of-one';
const idp = await IdentityProvider.start();
const pair = keyPair('ES256');
idp.keys('/keys', [pair]);
/** An identity provider, whose users are those of the tenant `one`. */
const provider = (Issuer, path) => ({ Issuer, JwksUrl: idp.url(path), Audiences: ['https://agent.example.com'], Tenant: 'one', UserPrefix: path });
const client = JSON.stringify([clientTool('read')]);
/** The one that most codes come from, for which `KEY` is a key. */
export const rig = new Rig({
  vars: {
    AUTH: undefined,
    API_KEYS: apiKeys({ [KEY]: 'one' }),
    IDENTITY_PROVIDERS: JSON.stringify([provider('https://up.example', '/keys'), provider('https://down.example', '/nowhere')]),
    MAX_BODY_BYTES: '10000',
    MAX_ITERATIONS: '2',
    MAX_TURNS: '3',
  },
  catalog: (catalog, { toolUrl }) => {
    catalog.ServerTools.push(httpTool('look', toolUrl));
    catalog.Modes[0].Tools.push('look');
    catalog.AgentContexts.poor = { ...catalog.AgentContexts.default, Budget: { TurnTokens: 1 } };
  },
});
const slow = new Rig({ vars: { BODY_TIMEOUT_MS: '200' } });
/**
 * The longest body that is permitted, and a rig that permits it. Of its model service it hears nothing but silence, which may
 * be short: elsewhere a busy machine would end calls that are meant to go on.
 */
const LONGEST = 24 << 20;
const roomy = new Rig({ vars: { MAX_BODY_BYTES: String(LONGEST), UPSTREAM_IDLE_TIMEOUT_MS: '700' } });
const rated = new Rig({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'one' }) }, rate: 1 });
const miscatalogued = new Rig({ catalog: '{}' });
const misconfigured = new Rig({ vars: { MAX_ITERATIONS: 'many' } });
const crashing = new Rig({ vars: { UPSTREAM_IDLE_TIMEOUT_MS: '20000' } });
// The package's server takes no wrong catalog, and so does not start with one.
const rigs = [rig, slow, roomy, rated, misconfigured, crashing, ...(BY_PACKAGE ? [] : [miscatalogued])];

const start = async () => {
  for (const each of rigs) await each.start();
};
const dispose = () => Promise.all([idp, ...rigs].map((each) => each.dispose?.() ?? each.close()));

/** The rigs start with the first file that takes them. */
export async function startRigs() {
  await take('ways to fail', start, dispose);
  for (const each of rigs) each.clear();
}
export const disposeOfRigs = () => release('ways to fail');

const post = (body, more) => rig.post(body, { key: KEY, ...more });
/** The answer to a request with a token that ends in so many seconds. */
const withToken = async (issuer, seconds) => {
  const token = await joseToken(claimsOf(issuer, { iat: inSeconds(-600), exp: inSeconds(seconds) }), pair);
  return [await rig.get('/sessions/nobody', { headers: { authorization: `Bearer ${token}` } })];
};
const said = (...items) => rig.model.script(answer(...items));
/** A turn whose model call ends as scripted. */
const ended = (...script) => async () => {
  rig.model.script(...script);
  const turn = userTurn();
  return [await post(turn), turn];
};
/** Pauses a turn for a client tool and resolves to what `next` returns for the turn and the call id. */
const paused = (next) => async () => {
  said(call('read', { path: 'a' }));
  const turn = userTurn({ ToolsJson: client });
  const { ToolCalls } = resultOf(await post(turn));
  return next(turn, ToolCalls[0].ToolCallId);
};
const result = (ToolCallId) => ({ ToolCallId, ExecutionMs: 1, ResultJson: '1' });

const steered = ({ SessionId, TurnId }, Instruction) =>
  rig.request('POST', `/sessions/${SessionId}/turns/${TurnId}/steer`, { body: { SteerId: 'a', Instruction }, key: KEY });

const forked = ({ SessionId }, id) =>
  rig.request('POST', `/sessions/${SessionId}/fork`, { body: { SessionId: id }, key: KEY });

/** By code: resolves to the response, and the turn to check the status of, if there is one; then the rig that has it, if it is another. */
export const WAYS = {
  malformed_json: async () => [await post('{')],
  missing_field: async () => [await post({ TurnId: 't', Instruction: 'x' })],
  invalid_field: async () => [await post(userTurn({ Streaming: 1 }))],
  unknown_field: async () => [await post(userTurn({ Instructions: 'x' }))],
  forbidden_field: async () => [await post(userTurn({ Model: 'x' }))],
  empty_turn: async () => [await post(userTurn({ Instruction: ' ' }))],
  unauthenticated: async () => [await rig.post(userTurn())],
  credential_expired: () => withToken('https://up.example', -100),
  forbidden: async () => {
    said(text('1'));
    said(text('2'));
    said(text('3'));
    const turn = userTurn();
    for (const TurnId of ['1', '2', '3']) resultOf(await post({ ...turn, TurnId }));
    return [await post({ ...turn, TurnId: '4' })];
  },
  budget_exceeded: async () => {
    rig.tools.on('/look', '1');
    said(call('look', {}));
    const turn = userTurn({ AgentContextId: 'poor' });
    return [await post(turn), turn];
  },
  not_found: async () => [await rig.get('/nowhere')],
  session_not_found: async () => [await rig.get('/sessions/nobody', { key: KEY })],
  user_not_found: async () => [await rig.get('/users/nobody', { key: KEY })],
  turn_not_found: async () => {
    said(text('x'));
    const turn = userTurn();
    resultOf(await post(turn));
    return [await rig.get(`/sessions/${turn.SessionId}/turns/nobody`, { key: KEY })];
  },
  context_not_found: async () => [await post(userTurn({ AgentContextId: 'nobody' }))],
  method_not_allowed: async () => [await rig.get('/execute')],
  request_timeout: async () => [await halfSent(slow, 100)],
  overloaded: async () => {
    const filling = net.connect(Number(roomy.url.port), roomy.url.hostname);
    filling.on('error', () => {});
    filling.write(`POST /execute HTTP/1.1\r\nHost: ${roomy.url.host}\r\nContent-Length: ${LONGEST}\r\n\r\n`);
    filling.write(Buffer.alloc(LONGEST - 1, ' '));
    let refused;
    await eventually(async () => {
      refused = await roomy.post(`${' '.repeat(70_000)}{`);
      return refused.status === 503;
    }, 'the body fills the room');
    filling.destroy();
    return [refused];
  },
  identity_unavailable: () => withToken('https://down.example', 100),
  turn_conflict: async () => {
    said(text('x'));
    const turn = userTurn();
    resultOf(await post(turn));
    return [await post({ ...turn, Instruction: 'Other.' })];
  },
  turn_in_progress: async () => {
    const gate = new Gate();
    rig.model.script(gated(gate, answer(text('x'))));
    const turn = userTurn();
    const calls = rig.model.requests.length;
    const running = post(turn);
    await eventually(() => rig.model.requests.length > calls, 'the turn runs');
    const refused = await post({ ...turn, TurnId: 'other' });
    gate.open();
    resultOf(await running);
    return [refused];
  },
  turn_awaiting_tools: paused(async (turn) => [await post({ ...turn, TurnId: 'other' })]),
  turn_not_awaiting_tools: async () => {
    said(text('x'));
    const turn = userTurn();
    resultOf(await post(turn));
    return [await post({ SessionId: turn.SessionId, TurnId: turn.TurnId, ToolResults: [result('c')] })];
  },
  tool_results_mismatch: paused(async ({ SessionId, TurnId }) => [
    await post({ SessionId, TurnId, ToolResults: [result('other')] }),
    { SessionId, TurnId },
  ]),
  turn_aborted: paused(async (turn) => {
    resultOf(await rig.request('POST', `/sessions/${turn.SessionId}/turns/${turn.TurnId}/cancel`, { key: KEY }));
    return [await post(turn), turn];
  }),
  steer_conflict: paused(async (turn) => {
    assert.equal((await steered(turn, 'This.')).status, 202);
    return [await steered(turn, 'That.')];
  }),
  turn_ended: async () => {
    said(text('x'));
    const turn = userTurn();
    resultOf(await post(turn));
    return [await steered(turn, 'Late.')];
  },
  session_exists: async () => {
    said(text('x'));
    said(text('y'));
    const [parent, other] = [userTurn(), userTurn()];
    resultOf(await post(parent));
    resultOf(await post(other));
    return [await forked(parent, other.SessionId)];
  },
  turn_not_ended: paused(async (turn) => [await forked(turn, `${turn.SessionId}-fork`)]),
  body_too_large: async () => [await post(userTurn({ Instruction: 'x'.repeat(10_000) }))],
  context_window_exceeded: ended(
    httpError(400, { code: 'context_length_exceeded', param: 'input', message: 'Your input exceeds the context window.' }),
  ),
  unsupported_media_type: async () => [await post(userTurn(), { headers: { 'content-type': 'text/plain' } })],
  rate_limited: async () => {
    let refused;
    // The minute in which one request is permitted may end between two of them.
    await eventually(async () => (refused = await rated.get('/sessions/nobody', { key: KEY })).status === 429, 'the rate is used up');
    return [refused];
  },
  internal: async () => [await misconfigured.post(userTurn())],
  catalog_invalid: async () => [await miscatalogued.post(userTurn())],
  iteration_limit_exceeded: async () => {
    rig.tools.on('/look', '1');
    return ended(answer(call('look', {})), answer(call('look', {})))();
  },
  server_tool_failed: async () => {
    rig.tools.on('/look', 'broken', { status: 500 });
    return ended(answer(call('look', {})))();
  },
  turn_interrupted: async () => {
    const calls = () => crashing.model.requests.length;
    crashing.model.script(silence(), silence());
    const turn = userTurn();
    const lost = crashing.post(turn).catch(() => 'cut');
    await eventually(() => calls() === 1, 'the turn runs');
    await crashing.restart();
    await lost;
    // The first request to the session recovers the turn, once.
    await crashing.get(`/sessions/${turn.SessionId}`);
    await eventually(() => calls() === 2, 'the turn runs again');
    await crashing.restart();
    const given = await crashing.post(turn);
    const view = resultOf(await crashing.get(`/sessions/${turn.SessionId}/turns/${turn.TurnId}`));
    assert.equal(view.Status, 'failed');
    return [given];
  },
  upstream_rejected: ended(httpError(401, { message: 'No.', code: 'invalid_api_key' })),
  upstream_unavailable: ended(...Array.from({ length: 3 }, () => httpError(503, { message: 'busy' }, { 'retry-after': '0' }))),
  upstream_protocol: ended(raw(['data: {"type":\n\n'])),
  upstream_failed: ended(answer(text('x')).with({ failed: { code: 'unknown', message: 'broken' } })),
  upstream_incomplete: ended(answer().with({ incomplete: 'max_output_tokens' })),
  upstream_timeout: async () => {
    roomy.model.script(silence());
    const turn = userTurn();
    return [await roomy.post(turn), turn, roomy];
  },
};

/** The answer to a request that announces `bytes` and sends one. */
function halfSent(to, bytes) {
  const head = `POST /execute HTTP/1.1\r\nHost: ${to.url.host}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n\r\n{`;
  return exchange(to.url, Buffer.from(head));
}
