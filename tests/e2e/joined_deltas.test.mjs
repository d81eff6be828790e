// Deltas that come fast are joined (interface §2, Delivery), by the interval that DELTA_INTERVAL_MS sets.
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { UNJOINED, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { Gate, answer, text } from './scripted_model.mjs';

const WORDS = Array.from({ length: 40 }, (_, index) => `${index} `);
const deltas = (stream) => stream.of('output_text.delta').map(({ data }) => JSON.parse(data).Delta);

describe('with an interval longer than the answer', () => {
  // Text is held for half of the longest silence.
  const rig = rigForFile({ vars: { DELTA_INTERVAL_MS: '60000', UPSTREAM_IDLE_TIMEOUT_MS: '5000', KEEP_ALIVE_MS: '100' } });

  test('the first delta goes out at once, and the rest together when the answer has ended', async () => {
    const gate = new Gate();
    rig.model.script(answer(text(WORDS[0], gate, ...WORDS.slice(1))).with({ delayMs: 5 }));
    const stream = await rig.stream(userTurn({ Streaming: true }));
    await stream.until(({ text: seen }) => seen === WORDS[0], 'the first delta, which did not wait for the others');
    gate.open();
    await stream.end();
    assert.ok(deltas(stream).length <= 3, `${deltas(stream).length} deltas of 40`);
    assert.equal(stream.text, WORDS.join(''));
    assert.equal(JSON.parse(stream.result).Result.PrimaryOutputText, WORDS.join(''));
  });

  test('text is not held for more to come: a silent model service cannot keep it back', async () => {
    const gate = new Gate();
    rig.model.script(answer(text('Half', ' of', ' it', gate, '.')));
    const stream = await rig.stream(userTurn({ Streaming: true }));
    await stream.until(({ text: seen }) => seen === 'Half of it', 'all that has come');
    gate.open();
    await stream.end();
    assert.equal(stream.text, 'Half of it.');
  });

  test('a turn whose text gathers can be joined by others, and cancelled', async () => {
    const gate = new Gate();
    rig.model.script(answer(text(...WORDS, gate)));
    const turn = userTurn({ Streaming: true });
    const first = await rig.stream(turn);
    await first.until(({ text: seen }) => seen.length > 0, 'the first delta');
    const second = await rig.stream(turn);
    await second.until(({ text: seen }) => seen === WORDS.join(''), 'all that has come');
    const path = `/sessions/${turn.SessionId}/turns/${turn.TurnId}`;
    resultOf(await rig.request('POST', `${path}/cancel`));
    await Promise.all([first.end(), second.end()]);
    assert.equal(JSON.parse(first.result).Errors[0].ErrorCode, 'turn_aborted');
    assert.equal(first.result, second.result);
    await eventually(() => rig.model.requests.at(-1).abortedAt !== null, 'the end of the call');
    gate.open();
  });
});

// By itself: with so short a time, a busy machine would end what waits at a gate.
describe('with an interval longer than the answer, and than the longest silence', () => {
  const rig = rigForFile({ vars: { DELTA_INTERVAL_MS: '60000', UPSTREAM_IDLE_TIMEOUT_MS: '1000' } });

  test('a silence ends the turn as it would without joining', async () => {
    // A call that was silent from its beginning is made again.
    rig.model.otherwise(answer(text(...WORDS)).with({ silentAfter: 20 }));
    const stream = await (await rig.stream(userTurn({ Streaming: true }))).end();
    assert.equal(JSON.parse(stream.result).Errors[0].ErrorCode, 'upstream_timeout');
    assert.equal(stream.text, WORDS.slice(0, 16).join(''));
  });
});

describe('with an interval of 0', () => {
  const rig = rigForFile(UNJOINED);

  test('each delta is an event by itself, however many came together', async () => {
    rig.model.script(answer(text(...WORDS)));
    const stream = await (await rig.stream(userTurn({ Streaming: true }))).end();
    assert.deepEqual(deltas(stream), WORDS);
  });
});
