// `make dev` hands on the secrets that a catalog names, and no others.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';

test('the secrets that a catalog names are those of its services, headers and webhooks', () => {
  const catalog = {
    AgentContexts: { a: { ApiKeySecret: 'MODEL_KEY', Headers: { 'api-key': '${AZURE_KEY}' } } },
    ConversationContexts: { a: { BootPrompt: 'PATH, ${HOME} and SigningSecrets', Webhooks: ['done'] } },
    ServerTools: [{ Name: 'look', Http: { Url: 'https://tools.example.com', Headers: { Authorization: 'Bearer ${LOOK_KEY} ${LOOK_KEY}' } } }],
    McpServers: { m: { Headers: { 'X-Both': '${ONE}-${TWO}', 'X-User': '${USER}' } } },
    Webhooks: { done: { SigningSecrets: ['HOOK_SECRET', 'HOOK_SECRET_OLD'] } },
  };
  const names = ['MODEL_KEY', 'AZURE_KEY', 'LOOK_KEY', 'ONE', 'TWO', 'HOOK_SECRET', 'HOOK_SECRET_OLD'];
  assert.deepEqual(secretsIn(JSON.stringify(catalog)), names);
  assert.deepEqual(secretsIn(`\ufeff${JSON.stringify(catalog)}`), names);
  assert.deepEqual(secretsIn('{"AgentContexts":{"a":{"ApiKeySecret":"USER"}}}'), ['USER'], 'a key is no header');
  assert.deepEqual(secretsIn('{'), []);
  assert.deepEqual(secretsIn(readFileSync(new URL('../../src/catalog/builtin.json', import.meta.url), 'utf8')), ['OPENAI_API_KEY']);
});
