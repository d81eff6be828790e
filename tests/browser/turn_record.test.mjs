// The playground's record of a turn, from the events that a stream may bring (interface §2, Delivery).
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';

const entryPoints = [fileURLToPath(new URL('../../clients/playground/src/store/turn_record.ts', import.meta.url))];
const { outputFiles } = await build({ entryPoints, bundle: true, format: 'esm', write: false });
const turns = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].contents).toString('base64')}`);

const text = (segment, delta, position = `${segment}.1`) => ({ type: 'text', segment, delta, position });
const discard = (segment) => ({ type: 'discard', segment });
const progress = (Kind, more = {}) => ({ type: 'progress', progress: { Kind, ...more } });
const final = (PrimaryOutputText, more = {}) => ({
  type: 'result',
  response: { Kind: 'final', SessionId: 's', TurnId: 't', ModeDisplayName: 'General', PrimaryOutputText, ...more },
});
const call = { ToolCallId: 'c', Name: 'read', ArgumentsJson: '{}' };
const pause = (more = {}) => ({
  type: 'result',
  response: { Kind: 'client_tool_continuation', SessionId: 's', TurnId: 't', ModeDisplayName: 'General', ToolCalls: [call], ...more },
});
const after = (...events) => events.reduce(turns.after, turns.begun('t', { text: 'Hello', pictures: [], files: [] }, 0));
const texts = ({ steps }) => steps.filter(({ kind }) => kind === 'text').map((step) => step.text);

const calls = [call, { ...call, ToolCallId: 'd' }];
const given = (ToolCallId, ResultJson = '1') => ({ ToolCallId, ExecutionMs: 1, ResultJson });
const standing = (record) => record.steps.filter(({ kind }) => kind === 'client_call').map((step) => turns.standingOf(step, record).at);

test('an answer waits for the others of its pause, is on its way with them, and counts once the service has it', () => {
  const asked = after(pause({ ToolCalls: calls }));
  assert.deepEqual(standing(asked), ['asked', 'asked']);
  const first = turns.answered(asked, given('c'));
  assert.deepEqual([standing(first), first.status], [['decided', 'asked'], 'awaiting_tools']);
  assert.deepEqual(standing(turns.takenBack(first, 'c')), ['asked', 'asked']);
  const whole = turns.answered(first, given('d'));
  assert.deepEqual([standing(whole), whole.status, turns.isSending(whole)], [['sending', 'sending'], 'awaiting_tools', true]);
  // Of what is on its way nothing can be taken back, and nothing be answered once more.
  assert.deepEqual(turns.takenBack(turns.answered(whole, given('c', '2')), 'd'), whole);
  assert.deepEqual(turns.answersTo(whole, calls), [given('c'), given('d')]);
  const taken = turns.taken(whole);
  assert.deepEqual([standing(taken), taken.status], [['taken', 'taken'], 'running']);
  assert.deepEqual(turns.overtaken(taken), taken);
  assert.deepEqual(standing(turns.overtaken(whole)), ['elsewhere', 'elsewhere']);
  assert.deepEqual(standing(turns.failed(first, { code: 'turn_aborted', message: '' })), ['unanswered', 'unanswered']);
});

test('an answer that the service refused waits again with what was wrong, and the others of its pause stay', () => {
  const whole = [given('c'), given('d')].reduce(turns.answered, after(pause({ ToolCalls: calls })));
  const again = turns.refused(whole, new Map([['d', 'wrong']]));
  assert.deepEqual(turns.unanswered(again), [calls[1]]);
  assert.deepEqual(again.steps[1], { kind: 'client_call', call: calls[1], answering: { at: 'asked', refused: { answer: given('d'), message: 'wrong' } } });
  const done = turns.answered(again, given('d', '2'));
  assert.deepEqual(turns.answersTo(done, calls).map(({ ResultJson }) => ResultJson), ['1', '2']);
});

test('words that were added stand where they came, and what is told late takes nothing back', () => {
  const steer = (State) => progress('steer', { SteerId: 'a', State });
  const steers = ({ steps }) => steps.filter(({ kind }) => kind === 'steer').map(({ id, state, asked }) => [id, state, asked?.text]);
  const asked = { text: 'Shorter.', pictures: [], files: [] };
  const sent = turns.steered(after(text(0, 'The long')), { id: 'a', state: 'sending', asked, isInterrupt: true });
  const delivered = [steer('accepted'), steer('delivered'), discard(0), text(1, 'Short.')].reduce(turns.after, sent);
  assert.deepEqual(steers(delivered), [['a', 'delivered', 'Shorter.']]);
  assert.deepEqual(delivered.steps.map(({ kind }) => kind), ['steer', 'text']);
  // The answer to the request may come after the events of the turn.
  assert.deepEqual(steers(turns.steered(delivered, { id: 'a', state: 'pending' })), [['a', 'delivered', 'Shorter.']]);
  assert.deepEqual(steers(turns.withoutSteer(sent, 'a')), []);
  assert.deepEqual(steers(after(steer('accepted'))), [['a', 'pending', undefined]], 'another tab has added it');
});

test('words that no model has got stay below what comes, and those that it has got stand between what was said before and after', () => {
  const asked = { text: 'Shorter.', pictures: [], files: [] };
  const sent = turns.steered(after(text(0, 'The')), { id: 'a', state: 'sending', asked });
  const steer = (State) => progress('steer', { SteerId: 'a', State });
  const kinds = ({ steps }) => steps.map(({ kind }) => kind);
  const waiting = [steer('accepted'), text(0, ' long'), text(1, 'one')].reduce(turns.after, sent);
  assert.deepEqual(kinds(waiting), ['text', 'text', 'steer']);
  assert.deepEqual(kinds([steer('delivered'), text(2, 'Short.')].reduce(turns.after, waiting)), ['text', 'text', 'steer', 'text']);
  assert.deepEqual(kinds([steer('kept'), final('The long one.')].reduce(turns.after, waiting)), ['text', 'steer'], 'the next turn has them');
});

test('text is dropped when it was not the answer, however often that is said, and may come again under its number', () => {
  assert.deepEqual(texts(after(text(0, 'I lo'), text(0, 'ok'), discard(0), discard(0), discard(7))), []);
  assert.deepEqual(texts(after(text(0, 'I look'), discard(0), text(0, 'Yes'), text(0, '!'))), ['Yes!']);
  assert.deepEqual(texts(after(text(0, 'I look'), discard(0), text(1, 'Ye'), final('Yes.'))), ['Yes.']);
});

test('a resumed stream goes on where it was, and a turn that is sent again starts anew', () => {
  const cut = after(text(0, 'Hel', '0.3'));
  assert.equal(cut.position, '0.3');
  const lost = turns.failed(cut, { code: 'connection_lost', message: '' });
  assert.deepEqual([lost.status, texts(turns.after(lost, text(0, 'lo', '0.5')))], ['lost', ['Hello']]);
  const anew = turns.anew(lost);
  assert.deepEqual([texts(anew), 'position' in anew], [[], false]);
});

test('an answer to which words were added stays to be read, and what they interrupt does not', () => {
  const steer = progress('steer', { SteerId: 'a', State: 'accepted' });
  const delivered = progress('steer', { SteerId: 'a', State: 'delivered' });
  const read = after(text(0, 'The first.'), steer, delivered, discard(0), text(1, 'The second.'), final('The second.'));
  assert.deepEqual([texts(read), turns.answerOf(read)], [['The first.', 'The second.'], 'The second.']);
  // Words that came before the text have nothing to do with its end.
  assert.deepEqual(texts(after(steer, delivered, text(1, 'Half'), discard(1), text(2, 'Whole.'))), ['Whole.']);
});

test('what is said beside a call is shown once and stays; the same pause that comes again adds nothing', () => {
  const paused = after(text(0, 'I read it.'), pause({ ToolContinuationMessage: 'I read it.' }), pause({ ToolContinuationMessage: 'I read it.' }));
  assert.deepEqual([paused.status, texts(paused), turns.unanswered(paused)], ['awaiting_tools', ['I read it.'], [call]]);
  const result = { ToolCallId: 'c', ExecutionMs: 1, ResultJson: '1' };
  const answered = turns.answered(paused, result);
  assert.deepEqual([answered.status, turns.answersTo(answered, [call])], ['awaiting_tools', [result]]);
  const ended = turns.after(turns.after(turns.taken(answered), text(1, 'Do')), final('Done.'));
  assert.deepEqual([texts(ended), turns.answerOf(ended)], [['I read it.', 'Done.'], 'Done.']);
});

test('a server tool is one card from its start to its result', () => {
  const of = { ToolCallId: 'x', Name: 'look_up' };
  const { steps } = after(
    progress('server_tool', { ...of, State: 'started' }),
    progress('server_tool', { ...of, State: 'finished', Successful: false, ExecutionMs: 3 }),
    final('It failed.', { ToolResults: [{ ToolCallId: 'x', ExecutionMs: 4, ErrorMessage: 'no' }] }),
  );
  assert.deepEqual(steps.map(({ kind, state, ms }) => [kind, state, ms]), [['server_tool', 'failed', 4], ['text', undefined, undefined]]);
});

test('what was asked for of a server tool while it ran stays when it has ended', () => {
  const of = { ToolCallId: 'x', Name: 'look_up' };
  const running = after(progress('server_tool', { ...of, State: 'started' }));
  const asked = { ...running, steps: running.steps.map((step) => ({ ...step, argumentsJson: '{"a":1}' })) };
  const [step] = turns.after(asked, progress('server_tool', { ...of, State: 'finished', Successful: true, ExecutionMs: 3 })).steps;
  assert.deepEqual([step.state, step.argumentsJson], ['done', '{"a":1}']);
});
