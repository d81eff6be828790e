// Answers of services that hold much and say little, from a seed: for each reader of foreign bytes an answer with noise of
// some kind before it, within it or in its place, and the ways in which the bytes come. Owns the bytes and the ways; the
// test judges what the Worker makes of them.
import { constants, createGzip } from 'node:zlib';
import { setImmediate as turn } from 'node:timers/promises';
import { text } from './scripted_model.mjs';
import { frame, newResponse, responseEvents } from '../fakes/model_service/response_stream.mjs';

const KIB = 1024;
const BLOCK = 64 * KIB;

/** Noise between the events of a stream, as the text that is repeated. */
const EVENTS = {
  'white space': '   \n',
  'blank lines': '\n',
  comments: ':\n',
  'long comments': `: ${'.'.repeat(4000)}\n`,
  'empty events': 'data:\n\n',
  'events of another name': 'event: ping\nid: 1\nretry: 1\ndata: {}\n\n',
  'data of many lines': `${'data: \n'.repeat(40)}\n`,
};
/** The same between the tokens of JSON: in a member's value, before what follows it. */
const JSON_TOKENS = {
  'white space': ' \n\t\r',
  'empty objects': '{},',
  'small numbers': '0,',
  'long numbers': `${'9'.repeat(500)},`,
  'empty texts': '"",',
  'escaped texts': '"\\u0041\\n\\ud83d\\ude00",',
  'members that are named twice': '{"a":1,"a":1},',
};
const DELTA = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: '' };
const MODEL_EVENTS = { ...EVENTS, 'empty deltas': frame(DELTA), 'unknown events': frame({ type: 'response.unknown.delta', delta: 'x' }) };
const message = (members) => `data: ${JSON.stringify({ jsonrpc: '2.0', ...members })}\n\n`;
const MCP_EVENTS = {
  ...EVENTS,
  notifications: message({ method: 'notifications/progress', params: { progress: 1, progressToken: 1 } }),
  'answers to others': message({ id: 'another', result: {} }),
};

const said = (ending) => [...responseEvents(newResponse({}), [text('Well.')], { usage: null })].map((event) => ending(event));
const stream = (noise) => ({ kind: 'stream', noise });
const json = { kind: 'json', noise: JSON_TOKENS };

/** The readers, and what may stand between the parts of what they read. */
export const READERS = {
  'the model service\'s stream': stream(MODEL_EVENTS),
  'the model service\'s JSON': json,
  'an MCP server\'s events': stream(MCP_EVENTS),
  'an MCP server\'s JSON': json,
  'an embeddings service': json,
  'a server tool': json,
};

/** The parts of the model service's answer. */
export const modelEvents = () => said((event) => frame(event));
export const modelJson = () => said(({ response }) => response).at(-1);

/**
 * What a service sends, from a seed: `{reader, says, bytes(size, parts)}`. `parts` are the frames of a whole answer, or the
 * one value that it is; `bytes` gives blocks that hold about `size` bytes of noise with the parts at their places.
 */
export function hostile(random, reader) {
  const { kind, noise } = READERS[reader];
  const [name, piece] = random.of(Object.entries(noise));
  const place = random.of(['before', 'within', 'after', 'without an end']);
  const bytes = function* (size, parts) {
    const [head, tail] = kind === 'stream' ? framed(place, parts) : spelt(place, piece, parts);
    yield Buffer.from(head);
    const block = Buffer.from(piece.repeat(Math.max(1, Math.floor(BLOCK / piece.length))));
    for (let left = size; left > 0; left -= block.length) {
      yield left < block.length ? block.subarray(0, Math.max(1, Math.floor(left / piece.length)) * piece.length) : block;
    }
    if (place !== 'without an end') yield Buffer.from(tail);
  };
  return { reader, says: `${reader}: ${name} ${place}`, bytes };
}

function framed(place, frames) {
  const at = { before: 0, within: Math.ceil(frames.length / 2), after: frames.length, 'without an end': 1 }[place];
  return [frames.slice(0, at).join(''), frames.slice(at).join('')];
}

/** The text of a value, opened for noise: of white space wherever it may stand, of anything else in a member of its own. */
function spelt(place, piece, value) {
  const whole = JSON.stringify(value);
  if (piece.trim() !== '') return [`{"noise":[`, `0],${whole.slice(1)}`];
  if (place === 'before') return ['', whole];
  if (place === 'after') return [whole, ''];
  return [whole.slice(0, 1), whole.slice(1)];
}

/** The ways in which bytes come: `write(piece)` resolves when more may be written. */
export const WAYS = {
  blocks: (blocks) => blocks,
  /** In pieces of a few bytes, each a chunk of its own. */
  drops: function* (blocks, random) {
    for (const block of blocks) {
      for (let at = 0; at < block.length;) {
        const length = 1 + random.below(64);
        yield block.subarray(at, at + length);
        at += length;
      }
    }
  },
  /** Cut where characters, lines and tokens are. */
  shreds: function* (blocks, random) {
    for (const block of blocks) {
      for (let at = 0; at < block.length;) {
        const length = random.oneIn(3) ? 1 + random.below(3) : 1 + random.below(40 * KIB);
        yield block.subarray(at, at + length);
        at += length;
      }
    }
  },
};

/** Sends the pieces in a response, compressed where `gzip` says so, until they end or nobody reads them any more. */
export async function send(response, type, pieces, { gzip = false } = {}) {
  response.writeHead(200, { 'content-type': type, ...(gzip ? { 'content-encoding': 'gzip' } : {}) });
  let out = response;
  if (gzip) {
    out = createGzip({ level: 9, flush: constants.Z_NO_FLUSH });
    out.pipe(response);
  }
  let count = 0;
  for (const piece of pieces) {
    if (response.destroyed) return;
    count += 1;
    if (!out.write(piece)) await drained(out, response);
    else if (count % 4 === 0) await turn();
  }
  out.end();
}

/** When more may be written, or nobody reads any more. */
const drained = (out, response) => new Promise((resolve) => {
  if (response.destroyed) return void resolve();
  const done = () => {
    out.off('drain', done);
    response.off('close', done);
    resolve();
  };
  out.once('drain', done);
  response.once('close', done);
});
