// The stand-in for the model service as a command: a development server for work without a key.
//
//   node tools/dev/stand_in/server.mjs [--port 8788] [--word-ms 12] [--window-tokens 32000] [--memory full]
//
// `--port 0` takes any free port. `--word-ms` is the pause before each word, in milliseconds. `--memory none` is a
// gateway that stores nothing and ignores `previous_response_id`, `--memory refuses` one that does not know the member.
import { parseArgs } from 'node:util';
import { MEMORIES, standIn } from './service.mjs';

async function main() {
  const { values } = parseArgs({
    options: {
      port: { type: 'string', default: '8788' },
      'word-ms': { type: 'string', default: '12' },
      'window-tokens': { type: 'string', default: '32000' },
      memory: { type: 'string', default: 'full' },
    },
  });
  const number = (name, most) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 0 || value > most) {
      throw new Error(`--${name} takes a whole number from 0 to ${most}, not "${values[name]}"`);
    }
    return value;
  };
  if (!MEMORIES.includes(values.memory)) throw new Error(`--memory takes ${MEMORIES.join(', ')}, not "${values.memory}"`);
  const service = await standIn({
    port: number('port', 65535),
    wordMs: number('word-ms', 60_000),
    windowTokens: number('window-tokens', 10_000_000),
    memory: values.memory,
  });
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => service.close());
  console.log(`stand-in for the model service: ${service.url}`);
}

main().catch((fault) => {
  console.error(fault.message);
  process.exitCode = 1;
});
