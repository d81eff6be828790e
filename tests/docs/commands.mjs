// What can be said of a command without running it: it is a shell's, the make target and its variables exist, wrangler
// knows the subcommand and its options. Owns the reading of a script as commands.
import { execFile } from 'node:child_process';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { ROOT } from './pages.mjs';

/** What a reader's machine has. */
const PROGRAMS = ['apt-get', 'brew', 'cat', 'cd', 'chmod', 'curl', 'cut', 'date', 'echo', 'export', 'git', 'grep', 'mkdir', 'node', 'npm', 'openssl', 'printf', 'sed', 'sh', 'tar', 'test', 'tr'];

const MAKEFILE = readFileSync(path.join(ROOT, 'Makefile'), 'utf8');
/** Where the variables of commands are read. */
const READERS = [MAKEFILE, ...['tools/dev', 'tests/bench', 'tests/fakes/mcp_servers', 'tests/retrieval/bench'].flatMap(texts)];

/** What is wrong with a script, as lines; none when nothing is. */
export async function problemsOf(script) {
  // What a here-document holds is written to a file.
  script = script.replace(/<<'(\w+)'\n[^]*?\n\1$/gm, '');
  const problems = await promisify(execFile)('bash', ['-n', '-c', script]).then(() => [], ({ stderr }) => [stderr.trim()]);
  const own = [...script.matchAll(/^([\w-]+)\(\) *\{/gm)].map(([, name]) => name);
  for (const words of commandsOf(script)) problems.push(...(await problemsOfCommand(words, own)));
  return problems;
}

async function problemsOfCommand(words, own) {
  const first = words.findIndex((word) => !/^\w+=/.test(word));
  const variables = (first < 0 ? words : words.slice(0, first)).map((word) => word.split('=')[0]);
  const [program, ...more] = first < 0 ? [] : words.slice(first);
  if (program === undefined || own.includes(program)) return [];
  if (['sudo', 'do'].includes(program)) return problemsOfCommand(more, own);
  if (['for', 'done'].includes(program)) return [];
  if (program === 'make') return problemsOfMake(more, variables);
  if (program === 'npx' && ['node', 'esbuild'].includes(more[0])) return [];
  if (program === 'npx' && more[0] === 'wrangler') return problemsOfWrangler(more.slice(1));
  if (program === 'wrangler') return problemsOfWrangler(more);
  if (program === 'aptix-edge') return problemsOfCommandLine(more);
  if (program === 'aptix-edge-server') return problemsOfServer(more);
  const isHere = program.includes('/') && existsSync(path.join(ROOT, program));
  return isHere || PROGRAMS.includes(program) ? [] : [`${program} is no program that a reader is told of`];
}

function problemsOfMake(words, variables) {
  const targets = words.filter((word) => !word.includes('='));
  const set = [...variables, ...words.filter((word) => word.includes('=')).map((word) => word.split('=')[0])];
  return [
    ...targets.filter((target) => !new RegExp(`^${target}:`, 'm').test(MAKEFILE)).map((target) => `make has no target ${target}`),
    ...set.filter((name) => !READERS.some((text) => new RegExp(`\\b${name}\\b`).test(text))).map((name) => `nothing reads ${name}`),
  ];
}

const COMMAND_LINE = path.join(ROOT, 'clients/typescript/dist/cli.js');
/** Its commands and their options, as its help has them. */
const problemsOfCommandLine = async ([name, ...words]) => {
  const { stdout } = await promisify(execFile)(process.execPath, [COMMAND_LINE, name, '--help']).catch(() => ({ stdout: '' }));
  const unknown = words.filter((word) => word.startsWith('--') && !stdout.includes(word.split('=')[0]));
  return stdout === '' ? [`aptix-edge has no command ${name}`] : unknown.map((word) => `aptix-edge ${name} has no option ${word}`);
};

/** The commands of the package that serves. */
export const SERVER = path.join(ROOT, 'build-server/dist/cli.mjs');
/** What is wrong with one of them, by its help. */
async function problemsOfServer([name, ...words]) {
  const { stdout } = await promisify(execFile)(process.execPath, [SERVER, 'help']);
  const options = words.filter((word) => word.startsWith('--')).map((word) => word.split('=')[0]);
  const unknown = [new RegExp(`^ *(?:aptix-edge-server )?${name}\\b`, 'm').test(stdout) ? [] : [name], options.filter((option) => !stdout.includes(option))].flat();
  return unknown.map((word) => `aptix-edge-server has no ${word}`);
}

let wrangler;
/** wrangler's commands as wrangler itself declares them. */
async function wranglerCommands() {
  const { default: api } = await (wrangler ??= import('wrangler'));
  return api.experimental_getWranglerCommands();
}

async function problemsOfWrangler(words) {
  const { registry, globalFlags } = await wranglerCommands();
  let [node, depth] = [registry, 0];
  while (node.subtree.has(words[depth])) node = node.subtree.get(words[depth++]);
  const command = words.slice(0, depth).join(' ');
  if (node.definition?.type !== 'command') return [`wrangler has no command ${words.slice(0, depth + 1).join(' ')}`];
  const { args = {}, positionalArgs = [] } = node.definition;
  const [unknown, values] = [[], []];
  for (let at = depth; at < words.length; at += 1) {
    const [, name, value] = /^--([\w-]+)(=.*)?$/.exec(words[at]) ?? [];
    const option = args[name] ?? globalFlags[name];
    if (name === undefined) values.push(words[at]);
    else if (option === undefined) unknown.push(`wrangler ${command} has no option --${name}`);
    else if (option.type !== 'boolean' && value === undefined) at += 1;
  }
  if (values.length > positionalArgs.length) unknown.push(`wrangler ${command} takes ${positionalArgs.length} values, not ${values.join(' ')}`);
  return unknown;
}

/** The commands of a script, each as its words. Those within `$(…)` are commands, too; redirections are left out. */
export function commandsOf(script) {
  const commands = [];
  let [words, word, isWord] = [[], '', false];
  const endWord = () => {
    if (isWord) words.push(word);
    [word, isWord] = ['', false];
  };
  const endCommand = () => {
    endWord();
    const plain = words.flatMap((each, at) => (/^\d?[<>]/.test(each) || /^\d?[<>]+$/.test(words[at - 1] ?? '') ? [] : [each]));
    if (plain.length > 0) commands.push(plain);
    words = [];
  };
  for (let at = 0; at < script.length; at += 1) {
    const rest = script.slice(at);
    const [quoted] = /^'[^']*'/.exec(rest) ?? [];
    if (quoted !== undefined) {
      [word, isWord] = [word + quoted.slice(1, -1), true];
      at += quoted.length - 1;
    } else if (rest.startsWith('\\\n')) at += 1;
    else if (rest.startsWith('\\')) [word, isWord, at] = [word + script[at + 1], true, at + 1];
    else if (rest.startsWith('$(')) {
      const inner = within(rest.slice(2));
      commands.push(...commandsOf(inner));
      [word, isWord] = [`${word}$()`, true];
      at += inner.length + 2;
    } else if (rest[0] === '"') isWord = true;
    else if (/^#/.test(rest) && !isWord) at += rest.search(/\n|$/) - 1;
    else if (/^[|&;(){}\n]/.test(rest) && !inQuotes(script, at)) endCommand();
    else if (/^\s/.test(rest) && !inQuotes(script, at)) endWord();
    else [word, isWord] = [word + script[at], true];
  }
  endCommand();
  return commands;
}

/** Whether a place of a script lies between double quotes. */
function inQuotes(script, place) {
  const before = script.slice(0, place).replace(/\\./gs, '').replace(/'[^']*'/g, '');
  return before.replace(/\$\([^()]*\)/g, '').split('"').length % 2 === 0;
}

/** The text up to the parenthesis that closes what stands before it. */
function within(text) {
  let depth = 1;
  for (let at = 0; at < text.length; at += 1) {
    const [quoted] = /^'[^']*'/.exec(text.slice(at)) ?? [];
    if (quoted !== undefined) at += quoted.length - 1;
    else if (text[at] === '(') depth += 1;
    else if (text[at] === ')' && (depth -= 1) === 0) return text.slice(0, at);
  }
  return text;
}

/** The texts of the files below a folder. */
function texts(folder) {
  const files = readdirSync(path.join(ROOT, folder), { recursive: true, withFileTypes: true });
  return files.filter((file) => file.isFile() && !file.parentPath.includes('node_modules')).map((file) => readFileSync(path.join(file.parentPath, file.name), 'utf8'));
}
