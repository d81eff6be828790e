// Forks by the client, against the Worker: another way on from an earlier turn, made once however often it is asked for.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { apiKeys } from '../../../tests/e2e/harness.mjs';
import { answer, call, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix, AptixError, Session } from '../dist/index.js';
import { rigBehindProxy } from './behind_proxy.mjs';

const KEY = 'key-of-the-client';
let aptix;
const options = {
  vars: { AUTH: undefined, API_KEYS: apiKeys({ [KEY]: 'one' }) },
  catalog: (catalog) => void (catalog.ConversationContexts.brief = { ...catalog.ConversationContexts.default, BootPrompt: 'Be brief.' }),
};
const { rig, proxy } = rigBehindProxy(options, () => void (aptix = new Aptix({ baseUrl: proxy.url, apiKey: KEY, retryDelayMs: 1 })));
const says = async (session, turnId, words) => {
  rig.model.script(answer(text(words)));
  return (await session.turn({ Instruction: `Turn ${turnId}.` }, { turnId }).final()).PrimaryOutputText;
};
/** A session of three turns, `1` to `3`. */
async function parent(sessionId) {
  const session = aptix.session(sessionId);
  for (const turnId of ['1', '2', '3']) await says(session, turnId, `Answer ${turnId}.`);
  return session;
}

test('a fork goes on from a turn, and its parent goes on as it is', async () => {
  const session = await parent('forks');
  const fork = await session.fork({ AfterTurnId: '2' });
  assert.ok(fork instanceof Session && fork.sessionId !== session.sessionId);
  assert.deepEqual([fork.SessionId, fork.ParentSessionId, fork.AfterTurnId, fork.Turns], [fork.sessionId, 'forks', '2', 2]);
  assert.deepEqual((await fork.get()).Parent, { SessionId: 'forks', TurnId: '2' });
  assert.equal((await fork.attach('2').final()).PrimaryOutputText, 'Answer 2.');
  assert.equal(await says(fork, '3', 'Otherwise.'), 'Otherwise.');
  const { body } = rig.model.requests.at(-1);
  assert.ok(!JSON.stringify(body.input).includes('Answer 3.'));
  assert.equal((await session.getTurn('3')).Outcome.Result.PrimaryOutputText, 'Answer 3.');
  assert.equal(await says(session, '4', 'Answer 4.'), 'Answer 4.');

  const brief = await fork.fork({ SessionId: 'forks-brief', ConversationContextId: 'brief' });
  assert.deepEqual([brief.sessionId, brief.AfterTurnId, brief.Turns], ['forks-brief', '3', 3]);
  await says(brief, '4', 'Short.');
  assert.ok(JSON.stringify(rig.model.requests.at(-1).body.input).includes('Be brief.'));
});

test('a fork is made once, wherever its answer is lost', async () => {
  const session = await parent('lost');
  for (const [at, fault] of [{ cutAfter: -1 }, { cutAfter: -2 }, { cutAfter: 20, cut: 'end' }, { says: { status: 502, text: '<html>' } }].entries()) {
    const faults = [fault, fault];
    proxy.requests.length = 0;
    proxy.fault = ({ url }) => (url.endsWith('/fork') ? faults.shift() : undefined);
    const fork = await session.fork(at % 2 ? {} : { SessionId: `lost-${at}` });
    assert.deepEqual([faults.length, fork.Turns], [0, 3]);
    const bodies = proxy.requests.filter(({ url }) => url.endsWith('/fork')).map(({ body }) => body);
    assert.equal(bodies.length, 3);
    assert.equal(new Set(bodies).size, 1, 'each repetition is the same request');
    assert.equal((await fork.get()).TurnCount, 3);
  }
  const again = () => session.fork({ SessionId: 'lost-again', AfterTurnId: '1' });
  assert.deepEqual((await again()).Turns, (await again()).Turns);
});

test('what cannot be forked says why', async () => {
  const session = aptix.session('refused');
  await assert.rejects(session.fork(), { code: 'session_not_found' });
  rig.model.script(answer(call('read', {})));
  const tools = [{ name: 'read', run: () => 'contents' }];
  const turn = session.turn({ Instruction: 'Read.' }, { turnId: '1', tools });
  for await (const event of turn) if (event.type === 'tool_calls') break;
  const waits = await session.fork().catch((error) => error);
  assert.ok(waits instanceof AptixError);
  assert.deepEqual([waits.code, waits.details.TurnId, waits.retryable, waits.whoActs], ['turn_not_ended', '1', true, 'client']);
  await session.cancel('1');
  assert.equal((await session.fork({ SessionId: 'refused-fork' })).AfterTurnId, '1');
  await assert.rejects(session.fork({ SessionId: 'refused' }), { code: 'session_exists', retryable: false });
  await assert.rejects(session.fork({ AfterTurnId: 'none' }), { code: 'turn_not_found' });
  await assert.rejects(session.fork({ ConversationContextId: 'none' }), { code: 'context_not_found' });
});
