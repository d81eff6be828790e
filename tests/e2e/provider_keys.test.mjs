// The keys of identity providers (interface §13): who asks a provider when, rotation, providers that fail or lie, and
// tokens that others made or published. The attacks have the numbers of the list that they were written from; those on
// signatures are in `provider_tokens.test.mjs`. What takes half a minute or more has a clock of its own in
// `tests/identity/keeper.rs`; here the stored times are moved instead.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import crypto from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { after, afterEach, test } from 'node:test';
import { pythonTools } from '../python.mjs';
import { Rig, apiKeys, eventually, refusalOf, rigForFile } from './harness.mjs';
import { IdentityProvider, base64url, claimsOf, handMade, inSeconds, joseToken, keyPair } from '../fakes/identity_provider.mjs';

const idp = await IdentityProvider.start();
after(() => idp.close());
const PUBLISHED = JSON.parse(await readFile(new URL('../fixtures/identity/published.json', import.meta.url), 'utf8'));

const [OLD, NEW] = [keyPair('ES256', 'kid-of-the-old'), keyPair('ES256', 'kid-of-the-new')];
const NAMES = ['flood', 'empty', 'broken', 'hanging', 'stalling', 'large', 'away', 'page', 'many', 'gone', 'rotating', 'failing', 'python', 'access', 'edwards', 'crowd', 'slow'];
const issuerOf = (name) => `https://${name}.example`;
const definition = (name, more = {}) => ({
  Issuer: issuerOf(name),
  JwksUrl: idp.url(`/${name}`),
  Audiences: ['https://agent.example.com'],
  Tenant: `of-${name}`,
  ...more,
});
const PROVIDERS = [
  ...NAMES.map((name) => definition(name)),
  definition('joe', { Issuer: 'joe' }),
  definition('rfc9068', { Issuer: 'https://authorization-server.example.com/', Audiences: ['https://rs.example.com/'], AuthorizedParties: ['s6BhdRkqt3'] }),
];
const vars = { AUTH: undefined, API_KEYS: apiKeys({ 'key-81ba': 'acme' }), IDENTITY_PROVIDERS: JSON.stringify(PROVIDERS) };
const rig = rigForFile({ vars });

const at = (worker, token) => worker.get('/sessions/nobody-s', { headers: { authorization: `Bearer ${token}` } });
const tried = (token) => at(rig, token);
const LET_IN = [404, 'session_not_found'];
const REFUSED = [401, 'unauthenticated'];
const letsIn = async (token, why) => assert.deepEqual(refusalOf(await tried(token)), LET_IN, why);
/** Resolves to the reason that the log has of the same request. */
const refuses = async (token, why) => {
  const response = await tried(token);
  assert.deepEqual(refusalOf(response), REFUSED, why);
  return (await rig.refusalLine(response)).reason;
};
const failures = () => rig.logs.filter((line) => line.includes('"jwks_failed"')).map((line) => JSON.parse(line));
const good = (name, pair = OLD, changes = {}) => joseToken(claimsOf(issuerOf(name), changes), pair);
const unavailable = async (token, worker = rig) => {
  const response = await at(worker, token);
  assert.deepEqual(refusalOf(response), [503, 'identity_unavailable']);
  assert.match(response.headers.get('retry-after'), /^([1-9]|[12]\d|30)$/);
  return response;
};

/** Parts of keys and tokens, none of which may stand in the log. */
afterEach(() => {
  for (const line of rig.logs) for (const words of ['alice-5c2f', 'kid-of-', 'forged-', 'eyJ']) assert.ok(!line.includes(words), line);
});

/** Ends the isolate and the objects' memory, and moves the times that keepers have stored. */
async function later({ sinceAttemptMs = 30_000, freshUntil = 'fresh_until' }) {
  await rig.restart();
  await rig.alter('KeySetObject', 'kept_document', `UPDATE kept_document SET attempted_at = attempted_at - ${sinceAttemptMs}, fresh_until = ${freshUntil}`);
}

/** How often a provider may be asked again in the time since then, which on a busy machine is long: once in 30 s. */
const repeatsSince = (began) => Math.floor((performance.now() - began) / 30_000);
const forged = (name) => handMade({ alg: 'ES256', kid: `forged-${crypto.randomUUID()}` }, claimsOf(issuerOf(name)), OLD);

test('6: a thousand forged key ids cost a provider one request, and a good token is let in meanwhile', async () => {
  idp.keys('/flood', [OLD]);
  const token = await good('flood');
  const began = performance.now();
  await letsIn(token);
  for (let round = 0; round < 20; round += 1) {
    const flood = Array.from({ length: 50 }, () => refuses(forged('flood')));
    await Promise.all([...flood, letsIn(token)]);
  }
  assert.ok(idp.asked('/flood') <= 2 + repeatsSince(began), `${idp.asked('/flood')} requests`);
});

test('7: a provider without keys, or with a failure, is asked no more often', async () => {
  idp.keys('/empty', []);
  idp.play('/broken', (response) => response.writeHead(500).end('{"keys":[]}'));
  const began = performance.now();
  for (let round = 0; round < 10; round += 1) {
    await Promise.all(Array.from({ length: 20 }, async () => {
      await refuses(forged('empty'));
      await unavailable(forged('broken'));
    }));
  }
  const [repeats, empty, broken] = [repeatsSince(began), idp.asked('/empty'), idp.asked('/broken')];
  assert.ok(empty <= 2 + repeats && broken >= 1 && broken <= 1 + repeats, `${empty}, ${broken}`);
  const told = Array.from({ length: broken }, () => [issuerOf('broken'), 'it answered with status 500']);
  assert.deepEqual(failures().map(({ provider, failure }) => [provider, failure]), told);
});

test('8: a provider that hangs, redirects, or answers with something else than keys, is not available', async () => {
  idp.keys('/elsewhere', [OLD]);
  idp.play('/hanging', () => {});
  idp.play('/stalling', (response) => response.writeHead(200).write('{"keys":['));
  idp.play('/large', (response) => {
    response.writeHead(200);
    const more = () => response.destroyed || response.write(' '.repeat(65_536), more);
    more();
  });
  idp.play('/away', (response) => response.writeHead(302, { location: idp.url('/elsewhere') }).end());
  idp.play('/page', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html><body>Sign in</body></html>'));
  idp.play('/many', (response) => response.end(JSON.stringify({ keys: Array.from({ length: 10_000 }, () => ({ kty: 'x' })) })));
  const expected = {
    hanging: 'it did not answer within 5000 ms',
    stalling: 'it did not answer within 5000 ms',
    large: 'its answer is larger than 262144 bytes',
    away: 'it answered with status 302',
    page: 'its answer is not the JSON of a key set',
    many: 'its answer has more than 100 keys',
    gone: 'it answered with status 404',
  };
  await Promise.all(Object.keys(expected).map(async (name) => unavailable(await good(name))));
  const told = Object.fromEntries(failures().map(({ provider, failure }) => [provider, failure]));
  for (const [name, failure] of Object.entries(expected)) assert.equal(told[issuerOf(name)], failure, name);
  assert.equal(idp.asked('/elsewhere'), 0);
  idp.play('/away', (response) => response.writeHead(307, { location: '/elsewhere' }).end());
  await later({});
  await unavailable(await good('away'));
  assert.deepEqual([idp.asked('/elsewhere'), idp.asked('/away')], [0, 2]);
});

test('9: a new key serves at its first token, and a removed one until its set is no longer fresh', async () => {
  idp.keys('/rotating', [OLD], { 'cache-control': 'max-age=3600' });
  await letsIn(await good('rotating'));
  await refuses(await good('rotating', NEW));
  idp.keys('/rotating', [OLD, NEW]);
  await later({});
  await letsIn(await good('rotating', NEW), 'it is asked for');
  await letsIn(await good('rotating'));
  assert.equal(idp.asked('/rotating'), 2);
  idp.keys('/rotating', [NEW]);
  await later({});
  await letsIn(await good('rotating'), 'the set is fresh');
  await later({ freshUntil: 1 });
  assert.equal(await refuses(await good('rotating'), 'it was removed'), 'jwt: key');
  await letsIn(await good('rotating', NEW));
});

test('9: while a provider is down its keys serve for JWKS_STALE_S, and then nobody is told that a token is wrong', async () => {
  idp.keys('/failing', [OLD]);
  await letsIn(await good('failing'));
  idp.play('/failing', (response) => response.destroy());
  await later({ freshUntil: `${Date.now() - 3_500_000}` });
  await letsIn(await good('failing'));
  assert.equal(failures().at(-1).failure, 'it could not be reached');
  await refuses(forged('failing'));
  await later({ freshUntil: `${Date.now() - 3_601_000}` });
  const answered = await unavailable(await good('failing'));
  assert.equal(answered.json.Errors[0].SystemError, true);
  idp.keys('/failing', [OLD]);
  await later({});
  await letsIn(await good('failing'), 'it is back');
});

test('tokens that come at once to a cold isolate cost a provider one request', async () => {
  idp.keys('/crowd', [OLD]);
  const token = await good('crowd');
  await Promise.all(Array.from({ length: 30 }, () => letsIn(token)));
  assert.equal(idp.asked('/crowd'), 1);
});

test('a client that leaves while a provider is asked holds up nobody, and the provider is not asked again', async () => {
  let release;
  idp.play('/slow', (response) => {
    release = () => response.end(JSON.stringify({ keys: [OLD.jwk] }));
  });
  const token = await good('slow');
  const leaving = new AbortController();
  const left = fetch(new URL('/sessions/x', rig.url), { headers: { authorization: `Bearer ${token}` }, signal: leaving.signal }).catch(() => 'left');
  await eventually(() => release, 'the provider is asked');
  leaving.abort();
  assert.equal(await left, 'left');
  const staying = tried(token);
  release();
  assert.deepEqual(refusalOf(await staying), LET_IN);
  assert.equal(idp.asked('/slow'), 1);
});

test('the published examples: their signatures hold, whatever their claims say', async () => {
  const joe = (name, changed = (token) => token) => refuses(changed(PUBLISHED[name].token), name);
  const flipped = (token) => `${token.slice(0, -10)}${token.at(-10) === 'A' ? 'B' : 'A'}${token.slice(-9)}`;
  for (const name of ['RFC 7515, A.2', 'RFC 7515, A.3']) {
    idp.keys('/joe', [PUBLISHED[name].jwk]);
    await later({ freshUntil: 1 });
    assert.equal(await joe(name), 'jwt: audience', name);
    assert.equal(await joe(name, flipped), 'jwt: signature', name);
  }

  const { token, jwk, d } = PUBLISHED['RFC 8037, A.4'];
  const edwards = { alg: 'EdDSA', kid: undefined, privateKey: crypto.createPrivateKey({ key: { ...jwk, d }, format: 'jwk' }) };
  assert.equal(handMade({ alg: 'EdDSA' }, 'Example of Ed25519 signing', edwards), token);
  idp.keys('/edwards', [jwk]);
  await letsIn(await good('edwards', edwards));

  const rsa = keyPair('RS256', PUBLISHED['RFC 9068, Figure 2'].header.kid);
  idp.keys('/rfc9068', [...PUBLISHED['RFC 7517, A.1'].keys, ...PUBLISHED['RFC 7517, A.3'].keys, rsa]);
  const { header, claims } = PUBLISHED['RFC 9068, Figure 2'];
  await letsIn(handMade(header, { ...claims, iat: inSeconds(-5), exp: inSeconds(600) }, rsa));
  const old = await tried(handMade(header, { ...claims, iat: inSeconds(-4_000), exp: inSeconds(-100) }, rsa));
  assert.deepEqual(refusalOf(old), [401, 'credential_expired']);
});

const PYTHON = `
import json, sys, jwt
asked = json.load(sys.stdin)
print(json.dumps([jwt.encode(asked["claims"], key["pem"], algorithm=key["alg"], headers={"kid": key["kid"]}) for key in asked["keys"]]))
`;

test('tokens by PyJWT are let in', async (t) => {
  const python = pythonTools()?.python;
  if (!python) return t.skip('there is no Python 3.10 or later');
  const pairs = ['RS256', 'ES256', 'EdDSA'].map((alg) => keyPair(alg));
  idp.keys('/python', pairs);
  const keys = pairs.map(({ alg, kid, privateKey }) => ({ alg, kid, pem: privateKey.export({ type: 'pkcs8', format: 'pem' }) }));
  const made = spawnSync(python, ['-c', PYTHON], { input: JSON.stringify({ claims: claimsOf(issuerOf('python')), keys }), encoding: 'utf8' });
  assert.equal(made.status, 0, made.stderr);
  for (const token of JSON.parse(made.stdout)) await letsIn(token);
});

/** A Worker with other variables, for one test. */
async function withWorker(more, use, options = {}) {
  const worker = new Rig({ vars: { ...vars, ...more }, ...options });
  try {
    await worker.start();
    await use(worker);
    await worker.check();
  } finally {
    await worker.dispose();
  }
}

test('without providers a token is a wrong credential; with wrong ones the place of the fault is told, and keys serve on', async () => {
  const token = await good('access');
  for (const none of [undefined, '', '[]']) {
    await withWorker({ IDENTITY_PROVIDERS: none }, async (worker) => {
      assert.deepEqual(refusalOf(await at(worker, token)), REFUSED);
      assert.deepEqual(refusalOf(await worker.get('/sessions/x', { key: 'key-81ba' })), LET_IN);
    });
  }
  const wrong = JSON.stringify([{ ...definition('access'), JwksUrl: 'http://s3cret.example/' }]);
  await withWorker({ IDENTITY_PROVIDERS: wrong }, async (worker) => {
    const response = await at(worker, token);
    assert.deepEqual(refusalOf(response), [500, 'internal']);
    assert.equal(response.json.Errors[0].Message, "The deployment's variable IDENTITY_PROVIDERS[0].JwksUrl must begin with https://, unless it is on this machine.");
    assert.deepEqual(refusalOf(await worker.get('/sessions/x', { key: 'key-81ba' })), LET_IN);
    assert.ok(worker.logs.some((line) => line.includes('keys_invalid') && line.includes('IDENTITY_PROVIDERS[0].JwksUrl')));
    assert.ok(!worker.logs.some((line) => line.includes('s3cret')));
  });
});

test('without an object for keys no token can be checked', async () => {
  idp.keys('/access', [OLD]);
  const token = await good('access');
  const use = async (worker) => {
    await unavailable(token, worker);
    assert.ok(worker.logs.some((line) => line.includes('binds no Durable Object as KEY_SETS')));
  };
  await withWorker({}, use, { unbound: ['KEY_SETS'] });
  assert.equal(idp.asked('/access'), 0);
  await letsIn(token);
});

test('a token is no key in base64, and a key of another form is none of a provider', async () => {
  await refuses(base64url('key-81ba'));
  assert.deepEqual(refusalOf(await rig.get('/sessions/x', { key: 'key-81ba' })), LET_IN);
});
