// Two releases, one after the other, on one storage, and both mixtures of a deploy between them: the newer one in front of objects
// of the earlier one, and the reverse; a part of `make test-long`. The earlier one is the build in the folder EARLIER, or the
// newest tag before this commit, which is built once, in target/earlier/. Where there is no tag, nothing is run.
//
// A mixture understands everything, or refuses everything and does nothing of it: 503 with Retry-After. Whatever was acknowledged
// is there when all is of the newer one.
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { Rig, clientTool, eventually, refusalOf, resultOf } from '../e2e/harness.mjs';
import { answer, call, text } from '../e2e/scripted_model.mjs';
import { made, sourcesOf } from '../../tools/release/sources.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const earlier = process.env.EARLIER ?? builtTag();
const ANN = { headers: { 'Aptix-User': 'ann' } };
const SESSION = { SessionId: 's' };
const PENDING = { SessionId: 'waits', TurnId: '1', Instruction: 'Read.', ToolsJson: JSON.stringify([clientTool('read_file')]) };

const rig = new Rig({ vars: { TURN_ALARM_MS: '300' }, front: earlier === undefined ? [] : front('earlier', 'earlier') });
after(() => rig.dispose());
/** What was acknowledged: turns of the session, sessions of the user, documents of the workspace. */
const there = { turns: [], sessions: [], documents: [] };

test('what one release has acknowledged is there in the next, and a mixture of both does what it is asked or refuses it', { skip: earlier === undefined && 'there is no tag of an earlier release' }, async () => {
  await rig.start();
  assert.equal(await understood(), true);
  await everything('earlier');
  rig.model.script(answer(call('read_file', { path: 'a' })));
  const { ToolCalls: [{ ToolCallId }] } = resultOf(await rig.post(PENDING));

  await mixture('newer-in-front', front('newer', 'earlier'));
  await mixture('earlier-in-front', front('earlier', 'newer'));

  await rig.restart({ front: front('newer', 'newer') });
  rig.model.script(answer(text('Read.')));
  resultOf(await rig.post({ SessionId: PENDING.SessionId, TurnId: PENDING.TurnId, ToolResults: [{ ToolCallId, ExecutionMs: 1, ResultJson: '1' }] }));
  await everything('newer');
  const { Turns } = resultOf(await rig.get('/sessions/s/turns'));
  assert.deepEqual(Turns.map(({ TurnId }) => TurnId).sort(), there.turns.toSorted());
  await eventually(async () => {
    const { Sessions } = resultOf(await rig.get('/sessions', ANN));
    return Sessions.map(({ SessionId }) => SessionId).sort().join() === there.sessions.toSorted().join();
  }, 'the user has every session, and no other');
  const { Chunks } = resultOf(await rig.request('POST', '/workspaces/w/search', { body: { Query: 'pelican' } }));
  assert.deepEqual([...new Set(Chunks.map(({ Path }) => Path))].sort(), there.documents.toSorted());
});

/** Everything works under the mixture, or nothing does. */
async function mixture(name, modules) {
  await rig.restart({ front: modules });
  if (await understood()) return everything(name);
  const calls = rig.model.requests.length;
  for (const [method, route, body, who] of requests(name)) {
    const refused = await rig.request(method, route, { body, ...who });
    assert.deepEqual(refusalOf(refused), [503, 'overloaded'], `${name}: ${method} ${route}`);
    assert.ok(refused.headers.get('retry-after'), `${name}: ${method} ${route}`);
  }
  assert.equal(rig.model.requests.length, calls, name);
}

const requests = (name) => [
  ['POST', '/execute', { ...SESSION, TurnId: name, Instruction: 'Go on.' }],
  ['POST', '/execute', { SessionId: name, TurnId: '1', Instruction: 'Begin.' }, ANN],
  ['PUT', '/workspaces/w/documents', { Documents: [{ Path: `${name}.md`, Contents: 'A pelican.' }] }],
  ['GET', '/sessions/s'],
  ['GET', '/sessions', undefined, ANN],
];

async function everything(name) {
  for (const [method, route, body, who] of requests(name)) {
    if (route === '/execute') rig.model.script(answer(text('Done.')));
    resultOf(await rig.request(method, route, { body, ...who }));
  }
  there.turns.push(name);
  there.sessions.push(name);
  there.documents.push(`${name}.md`);
}

/** Whether the Worker in front is understood by the objects. */
async function understood() {
  const { status } = await rig.get('/sessions', ANN);
  return status === 200;
}

/** The modules of both releases, of which one is the Worker in front, and the classes of the other are the objects. */
function front(door, objects) {
  const at = { newer: './index.js', earlier: './earlier/index.js' };
  return [
    { name: 'two_releases.js', contents: `export * from '${at[objects]}';\nexport { default } from '${at[door]}';` },
    ...['index.js', 'index_bg.wasm'].map((name) => ({ name: `earlier/${name}`, contents: readFileSync(path.join(earlier, name)) })),
  ];
}

/** The build of the newest tag before this commit; `undefined` where there is none. */
function builtTag() {
  const git = (...args) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
  let tag;
  try {
    tag = git('describe', '--tags', '--abbrev=0', '--match', 'v*', 'HEAD^');
  } catch {
    return undefined;
  }
  const folder = path.join(ROOT, 'target/earlier', tag);
  if (!existsSync(folder)) sourcesOf(tag, git('rev-parse', '--short=8', tag), folder);
  made('build', folder);
  return path.join(folder, 'build');
}
