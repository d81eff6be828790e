// What a model service may answer at its worst: bodies without measure, of white space, comments, empty events and
// annotations, of events that look something up, plain and compressed. Owns the responses; neighbours.test.mjs holds their
// effect on others, hostile_bytes.test.mjs the processor time of each kind of event,
// ../bench/limits.mjs measures their cost.
import { gzipSync } from 'node:zlib';
import { setTimeout as pause } from 'node:timers/promises';
import { KEY } from './costly_requests.mjs';
import { refusalOf, resultOf, userTurn } from './harness.mjs';
import { answer, cited, raw, text } from './scripted_model.mjs';
import { openStream } from '../fakes/model_service/http_service.mjs';
import { frame, newResponse, responseEvents } from '../fakes/model_service/response_stream.mjs';

const MIB = 1024 * 1024;
/** A whole answer, as a service streams it. */
const END = [...responseEvents(newResponse({}), [text('Well.')], { usage: null })].map((event) => frame(event)).join('');
const EMPTY_DELTA = frame({ type: 'response.output_text.delta', item_id: 'm', output_index: 0, content_index: 0, delta: '' });

/** At least `bytes` of a text over and over, in blocks of `each` bytes. */
function* repeated(piece, bytes, each = 64 * 1024) {
  const block = Buffer.from(piece.repeat(Math.max(1, Math.floor(each / piece.length))));
  for (let left = bytes; left > 0; left -= block.length) yield block;
}

/** These pieces and a whole answer, compressed to a thousandth. */
const compressed = (pieces) =>
  raw([gzipSync(Buffer.concat([...pieces, Buffer.from(END)]))], { headers: { 'content-encoding': 'gzip' } });

/** 256 KiB of white space, 64 bytes each millisecond, and then an answer. */
const drops = {
  async play({ response }) {
    openStream(response);
    for (let left = 256 * 1024; left > 0 && !response.destroyed; left -= 64) {
      response.write(' '.repeat(64));
      await pause(1);
    }
    response.end(END);
  },
};

const pages = (count) =>
  Array.from({ length: count }, (_, at) => ({
    type: 'url_citation', start_index: 0, end_index: 1, url: `https://pages.example/${at}`, title: `Page ${at}`,
  }));

/** As many items as are open at once, each with members of its own by its number. */
const opened = (members) =>
  Array.from({ length: 1000 }, (_, at) => frame({ type: 'response.output_item.added', output_index: at, item: members(at) })).join('');
/** Ids of one length that differ at their ends. */
const idOf = (length, at) => `${'i'.repeat(length - 4)}${String(at).padStart(4, '0')}`;
const calls = (length) => opened((at) => ({ type: 'function_call', id: idOf(length, at), call_id: `c${at}`, name: 'f', arguments: '' }));
/** An event that looks for a call by an id that none has, and for the last open one then. */
const searching = (length) => frame({ type: 'response.function_call_arguments.delta', item_id: idOf(length, 'none'), delta: '' });
const MESSAGES = opened(() => ({ type: 'message', role: 'assistant', content: [] }));
const COMMENTARY = opened(() => ({ type: 'message', role: 'assistant', phase: 'commentary', content: [] }));
const UNKNOWN = 'data:{"type":"x"}\n\n';

/**
 * Every kind of event, and those that look something up, by name: what stands before the events, and the event, which is
 * repeated.
 */
export const EVENTS = {
  'unknown events': ['', UNKNOWN],
  'empty events': ['', 'data:\n\n'],
  'reports of progress': ['', frame({ type: 'response.in_progress', response: { id: 'r', status: 'in_progress' } })],
  'empty deltas': ['', EMPTY_DELTA],
  'deltas of a character': ['', frame({ type: 'response.output_text.delta', output_index: 0, delta: 'x' })],
  'deltas of a thousand characters': ['', frame({ type: 'response.output_text.delta', output_index: 0, delta: 'x'.repeat(1000) })],
  'whole texts': ['', frame({ type: 'response.output_text.done', output_index: 0, text: '' })],
  'items that begin': ['', frame({ type: 'response.output_item.added', output_index: 0, item: { type: 'message' } })],
  'items that end': ['', frame({ type: 'response.output_item.done', output_index: 0, item: { type: 'message', content: [] } })],
  annotations: ['', frame({ type: 'response.output_text.annotation.added', output_index: 0, annotation: { type: 'x' } })],
  reasoning: ['', frame({ type: 'response.reasoning_summary_text.delta', output_index: 0, delta: 'x' })],
  arguments: [calls(100), frame({ type: 'response.function_call_arguments.delta', output_index: 7, delta: '1' })],
  'searches by ids of 100 bytes': [calls(100), searching(100)],
  'searches by ids of 8 kB': [calls(8000), searching(8000)],
  'searches for the last message': [MESSAGES, frame({ type: 'response.output_text.delta', delta: '' })],
  'messages of commentary, and unknown events': [COMMENTARY, UNKNOWN],
  'messages of commentary, and deltas for them': [COMMENTARY, frame({ type: 'response.output_text.delta', output_index: 7, delta: '' })],
};

/** A response with so many bytes of one of these, and a whole answer behind them. */
export const eventsOf = ([before, event], bytes) => raw([before, ...repeated(event, bytes), END]);

/** As many bytes of comments, as services send them. */
export const commentsOf = (bytes) => raw([EMPTY_DELTA, ...repeated(': keep-alive\n\n', bytes), END]);

const PROTOCOL = [502, 'upstream_protocol'];

/** As `COSTLY` of costly_requests.mjs. `reply` makes the response, `refused` is what the turn fails with. */
const RESPONSES = [
  { key: 'drops', says: '256 KiB of white space before the answer, in pieces of 64 bytes', streamed: true, refused: PROTOCOL, reply: () => drops },
  { key: 'white-space', says: '64 MiB of white space, compressed', refused: PROTOCOL, reply: () => compressed(repeated(' ', 64 * MIB)) },
  {
    key: 'comments', says: '128 MiB of comments behind the first event', refused: PROTOCOL,
    reply: () => raw([EMPTY_DELTA, ...repeated(':\n', 128 * MIB), END]),
  },
  { key: 'empty-deltas', says: '128 MiB of empty deltas, compressed', refused: PROTOCOL, reply: () => compressed(repeated(EMPTY_DELTA, 128 * MIB)) },
  { key: 'empty-events', says: '2,000,000 events of 7 bytes', refused: PROTOCOL, reply: () => raw([...repeated('data:\n\n', 14e6), END]) },
  { key: 'annotations', says: 'a text of 1 MB with 100,000 annotations', reply: () => answer({ ...cited('', pages(100_000)), deltas: ['so '.repeat(3.5e5)] }) },
  {
    key: 'items', says: '600,000 output items', refused: PROTOCOL,
    reply: () => raw([frame({ type: 'response.completed', response: { id: 'r', status: 'completed', output: Array.from({ length: 600_000 }, () => ({ type: 'x' })) } })]),
  },
];

for (const [key, name, bytes] of [
  ['short-ids', 'searches by ids of 100 bytes', 8 * MIB],
  ['long-ids', 'searches by ids of 8 kB', 16 * MIB],
  ['commentary', 'messages of commentary, and unknown events', 8 * MIB],
]) {
  const [before, event] = EVENTS[name];
  RESPONSES.push({
    key, says: `1,000 open items and ${bytes / MIB} MiB of ${name}, compressed`,
    reply: () => compressed([Buffer.from(before), ...repeated(event, bytes)]),
  });
}

export const COSTLY_RESPONSES = RESPONSES.map(({ key, says, streamed = false, refused, reply }) => ({
  key,
  says: `an answer of the model service: ${says}`,
  prepare: async () => reply(),
  run: async (rig, prepared) => {
    rig.model.otherwise(prepared);
    const turn = userTurn({ Streaming: streamed });
    const got = streamed ? await outcomeOf(rig, turn) : await rig.post(turn, { key: KEY });
    if (refused === undefined) resultOf(got);
    else if (JSON.stringify(refusalOf(got)) !== JSON.stringify(refused)) throw new Error(got.text);
  },
}));

/** The outcome of a streamed turn, as JSON delivery would have given it. */
async function outcomeOf(rig, turn) {
  const { result } = await (await rig.stream(turn, { key: KEY })).end();
  const json = JSON.parse(result);
  return { status: json.Successful ? 200 : 502, text: result, json };
}
