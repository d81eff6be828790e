// One's own server, from the package: what it refuses to start with, what a signal, a crash, a spoiled catalog and a full
// disk do to it, and that a backup which was made while it served holds all that was acknowledged.
import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { chmodSync, closeSync, createWriteStream, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, readdirSync, readlinkSync, renameSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync, writeSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { setTimeout as pause } from 'node:timers/promises';
import { Gate, ScriptedModel, answer, call, text } from '../e2e/scripted_model.mjs';
import { EventStream } from '../e2e/event_stream.mjs';
import { exchange } from '../e2e/raw_http.mjs';
import { Ratelimit } from '../../server/front/rate_limit.mjs';
import { DataFolder } from '../../server/src/data_folder.mjs';
import { Database } from '../../server/src/sqlite.mjs';
import { lacking } from '../../server/src/workerd.mjs';
import { API_KEY, FILE_LINK_KEY, catalogOf } from '../e2e/test_catalog.mjs';
import { serve } from '../local_server.mjs';
import { PACKAGE, PackageServer, command, started } from './package_server.mjs';

const scratch = mkdtempSync(path.join(existsSync('/dev/shm') ? '/dev/shm' : os.tmpdir(), 'own-server-'));
const secrets = { OPENAI_API_KEY: API_KEY, FILE_LINK_KEY };
const Variables = { AUTH: 'none', TURN_ALARM_MS: '300', DELTA_INTERVAL_MS: '0' };
let model;
let serial = 0;
const servers = [];
before(async () => (model = await ScriptedModel.start()));
afterEach(() => model.clear());
after(async () => {
  await Promise.all(servers.map((server) => server.kill()));
  await model.close();
  rmSync(scratch, { recursive: true, force: true });
});

const catalog = (changes) => JSON.stringify(catalogOf({ modelUrl: model.url }, changes));
/** A server that has not been started, in a folder of its own. */
function newServer(cli) {
  serial += 1;
  const folder = path.join(scratch, String(serial));
  const server = new PackageServer({ folder, cli });
  servers.push(server);
  return server;
}
/** Each start has the catalog that is given, or that of the tests. */
const starts = (server, { settings = {}, ...more } = {}) =>
  server.start({ secrets, catalog: catalog(), ...more, settings: { Variables, ...settings } });

async function ask(server, route, { body, method = body ? 'POST' : 'GET', headers = {} } = {}) {
  const sent = { method, headers: { connection: 'close', ...(body && { 'content-type': 'application/json' }), ...headers }, body: body && JSON.stringify(body) };
  const response = await fetch(new URL(route, server.url), sent);
  return { status: response.status, headers: response.headers, json: await response.json() };
}
const turnOf = (SessionId, more = {}) => ({ SessionId, TurnId: '1', Instruction: 'Say hello.', ...more });
const post = (server, body) => ask(server, '/execute', { body });
const statusOf = async (server, session) => (await ask(server, `/sessions/${session}/turns/1`)).json.Result?.Status;

async function stream(server, route, { body, headers = {} }) {
  const sent = { method: body ? 'POST' : 'GET', headers: { ...(body && { 'content-type': 'application/json' }), ...headers }, body: body && JSON.stringify(body) };
  return new EventStream((await fetch(new URL(route, server.url), sent)).body);
}

async function eventually(probe, what) {
  for (const until = Date.now() + 30_000; !(await probe()); ) {
    assert.ok(Date.now() < until, `waited in vain until ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

test('a configuration is refused with each of its faults, and the nearest name', async () => {
  const folder = mkdtempSync(path.join(scratch, 'refused-'));
  const config = path.join(folder, 'server.json');
  const refused = async (settings) => {
    writeFileSync(config, JSON.stringify(settings));
    const { code, err } = await command(['serve', '--config', config, '--data', path.join(folder, 'data')]);
    assert.equal(code, 1, err);
    return err.trim().split('\n').map((line) => line.replace(/^(aptix-edge-server: )?(\S+server\.json: )?/, ''));
  };
  assert.deepEqual(await refused({ Variabels: {}, MaxBytesOfFiles: '5', Rates: { Keys: { Limit: 5, PeriodS: 30 } }, Environments: { x: { Metring: true } } }), [
    '/Variabels: there is no such member; did you mean Variables?',
    '/MaxBytesOfFiles: is a whole number of at least 0',
    '/Rates/Keys/PeriodS: is one of 10, 60',
    '/Environments/x/Metring: there is no such member; did you mean Metering?',
  ]);
  assert.deepEqual(await refused({ Variables: { OPENAI_MODLE: 'm' } }), [
    '/Variables/OPENAI_MODLE: neither the service nor the catalog knows this name; did you mean OPENAI_MODEL?',
  ]);
  // Names that only a catalog knows may resemble each other.
  writeFileSync(path.join(folder, 'catalog.json'), catalog((one) => (one.AgentContexts.default.ApiKeySecret = 'HOOK_SECRET')));
  assert.deepEqual(await refused({ Secrets: { TOOL_SECRET: 'none' }, Catalog: 'catalog.json' }), [`/Secrets/TOOL_SECRET: ${path.join(folder, 'none')} cannot be read: ENOENT`]);
  writeFileSync(path.join(folder, 'key'), 'sk-secret');
  chmodSync(path.join(folder, 'key'), 0o644);
  const [fault] = await refused({ Secrets: { OPENAI_API_KEY: 'key' } });
  assert.match(fault, /^\/Secrets\/OPENAI_API_KEY: \S+key has the mode 0644; it has to be 0600/);
  for (const bytes of [Buffer.from('\ufeffsk-secret\r\n', 'utf16le'), Buffer.from('sk-secret\0')]) {
    rmSync(path.join(folder, 'key'));
    writeFileSync(path.join(folder, 'key'), bytes, { mode: 0o600 });
    assert.deepEqual(await refused({ Secrets: { OPENAI_API_KEY: 'key' } }), [`/Secrets/OPENAI_API_KEY: ${path.join(folder, 'key')} is no text in UTF-8`]);
  }
  assert.deepEqual(await refused({ Log: 'none/log', Cloudflare: { Name: 5, Traces: { SamplingRate: '0.5' } } }), [
    '/Cloudflare/Name: is a name of small letters, digits and hyphens',
    '/Cloudflare/Traces/SamplingRate: is a number from 0 to 1',
  ]);
  assert.deepEqual(await refused({ Log: 'none/log' }), [`the log ${path.join(folder, 'none/log')} cannot be written: ENOENT`]);
  // This machine may not be where a tenant's data has to stay.
  const TENANTS = { acme: { Jurisdiction: 'eu' }, beta: { Placement: 'apac' } };
  for (const more of [{}, { Jurisdictions: ['us'] }]) {
    const [elsewhere] = await refused({ Variables: { TENANTS }, ...more });
    assert.match(elsewhere, /^TENANTS names the jurisdiction eu, .* "Jurisdictions": \["eu"\]$/);
  }
  assert.deepEqual(await refused({ Jurisdictions: ['europe'] }), ['/Jurisdictions: is a list of jurisdictions: eu, us, fedramp, fedramp-high']);
  // What the operating system says is enough.
  for (const args of [['serve', '--data', config], ['dev', '--data', config], ['restore', '--from', config, '--data', config]]) {
    const { code, err } = await command(args, { env: { OPENAI_API_KEY: 'none' } });
    assert.deepEqual([code, err.includes(config), err.trimEnd().split('\n').length], [1, true, 1], err);
  }
  // A repository may bring the folder of `dev`, with links to what is not its own.
  const [brought, target] = ['brought', 'target'].map((name) => path.join(folder, name));
  mkdirSync(brought);
  writeFileSync(target, 'mine');
  symlinkSync(target, path.join(brought, '.gitignore'));
  const linked = await command(['dev', '--data', brought], { env: { OPENAI_API_KEY: 'none' } });
  assert.deepEqual([linked.code, readFileSync(target, 'utf8')], [1, 'mine']);
  assert.match(linked.err, /\.gitignore is a link, /);
  // It may bring a link as that folder; with this lock, nothing would be served from where it leads.
  const [repository, theirs] = ['repository', 'theirs/8787'].map((name) => path.join(folder, name));
  for (const each of [repository, theirs]) mkdirSync(each, { recursive: true });
  writeFileSync(path.join(theirs, 'lock'), 'No database. '.repeat(100));
  symlinkSync(path.dirname(theirs), path.join(repository, '.aptix-edge'));
  const led = await command(['dev'], { cwd: repository, env: { OPENAI_API_KEY: 'none' } });
  assert.deepEqual([led.code, readdirSync(theirs)], [1, ['lock']]);
  assert.match(led.err, /: \.aptix-edge is a link, /);
  const nowhere = await command(['serve', '--data', path.join(folder, 'data'), '--listen', '127.0.0.1:65536']);
  assert.match(nowhere.err, /--listen 127\.0\.0\.1:65536 is no address/);
  const { code, err } = await command(['serv']);
  assert.deepEqual([code, err], [2, 'aptix-edge-server: there is no command serv; did you mean serve?\n']);
});

test('the service says the release, commit and stored forms that the package says, and takes keys of several secrets', async () => {
  const key = (name) => JSON.stringify([{ Id: name, Tenant: 'acme', Sha256: createHash('sha256').update(name).digest('hex') }]);
  const server = await starts(newServer(), { settings: { Variables: { ...Variables, AUTH: 'keys' } }, secrets: { ...secrets, API_KEYS: key('one'), API_KEYS_9: key('nine') } });
  const { version, commit, forms } = JSON.parse(readFileSync(path.join(PACKAGE, 'product.json'), 'utf8'));
  const { Result } = (await ask(server, '/health')).json;
  const Forms = { Session: forms.session.number, Workspace: forms.workspace.number, User: forms.user.number };
  assert.deepEqual(Result, { Status: 'ok', Version: version, Commit: commit === 'unknown' ? null : commit, Forms });
  const status = async (name) => (await ask(server, '/sessions/none', { headers: { authorization: `Bearer ${name}` } })).status;
  assert.deepEqual([await status('one'), await status('nine'), await status('two')], [404, 404, 401]);
});

test('a signal ends streams at a position from which they resume, and a running turn goes on at the next start', async () => {
  let server, begun, ended, refused;
  // Where the machine stalls for longer than the end in order takes, nobody is there any more to refuse: that is done again.
  for (const drain of ['1s', '20s']) {
    model.clear();
    server = await starts(newServer(), { drain });
    model.script(answer(text('Half, ', new Gate(), 'never sent.')), answer(text('Half, and whole.')));
    begun = await stream(server, '/execute', { body: turnOf('stopped', { Streaming: true }) });
    await begun.until((seen) => seen.text === 'Half, ', 'half of the text');
    ({ ended } = server);
    server.signal('SIGTERM');
    await server.told('stopping');
    refused = await post(server, turnOf('late')).catch(() => undefined);
    if (refused) break;
  }
  assert.deepEqual([refused.status, refused.json.Errors[0].ErrorCode, refused.headers.get('retry-after')], [503, 'overloaded', '2']);
  await begun.end();
  assert.deepEqual([begun.broken, begun.of('result')], [null, []]);
  assert.deepEqual(await ended, [0, null]);

  await starts(server, {});
  await eventually(async () => (await statusOf(server, 'stopped')) === 'completed', 'the turn has been taken up');
  assert.equal(model.requests.length, 2);
  const last = begun.events.filter(({ id }) => id).at(-1).id;
  const rest = await (await stream(server, '/sessions/stopped/turns/1/stream', { headers: { 'last-event-id': last } })).end();
  assert.equal(JSON.parse(rest.result).Result.PrimaryOutputText, 'Half, and whole.');
});

test('a folder whose lock cannot be taken is told as that, and not as one of another process', async () => {
  const root = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-lock-'));
  writeFileSync(path.join(root, 'lock'), 'No database. '.repeat(100));
  await assert.rejects(new DataFolder(root).hold(), /lock cannot be locked: file is not a database/);
  rmSync(root, { recursive: true });
});

test('a system whose C library is not the runtime\'s is told as that, and not as one without the runtime\'s program', () => {
  assert.deepEqual(['2.35', '2.36', '2.41'].map(lacking), ['', '', '']);
  assert.match(lacking('2.34'), /^; it needs glibc 2\.35 or later, .* and this system has 2\.34$/);
  assert.match(lacking(undefined), / and this system has none$/);
});

test('a kill loses nothing, an alarm that fell due meanwhile rings without a request, and one folder has one server', async () => {
  const server = await starts(newServer(), {});
  model.script(answer(text('Kept.')), answer(text('Never heard.')).with({ silentAfter: 3 }), answer(text('Taken up.')));
  const kept = await post(server, turnOf('kept'));
  void post(server, turnOf('cut')).catch(() => {});
  await eventually(() => model.requests.length === 2, 'the second turn has begun');

  const second = await command(['serve', '--data', server.data, '--listen', '127.0.0.1:0']);
  assert.equal(second.code, 1);
  assert.match(second.err, /is held by another process of aptix-edge-server; end that one first/);

  // The process of the server alone: its workerd goes on, and must not write beside the next one's.
  const { workerd } = server;
  server.signal('SIGKILL');
  await eventually(() => existsSync(`/proc/${workerd}`) || process.platform !== 'linux', 'workerd has been left behind');
  // The same folder by another name.
  const link = `${server.data}-link`;
  symlinkSync(server.data, link);
  await starts(server, { data: link });
  assert.notEqual(server.workerd, workerd);
  assert.ok(!existsSync(`/proc/${workerd}/exe`));
  await eventually(() => model.requests.length === 3, 'the alarm has rung');
  await eventually(async () => (await statusOf(server, 'cut')) === 'completed', 'the turn has ended');
  assert.deepEqual((await post(server, turnOf('kept'))).json, kept.json);
  assert.equal(model.requests.length, 3);
  await server.kill();

  const release = path.join(server.data, 'release.json');
  const written = JSON.parse(readFileSync(release, 'utf8'));
  writeFileSync(release, JSON.stringify({ ...written, Release: '9.9.9', Forms: { ...written.Forms, session: written.Forms.session + 1 } }));
  const older = await command(['serve', '--data', server.data]);
  assert.equal(older.code, 1);
  assert.match(older.err, /was written by release 9\.9\.9 in newer forms \(session \d+\), which .* does not read; serve it with that release, or restore/);
});

test('an address that is in use is told as that, with what helps, and the folder is still no release\'s', async () => {
  const { port, close } = await serve(() => {});
  const data = path.join(scratch, 'in-use');
  try {
    for (const args of [['serve', '--listen', `127.0.0.1:${port}`], ['dev', '--port', String(port)]]) {
      const { code, err } = await command([...args, '--data', data]);
      assert.deepEqual([code, err], [1, `aptix-edge-server: 127.0.0.1:${port} is in use; end what listens there, or take another port: --port of dev, --listen of serve\n`]);
    }
    assert.ok(!existsSync(path.join(data, 'release.json')));
  } finally {
    await close();
  }
});

test('a catalog that is spoiled while it serves changes nothing, and a right one is taken', async () => {
  const server = await starts(newServer(), {});
  const spoiled = catalog((one) => (one.AgentContexts.default.Modl = 'm'));
  // At once, or the server may look at a file that is still empty.
  const replace = (text) => {
    writeFileSync(`${server.catalogFile}.new`, text);
    renameSync(`${server.catalogFile}.new`, server.catalogFile);
  };
  replace(spoiled);
  const { faults } = await server.told('catalog_refused');
  assert.deepEqual(faults, ['/AgentContexts/default/Modl: unknown member "Modl"; did you mean "Model"?']);
  model.script(answer(text('As before.')));
  assert.equal((await post(server, turnOf('spoiled'))).json.Result.PrimaryOutputText, 'As before.');
  replace(catalog((one) => (one.AgentContexts.default.Model = 'another-model')));
  await server.told('catalog_taken');
  // What hinders a right one may pass.
  const hindrance = path.join(server.data, 'catalog/.new');
  mkdirSync(hindrance);
  replace(catalog((one) => (one.AgentContexts.default.Model = 'later-model')));
  await eventually(() => server.events.some((event) => event.faults?.[0].includes('EISDIR')), 'it is hindered');
  rmSync(hindrance, { recursive: true });
  await eventually(() => server.events.filter(({ event }) => event === 'catalog_taken').length === 2, 'it is taken');
  assert.equal(server.events.filter((event) => event.faults?.[0].includes('EISDIR')).length, 1);
  await server.kill();

  // The last that was right serves a start, too; a first one that is wrong does not.
  await starts(server, { catalog: spoiled });
  await server.told('catalog_refused');
  model.script(answer(text('Still.')));
  await post(server, turnOf('spoiled', { TurnId: '2' }));
  assert.equal(model.requests.at(-1).body.model, 'later-model');
  const first = await command(['check', server.catalogFile]);
  assert.deepEqual([first.code, first.out.trim()], [1, faults[0]]);
  await server.kill();
  await starts(server, { catalog: Buffer.from(`\ufeff${spoiled}`, 'utf16le') });
  assert.deepEqual((await server.told('catalog_refused')).faults, ['is not UTF-8; store it as UTF-8']);
  await server.kill();

  // What an earlier release has taken may be wrong for this one, and the folder stays that one's.
  writeFileSync(path.join(server.data, 'catalog/catalog'), spoiled);
  const release = path.join(server.data, 'release.json');
  writeFileSync(release, '{"Release":"0.0.1","Forms":{}}');
  await assert.rejects(starts(server, { catalog: spoiled }), /ended before serving:[^]* is wrong, and there is no earlier one that is right/);
  assert.equal(JSON.parse(readFileSync(release, 'utf8')).Release, '0.0.1');
});

test('a server that ends while a catalog is judged leaves nothing of that behind, and does not call it wrong', { timeout: 60_000 }, async () => {
  const server = await starts(newServer());
  await server.kill();
  const TMPDIR = path.join(path.dirname(server.data), 'tmp');
  mkdirSync(TMPDIR);
  const run = started(['serve', '--config', path.join(path.dirname(server.data), 'server.json'), '--data', server.data, '--listen', '127.0.0.1:0'], { env: { TMPDIR } });
  await eventually(() => run.out.includes('"serving"'), 'it serves');
  // What was judged before anybody has seen it is followed by another.
  let written = 0;
  await eventually(() => {
    if (readdirSync(TMPDIR).some((name) => name.startsWith('aptix-edge-check-'))) return true;
    if (run.out.split('"catalog_taken"').length - 1 < written) return false;
    written += 1;
    writeFileSync(`${server.catalogFile}.new`, `${catalog()}${'\n'.repeat(written)}`);
    renameSync(`${server.catalogFile}.new`, server.catalogFile);
    return false;
  }, 'the catalog is judged');
  run.child.kill('SIGTERM');
  assert.deepEqual(await run.ended, [0, null], run.err);
  // Folders of a workerd that runs, and of what it serves.
  assert.deepEqual([readdirSync(TMPDIR), run.err], [[], '']);
});

test('a check that two signals end leaves no runtime behind', { timeout: 60_000 }, async () => {
  const TMPDIR = mkdtempSync(path.join(scratch, 'tmp-'));
  const file = path.join(scratch, 'checked.json');
  writeFileSync(file, catalog());
  const run = started(['check', file], { env: { TMPDIR } });
  await eventually(() => readdirSync(TMPDIR).some((name) => existsSync(path.join(TMPDIR, name, 'objects'))), 'it is under way');
  run.child.kill('SIGINT');
  await pause(20);
  run.child.kill('SIGINT');
  assert.deepEqual(await run.ended, [130, null], run.err);
  // Folders of a workerd that runs, and of what it serves.
  assert.deepEqual(readdirSync(TMPDIR), []);
});

test('a body in chunks is refused as soon as it is too long, whatever length stands beside them', async () => {
  const server = await starts(newServer(), { settings: { Variables: { ...Variables, MAX_BODY_BYTES: 100_000 } } });
  const head = 'POST /execute HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 10\r\nTransfer-Encoding: chunked\r\n\r\n';
  const chunk = `${(120_000).toString(16)}\r\n${' '.repeat(120_000)}\r\n`;
  // Its last chunk never comes.
  const refused = await exchange(server.url, Buffer.from(`${head}${chunk}`));
  assert.deepEqual([refused.status, refused.json.Errors[0].ErrorCode], [413, 'body_too_large']);
  await server.kill();
});

test('a clock that is set back shuts nobody out', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: Date.UTC(2026, 0, 2) });
  const limiter = new Ratelimit({ Limit: 1, PeriodS: 60 });
  const passes = async () => (await limiter.limit({ key: 'key' })).success;
  assert.deepEqual([await passes(), await passes()], [true, false]);
  t.mock.timers.setTime(Date.UTC(2026, 0, 1));
  assert.deepEqual([await passes(), await passes()], [true, false]);
});

test('without room on the disk what writes is refused, and reading and deleting go on', async () => {
  const server = await starts(newServer(), {});
  model.script(answer(text('Room.')));
  await post(server, turnOf('full'));
  await server.kill();
  const page = 'https://app.example';
  await starts(server, { settings: { Variables: { ...Variables, ALLOWED_ORIGINS: page }, MinBytesFree: Number.MAX_SAFE_INTEGER, Rates: { Keys: { Limit: 4, PeriodS: 60 } } } });
  const refused = await ask(server, '/execute', { body: turnOf('full', { TurnId: '2' }), headers: { origin: page, 'aptix-request-id': 'mine' } });
  await server.told('disk_full');
  assert.deepEqual([refused.status, refused.json.Errors[0].ErrorCode], [503, 'overloaded']);
  // A page can read it, as any other response.
  const told = ['access-control-allow-origin', 'x-content-type-options', 'cache-control', 'retry-after', 'aptix-request-id'].map((name) => refused.headers.get(name));
  assert.deepEqual(told, [page, 'nosniff', 'no-store', '2', 'mine']);
  assert.equal((await ask(server, '/sessions/full')).status, 200);
  assert.deepEqual((await ask(server, '/workspaces/full/search', { body: { Query: 'room' } })).json.Result, { Chunks: [] });
  assert.equal((await ask(server, '/sessions/full', { method: 'DELETE' })).status, 200);
  assert.equal((await ask(server, '/sessions/full')).status, 404);
  assert.equal((await ask(server, '/sessions/full')).json.Errors[0].ErrorCode, 'rate_limited');
  await server.kill();
});

test('a download that is under way has the whole time of the end in order', async () => {
  const contents = 'x'.repeat(8 << 20);
  const tool = await serve((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ Files: [{ Name: 'a.txt', MimeType: 'text/plain', Text: contents }] })));
  const made = catalog((one) => {
    one.ServerTools.push({ Name: 'make', Description: 'Makes a file.', Http: { Url: tool.origin } });
    one.Modes[0].Tools.push('make');
  });
  try {
    const server = await starts(newServer(), { catalog: made, drain: '30s' });
    model.script(answer(call('make', {})), answer(text('Made.')));
    const { json } = await post(server, turnOf('one'));
    const begun = async () => (await once(http.get(json.Result.Files[0].Url, { agent: false }), 'response'))[0];
    // Its reader leaves, and nobody waits for it.
    (await begun()).destroy();
    const response = await begun();
    // Nothing of it is read for longer than the runtime has to end.
    server.signal('SIGTERM');
    await server.told('stopping');
    await pause(4000);
    let bytes = 0;
    for await (const chunk of response) bytes += chunk.length;
    assert.equal(bytes, contents.length);
    const read = Date.now();
    assert.deepEqual(await server.ended, [0, null]);
    assert.ok(Date.now() - read < 15_000, 'it ends when the last one has ended');
  } finally {
    await tool.close();
  }
});

test('a client that leaves before its answer holds up no end in order', { timeout: 60_000 }, async () => {
  const server = await starts(newServer(), { drain: '30s' });
  const gate = new Gate();
  model.script(answer(text('Nobody ', gate, 'waits.')));
  const request = http.request(new URL('/execute', server.url), { method: 'POST', agent: false, headers: { 'content-type': 'application/json' } });
  request.on('error', () => {}).end(JSON.stringify(turnOf('left')));
  await eventually(() => model.requests.length === 1, 'the turn runs');
  // A reset is noticed by the runtime at once, and an end alone with the answer.
  request.socket.resetAndDestroy();
  await pause(500);
  gate.open();
  await eventually(async () => (await statusOf(server, 'left')) === 'completed', 'the turn has ended');
  const from = Date.now();
  server.signal('SIGTERM');
  assert.deepEqual(await server.ended, [0, null]);
  assert.ok(Date.now() - from < 15_000, 'nobody is waited for');
});

/** A copy of the package, whose Worker responds as this body of a function says; its command line. */
function packageWith(responds) {
  const folder = mkdtempSync(path.join(scratch, 'package-'));
  execFileSync('cp', ['-R', PACKAGE, path.join(folder, 'package')]);
  mkdirSync(path.join(folder, 'node_modules'));
  symlinkSync(path.join(PACKAGE, '../node_modules/workerd'), path.join(folder, 'node_modules/workerd'));
  writeFileSync(path.join(folder, 'package/worker/index.js'), `
    class None {}
    export { None as SessionObject, None as WorkspaceIndex, None as McpLists, None as UserObject, None as KeySetObject };
    export default class {
      async fetch() {${responds}
      }
    }`);
  return path.join(folder, 'package/dist/cli.mjs');
}

test('a client that leaves before its stream has begun holds up no end in order', { timeout: 60_000 }, async () => {
  const server = await newServer(packageWith(`
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    await wait(1000);
    const body = new ReadableStream({
      async pull(controller) {
        await wait(100);
        controller.enqueue(new TextEncoder().encode(': alive'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });`)).start({ drain: '30s' });
  const request = http.request(server.url, { agent: false });
  request.on('error', () => {}).end();
  await pause(300);
  request.socket.resetAndDestroy();
  await pause(2000);
  const from = Date.now();
  server.signal('SIGTERM');
  assert.deepEqual(await server.ended, [0, null]);
  assert.ok(Date.now() - from < 15_000, 'nobody is waited for');
});

test('a stream that breaks within the service ends for its reader, who resumes', { timeout: 60_000 }, async () => {
  const server = await newServer(packageWith(`
    let isBroken = false;
    const body = new ReadableStream({
      pull(controller) {
        if (isBroken) throw new Error('It breaks.');
        isBroken = true;
        controller.enqueue(new TextEncoder().encode(': begun'));
      },
    });
    return new Response(body, { headers: { 'content-type': 'text/event-stream' } });`)).start();
  const response = await fetch(server.url, { headers: { connection: 'close' }, signal: AbortSignal.timeout(20_000) });
  assert.equal(await response.text(), ': begun');
  await server.kill();
});

test('files of an erased session take no room any more, and nothing of them is left on the disk', async () => {
  const contents = randomBytes(1 << 20).toString('base64');
  const tool = await serve((_, response) => response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ Files: [{ Name: 'a.txt', MimeType: 'text/plain', Text: contents }] })));
  const made = catalog((one) => {
    one.ServerTools.push({ Name: 'make', Description: 'Makes a file.', Http: { Url: tool.origin } });
    one.Modes[0].Tools.push('make');
  });
  try {
    const server = newServer();
    const folder = path.join(server.data, 'objects/aptix-edge-FileStore');
    const stored = () => readdirSync(folder).filter((name) => readFileSync(path.join(folder, name)).includes(contents.slice(-100)));
    for (const session of ['one', 'two']) {
      // What files take is counted anew at each start.
      await starts(server, { settings: { MaxBytesOfFiles: 2 << 20 }, catalog: made });
      model.script(answer(call('make', {})), answer(text('Made.')));
      const { json } = await post(server, turnOf(session));
      const { Url } = json.Result.Files[0];
      assert.deepEqual([(await fetch(Url)).status, stored().length], [200, 1]);
      assert.equal((await ask(server, `/sessions/${session}`, { method: 'DELETE' })).status, 200);
      assert.deepEqual([(await fetch(Url)).status, stored()], [404, []]);
      await server.kill();
    }
  } finally {
    await tool.close();
  }
});

test('an object that is erased, or was only asked, leaves no database behind the next start', async () => {
  const server = await starts(newServer());
  for (const session of ['kept', 'erased']) {
    model.script(answer(text('Hello.')));
    await post(server, turnOf(session));
  }
  assert.equal((await ask(server, '/sessions/erased', { method: 'DELETE' })).status, 200);
  assert.equal((await ask(server, '/sessions/none')).status, 404);
  const counts = () => ['SessionObject', 'FileStore'].map((name) => new DataFolder(server.data).objectsOf(name).length);
  // Of files, the server itself asks an object at each start.
  assert.deepEqual(counts(), [3, 2]);
  await server.kill();
  await starts(server);
  assert.deepEqual(counts(), [1, 1]);
  assert.equal(await statusOf(server, 'kept'), 'completed');
  await server.kill();
});

test('a backup that is made while turns run holds all that was acknowledged, and what ran goes on where it is restored', async () => {
  const server = await starts(newServer(), { settings: { Metering: true } });
  const gate = new Gate();
  model.script(answer(text('Never ', gate, 'sent.')));
  const running = await stream(server, '/execute', { body: turnOf('running', { Streaming: true }) });
  await running.until((seen) => seen.text === 'Never ', 'the turn runs');
  model.otherwise(answer(text('Ended.')));
  const acknowledged = [];
  let isOver = false;
  const load = Array.from({ length: 4 }, async (_, client) => {
    for (let turn = 0; !isOver; turn++) {
      const session = `load-${client}-${turn}`;
      const { json } = await post(server, turnOf(session));
      if (json.Successful) acknowledged.push(session);
    }
  });
  await eventually(() => acknowledged.length >= 20, 'turns have ended');
  const ended = [...acknowledged];
  const file = path.join(scratch, 'backup.tar.gz');
  const made = await command(['backup', '--data', server.data, '--to', file]);
  assert.equal(made.code, 0, made.err);
  isOver = true;
  await Promise.all(load);
  assert.ok(acknowledged.length > ended.length, 'turns have ended while the backup was made');
  assert.ok(server.lines.some((line) => line.includes('"data_point"')), 'metering writes a line');
  await server.kill();
  assert.equal((await command(['verify', server.data])).code, 0);

  const whole = readFileSync(file);
  writeFileSync(`${file}.cut`, whole.subarray(0, whole.length - 100));
  const data = path.join(scratch, 'restored');
  assert.match((await command(['restore', '--from', `${file}.cut`, '--data', data])).err, /cannot be restored|has no list/);
  assert.ok(!existsSync(data));
  mkdirSync(data, { mode: 0o750 });
  assert.equal((await command(['restore', '--from', `${file}.cut`, '--data', data])).code, 1);
  assert.deepEqual([readdirSync(data), statSync(data).mode & 0o777], [[], 0o750]);
  const put = await command(['restore', '--from', file, '--data', data]);
  assert.equal(put.code, 0, put.err);
  assert.match((await command(['restore', '--from', file, '--data', data])).err, /is not empty/);
  // A variable that is not set names no folder: the current one would be emptied where the backup is spoiled.
  const unset = await command(['restore', '--from', `${file}.cut`, '--data', ''], { cwd: data });
  assert.deepEqual([unset.code, unset.err], [2, 'aptix-edge-server: --data is missing\n']);
  assert.ok(existsSync(path.join(data, 'release.json')));

  // A restore that is killed leaves no folder that looks like a server's.
  const [part, pipe] = [path.join(scratch, 'part'), path.join(scratch, 'unread')];
  execFileSync('mkfifo', [pipe]);
  const killed = started(['restore', '--from', pipe, '--data', part]);
  const half = createWriteStream(pipe).on('error', () => {});
  half.write(whole.subarray(0, whole.length / 2));
  await eventually(() => existsSync(path.join(part, 'objects')), 'a part is there');
  killed.child.kill('SIGKILL');
  await killed.ended;
  half.destroy();
  for (const args of [['verify', part], ['backup', '--data', part, '--to', `${file}.part`]]) {
    const { code, err } = await command(args);
    assert.deepEqual([code, /has a part of a backup/.test(err)], [1, true], err);
  }

  const restored = newServer();
  await starts(restored, { data });
  for (const session of ended) assert.equal(await statusOf(restored, session), 'completed', session);
  await eventually(async () => (await statusOf(restored, 'running')) === 'completed', 'the turn that ran goes on');
  await restored.kill();
});

test('a backup for which the disk has no room says so and leaves nothing, and so does one that cannot be read', async () => {
  const [data, to] = [path.join(scratch, 'large'), path.join(scratch, 'full')];
  for (const folder of [data, to]) mkdirSync(folder);
  writeFileSync(path.join(data, 'release.json'), JSON.stringify({ Release: '0', Forms: {}, More: randomBytes(1 << 20).toString('base64') }));
  const cli = path.join(PACKAGE, 'dist/cli.mjs');
  const file = path.join(to, 'backup.tar.gz');
  const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -f 64; exec "$0" "$@"', process.execPath, cli, 'backup', '--data', data, '--to', file], { encoding: 'utf8', timeout: 30_000 });
  assert.deepEqual([status, stderr.split('\n').length, readdirSync(to)], [1, 2, []], stderr);
  assert.match(stderr, /backup\.tar\.gz cannot be written: /);
  const objects = path.join(data, 'objects/aptix-edge-SessionObject');
  mkdirSync(objects, { recursive: true });
  writeFileSync(path.join(objects, `${'0'.repeat(64)}.sqlite`), 'no database');
  const spoiled = await command(['backup', '--data', data, '--to', file]);
  assert.deepEqual([spoiled.code, readdirSync(to)], [1, []]);
  assert.match(spoiled.err, /^aptix-edge-server: \S+0\.sqlite cannot be copied: .*\n$/);
  const nowhere = await command(['backup', '--data', data, '--to', path.join(scratch, 'nowhere/backup')]);
  assert.match(nowhere.err, /^aptix-edge-server: \S+nowhere\/backup cannot be written: ENOENT.*\n$/);
  rmSync(objects, { recursive: true });
  const both = await Promise.all([1, 2].map(() => command(['backup', '--data', data, '--to', file])));
  assert.deepEqual([both.map(({ code }) => code).sort(), readdirSync(to)], [[0, 1], ['backup.tar.gz']]);
  assert.match(both.map(({ err }) => err).join(''), /is there already; a backup overwrites nothing/);
  const put = await command(['restore', '--from', to, '--data', path.join(scratch, 'none')]);
  assert.match(put.err, /^aptix-edge-server: .*full cannot be restored: EISDIR.*\n$/);
});

test('a backup with a damaged object is restored with all others, and the object is named', async () => {
  const [data, file, restored] = ['damaged', 'damaged.tar.gz', 'damaged-restored'].map((name) => path.join(scratch, name));
  const at = (folder, digit) => path.join(folder, 'objects/aptix-edge-SessionObject', `${digit.repeat(64)}.sqlite`);
  mkdirSync(path.dirname(at(data, 'a')), { recursive: true });
  writeFileSync(path.join(data, 'release.json'), '{"Release":"1"}');
  for (const digit of ['a', 'b']) {
    const database = new Database(at(data, digit));
    database.exec("PRAGMA page_size = 4096; CREATE TABLE kept (text TEXT); INSERT INTO kept VALUES ('x')");
    database.close();
  }
  const alarmsFile = path.join(path.dirname(at(data, 'a')), 'metadata.sqlite');
  const alarms = new Database(alarmsFile);
  alarms.exec("PRAGMA page_size = 4096; CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER) WITHOUT ROWID");
  alarms.close();
  // The page of the table, behind that of the schema.
  for (const damaged of [at(data, 'b'), alarmsFile]) writeFileSync(damaged, readFileSync(damaged).fill(0xff, 4096));
  assert.equal((await command(['backup', '--data', data, '--to', file])).code, 0);
  const { code, out, err } = await command(['restore', '--from', file, '--data', restored]);
  assert.deepEqual([code, err], [1, ''], out);
  assert.match(out, /SessionObject: 2[^]*b{64}\.sqlite: [^]*metadata\.sqlite: /);
  assert.ok(existsSync(at(restored, 'a')));
  assert.match((await command(['backup', '--data', restored, '--to', `${file}.again`])).out, /SessionObject 2/);
});

test('a backup that a signal ends leaves nothing behind', async () => {
  const [data, to] = [path.join(scratch, 'signalled'), path.join(scratch, 'signalled-to')];
  const objects = path.join(data, 'objects/aptix-edge-SessionObject');
  for (const folder of [objects, to]) mkdirSync(folder, { recursive: true });
  writeFileSync(path.join(data, 'release.json'), '{"Release":"1"}');
  // The copy waits for it.
  const held = new Database(path.join(objects, `${'0'.repeat(64)}.sqlite`));
  held.exec('BEGIN EXCLUSIVE');
  const run = started(['backup', '--data', data, '--to', path.join(to, 'backup.tar.gz')]);
  try {
    await eventually(() => readdirSync(to).length === 1, 'it is under way');
    run.child.kill('SIGTERM');
    await eventually(() => readdirSync(to).length === 0, 'nothing of it is left');
  } finally {
    held.close();
  }
  assert.deepEqual(await run.ended, [143, null]);
});

test('a backup removes what one has left that was killed a day ago, and leaves alone what may be written', async () => {
  const [data, to] = [path.join(scratch, 'killed'), path.join(scratch, 'killed-to')];
  mkdirSync(data);
  writeFileSync(path.join(data, 'release.json'), '{"Release":"1"}');
  const [left, slow] = ['left', 'slow'].map((name) => path.join(to, `.aptix-edge-backup-${name}`));
  const yesterday = new Date(Date.now() - 25 * 60 * 60 * 1000);
  for (const folder of [left, slow]) {
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'part'), 'x');
    utimesSync(folder, yesterday, yesterday);
  }
  utimesSync(path.join(left, 'part'), yesterday, yesterday);
  const { code, err } = await command(['backup', '--data', data, '--to', path.join(to, 'backup.tar.gz')]);
  assert.deepEqual([code, readdirSync(to).sort()], [0, [path.basename(slow), 'backup.tar.gz']], err);
});

test('a backup is whole though the catalog changes while it is copied', { timeout: 60_000 }, async (t) => {
  const server = await starts(newServer());
  await server.kill();
  const changes = `
    const { renameSync, writeFileSync } = require('node:fs');
    for (let length = 1; ; length = 10_001 - length) {
      writeFileSync('new', 'x'.repeat(length));
      renameSync('new', 'catalog');
    }`;
  const changing = spawn(process.execPath, ['-e', changes], { cwd: path.join(server.data, 'catalog'), stdio: 'ignore' });
  t.after(() => changing.kill('SIGKILL'));
  const folder = path.dirname(server.data);
  for (const at of [1, 2, 3, 4, 5]) {
    const made = await command(['backup', '--data', server.data, '--to', path.join(folder, `${at}.tar.gz`)]);
    const restored = await command(['restore', '--from', path.join(folder, `${at}.tar.gz`), '--data', path.join(folder, `restored-${at}`)]);
    assert.deepEqual([made.err, restored.err], ['', '']);
  }
});

test('a runtime whose configuration cannot be written leaves nothing on the disk', () => {
  const folder = path.join(scratch, 'small');
  mkdirSync(folder);
  const file = path.join(scratch, 'small.json');
  writeFileSync(file, '{}');
  const env = { ...process.env, TMPDIR: folder };
  const { status, stderr } = spawnSync('sh', ['-c', 'ulimit -f 1; exec "$0" "$@"', process.execPath, path.join(PACKAGE, 'dist/cli.mjs'), 'check', file], { env, encoding: 'utf8', timeout: 30_000 });
  assert.deepEqual([status, stderr, readdirSync(folder)], [1, 'aptix-edge-server: EFBIG: file too large, write\n', []]);
});

test('an object that begins while a folder is verified is no fault of the folder', { skip: !existsSync('/proc/self/fd') }, async () => {
  const data = path.join(scratch, 'verified');
  const objects = path.join(data, 'objects/aptix-edge-SessionObject');
  const [first, begun, gone] = ['a', 'b', 'c'].map((digit) => digit.repeat(64));
  const at = (id) => path.join(objects, `${id}.sqlite`);
  mkdirSync(objects, { recursive: true });
  writeFileSync(path.join(data, 'release.json'), '{"Release":"1"}');
  const alarms = new Database(at('metadata'));
  alarms.exec('CREATE TABLE _cf_ALARM (actor_id TEXT PRIMARY KEY, scheduled_time INTEGER)');
  const held = new Database(at(first));
  held.exec('BEGIN EXCLUSIVE');
  const verifying = started(['verify', data]);
  const opened = () => readdirSync(`/proc/${verifying.child.pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${verifying.child.pid}/fd/${fd}`) === at(first);
    } catch {
      return false;
    }
  });
  await eventually(opened, 'the first object is looked at');
  writeFileSync(at(begun), '');
  for (const id of [begun, gone]) alarms.prepare('INSERT INTO _cf_ALARM VALUES (?, 1)').run(id);
  for (const database of [alarms, held]) database.close();
  const [code] = await verifying.ended;
  assert.deepEqual([code, verifying.out.match(/has an alarm of (\w)/g)], [1, ['has an alarm of c']], verifying.out + verifying.err);
});

test('whoever reads slowly gets all that a command says', { timeout: 30_000 }, async () => {
  // The command has written all and would end when the first byte is there.
  const data = path.join(scratch, 'broken');
  mkdirSync(path.join(data, 'objects/aptix-edge-SessionObject'), { recursive: true });
  writeFileSync(path.join(data, 'release.json'), JSON.stringify({ Release: '0', Forms: {} }));
  for (let at = 0; at < 800; at += 1) writeFileSync(path.join(data, `objects/aptix-edge-SessionObject/${`${at}`.padStart(64, '0')}.sqlite`), 'no database');
  const { stdout } = spawnSync('sh', ['-c', '("$0" "$1" verify "$2"; true) | (dd bs=1 count=1 2>/dev/null; sleep 0.5; cat) | wc -l', process.execPath, path.join(PACKAGE, 'dist/cli.mjs'), data], { encoding: 'utf8' });
  assert.equal(Number(stdout), 802);
});

test('a service whose output nobody reads any more ends with a signal', { timeout: 60_000 }, async () => {
  const server = await starts(newServer());
  await server.kill();
  const [workerd, pipe] = ['data/workerd.pid', 'unread'].map((name) => path.join(path.dirname(server.data), name));
  rmSync(workerd);
  execFileSync('mkfifo', [pipe]);
  const full = openSync(pipe, 'r+');
  writeSync(full, Buffer.alloc(65_536));
  const args = ['serve', '--config', path.join(path.dirname(server.data), 'server.json'), '--data', server.data, '--listen', '127.0.0.1:0', '--drain', '1s'];
  const child = spawn(process.execPath, [path.join(PACKAGE, 'dist/cli.mjs'), ...args], { stdio: ['ignore', full, 'ignore'] });
  const ended = once(child, 'exit');
  const late = setTimeout(() => child.kill('SIGKILL'), 30_000);
  await eventually(() => existsSync(workerd), 'it serves');
  child.kill('SIGTERM');
  assert.deepEqual(await ended, [0, null]);
  clearTimeout(late);
  closeSync(full);
});

test('the file of the log has what the server itself tells, and a runtime that hangs is ended all the same', { timeout: 60_000 }, async () => {
  const server = await starts(newServer());
  await server.kill();
  const folder = path.dirname(server.data);
  const config = path.join(folder, 'server.json');
  writeFileSync(config, JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), Log: 'log' }));
  const run = started(['serve', '--config', config, '--data', server.data, '--listen', '127.0.0.1:0', '--drain', '1s']);
  const logged = () => (existsSync(path.join(folder, 'log')) ? readFileSync(path.join(folder, 'log'), 'utf8').match(/"event":"(?:serving|stopping|workerd_ended)"/g) : null);
  await eventually(() => logged()?.length === 1, 'it serves');
  const { workerd } = server;
  process.kill(workerd, 'SIGSTOP');
  run.child.kill('SIGTERM');
  const late = setTimeout(() => [workerd, run.child.pid].forEach((pid) => process.kill(pid, 'SIGKILL')), 30_000);
  assert.deepEqual(await run.ended, [0, null], run.err);
  clearTimeout(late);
  assert.throws(() => process.kill(workerd, 0), { code: 'ESRCH' });

  const again = started(['serve', '--config', config, '--data', server.data, '--listen', '127.0.0.1:0', '--drain', '1s']);
  await eventually(() => logged()?.length === 2, 'it serves again');
  again.child.kill('SIGTERM');
  await again.ended;
  assert.deepEqual(logged(), ['"event":"serving"', '"event":"serving"', '"event":"stopping"']);
  assert.deepEqual([run.out, again.out], ['', '']);
});

test('a server that stands in the jurisdiction of a tenant keeps its sessions and files under names of it', async () => {
  const TENANTS = { local: { Jurisdiction: 'eu' } };
  const changes = (one) => {
    one.AgentContexts.default.Residence = ['eu'];
  };
  const server = await starts(newServer(), { settings: { Variables: { ...Variables, TENANTS }, Jurisdictions: ['eu'] }, catalog: catalog(changes) });
  model.script(answer(text('Hello.')));
  assert.equal((await post(server, turnOf('s'))).json.Result.PrimaryOutputText, 'Hello.');
  await eventually(() => server.lines.some((line) => JSON.parse(line).jurisdiction === 'eu'), 'the log names the jurisdiction');
  await server.kill();
  await starts(server, {});
  assert.equal((await ask(server, '/sessions/s')).status, 404);
});
