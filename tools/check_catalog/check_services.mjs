// `make check-catalog FILE=… ONLINE=1`: asks the model service of each agent context what it can do, and says which
// settings the catalog needs for it; check_embeddings.mjs does so for the services of embeddings, check_mcp_servers.mjs for
// the MCP servers, which `ONLINE=mcp` asks alone. It runs after main.rs, which owns the catalog's rules.
//
// Of each agent context, every model that its conversation contexts name is asked to remember a word over two calls, in
// both continuations, and to call a tool. Keys come from the environment or .dev.vars by the names in the catalog; none
// is written. It exits with 0 when every setting suits its service, with 1 when one does not.
import { existsSync, readFileSync } from 'node:fs';
import { parseEnv } from 'node:util';
import { EMBEDDING_COLUMNS, embeddingsOf } from './check_embeddings.mjs';
import { MCP_COLUMNS, mcpServersOf } from './check_mcp_servers.mjs';

/** The longest wait for a response, in ms. */
const PATIENCE_MS = 120_000;
const MESSAGE_LENGTH = 200;
/** Where calls go that the catalog leaves to the deployment (interface §6). */
const DEPLOYMENT = { OPENAI_BASE_URL: 'https://api.openai.com/v1', OPENAI_MODEL: 'gpt-5.1' };
const WORDS = ['pelican', 'quartz', 'lantern', 'saffron', 'juniper', 'walrus', 'cobalt', 'thimble'];
const CACHE_KEY = 'check-catalog';
const NOTE = {
  type: 'function',
  name: 'note',
  description: 'Writes down a word.',
  parameters: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] },
  strict: false,
};
/** What a table's cell may say; everything else is said below the table. */
const SHORT = ['yes', 'no', 'forgets', 'refuses store'];
const COLUMNS = ['agent context', 'model', 'streams', 'calls tools', 'stored', 'replay', 'prompt_cache_key'];

const settings = { ...DEPLOYMENT, ...(existsSync('.dev.vars') ? parseEnv(readFileSync('.dev.vars', 'utf8')) : {}), ...given(process.env) };
/** The secrets that were used, so that no message of a service shows one. */
const used = new Set();

async function main(file, scope) {
  const rows = [];
  const notes = [];
  const advice = [];
  const catalog = JSON.parse(readFileSync(file, 'utf8'));
  for (const service of scope === 'mcp' ? [] : servicesOf(catalog)) {
    const { fault, ...found } = await explored(service);
    const named = (line) => `${service.id}, ${service.model}: ${line}`;
    const cells = ['streams', 'tools', 'stored', 'replay', 'cacheKey'].map((name) => found[name] ?? '–');
    rows.push([service.id, service.model, ...cells.map((cell) => (SHORT.includes(cell) || cell === '–' ? cell : 'no'))]);
    notes.push(...Object.entries(found).filter(([, told]) => !SHORT.includes(told)).map(([name, told]) => named(`${name}: ${told}`)));
    advice.push(...(fault ? [`does not respond: ${fault}`] : adviceFor(service, found)).map(named));
  }
  const embeddings = scope === 'mcp' ? { rows: [], advice: [] } : await embeddingsOf(catalog, { address, headersOf, shown, messageIn });
  advice.push(...embeddings.advice);
  const servers = await mcpServersOf(catalog, { headersOf, shown });
  advice.push(...servers.advice);
  const verdict = advice.length === 0 ? ['Every setting suits its service.'] : advice;
  const parts = [table(COLUMNS, rows), notes, table(EMBEDDING_COLUMNS, embeddings.rows), table(MCP_COLUMNS, servers.rows), servers.notes, verdict].filter((lines) => lines.length > 0);
  console.log(parts.map((lines) => lines.join('\n')).join('\n\n'));
  return advice.length === 0 ? 0 : 1;
}

/** The agent contexts, each with every model that it is used with: `{id, agent, model, parameters}`. */
function servicesOf({ AgentContexts, ConversationContexts = {} }) {
  return Object.entries(AgentContexts).flatMap(([id, agent]) => {
    const uses = Object.values(ConversationContexts).filter(({ AgentContextId }) => AgentContextId === id);
    const services = (uses.length === 0 ? [{}] : uses).map(({ Model, ModelParameters }) => ({
      id,
      agent,
      model: Model ?? agent.Model ?? settings.OPENAI_MODEL,
      parameters: { ...agent.ModelParameters, ...ModelParameters },
    }));
    return services.filter(({ model }, index) => services.findIndex((other) => other.model === model) === index);
  });
}

/** What a service can do: `yes`, or why not; what could not be found out is absent. `fault` when it does not respond. */
async function explored(service) {
  const word = WORDS[Math.floor(Math.random() * WORDS.length)];
  const remember = user(`Remember the word ${word}. Respond with OK and nothing else.`);
  const which = user('Which word was it? Respond with this word and nothing else.');
  const knows = ({ fault, said }) => fault ?? (said.toLowerCase().includes(word) ? 'yes' : 'forgets');

  const { first, store, key } = await begun(service, remember);
  if (first.fault) return { fault: first.fault };
  const cached = key ? { prompt_cache_key: CACHE_KEY } : {};
  const chained = store ? await ask(service, { input: [which], previous_response_id: first.id, store: true, ...cached }) : null;
  const whole = { store: false, include: ['reasoning.encrypted_content'], ...cached };
  const replayed = await ask(service, { input: [remember, ...first.output.flatMap(asInput), which], ...whole });

  const found = {
    streams: first.streamed ? 'yes' : 'no',
    stored: chained === null ? 'refuses store' : knows(chained),
    replay: knows(replayed),
    cacheKey: key ? 'yes' : 'no',
  };
  const begin = user(`Call the tool note with the word ${word}.`);
  const [how, isChained] = found.stored === 'yes' ? [{ store: true, ...cached }, true] : [whole, false];
  const asked = await ask(service, { input: [begin], tools: [NOTE], ...how });
  const calls = (asked.output ?? []).filter(({ type }) => type === 'function_call');
  const outputs = calls.map(({ call_id }) => ({ type: 'function_call_output', call_id, output: '"noted"' }));
  const more = isChained
    ? { input: outputs, previous_response_id: asked.id }
    : { input: [begin, ...(asked.output ?? []).flatMap(asInput), ...outputs] };
  const answered = calls.length === 0 ? null : await ask(service, { ...more, tools: [NOTE], ...how });
  await forget(service, [...(store ? [first, chained] : []), ...(isChained ? [asked, answered] : [])]);
  const tools = asked.fault ?? (answered === null ? 'no' : answered.fault ?? 'yes');
  return { streams: found.streams, tools, ...found };
}

/** The first call, with as much of what the product sends as the service takes. */
async function begun(service, message) {
  let refused;
  for (const [store, key] of [[true, true], [true, false], [false, true], [false, false]]) {
    const first = await ask(service, { input: [message], store, ...(key ? { prompt_cache_key: CACHE_KEY } : {}) });
    if (!first.fault || !first.isRefusal) return { first, store, key };
    refused ??= first;
  }
  return { first: refused };
}

/** What the catalog has to set otherwise, one line each. */
function adviceFor({ agent }, { stored, replay, cacheKey, tools }) {
  const lines = [];
  const isReplayed = agent.Continuation === 'replay';
  if (stored !== 'yes' && replay !== 'yes') lines.push('remembers nothing, in neither continuation');
  else if (!isReplayed && stored !== 'yes') lines.push('set "Continuation": "replay"');
  else if (isReplayed && replay !== 'yes') lines.push('set "Continuation": "stored"');
  if (cacheKey === 'no' && agent.PromptCacheKey !== 'None') lines.push('set "PromptCacheKey": "None"');
  if (tools === 'no') lines.push('was asked to call a tool and did not; take another model where tools are needed');
  else if (tools !== 'yes') lines.push('refuses tools, or what they give');
  return lines;
}

/** Asks the service to delete what it stored for these calls; whether it does is its own affair. */
async function forget({ agent }, responses) {
  for (const { id } of responses.filter((response) => response?.id)) {
    const of = address(agent);
    of.pathname += `/${encodeURIComponent(id)}`;
    await fetch(of, { method: 'DELETE', headers: headersOf(agent), signal: AbortSignal.timeout(PATIENCE_MS) }).catch(() => {});
  }
}

/** One call: `{id, output, said, streamed}`, or `{fault, isRefusal}`. */
async function ask({ agent, model, parameters }, body) {
  try {
    const response = await fetch(address(agent), {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headersOf(agent) },
      body: JSON.stringify({ model, stream: true, ...body, ...parameters, ...(body.include ? { include: united(body, parameters) } : {}) }),
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    const text = await response.text();
    const streamed = (response.headers.get('content-type') ?? '').startsWith('text/event-stream');
    const told = streamed ? gathered(text) : parsed(text);
    if (!response.ok) return { fault: shown(`${response.status} ${messageIn(told) ?? text}`), isRefusal: response.status < 500 && response.status !== 401 };
    if (told === null || told.error || !Array.isArray(told.output)) return { fault: shown(messageIn(told) ?? 'no response came to its end') };
    const said = told.output.flatMap(({ content }) => (Array.isArray(content) ? content : [])).map(({ text: part }) => part ?? '').join('');
    return { id: told.id, output: told.output, said, streamed };
  } catch (error) {
    return { fault: shown(error.cause?.message ?? error.message) };
  }
}

function address({ BaseUrl = settings.OPENAI_BASE_URL, Query = {} }, endpoint = 'responses') {
  const url = new URL(`${BaseUrl.replace(/\/+$/, '')}/${endpoint}`);
  for (const [name, value] of Object.entries(Query)) url.searchParams.set(name, value);
  return url;
}

/** The headers of a call, with the key as the product sends it (interface §4). */
function headersOf({ ApiKeySecret, Headers = {} }) {
  const filled = Object.fromEntries(
    Object.entries(Headers).map(([name, value]) => [name, value.replace(/\$\{(\w+)\}/g, (_, secret) => secretOf(secret))]),
  );
  const hasKey = Object.keys(Headers).some((name) => ['authorization', 'api-key'].includes(name.toLowerCase()));
  return ApiKeySecret === undefined || hasKey ? filled : { authorization: `Bearer ${secretOf(ApiKeySecret)}`, ...filled };
}

function secretOf(name) {
  const value = settings[name];
  if (!value) throw new Error(`the secret ${name} is in neither the environment nor .dev.vars`);
  used.add(value);
  return value;
}

/** A service's message on one line, without secrets. */
function shown(message) {
  const hidden = [...used].reduce((text, secret) => text.replaceAll(secret, '***'), message);
  return hidden.replace(/\s+/g, ' ').trim().slice(0, MESSAGE_LENGTH);
}

/** The response that a stream of events tells, or its error. */
function gathered(text) {
  const events = text.split(/\r?\n\r?\n/).flatMap((block) => {
    const data = block.split(/\r?\n/).filter((line) => line.startsWith('data:')).map((line) => line.slice(5).trim());
    return parsed(data.join('\n')) ?? [];
  });
  const error = events.find(({ type, error: told }) => type === 'error' || (type === undefined && told));
  if (error) return { error: error.error ?? error };
  const last = events.findLast(({ type }) => /^response\.(completed|incomplete|failed)$/.test(type))?.response;
  if (last === undefined || last.status === 'failed') return { error: last?.error ?? { message: 'the stream broke off' } };
  const items = events.filter(({ type }) => type === 'response.output_item.done').map(({ item }) => item);
  return { ...last, output: last.output?.length > 0 ? last.output : items };
}

/** The input items that stand for an output item when the whole conversation is sent, as the product sends them. */
function asInput(item) {
  if (item.type === 'message') return [{ type: 'message', role: 'assistant', content: item.content.map(({ text }) => text ?? '').join('') }];
  if (item.type === 'function_call') return [{ type: item.type, call_id: item.call_id, name: item.name, arguments: item.arguments }];
  if (item.type !== 'reasoning' || !item.encrypted_content) return [];
  return [{ type: item.type, id: item.id, summary: item.summary ?? [], encrypted_content: item.encrypted_content }];
}

function user(text) {
  return { type: 'message', role: 'user', content: [{ type: 'input_text', text }] };
}

function united({ include }, { include: more = [] }) {
  return [...new Set([...include, ...more])];
}

function messageIn(told) {
  const error = told?.error ?? told?.detail ?? told?.message;
  if (typeof error !== 'object' || error === null) return error === undefined ? null : String(error);
  return [error.code ?? error.type, error.message].filter(Boolean).join(': ');
}

function parsed(json) {
  try {
    return JSON.parse(json);
  } catch {
    return null;
  }
}

function given(environment) {
  return Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ''));
}

/** Lines whose columns stand below each other; none without rows. */
function table(columns, rows) {
  if (rows.length === 0) return [];
  const widths = columns.map((_, column) => Math.max(...[columns, ...rows].map((row) => row[column].length)));
  return [columns, ...rows].map((row) => row.map((cell, column) => cell.padEnd(widths[column])).join('  ').trimEnd());
}

process.exitCode = await main(process.argv[2], process.argv[3]);
