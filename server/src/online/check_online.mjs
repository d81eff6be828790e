// `check --online`: what the services of a catalog without faults make of it. The Worker itself asks them, each with a catalog of
// its own for the purpose.
import { secretsIn } from '../../../tools/dev/catalog_secrets.mjs';
import { served } from '../catalog_file.mjs';
import { askEmbeddings, COLUMNS as OF_EMBEDDINGS } from './embeddings.mjs';
import { Gateway } from './gateway.mjs';
import { askMcpServers, COLUMNS as OF_MCP_SERVERS } from './mcp_servers.mjs';
import { askModelServices, COLUMNS as OF_MODEL_SERVICES } from './model_services.mjs';
import { seen, shownWithout, table } from './report.mjs';

/** The report of all services, and whether they suit: `{ lines, suits }`. `values` are the variables and secrets. */
export async function askServices({ text, values, progress }) {
  const gateway = await Gateway.start();
  // Who may call, and under which contexts, is no matter of the services.
  const known = Object.fromEntries(Object.entries(values).filter(([name]) => !/^(API_KEYS|TICKET_KEYS|IDENTITY_PROVIDERS|TENANTS$|JURISDICTIONS$)/.test(name)));
  const secrets = Object.fromEntries(secretsIn(text).flatMap((name) => (name in values ? [[name, values[name]]] : [])));
  let names = 0;
  const online = {
    document: JSON.parse(text),
    values,
    gateway,
    progress,
    newName: () => `service-${(names += 1)}`,
    missingIn(part) {
      const missing = secretsIn(JSON.stringify(part)).find((name) => !(name in values));
      return missing && `the secret ${missing} is not known here`;
    },
    shown: shownWithout(secrets),
    serve: (catalog, use) => served({ catalog: JSON.stringify(catalog), values: known, network: 'any' }, use),
  };
  try {
    const models = await askModelServices(online);
    const embeddings = await askEmbeddings(online);
    const servers = await askMcpServers(online);
    const advice = [models, embeddings, servers].flatMap((findings) => findings.advice);
    const parts = [
      table(OF_MODEL_SERVICES, models.rows),
      models.notes,
      table(OF_EMBEDDINGS, embeddings.rows),
      table(OF_MCP_SERVERS, servers.rows),
      servers.notes,
      advice.length === 0 ? ['Every setting suits its service.'] : advice,
    ];
    return { report: seen(parts.filter((lines) => lines.length > 0).map((lines) => lines.join('\n')).join('\n\n')), suits: advice.length === 0 };
  } finally {
    gateway.close();
  }
}
