// The model service of the benchmark: a process of its own that replies to every request with the same stream of
// events, rendered in advance. Owns its speed: a turn must never wait for it, so it speaks HTTP by hand and parses no
// JSON. Its parent sets the response over IPC, `{deltas, gapMs, stamped, framing}`; it sends its port, then `{text}`.
//
// `framing` is how events reach the network, which decides how many of them a reader finds at once:
// - `event`, as from the real service: each is an HTTP chunk that is written by itself, in its own turn of the event
//   loop, so that streams interleave and the kernel gets nothing joined;
// - `burst`: each is an HTTP chunk, but all are written in one turn, so that a reader finds many at once;
// - `joined`: as `event`, with eight events in a chunk.
// Only an `event` response can have a gap between its deltas, or stamps: such deltas carry the time of their write
// instead of words, `[` + 16 digits + `]`, microseconds of the clock that all processes of a machine share.
import net from 'node:net';
import { frame, newId, newResponse, responseEvents, text } from '../fakes/model_service/response_stream.mjs';

const WORDS = ['The', ' answer', ' is', ' known', ',', ' café', ' by', ' café', ':', ' it', ' is', ' 42', '.', '\n'];
const STAMP = '[0000000000000000]';
const HEAD = Buffer.from(
  'HTTP/1.1 200 OK\r\ncontent-type: text/event-stream; charset=utf-8\r\ncache-control: no-cache\r\n' +
    'x-request-id: req_bench\r\ntransfer-encoding: chunked\r\n\r\n',
);
const END = Buffer.from('0\r\n\r\n');
const EVENTS_IN_A_CHUNK = { event: 1, burst: 1, joined: 8 };
const ROUTE = Buffer.from('POST /v1/responses ');
const REFUSAL = Buffer.from('HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n');
/** The live API repeats instructions and tools in the events that show the whole response. */
const REQUEST = {
  model: 'bench-model',
  instructions: 'Answer briefly.',
  tools: ['first_tool', 'second_tool'].map((name) => ({
    type: 'function',
    name,
    description: 'A tool of the benchmark.',
    parameters: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
    strict: false,
  })),
};

let answer;
let served = 0;

process.on('message', (plan) => {
  answer = { ...plan, ...rendered(plan) };
  process.send({ text: plan.stamped ? null : answer.text });
});
process.on('disconnect', () => process.exit());

const server = net.createServer((socket) => {
  socket.setNoDelay(true);
  socket.on('error', () => socket.destroy());
  let held = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    held = held.length === 0 ? bytes : Buffer.concat([held, bytes]);
    const head = held.indexOf('\r\n\r\n');
    if (head < 0) return;
    const [, length = '0'] = /\r\ncontent-length: *(\d+)/i.exec(held.toString('latin1', 0, head)) ?? [];
    const end = head + 4 + Number(length);
    if (held.length < end) return;
    const known = held.subarray(0, ROUTE.length).equals(ROUTE);
    held = held.subarray(end);
    if (known) send(socket, answer);
    else socket.end(REFUSAL);
  });
});
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }));

function send(socket, { parts, gapMs, framing }) {
  const stamps = [];
  let next = 0;
  served += 1;
  // Staggers streams that began together; in step, a single wake-up of the reader would serve them all.
  let stagger = served % gapMs;
  const step = () => {
    if (socket.destroyed) return;
    const { bytes, stampsAt, isDelta } = parts[next];
    // What follows waits for the end of this write, since Node joins writes that queue up.
    const written = framing === 'burst' ? undefined : goOn;
    socket.write(stampsAt.length === 0 ? bytes : stamped(bytes, stampsAt, stamps, isDelta), written);
    next += 1;
  };
  const goOn = () => {
    if (next === parts.length) return;
    if (gapMs === 0 || !parts[next].followsDelta) {
      setImmediate(step);
      return;
    }
    setTimeout(step, gapMs + stagger);
    stagger = 0;
  };
  step();
  while (framing === 'burst' && next < parts.length && !socket.destroyed) step();
}

/** Writes the times into an event: a new time into a delta, the earlier times into an event that repeats the text. */
function stamped(bytes, stampsAt, stamps, isDelta) {
  const copy = Buffer.from(bytes);
  if (isDelta) {
    const now = Number(process.hrtime.bigint() / 1000n);
    // Each time is unique, so that a reader can tell a delta from a repetition.
    stamps.push(Math.max(now, (stamps.at(-1) ?? 0) + 1));
  }
  stampsAt.forEach((at, index) => {
    copy.write(String(isDelta ? stamps.at(-1) : stamps[index]).padStart(STAMP.length - 2, '0'), at + 1, 'latin1');
  });
  return copy;
}

function rendered({ deltas, stamped: withStamps, framing }) {
  const pieces = Array.from({ length: deltas }, (_, index) => (withStamps ? STAMP : WORDS[index % WORDS.length]));
  const usage = {
    input_tokens: 100, input_tokens_details: { cached_tokens: 0 }, output_tokens: deltas,
    output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 100 + deltas,
  };
  const response = newResponse(REQUEST, { id: newId('resp') });
  const events = [...responseEvents(response, [text(...pieces)], { usage })];
  const chunks = [];
  for (let at = 0; at < events.length; at += EVENTS_IN_A_CHUNK[framing]) {
    const together = events.slice(at, at + EVENTS_IN_A_CHUNK[framing]);
    const bytes = chunk(together.map((event) => frame(event)).join(''));
    const [isDelta, followsDelta] = [events[at], events[at - 1]].map((event) => event?.type.endsWith('.delta'));
    chunks.push({ bytes, stampsAt: withStamps ? positions(bytes, STAMP) : [], isDelta, followsDelta });
  }
  const parts = [{ bytes: HEAD, stampsAt: [] }, ...chunks, { bytes: END, stampsAt: [] }];
  return { parts, text: pieces.join('') };
}

function chunk(events) {
  const body = Buffer.from(events);
  return Buffer.concat([Buffer.from(`${body.length.toString(16)}\r\n`), body, Buffer.from('\r\n')]);
}

function positions(bytes, part) {
  const found = [];
  for (let at = bytes.indexOf(part); at >= 0; at = bytes.indexOf(part, at + part.length)) found.push(at);
  return found;
}
