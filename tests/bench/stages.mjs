// Where a turn's processor time goes: until its request reaches the model service, from there to the first delta, and from
// there to the end, each of 32 streamed turns at once. `node tests/bench/stages.mjs` measures follow-ups, FRESH=1 first
// turns of sessions; contenders and variables are those of `make bench`.
//
// The model service waits at both places until all 32 turns are there, so that the stages of no two turns overlap.
import http from 'node:http';
import { frame, newResponse, responseEvents, text } from '../fakes/model_service/response_stream.mjs';
import { CONTENDERS } from './contenders.mjs';
import { median } from './figures.mjs';
import { Running } from './running.mjs';

const AT_ONCE = 32;
const ROUNDS = Number(process.env.ROUNDS ?? 20);
const FRESH = Boolean(process.env.FRESH);
/** Rounds before those that count. */
const WARM_UP = 8;
const AFTERMATH_MS = 40;
const USAGE = {
  input_tokens: 1, input_tokens_details: { cached_tokens: 0 },
  output_tokens: 2, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 3,
};

/** The exchanges that wait for the model service's reply, and who waits for all of them. */
const asked = { exchanges: [], all: null };
const service = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += chunk));
  request.on('end', () => {
    asked.exchanges.push({ response, body: JSON.parse(body) });
    if (asked.exchanges.length === AT_ONCE) asked.all.resolve();
  });
});
await new Promise((resolve) => service.listen(0, '127.0.0.1', resolve));
const modelUrl = `http://127.0.0.1:${service.address().port}/v1`;
const agent = new http.Agent({ keepAlive: true, noDelay: true, timeout: 3_000 });

let serial = 0;
const contenders = [];
for (const described of CONTENDERS) contenders.push(await Running.start(described, modelUrl));
const seen = new Map(contenders.map(({ name }) => [name, []]));
for (let round = -WARM_UP; round < ROUNDS; round += 1) {
  for (const contender of contenders) {
    const stages = await measured(contender);
    if (round >= 0) seen.get(contender.name).push(stages);
  }
}
console.log(`processor time of a ${FRESH ? "session's first" : 'follow-up'} turn, ${AT_ONCE} streams at once, ms`);
for (const [name, rounds] of seen) {
  const [toModel, toDelta, toEnd] = [0, 1, 2].map((stage) => (median(rounds.map((stages) => stages[stage])) / AT_ONCE).toFixed(2));
  console.log(`${name.padEnd(12)} to the model service ${toModel}, to the first delta ${toDelta}, to the end ${toEnd}`);
}
for (const contender of contenders) await contender.dispose();
process.exit();

/** The processor time of each stage, of all turns together, in ms. */
async function measured(contender) {
  Object.assign(asked, { exchanges: [], all: Promise.withResolvers() });
  const costs = [contender.cpuMs];
  const turns = Array.from({ length: AT_ONCE }, (_, number) => turn(contender, number));
  await asked.all.promise;
  costs.push(contender.cpuMs);
  const replies = asked.exchanges.map(begun);
  await Promise.all(turns.map(({ first }) => first));
  costs.push(contender.cpuMs);
  for (const { response, rest } of replies) {
    for (const text of rest) response.write(text);
    response.end();
  }
  await Promise.all(turns.map(({ end }) => end));
  await new Promise((resolve) => setTimeout(resolve, AFTERMATH_MS));
  costs.push(contender.cpuMs);
  return costs.slice(1).map((cost, stage) => cost - costs[stage]);
}

/** Sends the events to the first delta; resolves to what is left of the reply. */
function begun({ response, body }) {
  const events = [...responseEvents(newResponse(body), [text('one', ' two')], { ending: { status: 'completed' }, usage: USAGE })];
  const first = events.findIndex(({ type }) => type === 'response.output_text.delta') + 1;
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  for (const event of events.slice(0, first)) response.write(frame(event));
  return { response, rest: events.slice(first).map((event) => frame(event)) };
}

/** `{first, end}`: promises of the first delta and of the end. */
function turn(contender, number) {
  serial += 1;
  const sent = Buffer.from(JSON.stringify({
    SessionId: FRESH ? `fresh-${serial}` : `stage-${number}`,
    TurnId: `turn-${serial}`,
    Instruction: 'Say what is known, and nothing else.',
    Streaming: true,
  }));
  const [first, end] = [Promise.withResolvers(), Promise.withResolvers()];
  const headers = { 'content-type': 'application/json', 'content-length': sent.length };
  const request = http.request(contender.url, { method: 'POST', agent, headers }, (response) => {
    let heard = '';
    response.on('data', (chunk) => {
      heard += chunk;
      if (heard.includes('output_text.delta')) first.resolve();
    });
    response.on('end', end.resolve);
  });
  for (const awaited of [first, end]) request.on('error', awaited.reject);
  request.end(sent);
  return { first: first.promise, end: end.promise };
}
