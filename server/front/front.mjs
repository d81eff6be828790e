// What stands in front of the built Worker on one's own server: it gives the Worker the bindings that workerd lacks,
// and ends the service in order. Owns no decision of the product; index.js beside it is the release build.
//
// One process has one isolate, so what stands in this file's memory holds for the whole server.
import { FileStore, bucketOver } from './file_store.mjs';
import Worker, * as built from './index.js';
import { Ratelimit } from './rate_limit.mjs';
import { refusal } from './refusal.mjs';

export { FileStore };

/** How often a stream looks whether it has to end, in ms. */
const LOOK_MS = 250;
/** Requests that change nothing, or make room. */
const NEEDS_NO_ROOM = new Set(['GET', 'HEAD', 'OPTIONS', 'DELETE']);
/** The paths of those that are sent by POST all the same, since they have a body. */
const READS = /^\/(?:tickets|workspaces\/[^/]+\/(?:search|compare))$/;

/**
 * `isEnding`: no new requests; `isCut`: streams end where they are; `isFull`: nothing may be written, as it is when the server
 * begins until it is told.
 */
const state = { isEnding: false, isCut: false, isFull: undefined, open: 0, filesBytes: 0 };

const METERING = { writeDataPoint: (point) => console.log(JSON.stringify({ event: 'data_point', level: 'info', ...point })) };

let bindings;
/** The Worker's bindings: those of workerd, and those that stand in for what it lacks. */
function whole(env) {
  if (bindings) return bindings;
  const { FILE_STORE, FRONT, ...own } = env;
  const { MaxBytesOfFiles, Rates = {}, Metering, Buckets = [] } = FRONT;
  bindings = { ...own, FILES: bucketOver(FILE_STORE, state, MaxBytesOfFiles) };
  // All of this machine is in each of them, and no two objects have files of one name.
  for (const name of Buckets) bindings[name] = bindings.FILES;
  if (Rates.Keys) bindings.RATE_LIMITER = new Ratelimit(Rates.Keys);
  if (Rates.Users) bindings.USER_RATE_LIMITER = new Ratelimit(Rates.Users);
  if (Metering) bindings.METERING = METERING;
  return bindings;
}

const withAll = (Class) => class extends Class {
  constructor(ctx, env) {
    super(ctx, whole(env));
  }
};
export const SessionObject = withAll(built.SessionObject);
export const WorkspaceIndex = withAll(built.WorkspaceIndex);
export const McpLists = withAll(built.McpLists);
export const UserObject = withAll(built.UserObject);
export const KeySetObject = withAll(built.KeySetObject);

const Door = withAll(Worker);

export default {
  async fetch(request, env, ctx) {
    const reason = refusedFor(request, env);
    if (reason) return refusal(await new Door(ctx, env).fetch(new Request(new URL('/health', request.url), { headers: request.headers })), reason);
    const responding = counted(request, env, ctx);
    // Where its client leaves before it, the runtime would drop what runs at the next wait: it would count as open for ever, and the
    // Worker's memory would hold its part of it.
    ctx.waitUntil(responding.catch(() => {}));
    return responding;
  },
};

/** The Worker's response to a request, which is open until that is there; a stream, until that has ended. */
async function counted(request, env, ctx) {
  state.open += 1;
  let isStream = false;
  try {
    const response = await new Door(ctx, env).fetch(request);
    isStream = response.body !== null && (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
    return isStream ? ending(response, ctx) : response;
  } finally {
    if (!isStream) state.open -= 1;
  }
}

/** Why a request is not taken. A browser that asks first whether its page may call has to learn that it may read the refusal. */
function refusedFor({ method, url }, env) {
  if (state.isEnding && method !== 'OPTIONS') return 'The service is being stopped; wait as Retry-After says and repeat the request.';
  if ((state.isFull ?? env.FRONT.IsFull) && !NEEDS_NO_ROOM.has(method) && !READS.test(new URL(url).pathname)) return 'The disk of the service has no room; wait as Retry-After says and repeat the request.';
  return undefined;
}

/** A stream that ends where it is when the service ends, or when it breaks within: whoever reads it resumes from its last `id`. */
function ending(response, ctx) {
  const { readable, writable } = new IdentityTransformStream();
  const cut = new AbortController();
  const look = setInterval(() => {
    if (state.isCut) cut.abort();
    // The runtime takes it at once, unless its client left before it was there: then nobody would ever read it.
    if (!readable.locked) readable.cancel().catch(() => {});
  }, LOOK_MS);
  const passed = response.body.pipeTo(writable, { signal: cut.signal, preventAbort: true });
  const ended = passed.catch(() => writable.close()).catch(() => {
    // Its reader has left.
  });
  ctx.waitUntil(ended.finally(() => {
    clearInterval(look);
    state.open -= 1;
  }));
  return new Response(readable, response);
}

/** What the process that has started this one asks for, over a socket that only its user can reach. */
export const Control = {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === '/ready') {
      // Objects can be reached, and the disk be written.
      await env.FILE_STORE.getByName('ready').list('');
      return new Response('ready');
    }
    const asked = await request.json();
    if ('FilesBytes' in asked) state.filesBytes = asked.FilesBytes;
    if ('IsFull' in asked) state.isFull = asked.IsFull;
    if ('IsEnding' in asked) state.isEnding = asked.IsEnding;
    if ('IsCut' in asked) state.isCut = asked.IsCut;
    return Response.json({ Open: state.open });
  },
};
