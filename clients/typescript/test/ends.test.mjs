// Who leaves is gone at once, and what has a longest time ends by then, whatever the other side and the programs between do.
import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { recorded, serve } from '../../../tests/local_server.mjs';
import { AptixChatTransport, chatHandler } from '../dist/ai-sdk.js';
import { Aptix } from '../dist/index.js';
import { readTurnEvents } from '../dist/relay.js';
import { Command, noTerminal } from './command.mjs';

const soon = () => new Promise((resolve) => setImmediate(resolve));

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

test('a stream of which a middleware holds a copy is left at once, and its answer is not waited for any longer', { timeout: 10_000 }, async () => {
  const text = 'id: 0.3\nevent: output_text.delta\ndata: {"Segment":0,"Delta":"One"}\n\n';
  const Result = { Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText: 'One' };
  const events = `${text}event: result\nid: end\ndata: ${JSON.stringify({ Successful: true, Result, Errors: [], Warnings: [] })}\n\n`;
  const open = (words) => new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(words)) });
  const fetch = async () => new Response(open(events), { headers: { 'Content-Type': 'text/event-stream' } });
  // Nobody reads them, and they are held: a copy that is collected ends by itself.
  const copies = [];
  const copied = (response) => (copies.push(response.clone()), response);
  const middleware = [async (url, init, next) => copied(await next(url, init))];
  const newTurn = () => new Aptix({ baseUrl: 'http://service.invalid', fetch, middleware }).session('s').turn({ Instruction: 'x' }, { turnId: 't' });
  for await (const { type } of newTurn()) {
    assert.equal(type, 'text');
    break;
  }
  assert.equal((await newTurn().final()).PrimaryOutputText, 'One');
  const passedOn = copied(new Response(open('{"type":"text","segment":0,"delta":"One","position":"0.3"}\n')));
  for await (const { delta } of readTurnEvents(passedOn)) {
    assert.equal(delta, 'One');
    break;
  }
  assert.equal(copies.length, 3);
});

test('a chat whose stream is cancelled ends the watching at once, and not the turn', { timeout: 10_000 }, async () => {
  const { signals, options } = silent();
  const transport = new AptixChatTransport({ client: new Aptix(options), cancelOnStop: true });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }];
  const reader = (await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages })).getReader();
  const pending = reader.read();
  while (signals.length === 0) await soon();
  await reader.cancel();
  assert.equal((await pending).done, true);
  assert.deepEqual(signals.map(({ url, signal }) => [new URL(url).pathname, signal.aborted]), [['/execute', true]]);
});

test('a chat that is stopped cancels the turn that it watches, and not one that runs by then', { timeout: 10_000 }, async () => {
  const asked = new Set();
  const Result = { SessionId: 'c', TurnId: 'm', Status: 'aborted', LiveTurn: { TurnId: 'next', Status: 'running' } };
  const text = 'id: 0.3\nevent: output_text.delta\ndata: {"Segment":0,"Delta":"One"}\n\n';
  const fetch = async (url) => {
    const { pathname } = new URL(url);
    asked.add(pathname);
    if (pathname !== '/execute') return Response.json({ Successful: true, Result, Errors: [], Warnings: [] });
    return new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(text)) }), { headers: { 'Content-Type': 'text/event-stream' } });
  };
  const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }), cancelOnStop: true });
  const left = new AbortController();
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }];
  const reader = (await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages, abortSignal: left.signal })).getReader();
  for (let type; type !== 'text-delta'; ) ({ type } = (await reader.read()).value);
  left.abort();
  await assert.rejects(reader.read());
  for (let turns = 0; turns < 5; turns += 1) await soon();
  assert.deepEqual([...asked], ['/execute', '/sessions/c/turns/m/cancel']);
});

test('a chat that is cancelled while its turn is on its way is cancelled once that has arrived', { timeout: 10_000 }, async () => {
  const asked = [];
  let arrive;
  const arrives = new Promise((resolve) => (arrive = resolve));
  const Errors = [{ ErrorCode: 'session_not_found', Message: 'No.', SystemError: false }];
  const fetch = async (url) => {
    asked.push(new URL(url).pathname);
    if (asked.at(-1).endsWith('/cancel')) return Response.json({ Successful: true, Result: { Status: 'aborted' }, Errors: [], Warnings: [] });
    if (asked.at(-1) !== '/execute') return Response.json({ Successful: false, Errors, Warnings: [] }, { status: 404 });
    await arrives;
    return new Response(new ReadableStream(), { headers: { 'Content-Type': 'text/event-stream' } });
  };
  const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }) });
  const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }];
  const stream = await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages });
  while (asked.length === 0) await soon();
  const cancelled = transport.cancel('c');
  for (let times = 0; times < 5; times += 1) await soon();
  arrive();
  await cancelled;
  assert.deepEqual(asked, ['/execute', '/sessions/c/turns/m/cancel']);
  await stream.cancel();
});

test('a chat that is stopped while its words are added to a turn that it did not watch cancels that turn', { timeout: 10_000 }, async () => {
  const left = new AbortController();
  const asked = new Set();
  const runs = [{ ErrorCode: 'turn_in_progress', Message: 'It runs.', Details: { TurnId: 'm' }, SystemError: false }];
  const fetch = async (url) => {
    const { pathname } = new URL(url);
    asked.add(pathname);
    if (pathname === '/execute') return Response.json({ Successful: false, Errors: runs, Warnings: [] }, { status: 409 });
    if (pathname.endsWith('/steer')) left.abort();
    return Response.json({ Successful: true, Result: {}, Errors: [], Warnings: [] });
  };
  const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }), steer: 'add', cancelOnStop: true });
  const messages = [{ id: 'n', role: 'user', parts: [{ type: 'text', text: 'x' }] }];
  const reader = (await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages, abortSignal: left.signal })).getReader();
  await reader.read().catch(() => {});
  for (let turns = 0; turns < 5; turns += 1) await soon();
  assert.ok(asked.has('/sessions/c/turns/m/cancel'));
});

test('words that are added behind a stream that was left between two events find the turn anew', { timeout: 10_000 }, async () => {
  const asked = [];
  const text = 'id: 0.3\nevent: output_text.delta\ndata: {"Segment":0,"Delta":"One"}\n\n';
  const streamed = (events) => new Response(new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(events)) }), { headers: { 'Content-Type': 'text/event-stream' } });
  const runs = [{ ErrorCode: 'turn_in_progress', Message: 'It runs.', Details: { TurnId: 'm' }, SystemError: false }];
  const fetch = async (url, { method, body }) => {
    const { pathname } = new URL(url);
    asked.push(`${method} ${pathname}`);
    if (pathname.endsWith('/steer')) return Response.json({ Successful: true, Result: { SteerId: 'n', State: 'pending' }, Errors: [], Warnings: [] });
    if (method === 'POST' && JSON.parse(body).TurnId !== 'm') return Response.json({ Successful: false, Errors: runs, Warnings: [] }, { status: 409 });
    return streamed(text);
  };
  const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }), steer: 'add' });
  const send = async (id) => (await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages: [{ id, role: 'user', parts: [{ type: 'text', text: id }] }] })).getReader();
  const left = await send('m');
  // What follows has come, and waits for the reader that leaves.
  for (let type; type !== 'text-start'; ) ({ type } = (await left.read()).value);
  await soon();
  await left.cancel();
  const added = await send('n');
  assert.equal((await added.read()).value.messageId, 'answer:m/n');
  await added.cancel();
  assert.deepEqual(asked, ['POST /execute', 'POST /execute', 'POST /sessions/c/turns/m/steer', 'GET /sessions/c/turns/m/stream']);
});

test('a signal that is aborted behind the end of a stream, as some servers do with each request, cancels nothing', { timeout: 10_000 }, async () => {
  const asked = [];
  const asks = { Kind: 'client_tool_continuation', SessionId: 'c', TurnId: 'm', ToolCalls: [{ ToolCallId: '1', Name: 'look', ArgumentsJson: '{}' }] };
  const fetch = async (url) => {
    asked.push(new URL(url).pathname);
    return Response.json({ Successful: true, Result: asks, Errors: [], Warnings: [] });
  };
  const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }), cancelOnStop: true });
  const send = async (parts) => {
    const left = new AbortController();
    const messages = [{ id: 'm', role: 'user', parts }];
    const stream = await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages, abortSignal: left.signal }).catch(() => []);
    for await (const _ of stream);
    left.abort();
    await soon();
  };
  await send([{ type: 'text', text: 'x' }]);
  await send([{ type: 'file', url: 'no data' }]);
  assert.deepEqual(asked, ['/execute']);
});

test('a turn that is being detached is given up with its signal, and words that wait for it go once it is stored', { timeout: 10_000 }, async () => {
  const asked = [];
  const never = (url, { signal }) => {
    asked.push(url);
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)));
  };
  const left = new AbortController();
  const turnOf = (fetch, more = {}) => new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').turn({ Instruction: 'x' }, { turnId: 't', ...more });
  const given = turnOf(never, { signal: left.signal }).detach();
  while (asked.length === 0) await soon();
  left.abort(new Error('left'));
  await assert.rejects(given, /left/);

  asked.length = 0;
  const stores = async (url) => {
    asked.push(new URL(url).pathname);
    const Result = url.endsWith('/steer') ? { SteerId: '1', State: 'pending' } : { SessionId: 's', TurnId: 't', Status: 'running' };
    return Response.json({ Successful: true, Result, Errors: [], Warnings: [] });
  };
  const turn = turnOf(stores);
  const [stored, steered] = await Promise.all([turn.detach(), turn.steer('More.')]);
  assert.deepEqual([stored.Status, steered.State, asked], ['running', 'pending', ['/execute', '/sessions/s/turns/t/steer']]);
});

test('a chat whose turn is cancelled elsewhere before it has said anything begins it no second time', { timeout: 10_000 }, async () => {
  const asked = [];
  const failed = JSON.stringify({ Successful: false, Errors: [{ ErrorCode: 'turn_aborted', Message: 'It was cancelled.', SystemError: false }], Warnings: [] });
  const send = async (answered) => {
    asked.length = 0;
    const fetch = async (url, { body }) => {
      asked.push(JSON.parse(body).TurnId);
      return asked.length > 1 ? new Response(`event: result\nid: end\ndata: ${failed}\n\n`, { headers: { 'Content-Type': 'text/event-stream' } }) : answered();
    };
    const transport = new AptixChatTransport({ client: new Aptix({ baseUrl: 'http://service.invalid', fetch }), progress: false });
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'x' }] }];
    const reader = (await transport.sendMessages({ trigger: 'submit-message', chatId: 'c', messages })).getReader();
    await assert.rejects(reader.read(), { code: 'turn_aborted' });
    return asked.length;
  };
  assert.equal(await send(() => new Response(`event: result\nid: end\ndata: ${failed}\n\n`, { headers: { 'Content-Type': 'text/event-stream' } })), 1);
  assert.equal(await send(() => new Response(failed, { status: 409, headers: { 'Content-Type': 'application/json' } })), 2, 'what was stopped before is another turn');
});

test('a command goes on where nobody reads its standard error, and an answer that no stream has brought is its result', { timeout: 30_000 }, async () => {
  const final = { Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText: 'Done.', UserWarnings: ['One.'] };
  const told = (Result, Errors = []) => JSON.stringify({ Successful: Errors.length === 0, Result, Errors, Warnings: [] });
  const service = await serve(async (request, response) => {
    await recorded(request, response);
    // What has gone before is told on standard error, whose reader leaves meanwhile.
    if (request.url.startsWith('/execute')) response.end(told(final));
    else response.writeHead(404).end(told(undefined, [{ ErrorCode: 'session_not_found', Message: 'No.', SystemError: false }]));
  });
  try {
    const chat = new Command(['chat', 'x', '--no-tools', '--url', service.origin], { input: '' });
    chat.process.stderr.destroy();
    assert.equal(await chat.ended, 0);
    assert.equal(chat.out, 'Done.\n');
  } finally {
    await service.close();
  }
});

test('a chat goes on with the turn of which it has lost sight before it says what comes next', { timeout: 30_000 }, async () => {
  const told = (Result, Errors = []) => JSON.stringify({ Successful: Errors.length === 0, Result, Errors, Warnings: [] });
  const final = (PrimaryOutputText) => told({ Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText });
  const asked = [];
  const service = await serve(async (request, response) => {
    const { method, path } = await recorded(request, response);
    asked.push(`${method} ${path.replace(/[?].*/, '')}`);
    const isLost = asked.includes('POST /execute');
    if (path.startsWith('/execute')) asked.filter((each) => each === 'POST /execute').length > 1 ? response.end(final('Two.')) : response.writeHead(403).end('<html>');
    else if (path.includes('/stream')) response.end(final('One.'));
    else if (isLost) response.end(told({ SessionId: 's', LiveTurn: { TurnId: 't', Status: 'running' } }));
    else response.writeHead(404).end(told(undefined, [{ ErrorCode: 'session_not_found', Message: 'No.', SystemError: false }]));
  });
  try {
    const chat = new Command(['chat', '--session', 's', '--no-tools', '--url', service.origin], { input: 'One?\nTwo?\n' });
    assert.equal(await chat.ended, 0);
    assert.equal(chat.out, 'One.\nTwo.\n');
    assert.deepEqual(asked, ['GET /sessions/s', 'POST /execute', 'GET /sessions/s', 'GET /sessions/s/turns/t/stream', 'POST /execute']);
  } finally {
    await service.close();
  }
});

test('a turn that is aborted, or cancelled, on its way to the service is cancelled there once it has arrived', { timeout: 10_000 }, async () => {
  const cancels = '/sessions/s/turns/t/cancel';
  for (const [isAborted, how] of [[true, 'final'], [false, 'final'], [true, 'detach']]) {
    const asked = [];
    let arrive;
    const arrives = new Promise((resolve) => (arrive = resolve));
    const fetch = async (url) => {
      asked.push(new URL(url).pathname);
      if (asked.at(-1) === cancels) return Response.json({ Successful: true, Result: { Status: 'aborted' }, Errors: [], Warnings: [] });
      await arrives;
      return new Response(new ReadableStream(), { headers: { 'Content-Type': 'text/event-stream' } });
    };
    const left = new AbortController();
    const turn = new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').turn({ Instruction: 'x' }, { turnId: 't', signal: left.signal, cancelOnAbort: isAborted });
    const final = turn[how]();
    while (asked.length === 0) await soon();
    const cancelled = isAborted ? left.abort(new Error('left')) : turn.cancel();
    for (let times = 0; times < 5; times += 1) await soon();
    assert.deepEqual(asked, ['/execute']);
    arrive();
    await cancelled;
    if (!isAborted) left.abort(new Error('left'));
    await assert.rejects(final, /left/);
    assert.deepEqual(asked, ['/execute', cancels]);
  }
  // What was not sent is not sent for it.
  const asked = [];
  const never = new Aptix({ baseUrl: 'http://service.invalid', fetch: async (url) => (asked.push(url), Response.error()) }).session('s');
  await assert.rejects(never.turn({ Instruction: 'x' }, { turnId: 't', signal: AbortSignal.abort(new Error('left')) }).final(), /left/);
  assert.deepEqual(asked, []);
});

test('a signal that comes between two events cancels the turn, too, where its loop is left for it', { timeout: 10_000 }, async () => {
  const cancels = '/sessions/s/turns/t/cancel';
  const piece = 'event: output_text.delta\nid: 0.1\ndata: {"Segment":0,"Delta":"a"}\n\n';
  for (const cancelOnAbort of [true, false]) {
    const asked = [];
    const fetch = async (url) => {
      asked.push(new URL(url).pathname);
      if (asked.at(-1) === cancels) return Response.json({ Successful: true, Result: { Status: 'aborted' }, Errors: [], Warnings: [] });
      const body = new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode(piece)) });
      return new Response(body, { headers: { 'Content-Type': 'text/event-stream' } });
    };
    const left = new AbortController();
    const turn = new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').turn({ Instruction: 'x' }, { turnId: 't', signal: left.signal, cancelOnAbort });
    const read = async () => {
      for await (const _ of turn) {
        left.abort(new Error('left'));
        left.signal.throwIfAborted();
      }
    };
    await assert.rejects(read, /left/);
    assert.deepEqual(asked, ['/execute', ...(cancelOnAbort ? [cancels] : [])]);
  }
});

test('Ctrl-C ends every command, whatever it waits for', { timeout: 30_000 }, async () => {
  let heard;
  const service = await serve(() => heard());
  try {
    for (const args of [['search', 'x', '--workspace', 'w'], ['turns', 's'], ['chat', 'x', '--no-tools']]) {
      const isAsked = new Promise((resolve) => (heard = resolve));
      const waits = new Command([...args, '--url', service.origin], { input: '' });
      await isAsked;
      waits.process.kill('SIGINT');
      assert.equal(await waits.ended, 130, args.join(' '));
    }
  } finally {
    await service.close();
  }
});

test('Ctrl-C before a chat has begun, in a terminal, sends no message and answers no question', { timeout: 30_000, skip: noTerminal }, async () => {
  let heard;
  const asked = [];
  const service = await serve(({ url }) => heard(asked.push(url)));
  try {
    for (const words of [[], ['x']]) {
      const isAsked = new Promise((resolve) => (heard = resolve));
      const chat = new Command(['chat', ...words, '--session', 's', '--no-tools', '--url', service.origin], { terminal: true });
      await isAsked;
      chat.keys('\u0003');
      assert.equal(await chat.ended, 130, chat.shown);
    }
    assert.deepEqual(asked, ['/sessions/s', '/sessions/s']);
  } finally {
    await service.close();
  }
});

test('Ctrl-C at a question of a command, in a terminal, ends it with the code of every other Ctrl-C', { timeout: 30_000, skip: noTerminal }, async () => {
  const here = 'http://127.0.0.1:9';
  for (const [args, question] of [[['erase', 's', '--url', here], '(y/n)'], [['turns', 's', '--url', 'http://service.invalid'], '(y/n)'], [['login', '--url', here], 'Key for']]) {
    const asks = new Command(args, { terminal: true });
    await asks.until(question);
    asks.keys('\u0003');
    assert.equal(await asks.ended, 130, asks.shown);
  }
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

test('what tools gave is kept no longer where the signal has cancelled their turn', { timeout: 10_000 }, async () => {
  const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: ['a', 'b'].map((ToolCallId) => ({ ToolCallId, Name: 'look', ArgumentsJson: '{}' })) };
  const fetch = async (url) => Response.json({ Successful: true, Result: url.endsWith('/cancel') ? { Status: 'aborted' } : asks, Errors: [], Warnings: [] });
  for (const cancelOnAbort of [true, false]) {
    const kept = new Map();
    const store = { get: (key) => kept.get(key), update: (key, value) => void (value === undefined ? kept.delete(key) : kept.set(key, value)) };
    const left = new AbortController();
    const tool = { name: 'look', run: (_, { toolCallId }) => (toolCallId === 'a' ? 'seen' : new Promise(() => left.abort(new Error('left')))) };
    const turn = new Aptix({ baseUrl: 'http://service.invalid', fetch, store }).session('s').turn({ Instruction: 'x' }, { turnId: 't', tools: [tool], signal: left.signal, cancelOnAbort });
    await assert.rejects(turn.final(), /left/);
    assert.equal(kept.size, cancelOnAbort ? 0 : 1, 'a turn that runs on is attached to');
  }
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

test('a time without end, such as Infinity, is no time that is over', { timeout: 10_000 }, async () => {
  const fetch = async () => Response.json({ Successful: true, Result: {}, Errors: [], Warnings: [] });
  for (const name of ['deadlineMs', 'timeoutMs', 'idleTimeoutMs']) {
    for (const ms of [Infinity, 2 ** 31]) {
      const late = async (...sent) => (await new Promise((later) => setTimeout(later, 20)), fetch(...sent));
      await new Aptix({ baseUrl: 'http://service.invalid', fetch: late, maxReconnects: 0, [name]: ms }).session('s').get();
    }
  }
});

test('a body of JSON that does not end is a lost connection, as a stream is', { timeout: 10_000 }, async () => {
  const half = () => new ReadableStream({ start: (controller) => controller.enqueue(new TextEncoder().encode('{"Successful":')) });
  const fetch = async () => new Response(half(), { headers: { 'Content-Type': 'application/json' } });
  const session = new Aptix({ baseUrl: 'http://service.invalid', fetch, idleTimeoutMs: 50, maxReconnects: 1, retryDelayMs: 1 }).session('s');
  await assert.rejects(session.get(), /nothing came for 50 ms/);
  await assert.rejects(session.turn({ Instruction: 'x' }).final(), /nothing came for 50 ms/);
});

test('who leaves before a tool runs has it not run, and who waits for another\'s run does not wait on', { timeout: 10_000 }, async () => {
  const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: [{ ToolCallId: 'c', Name: 'pay', ArgumentsJson: '{}' }] };
  const final = { Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText: 'Paid.' };
  const results = [];
  const fetch = async (_, { body }) => {
    const { ToolResults } = JSON.parse(body ?? '{}');
    if (ToolResults) results.push(...ToolResults);
    return Response.json({ Successful: true, Result: ToolResults ? final : asks, Errors: [], Warnings: [] });
  };
  const session = new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s');
  let runs = 0;
  let run = () => 'paid';
  const tools = [{ name: 'pay', run: () => ((runs += 1), run()) }];
  const left = new AbortController();
  const turn = session.turn({ Instruction: 'x' }, { turnId: 't', tools, signal: left.signal });
  turn.on('tool_calls', () => left.abort(new Error('left')));
  await assert.rejects(turn.final(), /left/);
  assert.equal(runs, 0);
  let end;
  run = () => new Promise((resolve) => (end = () => resolve('paid')));
  const first = session.attach('t', { tools }).final();
  while (!end) await soon();
  const gone = new AbortController();
  const second = session.attach('t', { tools, signal: gone.signal });
  second.on('tool_calls', () => setImmediate(() => gone.abort(new Error('gone'))));
  await assert.rejects(second.final(), /gone/);
  end();
  await first;
  assert.deepEqual([runs, results.map(({ ResultJson }) => ResultJson)], [1, ['"paid"']]);
});

test('words whose steer fails after it was delivered leave the rest of the turn to the words behind them', { timeout: 10_000 }, async () => {
  const told = [];
  let wake;
  const tell = (event) => (told.push(event), wake?.());
  const steers = new Map();
  const turn = {
    turnId: 't',
    steer: (_, { steerId }) => new Promise((taken, lost) => steers.set(steerId, { taken, lost })),
    async *[Symbol.asyncIterator]() {
      for (let at = 0; ; at += 1) {
        while (told.length <= at) await new Promise((heard) => (wake = heard));
        yield told[at];
        if (told[at].type === 'result') return;
      }
    },
  };
  const transport = new AptixChatTransport({ client: { session: (sessionId) => ({ sessionId, turn: () => turn }) }, steer: 'add' });
  const send = (id) => transport.sendMessages({ trigger: 'submit-message', chatId: 's', messages: [{ id, role: 'user', parts: [{ type: 'text', text: id }] }] });
  const delivered = (SteerId) => tell({ type: 'progress', progress: { Kind: 'steer', SteerId, State: 'delivered' } });
  const first = Array.fromAsync(await send('t'));
  tell({ type: 'text', segment: 0, delta: 'One', position: '0.3' });
  while (!wake || told.length > 1) await soon();
  await soon();
  const lost = send('a');
  while (!steers.has('a')) await soon();
  const second = send('b');
  while (!steers.has('b')) await soon();
  steers.get('b').taken();
  const rest = Array.fromAsync(await second);
  delivered('a');
  await first;
  steers.get('a').lost(Object.assign(new Error('lost'), { code: 'connection_lost' }));
  await assert.rejects(lost, /lost/);
  delivered('b');
  tell({ type: 'result', response: { Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText: 'Two' } });
  const said = (await rest).filter(({ type }) => type === 'text-delta').map(({ delta }) => delta);
  assert.deepEqual(said, ['Two']);
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

test('who cancels waits for no head that something between holds back, no turn that is never sent and no answer that does not come', { timeout: 10_000 }, async (t) => {
  // Two seconds and more are of this clock; sockets of other tests have shorter timers, which run on.
  const { setTimeout: begin, clearTimeout: end } = globalThis;
  const waits = new Map();
  t.mock.method(globalThis, 'setTimeout', (act, ms, ...rest) => {
    if (!(ms >= 2000)) return begin(act, ms, ...rest);
    const wait = { ms, ref: () => wait, unref: () => wait, refresh: () => wait };
    waits.set(wait, act);
    return wait;
  });
  t.mock.method(globalThis, 'clearTimeout', (timer) => void (waits.delete(timer) || end(timer)));
  const twoSecondsPass = () => {
    for (const [wait, act] of [...waits]) if (wait.ms === 2000 && waits.delete(wait)) act();
  };
  const settled = async () => {
    for (let times = 0; times < 20; times += 1) await soon();
  };
  const turnOf = (answers, more) => {
    const asked = [];
    const fetch = (url) => {
      asked.push(new URL(url).pathname.split('/').at(-1));
      const Result = answers[asked.at(-1)]?.(asked.length);
      if (!Result) return new Promise(() => {});
      return Promise.resolve(Response.json(Result.ErrorCode ? { Successful: false, Errors: [Result] } : { Successful: true, Result }, { status: Result.ErrorCode ? 404 : 200 }));
    };
    return { asked, turn: new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').turn({ Instruction: 'x' }, { turnId: 't', ...more }) };
  };
  const reads = [(turn) => void turn.final().catch(() => {}), (turn) => turn[Symbol.asyncIterator](), (turn) => turn.toReadableStream().cancel()];
  for (const read of reads) {
    const { turn } = turnOf({ cancel: () => ({ Status: 'aborted' }) });
    read(turn);
    const cancelled = turn.cancel();
    await settled();
    twoSecondsPass();
    assert.equal((await cancelled).Status, 'aborted');
  }
  // A reader that has left before anything was sent is told so.
  const leaves = [
    (turn) => turn.toReadableStream().cancel(),
    (turn) => turn[Symbol.asyncIterator]().return(),
    (turn) => turn[Symbol.asyncIterator]().throw(new Error('left')).catch(() => {}),
    (turn) => turn.textStream.return(),
    // As a pipeline does to a page that is gone.
    (turn) => void Readable.from(turn.textStream).destroy(),
  ];
  for (const leave of leaves) {
    const { asked, turn } = turnOf({});
    await leave(turn);
    await assert.rejects(turn.final(), /no longer watched/);
    assert.deepEqual(asked, []);
  }

  const left = new AbortController();
  const silent = turnOf({}, { signal: left.signal, cancelOnAbort: true });
  const final = assert.rejects(silent.turn.final(), /left/);
  await settled();
  left.abort(new Error('left'));
  for (const asked of [['execute'], ['execute', 'cancel']]) {
    await settled();
    assert.deepEqual(silent.asked, asked);
    twoSecondsPass();
    await settled();
  }
  await final;

  // What is about a turn that is on its way for longer is sent once more.
  const missing = { ErrorCode: 'session_not_found', Message: 'No.', SystemError: false };
  const late = { steer: [(turn) => turn.steer('More.'), { State: 'pending' }], cancel: [(turn) => turn.cancel(), { Status: 'aborted' }] };
  for (const [what, [ask, told]] of Object.entries(late)) {
    const slow = turnOf({ [what]: (count) => (count === 2 ? missing : told) });
    const stream = slow.turn.toReadableStream();
    const answered = ask(slow.turn);
    await settled();
    twoSecondsPass();
    await settled();
    assert.deepEqual(slow.asked, ['execute', what]);
    await stream.cancel();
    assert.deepEqual(await answered, told);
  }
});

test('a fetch whose bodies are streams of Node, or none, reads JSON by itself', async () => {
  const session = { SessionId: 's', Turns: 3 };
  for (const body of [Readable.from(['{}']), null]) {
    const json = async () => ({ Successful: true, Result: session, Errors: [], Warnings: [] });
    const fetch = async () => ({ status: 200, ok: true, headers: new Headers({ 'Content-Type': 'application/json' }), body, json });
    assert.deepEqual(await new Aptix({ baseUrl: 'http://service.invalid', fetch }).session('s').get(), session);
  }
});

test('an erasure is done where its session is gone after an object that had not answered yet began again, or failed', async () => {
  for (const first of [[503, 'overloaded'], [500, 'internal']]) {
    const answers = [first, [404, 'session_not_found']];
    const fetch = async () => {
      const [status, ErrorCode] = answers.shift();
      return Response.json({ Successful: false, Errors: [{ ErrorCode, Message: 'No.', SystemError: false }] }, { status });
    };
    const aptix = new Aptix({ baseUrl: 'http://service.invalid', fetch, retryDelayMs: 1, retryFailedTurns: 1 });
    assert.equal(await aptix.session('s').erase(), undefined, first[1]);
  }
});

test('the transport of many chats holds nothing of one whose turn has ended when another one goes on', async () => {
  const held = [];
  const session = (sessionId) => ({
    sessionId,
    turn() {
      const events = async function* () {
        yield { type: 'result', response: { Kind: 'final', SessionId: sessionId, TurnId: 'm', PrimaryOutputText: 'Said.' } };
      };
      const turn = { steer() {}, [Symbol.asyncIterator]: events };
      held.push(new WeakRef(turn));
      return turn;
    },
  });
  const transport = new AptixChatTransport({ client: { session } });
  for (const chatId of ['one', 'two']) {
    const messages = [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi.' }] }];
    const chunks = await Array.fromAsync(await transport.sendMessages({ trigger: 'submit-message', chatId, messages }));
    assert.equal(chunks.at(-1).type, 'finish');
  }
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  for (let times = 0; times < 50 && held[0].deref(); times += 1) {
    await soon();
    collect();
  }
  assert.equal(held[0].deref(), undefined);
});
