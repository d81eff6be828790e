// The command line against the Worker: each command as a person and as a script runs it, its exit codes, and where keys are.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Rig, apiKeys, eventually, httpTool } from '../../../tests/e2e/harness.mjs';
import { Gate, answer, call, httpError, text } from '../../../tests/e2e/scripted_model.mjs';
import { sendMail, withApproval } from './approvals.mjs';
import { Command, PROGRAM, command, noTerminal } from './command.mjs';

const KEY = 'key-of-the-command-line';
const TICKET_KEYS = JSON.stringify([{ Id: 'one', Secret: Buffer.alloc(32, 7).toString('base64') }]);
function withTools(catalog, at) {
  withApproval(catalog, at);
  catalog.ServerTools.push(httpTool('look', at.toolUrl));
  catalog.Modes[0].Tools.push('look');
}
const rig = new Rig({ vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'acme' }), TICKET_KEYS, TURN_ALARM_MS: '200' }, catalog: withTools });
let folder, env;
before(async () => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-commands-'));
  await rig.start();
  env = { APTIX_URL: `${rig.url}`, APTIX_KEY: KEY, XDG_STATE_HOME: path.join(folder, 'state') };
});
after(async () => {
  await rig.dispose();
  rmSync(folder, { recursive: true, force: true });
});
afterEach(() => {
  assert.deepEqual(rig.model.leftovers, []);
  rig.clear();
});
const run = (args, more = {}) => command(args, { env, cwd: folder, ...more });
async function says(args, more) {
  const { code, out, err } = await run(args, more);
  assert.equal(code, 0, `${args.join(' ')}: ${out}${err}`);
  return out;
}

test('one message is one turn, and what is kept of it is shown, exported and erased', async () => {
  writeFileSync(path.join(folder, 'a.txt'), 'contents of a');
  rig.model.script(answer(text('I look.'), call('read_file', { path: 'a.txt' })), answer(text('It is ', 'a.')));
  assert.equal(await says(['chat', 'What', 'is a?', '--session', 'kept']), 'I look.\nIt is a.\n');
  assert.equal(JSON.parse(rig.model.bodies[1].input[0].output), 'contents of a');

  const listed = await says(['turns', 'kept']);
  assert.match(listed, /^\w{32} {2}completed {2}\d{4}-\d\d-\d\d \d\d:\d\dZ {2}\d+ tokens\n$/);
  const [turnId] = listed.split(' ');
  assert.equal(await says(['watch', 'kept']), 'It is a.\n');
  const tree = await says(['trace', 'kept']);
  const shape = tree.replaceAll(/ · .*/g, '');
  assert.equal(shape, `turn ${turnId}\n├─ model call 1\n│  └─ tool read_file\n└─ model call 2\n`);
  assert.match(tree, /tool read_file · client · succeeded · \d+ ms · \d+ bytes/);
  assert.equal(JSON.parse(await says(['trace', 'kept', turnId, '--json'])).TurnId, turnId);
  await says(['export', 'kept', '--output', 'kept.json']);
  const kept = readFileSync(path.join(folder, 'kept.json'), 'utf8');
  assert.equal(JSON.parse(kept).Turns.length, 1);
  // Of the same values in another text no body could be built again.
  const whole = await fetch(new URL('/sessions/kept/export', rig.url), { headers: { Authorization: `Bearer ${KEY}` } });
  assert.ok((await whole.text()).includes(kept.trimEnd()), kept);
  for (const form of [[], ['--json']]) assert.deepEqual(JSON.parse(await says(['export', 'kept', ...form])), JSON.parse(kept));
  assert.equal(statSync(path.join(folder, 'kept.json')).mode & 0o777, 0o600);
  const again = await run(['export', 'kept', '-o', 'kept.json']);
  assert.deepEqual([again.code, again.err], [1, 'kept.json is there already, and is kept. Remove it, or name another file.\n']);

  // It is killed when a part is written.
  const mortal = path.join(folder, 'mortal.mjs');
  writeFileSync(mortal, `import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
fs.rmSync = fs.promises.rm = () => process.kill(process.pid, 'SIGKILL');
syncBuiltinESMExports();
`);
  const killed = await run(['ulimit -f 1; exec "$0" "$@"', process.execPath, '--import', mortal, PROGRAM, 'export', 'kept', '-o', 'killed.json'], { node: 'sh', program: '-c' });
  assert.deepEqual([killed.code, existsSync(path.join(folder, 'killed.json'))], ['SIGKILL', false], killed.err);

  const narrow = ['ulimit -f 0; exec "$0" "$@"', process.execPath, PROGRAM, 'export', 'kept', '-o', 'part.json'];
  const full = await run(narrow, { node: 'sh', program: '-c' });
  assert.deepEqual([full.code, /EFBIG/.test(full.err), existsSync(path.join(folder, 'part.json'))], [1, true, false], full.err);
  const cut = await run(['ulimit -f 1; exec "$0" "$@" > cut.json', process.execPath, PROGRAM, 'export', 'kept'], { node: 'sh', program: '-c' });
  assert.deepEqual([cut.code, /EFBIG/.test(cut.err)], [1, true], cut.err);

  const refused = await run(['erase', 'kept']);
  assert.deepEqual([refused.code, /--yes/.test(refused.err)], [2, true]);
  assert.match(await says(['erase', 'kept', '--yes']), /Turns +1/);
  const { code, err } = await run(['turns', 'kept']);
  assert.deepEqual([code, err.startsWith('session_not_found: ')], [1, true]);
});

test('the trace has a tool call below the model call that made it, behind one that the service refused', async () => {
  writeFileSync(path.join(folder, 'a.txt'), 'contents of a');
  const lost = httpError(400, { code: 'previous_response_not_found', param: 'previous_response_id', message: 'It is gone.' });
  rig.model.script(answer(text('Hello.')), lost, answer(call('read_file', { path: 'a.txt' })), answer(text('It is a.')));
  await says(['chat', 'Hello.', '--session', 'refused-once']);
  await says(['chat', 'What is a?', '--session', 'refused-once']);
  const shape = (await says(['trace', 'refused-once'])).replaceAll(/ · .*/g, '').replace(/^turn \w+\n/, '');
  assert.equal(shape, '├─ model call 1\n├─ model call 2\n│  └─ tool read_file\n└─ model call 3\n');
});

test('the trace says of a tool that has failed its turn that there is no result', async () => {
  rig.tools.on('/look', 'It is down.', { status: 500 });
  rig.model.script(answer(call('look', { for: 'it' })));
  assert.equal((await run(['chat', 'Look.', '--no-tools', '--session', 'no-result'])).code, 1);
  assert.match(await says(['trace', 'no-result']), /tool look · server · no result/);
});

test('the trace names the modes between which a turn has changed', async () => {
  rig.model.script(answer(call('agent_change_mode', { mode: 'ddr_authoring', branch: false, reason: 'asked' })), answer(text('Changed.')));
  await says(['chat', 'Change the mode.', '--no-tools', '--session', 'moded']);
  assert.match(await says(['trace', 'moded']), /^[└├]─ mode · general → ddr_authoring$/m);
});

test('a script gives the form of the answer as a file', async () => {
  const schema = '{ "type": "object", "properties": { "total": { "type": "integer" } } }';
  writeFileSync(path.join(folder, 'form.json'), schema);
  rig.model.script(answer(text('{"total":7}')));
  assert.equal(await says(['chat', 'How many?', '--no-tools', '--schema', 'form.json']), '{"total":7}\n');
  assert.deepEqual(rig.model.bodies[0].text.format, { type: 'json_schema', name: 'answer', schema: JSON.parse(schema), strict: true });
  writeFileSync(path.join(folder, 'list.json'), '[]');
  for (const [file, why] of [['list.json', /holds no JSON Schema/], ['none.json', /cannot be read as JSON/], ['a.txt', /cannot be read as JSON/]]) {
    const { code, err } = await run(['chat', 'x', '--no-tools', '--schema', file]);
    assert.deepEqual([code, why.test(err)], [2, true], err);
  }
});

test('behind -- all are words, also those that look like options', async () => {
  rig.model.script(answer(text('Words.')));
  const { code, out, err } = await run(['chat', '--no-tools', '--', 'What', 'is', '--token', 'and', '--json?', '--json']);
  assert.deepEqual([code, out], [0, 'Words.\n'], err);
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /What is --token and --json\? --json/);
});

test('a message has what standard input has where it asks for that, and says so where it does not', async () => {
  const piped = (words) => {
    rig.model.script(answer(text('Short.')));
    const line = `printf 'It is\\nlong.\\n' | '${process.execPath}' '${fileURLToPath(new URL('../dist/cli.js', import.meta.url))}' chat --no-tools --session piped ${words}`;
    return run([line], { node: 'sh', program: '-c' });
  };
  assert.match((await piped('In short:')).err, /^Standard input is not read: - in the message appends it\.\n/);
  assert.doesNotMatch((await piped('In short: -')).err, /Standard input/);
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /In short:\\n\\nIt is\\nlong\."/);
});

test('a search shows how well a chunk fits, however little that is', async () => {
  const notes = path.join(folder, 'notes');
  mkdirSync(notes);
  writeFileSync(path.join(notes, 'rye.md'), 'The dough rests for twelve hours.\n');
  await says(['sync', notes, '--workspace', 'scores']);
  const [, score] = /^rye\.md:1-1 {2}(\S+)\n/.exec(await says(['search', 'dough', '--workspace', 'scores']));
  assert.ok(Number(score) > 0, score);
  assert.equal(await says(['search', 'submarine', '--workspace', 'scores']), 'Nothing has any of these words.\n');
  assert.equal(await says(['search', 'dough', '--workspace', 'scores', '--scope', 'Path=wheat.md']), 'Nothing in this scope has any of these words.\n');
  assert.equal(await says(['search', 'submarine', '--workspace', 'bare']), 'The workspace bare has no documents.\n');
  // A ticket that may search is not told what the workspace holds.
  const ticket = await says(['ticket', '--for', 'alice', '--operations', 'Search', '--workspaces', 'bare']);
  assert.equal(await says(['search', 'submarine', '--workspace', 'bare'], { env: { ...env, APTIX_KEY: ticket.trim() } }), 'Nothing has any of these words.\n');
});
test('a session goes on from an earlier turn, as a new one', async () => {
  for (const words of ['One', 'Two', 'Three']) {
    rig.model.script(answer(text(`${words}!`)));
    await says(['chat', words, '--session', 'told', '--no-tools']);
  }
  const [, second] = JSON.parse(await says(['turns', 'told', '--json'])).Turns.map(({ TurnId }) => TurnId);
  const { code, out, err } = await run(['fork', 'told', '--after', second, '--as', 'told-otherwise']);
  assert.deepEqual([code, out, /first 2 turns of told.*chat --session told-otherwise/.test(err)], [0, 'told-otherwise\n', true]);
  rig.model.script(answer(text('Otherwise!')));
  assert.equal(await says(['chat', 'Three', '--session', 'told-otherwise', '--no-tools']), 'Otherwise!\n');
  assert.equal(await says(['watch', 'told']), 'Three!\n');
  const made = JSON.parse(await says(['fork', 'told', '--json']));
  assert.deepEqual(made, { SessionId: made.SessionId, ParentSessionId: 'told', AfterTurnId: made.AfterTurnId, Turns: 3 });
  assert.equal(await says(['watch', made.SessionId]), 'Three!\n');
  for (const [args, refused] of [[['--as', 'told'], 'session_exists'], [['--after', 'none'], 'turn_not_found'], [['--context', 'none'], 'context_not_found']]) {
    const { code, err } = await run(['fork', 'told', ...args]);
    assert.deepEqual([code, err.startsWith(`${refused}: `)], [1, true], err);
  }
  assert.equal((await run(['fork'])).code, 2);
});

test('a fork whose answer is lost is found by the id that is told', async () => {
  rig.model.script(answer(text('One!')));
  await says(['chat', 'One', '--session', 'forked-unseen', '--no-tools']);
  const ids = [];
  // It passes the request on, and keeps the answer to itself.
  const lossy = createServer(async (request, response) => {
    const body = Buffer.concat(await Array.fromAsync(request)).toString();
    ids.push(JSON.parse(body).SessionId);
    await fetch(new URL(request.url, rig.url), { method: 'POST', headers: { Authorization: `Bearer ${KEY}`, 'Content-Type': 'application/json' }, body });
    response.destroy();
  });
  try {
    await new Promise((listens) => lossy.listen(0, '127.0.0.1', listens));
    const { code, err } = await run(['fork', 'forked-unseen'], { env: { ...env, APTIX_URL: `http://127.0.0.1:${lossy.address().port}` } });
    const [, id] = /with --as (\w+) finds it/.exec(err) ?? [];
    assert.deepEqual([code, new Set(ids)], [3, new Set([id])], err);
    assert.equal(await says(['watch', id]), 'One!\n');
    assert.equal(await says(['fork', 'forked-unseen', '--as', id]), `${id}\n`);
  } finally {
    lossy.close();
  }
});

test('an empty XDG_STATE_HOME is none: nothing is kept in the folder of the chat', async () => {
  const cwd = path.join(folder, 'worked-in');
  mkdirSync(cwd);
  rig.model.script(answer(text('Hi.')));
  await says(['chat', 'Hi', '--no-tools'], { cwd, env: { ...env, XDG_STATE_HOME: '', HOME: folder } });
  assert.deepEqual([readdirSync(cwd), readdirSync(path.join(folder, '.local/state'))], [[], ['aptix-edge']]);
});

test('a script gets events as lines of JSON, and errors as JSON', async () => {
  rig.model.script(answer(text('Hi.')));
  const lines = (await says(['chat', 'Hi', '--no-tools', '--json'])).trim().split('\n').map((line) => JSON.parse(line));
  assert.deepEqual([lines.find(({ type }) => type === 'text').delta, lines.at(-1).response.PrimaryOutputText], ['Hi.', 'Hi.']);
  const { code, out, err } = await run(['turns', 'no-such', '--json']);
  assert.deepEqual([code, out, JSON.parse(err).error.code], [1, '', 'session_not_found']);
});

test('a script that sends several messages is told of the first turn that failed', async () => {
  rig.model.script(httpError(401, { message: 'No.' }), answer(text('Two.')));
  const { code, out, err } = await run(['chat', '--no-tools'], { input: 'One?\nTwo?\n' });
  assert.deepEqual([code, out, /^upstream_rejected: /m.test(err)], [1, 'Two.\n', true], err);
});

test('the model gets no file from outside of the folder, and writes none that nobody has agreed to', async () => {
  mkdirSync(path.join(folder, 'inside'), { recursive: true });
  writeFileSync(path.join(folder, 'inside/.env'), 'TOKEN=1');
  symlinkSync(folder, path.join(folder, 'inside/out'));
  const calls = [['read_file', '/etc/passwd'], ['read_file', '../a.txt'], ['read_file', 'out/a.txt'], ['read_file', '.env'], ['write_file', 'new.txt'], ['write_file', 'out/new.txt']];
  rig.model.script(answer(...calls.map(([name, at]) => call(name, { path: at, text: 'x' }))), answer(text('No.')));
  await says(['chat', 'Try.', '--folder', 'inside']);
  const outputs = rig.model.bodies[1].input.map(({ output }) => output);
  for (const [at, why] of [/outside/, /outside/, /outside/, /does not want/, /does not want/, /outside/].entries()) assert.match(outputs[at], why, `${at}`);
  assert.deepEqual(readdirSync(path.join(folder, 'inside')).sort(), ['.env', 'out']);
  // A link of a repository to what is not there yet.
  symlinkSync(path.join(folder, 'made'), path.join(folder, 'inside/nowhere'));
  rig.model.script(answer(call('write_file', { path: 'nowhere', text: 'x' }), call('write_file', { path: 'nowhere/deep', text: 'x' })), answer(text('No.')));
  await says(['chat', 'Try.', '--folder', 'inside', '--allow-writes']);
  for (const { output } of rig.model.bodies.at(-1).input) assert.match(output, /link to what is not there/);
  assert.ok(!readdirSync(folder).includes('made'));
  rmSync(path.join(folder, 'inside/nowhere'));
  rig.model.script(answer(call('write_file', { path: 'deep/new.txt', text: 'x' }), call('find_in_files', { text: 'X' }), call('list_files', {})), answer(text('Done.')));
  await says(['chat', 'Try.', '--folder', 'inside', '--allow-writes']);
  assert.equal(readFileSync(path.join(folder, 'inside/deep/new.txt'), 'utf8'), 'x');
  const [, found, files] = rig.model.bodies.at(-1).input.map(({ output }) => output);
  assert.deepEqual(JSON.parse(found), { Matches: [{ Path: 'deep/new.txt', Line: 1, Text: 'x' }] });
  assert.deepEqual(JSON.parse(files), { Files: ['deep/new.txt'] });
});

test('a file for whose new text the disk has no room keeps what it holds', async () => {
  mkdirSync(path.join(folder, 'full'));
  writeFileSync(path.join(folder, 'full/kept.txt'), 'As it was.');
  rig.model.script(answer(...['kept.txt', 'new.txt'].map((at) => call('write_file', { path: at, text: 'x'.repeat(10_000) }))), answer(text('No.')));
  const narrow = ['ulimit -f 8; exec "$0" "$@"', process.execPath, PROGRAM, 'chat', 'Write.', '--folder', 'full', '--allow-writes'];
  const { code, err } = await run(narrow, { node: 'sh', program: '-c' });
  assert.equal(code, 0, err);
  for (const { output } of rig.model.bodies.at(-1).input) assert.match(output, /EFBIG/);
  assert.deepEqual(readdirSync(path.join(folder, 'full')), ['kept.txt']);
  assert.equal(readFileSync(path.join(folder, 'full/kept.txt'), 'utf8'), 'As it was.');
});

test('a person is asked, and a chat that was killed goes on where it was', { timeout: 60_000, skip: noTerminal }, async () => {
  const { APTIX_KEY, ...rest } = env;
  rig.tools.on('/send_mail', '"sent"');
  rig.model.script(answer(sendMail({ to: 'bob' })), answer(text('It is sent.')));
  const first = new Command(['chat', '--session', 'killed'], { env: { ...rest, APTIX_KEY }, cwd: folder, terminal: true });
  await first.until('> ');
  first.type('Mail bob.');
  await first.until('Run it?');
  first.process.kill('SIGKILL');
  await first.ended;
  const waits = await run(['watch', 'killed']);
  assert.deepEqual([waits.code, /waits: send_mail, which needs consent/.test(waits.err)], [4, true], waits.err);
  const second = new Command(['chat', '--continue'], { env, cwd: folder, terminal: true });
  await second.until('Going on with the turn');
  await second.until('It leaves the house.');
  await second.until('Run it?');
  second.type('y');
  await second.until('It is sent.');
  rig.model.script(answer(sendMail({ to: 'eve' })), answer(text('Not sent.')));
  second.type('Mail eve.');
  await second.until('Run it?', 2);
  second.type('no, she is away');
  await second.until('Not sent.');
  second.keys('\u0004');
  assert.equal(await second.ended, 0);
  assert.match(second.shown, /It goes on with: aptix-edge chat --session killed/);
  assert.match(JSON.stringify(rig.model.bodies.at(-1).input), /she is away/);
  assert.equal(rig.tools.requests.length, 1);
});

test('a tool whose turn is cancelled asks nothing any more, and takes no line from the prompt', { timeout: 60_000, skip: noTerminal }, async () => {
  const [held, programs] = [path.join(folder, 'held'), path.join(folder, 'slow-programs')];
  mkdirSync(path.join(folder, 'slow/.git'), { recursive: true });
  writeFileSync(path.join(folder, 'slow/.env'), 'TOKEN=1');
  // What the files of a folder are is known when git has told the user's own rules.
  mkdirSync(programs);
  writeFileSync(path.join(programs, 'git'), `#!/bin/sh\nuntil [ -e '${held}' ] || [ ! -e '${programs}' ]; do sleep 0.05; done\n`, { mode: 0o755 });
  const slow = { ...env, PATH: `${programs}:${process.env.PATH}` };
  rig.model.script(answer(call('read_file', { path: '.env' })), answer(call('read_file', { path: '.env' })), answer(text('Not read.')));
  const chat = new Command(['chat', '--folder', 'slow'], { env: slow, cwd: folder, terminal: true });
  await chat.until('> ');
  chat.type('Read it.');
  await chat.until('[read_file');
  chat.keys('\u0003');
  await chat.until('The turn is cancelled.');
  chat.type('Once more.');
  await chat.until('[read_file', 2);
  writeFileSync(held, '');
  await chat.until('Let the model read .env');
  chat.type('n');
  await chat.until('Not read.');
  assert.equal(chat.shown.split('Let the model read .env').length, 2, chat.shown);
  chat.keys('\u0004');
  assert.equal(await chat.ended, 0);
});

test('on a terminal of 40 columns no line of the progress is as wide as that, so that each takes the place of the one before', { timeout: 60_000, skip: noTerminal }, async () => {
  const many = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-many-'));
  for (let at = 0; at < 250; at += 1) writeFileSync(path.join(many, `${at}.md`), `Words ${at}.\n`);
  const cli = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
  const sync = new Command([`stty cols 40; exec '${process.execPath}' '${cli}' sync '${many}' --workspace narrow`], { env, node: '/bin/sh', program: '-c', terminal: true });
  assert.equal(await sync.ended, 0, sync.shown);
  const lines = sync.out.split(/[\r\n]/).filter((line) => /\d+ of \d+/.test(line));
  assert.ok(lines.length > 0, sync.out);
  for (const line of lines) assert.ok([...line].length < 40, line);
  rmSync(many, { recursive: true, force: true });
});

test('a chat that waits for a message, or for one on standard input, ends with a signal', { timeout: 60_000 }, async () => {
  for (const words of [[], ['-']]) {
    const chat = new Command(['chat', '--no-tools', ...words], { env, cwd: folder });
    if (words.length === 0) await chat.until('> ');
    // More than the pipe holds, so that it is being read.
    else await new Promise((taken) => chat.process.stdin.write('x'.repeat(1 << 20), taken));
    chat.process.kill('SIGTERM');
    assert.equal(await chat.ended, 130, chat.shown);
  }
});

test('a chat that is killed leaves the turn that runs to whoever goes on with it; an interrupt ends it', { timeout: 60_000 }, async () => {
  for (const [signal, status] of [['SIGTERM', 'completed'], ['SIGINT', 'aborted']]) {
    const gate = new Gate();
    rig.model.script(answer(text('One ', gate, 'two.')));
    const chat = new Command(['chat', 'Go on.', '--session', signal, '--no-tools'], { env, cwd: folder, input: '' });
    await chat.until('One ');
    chat.process.kill(signal);
    assert.equal(await chat.ended, 130, chat.shown);
    gate.open();
    await eventually(async () => JSON.parse(await says(['turns', signal, '--json'])).Turns[0].Status === status, `the turn is ${status}`);
  }
});

test('a hint is one that helps: a cap is no matter of the key, and the user of a ticket is named by --for', async () => {
  assert.match((await run(['ticket'])).err, /that of a ticket, --for\.$/m);
  const told = async (Details) => {
    const refused = createServer((_, response) => {
      response.writeHead(403, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ Successful: false, Errors: [{ ErrorCode: 'forbidden', Message: 'No more.', Details, SystemError: false }], Warnings: [] }));
    });
    await new Promise((listens) => refused.listen(0, '127.0.0.1', listens));
    const { err } = await run(['turns', 'full'], { env: { ...env, APTIX_URL: `http://127.0.0.1:${refused.address().port}` } });
    refused.close();
    return err;
  };
  assert.equal(await told({ MaxTurns: 1 }), 'forbidden: No more.\n');
  assert.match(await told({ Operation: 'Read' }), /Another key or ticket is needed/);
});

test('a store that cannot keep something leaves no part of it', async () => {
  const hash = (words) => createHash('sha256').update(words).digest('hex');
  const state = path.join(folder, 'state-of-none');
  const place = path.join(state, 'aptix-edge', `${hash(`${hash(`${rig.url}\n${KEY}\n`)}\nnewest ${folder}`)}.json`);
  mkdirSync(place, { recursive: true });
  assert.equal((await run(['chat', 'Hi', '--no-tools'], { env: { ...env, XDG_STATE_HOME: state } })).code, 1);
  assert.deepEqual(readdirSync(path.dirname(place)), [path.basename(place)]);
});

test('a turn is cancelled from elsewhere', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Never', gate, ' ending')));
  const running = new Command(['chat', 'Go on.', '--session', 'long', '--no-tools'], { env, cwd: folder, input: '' });
  await running.until('Never');
  assert.match(await says(['cancel', 'long']), /is aborted/);
  gate.open();
  assert.equal(await running.ended, 1);
  assert.match(running.err, /turn_aborted/);
});

test('a list of sessions that is cut says so, where nobody has named its length', async () => {
  const entry = (at) => ({ SessionId: `s-${at}`, Title: 'Hi', CreatedAt: '2026-01-01T00:00:00Z', ActiveAt: '2026-01-01T00:00:00Z', ModeDisplayName: 'M', Status: 'idle', Turns: 1, Tokens: 1 });
  let held = 50;
  const listing = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ Successful: true, Result: { Sessions: Array.from({ length: held }, (_, at) => entry(at)) }, Errors: [], Warnings: [] }));
  });
  await new Promise((listens) => listing.listen(0, '127.0.0.1', listens));
  const told = async (...args) => {
    const { out, err } = await run(['sessions', '--user', 'alice', ...args], { env: { ...env, APTIX_URL: `http://127.0.0.1:${listing.address().port}` } });
    return [out.trimEnd().split('\n').length, err];
  };
  assert.deepEqual(await told(), [50, '']);
  held = 51;
  assert.deepEqual(await told(), [50, 'There are more than these 50: --limit names another number.\n']);
  assert.deepEqual(await told('--limit', '7'), [7, '']);
  listing.close();
});

test('a chat goes on with a newer ticket of its user', async () => {
  const newTicket = async (user = 'dora') => ({ env: { ...env, APTIX_KEY: (await says(['ticket', '--for', user])).trim() } });
  rig.model.script(answer(text('One.')));
  await says(['chat', 'One', '--no-tools', '--session', 'of-dora'], await newTicket());
  rig.model.script(answer(text('Two.')));
  await says(['chat', 'Two', '--no-tools', '--continue'], await newTicket());
  assert.equal(JSON.parse(await says(['turns', 'of-dora', '--json'], await newTicket())).Turns.length, 2);
  // Another user has a newest session of their own.
  rig.model.script(answer(text('One.')));
  const { err } = await run(['chat', 'One', '--no-tools', '--continue'], await newTicket('erwin'));
  assert.doesNotMatch(err, /of-dora/);
});

test('a back end lists and erases users, and mints tickets that a command takes for a key', async () => {
  rig.model.script(answer(text('Hi.')));
  await says(['chat', 'The first words', '--user', 'alice', '--session', 'of-alice', '--no-tools']);
  await eventually(async () => /of-alice/.test(await says(['sessions', '--user', 'alice'])), 'the list has the session');
  assert.match(await says(['sessions', '--user', 'alice']), /^of-alice {2}idle {2}1 turns {2}.* The first words\n$/);
  const { code, out, err } = await run(['ticket', '--for', 'alice', '--expires', '60', '--sessions', 'of-alice']);
  assert.deepEqual([code, /^apt1\.\S+\n$/.test(out), /for alice/.test(err)], [0, true, true]);
  const withTicket = { env: { ...env, APTIX_KEY: out.trim() } };
  assert.match(await says(['turns', 'of-alice'], withTicket), /completed/);
  // A ticket that makes a narrower one needs no name; a key does.
  assert.equal(JSON.parse(await says(['ticket', '--operations', 'Read', '--json'], withTicket)).User, 'alice');
  for (const seconds of ['5', '7200']) {
    const late = await run(['ticket', '--for', 'alice', '--expires', seconds]);
    assert.deepEqual([late.code, late.err], [2, '--expires is a whole number from 10 to 3600.\n']);
  }
  const nameless = await run(['ticket']);
  assert.deepEqual([nameless.code, /^missing_field: .*User/.test(nameless.err)], [1, true], nameless.err);
  await says(['erase', '--of-user', 'alice', '--yes']);
  assert.equal((await run(['erase', '--of-user', 'alice', '--yes'])).code, 1);
});

test('an erasure of a user in which sessions fail each time comes to an end, and says what is left', async () => {
  const Sessions = { Erased: 1, Pending: 2, Failed: 2 };
  let asked = 0;
  const failing = createServer((_, response) => {
    asked += 1;
    response.writeHead(200, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ Successful: true, Result: { User: 'alice', Sessions }, Errors: [], Warnings: [] }));
  });
  await new Promise((listens) => failing.listen(0, '127.0.0.1', listens));
  const { code, out, err } = await run(['erase', '--of-user', 'alice', '--yes'], { env: { ...env, APTIX_URL: `http://127.0.0.1:${failing.address().port}` } });
  failing.close();
  assert.deepEqual([code, asked, /"Failed":2/.test(out), /Not erased yet: 2/.test(err)], [5, 10, true, true], err);
});

test('wrong usage, a service that is not there, and a key that does not hold are told by exit codes', async () => {
  for (const args of [[], ['nothing'], ['turns'], ['turns', 'a', 'b'], ['search', 'x'], ['chat', '--key', 'k'], ['sync', 'nowhere', '--workspace', 'w'], ['turns', 'x', '--nope'], ['turns', 'x', '--url', 'localhost:1']]) {
    assert.equal((await run(args)).code, 2, args.join(' '));
  }
  // An address may have a password, which no words show.
  for (const url of ['ftp://ann:secret@x', 'ann:secret@x', 'http://ann:secret@127.0.0.1:9', 'https://ann:secret@x:port', 'https:///ann:secret@x']) {
    for (const args of [['turns', 'x'], ['login'], ['turns', 'x', '--json']]) {
      const named = await run(args, { env: { ...env, APTIX_URL: url } });
      assert.deepEqual([named.code, /no user and no password/.test(named.err), /secret/.test(named.err)], [2, true, false], named.err);
    }
  }
  assert.match((await run(['chat', '--api-key=k'])).err, /APTIX_KEY/);
  const odd = await run(['turns', 'x'], { env: { ...env, APTIX_KEY: 'secret\nkey' } });
  assert.deepEqual([odd.code, /APTIX_KEY/.test(odd.err), /secret/.test(odd.err)], [2, true, false], odd.err);
  const away = await run(['turns', 'x', '--url', 'http://127.0.0.1:9']);
  assert.deepEqual([away.code, /cannot be reached/.test(away.err)], [3, true]);
  const wrong = await run(['turns', 'x'], { env: { ...env, APTIX_KEY: 'wrong' } });
  assert.deepEqual([wrong.code, /^unauthenticated: .*\n.*aptix-edge login/.test(wrong.err)], [1, true]);
  const nowhere = await run(['turns', 'x', '--url', 'https://no-such-host.invalid']);
  assert.deepEqual([nowhere.code, /^The connection was lost: fetch failed \(.*(ENOTFOUND|EAI_AGAIN).*no-such-host.*\)\.\nhttps:/.test(nowhere.err)], [3, true], nowhere.err);
  assert.match((await run(['sessions'])).err, /--user/);
  assert.match(await says(['--help']), /aptix-edge COMMAND/);
  // Whoever leaves it out permits every one of them.
  assert.match(await says(['ticket', '--help']), /--contexts … +those with which a session may begin; all\n/);
  for (const name of ['chat', 'sync', 'ticket']) assert.match(await says([name, '--help']), new RegExp(`aptix-edge ${name}`));
  const version = `${JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version}\n`;
  for (const args of [['--version'], ['--json', '--version'], ['turns', 'x', '--version'], ['erase', 'x', '--yes', '--version']]) assert.equal(await says(args), version, args.join(' '));
});

test('a key is kept in the keychain of the system', { skip: process.platform !== 'linux' }, async () => {
  // Stands for libsecret's program: it keeps what it is given on its standard input.
  const programs = path.join(folder, 'programs');
  mkdirSync(programs);
  const program = path.join(programs, 'secret-tool');
  writeFileSync(program, `#!/bin/sh\nfile="${folder}/kept-key"\nprintf '%s\\n' "$*" >> "${folder}/arguments"\ncase $1 in store) cat > "$file";; lookup) cat "$file" 2>/dev/null;; clear) rm "$file";; esac\n`);
  chmodSync(program, 0o755);
  const { APTIX_KEY, ...rest } = env;
  const kept = { ...rest, PATH: `${programs}:${process.env.PATH}` };
  assert.equal((await run(['turns', 'x'], { env: kept })).code, 1);
  await says(['login'], { env: kept, input: `${KEY}\n` });
  const { err } = await run(['turns', 'x'], { env: kept });
  assert.match(err, /^session_not_found/);
  await says(['logout'], { env: kept });
  assert.match((await run(['turns', 'x'], { env: kept })).err, /^unauthenticated/);
  assert.ok(!readFileSync(path.join(folder, 'arguments'), 'utf8').includes(KEY), 'a key was an argument');
  assert.equal((await run(['login'], { env: { ...rest, PATH: '/nowhere' }, input: 'k\n' })).code, 2);
});
