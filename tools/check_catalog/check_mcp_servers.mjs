// The MCP servers' part of `make check-catalog ONLINE=1` (check_services.mjs): asks each server for its tools, and says
// what the catalog makes of them. Owns the protocol as far as a list needs it, in both eras, and the pins.
import { createHash } from 'node:crypto';

const MODERN = '2026-07-28';
const LEGACY = ['2025-11-25', '2025-06-18', '2025-03-26'];
const CLIENT = { name: 'check-catalog', version: '1' };
const PATIENCE_MS = 60_000;
const MOST_PAGES = 64;
const UNSUPPORTED_VERSION = -32022;
/** What only the newer era says: a request is to be mended, not to be made in the older one. */
const MODERN_ERRORS = [-32020, -32021, UNSUPPORTED_VERSION];
/** The columns of the table. */
export const MCP_COLUMNS = ['MCP server', 'era', 'tool', 'offered', 'pin'];

/**
 * What the MCP servers of a catalog offer: `{rows, notes, advice}`, a table and lines. `headersOf` fills the secrets of
 * an entry's headers in; `shown` takes them out of a message.
 */
export async function mcpServersOf({ McpServers = {}, Modes = [], ConversationContexts = {} }, { headersOf, shown }) {
  const [rows, notes, advice] = [[], [], []];
  const offered = new Map();
  for (const [key, server] of Object.entries(McpServers)) {
    try {
      const { version, tools } = await listed(server.Url, headersOf(server));
      const verdicts = tools.map((tool) => ({ tool, verdict: verdictOn(tool, server) }));
      rows.push(...verdicts.map(({ tool, verdict }) => [key, version, tool.name, verdict, pinOf(tool)]));
      if (tools.length === 0) rows.push([key, version, '–', 'no tools', '–']);
      offered.set(key, verdicts.filter(({ verdict }) => verdict === 'yes').map(({ tool }) => tool.name));
      advice.push(...faultsOf(server, tools).map((fault) => `${key}: ${fault}`));
    } catch (error) {
      advice.push(`${key}: gives no list: ${shown(error.cause?.message ?? error.message)}`);
    }
  }
  const users = [...Modes.map(({ Key, Tools }) => [`mode ${Key}`, Tools]), ...Object.entries(ConversationContexts).map(([id, { Tools }]) => [`conversation context ${id}`, Tools])];
  for (const [user, Tools = []] of users) {
    const named = Tools.filter((name) => typeof name === 'string' && name.includes('/')).map((name) => choice(name, offered));
    if (named.length > 0) notes.push(`${user} offers ${named.flatMap(({ names }) => names).join(', ') || 'no tool of an MCP server'}`);
    advice.push(...named.filter(({ isMissing }) => isMissing).map(({ name }) => `${user}: names ${name}, which is not offered`));
  }
  return { rows, notes, advice };
}

/** SHA-256 of what the model is told of a tool, in the form of RFC 8785, lower-case hex. */
export function pinOf({ name, description, inputSchema }) {
  return createHash('sha256').update(canonical({ name, description, inputSchema })).digest('hex');
}

/** RFC 8785: members sorted by UTF-16, numbers and texts as JSON.stringify writes them. */
function canonical(value) {
  if (value === null || typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`;
  const members = Object.keys(value).filter((name) => value[name] !== undefined).sort();
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name])}`).join(',')}}`;
}

/** `yes`, or why the catalog leaves the tool out. */
function verdictOn(tool, { Allow, Pins = {} }) {
  if (Allow && !Allow.some((pattern) => matches(pattern, tool.name))) return 'no: not in Allow';
  const pin = Object.hasOwn(Pins, tool.name) ? Pins[tool.name] : undefined;
  return pin === undefined || pin === pinOf(tool) ? 'yes' : 'no: not what was pinned';
}

/** What of a server's entry does not suit its list. */
function faultsOf({ Allow = [], Pins = {}, Approval = {} }, tools) {
  const names = tools.map(({ name }) => name);
  const unknown = (member, patterns) =>
    patterns.filter((pattern) => pattern !== '*' && !names.some((name) => matches(pattern, name))).map((pattern) => `${member} names ${pattern}, which it does not have`);
  const changed = tools.filter((tool) => verdictOn(tool, { Pins }) !== 'yes').map(({ name }) => `${name} is not what was pinned; read it again before its new pin goes into the catalog`);
  return [...unknown('Allow', Allow), ...unknown('Pins', Object.keys(Pins)), ...unknown('Approval', Object.keys(Approval)), ...changed];
}

/** The tools that a mode's `server/tool` or `server/*` means. A server that gave no list has been told of already. */
function choice(name, offered) {
  const at = name.indexOf('/');
  const [key, pattern] = [name.slice(0, at), name.slice(at + 1)];
  const names = (offered.get(key) ?? []).filter((tool) => matches(pattern, tool)).map((tool) => `${key}/${tool}`);
  return { name, names, isMissing: names.length === 0 && offered.has(key) };
}

/** Whether a name is the pattern with some text in the place of each `*`. */
function matches(pattern, name) {
  return new RegExp(`^${pattern.split('*').map(escaped).join('.*')}$`, 's').test(name);
}

function escaped(text) {
  return text.replace(/[.+?^${}()|[\]\\]/g, '\\$&');
}

/** A server's tools, and the version of the protocol in which it gave them. */
async function listed(url, headers) {
  const server = { url, headers, version: MODERN, session: {} };
  const tools = [];
  let cursor = {};
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const { tools: more = [], nextCursor } = await asked(server, 'tools/list', cursor);
    tools.push(...more.filter((tool) => typeof tool?.name === 'string'));
    if (typeof nextCursor !== 'string' || nextCursor === cursor.cursor) break;
    cursor = { cursor: nextCursor };
  }
  if (server.session['mcp-session-id']) await sent(server, { method: 'DELETE' }).catch(() => {});
  return { version: server.version, tools };
}

/** The result of a request; in the newer era at first, and in the older one for a server that does not know that. */
async function asked(server, method, params) {
  const refused = await answered(server, method, params);
  if (refused.result) return refused.result;
  const { status, error } = refused;
  const isOutage = status === 401 || status === 403 || status >= 500;
  const supported = error?.code === UNSUPPORTED_VERSION ? error.data?.supported?.find((version) => LEGACY.includes(version)) : undefined;
  const isLegacy = supported ?? (status >= 400 && !isOutage && !MODERN_ERRORS.includes(error?.code));
  if (server.version !== MODERN || !isLegacy) throw new Error(`${status} ${error?.message ?? 'and no answer of the protocol'}`);
  server.version = supported ?? LEGACY[0];
  const { result, response, ...failure } = await answered(server, 'initialize', { protocolVersion: server.version, capabilities: {}, clientInfo: CLIENT });
  if (!result) throw new Error(`${failure.status} ${failure.error?.message ?? 'and no answer of the protocol'}`);
  server.version = result.protocolVersion;
  if (!LEGACY.includes(server.version)) throw new Error(`speaks ${server.version} only, an older version of the protocol`);
  const id = response.headers.get('mcp-session-id');
  server.session = { 'mcp-protocol-version': server.version, ...(id ? { 'mcp-session-id': id } : {}) };
  await (await sent(server, { body: { jsonrpc: '2.0', method: 'notifications/initialized' } })).text();
  return asked(server, method, params);
}

/** What came back for one request: `{status, response}`, and `result` or `error`. */
async function answered(server, method, params) {
  const isModern = server.version === MODERN;
  const about = { protocolVersion: MODERN, clientInfo: CLIENT, clientCapabilities: {} };
  const meta = Object.fromEntries(Object.entries(about).map(([name, value]) => [`io.modelcontextprotocol/${name}`, value]));
  const body = { jsonrpc: '2.0', id: 1, method, params: { ...params, ...(isModern ? { _meta: meta } : {}) } };
  const headers = isModern ? { 'mcp-protocol-version': MODERN, 'mcp-method': method } : {};
  const response = await sent(server, { body, headers });
  const text = await response.text();
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream');
  const messages = isStream ? eventsOf(text) : [parsed(text)];
  const { result, error } = messages.find((message) => message?.result !== undefined || message?.error) ?? {};
  return { status: response.status, response, result, error };
}

/** One request. A redirect is followed once, and never to another origin. */
async function sent({ url, headers, session }, { method = 'POST', body, headers: more = {} }, isAgain = false) {
  const response = await fetch(url, {
    method,
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers, ...session, ...more },
    body: body && JSON.stringify(body),
    redirect: 'manual',
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  if (response.status !== 307 && response.status !== 308) return response;
  const to = new URL(response.headers.get('location') ?? '', url);
  if (isAgain || to.origin !== new URL(url).origin) throw new Error('is redirected; give the catalog the address where the server is');
  return sent({ url: to.href, headers, session }, { method, body, headers: more }, true);
}

function eventsOf(text) {
  return text.split(/\r?\n\r?\n/).map((block) => {
    const data = block.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5));
    return parsed(data.join('\n'));
  });
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}
