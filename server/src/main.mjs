// aptix-edge-server: which command is meant, with which options. Each command's own file does the work.
import { parseArgs } from 'node:util';
import { backup } from './backup.mjs';
import { check } from './check.mjs';
import { configuration, nothing, suggestion } from './configuration.mjs';
import { deploy, writeConfiguration } from './deploy.mjs';
import { dev } from './dev.mjs';
import { Fault, toldOf } from './fault.mjs';
import { seen } from './online/report.mjs';
import { PRODUCT } from './package_files.mjs';
import { rehearse } from './rehearse.mjs';
import { restore } from './restore.mjs';
import { serve } from './serve.mjs';
import { SIGNALS } from './signals.mjs';
import { verify } from './verify.mjs';

const NAME = 'aptix-edge-server';
/** The exit code of a command that was not understood. */
const MISUSED = 2;
/** How long a service that has ended waits for the reader of its output, in ms. */
const LAST_WORDS_MS = 2000;

// Where nobody reads what is told, as behind `2>&1 | head`, a command goes on: its runtime would outlive it.
process.stderr.on('error', () => {});

const text = { type: 'string' };
const flag = { type: 'boolean' };
const CONFIGURED = { config: text, env: text };
const settingsOf = ({ config, env }) => {
  if (config === undefined && env !== undefined) throw new Fault('--env names an environment of a configuration: --config FILE', MISUSED);
  return config === undefined ? nothing() : configuration(config, env);
};

/** `server.wrangler.toml` beside `server.json`; of an environment, `server.staging.wrangler.toml`. */
const wranglerFileOf = ({ config, env }) => `${config.replace(/\.json$/, '')}${env === undefined ? '' : `.${env}`}.wrangler.toml`;

const COMMANDS = {
  dev: {
    usage: 'dev [--port 8787] [--catalog FILE] [--data DIR]',
    does: 'serves for local work; without a key, with a stand-in for the model service',
    options: { port: text, catalog: text, data: text },
    run: ({ port = '8787', catalog, data }) => dev({ port: portOf(port), catalog, data, say }),
  },
  serve: {
    usage: 'serve --data DIR [--config FILE [--env NAME]] [--listen 127.0.0.1:8787] [--drain 10s]',
    does: 'serves from a folder of this machine until a signal ends it',
    options: { ...CONFIGURED, data: text, listen: text, drain: text },
    run: ({ data, listen = '127.0.0.1:8787', drain = '10s', ...values }) =>
      serve({ settings: settingsOf(values), data: required({ data }), address: addressOf(listen), drainMs: durationOf(drain), tell }),
  },
  check: {
    usage: 'check CATALOG [--config FILE [--env NAME]] [--online]',
    does: 'tells every fault of a catalog; --online also asks its model services, embeddings and MCP servers what suits them',
    options: { ...CONFIGURED, online: flag },
    takes: ['CATALOG'],
    run: ({ online = false, ...values }, [catalog]) => check({ catalog, settings: values.config === undefined ? undefined : settingsOf(values), online, print }),
  },
  rehearse: {
    usage: 'rehearse EXPORT… [--catalog FILE] [--context ID] [--baseline 1|FILE] [--judge COMMAND] [--times 1] [--max-drift 0.1] [--min-score 0.8] [--junit FILE] [--json FILE] [--config FILE [--env NAME]]',
    does: 'runs recorded sessions again under another catalog or context, with the real model service and no other',
    options: { ...CONFIGURED, catalog: text, context: text, baseline: text, judge: text, times: text, 'max-drift': text, 'min-score': text, junit: text, json: text },
    takes: ['EXPORT…'],
    run: ({ times = '1', 'max-drift': maxDrift, 'min-score': minScore, config, env, ...values }, paths) =>
      rehearse({
        ...values,
        paths,
        configured: () => settingsOf({ config, env }),
        environment: config === undefined ? process.env : {},
        times: wholeOf('--times', times),
        maxDrift: shareOf('--max-drift', maxDrift),
        minScore: shareOf('--min-score', minScore),
        print,
      }),
  },
  backup: {
    usage: 'backup --data DIR --to FILE',
    does: 'writes all that a server keeps into one file, also while it serves',
    options: { data: text, to: text },
    run: async ({ data, to }) => print(await backup(required({ data }), required({ to }))),
  },
  restore: {
    usage: 'restore --from FILE --data DIR',
    does: 'puts a backup into an empty folder',
    options: { from: text, data: text },
    run: async ({ from, data }) => verified(await restore(required({ from }), required({ data }))),
  },
  verify: {
    usage: 'verify DIR',
    does: 'opens every object of a folder: whether it is whole, its form, how many there are',
    options: {},
    takes: ['DIR'],
    run: async (_, [data]) => verified(verify(data)),
  },
  config: {
    usage: 'config --config FILE [--env NAME] --to DIR',
    does: 'writes the wrangler.toml that deploy takes, and the config.capnp that serve takes, to look at',
    options: { ...CONFIGURED, to: text },
    run: async ({ to, ...values }) => print((await writeConfiguration(configuration(required(values, 'config'), values.env), required({ to }))).join('\n')),
  },
  deploy: {
    usage: 'deploy --config FILE [--env NAME] [--dry-run]',
    does: "uploads the service to Cloudflare by the wrangler that is installed, and writes FILE.wrangler.toml for wrangler's other commands",
    options: { ...CONFIGURED, 'dry-run': flag },
    run: ({ 'dry-run': dryRun = false, ...values }) => {
      const settings = configuration(required(values, 'config'), values.env);
      return deploy({ settings, wranglerFile: wranglerFileOf(values), dryRun, print });
    },
  },
};

process.exitCode = await main(process.argv.slice(2));
// Services for local work would go on. What was written goes out first, to whoever reads it slowly. A signal ends that, too, and
// a service that one has ended does not wait for a reader who stands still.
for (const name of SIGNALS) process.removeAllListeners(name);
if (['dev', 'serve'].includes(process.argv[2])) setTimeout(() => process.exit(), LAST_WORDS_MS);
process.stdout.write('', () => process.exit());

async function main([name, ...rest]) {
  if (name === '--version') return print(`${NAME} ${PRODUCT.version} (${PRODUCT.commit})`);
  if (name === undefined || name === 'help' || name === '--help' || name === '-h') return print(help());
  try {
    const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
    if (!command) throw new Fault(`there is no command ${name}${suggestion(name, Object.keys(COMMANDS))}`, MISUSED);
    const { takes = [] } = command;
    const { values, positionals } = argumentsOf(command, rest);
    if (values.help) return print(`${NAME} ${command.usage}\n  ${command.does}`);
    const isMany = takes.at(-1)?.endsWith('…') && positionals.length > takes.length;
    if (positionals.length !== takes.length && !isMany) throw new Fault(`usage: ${NAME} ${command.usage}`, MISUSED);
    return (await command.run(values, positionals)) ?? 0;
  } catch (fault) {
    console.error(seen(`${NAME}: ${toldOf(fault)}`));
    return fault instanceof Fault ? fault.code : 1;
  }
}

function argumentsOf({ options, usage }, args) {
  try {
    return parseArgs({ args, options: { ...options, help: flag }, allowPositionals: true });
  } catch (error) {
    throw new Fault(`${error.message.split('. ')[0]}\nusage: ${NAME} ${usage}`, MISUSED);
  }
}

function required(values, name = Object.keys(values)[0]) {
  // An empty one, as of a variable that is not set, would be the current folder.
  if (!values[name]) throw new Fault(`--${name} is missing`, MISUSED);
  return values[name];
}

function portOf(given) {
  const port = Number(given);
  if (!Number.isInteger(port) || port < 1 || port > 65535) throw new Fault(`--port ${given} is no port; take 1 to 65535`, MISUSED);
  return port;
}

function addressOf(given) {
  const [, , port] = /^(\[[0-9A-Fa-f:.]+\]|[\w.*-]+):(\d{1,5})$/.exec(given) ?? [];
  if (!(port <= 65535)) throw new Fault(`--listen ${given} is no address, such as 127.0.0.1:8787`, MISUSED);
  return given;
}

function durationOf(given) {
  const [, count, unit] = /^(\d+(?:\.\d+)?)(ms|s|m)$/.exec(given) ?? [];
  if (count === undefined) throw new Fault(`--drain ${given} is no time, such as 10s`, MISUSED);
  return Number(count) * { ms: 1, s: 1000, m: 60_000 }[unit];
}

function wholeOf(option, given) {
  const count = Number(given);
  if (!Number.isInteger(count) || count < 1) throw new Fault(`${option} ${given} is no whole number above 0`, MISUSED);
  return count;
}

function shareOf(option, given) {
  if (given === undefined) return undefined;
  const share = Number(given);
  if (given.trim() === '' || !(share >= 0 && share <= 1)) throw new Fault(`${option} ${given} is no number from 0 to 1`, MISUSED);
  return share;
}

/** A line of the service's log. */
function tell(event) {
  const line = JSON.stringify({ ...event });
  if (event.level === 'info') console.log(line);
  else console.error(line);
}

function say(line) {
  console.log(`${NAME}: ${line}`);
}

/** Names and words in it are others', such as those of an export or of an archive. */
function print(lines) {
  console.log(seen(lines));
  return 0;
}

/** What a folder has, and what is wrong with it. */
function verified({ lines, faults }) {
  print([...lines, ...faults].join('\n'));
  return faults.length > 0 ? 1 : 0;
}

function help() {
  const commands = Object.values(COMMANDS).map(({ usage, does }) => `  ${usage}\n      ${does}`);
  return `usage: ${NAME} COMMAND\n\n${commands.join('\n')}`;
}
