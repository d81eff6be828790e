// A response of the model service: its events in the live order, and its final object.
// Owns the wire format of the response. It knows no time and no network; the sender of the events sets the pace.
import { randomBytes } from 'node:crypto';

/** `prefix` + 48 hexadecimal digits, the form of the live ids. */
export const newId = (prefix) => `${prefix}_${randomBytes(24).toString('hex')}`;

/** An output item whose text arrives in `deltas`; an entry that is no string is passed on unchanged. */
export const text = (...deltas) => ({ kind: 'text', deltas });
/** A message that comments on the work. */
export const commentary = (...deltas) => ({ kind: 'text', phase: 'commentary', deltas });
export const refusal = (...deltas) => ({ kind: 'refusal', deltas });
export const reasoning = (...deltas) => ({ kind: 'reasoning', deltas });
/** Reasoning that can be sent back, which models also give unasked. */
export const sealed = (...deltas) => ({ kind: 'reasoning', deltas, sealed: 'c2VhbGVk' });
/** A message that cites pages: `annotations` as the service writes them. */
export const cited = (said, annotations) => ({ kind: 'text', deltas: [said], annotations });
/** The item of a tool that the service ran by itself, but for its id and status. */
export const hosted = (item) => ({ kind: 'hosted', item });
/** `args` is an object, or a list of pieces of JSON text when the pieces matter. */
export const call = (name, args = {}, { callId = newId('call') } = {}) => ({
  kind: 'call',
  name,
  callId,
  deltas: Array.isArray(args) ? args : [JSON.stringify(args)],
});

/** The response object right after the request `body` was accepted. */
export function newResponse(body, { id = newId('resp'), createdAt = Math.floor(Date.now() / 1000) } = {}) {
  return {
    id,
    object: 'response',
    created_at: createdAt,
    status: 'in_progress',
    background: false,
    completed_at: null,
    error: null,
    incomplete_details: null,
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    metadata: body.metadata ?? {},
    model: body.model,
    output: [],
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: body.previous_response_id ?? null,
    reasoning: { effort: null, summary: null },
    service_tier: 'auto',
    store: body.store ?? true,
    temperature: 1.0,
    text: { format: { type: 'text' }, verbosity: 'medium' },
    tool_choice: body.tool_choice ?? 'auto',
    // The live API defaults `strict` to true and echoes it.
    tools: (body.tools ?? []).map((tool) => ({ ...tool, strict: tool.strict ?? true })),
    top_p: 1.0,
    truncation: 'disabled',
    usage: null,
    user: null,
  };
}

/**
 * The events of `response` with the output `items`, numbered from 0, the terminal one last.
 * `ending`: `{status: 'completed'}`, `{status: 'incomplete', reason}` or `{status: 'failed', error}`; with `incomplete`
 * the last item is cut. `usage` is a usage object, or a function of the output items.
 * `response` reaches its final state on the way.
 */
export function* responseEvents(response, items, { ending = { status: 'completed' }, usage } = {}) {
  let sequence = 0;
  const event = (type, members) => ({ type, sequence_number: sequence++, ...members });
  const snapshot = () => structuredClone(response);

  yield event('response.created', { response: snapshot() });
  yield event('response.in_progress', { response: snapshot() });
  for (const [index, item] of items.entries()) {
    const cut = ending.status === 'incomplete' && index === items.length - 1;
    yield* itemEvents(event, item, index, cut, (done) => response.output.push(done));
  }
  response.status = ending.status;
  response.completed_at = ending.status === 'completed' ? response.created_at : null;
  response.incomplete_details = ending.status === 'incomplete' ? { reason: ending.reason } : null;
  response.error = ending.status === 'failed' ? ending.error : null;
  response.service_tier = 'default';
  response.usage = ending.status === 'failed' ? null : typeof usage === 'function' ? usage(response.output) : usage;
  yield event(`response.${ending.status}`, { response: snapshot() });
}

/** The bytes of one event, framed as a server-sent event. */
export function frame(event) {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

function* itemEvents(event, item, index, cut, finish) {
  if (item.kind === 'hosted') {
    yield* hostedEvents(event, item.item, index, finish);
    return;
  }
  const shape = SHAPES[item.kind];
  const id = newId(shape.prefix);
  const at = { item_id: id, output_index: index };
  const status = cut ? 'incomplete' : 'completed';

  yield event('response.output_item.added', { output_index: index, item: shape.item(item, id, 'in_progress', null) });
  const part = shape.part;
  if (part) yield event(`response.${part.name}.added`, { ...at, ...part.at, part: part.of('') });
  let whole = '';
  for (const delta of item.deltas) {
    if (typeof delta !== 'string') {
      yield delta;
      continue;
    }
    whole += delta;
    yield event(`response.${shape.text}.delta`, { ...at, ...part?.at, ...shape.deltaExtras, delta });
  }
  yield event(`response.${shape.text}.done`, { ...at, ...part?.at, ...shape.deltaExtras, [shape.member]: whole });
  if (part) yield event(`response.${part.name}.done`, { ...at, ...part.at, part: part.of(whole) });
  const done = shape.item(item, id, status, whole);
  for (const [place, annotation] of (item.annotations ?? []).entries()) {
    yield event('response.output_text.annotation.added', { ...at, content_index: 0, annotation_index: place, annotation });
    done.content[0].annotations.push(annotation);
  }
  finish(done);
  yield event('response.output_item.done', { output_index: index, item: done });
}

function* hostedEvents(event, item, index, finish) {
  const done = { id: newId('hosted'), status: 'completed', ...item };
  const at = { item_id: done.id, output_index: index };
  yield event('response.output_item.added', { output_index: index, item: { id: done.id, type: item.type, status: 'in_progress' } });
  for (const state of ['in_progress', 'completed']) yield event(`response.${item.type}.${state}`, at);
  finish(done);
  yield event('response.output_item.done', { output_index: index, item: done });
}

const contentPart = (of) => ({ name: 'content_part', at: { content_index: 0 }, of });
const textPart = contentPart((whole) => ({ type: 'output_text', annotations: [], logprobs: [], text: whole }));
const refusalPart = contentPart((whole) => ({ type: 'refusal', refusal: whole }));
const message = (part) => (item, id, status, whole) => ({
  id,
  type: 'message',
  status,
  content: whole === null ? [] : [part.of(whole)],
  ...(item.phase === undefined ? {} : { phase: item.phase }),
  role: 'assistant',
});

// The differences between the kinds of item; the order of their events is the same.
const SHAPES = {
  text: {
    prefix: 'msg', text: 'output_text', member: 'text', deltaExtras: { logprobs: [] }, part: textPart, item: message(textPart),
  },
  refusal: { prefix: 'msg', text: 'refusal', member: 'refusal', part: refusalPart, item: message(refusalPart) },
  reasoning: {
    prefix: 'rs',
    text: 'reasoning_summary_text',
    member: 'text',
    part: {
      name: 'reasoning_summary_part', at: { summary_index: 0 }, of: (whole) => ({ type: 'summary_text', text: whole }),
    },
    item: (item, id, status, whole) => ({
      id,
      type: 'reasoning',
      summary: whole === null ? [] : [{ type: 'summary_text', text: whole }],
      ...(item.sealed === undefined ? {} : { encrypted_content: item.sealed }),
    }),
  },
  call: {
    prefix: 'fc',
    text: 'function_call_arguments',
    member: 'arguments',
    item: (item, id, status, whole) => ({
      id, type: 'function_call', status, arguments: whole ?? '', call_id: item.callId, name: item.name,
    }),
  },
};
