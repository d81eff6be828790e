// Tokens of identity providers (interface §13) with real signatures, headers and objects. The attacks have the numbers of the
// list that they were written from; those on a token's form, its claims and its set of keys are in tests/identity, and who
// asks a provider when is in `provider_keys.test.mjs`.
import assert from 'node:assert/strict';
import crypto from 'node:crypto';
import { after, afterEach, test } from 'node:test';
import { BY_PACKAGE, apiKeys, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { IdentityProvider, claimsOf, handMade, inSeconds, joseToken, keyPair, signatureOf } from '../fakes/identity_provider.mjs';
import { answer, text } from './scripted_model.mjs';

const idp = await IdentityProvider.start();
after(() => idp.close());

const [RSA, EC, ED] = ['RS256', 'ES256', 'EdDSA'].map((alg) => keyPair(alg));
const MAIN = 'https://acme.example/';
const provider = (Issuer, path, more = {}) => ({
  Issuer,
  JwksUrl: idp.url(path),
  Audiences: ['https://agent.example.com'],
  Tenant: `of${path.replaceAll('/', '-')}`,
  ...more,
});
const PROVIDERS = [
  provider(MAIN, '/main'),
  provider('https://ec.example', '/ec', { Algorithms: ['ES256'] }),
  provider('https://odd.example', '/odd'),
  provider('https://strict.example', '/strict', {
    Types: ['at+jwt'],
    RequiredClaims: { token_use: 'access' },
    AuthorizedParties: ['spa-1'],
  }),
  provider('https://mapped.example', '/mapped', { Tenant: undefined, Tenants: { Claim: 'org', Map: { o1: 'one', o2: 'two' } } }),
  provider('https://narrow.example', '/narrow', { Operations: ['Watch'] }),
  provider('https://ahead.example', '/ahead', {
    Tenant: 'of-main',
    UserPrefix: 'ahead:',
    Operations: ['Read', 'Search'],
    Workspaces: ['handbook'],
    RevocationSkewS: 60,
  }),
];
for (const path of ['/main', '/strict', '/narrow', '/ahead']) idp.keys(path, [RSA, EC, ED]);
idp.keys('/ec', [RSA, EC]);
idp.keys('/mapped', [EC]);
idp.keys('/odd', [RSA]);

const KEY = 'key-of-the-operator-81ba';
// The variable as a list, as wrangler.toml may have it; elsewhere it is a text.
const rig = rigForFile({
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'of-main' }), IDENTITY_PROVIDERS: JSON.parse(JSON.stringify(PROVIDERS)) },
  hidden: [[KEY]],
  measured: !BY_PACKAGE,
});

/** Parts of the tokens that were sent, none of which may stand in the log. */
const canaries = new Set(['alice-5c2f', 'kid-of-']);
afterEach(() => {
  for (const line of rig.logs) {
    for (const words of canaries) assert.ok(!line.includes(words), `"${words}" is logged: ${line}`);
  }
});

/** Sends a token to an endpoint that needs one; a good one is told that its user has no such session. */
async function tried(token, more = {}) {
  for (const part of token.split('.')) if (part.length > 8) canaries.add(part);
  return rig.get('/sessions/nobody-s', { headers: { authorization: `Bearer ${token}`, ...more.headers } });
}

/** Why a request was refused, as the log says. */
const reasonOf = async (response) => (await rig.refusalLine(response)).reason;
const LET_IN = [404, 'session_not_found'];

async function letsIn(token, why) {
  assert.deepEqual(refusalOf(await tried(token)), LET_IN, why);
}

let first;
/** A refused token gets the same response as every other one, and its reason stands in the log. */
async function refuses(token, reason, why = reason) {
  const response = await tried(token);
  assert.deepEqual(refusalOf(response), [401, 'unauthenticated'], why);
  first ??= response.text;
  assert.equal(response.text, first, why);
  assert.equal(response.headers.get('www-authenticate'), 'Bearer');
  if (reason !== undefined) assert.equal(await reasonOf(response), reason, why);
}

const good = (changes = {}, pair = EC, header = {}) => joseToken(claimsOf(MAIN, changes), pair, header);
const made = (header, claims = claimsOf(MAIN), pair = EC, sign) => handMade({ alg: pair.alg, kid: pair.kid, ...header }, claims, pair, sign);

test('tokens by jose for each algorithm, with every form of type and audience, let their users in', async () => {
  for (const pair of [RSA, EC, ED]) {
    await letsIn(await good({}, pair), pair.alg);
    await letsIn(await good({ aud: ['other', 'https://agent.example.com'] }, pair, { typ: 'application/AT+JWT' }), pair.alg);
  }
  await letsIn(made({ alg: 'Ed25519' }, claimsOf(MAIN), ED), 'the newer name of EdDSA');
  await letsIn(made({}), 'without a type');
  rig.model.script(answer(text('Hello, Alice.')));
  const turn = userTurn();
  const headers = { authorization: `Bearer ${await good()}` };
  assert.equal(resultOf(await rig.post(turn, { headers })).PrimaryOutputText, 'Hello, Alice.');
  const route = `/sessions/${turn.SessionId}`;
  resultOf(await rig.get(route, { headers }));
  assert.deepEqual(refusalOf(await rig.get(route, { key: KEY })), LET_IN, 'it is not the tenant\'s own session');
  assert.deepEqual(refusalOf(await rig.get(route, { headers: { authorization: `Bearer ${await good({ sub: 'bob' })}` } })), LET_IN);
  const acting = await rig.get(route, { key: KEY, headers: { 'aptix-user': 'alice-5c2f' } });
  resultOf(acting);
  assert.deepEqual(refusalOf(await tried(await good(), { headers: { 'aptix-user': 'bob' } })), [403, 'forbidden']);
  const trace = resultOf(await rig.get(`${route}/turns/${turn.TurnId}/trace`, { key: KEY, headers: { 'aptix-user': 'alice-5c2f' } }));
  assert.ok(JSON.stringify(trace).includes(`"Provider":"${MAIN}"`), 'the trace says who asked');
});

test('a provider gives its tokens no more operations than it has', async () => {
  const token = await joseToken(claimsOf('https://narrow.example'), EC);
  const answered = await tried(token);
  assert.deepEqual(refusalOf(answered), [403, 'forbidden']);
  assert.equal(answered.json.Errors[0].Details.Operation, 'Read');
  assert.deepEqual(refusalOf(await rig.get('/workspaces/handbook', { headers: { authorization: `Bearer ${await good()}` } })), [403, 'forbidden']);
});

test('a token is void at sessions and workspaces from a revocation on, also one of a clock that runs ahead', async () => {
  const ahead = (changes) => joseToken(claimsOf('https://ahead.example', changes), EC);
  const [before, early] = [await ahead({}), await ahead({ iat: inSeconds(55) })];
  const searched = (token) =>
    rig.request('POST', '/workspaces/handbook/search', { body: { Query: 'pelican' }, headers: { authorization: `Bearer ${token}` } });
  for (const token of [before, early]) assert.deepEqual(resultOf(await searched(token)).Chunks, []);
  resultOf(await rig.request('POST', '/users/ahead%3Aalice-5c2f/revoke', { key: KEY }));
  for (const token of [before, early]) {
    assert.deepEqual(refusalOf(await searched(token)), [401, 'credential_expired']);
    assert.deepEqual(refusalOf(await tried(token)), [401, 'credential_expired'], 'before a session that has not begun');
  }
  assert.deepEqual(resultOf(await searched(await ahead({ iat: inSeconds(59), sub: 'bob' }))).Chunks, []);
});

test('1: only the provider\'s algorithms are taken', async () => {
  await refuses(made({ alg: 'none' }, claimsOf(MAIN), EC, () => Buffer.alloc(1)), 'jwt: algorithm');
  await refuses(await joseToken(claimsOf('https://ec.example'), RSA), 'jwt: algorithm');
  await letsIn(await joseToken(claimsOf('https://ec.example'), EC));
});

test('2: a public key is no secret of an HMAC', async () => {
  const n = Buffer.from(RSA.jwk.n, 'base64url');
  const secrets = [
    RSA.publicKey.export({ type: 'spki', format: 'pem' }),
    RSA.publicKey.export({ type: 'pkcs1', format: 'pem' }),
    RSA.publicKey.export({ type: 'spki', format: 'der' }),
    JSON.stringify(RSA.jwk),
    RSA.jwk.n,
    n,
  ];
  for (const secret of secrets) {
    const hmac = (signed) => crypto.createHmac('sha256', secret).update(signed).digest();
    await refuses(made({ alg: 'HS256' }, claimsOf(MAIN), RSA, hmac), 'jwt: algorithm');
    await refuses(made({}, claimsOf(MAIN), RSA, hmac), 'jwt: signature');
    await refuses(made({}, claimsOf(MAIN), RSA, (signed) => Buffer.concat([hmac(signed), Buffer.alloc(224)])), 'jwt: signature');
  }
});

test('3: relatives of the algorithms are refused, signed rightly as they may be', async () => {
  const pss = (signed) => crypto.sign('sha256', Buffer.from(signed), { key: RSA.privateKey, padding: crypto.constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 });
  await refuses(made({ alg: 'PS256' }, claimsOf(MAIN), RSA, pss), 'jwt: algorithm');
  await refuses(made({ alg: 'RS256' }, claimsOf(MAIN), RSA, pss), 'jwt: signature');
  const rsa512 = (signed) => crypto.sign('sha512', Buffer.from(signed), RSA.privateKey);
  await refuses(made({ alg: 'RS256' }, claimsOf(MAIN), RSA, rsa512), 'jwt: signature');
  // The key of another kind than the algorithm asks for.
  await refuses(made({ alg: 'ES256', kid: RSA.kid }), 'jwt: key');
  await refuses(made({ alg: 'RS256', kid: EC.kid }, claimsOf(MAIN), RSA), 'jwt: key');
});

test('4: keys and addresses in a header are never read, and no request leaves', async () => {
  const attacker = keyPair('ES256', 'kid-of-the-attacker');
  idp.keys('/attacker', [attacker]);
  const before = idp.asked('/main');
  for (const header of [
    { jku: idp.url('/attacker') },
    { x5u: idp.url('/attacker') },
    { jwk: attacker.jwk },
    { x5c: [attacker.publicKey.export({ type: 'spki', format: 'der' }).toString('base64')] },
  ]) {
    await refuses(made({ ...header, kid: attacker.kid }, claimsOf(MAIN), attacker), 'jwt: key');
    await refuses(made({ ...header, kid: EC.kid }, claimsOf(MAIN), attacker), 'jwt: signature');
    await letsIn(made(header), 'a good token may carry what nobody reads');
  }
  assert.equal(idp.asked('/attacker'), 0);
  assert.ok(idp.asked('/main') - before <= 1);
});

test('5: no key has an id of another spelling or of any length', async () => {
  await refuses(made({ kid: 'KID-OF-ES256' }), 'jwt: key');
  const long = await tried(made({ kid: 'x'.repeat(9_000) }));
  assert.deepEqual(refusalOf(long), [401, 'unauthenticated']);
  // One megabyte is more than the runtime takes in a header.
  const huge = await fetch(new URL('/sessions/x', rig.url), { headers: { authorization: `Bearer ${made({ kid: 'x'.repeat(1_000_000) })}` } }).catch(() => null);
  assert.ok(huge === null || huge.status >= 400);
});

test('13: a token that is late says so', async () => {
  const late = await tried(await good({ exp: inSeconds(-61), iat: inSeconds(-600) }));
  assert.deepEqual(refusalOf(late), [401, 'credential_expired']);
  assert.equal(late.headers.get('www-authenticate'), 'Bearer error="invalid_token"');
  assert.equal(await reasonOf(late), 'jwt: late');
  // One that nobody signed is as any other wrong one.
  await refuses(made({}, claimsOf(MAIN, { exp: inSeconds(-600) }), EC, () => Buffer.alloc(64)), 'jwt: signature');
});

test('15: the issuer chooses the provider by equal texts', async () => {
  for (const iss of ['https://acme.example', 'https://ACME.example/', 'https://acme.example:443/', 'http://acme.example/', ' https://acme.example/', '', null, ['https://acme.example/'], 1, undefined]) {
    await refuses(made({}, claimsOf(iss)), 'jwt: issuer', JSON.stringify(iss));
  }
  const other = keyPair('ES256', EC.kid);
  await refuses(made({}, claimsOf('https://odd.example'), other), 'jwt: key', 'of the other provider');
  await refuses(made({}, claimsOf(MAIN), other), 'jwt: signature', 'with the other provider\'s key');
});

test('16: other forms are no tokens', async () => {
  const [header, payload, signature] = (await good()).split('.');
  await refuses(`${header}..${payload}.${signature}.${signature}`, 'key: unknown', 'JWE');
  await refuses(`${header}.${payload}`, 'key: unknown');
  await refuses(JSON.stringify({ payload, protected: header, signature }), 'key: unknown');
  await refuses(`{"alg":"ES256"}.${payload}.${signature}`, 'key: unknown');
  // Neither reaches the Worker as a header, or it is refused there.
  for (const wrong of [`${header}.\t${payload}.${signature}`, `\u00e9${header}.${payload}.${signature}`]) {
    const response = await tried(wrong).catch(() => null);
    assert.ok(response === null || response.status >= 400);
  }
});

test('17: long and deep tokens cost little', async () => {
  const padded = (bytes) => handMade({ alg: 'ES256', kid: EC.kid }, { ...claimsOf(MAIN), x: 'x'.repeat(bytes) }, EC);
  const atMost = Array.from({ length: 40 }, (_, more) => padded(5_700 + more * 6)).filter(({ length }) => length <= 8_192).at(-1);
  assert.ok(atMost.length > 8_180);
  await letsIn(atMost);
  const deep = handMade({ alg: 'ES256', kid: EC.kid }, `{"a":${'['.repeat(2_500)}${']'.repeat(2_500)}}`, EC);
  const took = async (token) => {
    const began = performance.now();
    await refuses(token);
    return performance.now() - began;
  };
  // In turn, so that a machine that is busy for a while is so for both, and by the fastest, which it held up least.
  const [short, long] = [[], []];
  for (let time = 0; time < 60; time += 1) {
    short.push(await took('eyJ.a.b'));
    long.push(await took(deep));
  }
  const [plain, nested] = [short, long].map((times) => Math.min(...times));
  assert.ok(nested < plain + 5, `${nested} ms, where a short one takes ${plain} ms`);
  const before = (await rig.held()).wasmBytes;
  for (let time = 0; time < 60; time += 1) await refuses(deep);
  assert.equal((await rig.held()).wasmBytes, before);
});

test('18: signatures of no form are none', async () => {
  const order = Buffer.from('ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551', 'hex');
  const zero = Buffer.alloc(32);
  const der = (signed) => crypto.sign('sha256', Buffer.from(signed), EC.privateKey);
  const [r, s] = [(signed) => signatureOf(signed, EC).subarray(0, 32), (signed) => signatureOf(signed, EC).subarray(32)];
  for (const sign of [
    () => Buffer.alloc(64),
    (signed) => Buffer.concat([r(signed), zero]),
    (signed) => Buffer.concat([zero, s(signed)]),
    () => Buffer.concat([order, order]),
    (signed) => Buffer.concat([r(signed), order]),
    () => Buffer.alloc(64, 0xff),
    () => Buffer.concat([zero, Buffer.from([1]), Buffer.alloc(31)]),
    der,
    (signed) => signatureOf(signed, EC).subarray(0, 63),
    (signed) => Buffer.concat([signatureOf(signed, EC), Buffer.alloc(1)]),
    (signed) => Buffer.concat([Buffer.alloc(1), signatureOf(signed, EC)]),
  ]) {
    await refuses(made({}, claimsOf(MAIN), EC, sign), 'jwt: signature', sign.toString());
  }
  const subgroup = BigInt('0x1000000000000000000000000000000014def9dea2f79cd65812631a5cf5d3ed');
  const malleated = (signed) => {
    const signature = signatureOf(signed, ED);
    const scalar = BigInt(`0x${Buffer.from(signature.subarray(32)).reverse().toString('hex')}`) + subgroup;
    return Buffer.concat([signature.subarray(0, 32), Buffer.from(scalar.toString(16).padStart(64, '0'), 'hex').reverse()]);
  };
  for (const sign of [malleated, () => Buffer.alloc(64), () => Buffer.concat([Buffer.from([1]), Buffer.alloc(63)])]) {
    await refuses(made({}, claimsOf(MAIN), ED, sign), 'jwt: signature', sign.toString());
  }
  for (const sign of [() => Buffer.alloc(256), () => Buffer.alloc(256, 0xff), (signed) => signatureOf(signed, RSA).subarray(1), (signed) => Buffer.concat([Buffer.alloc(1), signatureOf(signed, RSA)])]) {
    await refuses(made({}, claimsOf(MAIN), RSA, sign), 'jwt: signature', sign.toString());
  }
});

test('19: an ID token is no access token', async () => {
  const strict = (typ) => joseToken(claimsOf('https://strict.example', { token_use: 'access', client_id: 'spa-1' }), EC, { typ });
  await letsIn(await strict('at+jwt'));
  await refuses(await strict('JWT'), 'jwt: type');
});

test('20: a tenant is a mapped one, and each user of it has objects of its own', async () => {
  const mapped = (org, sub = 'carol') => joseToken(claimsOf('https://mapped.example', { org, sub }), EC);
  const names = ['a/b', '~', '~alice-5c2f', '%2F', 'a%2Fb', '\u202ealice', 'carol', 'Carol', 'é', 'e\u0301'];
  const turn = userTurn();
  for (const [at, sub] of names.entries()) {
    rig.model.script(answer(text(`For number ${at}.`)));
    const headers = { authorization: `Bearer ${await mapped('o1', sub)}` };
    assert.equal(resultOf(await rig.post(turn, { headers })).PrimaryOutputText, `For number ${at}.`, sub);
  }
  rig.model.script(answer(text('In the other tenant.')));
  const headers = { authorization: `Bearer ${await mapped('o2', 'carol')}` };
  assert.equal(resultOf(await rig.post(turn, { headers })).PrimaryOutputText, 'In the other tenant.');
});

test('22: a token of one user is told of another user\'s session what it is told of none', async () => {
  rig.model.script(answer(text('For Alice.')));
  const turn = userTurn();
  const as = async (sub) => ({ headers: { authorization: `Bearer ${await good({ sub })}` } });
  resultOf(await rig.post(turn, await as('alice-5c2f')));
  const bob = await as('bob');
  const told = async (method, SessionId, rest) => {
    const response = await rig.request(method, `/sessions/${SessionId}${rest}`, bob);
    const own = ['date', 'server-timing', 'aptix-request-id'];
    const headers = [...response.headers].filter(([name]) => !own.includes(name)).map(([name, value]) => [name, name === 'content-length' ? '' : value]);
    return [response.status, response.text.replaceAll(SessionId, 'ID'), headers];
  };
  for (const [method, rest] of [
    ['GET', ''],
    ['GET', '/turns'],
    ['GET', '/turns/turn-1'],
    ['GET', '/turns/turn-1/stream'],
    ['GET', '/modes'],
    ['POST', '/turns/turn-1/cancel'],
    ['GET', '/turns/turn-1/trace'],
    ['GET', '/export'],
    ['DELETE', ''],
  ]) {
    assert.deepEqual(await told(method, turn.SessionId, rest), await told(method, 'never-was', rest), `${method} ${rest}`);
  }
  assert.equal(resultOf(await rig.get(`/sessions/${turn.SessionId}`, await as('alice-5c2f'))).SessionId, turn.SessionId);
});
