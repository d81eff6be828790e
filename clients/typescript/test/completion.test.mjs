// What the command line says of its options, in its help and to shells.
import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const PROGRAM = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const said = (...args) => execFileSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
const COMMANDS = ['chat', 'sync', 'search', 'sessions', 'turns', 'fork', 'watch', 'trace', 'export', 'cancel', 'erase', 'ticket', 'login', 'logout', 'completion'];

test('the help of a command says what each option means, and what holds without it', () => {
  const help = said('help', 'sync');
  assert.match(help, /^ {2}--max-bytes … +the longest file, in bytes; 2097152$/m);
  assert.match(help, /^ {2}--url … +the service; APTIX_URL, else http:\/\/127\.0\.0\.1:8787$/m);
  for (const name of COMMANDS) {
    const [options, usage] = [[...said('help', name).matchAll(/^ {2}(--[\w-]+)/gm)].map(([, option]) => option), said('help', name).split('\n')[2]];
    const own = options.filter((option) => !['--url', '--user', '--json', '--help', '--version'].includes(option));
    assert.deepEqual(own.filter((option) => !usage.includes(option) && !['--context', '--query'].includes(option)), [], name);
  }
});

const has = (shell) => spawnSync(shell, ['--version']).status === 0;
/** What bash offers for the words of a line. */
function offered(...words) {
  const script = `${said('completion', 'bash')}\nCOMP_WORDS=(${words.map((word) => `'${word}'`).join(' ')}); COMP_CWORD=${words.length - 1}; _aptix_edge; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', script], { encoding: 'utf8' }).split('\n').filter(Boolean);
}

test('bash completes commands, their options, and files', () => {
  assert.deepEqual(offered('aptix-edge', 's'), ['sync', 'search', 'sessions']);
  assert.deepEqual(offered('aptix-edge', 'sync', '--w'), ['--workspace', '--watch']);
  assert.deepEqual(offered('aptix-edge', 'sync', 'do'), [], 'a folder is the shell\'s own matter');
  assert.deepEqual(offered('aptix-edge', 'help', 'tr'), ['trace']);
  assert.deepEqual(offered('aptix-edge', '--json', 'sync', '--w'), ['--workspace', '--watch']);
  assert.deepEqual(offered('aptix-edge', 'sessions', '--status', 'a'), ['awaiting_tools', 'awaiting_approval']);
  assert.deepEqual(offered('aptix-edge', 'completion', ''), ['bash', 'zsh', 'fish']);
});

for (const shell of ['zsh', 'fish']) {
  test(`${shell} takes its completion, which names every command and option`, (t) => {
    const script = said('completion', shell);
    for (const name of COMMANDS) assert.match(script, new RegExp(`[ (']${name}[ :]`), name);
    assert.match(script, shell === 'fish' ? /-l max-bytes -r -d 'the longest file/ : /'--max-bytes:the longest file/);
    if (!has(shell)) return t.diagnostic(`${shell} is not here: its grammar was not asked`);
    const folder = mkdtempSync(path.join(os.tmpdir(), 'aptix-edge-completion-'));
    try {
      writeFileSync(path.join(folder, 'script'), script);
      execFileSync(shell, ['-n', path.join(folder, 'script')]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });
}

test('whoever misspells a command or an option is told what was meant, and the help says how to begin', () => {
  const told = (...args) => spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8' });
  for (const args of [['chta'], ['help', 'chatt']]) {
    const { status, stderr } = told(...args);
    assert.equal(status, 2);
    assert.match(stderr, /^There is no command \w+\. Did you mean chat\? Commands: chat, /);
  }
  assert.doesNotMatch(told('bicycle').stderr, /Did you mean/);
  assert.match(told('sync', '.', '--dry-rn').stderr, /^There is no option --dry-rn here\. Did you mean --dry-run\?\nUsage: aptix-edge sync /);
  assert.match(told('--help').stdout, /^aptix-edge COMMAND: .*\nTo begin, "aptix-edge dev" serves/);
});

test('options of every command may stand before it, and what is wrong of options is wrong usage, named', () => {
  const told = (...args) => {
    const { status, stdout, stderr } = spawnSync(process.execPath, [PROGRAM, ...args], { encoding: 'utf8', env: { PATH: process.env.PATH, APTIX_URL: 'http://127.0.0.1:9' } });
    return `${status} ${stdout}${stderr}`;
  };
  assert.match(told('--url', 'http://127.0.0.1:7', 'turns', 'wk'), /^3 [^]*http:\/\/127\.0\.0\.1:7 cannot be reached/);
  assert.match(told('--user=ann', '--json', 'turns', 'wk'), /^3 \{"error":/);
  assert.match(told('--folder', '.', 'chat'), /^2 A command comes before --folder\./);
  assert.match(told('help', 'help'), /^0 aptix-edge COMMAND:/);
  const wrong = {
    'chat hi --folder /nope': /\/nope is no folder that can be read/,
    [`chat hi --folder ${PROGRAM}`]: /is no folder that can be read/,
    'chat hi --continue --session x': /--continue and --session exclude each other/,
    'chat hi --folder . --no-tools': /--no-tools and --folder exclude each other/,
    'sessions --status foo': /--status foo is none of running, awaiting_tools, awaiting_approval, idle, failed\./,
    'ticket --user ann': /--for names the user of a ticket/,
  };
  for (const [line, why] of Object.entries(wrong)) assert.match(told(...line.split(' ')), new RegExp(`^2 ${why.source}`.replace('2 is no', '2 .*is no')), line);
});

test('a shell that is not known is refused with those that are', () => {
  const { status, stderr } = spawnSync(process.execPath, [PROGRAM, 'completion', 'csh'], { encoding: 'utf8' });
  assert.equal(status, 2);
  assert.match(stderr, /There is no completion for csh\. Shells: bash, zsh, fish\./);
});
