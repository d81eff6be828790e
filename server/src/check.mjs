// `check`: every fault of a catalog, by the Worker's own code, without Rust. Online, also what its model services, its services
// of embeddings and its MCP servers make of it.
import { secretsIn } from '../../tools/dev/catalog_secrets.mjs';
import { faultsOf, read } from './catalog_file.mjs';
import { secretsOf, valuesOf } from './configuration.mjs';
import { askServices } from './online/check_online.mjs';

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
  if (!online) return 0;
  const { report, suits } = await askServices({ text, values, progress: (line) => process.stderr.write(`check: ${line}\n`) });
  print(`\n${report}`);
  return suits ? 0 : 1;
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
    line('MCP servers', keys('McpServers')),
    line('webhooks', keys('Webhooks')),
    line('secrets it needs', secretsIn(JSON.stringify(catalog))),
  ];
}
