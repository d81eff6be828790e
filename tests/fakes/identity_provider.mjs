// An identity provider on this machine: it serves sets of keys by path, counts who asks, and makes tokens, good ones by
// `jose` and wrong ones by hand. Owns nothing of what the Worker makes of them.
import crypto from 'node:crypto';
import { SignJWT } from 'jose';
import { serve } from '../local_server.mjs';

const KINDS = {
  RS256: ['rsa', { modulusLength: 2048 }],
  ES256: ['ec', { namedCurve: 'P-256' }],
  EdDSA: ['ed25519', {}],
};

/** A key pair for `alg`, as `{alg, kid, privateKey, publicKey, jwk}`; `jwk` is public. */
export function keyPair(alg, kid = `kid-of-${alg}`) {
  const { privateKey, publicKey } = crypto.generateKeyPairSync(...KINDS[alg]);
  return { alg, kid, privateKey, publicKey, jwk: { ...publicKey.export({ format: 'jwk' }), kid, alg, use: 'sig' } };
}

export const base64url = (value) => Buffer.from(typeof value === 'object' && !Buffer.isBuffer(value) ? JSON.stringify(value) : value).toString('base64url');

/** The signature of a text by a key pair, in the form that a JWS has. */
export function signatureOf(text, { alg, privateKey }) {
  if (alg === 'ES256') return crypto.sign('sha256', Buffer.from(text), { key: privateKey, dsaEncoding: 'ieee-p1363' });
  return crypto.sign(alg === 'RS256' ? 'sha256' : null, Buffer.from(text), privateKey);
}

/** A token by hand: header and payload are texts or values, and are signed as they are. */
export function handMade(header, payload, pair, sign = signatureOf) {
  const signed = `${base64url(header)}.${base64url(payload)}`;
  return `${signed}.${base64url(sign(signed, pair))}`;
}

export class IdentityProvider {
  #server;
  #answers = new Map(); // path -> (response) => void
  #counts = new Map();

  static async start() {
    const provider = new IdentityProvider();
    provider.#server = await serve((request, response) => {
      provider.#counts.set(request.url, provider.asked(request.url) + 1);
      const answer = provider.#answers.get(request.url);
      if (answer === undefined) response.writeHead(404).end();
      else answer(response);
    });
    return provider;
  }

  url(path) {
    return `${this.#server.origin}${path}`;
  }

  /** How often a path was asked for. */
  asked(path) {
    return this.#counts.get(path) ?? 0;
  }

  /** Serves the public keys of these pairs, or these JWKs, at a path. */
  keys(path, keys, headers = {}) {
    const set = { keys: keys.map(({ jwk, ...rest }) => jwk ?? rest) };
    this.play(path, (response) => response.writeHead(200, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(set)));
  }

  /** Has `answer(response)` write what a path responds. */
  play(path, answer) {
    this.#answers.set(path, answer);
  }

  close() {
    return this.#server.close();
  }
}

/** Seconds since the epoch, from now. */
export const inSeconds = (seconds = 0) => Math.floor(Date.now() / 1000) + seconds;

/** The claims of a good token; `undefined` removes one. */
export const claimsOf = (issuer, changes = {}) => ({
  iss: issuer,
  sub: 'alice-5c2f',
  aud: 'https://agent.example.com',
  iat: inSeconds(-5),
  exp: inSeconds(600),
  ...changes,
});

/** A token by `jose`. */
export const joseToken = (claims, { alg, kid, privateKey }, header = {}) =>
  new SignJWT(claims).setProtectedHeader({ alg, kid, typ: 'JWT', ...header }).sign(privateKey);
