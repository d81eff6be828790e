// The package aptix-edge-server: what is in it, that it is made the same twice, and what it makes of a configuration.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { declaration } from '../e2e/built_worker.mjs';
import { PACKAGE, command, started } from './package_server.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const scratch = mkdtempSync(path.join(os.tmpdir(), 'package-'));
after(() => rmSync(scratch, { recursive: true, force: true }));
const json = (file) => JSON.parse(readFileSync(file, 'utf8'));

/** A configuration with secrets, a rate and two environments, in a folder outside of the checkout. */
function ownConfiguration() {
  const folder = mkdtempSync(path.join(scratch, 'own-'));
  writeFileSync(path.join(folder, 'key'), 'sk-never-shown\n', { mode: 0o600 });
  cpSync(path.join(ROOT, 'src/catalog/builtin.json'), path.join(folder, 'catalog.json'));
  const config = path.join(folder, 'server.json');
  writeFileSync(config, JSON.stringify({
    Variables: { OPENAI_MODEL: 'gpt "5"', IDENTITY_PROVIDERS: [{ Issuer: 'https://acme.example/', Audiences: ['a'] }], TENANTS: { acme: { Jurisdiction: 'eu' } } },
    Secrets: { OPENAI_API_KEY: 'key' },
    Catalog: 'catalog.json',
    Rates: { Keys: { Limit: 100, PeriodS: 60 } },
    Metering: true,
    Cloudflare: { Name: 'my-agent', CatalogId: '0'.repeat(32), CpuMs: 60000 },
    Environments: {
      staging: { Variables: { OPENAI_MODEL: 'small' }, Rates: { Users: { Limit: 5, PeriodS: 10 } }, Cloudflare: { CatalogId: '1'.repeat(32), Logs: { Destinations: ['receiver'], InvocationLogs: false } } },
      careless: { Variables: { OPENAI_MODEL: 'small' } },
      production: { Cloudflare: { CatalogId: '2'.repeat(32), Routes: ['agent.example.com', 'example.com/agent/*'], Zone: 'example.com' } },
    },
  }));
  return { folder, config };
}

test('the package has all that it needs, asks for workerd at one version, and is the same when it is made again', () => {
  const manifest = json(path.join(PACKAGE, 'package.json'));
  assert.deepEqual(manifest.dependencies, { workerd: json(path.join(ROOT, 'node_modules/workerd/package.json')).version });
  // In folders of their own: other tests run what is in build-server/, which may be of another commit, too.
  const made = (name) => {
    const cwd = path.join(scratch, name);
    execFileSync(process.execPath, [path.join(ROOT, 'server/build.mjs'), '--to', cwd], { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] });
    const [{ filename, files }] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts'], { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }));
    return { file: path.join(cwd, filename), names: files.map(({ path: file }) => file) };
  };
  const first = made('first');
  for (const name of ['LICENSE', 'README.md', 'catalog.schema.json', 'sbom.cdx.json', 'worker/index_bg.wasm', 'worker/front.js', 'page/index.html']) assert.ok(first.names.includes(name), name);
  assert.ok(first.names.some((name) => name.startsWith('page/playground/licences-')));
  assert.ok(readFileSync(made('again').file).equals(readFileSync(first.file)));

  // Unpacked anywhere, with its one dependency beside it, it runs.
  execFileSync('tar', ['xzf', first.file, '-C', scratch]);
  mkdirSync(path.join(scratch, 'node_modules'));
  symlinkSync(path.join(ROOT, 'node_modules/workerd'), path.join(scratch, 'node_modules/workerd'));
  const said = execFileSync(process.execPath, [path.join(scratch, 'package/dist/cli.mjs'), 'check', path.join(ROOT, 'src/catalog/builtin.json')], { encoding: 'utf8' });
  assert.match(said, /has no faults\.\n  agent contexts \(1\): default\n/);
});

test('local work begins with one command where Node is all that there is, and an agent answers without a key', async (t) => {
  const cwd = mkdtempSync(path.join(scratch, 'dev-'));
  const nothing = mkdtempSync(path.join(scratch, 'nothing-'));
  const { promise: serving, resolve } = Promise.withResolvers();
  const port = 20_000 + (process.pid % 10_000);
  const run = started(['dev', '--port', String(port)], {
    cwd,
    env: { OPENAI_API_KEY: '', OPENAI_BASE_URL: '', AUTH: '', PATH: nothing, HOME: nothing },
    onLine: (line) => line.includes('the playground is at') && resolve(line),
  });
  t.after(() => run.child.kill('SIGTERM'));
  await Promise.race([serving, run.ended.then(() => assert.fail(run.err))]);
  const said = async (TurnId, Instruction) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const body = JSON.stringify({ SessionId: 's', TurnId, Instruction });
    return (await fetch(`http://127.0.0.1:${port}/execute`, { method: 'POST', headers, body })).json();
  };
  assert.match((await said('1', 'Remember the word pelican.')).Result.PrimaryOutputText, /pelican/);
  const { Result, Warnings } = await said('2', 'Go down in the middle.');
  assert.match(Result.PrimaryOutputText, /^I have read the result of agent_list_modes/);
  assert.deepEqual(Warnings.map(({ ErrorCode }) => ErrorCode), ['fallback_used']);
  const page = await fetch(`http://127.0.0.1:${port}/`);
  assert.match(await page.text(), /<title>aptix-edge playground/);
  assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
  run.child.kill('SIGINT');
  assert.deepEqual(await run.ended, [0, null]);
  assert.ok(existsSync(path.join(cwd, '.aptix-edge', String(port), '.gitignore')));
});

test('one configuration becomes what wrangler uploads, with all that the project itself needs', async () => {
  const { folder, config } = ownConfiguration();
  const made = await command(['config', '--config', config, '--env', 'production', '--to', path.join(folder, 'made')]);
  assert.equal(made.code, 0, made.err);
  const toml = readFileSync(path.join(folder, 'made/wrangler.toml'), 'utf8');
  const { durableObjects, compatibilityDate } = await declaration();
  for (const [binding, className] of durableObjects) assert.ok(toml.includes(`{ name = "${binding}", class_name = "${className}" }`), binding);
  const migrations = (text) => [...text.matchAll(/^tag = "(\w+)"\nnew_sqlite_classes = (\[.*\])/gm)].map(([, ...one]) => one);
  assert.deepEqual(migrations(toml), migrations(readFileSync(path.join(ROOT, 'wrangler.toml'), 'utf8')));
  for (const line of [
    'name = "my-agent-production"', `compatibility_date = "${compatibilityDate}"`, 'compatibility_flags = ["nodejs_als", "global_fetch_strictly_public"]', 'workers_dev = false',
    'routes = [{ pattern = "agent.example.com", custom_domain = true }, { pattern = "example.com/agent/*", zone_name = "example.com" }]',
    'bucket_name = "my-agent-production-files"', 'binding = "FILES_EU"\nbucket_name = "my-agent-production-files-eu"\njurisdiction = "eu"', 'cpu_ms = 60000', 'OPENAI_MODEL = "gpt \\"5\\""',
  ]) assert.ok(toml.includes(line), `${line} is in\n${toml}`);
  const capnp = readFileSync(path.join(folder, 'made/config.capnp'), 'utf8');
  for (const [, className] of durableObjects) assert.ok(capnp.includes(`uniqueKey = "aptix-edge-${className}", enableSql = true`), className);

  const upload = await command(['deploy', '--config', config, '--env', 'staging', '--dry-run'], { cwd: ROOT, env: { CI: '1' } });
  assert.equal(upload.code, 0, upload.err + upload.out);
  for (const said of ['env.SESSIONS (SessionObject)', 'env.USER_RATE_LIMITER', 'env.CATALOG', 'env.METERING', 'my-agent-staging-files', 'env.OPENAI_MODEL ("small")', '--dry-run: exiting now.']) {
    assert.ok(upload.out.includes(said), `${said} is in\n${upload.out}`);
  }
  assert.ok(!(upload.out + upload.err).includes('sk-never-shown'));
  assert.match(upload.out, /take --config \S+server\.staging\.wrangler\.toml$/m);
  assert.doesNotMatch(upload.out + upload.err, /Unexpected fields/);
  const staged = readFileSync(path.join(folder, 'server.staging.wrangler.toml'), 'utf8');
  assert.ok(staged.includes('[observability.logs]\nenabled = true\ninvocation_logs = false\ndestinations = ["receiver"]\n'), staged);
  const careless = await command(['deploy', '--config', config, '--env', 'careless', '--dry-run'], { cwd: ROOT, env: { CI: '1' } });
  assert.equal(careless.code, 1);
  assert.match(careless.err, /\/Environments\/careless\/Cloudflare\/CatalogId: is missing/);
  const unknown = await command(['deploy', '--config', config, '--env', 'stagign']);
  assert.match(unknown.err, /\/Environments: has no stagign; did you mean staging\?/);
  // A copy of a Worker that has a domain has none, and an address of its own.
  writeFileSync(config, JSON.stringify({ Cloudflare: { Routes: ['agent.example.com'] }, Environments: { careless: {}, copy: { Cloudflare: { Routes: [] } } } }));
  assert.match((await command(['deploy', '--config', config, '--env', 'careless', '--dry-run'], { cwd: ROOT, env: { CI: '1' } })).err, /Routes: is missing; .*; \[\] is none/);
  assert.equal((await command(['config', '--config', config, '--env', 'copy', '--to', path.join(folder, 'copy')])).code, 0);
  assert.doesNotMatch(readFileSync(path.join(folder, 'copy/wrangler.toml'), 'utf8'), /workers_dev|agent\.example\.com/);
  // What is missing is missed where it is taken.
  writeFileSync(config, JSON.stringify({ Catalog: 'catalog.json', Environments: { bare: {} } }));
  assert.match((await command(['deploy', '--config', config, '--env', 'bare', '--dry-run'], { cwd: ROOT, env: { CI: '1' } })).err, /: \/Environments\/bare\/Cloudflare\/CatalogId: is missing/);
  writeFileSync(config, Buffer.from('{"Catalog":"caf\xe9.json"}', 'latin1'));
  assert.match((await command(['config', '--config', config, '--to', path.join(folder, 'none')])).err, /server\.json is not UTF-8; store it as UTF-8/);
});

test("what wrangler reads stays beside the configuration, so that its other commands reach the same Worker and catalog", async () => {
  const { folder, config } = ownConfiguration();
  const dry = (...env) => command(['deploy', '--config', config, ...env, '--dry-run'], { cwd: ROOT, env: { CI: '1' } });
  const upload = await dry('--env', 'staging');
  assert.equal(upload.code, 0, upload.err + upload.out);
  const file = path.join(folder, 'server.staging.wrangler.toml');
  assert.match(readFileSync(file, 'utf8'), /^name = "my-agent-staging"$/m);
  const wrangler = (...args) => spawnSync(path.join(ROOT, 'node_modules/.bin/wrangler'), [...args, '--config', file], { cwd: ROOT, encoding: 'utf8', env: { ...process.env, CI: '1' } });
  const local = ['--local', '--persist-to', folder, '--binding', 'CATALOG'];
  const put = wrangler('kv', 'key', 'put', ...local, 'catalog', '--path', path.join(folder, 'catalog.json'));
  assert.equal(put.status, 0, put.stderr + put.stdout);
  assert.ok(put.stdout.includes('1'.repeat(32)), put.stdout);
  assert.ok(!readFileSync(file, 'utf8').includes('sk-never-shown'));

  const nowhere = await dry();
  assert.deepEqual([nowhere.code, nowhere.err], [1, 'aptix-edge-server: /Cloudflare/CatalogId: is no id; wrangler kv namespace create my-agent-catalog prints one\n']);
  assert.ok(!existsSync(path.join(folder, 'server.wrangler.toml')));
});

test('an empty secret is refused by its file, before anything is uploaded or judged', async () => {
  const { folder, config } = ownConfiguration();
  for (const nothing of ['', ' \n']) {
    writeFileSync(path.join(folder, 'key'), nothing);
    const fault = `aptix-edge-server: /Secrets/OPENAI_API_KEY: ${path.join(folder, 'key')} is empty; write the secret into it, or leave OPENAI_API_KEY out\n`;
    for (const args of [['deploy', '--dry-run', '--env', 'staging'], ['check', path.join(folder, 'catalog.json')]]) {
      const { code, out, err } = await command([...args, '--config', config], { cwd: ROOT });
      assert.deepEqual([code, out, err], [1, '', fault]);
    }
  }
});

test('a catalog is judged as the Worker reads it, with the mark of an editor, and words of a prompt are no secrets', async () => {
  const { folder, config } = ownConfiguration();
  const file = path.join(folder, 'catalog.json');
  const catalog = json(file);
  catalog.ConversationContexts.default.BootPrompt = 'Paths begin with ${HOME}.';
  catalog.McpServers = { m: { Url: 'https://mcp.example', Headers: { 'X-User': '${USER}' } } };
  const check = () => command(['check', file, '--config', config], { cwd: ROOT });
  writeFileSync(file, `\ufeff${JSON.stringify(catalog)}`);
  const { code, out, err } = await check();
  assert.deepEqual([code, err], [0, ''], out);
  assert.match(out, /\n  secrets it needs \(1\): OPENAI_API_KEY$/m);
  writeFileSync(file, Buffer.from(JSON.stringify(catalog).replace('Paths', 'Pfade führen'), 'latin1'));
  assert.deepEqual(await check(), { code: 1, out: '', err: `aptix-edge-server: the catalog ${file} is not UTF-8; store it as UTF-8\n` });
});

/** A folder with a wrangler of this version, whose program is `does`; `of(name)` is the value of an option there. */
function folderOfWrangler(version, does) {
  const cwd = mkdtempSync(path.join(scratch, 'wrangler-'));
  const wrangler = path.join(cwd, 'node_modules/wrangler');
  mkdirSync(path.join(wrangler, 'bin'), { recursive: true });
  writeFileSync(path.join(cwd, 'package.json'), '{}');
  writeFileSync(path.join(wrangler, 'package.json'), JSON.stringify({ name: 'wrangler', version }));
  writeFileSync(path.join(wrangler, 'bin/wrangler.js'), `const of = (name) => process.argv[process.argv.indexOf(name) + 1];\n${does}`);
  return cwd;
}

test('a deploy that is ended in its middle leaves no secret behind', { timeout: 30_000 }, async () => {
  const { config } = ownConfiguration();
  const cwd = folderOfWrangler('4.141.0', "console.log(of('--secrets-file')); setInterval(() => {}, 1000)");
  let upload;
  const file = await new Promise((told) => {
    upload = started(['deploy', '--config', config, '--env', 'staging'], { cwd, onLine: (line) => line.endsWith('secrets.json') && told(line) });
  });
  assert.match(readFileSync(file, 'utf8'), /sk-never-shown/);
  upload.child.kill('SIGTERM');
  assert.deepEqual([await upload.ended, existsSync(path.dirname(file))], [[1, null], false]);
});

test('the catalog that is uploaded is the one that was judged, and a configuration may begin with the mark of an editor', async () => {
  const { folder, config } = ownConfiguration();
  const file = path.join(folder, 'catalog.json');
  writeFileSync(config, `\ufeff${readFileSync(config, 'utf8')}`);
  // While the Worker is uploaded, the file is changed.
  const cwd = folderOfWrangler('4.141.0', `const { readFileSync, writeFileSync } = require('node:fs');
    if (process.argv[2] === 'deploy') writeFileSync(${JSON.stringify(file)}, '{"half": ');
    else console.log(JSON.parse(readFileSync(of('--path'), 'utf8')).ConversationContexts.default.AgentContextId);`);
  const { code, out, err } = await command(['deploy', '--config', config, '--env', 'staging'], { cwd });
  assert.deepEqual([code, err, out.trimEnd().split('\n').at(-1)], [0, '', 'default']);
});

test('a newer wrangler is told how long objects keep the old code, and to leave queries out of logs; an older one is not', async () => {
  const { config } = ownConfiguration();
  const told = async (version) => {
    const cwd = folderOfWrangler(version, "console.log(require('node:fs').readFileSync(of('--config'), 'utf8'))");
    const upload = await command(['deploy', '--config', config, '--env', 'staging', '--dry-run'], { cwd });
    assert.equal(upload.code, 0, upload.err);
    return upload.out;
  };
  const [older, newer] = [await told('4.140.9'), await told('4.141.0')];
  for (const line of ['code_update_strategy = { mode = "deferred", max_delay = 30 }', 'redact_query_string = true']) {
    assert.ok(newer.includes(line) && !older.includes(line), `${line} is in\n${newer}`);
  }
});
