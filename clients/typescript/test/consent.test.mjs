// What a person at the command line decides and keeps: questions that nothing answers but what is typed after them, files that
// are not read, written or sent unasked, and characters that would deceive who reads.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { Rig } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { serve } from '../../../tests/local_server.mjs';
import { sendMail, withApproval } from './approvals.mjs';
import { Command, command, noTerminal } from './command.mjs';

const rig = new Rig({ vars: { TURN_ALARM_MS: '200', DELTA_INTERVAL_MS: '0' }, catalog: withApproval });
let folder, env;
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-consent-'));
  await rig.start();
  env = { APTIX_URL: `${rig.url}`, XDG_STATE_HOME: path.join(folder, 'state'), HOME: folder };
});
after(async () => {
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => {
  // A test that failed leaves nothing to the next one, and no process behind.
  for (const chat of chats.splice(0)) if (!chat.hasEnded) chat.process.kill('SIGKILL');
  const { leftovers } = rig.model;
  rig.clear();
  rig.tools.requests.length = 0;
  assert.deepEqual(leftovers, []);
});

let serial = 0;
/** A folder of these files. */
function files(contents) {
  const root = path.join(folder, `files-${(serial += 1)}`);
  mkdirSync(root);
  for (const [name, text] of Object.entries(contents)) {
    mkdirSync(path.dirname(path.join(root, name)), { recursive: true });
    writeFileSync(path.join(root, name), text);
  }
  return root;
}
const chats = [];
function atTerminal(args, more = {}) {
  const chat = new Command(args, { env, cwd: folder, terminal: true, ...more });
  chats.push(chat);
  return chat;
}
const run = (args, more = {}) => command(args, { env, cwd: folder, ...more });
/** The results of the calls that the model made, in their order. */
const outputs = () => rig.model.bodies.at(-1).input.filter(({ type }) => type === 'function_call_output').map(({ output }) => output);
async function leave(chat) {
  chat.keys('\u0004');
  assert.equal(await chat.ended, 0, chat.shown);
}

test('a line that was typed before a question does not answer it, and is the next message', { timeout: 60_000, skip: noTerminal }, async () => {
  rig.model.script(answer(sendMail({ to: 'bob' })), answer(text('Not sent.')), answer(text('Heard you.')));
  const chat = atTerminal(['chat', '--no-tools']);
  await chat.until('> ');
  chat.keys('Mail bob.\ry\r');
  await chat.until('Run it?');
  chat.type('no, wait');
  await chat.until('Heard you.');
  assert.match(JSON.stringify(rig.model.bodies[1].input), /wait/);
  await leave(chat);
  assert.deepEqual(rig.tools.requests, [], 'the tool ran');
});

test('what was being typed when a question came is kept for the next message', { timeout: 60_000, skip: noTerminal }, async () => {
  rig.model.script(answer(sendMail({ to: 'bob' })), answer(text('Not sent.')), answer(text('Heard you.')));
  const chat = atTerminal(['chat', '--no-tools']);
  await chat.until('> ');
  chat.keys('Mail bob.\ry');
  await chat.until('Run it?');
  chat.type('');
  await chat.until('Run it?', 2);
  chat.type('n');
  await chat.until('> y');
  chat.type('ou there?');
  await chat.until('Heard you.');
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /you there\?/);
  await leave(chat);
  assert.deepEqual(rig.tools.requests, [], 'the tool ran');
});

test('a paste is one message, however many lines it has, and its lines answer nothing', { timeout: 60_000, skip: noTerminal }, async () => {
  rig.model.script(answer(sendMail({ to: 'bob' })), answer(text('Not sent.')));
  const chat = atTerminal(['chat', '--no-tools']);
  await chat.until('> ');
  chat.paste('Mail bob:\ny\n\ny\n');
  chat.keys('\r');
  await chat.until('Run it?');
  assert.match(JSON.stringify(rig.model.bodies[0].input), /Mail bob:\\ny\\n\\ny"/);
  chat.paste('y\ny');
  chat.keys('\r');
  await chat.until('Run it?', 2);
  chat.type('n');
  await chat.until('Not sent.');
  await leave(chat);
  assert.deepEqual([rig.tools.requests, rig.model.bodies.length], [[], 2]);
});

test('without a terminal what needs consent is refused, by name, and nothing is left waiting', { timeout: 60_000 }, async () => {
  for (const [args, input] of [[['chat', '--session', 'piped', '--no-tools'], 'Mail bob.\ny\n'], [['chat', 'Mail bob.', '--session', 'said', '--no-tools'], ''], [['chat', 'Mail bob.', '--session', 'with-tools'], '']]) {
    rig.model.script(answer(sendMail({ to: 'bob' })), answer(text('Not sent.')), ...(input ? [answer(text('Heard.'))] : []));
    const { code, out, err } = await run(args, { input });
    assert.deepEqual([code, out.endsWith(input ? 'Heard.\n' : 'Not sent.\n')], [0, true], out + err);
    assert.match(err, /send_mail needs consent/);
    assert.match(JSON.stringify(rig.model.bodies[1].input), /Nobody could be asked/);
    rig.model.clear();
  }
  assert.deepEqual(rig.tools.requests, []);
});

test('arguments are edited from what they are', { timeout: 60_000, skip: noTerminal }, async () => {
  rig.tools.on('/pay', '"paid"');
  rig.model.script(answer(call('pay', { to: 'ann\u202e', sum: 12 })), answer(text('Paid.')));
  const chat = atTerminal(['chat', '--no-tools']);
  await chat.until('> ');
  chat.type('Pay ann.');
  await chat.until('(e)dit: ');
  chat.type('e');
  await chat.until('Arguments: { "to": "ann\\u202e", "sum": 12 }');
  chat.keys('\u007f\u007f5 }\r');
  await chat.until('Paid.');
  await leave(chat);
  const [{ body }] = rig.tools.requests;
  assert.match(JSON.stringify(body), /125/);
});

test('only yes and no answer a question; arguments that are no JSON, or that the service refuses, stay to be mended', { timeout: 60_000, skip: noTerminal }, async () => {
  rig.tools.on('/pay', '"paid"');
  rig.model.script(answer(call('pay', { to: 'ann' })), answer(text('Paid.')));
  const chat = atTerminal(['chat', 'Pay ann.', '--no-tools']);
  for (const words of ['ok', 'yes please', 'nobody']) {
    await chat.next('Run it?');
    chat.type(words);
    await chat.next(words);
  }
  await chat.next('Run it?');
  chat.type('e');
  await chat.next('Arguments: { "to": "ann" }');
  chat.keys('\u007f\u007f, "to": "bob"\r');
  await chat.next('"to": "bob"');
  await chat.next('Arguments: { "to": "ann", "to": "bob"');
  chat.keys('}\r');
  await chat.next('That was refused: ');
  await chat.next('Run it?');
  chat.type('edit');
  await chat.next('Arguments: { "to": "ann", "to": "bob"}');
  chat.keys(`${'\u007f'.repeat(14)}, "sum": 1}\r`);
  await chat.next('Paid.');
  assert.equal(await chat.ended, 0, chat.shown);
  assert.deepEqual(rig.tools.requests.map(({ body }) => body.Arguments), [{ to: 'ann', sum: 1 }]);
});

test('a question before an erasure is not answered by what was typed before it', { timeout: 60_000, skip: noTerminal }, async () => {
  const erase = atTerminal(['erase', 'never-was']);
  erase.keys('y\r');
  await erase.until('(y/n)');
  erase.type('n');
  assert.equal(await erase.ended, 1);
  assert.doesNotMatch(erase.shown, /session_not_found/);
});

test('hidden files and rule files are asked for whatever is agreed to, rules are those of the beginning, and git has its own', { timeout: 60_000 }, async () => {
  const root = files({ 'a.md': 'alpha', '.env': 'TOKEN=1', 'kept/b.md': 'beta', '.gitignore': 'kept/\n!.github/\n', '.github/ci.yml': 'on: push' });
  execFileSync('git', ['init', '-q', root]);
  const config = readFileSync(path.join(root, '.git/config'), 'utf8');
  const chat = ['chat', 'Try.', '--folder', root, '--allow-writes'];
  const written = { '.aptixignore': '!.env\n!.git/\n!kept/\n', '.gitignore': '', '.envrc': 'x', '.vscode/tasks.json': '{}', '.github/ci.yml': 'x', '.git/config': 'x', '.git/hooks/pre-commit': 'x', '.GIT/config': 'x', 'kept/.gitignore': '!b.md', 'c.md': 'gamma' };
  rig.model.script(
    answer(...Object.entries(written).map(([at, text]) => call('write_file', { path: at, text }))),
    answer(...['.env', '.git/config', 'kept/b.md', '.github/ci.yml', 'a.md', 'c.md'].map((at) => call('read_file', { path: at })), call('list_files', {}), call('find_in_files', { text: 'o' })),
    answer(text('Done.')),
  );
  const { code, err } = await run(chat);
  assert.equal(code, 0, err);
  const [writes, reads] = [rig.model.bodies[1], rig.model.bodies[2]].map(({ input }) => input.map(({ output }) => output));
  for (const [at, name] of Object.keys(written).entries()) {
    const wanted = name === 'c.md' ? /"Written":true/ : name.toLowerCase().startsWith('.git/') ? /git's own/ : /does not want/;
    assert.match(writes[at], wanted, name);
  }
  for (const [at, wanted] of [/does not want/, /git's own/, /does not want/, /does not want/, /alpha/, /gamma/].entries()) assert.match(reads[at], wanted, `${at}`);
  assert.deepEqual(JSON.parse(reads[6]).Files, ['a.md', 'c.md']);
  assert.deepEqual(JSON.parse(reads[7]).Matches, []);
  assert.deepEqual([readFileSync(path.join(root, '.git/config'), 'utf8'), existsSync(path.join(root, '.aptixignore')), existsSync(path.join(root, '.git/hooks/pre-commit'))], [config, false, false]);
  assert.match(err, /Nobody can be asked here, so it is refused to write \.aptixignore/);
});

test('a rule that somebody writes while a chat runs gives no file away', { timeout: 60_000 }, async () => {
  const root = files({ '.gitignore': 'secret.md\n', 'secret.md': 'alpha', 'a.md': 'beta' });
  const gate = new Gate();
  rig.model.script(answer(call('list_files', {})), answer(text('Now', gate, ' then.'), call('read_file', { path: 'secret.md' })), answer(text('Done.')));
  const chat = new Command(['chat', 'Try.', '--folder', root], { env, cwd: folder, input: '' });
  await chat.until('Now');
  writeFileSync(path.join(root, '.gitignore'), '!secret.md\n');
  gate.open();
  assert.equal(await chat.ended, 0, chat.shown);
  assert.match(rig.model.bodies[2].input.at(-1).output, /does not want/);
});

const PEM = `-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----\n`;
const CERTIFICATE = PEM.replaceAll('PRIVATE KEY', 'CERTIFICATE');
const SECRETS = {
  'service-account.json': JSON.stringify({ type: 'service_account', private_key: PEM }, undefined, 2),
  'bundle.crt': CERTIFICATE + PEM,
  'client.ovpn': 'client\n<tls-auth>\nx\n</tls-auth>\n',
  'client.conf': `client\n<key>\n${PEM}</key>\n`,
  'static.txt': '-----BEGIN OpenVPN Static key V1-----\n6acef03f62675b4b1bbd03e53b187727\n',
  'putty.txt': 'PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\n',
  'key.ppk': 'x',
  'commented.txt': `# The key of the machine.\n\n${PEM.replace('PRIVATE', 'OPENSSH PRIVATE')}`,
  'source.js': `const key = "-----BEGIN RSA PRIVATE KEY-----\\n" +\n  "MIIEowIBAAKCAQEA";\n`,
  'age.txt': '# created: 2026-01-01\nAGE-SECRET-KEY-1QQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQQ\n',
  'wg0.txt': '[Interface]\nPrivateKey = 4HLqlTzLnbgrOZ7bFHuTRzUEyWUAgBEiArh0ShPlhWE=\n',
  'jwk.json': '{"keys":[{"kty":"EC","crv":"P-256","x":"f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8T","d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI"}]}',
  'reversed.json': '{"d":"jpsQnnGQmL-YBIffH1136cspYG6-0iY7X1fCE9-E9LI","kty":"EC"}',
  ...Object.fromEntries(['.env', '.env.local', 'prod.env', 'docker.env', 'secrets.yaml', 'credentials.json', 'terraform.tfstate', 'kubeconfig', 'htpasswd', '.npmrc', '.netrc', 'ID_RSA', 'deep/.aws/config'].map((name) => [name, 'x'])),
};
const NONE = { 'tls.md': 'It begins with `-----BEGIN PRIVATE KEY-----`.\n', 'public.crt': CERTIFICATE, 'secrets.rs': 'mod secrets;\n', 'env.md': 'x', 'jwks.json': '{"keys":[{"kty":"RSA","n":"0vx7agoebGcQSuuPiLJXZpt","e":"AQAB"}]}', 'long.txt': '"kty":'.repeat(300_000) };
const namesOfSecrets = Object.keys(SECRETS).map((name) => (name === 'deep/.aws/config' ? 'deep/.aws/' : name)).sort();

test('keys and secrets are left out by name and by content, and named in the report; no file of the folder gives them away', { timeout: 60_000 }, async () => {
  // As somebody may have put it into a repository that was cloned.
  const root = files({ ...SECRETS, ...NONE, '.aptixignore': '!.env\n!.git/\n!*.env\n!secrets.yaml\n!*\n', '.gitignore': '!.env\n!/*\n' });
  execFileSync('git', ['init', '-q', root]);
  const sync = ['sync', root, '--workspace', 'secrets', '--dry-run'];
  const told = JSON.parse((await run([...sync, '--json'])).out);
  assert.deepEqual(told.sent.sort(), Object.keys(NONE).sort());
  assert.deepEqual(told.passed.filter(({ reason }) => reason === 'secret').map(({ path: at }) => at).sort(), namesOfSecrets);
  assert.deepEqual(told.passed.filter(({ path: at }) => at.startsWith('.git/')), [{ path: '.git/', reason: 'hidden' }]);
  const { out } = await run(sync);
  for (const name of namesOfSecrets) assert.ok(out.includes(`. ${name}: keys and secrets\n`), `${name} in ${out}`);
  const named = JSON.parse((await run([...sync, '--json', '--include', 'prod.env', '--include', '/bundle.crt', '--include', '.git/'])).out);
  assert.deepEqual(named.sent.sort(), [...Object.keys(NONE), 'prod.env', 'bundle.crt'].sort());

  rig.model.script(answer(...['.env', 'prod.env', 'bundle.crt', 'service-account.json', 'client.ovpn', '.git/config', 'tls.md'].map((at) => call('read_file', { path: at }))), answer(text('Done.')));
  await run(['chat', 'Read.', '--folder', root]);
  for (const [at, wanted] of [...Array(5).fill(/does not want/), /git's own/, /It begins/].entries()) assert.match(outputs()[at], wanted);
});

test('a broad rule takes nothing of the product\'s own back, one that spells the name does', async () => {
  const root = files({ '.gitignore': '/*\n!/*/\n', 'src/a.md': 'x', '.github/ci.yml': 'x', 'node_modules/b.md': 'x', 'dist/c.md': 'x' });
  execFileSync('git', ['init', '-q', root]);
  const sent = async () => JSON.parse((await run(['sync', root, '--workspace', 'broad', '--dry-run', '--json'])).out).sent.sort();
  assert.deepEqual(await sent(), ['src/a.md']);
  writeFileSync(path.join(root, '.aptixignore'), '!.github/\n!dist/\n');
  assert.deepEqual(await sent(), ['.github/ci.yml', 'dist/c.md', 'src/a.md']);
});

test('the question before a write shows all that changes, and characters that deceive are written out', { timeout: 60_000, skip: noTerminal }, async () => {
  const lines = Array.from({ length: 80 }, (_, at) => `line ${at + 1}`);
  const root = files({ 'a.md': lines.join('\n') });
  const changed = lines.with(60, 'EVIL \u009b2K\u202e\u200bx').toSpliced(10, 1).join('\n');
  const fresh = Array.from({ length: 90 }, (_, at) => `new ${at + 1}`).join('\n');
  rig.model.script(answer(call('write_file', { path: 'a.md', text: changed }), call('write_file', { path: 'b.md', text: fresh })), answer(text('Done.')));
  const chat = atTerminal(['chat', '--folder', root]);
  await chat.until('> ');
  chat.type('Try.');
  await chat.until('Write a.md');
  assert.match(chat.shown, /@@ line 8\n {2}line 8\n {2}line 9\n {2}line 10\n- line 11\n {2}line 12\n {2}line 13\n {2}line 14\n@@ line 58\n {2}line 58\n {2}line 59\n {2}line 60\n- line 61\n\+ EVIL \\u009b2K\\u202e\\u200bx\n {2}line 62\n/);
  assert.doesNotMatch(chat.shown, /^. line 30$/m);
  chat.type('y');
  await chat.until('Write b.md (a new file)');
  assert.match(chat.shown, /\+ new 1\n[^]*\+ new 90\n/);
  chat.type('n');
  await chat.until('Done.');
  await leave(chat);
  assert.deepEqual([readFileSync(path.join(root, 'a.md'), 'utf8'), existsSync(path.join(root, 'b.md'))], [changed, false]);
});

test('a file, or a link, that comes while the user is asked for a new file is not written over', { timeout: 60_000, skip: noTerminal }, async () => {
  const root = files({ 'a.md': 'x' });
  const outside = path.join(files({ 'b.md': 'Elsewhere.' }), 'b.md');
  rig.model.script(answer(...['new.md', 'link.md', 'free.md'].map((at) => call('write_file', { path: at, text: 'Of the model.' }))), answer(text('Done.')));
  const chat = atTerminal(['chat', '--folder', root]);
  await chat.until('> ');
  chat.type('Try.');
  await chat.until('Write new.md');
  writeFileSync(path.join(root, 'new.md'), 'Of the user.');
  chat.type('y');
  await chat.until('Write link.md');
  symlinkSync(outside, path.join(root, 'link.md'));
  chat.type('y');
  await chat.until('Write free.md');
  chat.type('y');
  await chat.until('Done.');
  await leave(chat);
  assert.deepEqual([path.join(root, 'new.md'), outside, path.join(root, 'free.md')].map((at) => readFileSync(at, 'utf8')), ['Of the user.', 'Elsewhere.', 'Of the model.']);
  assert.match(outputs()[0], /has changed while the user was asked/);
  assert.match(outputs()[1], /outside of the folder/);
});

test('an export and JSON of any kind hold no character that a terminal obeys, and mean the same', { timeout: 60_000 }, async () => {
  const bad = 'a\u009b2Kb\u202ec\u2066d\u200be\u007ff\u{e0041}g';
  rig.model.script(answer(text(`${bad} 👩‍💻`)));
  const said = await run(['chat', bad, '--session', 'bad', '--no-tools']);
  const spelled = 'a\\u009b2Kb\\u202ec\\u2066d\\u200be\\u007ff\\udb40\\udc41g';
  assert.equal(said.out, `${spelled} 👩‍💻\n`);
  for (const args of [['export', 'bad'], ['export', 'bad', '--json'], ['turns', 'bad', '--json'], ['watch', 'bad', '--json'], ['trace', 'bad', '--json']]) {
    const { code, out, err } = await run(args);
    assert.equal(code, 0, err);
    assert.doesNotMatch(out, /[\u007f-\u009f\u200b\u202a-\u202e\u2066-\u2069\u{e0041}]/u, args.join(' '));
    if (args[0] === 'export') assert.ok(JSON.stringify(JSON.parse(out)).includes(bad) && out.includes(spelled));
  }
});

test('no member of an answer holds a character that a terminal obeys', { timeout: 60_000 }, async (t) => {
  const bad = 'a\u001b]0;b\u0007';
  const answers = {
    '/tickets': { Successful: true, Result: { Ticket: bad, User: bad, ExpiresAt: bad, Operations: [bad] }, Warnings: [] },
    '/sessions/x/turns': { Successful: false, Errors: [{ ErrorCode: bad, Message: 'no', SystemError: false }], Warnings: [] },
  };
  const service = await serve((request, response) => {
    const body = answers[request.url.split('?')[0]];
    request.resume();
    response.writeHead(body.Successful ? 200 : 400, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  t.after(service.close);
  for (const args of [['ticket', '--for', 'x'], ['turns', 'x']]) {
    const { out, err } = await run(args, { env: { ...env, APTIX_URL: service.origin } });
    assert.ok(`${out}${err}`.includes('a\\u001b]0;b\\u0007') && !/[\u0007\u001b]/.test(out + err), out + err);
  }
});

test('a joiner is no character that deceives, wherever the pieces of an answer end', { timeout: 60_000 }, async () => {
  const words = '\u0645\u06cc\u200c\u0634\u0648\u062f \u{1f469}\u200d\u{1f4bb}';
  for (const pieces of [words.split(/(?=\u200c|\u200d)/u), words.split(/(?<=\u200c|\u200d)/u), [...words]]) {
    rig.model.script(answer(text(...pieces)));
    assert.equal((await run(['chat', 'x', '--no-tools'])).out, `${words}\n`);
  }
  rig.model.script(answer(text('a', '\u200d', 'b', '\u200c')));
  assert.equal((await run(['chat', 'x', '--no-tools'])).out, 'a\\u200db\\u200c\n');
});

test('what is no file, such as a named pipe, is not read', { timeout: 30_000 }, async () => {
  const root = files({ 'a.md': 'x' });
  execFileSync('mkfifo', [path.join(root, 'pipe'), path.join(root, '.gitignore')]);
  rig.model.script(answer(call('read_file', { path: 'pipe' }), call('write_file', { path: 'pipe', text: 'x' }), call('list_files', {})), answer(text('Done.')));
  const { code, err } = await run(['chat', 'Read.', '--folder', root, '--allow-writes']);
  assert.equal(code, 0, err);
  for (const [at, wanted] of [/is no file/, /is no file/, /a\.md/].entries()) assert.match(outputs()[at], wanted);
});

test('plain http to another machine is asked for, and refused where nobody can be asked', { timeout: 60_000, skip: noTerminal }, async () => {
  const seen = [];
  const proxy = createServer((request, response) => (seen.push(request.headers.authorization), response.writeHead(404).end()));
  await new Promise((resolve) => proxy.listen(0, resolve));
  // A name that is no loopback's, and leads to this machine.
  const address = Object.values(os.networkInterfaces()).flat().find(({ family, internal }) => family === 'IPv4' && !internal)?.address ?? '0.0.0.0';
  const url = `http://${address}:${proxy.address().port}`;
  const open = { ...env, APTIX_URL: url, APTIX_KEY: 'a-key' };
  try {
    const { code, err } = await run(['turns', 'x'], { env: open });
    assert.deepEqual([code, /https:\/\/.*APTIX_ALLOW_HTTP/.test(err), seen], [2, true, []], err);
    // What a shell reads at its start sends nothing.
    assert.equal((await run(['completion', 'bash'], { env: open })).code, 0);
    const asked = atTerminal(['turns', 'x'], { env: open });
    await asked.until('(y/n)');
    asked.type('n');
    assert.deepEqual([await asked.ended, seen], [1, []]);
    await run(['turns', 'x'], { env: { ...open, APTIX_ALLOW_HTTP: '1' } });
    assert.ok(seen.length > 0 && seen.every((each) => each === 'Bearer a-key'));
  } finally {
    proxy.close();
  }
  for (const loopback of ['localhost', '127.0.0.2', '[::1]', 'a.localhost']) {
    const { err } = await run(['turns', 'x'], { env: { ...env, APTIX_URL: `http://${loopback}:9` } });
    assert.doesNotMatch(err, /another machine/);
  }
});
