// The catalog of a rehearsal: that of the operator, in which every address but those of model services is one that the
// rehearsal answers, and which asks for no secret but theirs.
import { secretsIn } from '../dev/catalog_secrets.mjs';

/** Where the Worker finds what the rehearsal answers. No such host exists, whatever asks for it. */
export const ORIGIN = 'https://rehearsal.invalid';
/** Answered by the record: `/tools/{name}`, `/mcp/{server}`, `/retrieval`. */
const at = (...names) => [ORIGIN, ...names.map(encodeURIComponent)].join('/');

/**
 * `{ catalog, origins, secrets, notes }` of a right catalog's text: the text to serve, the origins of its model services (where
 * none is named, that of `baseUrl`), the names of their secrets, and what was left out, in sentences.
 */
export function rehearsedCatalog(text, baseUrl) {
  const { Webhooks, ...catalog } = JSON.parse(text);
  const notes = [];
  const services = Object.values(catalog.AgentContexts);
  const origins = new Set(services.map(({ BaseUrl = baseUrl }) => new URL(BaseUrl).origin));
  const secrets = secretsIn(JSON.stringify(services.map(({ ApiKeySecret, Headers }) => ({ ApiKeySecret, Headers }))));
  for (const [name, context] of Object.entries(catalog.AgentContexts)) {
    context.Retrieval = retrieval(context.Retrieval);
    if (context.Budget) context.Budget = ofOneSession(context.Budget);
    if (!('Fallbacks' in context)) continue;
    // Another model's answers would pass for those of the one that is tried.
    delete context.Fallbacks;
    notes.push(`/AgentContexts/${name}/Fallbacks is not followed: a service that is down fails the turn.`);
  }
  for (const [name, context] of Object.entries(catalog.ConversationContexts)) {
    delete context.Webhooks;
    if ('Rollout' in context) {
      delete context.Rollout;
      notes.push(`/ConversationContexts/${name}/Rollout is not followed: a record runs under its own context, or under the one that CONTEXT names.`);
    }
    withoutServers(context, `/ConversationContexts/${name}`, notes);
  }
  for (const [place, mode] of catalog.Modes.entries()) withoutServers(mode, `/Modes/${place}`, notes);
  for (const tool of catalog.ServerTools ?? []) {
    const { TimeoutMs } = tool.Http;
    tool.Http = { Url: at('tools', tool.Name), ...(TimeoutMs && { TimeoutMs }) };
    if (tool.Approval) tool.Approval = byAnyone(tool.Approval);
  }
  for (const [name, server] of Object.entries(catalog.McpServers ?? {})) {
    server.Url = at('mcp', name);
    delete server.Headers;
    // The record has the schemas as the model got them, not as the server wrote them.
    delete server.Pins;
    for (const [pattern, approval] of Object.entries(server.Approval ?? {})) server.Approval[pattern] = byAnyone(approval);
  }
  return { catalog: JSON.stringify(catalog), origins, secrets, notes };
}

/** The workspace's index is not here, and a service is not asked: both give what the record has. */
function retrieval(given = { Index: {} }) {
  if (given === 'None') return given;
  const { Limit, MaxBytes } = given.Index ?? given.Http;
  return { Http: { Url: at('retrieval'), ...(Limit && { Limit }), ...(MaxBytes && { MaxBytes }) } };
}

/** What a user may spend in a day or a month is not rehearsed: all sessions run on one day. */
function ofOneSession({ UserTokensPerDay, UserTokensPerMonth, Lease, ...budget }) {
  return budget;
}

/** Who may decide is not rehearsed; the recorded decision stands. */
function byAnyone(approval) {
  if (typeof approval !== 'object') return approval;
  const { By, ...rest } = approval;
  return rest;
}

/** The model service would call these servers by itself, in the real world. */
function withoutServers(owner, place, notes) {
  if (!owner.HostedTools?.some(({ type }) => type === 'mcp')) return;
  owner.HostedTools = owner.HostedTools.filter(({ type }) => type !== 'mcp');
  notes.push(`${place}/HostedTools goes without its tools of type mcp: the model service would call their servers.`);
}
