// What tools of others make of the published document and of the Worker behind it: two linters, a generator of clients,
// and a fuzzer that sends what the document permits and forbids. `make check-openapi` runs it; the folder of the tools
// is its argument (tools/setup/openapi_tools).
// Owns running them; each tool judges by its own rules.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { Rig } from '../e2e/harness.mjs';
import { answer, text } from '../e2e/scripted_model.mjs';

const [tools] = process.argv.slice(2);
const seconds = process.env.SECONDS_OF_FUZZING ?? '60';
const npm = (name) => path.join(tools, 'node_modules/.bin', name);
const python = (name) => path.join(tools, 'python/bin', name);
const folder = await mkdtemp(path.join(os.tmpdir(), 'published-'));
const rig = new Rig();
const failed = [];

async function run(name, program, args) {
  console.log(`\n== ${name}`);
  const child = spawn(program, args, { cwd: folder, stdio: ['ignore', 'inherit', 'inherit'] });
  const code = await new Promise((ended) => child.on('close', ended));
  if (code !== 0) failed.push(name);
}

/** Fails unless the generated client knows what `execute` takes and gives. */
async function isTyped() {
  const module = await readFile(path.join(folder, 'client/api/turns/execute.py'), 'utf8').catch(() => '');
  for (const typed of ['body: ToolContinuation | UserTurn', 'Response[AcceptedResult | ExecuteResult | Failure]']) {
    if (!module.includes(typed)) failed.push(`openapi-python-client: execute lacks ${typed}`);
  }
}

/** The document for a reader who takes the schema of a stream for that of each event, as Schemathesis does. */
function ofEachEvent(document) {
  const read = JSON.parse(document);
  const { schemas } = read.components;
  schemas.EventStream = schemas.EventStream.contentSchema.items;
  return JSON.stringify(read);
}

try {
  await rig.start();
  rig.model.otherwise(answer(text('Hello.')));
  const document = await (await fetch(new URL('/openapi.json', rig.url))).text();
  await writeFile(path.join(folder, 'openapi.json'), document);
  await writeFile(path.join(folder, '.spectral.yaml'), 'extends: ["spectral:oas"]\n');
  await run('Spectral', npm('spectral'), ['lint', 'openapi.json', '--ruleset', '.spectral.yaml', '--fail-severity', 'hint']);
  await run('Redocly', npm('redocly'), ['lint', 'openapi.json', '--extends', 'recommended', '--max-problems', '100']);
  if (existsSync(python('schemathesis'))) {
    // No formatter is run over what is thrown away.
    await writeFile(path.join(folder, 'client.json'), '{"post_hooks":[]}');
    const generate = ['generate', '--path', 'openapi.json', '--output-path', 'client', '--meta', 'none', '--config', 'client.json', '--fail-on-warning'];
    await run('openapi-python-client', python('openapi-python-client'), generate);
    await isTyped();
    await writeFile(path.join(folder, 'events.json'), ofEachEvent(document));
    await run('Schemathesis', python('schemathesis'), [
      'run', 'events.json', '--url', `${rig.url}`.replace(/\/$/, ''), '--max-time', seconds, '--request-timeout', '30',
      '--checks', 'not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,response_schema_conformance,negative_data_rejection,unsupported_method,allow_header_conformance',
    ]);
  }
} finally {
  await rig.dispose();
  await rm(folder, { recursive: true, force: true });
}
console.log(failed.length === 0 ? '\nno findings' : `\nfindings of: ${failed.join(', ')}`);
process.exit(failed.length === 0 ? 0 : 1);
