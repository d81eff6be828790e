// Two versions in the real runtime, as they meet after a deploy (interface §3): the Worker in front of a newer and of an older
// version than its objects, and objects of two versions among themselves.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventually, refusalOf, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';
import { APART, TWO_VERSIONS } from './two_versions_worker.mjs';

const rig = rigForFile({ vars: { TURN_ALARM_MS: '300' }, front: TWO_VERSIONS });
const as = (user) => ({ headers: { 'Aptix-User': user } });
const apart = (by) => fetch(new URL(APART, rig.url), { method: 'POST', body: JSON.stringify({ door: 0, objects: 0, ...by }), headers: { connection: 'close' } });
const say = async (body, who) => {
  rig.model.script(answer(text('Hello, you.')));
  return resultOf(await rig.post(body, who));
};
const ids = async (user) => resultOf(await rig.get('/sessions', as(user))).Sessions.map(({ SessionId }) => SessionId);
/** The rows that the objects of sessions, users and workspaces hold, each class with the counts of its objects. */
async function held() {
  const tables = { SessionObject: 'turns', UserObject: 'sessions', WorkspaceIndex: 'documents' };
  const counts = ([className, table]) => rig.rowsOf(className, table, `SELECT count(*) AS rows FROM ${table}`);
  return (await Promise.all(Object.entries(tables).map(counts))).map((rows) => rows.map(({ rows: count }) => count).sort());
}
/** Fails unless the response tells its client to come again, which the log tells its operator. */
async function isRefused(response, what) {
  assert.deepEqual(refusalOf(response), [503, 'overloaded'], what);
  assert.equal(response.headers.get('retry-after'), '5', what);
  assert.deepEqual((await rig.refusalLine(response)).codes, ['overloaded'], what);
}

for (const [by, which, article] of [[1, 'newer', 'a'], [-1, 'older', 'an']]) {
  test(`objects refuse whatever a Worker of ${article} ${which} version asks, do nothing of it, and do it once both are of one`, async () => {
    const turn = userTurn({ SessionId: `s-${which}` });
    const next = { ...turn, TurnId: 'turn-2' };
    const documents = [{ Path: 'a.md', Contents: 'alpha' }];
    await say(turn);
    await say({ ...turn, SessionId: 'kept' }, as(`ann-${which}`));
    resultOf(await rig.put(`w-${which}`, documents));
    await eventually(async () => (await ids(`ann-${which}`)).length === 1, 'the session of the user is known');
    const [before, calls] = [await held(), rig.model.requests.length];
    for (const rows of before) assert.ok(rows.includes(1), JSON.stringify(before));
    await apart({ door: by });
    const path = `/sessions/${turn.SessionId}`;
    const requests = [
      ['POST', '/execute', next],
      ['POST', '/execute', { ...next, Streaming: true }],
      ['POST', '/execute', { ...next, SessionId: 'new' }, as(`ann-${which}`)],
      ['POST', `${path}/turns/${turn.TurnId}/cancel`],
      ['POST', `${path}/fork`, { SessionId: 'fork' }],
      ['GET', path],
      ['GET', `${path}/turns/${turn.TurnId}`],
      ['GET', `${path}/turns/${turn.TurnId}/stream`],
      ['GET', `${path}/export`],
      ['DELETE', path],
      ['GET', '/sessions', undefined, as(`ann-${which}`)],
      ['DELETE', `/users/ann-${which}`],
      ['PUT', `/workspaces/w-${which}/documents`, { Documents: [{ Path: 'b.md', Contents: 'beta' }] }],
      ['POST', `/workspaces/w-${which}/search`, { Query: 'alpha' }],
    ];
    for (const [method, route, body, who] of requests) await isRefused(await rig.request(method, route, { body, ...who }), `${method} ${route}`);
    assert.deepEqual(await held(), before);
    assert.equal(rig.model.requests.length, calls);

    await apart({});
    await say(next);
    assert.equal(resultOf(await rig.get(`${path}/turns`)).Turns.length, 2);
    assert.deepEqual(await ids(`ann-${which}`), ['kept']);
    assert.equal((await rig.request('DELETE', path)).status, 200);
    assert.deepEqual(refusalOf(await rig.get(path)), [404, 'session_not_found']);
  });

  test(`an object of ${article} ${which} version begins no session of which it cannot tell its user's object, and tells it of a turn later`, async () => {
    const user = `bob-${which}`;
    const turn = userTurn();
    const before = await held();
    await apart({ objects: by });
    await isRefused(await rig.post(turn, as(user)), 'a session that begins');
    assert.deepEqual(await held(), before);
    await apart({});
    await say(turn, as(user));
    assert.deepEqual(await ids(user), [turn.SessionId]);

    await apart({ objects: by });
    await say({ ...turn, TurnId: 'turn-2' }, as(user));
    await apart({});
    const turns = async () => resultOf(await rig.get('/sessions', as(user))).Sessions[0].Turns;
    await eventually(async () => (await turns()) === 2, `the user's object is told of the second turn`);
  });
}
