// Hostile requests from a seed: bodies with spoiled members or bytes, and odd paths, methods, headers and framing. Owns
// generating them; the tests judge the responses.

/** The marker in every text of a body that is a client's own content. */
export const CONTENT = 'zqContent';

/** Pseudo-random numbers from a seed (mulberry32), and choices made with them. */
export class Random {
  #state;

  constructor(seed) {
    this.#state = seed >>> 0;
  }

  below(end) {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % Math.max(end, 1);
  }

  oneIn(odds) {
    return this.below(odds) === 0;
  }

  of(choices) {
    return choices[this.below(choices.length)];
  }
}

const tool = { type: 'function', name: 'read_file', description: CONTENT, parameters: { type: 'object', properties: {} } };
const artifact = { RelativePath: 'src', FileName: `${CONTENT}.rs`, Contents: CONTENT, Origin: 'ide', Language: 'rust' };

/** Bodies that are valid once they have ids. The last continues a turn that does not exist. */
const BODIES = [
  { Instruction: CONTENT },
  { Instruction: CONTENT, InputArtifacts: [artifact, { ...artifact, Encoding: 'base64', Contents: 'QUJD', MimeType: 'image/png' }], Streaming: true },
  { ClipboardImages: [{ Id: CONTENT, MimeType: 'image/png', DataBase64: 'QUJD' }], SolutionContextText: CONTENT, Repo: CONTENT },
  { Instruction: CONTENT, ToolsJson: JSON.stringify([tool]), ToolChoiceName: 'read_file', WorkspaceId: CONTENT },
  { Instruction: CONTENT, RagScope: { Conditions: [{ Key: CONTENT, Operator: '==', Values: [CONTENT] }] }, Language: CONTENT },
  { ToolResults: [{ ToolCallId: CONTENT, ExecutionMs: 1, ResultJson: '{}' }, { ToolCallId: 'c2', ExecutionMs: 0, ErrorMessage: CONTENT }] },
];
const NAMES = [
  'SessionId', 'TurnId', 'Instruction', 'InputArtifacts', 'ClipboardImages', 'ToolsJson', 'ToolResults', 'Streaming',
  'Mode', 'Model', 'previous_response_id', 'sessionId', '__proto__', 'constructor', '', ' ', 'a/b~c', '\u0000', 'é', 'type',
];
/** Values in raw spelling, some of them invalid JSON. */
const SPELT = [
  'null', 'true', '0', '-1', '1.5', '1E999', '9007199254740993', '123456789012345678901234567890', '""', '" "', '[]', '{}',
  '[null]', '{"":null}', '"\\u0000"', '"\\ud800"', '"\\ufeff"', '"😀"', '"../a"', '"C:\\\\a"', '"[{}]"', '"{"', 'NaN', '\'x\'',
  '01', '"\\x"', '[1,]', '/**/1', '"x', ...[127, 128, 5000].map((depth) => '['.repeat(depth) + ']'.repeat(depth)),
  JSON.stringify(CONTENT.repeat(2000)), `[${'0,'.repeat(300)}0]`,
];
/** A placeholder for a raw value, which replaces it in the serialised body. */
const HOLE = 'hole-for-a-spelt-value-';

/** The text of a body for these ids, with one to three spoiled members or with spoiled bytes. */
export function spoiledBody(random, ids) {
  const body = structuredClone({ ...ids, ...random.of(BODIES) });
  if (random.oneIn(5)) return garbled(random, Buffer.from(JSON.stringify(body)));
  const spelt = [];
  for (let left = 1 + random.below(3); left > 0; left -= 1) spoil(random, body, spelt);
  let text = JSON.stringify(body);
  for (const [index, value] of spelt.entries()) text = text.replaceAll(`"${HOLE}${index}"`, () => value);
  if (random.oneIn(15)) text = text.replace('{', () => `{"${random.of(NAMES)}":${random.of(SPELT)},`);
  if (random.oneIn(30)) text = `\ufeff${text}`;
  if (random.oneIn(60)) text = text.padEnd(70_000);
  return Buffer.from(text);
}

function spoil(random, body, spelt) {
  const places = [];
  const visit = (holder) => {
    for (const [key, value] of Object.entries(holder)) {
      places.push([holder, key]);
      if (value !== null && typeof value === 'object') visit(value);
    }
  };
  visit(body);
  const [holder, key] = random.of(places.length > 0 ? places : [[body, 'SessionId']]);
  switch (random.below(5)) {
    case 0:
      delete holder[key];
      break;
    case 1:
      holder[random.of(NAMES)] = holder[key];
      break;
    case 2:
      holder[key] = [holder[key], holder[key]];
      break;
    default:
      spelt.push(random.of(SPELT));
      holder[key] = `${HOLE}${spelt.length - 1}`;
  }
}

function garbled(random, bytes) {
  let spoiled = bytes;
  for (let left = 1 + random.below(3); left > 0; left -= 1) {
    const at = random.below(spoiled.length);
    const noise = Buffer.from(random.of([[], [0], [255], [0xed, 0xa0, 0x80], [0x22], [0x5c], [0x7b], [0x7d], [0x2c], [10]]));
    spoiled = Buffer.concat([spoiled.subarray(0, at), noise, spoiled.subarray(at + random.below(10))]);
  }
  return spoiled;
}

/** A request as bytes. Adds a content-length unless `headers` hold one or a transfer-encoding. */
export function request(method, target, headers, body = Buffer.alloc(0)) {
  const named = (name) => headers.some(([known]) => known.toLowerCase() === name);
  const length = named('content-length') || named('transfer-encoding') ? [] : [['Content-Length', body.length]];
  const lines = [['Host', '127.0.0.1'], ['Connection', 'close'], ...headers, ...length].map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.concat([Buffer.from(`${method} ${target} HTTP/1.1\r\n${lines.join('')}\r\n`, 'latin1'), body]);
}

const METHODS = ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'PURGE', 'PROPFIND', 'SEARCH', 'MKCOL', 'REPORT'];
const ENDPOINTS = [
  '/health', '/errors', '/execute', '/sessions/ID', '/sessions/ID/modes', '/sessions/ID/turns', '/sessions/ID/turns/t',
  '/sessions/ID/turns/t/stream', '/sessions/ID/turns/t/trace', '/sessions/ID/turns/t/cancel', '/sessions/ID/export', '/', '/sessions', '/openapi.json',
  '/sessions/ID/fork', '/tickets', '/workspaces/ID/search', `/files/${'0a'.repeat(32)}`,
];
const PIECES = [
  '..', '.', '%2e%2e', '%252e', '%2f', '%5c', '\\', '%00', '%ff', '%c0%af', '%u0041', '%', '%2', '%zz', ';a=b', ':', '@', '~',
  '//', '/', 'x'.repeat(3000), '%41'.repeat(300), '\u00e9', '*', '|', '"', '<', '{', '\'', '+', '#', '&', '=', ',', '!', '$',
];
const QUERIES = [
  '', '', '?', '?Limit=1', '?Limit=0', '?Limit=-1', '?Limit=1e2', '?Limit=99999999999999999999', '?limit=1', '?Limit=1&Limit=2',
  '?After=t', '?After=%00', '?After=..%2f', '?After=', '?x=1', '?=', '?&&', '?%ff=%ff', '??', `?After=${'y'.repeat(3000)}`,
  '?After=%E2%82%AC', '?After=%0d%0a', '?Explain=%00', '?Ticket=%00', '?Limit=%00', '?Before=%00', '?Cursor=%E2%82%AC',
];

/** Each endpoint with each query: what only one pair shows, a seed may never draw. */
export const plainTargets = (id) => ENDPOINTS.flatMap((path) => [...new Set(QUERIES)].map((query) => path.replace('ID', id) + query));

/** A target that is an endpoint's, or close to one. Always a path, as workerd itself handles every other form. */
export function target(random, id) {
  let path = random.of(ENDPOINTS).replace('ID', id);
  switch (random.below(6)) {
    case 0: {
      const at = 1 + random.below(path.length);
      path = path.slice(0, at) + random.of(PIECES) + path.slice(at);
      break;
    }
    case 1: {
      const once = (byte) => `%${byte.charCodeAt(0).toString(16)}`;
      path = path.replace(/[a-z:]/g, (byte) => (random.oneIn(3) ? once(byte) : byte));
      if (random.oneIn(3)) path = path.replaceAll('%', '%25');
      break;
    }
    case 2:
      path = random.of([path.toUpperCase(), `${path}/`, `/${path}`, path.replaceAll('/', '//'), `${path}/..`, `/x/..${path}`]);
      break;
    default:
  }
  return path + random.of(QUERIES);
}

export const method = (random) => (random.oneIn(2) ? 'GET' : random.of(METHODS));

const JUNK = ['', ' ', '0', '0.0', '-1.-1', '1.5.7', '99999999999999999999.1', '0.5\t', '\u00ff\u00fe', 'a'.repeat(4000), '"', '%00', 'null'];

/** Headers with a wrong key, or with the right key beside junk in every other header. */
export function headers(random, key) {
  const wrong = ['', 'Bearer', 'Bearer ', `Bearer  `, `Bearer ${key}x`, `Basic ${key}`, key, `Bearer ${key} ${key}`, `Bearer\t${key}`, `Bearer ${key},Bearer x`];
  const list = [];
  if (random.oneIn(4)) list.push(['Authorization', random.of([...wrong, ...JUNK])]);
  else list.push(['Authorization', `Bearer ${key}`]);
  if (random.oneIn(2)) list.push(['Last-Event-ID', random.of(JUNK)]);
  if (random.oneIn(6)) list.push([random.of(['X-Junk', 'Cookie', 'Accept', 'If-None-Match', 'Range', 'Origin', 'X-HTTP-Method-Override', 'Expect-CT']), random.of(JUNK)]);
  if (random.oneIn(20)) list.push(...Array.from({ length: 40 }, (_, index) => [`X-Many-${index}`, 'v'.repeat(100)]));
  return list;
}

const TYPES = [
  'application/json', 'APPLICATION/JSON; charset=utf-8', 'application/problem+json', 'text/plain', '', 'json', 'application/json,text/plain',
  'multipart/form-data; boundary=x', 'application/x-www-form-urlencoded', ';', 'a'.repeat(2000), '\u00ff', 'application/json; charset=utf-16',
];

/** `POST /execute` with odd headers or framing around a body. `broken` marks framing that is itself invalid. */
export function oddlyFramed(random, key, body) {
  const given = [['Authorization', `Bearer ${key}`], ['Content-Type', random.oneIn(3) ? random.of(TYPES) : 'application/json']];
  const chunk = (bytes, extension = '') => Buffer.concat([Buffer.from(`${bytes.length.toString(16)}${extension}\r\n`), bytes, Buffer.from('\r\n')]);
  const end = Buffer.from('0\r\n\r\n');
  const chunks = () => {
    const size = 1 + random.below(body.length);
    const pieces = [];
    for (let at = 0; at < body.length; at += size) pieces.push(chunk(body.subarray(at, at + size)));
    return Buffer.concat(pieces);
  };
  const chunked = [...given, ['Transfer-Encoding', 'chunked']];
  switch (random.below(7)) {
    case 0:
      return { bytes: request('POST', '/execute', [...given, ['Content-Encoding', random.of(['gzip', 'br', 'identity', 'x', ''])]], body) };
    case 1:
    case 2:
      return { bytes: request('POST', '/execute', chunked, Buffer.concat([chunks(), end])) };
    case 3:
      return { bytes: request('POST', '/execute', chunked, Buffer.concat([random.of([Buffer.from('zz\r\n'), Buffer.from('-1\r\n\r\n'), chunk(body, 'q')]), end])), broken: true };
    case 4:
      return { bytes: request('POST', '/execute', [...given, ['Content-Length', random.of(['-1', '1x', '', '99999999999999999999999'])]], body), broken: true };
    case 5:
      return { bytes: request('POST', '/execute', [...given, ['Content-Length', random.below(body.length)]], body) };
    default:
      return { bytes: request('POST', '/execute', given, body) };
  }
}
