// `check`: every fault of a catalog, by the Worker's own code, without Rust. Online, a turn of each conversation context tells
// what its model service, its MCP servers and its embeddings make of it.
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';
import { faultsOf, read, served } from './catalog_file.mjs';
import { secretsOf, valuesOf } from './configuration.mjs';
import { Fault } from './fault.mjs';

const INSTRUCTION = 'Answer with the one word: ready.';

/**
 * Checks the file `catalog`; resolves to the exit code. With `settings` (configuration.mjs), the secrets that the catalog names
 * have to be there. Without, they come from the environment.
 */
export async function check({ catalog, settings, online, print }) {
  const text = read(catalog);
  const faults = await faultsOf(text);
  const values = settings ? { ...valuesOf(settings), ...secretsOf(settings) } : ofEnvironment(text);
  const missing = secretsIn(text).filter((name) => !(name in values));
  if (settings || online) {
    const where = settings ? 'neither a variable nor a secret of the configuration' : 'not in the environment';
    faults.push(...missing.map((name) => `the secret ${name} is ${where}`));
  }
  if (faults.length > 0) {
    print(faults.join('\n'));
    return 1;
  }
  print([`${catalog} has no faults.`, ...summary(JSON.parse(text)), ...(missing.length > 0 ? [`  not in this environment, and not judged: ${missing.join(', ')}`] : [])].join('\n'));
  return online ? asked({ text, values, print }) : 0;
}

const ofEnvironment = (text) =>
  Object.fromEntries([...secretsIn(text), 'OPENAI_API_KEY', 'OPENAI_BASE_URL', 'OPENAI_MODEL'].flatMap((name) => (process.env[name] ? [[name, process.env[name]]] : [])));

function summary(catalog) {
  const line = (kind, names) => `  ${kind} (${names.length})${names.length > 0 ? `: ${names.join(', ')}` : ''}`;
  const keys = (member) => Object.keys(catalog[member] ?? {});
  const names = (member, name) => (catalog[member] ?? []).map((each) => each[name]);
  return [
    line('agent contexts', keys('AgentContexts')),
    line('conversation contexts', keys('ConversationContexts')),
    line('modes', names('Modes', 'Key')),
    line('server tools', names('ServerTools', 'Name')),
    line('MCP servers', Array.isArray(catalog.McpServers) ? names('McpServers', 'Name') : keys('McpServers')),
    line('webhooks', keys('Webhooks')),
    line('secrets it needs', secretsIn(JSON.stringify(catalog))),
  ];
}

/** Has each conversation context answer a turn; resolves to the exit code. */
async function asked({ text, values, print }) {
  const contexts = Object.keys(JSON.parse(text).ConversationContexts ?? {});
  if (contexts.length === 0) throw new Fault('the catalog names no conversation context to ask');
  const { API_KEYS, IDENTITY_PROVIDERS, ...known } = values;
  return served({ catalog: text, values: known, network: 'any' }, async (ask) => {
    let code = 0;
    for (const [number, context] of contexts.entries()) {
      const SessionId = `check-${number}`;
      const answer = await ask('/execute', { SessionId, TurnId: '1', Instruction: INSTRUCTION, ConversationContextId: context });
      const { Result: trace } = await ask(`/sessions/${SessionId}/turns/1/trace`);
      const calls = (trace?.ModelCalls ?? []).map((call) => [call.Model, call.Status, call.DurationMs !== undefined && `${call.DurationMs} ms`, call.Error?.ErrorCode].filter(Boolean).join(', '));
      const said = answer.Successful ? 'answers' : answer.Errors.map(({ ErrorCode, Message }) => `${ErrorCode}: ${Message}`).join('; ');
      print([`${context}: ${said}`, ...calls.map((call) => `  model call: ${call}`), ...(answer.Warnings ?? []).map(({ ErrorCode, Message }) => `  ${ErrorCode}: ${Message}`)].join('\n'));
      if (!answer.Successful) code = 1;
    }
    return code;
  });
}
