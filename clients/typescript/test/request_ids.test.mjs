// The id of each request, against the Worker: each response and each error has the id by which the service's log has the request.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UNJOINED, eventually, rigForFile } from '../../../tests/e2e/harness.mjs';
import { answer, httpError, text } from '../../../tests/e2e/scripted_model.mjs';
import { Aptix } from '../dist/index.js';
import { Workspace } from '../dist/workspace.js';

const rig = rigForFile(UNJOINED);
/** The lines of the log that have this id. */
const logged = (id) => rig.logs.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line)).filter(({ request_id: of }) => of === id);

test('every response has an id of its own, and every error the id of its response and of the log', async () => {
  const ids = [];
  const tell = async (url, init, next) => {
    const response = await next(url, init);
    ids.push(response.headers.get('Aptix-Request-Id'));
    return response;
  };
  const aptix = new Aptix({ baseUrl: `${rig.url}`, retryDelayMs: 1, middleware: [tell] });
  const session = aptix.session('request-ids');
  rig.model.script(answer(text('Hi.')));
  const turn = session.turn({ Instruction: 'Hello' }, { turnId: '1' });
  await turn.final();
  assert.equal(turn.requestId, ids.at(-1));
  const { requestId } = await session.get().withResponse();
  assert.equal(requestId, ids.at(-1));
  await eventually(() => logged(ids[0]).length > 0, 'the turn is in the log');
  await session.fork();
  await session.attach('1').final();
  await Promise.all([aptix.health(), aptix.errors(), session.trace('1'), session.export(), session.cancel('1'), new Workspace(aptix, 'w').put([{ Path: 'a', Contents: 'b' }])]);

  rig.model.script(httpError(401, { message: 'No.', code: 'invalid_api_key' }));
  const refused = {
    upstream_rejected: () => session.turn({ Instruction: 'Hello' }).final(),
    invalid_field: () => session.turn({ Instruction: 1 }).final(),
    session_not_found: () => aptix.session('nowhere').get(),
    turn_not_found: () => session.attach('nowhere').final(),
    session_exists: () => session.fork({ SessionId: 'request-ids' }),
    not_found: () => aptix.request({ method: 'GET', path: '/nowhere' }),
  };
  for (const [code, ask] of Object.entries(refused)) {
    const error = await ask().then(() => assert.fail(code), (failure) => failure);
    assert.deepEqual([error.code, error.requestId], [code, ids.at(-1)], error.message);
    await eventually(() => logged(error.requestId).length > 0, `${code} is in the log under its id`);
  }
  for (const id of ids) assert.match(id ?? 'none', /^[A-Za-z0-9_-]{8,64}$/);
  assert.equal(new Set(ids).size, ids.length);
  await aptix.session('request-ids', { headers: { 'Aptix-Request-Id': 'mine_1' } }).get();
  assert.equal(ids.at(-1), 'mine_1', 'an id of the caller is kept');
  assert.deepEqual(rig.model.leftovers, []);
});
