// What the protocol's own suite says of the Worker as a client of MCP servers.
//
// Its other client scenarios do not apply:
// - `initialize` gives the newer era's request a proper answer, so that no handshake is needed; the reference server
//   of mcp.test.mjs has the handshake;
// - `elicitation-sep1034-client-defaults`, `sep-2322-client-request-state` ask a human for input, which this client
//   declares that it cannot; a state without a question is in mcp_hostile.test.mjs;
// - `auth/*` is OAuth with a browser: a server's key is a secret of the catalog's;
// - `sep-2640-*` are skills, an extension;
// - `json-schema-2020-12-preservation` wants `$schema` and `allOf` at the root of what the model is shown, which model
//   services refuse; all else of it passes.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { host } from '../fakes/mcp_servers/conformance_client.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CLIENT = `${process.execPath} ${path.join(ROOT, 'tests/fakes/mcp_servers/conformance_client.mjs')}`;
const SUITE = path.join(ROOT, 'node_modules/@modelcontextprotocol/conformance/dist/index.js');
/** Each scenario with the revisions under which it runs. */
const SCENARIOS = {
  tools_call: ['2025-06-18', '2025-11-25', '2026-07-28'],
  'sse-retry': ['2025-11-25'],
  'request-metadata': ['2026-07-28'],
  'http-standard-headers': ['2026-07-28'],
  'http-custom-headers': ['2026-07-28'],
  'http-invalid-tool-headers': ['2026-07-28'],
  'json-schema-ref-no-deref': ['2026-07-28'],
};

describe('the protocol\'s own suite', { concurrency: 2 }, () => {
  let turns;
  before(async () => (turns = await host()));
  after(() => turns.close());

  for (const [scenario, revisions] of Object.entries(SCENARIOS)) {
    for (const revision of revisions) {
      test(`the Worker passes ${scenario} of ${revision}`, async () => {
        const { code, said } = await judged(turns.origin, '--scenario', scenario, '--spec-version', revision);
        assert.equal(code, 0, said);
        assert.match(said, /Passed: [1-9]/);
      });
    }
  }
});

/** What the suite says of the Worker: its exit code and its words. */
function judged(CONFORMANCE_HOST, ...options) {
  return new Promise((resolve) => {
    const all = [SUITE, 'client', '--command', CLIENT, '--timeout', '60000', ...options];
    execFile(process.execPath, all, { env: { ...process.env, CONFORMANCE_HOST } }, (error, ...output) => resolve({ code: error?.code ?? 0, said: output.join('\n') }));
  });
}
