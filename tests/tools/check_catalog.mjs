// Runs `make check-catalog` as its own program, which `cargo build --package check-catalog` makes.
import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const PROGRAM = path.join(process.env.CARGO_TARGET_DIR ?? path.join(ROOT, 'target'), 'debug/check-catalog');

/**
 * Checks a catalog and what it names online; `scope` is `1`, or `mcp` for the MCP servers alone. `devVars` is the text of
 * .dev.vars, `vars` the environment. Resolves to `{code, lines}`: the report's lines after the summary of the catalog.
 */
export async function checkCatalog(catalog, { scope = '1', devVars = '', vars = {} } = {}) {
  if (!existsSync(PROGRAM)) throw new Error('there is no check-catalog: cargo build --package check-catalog');
  const folder = mkdtempSync(path.join(os.tmpdir(), 'check-catalog-'));
  try {
    writeFileSync(path.join(folder, 'catalog.json'), JSON.stringify(catalog));
    if (devVars !== '') writeFileSync(path.join(folder, '.dev.vars'), devVars);
    const options = { cwd: folder, env: { ...vars, ONLINE: scope } };
    return await new Promise((resolve, reject) => {
      execFile(PROGRAM, ['catalog.json'], options, (error, stdout, stderr) => {
        const [summary, ...parts] = stdout.trimEnd().split('\n\n');
        if (parts.length === 0) return reject(new Error(`check-catalog: ${summary}\n${stderr}`));
        resolve({ code: error?.code ?? 0, lines: parts.join('\n\n').split('\n'), said: stdout + stderr });
      });
    });
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** The cells of a row of the report. */
export const cells = (line) => line.split(/ {2,}/);

/** A catalog in which MCP servers can be listed: one that names no model service. */
export const catalogOfServers = (McpServers, more = {}) => ({
  AgentContexts: { default: { BaseUrl: 'http://127.0.0.1:1' } },
  ConversationContexts: { default: { AgentContextId: 'default', BootPrompt: 'Boot.' } },
  Modes: [{ Key: 'general', DisplayName: 'General' }],
  McpServers,
  ...more,
});

/** The pins of the tools of MCP servers, as `make check-catalog ONLINE=mcp` writes them: `{[server]: {[tool]: pin}}`. */
export async function pinsOf(servers) {
  const { lines } = await checkCatalog(catalogOfServers(servers), { scope: 'mcp' });
  const pins = {};
  for (const [server, , tool, , pin] of lines.map(cells)) if (/^[0-9a-f]{64}$/.test(pin)) (pins[server] ??= {})[tool] = pin;
  return pins;
}
