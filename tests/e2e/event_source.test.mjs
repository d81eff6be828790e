// A standard EventSource follows a turn: it resumes where it was cut off, and does not connect for ever (interface §2,
// Delivery).
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { EventSource } from 'undici';
import { serve } from '../local_server.mjs';
import { PLAIN, clientTool, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, call, text } from './scripted_model.mjs';

const rig = rigForFile(PLAIN);

/** What came through the proxy: `{from, status}`, `from` being the `Last-Event-ID`. */
const heard = [];
/** Cuts the connection of the newest response. */
let cut;
const proxy = await serve(async (request, response) => {
  const gone = new AbortController();
  response.on('close', () => gone.abort());
  const { accept, 'last-event-id': from } = request.headers;
  const headers = { accept, ...(from === undefined ? {} : { 'last-event-id': from }) };
  const answered = await fetch(new URL(request.url, rig.url), { headers, signal: gone.signal }).catch(() => undefined);
  if (answered === undefined) return response.destroy();
  heard.push({ from, status: answered.status });
  response.writeHead(answered.status, { 'content-type': answered.headers.get('content-type') ?? 'text/plain' });
  response.flushHeaders();
  if (answered.body === null) return response.end();
  cut = () => response.destroy();
  await pipeline(Readable.fromWeb(answered.body), response).catch(() => {});
});
after(() => proxy.close());

/** Follows a turn's stream until the EventSource has given up; `onText` gets the text after each delta. */
async function follow(turn, onText = () => {}) {
  heard.length = 0;
  const seen = { text: '', results: [] };
  const url = `${proxy.origin}/sessions/${turn.SessionId}/turns/${turn.TurnId}/stream`;
  const source = new EventSource(url, { node: { reconnectionTime: 1 } });
  source.addEventListener('output_text.delta', ({ data }) => {
    seen.text += JSON.parse(data).Delta;
    onText(seen.text);
  });
  source.addEventListener('result', ({ data }) => seen.results.push(JSON.parse(data)));
  await new Promise((closed) => {
    source.addEventListener('error', () => source.readyState === EventSource.CLOSED && closed());
  });
  return seen;
}

test('a cut stream is resumed without a gap, and the EventSource stops behind the result', async () => {
  const gate = new Gate();
  rig.model.script(answer(text('Hello', gate, ', world.')));
  const turn = userTurn();
  const posted = rig.post(turn);
  await eventually(() => rig.model.requests.length > 0, 'the model is called');
  const seen = await follow(turn, (said) => {
    if (said !== 'Hello') return;
    cut();
    gate.open();
  });
  assert.equal(seen.text, 'Hello, world.');
  assert.deepEqual(seen.results, [(await posted).json]);
  assert.deepEqual(heard, [{ from: undefined, status: 200 }, { from: '0.5', status: 200 }, { from: 'end', status: 204 }]);
});

test('a turn that waits for its client, failed or was aborted ends for an EventSource, too', async () => {
  rig.model.script(answer(call('read_file', {})), answer(text('Hi.')).with({ failed: { code: 'invalid_prompt', message: 'no' } }));
  const paused = userTurn({ ToolsJson: JSON.stringify([clientTool('read_file')]) });
  resultOf(await rig.post(paused));
  const failed = userTurn();
  await rig.post(failed);
  for (const [turn, successful] of [[paused, true], [failed, false]]) {
    const seen = await follow(turn);
    assert.deepEqual(seen.results.map(({ Successful }) => Successful), [successful]);
    assert.deepEqual(heard.map(({ status }) => status), [200, 204]);
  }
  resultOf(await rig.request('POST', `/sessions/${paused.SessionId}/turns/${paused.TurnId}/cancel`));
  const seen = await follow(paused);
  assert.deepEqual([seen.results.length, heard.at(-1)], [1, { from: 'end', status: 204 }]);
});
