// The MCP servers of a catalog: each is asked for its tools by the Worker, and what the catalog makes of them is said. The export
// of a turn whose model service is this process tells which tools are offered, by their own names; pins that no tool has make the
// Worker tell each tool's own.
import http from 'node:http';
import { noFindings } from './report.mjs';

export const COLUMNS = ['MCP server', 'tool', 'offered', 'pin'];
const NO_PIN = '0'.repeat(64);

/** Asks every server. */
export async function askMcpServers(online) {
  const findings = noFindings();
  const offered = new Map();
  const servers = Object.entries(online.document.McpServers ?? {});
  const model = servers.length > 0 && (await briefModel());
  try {
    for (const [key, server] of servers) {
      const missing = online.missingIn(server);
      const { why, tools, unusable } = missing ? { why: missing } : await toolsOf(online, model, key, server);
      if (why) {
        findings.advice.push(`${key}: gives no list: ${online.shown(why)}`);
        continue;
      }
      const verdict = (tool, pin) => {
        if (server.Allow && !server.Allow.some((pattern) => fits(pattern, tool))) return 'no: not in Allow';
        return Object.hasOwn(server.Pins ?? {}, tool) && server.Pins[tool] !== pin ? 'no: not what was pinned' : 'yes';
      };
      offered.set(key, [...tools].flatMap(([tool, pin]) => {
        findings.rows.push([key, tool, verdict(tool, pin), pin]);
        return verdict(tool, pin) === 'yes' ? [tool] : [];
      }));
      for (const { tool, why: reason } of unusable) findings.rows.push([key, tool, `no: ${reason}`, '–']);
      if (tools.size + unusable.length === 0) findings.rows.push([key, '–', 'no tools', '–']);
      findings.advice.push(...faultsOf(server, tools).map((fault) => `${key}: ${fault}`));
    }
  } finally {
    model && model.close();
  }
  for (const [user, named] of usersOf(online.document)) {
    const [meant, missing] = [[], []];
    for (const [key, wanted] of named) {
      // What is wrong with a server that gave no list has been said.
      if (!offered.has(key)) continue;
      const found = offered.get(key).filter((tool) => wanted === '*' || wanted === tool);
      if (found.length === 0 && wanted !== '*') missing.push(`${user}: names ${key}/${wanted}, which is not offered`);
      meant.push(...found.map((tool) => `${key}/${tool}`));
    }
    if (named.length > 0) findings.notes.push(`${user} offers ${meant.join(', ') || 'no tool of an MCP server'}`);
    findings.advice.push(...missing);
  }
  return findings;
}

/** `{ tools, unusable }`: a pin by the name of each tool, and what cannot be offered; `{ why }` where there is no list. */
async function toolsOf(online, model, key, { Allow, Pins, Approval, Parallel, ...server }) {
  const asked = (more) => {
    const catalog = {
      AgentContexts: { default: { BaseUrl: model.url, Continuation: 'replay', Model: 'm' } },
      ConversationContexts: { default: { AgentContextId: 'default', BootPrompt: 'Boot.', Tools: [`${key}/*`] } },
      Modes: [{ Key: 'general', DisplayName: 'General' }],
      McpServers: { [key]: { ...server, ...more } },
    };
    return online.serve(catalog, async (ask, _, log) => {
      const { Result: answered, Errors } = await ask('/execute', { SessionId: 'check', TurnId: '1', Instruction: 'Check.' });
      const { Result } = await ask('/sessions/check/export');
      const names = (Result?.Turns ?? []).flatMap(({ Tools }) => Tools.flatMap(({ Mcp }) => Mcp?.Tool ?? []));
      return { lines: log(), names, said: Errors[0]?.Message ?? answered?.UserWarnings?.[0] };
    });
  };
  const { lines, names, said } = await asked({});
  const failed = lines.find(({ event }) => event === 'tool_list_failed');
  if (failed) return { why: failed.failure };
  // A turn does not wait as long for a list as the server's TimeoutMs.
  if (names.length === 0 && said) return { why: said };
  const unusable = lines.filter(({ event }) => event === 'tool_unusable').map(({ tool, why }) => ({ tool, why }));
  // No pin is of another name.
  const pinnable = names.filter((name) => !/[\p{Cc}*]/u.test(name));
  const changed = pinnable.length > 0 ? (await asked({ Pins: Object.fromEntries(pinnable.map((name) => [name, NO_PIN])) })).lines : [];
  const pins = new Map(changed.filter(({ event }) => event === 'tool_changed').map(({ tool, sha256 }) => [tool, sha256]));
  return { tools: new Map(names.map((name) => [name, pins.get(name) ?? '–'])), unusable };
}

/** What of a server's entry does not suit its list. */
function faultsOf({ Allow = [], Pins = {}, Approval = {}, Parallel = {} }, tools) {
  const patterns = (list) => (Array.isArray(list) ? list : Object.keys(list ?? {}));
  const named = [['Allow', Allow], ['Pins', Pins], ['Approval', Approval], ['Parallel', Parallel]];
  const unknown = named.flatMap(([member, list]) =>
    (typeof list === 'object' ? patterns(list) : [])
      .filter((pattern) => pattern !== '*' && ![...tools.keys()].some((tool) => fits(pattern, tool)))
      .map((pattern) => `${member} names ${pattern}, which it does not have`));
  const changed = Object.entries(Pins).filter(([tool, pin]) => tools.has(tool) && tools.get(tool) !== pin);
  return [...unknown, ...changed.map(([tool]) => `${tool} is not what was pinned; read it again before its new pin goes into the catalog`)];
}

/** The modes and conversation contexts, with the tools of MCP servers that they name, as `[server, pattern]`. */
function usersOf({ Modes = [], ConversationContexts = {} }) {
  const named = (tools = []) => tools.filter((tool) => typeof tool === 'string' && tool.includes('/')).map((tool) => [tool.slice(0, tool.indexOf('/')), tool.slice(tool.indexOf('/') + 1)]);
  return [
    ...Modes.map(({ Key, Tools }) => [`mode ${Key}`, named(Tools)]),
    ...Object.entries(ConversationContexts).sort().map(([id, { Tools }]) => [`conversation context ${id}`, named(Tools)]),
  ];
}

/** Whether a name is one of a pattern, in which `*` stands for any text. */
const fits = (pattern, name) => new RegExp(`^${pattern.split('*').map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('.*')}$`, 's').test(name);

/** A model service that answers anything with one word. */
async function briefModel() {
  const content = [{ type: 'output_text', text: 'Ready.' }];
  const answer = { id: 'resp_check', status: 'completed', output: [{ type: 'message', role: 'assistant', content }] };
  const server = http.createServer((request, response) => {
    request.resume();
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}
