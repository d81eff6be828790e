// Requests and responses with one call for each: a head crosses as one text, a short body as bytes. Bytes are a view of
// WebAssembly memory, so they are copied before the call returns.

/**
 * A request's method, its URL, and each header's name in lower case and value, a line each: none of them can have a line
 * break.
 */
export function requestHead(request) {
  let head = `${request.method}\n${request.url}`;
  for (const [name, value] of request.headers) head += `\n${name}\n${value}`;
  return head;
}

/** Resolves to all bytes of a request's body, as a buffer. */
export const wholeBody = (request) => request.arrayBuffer();

/** The bytes of a buffer. */
export const bytesOf = (buffer) => new Uint8Array(buffer);

/** A request to a service, under way. */
class Exchange {
  #abort = new AbortController();

  constructor(url, head, body) {
    this.response = fetch(url, { ...JSON.parse(head), body, signal: this.#abort.signal });
  }

  abort() {
    this.#abort.abort();
  }
}

/** Sends a request. Its head is a `RequestInit` as JSON; the body is a stream, or none. */
export const send = (url, head, body) => new Exchange(url, head, body);

export const sendBytes = (url, head, bytes) => new Exchange(url, head, bytes.slice());

/**
 * A response's status, and the headers that it has of the named ones: name and value, a line each. Those of `ofRefusal`
 * are read where the status is no success. Names stand a line each, too.
 */
export function responseHead(response, names, ofRefusal) {
  let head = `${response.status}`;
  for (const name of (response.ok ? names : `${names}\n${ofRefusal}`).split('\n')) {
    const value = response.headers.get(name);
    if (value !== null) head += `\n${name}\n${value}`;
  }
  return head;
}

/** The object of that name among those of a binding; `undefined` where the deployment has no such binding. */
export function objectAt(env, binding, jurisdiction, name, locationHint) {
  const all = env[binding];
  if (all === undefined) return undefined;
  const objects = jurisdiction === undefined ? all : all.jurisdiction(jurisdiction);
  return locationHint === undefined ? objects.getByName(name) : objects.getByName(name, { locationHint });
}

/** Asks an object, and resolves to its response. Head and body are as those of `send`. */
export const ask = (object, url, head, body) => object.fetch(url, { ...JSON.parse(head), body });

export const askBytes = (object, url, head, bytes) => ask(object, url, head, bytes.slice());

/** A response. Its head is a `ResponseInit` as JSON; the body is a stream, or none. */
export const respond = (head, body) => new Response(body, JSON.parse(head));

export const respondBytes = (head, bytes) => new Response(bytes.slice(), JSON.parse(head));

/** A copy of a response with more headers, an object as JSON. Those of an object's response cannot be changed. */
export function withHeaders(response, headers) {
  const copy = new Response(response.body, response);
  for (const [name, value] of Object.entries(JSON.parse(headers))) copy.headers.set(name, value);
  return copy;
}
