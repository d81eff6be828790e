// Who leaves is gone at once, and what has a longest time ends by then, whatever the other side and the programs between do.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recorded, serve } from '../../../tests/local_server.mjs';
import { chatHandler } from '../dist/ai-sdk.js';
import { Aptix } from '../dist/index.js';

/** A service that takes a turn and then says nothing; `signals` are those of its requests. */
function silent() {
  const signals = [];
  const fetch = async (url, { signal }) => {
    signals.push({ url, signal });
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(': taken\n\n')) }), { headers: { 'Content-Type': 'text/event-stream' } });
  };
  return { signals, options: { baseUrl: 'http://service.invalid', fetch } };
}

test('a readable stream that is cancelled ends the watching at once, its tools too, and not the turn', { timeout: 10_000 }, async () => {
  const { signals, options } = silent();
  const turn = new Aptix(options).session('s').turn({ Instruction: 'x' }, { turnId: 't', cancelOnAbort: true, signal: new AbortController().signal });
  const stream = turn.toReadableStream();
  const reader = stream.getReader();
  const pending = reader.read();
  while (signals.length === 0) await new Promise((resolve) => setImmediate(resolve));
  await reader.cancel();
  assert.equal((await pending).done, true);
  assert.deepEqual(signals.map(({ signal }) => signal.aborted), [true], 'one request, whose connection has ended');
  await assert.rejects(turn.final(), /no longer watched/);

  let [aborted, begun] = [false, () => {}];
  const runs = new Promise((resolve) => (begun = resolve));
  const tool = { name: 'look', run: (_, { signal }) => new Promise(() => (begun(), signal.addEventListener('abort', () => (aborted = true)))) };
  const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: [{ ToolCallId: 'c', Name: 'look', ArgumentsJson: '{}' }] };
  const fetch = async () => Response.json({ Successful: true, Result: asks, Errors: [], Warnings: [] });
  const waiting = new Aptix({ ...options, fetch }).session('s').turn({ Instruction: 'x' }, { turnId: 't', tools: [tool] }).toReadableStream().getReader();
  for (let lines = 0; lines < 2; lines += 1) await waiting.read();
  await runs;
  await waiting.cancel();
  assert.equal(aborted, true);
});

test('a page that leaves a chat ends what its back end waits for, where the server aborts no request, too', { timeout: 10_000 }, async () => {
  let signal;
  const transport = {
    sendMessages: async ({ abortSignal }) => {
      signal = abortSignal;
      let isFirst = true;
      return new ReadableStream({
        pull: (controller) => {
          if (isFirst) controller.enqueue({ type: 'start' });
          isFirst = false;
          return new Promise((resolve) => abortSignal.addEventListener('abort', resolve));
        },
      });
    },
  };
  const errors = [];
  const request = new Request('http://app/api/chat', { method: 'POST', body: JSON.stringify({ id: 'c', messages: [{ id: 'm', role: 'user', parts: [] }] }) });
  const { body } = await chatHandler(() => transport, { onError: (error) => errors.push(error) })(request);
  const reader = body.getReader();
  await reader.read();
  await reader.cancel();
  assert.deepEqual([signal.aborted, errors], [true, []]);
});

test('a longest time and a signal hold where a middleware or a fetch knows neither', { timeout: 10_000 }, async () => {
  const never = () => new Promise(() => {});
  const silentBody = async () => new Response(new ReadableStream(), { headers: { 'Content-Type': 'text/event-stream' } });
  const halfJson = async () => ({ headers: new Headers(), status: 200, ok: true, json: never });
  for (const fetch of [never, silentBody, halfJson]) {
    const session = new Aptix({ baseUrl: 'http://service.invalid', fetch, deadlineMs: 50 }).session('s');
    await assert.rejects(session.turn({ Instruction: 'x' }).final(), /longer than 50 ms/);
    if (fetch !== silentBody) await assert.rejects(session.get(), /longer than 50 ms/);
    const left = new AbortController();
    const turn = new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').turn({ Instruction: 'x' }, { signal: left.signal });
    const final = turn.final();
    left.abort(new Error('left'));
    await assert.rejects(final, /left/);
  }
  const through = new Aptix({ baseUrl: 'http://service.invalid', middleware: [never], maxReconnects: 0, timeoutMs: 50 });
  await assert.rejects(through.health(), /no answer within 50 ms/);
});

test('no redirect is followed: what was sent is for the service alone', async () => {
  const heard = [];
  const other = await serve(async (request, response) => {
    heard.push(await recorded(request, response));
    response.end('{}');
  });
  const service = await serve((_, response) => response.writeHead(307, { Location: `${other.origin}/execute` }).end());
  try {
    const aptix = new Aptix({ baseUrl: service.origin, credential: 'key', maxReconnects: 0 });
    await assert.rejects(aptix.session('s').turn({ Instruction: 'x' }).final(), /status 307/);
    await assert.rejects(aptix.health(), /status 307/);
    assert.deepEqual(heard, []);
  } finally {
    await service.close();
    await other.close();
  }
});
