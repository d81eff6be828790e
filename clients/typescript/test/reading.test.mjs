// What a client makes of bytes: in a time in proportion to their number, and by nothing but what they say.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Aptix, AptixError, memoryStore } from '../dist/index.js';
import { readTurnEvents } from '../dist/relay.js';

/** Bytes in pieces of this length. */
function inPieces(text, length) {
  const bytes = new TextEncoder().encode(text);
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at + length));
      at += length;
    },
  });
}
const outcome = (Result) => JSON.stringify({ Successful: true, Result, Errors: [], Warnings: [] });
const final = (PrimaryOutputText) => ({ Kind: 'final', SessionId: 's', TurnId: 't', PrimaryOutputText });
const streamed = (Result) => `event: result\ndata: ${outcome(Result)}\n\n`;
/** A service that answers with these streams, one after the other; `bodies` is what it was sent. */
function service(...streams) {
  const bodies = [];
  const fetch = async (_, { body }) => {
    bodies.push(JSON.parse(body));
    return new Response(streams.shift(), { headers: { 'Content-Type': 'text/event-stream' } });
  };
  return { bodies, fetch, baseUrl: 'http://service.invalid' };
}
/** Seconds of processor time. */
async function costOf(job) {
  const before = process.cpuUsage();
  await job();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

test('an event of 4 MB in pieces of 512 bytes is read in a time in proportion to it, by the client and by a page', async (t) => {
  const long = 'x'.repeat(4 << 20);
  const read = async (stream) => {
    const { PrimaryOutputText } = await new Aptix(service(stream)).session('s').turn({ Instruction: 'x' }, { turnId: 't' }).final();
    assert.equal(PrimaryOutputText.length, long.length);
  };
  const passedOn = async (stream) => {
    const [{ response }] = await Array.fromAsync(readTurnEvents(stream));
    assert.equal(response.PrimaryOutputText.length, long.length);
  };
  for (const [name, job, text] of [['client', read, streamed(final(long))], ['page', passedOn, `${JSON.stringify({ type: 'result', response: final(long) })}\n`]]) {
    const cost = await costOf(() => job(inPieces(text, 512)));
    t.diagnostic(`${name}: ${cost.toFixed(2)} s`);
    // To search the growing line with each piece took twenty times as long.
    assert.ok(cost < 2, `${name}: ${cost} s`);
  }
});

test('events are the same in pieces of any length, with every end of a line', async () => {
  const text = `: a comment\nevent: output_text.delta\nid: 0.2\ndata: {"Segment":0,"Delta":"ä€"}\n\nevent: output_text.delta\nid: 0.3\ndata: {"Segment":0,\ndata: "Delta":"\u{1f600}"}\n\nevent: no\n\nevent: later\ndata: no JSON\n\n${streamed(final('ä€\u{1f600}'))}data: cut`;
  for (const end of ['\n', '\r\n', '\r']) {
    for (const length of [1, 2, 3, 7, 1000]) {
      const turn = new Aptix(service(inPieces(text.replaceAll('\n', end), length))).session('s').turn({ Instruction: 'x' }, { turnId: 't' });
      const deltas = (await Array.fromAsync(turn)).flatMap(({ type, delta }) => (type === 'text' ? [delta] : []));
      assert.deepEqual(deltas, ['ä€', '\u{1f600}'], JSON.stringify([end, length]));
    }
    const lines = `${JSON.stringify({ type: 'text', delta: 'ä' })}${end}${JSON.stringify({ type: 'result', response: final('ä') })}${end}`;
    for (const length of [1, 2, 1000]) assert.equal((await Array.fromAsync(readTurnEvents(inPieces(lines, length)))).length, 2);
  }
});

test('a call may have an id that every object has', async () => {
  for (const ToolCallId of ['constructor', 'toString', '__proto__', 'hasOwnProperty']) {
    const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: [{ ToolCallId, Name: 'look', ArgumentsJson: '{}' }] };
    const store = memoryStore();
    const { bodies, ...options } = service(streamed(asks), streamed(final('Seen.')));
    let runs = 0;
    const turn = new Aptix({ ...options, store }).session('s').turn({ Instruction: 'x' }, { turnId: 't', tools: [{ name: 'look', run: () => (runs += 1) }] });
    assert.equal((await turn.final()).PrimaryOutputText, 'Seen.');
    assert.deepEqual([runs, bodies[1].ToolResults.map(({ ToolCallId: id, ResultJson }) => [id, ResultJson])], [1, [[ToolCallId, '1']]]);
  }
});

test('results of tools are kept by user: two may have sessions and turns of the same ids', async () => {
  const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: [{ ToolCallId: 'c', Name: 'look', ArgumentsJson: '{}' }] };
  const store = memoryStore();
  const results = [];
  for (const user of ['ann', 'bob', undefined]) {
    // The answer to the results never comes, so that they stay.
    const { bodies, ...options } = service(streamed(asks), new ReadableStream());
    const given = new Promise((resolve) => {
      const { fetch } = options;
      options.fetch = (url, init) => ((JSON.parse(init.body).ToolResults && resolve(JSON.parse(init.body).ToolResults[0].ResultJson)), fetch(url, init));
    });
    const left = new AbortController();
    const turn = new Aptix({ ...options, store, user }).session('s').turn({ Instruction: 'x' }, { turnId: 't', signal: left.signal, tools: [{ name: 'look', run: () => `of ${user}` }] });
    turn.final().catch(() => {});
    results.push(await given);
    left.abort();
  }
  assert.deepEqual(results, ['"of ann"', '"of bob"', '"of undefined"']);
});

test('a store that fails ends the watching with its words, has no tool run again, and takes no answer away', { timeout: 10_000 }, async () => {
  const asks = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: [{ ToolCallId: 'c', Name: 'look', ArgumentsJson: '{}' }] };
  const full = new Error('It is full.');
  const fails = () => new Promise((_, reject) => setImmediate(reject, full));
  const turnOf = (store, tools, ...streams) => new Aptix({ ...service(...streams), store }).session('s').turn({ Instruction: 'x' }, { turnId: 't', tools });
  // Before the tool runs, and when its result is there.
  for (const room of [0, 1]) {
    let [updates, runs] = [0, 0];
    const store = { get: () => undefined, update: () => (updates++ < room ? undefined : fails()) };
    await assert.rejects(turnOf(store, [{ name: 'look', repeatable: true, run: () => (runs += 1) }], streamed(asks)).final(), full);
    assert.equal(runs, room);
  }
  assert.equal((await turnOf({ get: fails, update: fails }, undefined, streamed(final('Done.'))).final()).PrimaryOutputText, 'Done.');
});

test('whatever comes in the place of events is an AptixError', async () => {
  const cut = new ReadableStream({ pull: (controller) => controller.error(new TypeError('terminated')) });
  await assert.rejects(Array.fromAsync(readTurnEvents(new Response(cut, { status: 502 }))), (error) => error instanceof AptixError && error.status === 502);
  const errors = ['null', '"x"', '7', '[]', '{}', '{"errors":null}', '{"errors":"abc"}', '{"errors":[null]}', '{"code":"connection_lost"}'];
  for (const line of [...errors.flatMap((error) => [`{"type":"error","error":${error}}`]), '{"type":"error"}', '{"type":"result"}', '{"type":"result","response":null}', 'null', '7', '[]', '{"type":null}', '<html>', '', '\0']) {
    await assert.rejects(Array.fromAsync(readTurnEvents(new Blob([line, '\n']).stream())), (error) => error instanceof AptixError, line);
    await assert.rejects(Array.fromAsync(readTurnEvents(new Response(line, { status: 502 }))), (error) => error instanceof AptixError, line);
  }
});

test('text that comes twice in a stream counts once', async () => {
  const delta = (at, Delta) => `event: output_text.delta\nid: 0.${at}\ndata: ${JSON.stringify({ Segment: 0, Delta })}\n\n`;
  const stream = delta(3, 'abc') + delta(3, 'abc') + delta(6, 'def') + delta(3, 'abc') + streamed(final('abcdef'));
  const turn = new Aptix(service(stream)).session('s').turn({ Instruction: 'x' }, { turnId: 't' });
  let text = '';
  for await (const event of turn) if (event.type === 'text') text += event.delta;
  assert.equal(text, 'abcdef');
});

test('a page tells a stream that ends while the other side runs a tool from a pause that nobody answers', async () => {
  const calls = [{ ToolCallId: 'c', Name: 'look', ArgumentsJson: '{}' }];
  const pause = { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ToolCalls: calls };
  const linesOf = async (options, ...streams) =>
    new Response(new Aptix(service(...streams)).session('s').turn({ Instruction: 'x' }, { turnId: 't', ...options }).toReadableStream()).text();
  const look = { name: 'look', run: () => 1 };
  const read = async (text) => (await Array.fromAsync(readTurnEvents(new Response(text)))).map(({ type }) => type);

  const whole = await linesOf({ tools: [look] }, streamed(pause), streamed(final('Done.')));
  assert.deepEqual(await read(whole), ['result', 'tool_calls', 'tool_results', 'result']);
  const cut = whole.slice(0, whole.indexOf('{"type":"tool_results"'));
  await assert.rejects(read(cut), (error) => error instanceof AptixError && error.code === 'connection_lost');
  const left = await linesOf({}, streamed(pause));
  assert.deepEqual(await read(left), ['result', 'tool_calls']);
  const [, event] = await Array.fromAsync(readTurnEvents(new Response(left)));
  assert.deepEqual(event, { type: 'tool_calls', calls });
});

test('the message of a lost connection has its reason', async () => {
  const causes = [[new Error('getaddrinfo ENOTFOUND servce'), 'getaddrinfo ENOTFOUND servce'], [new AggregateError([new Error('connect ECONNREFUSED ::1:9')]), 'connect ECONNREFUSED ::1:9']];
  for (const [cause, words] of causes) {
    const fetch = () => Promise.reject(new TypeError('fetch failed', { cause }));
    const aptix = new Aptix({ baseUrl: 'http://service.invalid', fetch, maxReconnects: 0 });
    await assert.rejects(aptix.health(), { message: `The connection was lost: fetch failed (${words}).` });
  }
});
