// `make check-catalog ONLINE=1` against services that remember, forget, refuse and fail, and against MCP servers.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { standIn } from '../../tools/dev/stand_in/service.mjs';
import { reply } from '../../tools/dev/stand_in/conversation.mjs';
import { dualServer } from '../fakes/mcp_servers/dual.mjs';
import { HostileServers } from '../fakes/mcp_servers/hostile.mjs';
import { answerJson, listen } from '../fakes/model_service/http_service.mjs';
import { unknown } from '../fakes/model_service/refusal.mjs';
import { catalogOfServers, cells, checkCatalog } from './check_catalog.mjs';
import { llamaStack, openResponsesServer } from '../fakes/odd_model_services.mjs';

const SECRET = 'sk-check-services-never-shown';
const services = {};
before(async () => {
  for (const memory of ['full', 'none', 'refuses']) services[memory] = await standIn({ wordMs: 0, memory });
});
after(async () => {
  for (const service of Object.values(services)) await service.close();
});

/** The lines and the exit code for a catalog of these agent contexts. */
async function check(AgentContexts, { ConversationContexts = {}, scope, vars, ...more } = {}) {
  const contexts = Object.fromEntries(
    Object.keys(AgentContexts).map((id) => [`of_${id}`, { AgentContextId: id, BootPrompt: 'Boot.' }]),
  );
  const catalog = {
    AgentContexts,
    ConversationContexts: Object.keys(ConversationContexts).length > 0 ? ConversationContexts : contexts,
    Modes: [{ Key: 'general', DisplayName: 'General' }],
    ...more,
  };
  catalog.ConversationContexts.default ??= Object.values(catalog.ConversationContexts)[0];
  const checked = await checkCatalog(catalog, { scope, vars, devVars: `OPENAI_API_KEY="${SECRET}"\n` });
  assert.ok(!checked.said.includes(SECRET), checked.said);
  return checked;
}
const agent = (memory, more = {}) => ({ BaseUrl: services[memory].url, ApiKeySecret: 'OPENAI_API_KEY', Model: 'm', ...more });
const HEADS = ['agent context', 'model', 'Continuation', 'streams', 'boot prompt', 'remembers', 'same again', 'calls tools', 'Background'];
const SUITS = 'Every setting suits its service.';

test('a service that remembers suits a catalog that says nothing, or that wants replay', async () => {
  const { code, lines } = await check({ default: agent('full'), other: agent('full', { Continuation: 'replay' }) });
  const all = ['yes', 'yes', 'yes', 'yes', 'yes'];
  assert.deepEqual(lines.map(cells), [
    HEADS,
    ['default', 'm', 'stored', ...all, 'yes'],
    ['default', 'm', 'replay', ...all, '–'],
    ['other', 'm', 'stored', ...all, 'yes'],
    ['other', 'm', 'replay', ...all, '–'],
    [''],
    [SUITS],
  ]);
  assert.equal(code, 0);
});

test('a gateway that forgets, or refuses a chain, needs replay', async () => {
  const forgets = await check({ default: agent('none') });
  assert.deepEqual(forgets.lines.slice(1, 3).map((line) => cells(line).slice(0, 8)), [
    ['default', 'm', 'stored', 'yes', 'at first', 'no', '–', 'yes'],
    ['default', 'm', 'replay', 'yes', 'yes', 'yes', 'yes', 'yes'],
  ]);
  assert.deepEqual([forgets.code, forgets.lines.at(-1)], [1, 'default, m: set "Continuation": "replay"']);

  // The Worker gets along with it, at the price of refused calls.
  const refuses = await check({ default: agent('refuses') });
  assert.deepEqual(refuses.lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
    ['stored', 'yes', 'yes', 'yes', 'yes', 'yes'],
    ['replay', 'yes', 'yes', 'yes', 'yes', 'yes'],
  ]);
  assert.match(refuses.said, /default, m, stored: refused, and asked in another way: 400 unknown_parameter: Unknown parameter: 'previous_response_id'\./);
  assert.equal(refuses.lines.at(-1), 'default, m: set "Continuation": "replay"');

  for (const memory of ['none', 'refuses']) {
    const { code, lines } = await check({ default: agent(memory, { Continuation: 'replay' }) });
    assert.deepEqual([code, lines.at(-1)], [0, SUITS], memory);
  }
});

test('the column Background says what a service makes of responses that it makes without their reader', async () => {
  for (const [background, expected] of [[(body) => 'background' in body, 'refused'], [() => false, 'not read again']]) {
    const service = await listen(0, (request, response, body) => {
      if (background(body)) throw unknown('background');
      const content = [{ type: 'output_text', text: 'No.' }];
      answerJson(response, 200, { id: 'resp_1', status: 'completed', output: [{ type: 'message', role: 'assistant', content }] });
    });
    try {
      const { lines } = await check({ default: agent('full', { BaseUrl: service.url, Background: 'Always' }) });
      assert.equal(cells(lines[1]).at(-1), expected);
      assert.ok(lines.some((line) => line.includes('set "Background": "Never"')), lines.join('\n'));
    } finally {
      await service.close();
    }
  }
});

test('Llama Stack: the chain loses the boot prompt and an instruction that is repeated, so it needs replay', async () => {
  const llama = await llamaStack();
  try {
    const { code, lines, said } = await check({ default: agent('full', { BaseUrl: llama.url }) });
    assert.deepEqual(lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
      ['stored', 'yes', 'at first', 'yes', 'no', 'yes'],
      ['replay', 'yes', 'yes', 'yes', 'yes', 'yes'],
    ]);
    assert.deepEqual([code, lines.at(-1)], [1, 'default, m: set "Continuation": "replay"']);
    // What the Worker leaves out after a refusal counts as no fault.
    assert.match(said, /default, m, replay: refused, and asked in another way: 400 .*reasoning\.encrypted_content/);
    const set = await check({ default: agent('full', { BaseUrl: llama.url, Continuation: 'replay' }) });
    assert.deepEqual([set.code, set.lines.at(-1)], [0, SUITS]);
  } finally {
    await llama.close();
  }
});

test('open-responses-server: no boot prompt arrives, and only the chain ends a turn with tools', async () => {
  const server = await openResponsesServer();
  try {
    const boot = 'default, m: in "stored" the boot prompt does not reach the model';
    for (const [Continuation, advice] of [['stored', [boot]], ['replay', ['default, m: set "Continuation": "stored"', boot]]]) {
      const { code, lines } = await check({ default: agent('full', { BaseUrl: server.url, Continuation }) });
      assert.deepEqual(lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
        ['stored', 'yes', 'no', 'yes', 'yes', 'yes'],
        ['replay', 'yes', 'no', 'yes', 'yes', 'again and again'],
      ]);
      assert.deepEqual([code, ...lines.slice(4)], [1, ...advice]);
    }
  } finally {
    await server.close();
  }
});

test('a service that does not know prompt_cache_key, streams nothing and calls no tool is told so', async () => {
  const plain = await listen(0, (request, response, body) => {
    if ('prompt_cache_key' in body) throw unknown('prompt_cache_key');
    const { deltas = ['No.'] } = reply({ ...body, tools: [] }, body.input, null, 0)[0];
    const content = [{ type: 'output_text', text: deltas.join('') }];
    answerJson(response, 200, { id: 'resp_1', status: 'completed', output: [{ type: 'message', role: 'assistant', content }] });
  });
  try {
    const { code, lines } = await check({ default: agent('full', { BaseUrl: plain.url }) });
    assert.deepEqual(lines.slice(1, 3).map((line) => cells(line).slice(2, 8)), [
      ['stored', 'no', 'at first', 'no', '–', 'no'],
      ['replay', 'no', 'yes', 'yes', 'yes', 'no'],
    ]);
    assert.deepEqual(lines.slice(4), [
      'default, m: set "PromptCacheKey": "None"',
      'default, m: set "Continuation": "replay"',
      'default, m: in "replay" it was asked to call a tool and did not; take another model where tools are needed',
    ]);
    assert.equal(code, 1);
  } finally {
    await plain.close();
  }
});

test('what does not respond says why: no server, no secret, a key that the service quotes', async () => {
  const quoting = await listen(0, (request) => {
    throw Object.assign(unknown('x'), { status: 401, body: { error: { code: 'invalid_api_key', message: `Wrong: ${request.headers.authorization}.\u001b[2J` } } });
  });
  try {
    const { code, lines } = await check({
      dead: agent('full', { BaseUrl: 'http://127.0.0.1:1/v1' }),
      quoting: agent('full', { BaseUrl: quoting.url }),
      azure: agent('full', { Headers: { 'api-key': '${OPENAI_API_KEY}' }, Query: { 'api-version': 'v1' } }),
    });
    assert.equal(code, 1);
    assert.deepEqual(cells(lines[1]).slice(0, 3), ['azure', 'm', 'stored']);
    assert.match(lines.at(-2), /^dead, m: does not respond: .*Connection refused/);
    assert.equal(lines.at(-1), 'quoting, m: does not respond: 401 invalid_api_key: Wrong: Bearer ***.\ufffd[2J');
  } finally {
    await quoting.close();
  }
});

test('a secret that is listed and not known here is named, and nothing is asked', async () => {
  const vars = { SECRETS: 'ELSEWHERE' };
  const { code, lines } = await check({ unset: agent('full', { ApiKeySecret: 'ELSEWHERE' }) }, { vars });
  assert.deepEqual([code, lines.at(-1)], [1, 'unset, m: does not respond: the secret ELSEWHERE is in neither the environment nor .dev.vars']);
});

test('each model that an agent context is used with is asked once; what the catalog leaves out is the deployment\'s', async () => {
  const of = (more) => ({ AgentContextId: 'default', BootPrompt: 'Boot.', ...more });
  const ConversationContexts = { default: of(), b: of({ Model: 'n' }), c: of({ Model: 'n' }) };
  const vars = { OPENAI_BASE_URL: services.full.url, OPENAI_MODEL: 'o' };
  const { code, lines } = await check({ default: { ApiKeySecret: 'OPENAI_API_KEY' } }, { ConversationContexts, vars });
  assert.deepEqual(lines.slice(1, 5).map((line) => cells(line)[1]), ['n', 'n', 'o', 'o']);
  assert.deepEqual([code, lines.length], [0, 7]);
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
    assert.deepEqual(lines.slice(12, 18).map(cells), [
      ['embeddings of', 'model', 'Dimensions', 'numbers', 'takes dimensions'],
      ['keyless', 'e', '5', '–', '–'],
      ['lent', 'e', '256', '256', 'yes'],
      ['mute', 'e', '5', '–', '–'],
      ['other', 'e', '4', '5', 'no'],
      ['plain', 'e', '5', '5', 'no'],
    ]);
    assert.deepEqual(lines.slice(19), [
      "keyless, e: gives no embedding: 401 invalid_api_key: You didn't provide an API key.",
      'mute, e: gives no embedding: its answer holds no vector for each text',
      'other, e: gives 5 numbers; set "Dimensions": 5',
    ]);
    assert.equal(code, 1);
    // The other services of the catalog have no part in it.
    const falling = await check({ first: { ...embeds({ Dimensions: 256 }), Fallbacks: ['spare'] }, spare: agent('full') });
    assert.ok(falling.lines.some((line) => cells(line).join() === 'first,e,256,256,yes'), falling.said);
  } finally {
    await plain.close();
    await mute.close();
  }
});

test('MCP servers of both eras: each tool with its pin, what the catalog leaves out, and what a mode offers', async () => {
  const [dual, servers] = [await dualServer({ legacy: 'reject' }), await HostileServers.start()];
  try {
    const { code, lines, said } = await check({ default: { BaseUrl: 'http://127.0.0.1:1' } }, {
      scope: 'mcp',
      McpServers: {
        docs: { Url: dual.url, Allow: ['a*', 'fail'], Pins: { fail: '0'.repeat(64) }, Parallel: { 'a*': true, ad: true } },
        old: { Url: servers.url('legacy'), Headers: { Authorization: 'Bearer ${OPENAI_API_KEY}', 'content-type': 'application/json; charset=utf-8' } },
        moved: { Url: servers.url('redirect_same') },
      },
      Modes: [
        { Key: 'general', DisplayName: 'General', Tools: ['docs/*', 'old/look'] },
        { Key: 'other', DisplayName: 'Other', Tools: ['docs/ad', 'moved/*'] },
        { Key: 'plain', DisplayName: 'Plain' },
      ],
      ConversationContexts: { default: { AgentContextId: 'default', BootPrompt: 'Boot.', Tools: [{ type: 'function', name: 'x' }, 'old/*'] } },
    });
    const rows = lines.map(cells);
    const pin = (name) => rows.find((row) => row[2] === name).at(-1);
    assert.deepEqual(rows.slice(0, 10), [
      ['MCP server', 'era', 'tool', 'offered', 'pin'],
      ['docs', 'modern', 'add', 'yes', pin('add')],
      ['docs', 'modern', 'delete_row', 'no: not in Allow', pin('delete_row')],
      ['docs', 'modern', 'fail', 'no: not what was pinned', pin('fail')],
      ['docs', 'modern', 'draw', 'no: not in Allow', pin('draw')],
      ['docs', 'modern', 'attach', 'yes', pin('attach')],
      ['old', 'legacy 2025-11-25', 'look', 'yes', pin('look')],
      ['moved', 'modern', 'look', 'yes', pin('look')],
      [''],
      ['mode general offers docs/add, docs/attach, old/look'],
    ]);
    assert.deepEqual(lines.slice(10), [
      'mode other offers moved/look',
      'conversation context default offers old/look',
      '',
      'docs: Parallel names ad, which it does not have',
      'docs: fail is not what was pinned; read it again before its new pin goes into the catalog',
      'mode other: names docs/ad, which is not offered',
    ]);
    assert.equal(code, 1, said);
    assert.ok(servers.of('legacy').every(({ headers }) => headers.authorization === `Bearer ${SECRET}`));
    // One type, as the Worker sends it.
    assert.ok(servers.of('legacy').every(({ headers }) => headers['content-type'] === 'application/json; charset=utf-8'));
  } finally {
    await Promise.all([dual.close(), servers.close()]);
  }
});

test('an MCP server that gives no list says why, without its secrets, and nothing follows it elsewhere', async () => {
  const servers = await HostileServers.start();
  try {
    const of = (name) => ({ Url: servers.url(name), Headers: { Authorization: 'Bearer ${OPENAI_API_KEY}' } });
    servers.change('good', { list: (exchange) => exchange.error(-32603, `Wrong: ${exchange.headers.authorization}`) });
    const { code, lines } = await check({ default: { BaseUrl: 'http://127.0.0.1:1' } }, {
      scope: 'mcp',
      vars: { SECRETS: 'ELSEWHERE' },
      McpServers: {
        dead: { Url: 'http://127.0.0.1:1/mcp' }, unset: { Url: servers.url('good'), Headers: { 'x-key': '${ELSEWHERE}' } },
        quoting: of('good'), unauthorised: of('unauthorised'), broken: of('broken'), away: of('redirect_other'), circle: of('redirect_self'),
      },
      Modes: [{ Key: 'general', DisplayName: 'General', Tools: ['dead/*'] }],
    });
    assert.match(lines.at(-7), /^dead: gives no list: it could not be reached \(.*Connection refused/);
    assert.deepEqual([code, ...lines.slice(-6)], [
      1,
      'unset: gives no list: the secret ELSEWHERE is in neither the environment nor .dev.vars',
      'quoting: gives no list: it refused the request: Wrong: Bearer *** (code -32603)',
      'unauthorised: gives no list: it answered with status 401',
      'broken: gives no list: it answered with status 503 (503 down)',
      'away: gives no list: it redirected to another host, which is not followed',
      'circle: gives no list: it could not be reached',
    ]);
    assert.equal(servers.of('good').length, 1);
  } finally {
    await servers.close();
  }
});

test('a pin is the hash of what the model is told, however it is spelt', async () => {
  // The form of RFC 8785: members sorted by UTF-16, so that a surrogate pair comes before U+FB33.
  const form = '{"description":"€","inputSchema":{"type":"object","\u{1f600}":[1e+21,1,1e-7],"\ufb33":null},"name":"look"}';
  const written = '{"title":"Look","name":"look","description":"\\u20ac","inputSchema":{"\\ufb33":null,"type":"object","\\ud83d\\ude00":[1E21,1.0,0.0000001]}}';
  const servers = await HostileServers.start();
  try {
    servers.change('good', { list: (exchange) => exchange.json(`{"resultType":"complete","tools":[${written}]}`) });
    const { lines } = await checkCatalog(catalogOfServers({ good: { Url: servers.url('good') } }), { scope: 'mcp' });
    assert.equal(cells(lines[1]).at(-1), createHash('sha256').update(form).digest('hex'));
  } finally {
    await servers.close();
  }
});
