// The stand-in for the model service: a development server for work without a key.
// Serves `POST /v1/responses` and `DELETE /v1/responses/{id}` as the live API does, refusals included; conversation.mjs
// chooses the output.
//
//   node tests/stand_in/server.mjs [--port 8788] [--word-ms 32]
//
// `--port 0` takes any free port. `--word-ms` is the pause before each word, in milliseconds.
import { setTimeout as pause } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { parseArgs } from 'node:util';
import { Chain } from '../model_service/chain.mjs';
import { answerJson, keyOf, listen, openStream } from '../model_service/http_service.mjs';
import { checkRequest } from '../model_service/request_rules.mjs';
import { frame, newResponse, responseEvents } from '../model_service/response_stream.mjs';
import { reply } from './conversation.mjs';

/** Listens until closed; resolves to `{ url, close }`. */
export function standIn({ port = 0, wordMs = 32 } = {}) {
  const chain = new Chain();
  const take = async (request, response, body) => {
    const owner = keyOf(request);
    checkRequest(body);
    const conversation = chain.conversation(owner, body);
    const answer = newResponse(body);
    const events = responseEvents(answer, reply(body, conversation), { usage: (output) => usageOf(conversation, output) });
    const streamed = body.stream === true;
    if (streamed) openStream(response);
    for (const event of events) {
      if (streamed && event.type === 'response.output_text.delta') await pause(wordMs);
      if (response.destroyed) return;
      // Stored before the last event is sent, so that a follow-up cannot come too soon.
      if (answer.status === 'completed') chain.keep(owner, body, conversation, answer);
      if (streamed) response.write(frame(event));
    }
    if (streamed) response.end();
    else answerJson(response, 200, answer);
  };
  return listen(port, take, (request, id) => chain.remove(keyOf(request), id));
}

/** Estimates tokens at four characters each. */
function usageOf(conversation, output) {
  const tokens = (items) => Math.ceil(JSON.stringify(items).length / 4);
  const [input_tokens, output_tokens] = [tokens(conversation), tokens(output)];
  return {
    input_tokens,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens,
    output_tokens_details: { reasoning_tokens: 0 },
    total_tokens: input_tokens + output_tokens,
  };
}

async function main() {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '8788' }, 'word-ms': { type: 'string', default: '32' } },
  });
  const number = (name, most) => {
    const value = Number(values[name]);
    if (!Number.isInteger(value) || value < 0 || value > most) {
      throw new Error(`--${name} takes a whole number from 0 to ${most}, not "${values[name]}"`);
    }
    return value;
  };
  const service = await standIn({ port: number('port', 65535), wordMs: number('word-ms', 60000) });
  for (const signal of ['SIGTERM', 'SIGINT']) process.once(signal, () => service.close());
  console.log(`stand-in for the model service: ${service.url}`);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  main().catch((fault) => {
    console.error(fault.message);
    process.exitCode = 1;
  });
}
