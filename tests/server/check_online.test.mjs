// `check --online` of the package: services that remember, forget, refuse and fail, services of embeddings and MCP servers get
// the verdicts that `make check-catalog ONLINE=1` gives them (tests/tools/check_services.test.mjs).
import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { standIn } from '../../tools/dev/stand_in/service.mjs';
import { dualServer } from '../fakes/mcp_servers/dual.mjs';
import { HostileServers } from '../fakes/mcp_servers/hostile.mjs';
import { listen } from '../fakes/model_service/http_service.mjs';
import { unknown } from '../fakes/model_service/refusal.mjs';
import { llamaStack } from '../fakes/odd_model_services.mjs';
import { cells } from '../tools/check_catalog.mjs';
import { command, started } from './package_server.mjs';

const SECRET = 'sk-check-online-never-shown';
const SUITS = 'Every setting suits its service.';
const scratch = mkdtempSync(path.join(os.tmpdir(), 'check-online-'));
const services = {};
before(async () => {
  for (const memory of ['full', 'none', 'refuses']) services[memory] = await standIn({ wordMs: 0, memory });
});
after(async () => {
  for (const service of Object.values(services)) await service.close();
  rmSync(scratch, { recursive: true, force: true });
});

const agent = (memory, more = {}) => ({ BaseUrl: services[memory].url, ApiKeySecret: 'OPENAI_API_KEY', Model: 'm', ...more });

/** The exit code, and the lines of the report behind the summary of the catalog. */
async function check(AgentContexts, more = {}) {
  const file = path.join(scratch, 'catalog.json');
  const contexts = Object.fromEntries(Object.keys(AgentContexts).map((id) => [id === 'default' ? id : `of_${id}`, { AgentContextId: id, BootPrompt: 'Boot.' }]));
  contexts.default ??= Object.values(contexts)[0];
  writeFileSync(file, JSON.stringify({ AgentContexts, ConversationContexts: contexts, Modes: [{ Key: 'general', DisplayName: 'General' }], ...more }));
  const { code, out, err } = await command(['check', file, '--online'], { env: { OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: '', OPENAI_MODEL: '' } });
  assert.ok(!(out + err).includes(SECRET), out + err);
  const [, ...parts] = out.trimEnd().split('\n\n');
  assert.ok(parts.length > 0, out + err);
  return { code, lines: parts.join('\n\n').split('\n'), out };
}

test('a service that remembers suits either setting, and one that forgets or refuses a chain needs replay', async () => {
  const suits = await check({ default: agent('full'), other: agent('full', { Continuation: 'replay' }) });
  const all = ['yes', 'yes', 'yes', 'yes', 'yes'];
  assert.deepEqual(suits.lines.map(cells), [
    ['agent context', 'model', 'Continuation', 'streams', 'boot prompt', 'remembers', 'same again', 'calls tools', 'Background'],
    ['default', 'm', 'stored', ...all, 'yes'],
    ['default', 'm', 'replay', ...all, '–'],
    ['other', 'm', 'stored', ...all, 'yes'],
    ['other', 'm', 'replay', ...all, '–'],
    [''],
    [SUITS],
  ]);
  assert.equal(suits.code, 0);
  const forgets = await check({ default: agent('none') });
  assert.deepEqual(forgets.lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
    ['stored', 'yes', 'at first', 'no', '–', 'yes'],
    ['replay', 'yes', 'yes', 'yes', 'yes', 'yes'],
  ]);
  assert.deepEqual([forgets.code, forgets.lines.at(-1)], [1, 'default, m: set "Continuation": "replay"']);
  const refuses = await check({ default: agent('refuses') });
  assert.match(refuses.out, /default, m, stored: refused, and asked in another way: 400 unknown_parameter: Unknown parameter: 'previous_response_id'\./);
  assert.equal(refuses.lines.at(-1), 'default, m: set "Continuation": "replay"');
});

test('a variable that is empty counts as its default, as the service reads it', async () => {
  const [config, file] = ['server.json', 'catalog.json'].map((name) => path.join(scratch, name));
  writeFileSync(config, JSON.stringify({ Variables: { OPENAI_MODEL: '', OPENAI_API_KEY: SECRET } }));
  const { Model, ...modelless } = agent('full');
  const ConversationContexts = { default: { AgentContextId: 'default', BootPrompt: 'Boot.' } };
  writeFileSync(file, JSON.stringify({ AgentContexts: { default: modelless }, ConversationContexts, Modes: [{ Key: 'general', DisplayName: 'General' }] }));
  const { code, out } = await command(['check', file, '--config', config, '--online']);
  assert.match(out, /^default +gpt-5\.1 +stored +yes +yes/m);
  assert.equal(code, 0, out);
});

test('a chain that loses the boot prompt is found, and what does not respond says why, without the key', async () => {
  const llama = await llamaStack();
  const quoting = await listen(0, (request) => {
    throw Object.assign(unknown('x'), { status: 401, body: { error: { code: 'invalid_api_key', message: `Wrong: ${request.headers.authorization}.` } } });
  });
  try {
    const { code, lines } = await check({ default: agent('full', { BaseUrl: llama.url }), quoting: agent('full', { BaseUrl: quoting.url }) });
    assert.deepEqual(lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
      ['stored', 'yes', 'at first', 'yes', 'no', 'yes'],
      ['replay', 'yes', 'yes', 'yes', 'yes', 'yes'],
    ]);
    assert.deepEqual([code, ...lines.slice(-2)], [
      1,
      'default, m: set "Continuation": "replay"',
      'quoting, m: does not respond: 401 invalid_api_key: Wrong: Bearer ***.',
    ]);
  } finally {
    await Promise.all([llama.close(), quoting.close()]);
  }
});

test('what a deployment permits its tenants is no matter of the services, and no part of a key is shown', async () => {
  const longer = `${SECRET}-and-more`;
  const quoting = await listen(0, (request) => {
    throw Object.assign(unknown('x'), { status: 401, body: { error: { code: 'invalid_api_key', message: `Wrong: ${request.headers['x-key']}.\u001b[2J` } } });
  });
  try {
    const config = path.join(scratch, 'server.json');
    const keys = { OPENAI_API_KEY: SECRET, LONGER_KEY: longer };
    for (const [name, value] of Object.entries(keys)) writeFileSync(path.join(scratch, name), value, { mode: 0o600 });
    writeFileSync(config, JSON.stringify({ Variables: { TENANTS: { '*': { Contexts: ['other'] } } }, Secrets: { OPENAI_API_KEY: 'OPENAI_API_KEY', LONGER_KEY: 'LONGER_KEY' } }));
    const file = path.join(scratch, 'catalog.json');
    const AgentContexts = { default: agent('full'), quoting: agent('full', { BaseUrl: quoting.url, Headers: { 'X-Key': '${LONGER_KEY}' } }) };
    const ConversationContexts = { default: { AgentContextId: 'default', BootPrompt: 'Boot.' } };
    writeFileSync(file, JSON.stringify({ AgentContexts, ConversationContexts, Modes: [{ Key: 'general', DisplayName: 'General' }] }));
    const { code, out } = await command(['check', file, '--config', config, '--online']);
    assert.deepEqual([code, out.trimEnd().split('\n').slice(-1)], [1, ['quoting, m: does not respond: 401 invalid_api_key: Wrong: ***.\ufffd[2J']], out);
    assert.match(out, /^default +m +stored +yes +yes/m);
  } finally {
    await quoting.close();
  }
});

test('embeddings that nobody was asked for do not suit', async () => {
  const [config, file] = ['server.json', 'catalog.json'].map((name) => path.join(scratch, name));
  writeFileSync(config, JSON.stringify({ Variables: { MAX_TURNS: 'many', OPENAI_API_KEY: SECRET } }));
  const AgentContexts = { default: agent('full', { Retrieval: { Index: { Embeddings: { Model: 'e', Dimensions: 256 } } } }) };
  const ConversationContexts = { default: { AgentContextId: 'default', BootPrompt: 'Boot.' } };
  writeFileSync(file, JSON.stringify({ AgentContexts, ConversationContexts, Modes: [{ Key: 'general', DisplayName: 'General' }] }));
  const { code, out } = await command(['check', file, '--config', config, '--online']);
  const why = "The deployment's variable MAX_TURNS must be a whole number above 0.";
  assert.deepEqual([code, out.trimEnd().split('\n').slice(-2)], [1, [`default, m: does not respond: ${why}`, `default, e: gives no embedding: ${why}`]], out);
});

test('a service of embeddings is asked for a vector, whose length the catalog has to have right', async () => {
  const embeds = (Dimensions, url) => agent('full', { Retrieval: { Index: { Embeddings: { Model: 'e', Dimensions, ...(url && { BaseUrl: url }) } } } });
  const plain = await listen(0, null, null, (_, body) => {
    if (Object.keys(body).length > 2) throw unknown('dimensions');
    return { data: [{ embedding: [1, 0, 0, 0, 0] }] };
  });
  try {
    const { code, lines } = await check({ lent: embeds(256), other: embeds(4, plain.url) });
    const at = lines.findIndex((line) => line.startsWith('embeddings of'));
    assert.deepEqual(lines.slice(at, at + 3).map(cells), [
      ['embeddings of', 'model', 'Dimensions', 'numbers', 'takes dimensions'],
      ['lent', 'e', '256', '256', 'yes'],
      ['other', 'e', '4', '5', 'no'],
    ]);
    assert.deepEqual([code, lines.at(-1)], [1, 'other, e: gives 5 numbers; set "Dimensions": 5']);
  } finally {
    await plain.close();
  }
});

test('a service is asked without the fall-backs of its context, which are asked by themselves', async () => {
  const Retrieval = { Index: { Embeddings: { Model: 'e', Dimensions: 256 } } };
  const { code, lines } = await check({ default: agent('full', { Fallbacks: ['spare'], Retrieval }), spare: agent('full') });
  assert.deepEqual(lines.slice(1, 5).map((line) => cells(line).slice(0, 4)), ['default', 'spare'].flatMap((id) => ['stored', 'replay'].map((one) => [id, 'm', one, 'yes'])));
  assert.ok(lines.some((line) => cells(line).join() === 'default,e,256,256,yes'), lines.join('\n'));
  assert.deepEqual([code, lines.at(-1)], [0, SUITS]);
});

test('an MCP server is asked for its tools: each with its pin, what the catalog leaves out, what a mode offers', async () => {
  const [dual, servers] = [await dualServer({ legacy: 'reject' }), await HostileServers.start()];
  try {
    const McpServers = {
      docs: { Url: dual.url, Allow: ['a*', 'fail'], Pins: { fail: '0'.repeat(64) } },
      old: { Url: servers.url('legacy') },
      broken: { Url: servers.url('broken') },
    };
    const Modes = [{ Key: 'general', DisplayName: 'General', Tools: ['docs/*', 'old/look', 'docs/ad'] }];
    const { code, lines } = await check({ default: agent('full') }, { McpServers, Modes });
    const rows = lines.map(cells).filter(([name]) => ['docs', 'old'].includes(name));
    const offered = rows.map(([server, tool, verdict, pin]) => [server, tool, verdict, /^[0-9a-f]{64}$/.test(pin)]);
    assert.deepEqual(offered.sort(), [
      ['docs', 'add', 'yes', true],
      ['docs', 'attach', 'yes', true],
      ['docs', 'delete_row', 'no: not in Allow', true],
      ['docs', 'draw', 'no: not in Allow', true],
      ['docs', 'fail', 'no: not what was pinned', true],
      ['old', 'look', 'yes', true],
    ]);
    assert.ok(lines.includes('mode general offers docs/add, docs/attach, old/look'), lines.join('\n'));
    assert.deepEqual([code, ...lines.slice(-3)], [
      1,
      'docs: fail is not what was pinned; read it again before its new pin goes into the catalog',
      'broken: gives no list: it answered with status 503',
      'mode general: names docs/ad, which is not offered',
    ]);
  } finally {
    await Promise.all([dual.close(), servers.close()]);
  }
});

test('a tool of an MCP server goes by its own name, where the model sees another one, too', async () => {
  const servers = await HostileServers.start();
  try {
    const McpServers = { odd: { Url: servers.url('collide'), Allow: ['a.b', 'a_b'] } };
    const Modes = [{ Key: 'general', DisplayName: 'General', Tools: ['odd/a.b'] }];
    const { code, lines } = await check({ default: agent('full') }, { McpServers, Modes });
    const rows = lines.map(cells).filter(([server, tool]) => server === 'odd' && tool.length === 3);
    assert.deepEqual(rows.map(([, tool, verdict, pin]) => [tool, verdict, /^[0-9a-f]{64}$/.test(pin)]).sort(), [
      ['a b', 'no: not in Allow', true],
      ['a.b', 'yes', true],
      ['a_b', 'yes', true],
    ]);
    assert.ok(lines.includes('mode general offers odd/a.b'), lines.join('\n'));
    assert.deepEqual([code, lines.at(-1)], [0, SUITS]);
  } finally {
    await servers.close();
  }
});

test('a server whose list a turn does not wait for gives none', async () => {
  const servers = await HostileServers.start();
  try {
    const { code, lines } = await check({ default: agent('full') }, { McpServers: { slow: { Url: servers.url('slow_list') } } });
    assert.deepEqual([code, lines.at(-1)], [1, 'slow: gives no list: The tools of slow are missing: their server could not be reached.']);
  } finally {
    await servers.close();
  }
});

test('a check whose progress nobody reads goes on, and leaves no runtime behind', async () => {
  const file = path.join(scratch, 'unread.json');
  writeFileSync(file, JSON.stringify({ AgentContexts: { default: agent('full') }, ConversationContexts: { default: { AgentContextId: 'default', BootPrompt: 'Boot.' } }, Modes: [{ Key: 'general', DisplayName: 'General' }] }));
  const TMPDIR = mkdtempSync(path.join(scratch, 'tmp-'));
  const run = started(['check', file, '--online'], { env: { TMPDIR, OPENAI_API_KEY: SECRET, OPENAI_BASE_URL: '', OPENAI_MODEL: '' } });
  run.child.stderr.destroy();
  assert.deepEqual(await run.ended, [0, null]);
  assert.ok(run.out.includes(SUITS), run.out);
  // Each runtime has a folder, which goes with it.
  assert.deepEqual(readdirSync(TMPDIR), []);
});
