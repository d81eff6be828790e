// `make check-catalog ONLINE=1` against services that remember, forget, refuse and fail, and against MCP servers.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { answerJson, listen } from '../model_service/http_service.mjs';
import { unknown } from '../model_service/refusal.mjs';
import { pinOf } from '../../tools/check_catalog/check_mcp_servers.mjs';
import { dualServer } from '../mcp_servers/dual.mjs';
import { HostileServers } from '../mcp_servers/hostile.mjs';
import { standIn } from '../../tools/dev/stand_in/server.mjs';

const SCRIPT = fileURLToPath(new URL('../../tools/check_catalog/check_services.mjs', import.meta.url));
const SECRET = 'sk-check-services-never-shown';
const folder = mkdtempSync(path.join(os.tmpdir(), 'check-services-'));
const services = {};
before(async () => {
  for (const memory of ['full', 'none', 'refuses']) services[memory] = await standIn({ wordMs: 0, memory });
});
after(async () => {
  for (const service of Object.values(services)) await service.close();
  rmSync(folder, { recursive: true });
});

/** The lines and the exit code for a catalog of these agent contexts. */
async function check(AgentContexts, { ConversationContexts = {}, vars = {}, scope = '1', ...more } = {}) {
  const file = path.join(folder, 'catalog.json');
  writeFileSync(file, JSON.stringify({ AgentContexts, ConversationContexts, ...more }));
  writeFileSync(path.join(folder, '.dev.vars'), `OPENAI_API_KEY="${SECRET}"\n`);
  const env = { PATH: process.env.PATH, ...vars };
  return new Promise((resolve) => {
    execFile(process.execPath, [SCRIPT, file, scope], { cwd: folder, env }, (error, stdout, stderr) => {
      assert.equal(stderr, '');
      assert.ok(!stdout.includes(SECRET), stdout);
      resolve({ code: error?.code ?? 0, lines: stdout.trimEnd().split('\n'), said: stdout });
    });
  });
}
const agent = (memory, more = {}) => ({ BaseUrl: services[memory].url, ApiKeySecret: 'OPENAI_API_KEY', Model: 'm', ...more });
const cells = (line) => line.split(/ {2,}/);

test('a service that remembers suits a catalog that says nothing, or that wants replay', async () => {
  const { code, lines } = await check({ default: agent('full'), other: agent('full', { Continuation: 'replay' }) });
  assert.deepEqual(lines.map(cells), [
    ['agent context', 'model', 'streams', 'calls tools', 'stored', 'replay', 'prompt_cache_key'],
    ['default', 'm', 'yes', 'yes', 'yes', 'yes', 'yes'],
    ['other', 'm', 'yes', 'yes', 'yes', 'yes', 'yes'],
    [''],
    ['Every setting suits its service.'],
  ]);
  assert.equal(code, 0);
});

test('a gateway that forgets, or refuses a chain, needs replay', async () => {
  const forgets = await check({ default: agent('none') });
  assert.deepEqual(cells(forgets.lines[1]), ['default', 'm', 'yes', 'yes', 'forgets', 'yes', 'yes']);
  assert.deepEqual([forgets.code, forgets.lines.at(-1)], [1, 'default, m: set "Continuation": "replay"']);

  const refuses = await check({ default: agent('refuses') });
  assert.deepEqual(cells(refuses.lines[1]), ['default', 'm', 'yes', 'yes', 'no', 'yes', 'yes']);
  assert.match(refuses.said, /default, m: stored: 400 unknown_parameter: Unknown parameter: 'previous_response_id'\./);
  assert.equal(refuses.lines.at(-1), 'default, m: set "Continuation": "replay"');

  for (const memory of ['none', 'refuses']) {
    const { code } = await check({ default: agent(memory, { Continuation: 'replay' }) });
    assert.equal(code, 0, memory);
  }
});

test('a service that does not know prompt_cache_key, streams nothing and calls no tool is told so', async () => {
  const plain = await listen(0, (request, response, body) => {
    if ('prompt_cache_key' in body) throw unknown('prompt_cache_key');
    const [, word = 'OK'] = /.*the word (\w+)/s.exec(JSON.stringify(body.input)) ?? [];
    const content = [{ type: 'output_text', text: `${word}.` }];
    answerJson(response, 200, { id: 'resp_1', status: 'completed', output: [{ type: 'message', role: 'assistant', content }] });
  });
  try {
    const { code, lines } = await check({ default: agent('full', { BaseUrl: plain.url }) });
    assert.deepEqual(cells(lines[1]), ['default', 'm', 'no', 'no', 'forgets', 'yes', 'no']);
    assert.deepEqual(lines.slice(3), [
      'default, m: set "Continuation": "replay"',
      'default, m: set "PromptCacheKey": "None"',
      'default, m: was asked to call a tool and did not; take another model where tools are needed',
    ]);
    assert.equal(code, 1);
  } finally {
    await plain.close();
  }
});

test('what does not respond says why: no server, no secret, a key that the service quotes', async () => {
  const quoting = await listen(0, (request) => {
    throw Object.assign(unknown('x'), { status: 401, body: { error: { code: 'invalid_api_key', message: `Wrong: ${request.headers.authorization}.` } } });
  });
  try {
    const { code, lines } = await check({
      dead: agent('full', { BaseUrl: 'http://127.0.0.1:1/v1' }),
      unset: agent('full', { ApiKeySecret: 'NOT_SET' }),
      quoting: agent('full', { BaseUrl: quoting.url }),
      azure: agent('full', { Headers: { 'api-key': '${OPENAI_API_KEY}' }, Query: { 'api-version': 'v1' } }),
    });
    assert.equal(code, 1);
    assert.match(lines.at(-3), /^dead, m: does not respond: connect ECONNREFUSED|^dead, m: does not respond: bad port/);
    assert.equal(lines.at(-2), 'unset, m: does not respond: the secret NOT_SET is in neither the environment nor .dev.vars');
    assert.equal(lines.at(-1), 'quoting, m: does not respond: 401 invalid_api_key: Wrong: Bearer ***.');
    assert.deepEqual(cells(lines[4]), ['azure', 'm', 'yes', 'yes', 'yes', 'yes', 'yes']);
  } finally {
    await quoting.close();
  }
});

test('each model that an agent context is used with is asked once; what the catalog leaves out is the deployment\'s', async () => {
  const ConversationContexts = {
    a: { AgentContextId: 'default' }, b: { AgentContextId: 'default', Model: 'n' }, c: { AgentContextId: 'default', Model: 'n' },
  };
  const vars = { OPENAI_BASE_URL: services.full.url, OPENAI_MODEL: 'o' };
  const { code, lines } = await check({ default: { ApiKeySecret: 'OPENAI_API_KEY' } }, { ConversationContexts, vars });
  assert.deepEqual(lines.slice(1, 3).map((line) => cells(line)[1]), ['o', 'n']);
  assert.equal(lines.length, 5);
  assert.equal(code, 0);
});

test('each service of embeddings is asked for one vector, whose length the catalog has to have right', async () => {
  // It takes no other member, and has one length.
  const plain = await listen(0, null, null, (request, body) => {
    if (Object.keys(body).length > 2) throw unknown('dimensions');
    return { data: [{ embedding: [1, 0, 0, 0, request.headers.authorization === `Bearer ${SECRET}` ? 1 : 0] }] };
  });
  const mute = await listen(0, null, null, () => ({ data: [] }));
  try {
    const embeds = (more) => agent('full', { Retrieval: { Index: { Embeddings: { Model: 'e', Dimensions: 5, ...more } } } });
    const Headers = { Authorization: 'Bearer ${OPENAI_API_KEY}' };
    const { code, lines } = await check({
      lent: embeds({ Dimensions: 256 }),
      plain: embeds({ BaseUrl: plain.url, Headers }),
      other: embeds({ BaseUrl: plain.url, Headers, Dimensions: 4 }),
      keyless: embeds({ BaseUrl: services.full.url }),
      mute: embeds({ BaseUrl: mute.url }),
    });
    assert.deepEqual(lines.slice(7, 13).map(cells), [
      ['embeddings of', 'model', 'Dimensions', 'numbers', 'takes dimensions'],
      ['lent', 'e', '256', '256', 'yes'],
      ['plain', 'e', '5', '5', 'no'],
      ['other', 'e', '4', '5', 'no'],
      ['keyless', 'e', '5', '–', '–'],
      ['mute', 'e', '5', '–', '–'],
    ]);
    assert.deepEqual(lines.slice(14), [
      'other, e: gives 5 numbers; set "Dimensions": 5',
      "keyless, e: gives no embedding: 401 invalid_api_key: You didn't provide an API key.",
      'mute, e: gives no embedding: its answer holds no vector',
    ]);
    assert.equal(code, 1);
  } finally {
    await plain.close();
    await mute.close();
  }
});

test('MCP servers of both eras: each tool with its pin, what the catalog leaves out, and what a mode offers', async () => {
  const [dual, servers] = [await dualServer({ legacy: 'reject' }), await HostileServers.start()];
  try {
    const { code, lines, said } = await check({ unasked: { BaseUrl: 'http://127.0.0.1:1' } }, {
      scope: 'mcp',
      McpServers: {
        docs: { Url: dual.url, Allow: ['a*', 'fail'], Pins: { fail: '0'.repeat(64) } },
        old: { Url: servers.url('legacy'), Headers: { Authorization: 'Bearer ${OPENAI_API_KEY}' } },
        moved: { Url: servers.url('redirect_same') },
      },
      Modes: [
        { Key: 'general', Tools: ['http_tool', 'docs/*', 'old/look'] },
        { Key: 'other', Tools: ['docs/ad', 'moved/*'] },
        { Key: 'plain' },
      ],
      ConversationContexts: { chat: { AgentContextId: 'none', Tools: [{ type: 'function', name: 'x' }, 'old/*'] } },
    });
    const rows = lines.map(cells);
    const pin = (name) => rows.find((row) => row[2] === name).at(-1);
    assert.deepEqual(rows.slice(0, 10), [
      ['MCP server', 'era', 'tool', 'offered', 'pin'],
      ['docs', '2026-07-28', 'add', 'yes', pin('add')],
      ['docs', '2026-07-28', 'delete_row', 'no: not in Allow', pin('delete_row')],
      ['docs', '2026-07-28', 'fail', 'no: not what was pinned', pin('fail')],
      ['docs', '2026-07-28', 'draw', 'no: not in Allow', pin('draw')],
      ['docs', '2026-07-28', 'attach', 'yes', pin('attach')],
      ['old', '2025-11-25', 'look', 'yes', pin('look')],
      ['moved', '2026-07-28', 'look', 'yes', pin('look')],
      [''],
      ['mode general offers docs/add, docs/attach, old/look'],
    ]);
    assert.deepEqual(lines.slice(10), [
      'mode other offers moved/look',
      'conversation context chat offers old/look',
      '',
      'docs: fail is not what was pinned; read it again before its new pin goes into the catalog',
      'mode other: names docs/ad, which is not offered',
    ]);
    assert.equal(code, 1, said);
    assert.ok(servers.of('legacy').every(({ headers }) => headers.authorization === `Bearer ${SECRET}`));
    assert.equal(servers.of('legacy').at(-1).method, 'DELETE');
  } finally {
    await Promise.all([dual.close(), servers.close()]);
  }
});

test('an MCP server that gives no list says why, without its secrets, and nothing follows it elsewhere', async () => {
  const servers = await HostileServers.start();
  try {
    const of = (name) => ({ Url: servers.url(name), Headers: { Authorization: 'Bearer ${OPENAI_API_KEY}' } });
    servers.change('good', { list: (exchange) => exchange.error(-32603, `Wrong: ${exchange.headers.authorization}`) });
    const { code, lines } = await check({}, {
      McpServers: {
        dead: { Url: 'http://127.0.0.1:1/mcp' }, unset: { Url: servers.url('good'), Headers: { 'x-key': '${NOT_SET}' } },
        quoting: of('good'), unauthorised: of('unauthorised'), broken: of('broken'), away: of('redirect_other'), circle: of('redirect_self'),
      },
      Modes: [{ Key: 'general', Tools: ['dead/*'] }],
    });
    assert.match(lines.at(-7), /^dead: gives no list: connect ECONNREFUSED|^dead: gives no list: bad port/);
    const redirected = 'gives no list: is redirected; give the catalog the address where the server is';
    assert.deepEqual([code, ...lines.slice(-6)], [
      1,
      'unset: gives no list: the secret NOT_SET is in neither the environment nor .dev.vars',
      'quoting: gives no list: 200 Wrong: Bearer ***',
      'unauthorised: gives no list: 401 and no answer of the protocol',
      'broken: gives no list: 503 and no answer of the protocol',
      `away: ${redirected}`,
      `circle: ${redirected}`,
    ]);
    assert.equal(servers.of('good').length, 1);
  } finally {
    await servers.close();
  }
});

test('a pin is the hash of what the model is told, however it is spelt', () => {
  // The form of RFC 8785: members sorted by UTF-16, so that a surrogate pair comes before U+FB33.
  const form = '{"description":"€","inputSchema":{"type":"object","\u{1f600}":[1e+21,1,1e-7],"\ufb33":null},"name":"look"}';
  const tool = { title: 'Look', name: 'look', inputSchema: JSON.parse('{"\\ufb33":null,"type":"object","\\ud83d\\ude00":[1E21,1.0,0.0000001]}'), description: '\u20ac' };
  assert.equal(pinOf(tool), createHash('sha256').update(form).digest('hex'));
  assert.notEqual(pinOf({ ...tool, description: undefined }), pinOf({ ...tool, description: '' }));
});
