// `sync`: documents that a program lists, and a folder by the command line, with everything in it that a folder holds.
import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { appendFileSync, chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { recorded, serve } from '../../../tests/local_server.mjs';
import { Aptix, AptixError } from '../dist/index.js';
import { Workspace } from '../dist/workspace.js';
import { Command, command } from './command.mjs';

const rig = new Rig({ vars: { MAX_BODY_BYTES: '3000000' } });
let folder;
before(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-sync-'));
  return rig.start();
});
after(async () => {
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});
const workspace = (id) => new Workspace(new Aptix({ baseUrl: `${rig.url}`, retryDelayMs: 1 }), id);
/** The requests that the command line or the client sends during `job`, as `METHOD path` without the query. */
async function logged(job) {
  const sent = [];
  const aptix = new Aptix({ baseUrl: `${rig.url}`, onLog: ({ method, path: to }) => sent.push(`${method} ${to}`) });
  await job(aptix);
  return sent;
}

test('one document that cannot be sent blocks nothing: it is left out and told with its path', async () => {
  const Contents = 'alpha\n';
  const documents = [
    { Path: 'good.md', Contents },
    { Path: 'a\u200bb', Contents },
    { Path: '/etc/passwd', Contents },
    { Path: '../up', Contents },
    { Path: 'large.txt', Contents: 'x'.repeat(2_999_990) },
    { Path: 'longest.txt', Contents: 'x'.repeat(20_000_001) },
    { Path: 'torn.txt', Contents: 'a\ud800b' },
    { Path: 'bytes.bin', Contents: new Uint8Array(3) },
    { Path: 'gone.txt', Contents: () => Promise.reject(new Error('no such file')) },
    { Path: 'spoiled.md', Contents, Properties: { Path: 'x' } },
    { Path: 'also good.md', Contents: () => Contents },
  ];
  const { sent, removed, leftOut } = await workspace('mixed').sync(documents, { remove: true });
  assert.deepEqual([sent.sort(), removed], [['also good.md', 'good.md'], []]);
  const told = Object.fromEntries(leftOut.map(({ path: at, error }) => [at, error]));
  assert.deepEqual(Object.keys(told).sort(), documents.map(({ Path }) => Path).filter((each) => !each.endsWith('good.md')).sort());
  assert.equal(told['gone.txt'].message, 'no such file');
  assert.equal(told['large.txt'].code, 'body_too_large');
  assert.ok(told['../up'] instanceof AptixError && /"\.\." segment/.test(told['../up'].message), told['../up'].message);
  assert.match(told['torn.txt'].message, /no text/);
  assert.deepEqual(told['spoiled.md'].errors.length, 1);
  assert.equal((await workspace('mixed').get()).Documents, 2);
  const again = await workspace('mixed').sync(documents.filter(({ Path }) => Path.endsWith('good.md')), { remove: true });
  assert.deepEqual(again, { sent: [], removed: [], leftOut: [] });
});

test('a batch that a deployment with smaller bodies refuses goes in halves', async () => {
  const documents = Array.from({ length: 8 }, (_, at) => ({ Path: `${at}.md`, Contents: `${at} `.repeat(400_000) }));
  const { sent, leftOut } = await workspace('halves').sync(documents);
  assert.deepEqual([sent.length, leftOut], [8, []]);
});

test('a batch that something before the service refuses in its own words, or by closing the connection, goes in halves', async () => {
  const refusals = [(response) => response.writeHead(413, { 'content-type': 'text/html' }).end('<h1>413</h1>'), ({ socket }) => socket.resetAndDestroy()];
  const documents = Array.from({ length: 4 }, (_, at) => ({ Path: `${at}.md`, Contents: 'word '.repeat(200) }));
  for (const refuse of refusals) {
    const service = await serve(async (request, response) => {
      if (Number(request.headers['content-length']) > 2500) return refuse(response);
      const { Documents } = JSON.parse((await recorded(request, response)).text);
      const Result = request.method === 'PUT' ? { Documents } : { Needed: Documents.map(({ Path }) => Path), Extra: [] };
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ Successful: true, Result, Errors: [], Warnings: [] }));
    });
    const { sent, leftOut } = await new Workspace(new Aptix({ baseUrl: service.origin, retryDelayMs: 1 }), 'w').sync(documents);
    await service.close();
    assert.deepEqual([sent.length, leftOut], [4, []]);
  }
});

test('what an index has of a document that is left out now stays, and a dry run changes nothing', async () => {
  const held = workspace('kept');
  await held.sync([{ Path: 'a', Contents: 'one' }, { Path: 'b', Contents: 'two' }]);
  const unreadable = { Path: 'a', Contents: () => Promise.reject(new Error('busy')) };
  const dry = await held.sync([unreadable, { Path: 'c', Contents: 'three' }], { remove: true, dryRun: true });
  assert.deepEqual([dry.sent, dry.removed, dry.leftOut.map(({ path: at }) => at)], [['c'], ['b'], ['a']]);
  assert.equal((await held.get()).Documents, 2);
  const { removed } = await held.sync([unreadable], { remove: true });
  assert.deepEqual(removed, ['b']);
  assert.equal((await held.get()).Documents, 1);
  assert.deepEqual((await held.sync([], { remove: (at) => at !== 'a' })).removed, []);
});

test('every spelling of a path is one document', async () => {
  const Contents = 'alpha\n';
  const { sent } = await workspace('spelled').sync([{ Path: './a', Contents }, { Path: 'a', Contents }, { Path: 'x//y/./z', Contents }]);
  assert.deepEqual(sent.sort(), ['a', 'x/y/z']);
  const { leftOut } = await workspace('spelled').sync([{ Path: 'a\\b', Contents }]);
  assert.match(leftOut[0].error.message, /separate folders/);
  // A program that runs on Windows, as it says of itself.
  const program = `Object.defineProperty(process, 'platform', { value: 'win32' });
    const [{ Aptix }, { Workspace }] = await Promise.all(['index', 'workspace'].map((name) => import(new URL(name + '.js', process.argv[1]))));
    const Contents = 'alpha\\n';
    const { sent } = await new Workspace(new Aptix({ baseUrl: process.argv[2] }), 'windows').sync([{ Path: '.\\\\a\\\\b', Contents }, { Path: 'a/b', Contents }]);
    console.log(JSON.stringify(sent));`;
  const args = ['--input-type=module', '-e', program, new URL('../dist/', import.meta.url).href, `${rig.url}`];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let out = '';
  for await (const bytes of child.stdout) out += bytes;
  assert.deepEqual(JSON.parse(out), ['a/b']);
});

test('a thousand removals take ten requests', async (t) => {
  const documents = Array.from({ length: 1000 }, (_, at) => ({ Path: `old/${at}.md`, Contents: `${at}` }));
  await workspace('many').sync(documents);
  const began = performance.now();
  const sent = await logged(async (aptix) => {
    const { removed } = await new Workspace(aptix, 'many').sync([], { remove: true });
    assert.equal(removed.length, 1000);
  });
  t.diagnostic(`1,000 removals: ${Math.round(performance.now() - began)} ms`);
  assert.equal(sent.filter((each) => each.startsWith('DELETE')).length, 10);
  assert.equal((await workspace('many').get()).Documents, 0);
});

test('what one comparison does not name goes with the next one, and what the service refuses is sent once', async () => {
  // The service as it is: of the documents beside those that are listed it names 10,000, and 4 MB of their paths.
  const named = (extra) => {
    let room = 4 << 20;
    return extra.sort().slice(0, 10_000).filter((path) => (room -= path.length) >= 0);
  };
  for (const [count, name] of [[25_000, 'old'], [6000, 'long/'.repeat(200)]]) {
    const held = new Set(Array.from({ length: count }, (_, at) => `${name}/${at}.md`));
    held.add('kept.md');
    let puts = 0;
    const answered = ({ method, body, query }) => {
      if (method === 'DELETE') query.split('&').forEach((path) => held.delete(decodeURIComponent(path.slice('Path='.length))));
      if (method === 'DELETE') return { data: undefined, warnings: [] };
      if (method === 'PUT') throw ((puts += 1), new AptixError(400, [{ ErrorCode: 'invalid_field', Message: 'No.', Path: '/Documents/0/Contents', SystemError: false }]));
      const listed = new Set(JSON.parse(body).Documents.map(({ Path }) => Path));
      const extra = [...held].filter((path) => !listed.has(path));
      const Extra = named(extra);
      const warnings = Extra.length < extra.length ? [{ ErrorCode: 'extra_cut', Message: 'There are more.', SystemError: false }] : [];
      return { data: { Needed: [...listed].filter((path) => !held.has(path)), Extra }, warnings };
    };
    const request = (call) => {
      const whole = (async () => answered(call))();
      const result = whole.then(({ data }) => data);
      return Object.assign(result, { withResponse: () => (result.catch(() => {}), whole) });
    };
    const documents = [{ Path: 'kept.md', Contents: 'alpha' }, { Path: 'refused.md', Contents: 'beta' }];
    const dry = await new Workspace({ request }, 'w').sync(documents, { remove: true, dryRun: true });
    assert.deepEqual([dry.hasMore, dry.removed.length < count], [true, true]);
    const { removed, leftOut } = await new Workspace({ request }, 'w').sync(documents, { remove: true });
    assert.deepEqual([removed.length, [...held], puts, leftOut.map(({ path }) => path)], [count, ['kept.md'], 1, ['refused.md']]);
  }
});

/** A repository of 5,000 files, and all that makes folders hard. Gives how many are text. */
function repository(root) {
  const file = (name, contents) => {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), contents);
  };
  let texts = 0;
  const text = (name, contents) => (file(name, contents), (texts += 1));
  for (let at = 0; at < 5000; at += 1) text(`src/part ${at % 40}/module_${at}.rs`, `pub fn function_${at}() {}\r\n`.repeat(1 + (at % 3)));
  for (const name of ['größe/ähre.md', '日本語/設計.md', 'عربي/ملف.md', 'emoji/👩‍💻.md', 'with space/a+b & c%.md', "it's.md"]) text(name, `# ${name}\n`);
  text('bom.txt', '\ufeffwith a mark\r\n');
  file('.gitignore', 'ignored/\n*.log\n!kept.log\n');
  file('.aptixignore', 'drafts/\n!.github/\n!dist/\n');
  text('.github/workflows/ci.yml', 'on: push\n');
  text('dist/notes.md', '# Kept by a rule\n');
  text('kept.log', 'kept\n');
  file('lost.log', 'lost\n');
  file('ignored/a.md', 'x');
  file('drafts/a.md', 'x');
  file('sub/.gitignore', '/local.md\n');
  file('sub/local.md', 'x');
  text('sub/deeper/local.md', '# Only the first is local\n');
  file('.env', 'SECRET=1');
  for (const name of ['node_modules/a/index.js', 'target/debug/a.txt', 'web/build/a.js']) file(name, 'x');
  for (const name of ['package-lock.json', 'sub/Cargo.lock']) file(name, '{}');
  file('app.min.js', 'x');
  file('generated.go', '// Code generated by protoc. DO NOT EDIT.\npackage a\n');
  file('id_rsa', 'x');
  file('copy.txt', '-----BEGIN OPENSSH PRIVATE KEY-----\nx\n');
  file('picture.png', Buffer.from([0x89, 0x50, 0, 1]));
  file('latin1.txt', Buffer.from('größe', 'latin1'));
  file('utf16.txt', Buffer.from('\ufefftext', 'utf16le'));
  file('empty.md', '');
  file('large.bin', '');
  truncateSync(path.join(root, 'large.bin'), 100 << 20);
  file('long.csv', 'a,b\n'.repeat(1 << 20));
  symlinkSync('..', path.join(root, 'src/circle'));
  symlinkSync('kept.log', path.join(root, 'link.md'));
  symlinkSync('nowhere', path.join(root, 'broken'));
  file('no rights.md', 'x');
  chmodSync(path.join(root, 'no rights.md'), 0);
  return texts;
}
const REPORT = {
  ignored: 4, hidden: 3, built: 3, lock: 2, generated: 2, secret: 3, binary: 3, empty: 1, large: 2, link: 3,
};
/** Whether rights bind who runs this: they do not bind root. */
const isBound = process.getuid?.() !== 0;

test('a repository of 5,000 files is in its workspace, twice in a row nothing is sent, and edits are followed', { timeout: 120_000 }, async (t) => {
  const root = path.join(folder, 'repository');
  const texts = repository(root) + (isBound ? 0 : 1);
  const env = { APTIX_URL: `${rig.url}` };
  const sync = ['sync', root, '--workspace', 'repository'];
  const timed = async (args) => {
    const began = performance.now();
    const ran = await command(args, { env });
    t.diagnostic(`${args.slice(2).join(' ')}: ${Math.round(performance.now() - began)} ms`);
    return ran;
  };

  const dry = await timed([...sync, '--dry-run']);
  assert.match(dry.out, new RegExp(`repository: ${texts.toLocaleString('en')} documents would be sent`), dry.out + dry.err);
  assert.equal((await workspace('repository').get()).Documents, 0);

  const first = await timed([...sync, '--json']);
  assert.equal(first.code, isBound ? 5 : 0, first.err);
  const told = JSON.parse(first.out);
  assert.deepEqual([told.sent.length, told.removed, told.leftOut], [texts, [], []]);
  const counts = {};
  for (const { reason } of told.passed) counts[reason] = (counts[reason] ?? 0) + 1;
  assert.deepEqual(counts, { ...REPORT, ...(isBound && { unreadable: 1 }) });
  assert.ok(told.sent.includes('.github/workflows/ci.yml') && told.sent.includes('dist/notes.md') && told.sent.includes('日本語/設計.md'));
  assert.equal((await workspace('repository').get()).Documents, texts);

  const second = await timed(sync);
  assert.match(second.out, new RegExp(`repository: 0 documents sent, 0 removed, ${texts} unchanged\\nleft out: `));
  assert.match(second.out, /3 hidden/);
  assert.match((await command([...sync, '--verbose'], { env })).out, /\. src\/circle: links/);

  const watching = new Command([...sync, '--watch', '--json'], { env });
  await watching.until('"documents"');
  while (!watching.out.endsWith('\n')) await new Promise((resolve) => watching.process.stdout.once('data', resolve));
  const seen = async (job, what) => {
    const from = watching.out.length;
    job();
    for (;;) {
      // A line may still be under way.
      const lines = watching.out.slice(from).split('\n').slice(0, -1).map((line) => JSON.parse(line));
      const all = lines.flatMap(({ sent, removed }) => [...sent.map((at) => `+${at}`), ...removed.map((at) => `-${at}`)]);
      if (what.every((each) => all.includes(each))) return;
      await new Promise((resolve) => watching.process.stdout.once('data', resolve));
    }
  };
  await seen(() => writeFileSync(path.join(root, 'kept.log'), 'edited\n'), ['+kept.log']);
  await seen(() => renameSync(path.join(root, 'größe'), path.join(root, 'taille')), ['+taille/ähre.md', '-größe/ähre.md']);
  await seen(() => (mkdirSync(path.join(root, 'fresh')), writeFileSync(path.join(root, 'fresh/a.md'), '# Fresh\n')), ['+fresh/a.md']);
  await seen(() => writeFileSync(path.join(root, '.gitignore'), 'ignored/\n*.log\nfresh\n'), ['-fresh/a.md', '-kept.log']);
  watching.process.kill('SIGINT');
  assert.equal(await watching.ended, 0);
  const found = await command(['search', 'ähre', '--workspace', 'repository', '--limit', '1', '--scope', 'Path~taille'], { env });
  assert.match(found.out, /^taille\/ähre\.md:1-1 /);
});

/** What a command takes to run with no rights, where the tests have all: a Node and a program that nobody may run, too. */
function asNobody() {
  const uid = 65_534;
  const programs = path.join(folder, 'programs');
  mkdirSync(programs);
  for (const each of [folder, programs]) chmodSync(each, 0o755);
  const node = path.join(programs, 'node');
  copyFileSync(process.execPath, node);
  for (const name of ['cli.js', 'index.js']) copyFileSync(new URL(`../dist/${name}`, import.meta.url), path.join(programs, name));
  writeFileSync(path.join(programs, 'package.json'), '{"type":"module"}');
  return { node, program: path.join(programs, 'cli.js'), uid };
}

test('a file that becomes one with a key while the folder is synced is not sent', async () => {
  const root = path.join(folder, 'meanwhile');
  mkdirSync(root);
  for (const name of ['a.md', 'key.md']) writeFileSync(path.join(root, name), `# ${name}\n`);
  const puts = [];
  const service = await serve(async (request, response) => {
    const { method, text } = await recorded(request, response);
    const { Documents } = JSON.parse(text);
    if (method === 'PUT') puts.push(...Documents.map(({ Path }) => Path));
    else writeFileSync(path.join(root, 'key.md'), '-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n');
    const Result = method === 'PUT' ? { Documents } : { Needed: Documents.map(({ Path }) => Path), Extra: [] };
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ Successful: true, Result, Errors: [], Warnings: [] }));
  });
  const { code, out } = await command(['sync', root, '--workspace', 'meanwhile', '--json'], { env: { APTIX_URL: service.origin } });
  await service.close();
  assert.deepEqual([code, puts, JSON.parse(out).leftOut], [5, ['a.md'], [{ path: 'key.md', message: 'It has changed meanwhile: keys and secrets' }]]);
});

test('rules of the repository above a folder hold below it, and a folder that cannot be read keeps its documents', async () => {
  const root = path.join(folder, 'above');
  mkdirSync(path.join(root, 'app/private'), { recursive: true });
  execFileSync('git', ['init', '-q', root]);
  writeFileSync(path.join(root, '.gitignore'), '/app/local.md\n');
  for (const name of ['local.md', 'a.md', 'private/b.md']) writeFileSync(path.join(root, 'app', name), `# ${name}\n`);
  const env = { APTIX_URL: `${rig.url}` };
  const sync = ['sync', path.join(root, 'app'), '--workspace', 'above', '--json'];
  assert.deepEqual(JSON.parse((await command(sync, { env })).out).sent.sort(), ['a.md', 'private/b.md']);
  chmodSync(path.join(root, 'app/private'), 0);
  const { code, out } = await command(sync, { env, ...(isBound ? {} : asNobody()) });
  chmodSync(path.join(root, 'app/private'), 0o700);
  assert.deepEqual([code, JSON.parse(out).removed, JSON.parse(out).passed], [5, [], [{ path: 'local.md', reason: 'ignored' }, { path: 'private/', reason: 'unreadable' }]]);
});

test('a file that is written all the time, such as a log, does not hold up the others that a watch is for', { timeout: 60_000 }, async () => {
  const root = mkdtempSync(path.join(folder, 'restless-'));
  writeFileSync(path.join(root, '.aptixignore'), '*.log\n');
  let seen;
  const isSeen = new Promise((resolve) => (seen = resolve));
  const service = await serve(async (request, response) => {
    const record = await recorded(request, response);
    if (record?.text.includes('"a.md"')) seen();
    response.end(JSON.stringify({ Successful: true, Result: { Needed: [], Extra: [] }, Errors: [], Warnings: [] }));
  });
  const watching = new Command(['sync', root, '--workspace', 'w', '--watch', '--json'], { env: { APTIX_URL: service.origin } });
  await watching.until('"documents"');
  const writing = setInterval(() => appendFileSync(path.join(root, 'app.log'), 'x\n'), 20);
  writeFileSync(path.join(root, 'a.md'), 'x');
  await isSeen;
  clearInterval(writing);
  watching.process.kill('SIGINT');
  await watching.ended;
  await service.close();
});

test('a script that watches is told a failure as a line of JSON', { timeout: 60_000 }, async () => {
  const root = mkdtempSync(path.join(folder, 'watched-'));
  const Errors = [{ ErrorCode: 'forbidden', Message: 'No more.', SystemError: false }];
  let asked = 0;
  const service = await serve((_, response) => {
    const first = (asked += 1) === 1;
    response.writeHead(first ? 200 : 403, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify(first ? { Successful: true, Result: { Needed: [], Extra: [] }, Errors: [], Warnings: [] } : { Successful: false, Errors, Warnings: [] }));
  });
  const watching = new Command(['sync', root, '--workspace', 'w', '--watch', '--json'], { env: { APTIX_URL: service.origin } });
  await watching.until('"documents"');
  writeFileSync(path.join(root, 'a.md'), 'x');
  await watching.until('No more.');
  watching.process.kill('SIGINT');
  await watching.ended;
  await service.close();
  assert.equal(JSON.parse(watching.err.split('\n')[0]).error.code, 'forbidden');
});
