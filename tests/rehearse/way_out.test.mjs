// What of the real world is left to a rehearsal: the addresses and the secrets of its catalog, and what its one way out passes.
import assert from 'node:assert/strict';
import http from 'node:http';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { Outbound } from '../../tools/rehearse/outbound.mjs';
import { rehearsedCatalog } from '../../tools/rehearse/rehearsed_catalog.mjs';
import { recorded, serve } from '../local_server.mjs';

test('a rehearsed catalog has no address and no secret but those of the model services', () => {
  const Headers = { Authorization: 'Bearer ${TOOL_SECRET}' };
  const HostedTools = [{ type: 'web_search' }, { type: 'mcp', server_label: 'x', server_url: 'https://real.example/mcp', require_approval: 'never' }];
  const { catalog, origins, secrets, notes } = rehearsedCatalog(JSON.stringify({
    AgentContexts: {
      default: { ApiKeySecret: 'OPENAI_API_KEY', Budget: { TurnTokens: 9, UserTokensPerDay: 7, UserTokensPerMonth: 8, Lease: 1 }, Fallbacks: ['azure'], Retrieval: { Http: { Url: 'https://real.example/search', Headers, Limit: 3 } } },
      azure: { BaseUrl: 'https://azure.example/openai/v1', Headers: { 'api-key': '${AZURE_KEY}' }, Retrieval: 'None' },
      vectors: { Retrieval: { Index: { MaxBytes: 99, Embeddings: { Model: 'e', Dimensions: 8, BaseUrl: 'https://real.example/v1', Headers } } } },
    },
    ConversationContexts: {
      default: { AgentContextId: 'default', BootPrompt: 'x', Webhooks: ['done'], HostedTools, Rollout: { To: { other: 10 } } },
      other: { Instead: 'default' },
    },
    Modes: [{ Key: 'general', DisplayName: 'General', HostedTools }],
    ServerTools: [{ Name: 'look', Description: 'x', Approval: { When: 'Always', By: 'Actor' }, Http: { Url: 'https://real.example/look', Headers, TimeoutMs: 7 } }],
    McpServers: { docs: { Url: 'https://real.example/mcp', Headers, Pins: { a: '0'.repeat(64) }, Approval: { '*': { When: 'Always', By: 'Key' } } } },
    Webhooks: { done: { Url: 'https://real.example/hook', SigningSecrets: ['HOOK_SECRET'] } },
  }), 'https://api.openai.com/v1');
  assert.doesNotMatch(catalog, /real\.example|TOOL_SECRET|HOOK_SECRET|"By"/);
  assert.deepEqual([...origins], ['https://api.openai.com', 'https://azure.example']);
  assert.deepEqual(secrets, ['OPENAI_API_KEY', 'AZURE_KEY']);
  const { AgentContexts, ConversationContexts, Modes, ServerTools, McpServers } = JSON.parse(catalog);
  const Url = 'https://rehearsal.invalid/retrieval';
  assert.deepEqual(Object.values(AgentContexts).map(({ Retrieval }) => Retrieval), [{ Http: { Url, Limit: 3 } }, 'None', { Http: { Url, MaxBytes: 99 } }]);
  assert.ok(Object.values(AgentContexts).every((context) => !('Fallbacks' in context)));
  assert.deepEqual(AgentContexts.default.Budget, { TurnTokens: 9 }, 'all sessions of a user run on one day');
  assert.deepEqual(ConversationContexts, { default: { AgentContextId: 'default', BootPrompt: 'x', HostedTools: [{ type: 'web_search' }] }, other: { Instead: 'default' } });
  assert.deepEqual(Modes[0].HostedTools, [{ type: 'web_search' }]);
  assert.deepEqual(ServerTools[0].Http, { Url: 'https://rehearsal.invalid/tools/look', TimeoutMs: 7 });
  assert.deepEqual(McpServers.docs, { Url: 'https://rehearsal.invalid/mcp/docs', Approval: { '*': { When: 'Always' } } });
  assert.deepEqual(notes.map((note) => note.split(' ')[0]), ['/AgentContexts/default/Fallbacks', '/ConversationContexts/default/Rollout', '/ConversationContexts/default/HostedTools', '/Modes/0/HostedTools']);
});

test('the way out passes the origins of model services and nothing else', async () => {
  const heard = [];
  const listener = await serve(async (request, response) => {
    heard.push((await recorded(request, response)).path);
    response.end('heard');
  });
  const outbound = await Outbound.start(new Set([listener.origin]));
  outbound.turn = { modelCall: async () => true, modelAnswered() {}, recorded: async (path, body) => ({ status: 200, text: `${path} ${body}` }) };
  const [host, port] = outbound.address.split(':');
  const ask = (url, body) =>
    new Promise((resolve, reject) => {
      const request = http.request({ host, port, path: url, method: 'POST' }, async (response) => resolve([response.statusCode, await text(response)]));
      request.once('error', reject).end(body);
    });
  try {
    assert.deepEqual(await ask(`${listener.origin}/v1/responses`, '{}'), [200, 'heard']);
    assert.deepEqual(await ask('https://rehearsal.invalid/tools/look', '{"a":1}'), [200, '/tools/look {"a":1}']);
    // The same machine under another name is another origin.
    for (const other of [`http://localhost:${listener.port}`, `https://127.0.0.1:${listener.port}`, 'http://169.254.169.254']) {
      assert.deepEqual(await ask(`${other}/v1/responses`, '{}'), [403, ''], other);
    }
    assert.deepEqual(heard, ['/v1/responses']);
    assert.equal(outbound.refused.size, 3);
  } finally {
    outbound.close();
    await listener.close();
  }
});
