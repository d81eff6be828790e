// Each kind of request at its limits: what the costliest one that the interface permits looks like, and what has to be
// there before. Owns the requests; neighbours.test.mjs holds their effect on others, ../bench/limits.mjs measures their
// cost.
import http from 'node:http';
import { setTimeout as pause } from 'node:timers/promises';
import { clientTool, httpTool, resultOf, userTurn } from './harness.mjs';
import { answer, call, text } from './scripted_model.mjs';
import { openStream } from '../fakes/model_service/http_service.mjs';
import { frame, newResponse, responseEvents } from '../fakes/model_service/response_stream.mjs';

/** The key of the tenant whose requests these are. */
export const KEY = 'key-of-the-hostile-tenant';

/** `MAX_BODY_BYTES` by default, less what a body has beside its text. */
const BODY = 8 * 1024 * 1024 - 4096;
const LINE = 'export const total = (items) => items.reduce((sum, { price }) => sum + price, 0); // "sum"\n';
/** A text whose JSON has `bytes` bytes, or a little fewer. */
const code = (bytes) => LINE.repeat(Math.floor(bytes / Buffer.byteLength(JSON.stringify(LINE).slice(1, -1))));
const key = KEY;

/** The tools of the catalog for these requests; `changes` for `Rig`'s `catalog`. */
export function addTools(catalog, { toolUrl }) {
  catalog.AgentContexts.default.DeleteStored = false;
  for (const name of ['huge', 'endless', 'files']) {
    catalog.ServerTools.push(httpTool(name, toolUrl, { OnError: 'ReportToModel' }));
    catalog.Modes[0].Tools.push(name);
  }
}

const put = (rig, workspace, Documents) =>
  rig.request('PUT', `/workspaces/${workspace}/documents`, { key, body: { Documents } }).then(resultOf);
const turnWith = (members) => userTurn({ ...members, SessionId: `hostile-${(serial += 1)}` });
let serial = 0;

/** 32 conditions of 100 values of 1,000 characters. No value fits, and all begin alike. */
const SCOPE = {
  Conditions: Array.from({ length: 32 }, (_, number) => ({
    Key: number % 2 === 0 ? 'note' : 'Path',
    Operator: 'does_not_contain',
    Values: Array.from({ length: 100 }, (_, value) => `${'a'.repeat(990)}b${number}-${value}`),
  })),
};

/** A workspace of `count` documents, each with the longest properties and one short text. */
async function largestProperties(rig, workspace, count) {
  const values = Array.from({ length: 15 }, (_, number) => `${'a'.repeat(1000)}${number}`);
  for (let from = 0; from < count; from += 100) {
    await put(rig, workspace, Array.from({ length: Math.min(100, count - from) }, (_, at) => ({
      Path: `src/${from + at}.rs`, Contents: `fn needle_${from + at}() {}\n`, Properties: { note: values.map((value) => `${value}-${from + at}`) },
    })));
  }
}

const search = (rig, workspace, members) =>
  rig.request('POST', `/workspaces/${workspace}/search`, { key, body: { Query: 'needle', ...members } }).then(resultOf);

/** A session whose `count` turns hold `bytes` each. */
async function longSession(rig, count, bytes) {
  rig.model.otherwise(answer(text('Read.')));
  const { SessionId } = turnWith({});
  for (let turn = 1; turn <= count; turn += 1) {
    resultOf(await rig.post({ SessionId, TurnId: `t${turn}`, Instruction: code(bytes) }, { key }));
    rig.clear();
    rig.model.otherwise(answer(text('Read.')));
  }
  return SessionId;
}

const artifact = (bytes) => [{ RelativePath: 'src', FileName: 'a.js', Contents: code(bytes), Origin: 'ide' }];

/** A stream whose output is `deltas`, written without a pause, and as fast as it is read. */
const flood = (deltas) => ({
  async play({ body, response, keep }) {
    const told = newResponse(body);
    openStream(response);
    let held = '';
    const flush = () => new Promise((resolve) => {
      response.write(held, resolve);
      held = '';
    });
    for (const event of responseEvents(told, [text(...deltas)], { usage: null })) {
      keep(told);
      held += frame(event);
      if (held.length > 64 * 1024) await flush();
      if (response.destroyed) return;
    }
    await flush();
    response.end();
  },
});

/**
 * `{says, limit, prepare, run}`: `prepare(rig, scale)` resolves to what `run(rig, prepared)` needs, `run` resolves when the
 * request is over. `scale`, 1 or less, is the part of the stored things that `prepare` makes. `refused`: neighbours' turns
 * are refused, too, since the catalog is everybody's.
 */
export const COSTLY = [
  {
    key: 'scope',
    says: 'search, scope of 32 × 100 × 1,000 characters, 100 documents of 16 KB of properties',
    prepare: (rig, scale) => largestProperties(rig, 'few', 100 * scale),
    run: (rig) => search(rig, 'few', { RagScope: SCOPE }),
  },
  {
    key: 'properties',
    says: '… scope of one condition, 1,000 documents',
    prepare: (rig, scale) => largestProperties(rig, 'many', 1000 * scale),
    run: (rig) => search(rig, 'many', { RagScope: { Conditions: [{ Key: 'note', Operator: 'contains', Values: ['0-99'] }] } }),
  },
  {
    key: 'execute-scope',
    says: '… the largest scope, by a turn',
    prepare: (rig, scale) => largestProperties(rig, 'few', 100 * scale),
    run: async (rig) => {
      rig.model.otherwise(answer(text('Found.')));
      resultOf(await rig.post(turnWith({ Instruction: 'needle', WorkspaceId: 'few', RagScope: SCOPE }), { key }));
    },
  },
  {
    key: 'body',
    says: 'a turn of 8 MiB',
    run: async (rig) => {
      rig.model.otherwise(answer(text('Read.')));
      resultOf(await rig.post(turnWith({ InputArtifacts: artifact(BODY) }), { key }));
    },
  },
  {
    key: 'bodies',
    says: '… three at once',
    run: async (rig) => {
      rig.model.otherwise(answer(text('Read.')));
      const turns = Array.from({ length: 3 }, () => JSON.stringify(turnWith({ InputArtifacts: artifact(BODY) })));
      await Promise.all(turns.map(async (body) => resultOf(await rig.post(body, { key }))));
    },
  },
  {
    key: 'unfinished',
    says: '100 bodies that never end, 23 MiB of them',
    run: async (rig) => {
      const all = Array.from({ length: 100 }, () => unfinished(rig, 240_000));
      await pause(1000);
      for (const request of all) request.destroy();
    },
  },
  {
    key: 'documents',
    says: 'PUT of 100 documents, 8 MiB',
    prepare: async () => ({ round: 0 }),
    run: async (rig, state) => {
      state.round += 1;
      const Contents = code(BODY / 101);
      await put(rig, `documents-${state.round}`, Array.from({ length: 100 }, (_, at) => ({ Path: `${at}.js`, Contents: `// ${at}\n${Contents}` })));
    },
  },
  {
    key: 'long-line',
    says: 'PUT of one document of one line, 8 MiB',
    prepare: async () => ({ round: 0 }),
    run: async (rig, state) => {
      state.round += 1;
      await put(rig, `line-${state.round}`, [{ Path: 'a.js', Contents: 'word '.repeat(BODY / 5 - 100) }]);
    },
  },
  {
    key: 'erase-session',
    says: 'erasing a session of 56 MB',
    prepare: async (rig, scale) => [await longSession(rig, 8 * scale, 7e6), await longSession(rig, 8 * scale, 7e6)],
    run: async (rig, sessions) => {
      if (sessions.length > 0) resultOf(await rig.request('DELETE', `/sessions/${sessions.pop()}`, { key }));
    },
  },
  {
    key: 'erase-workspace',
    says: 'erasing a workspace of 40 MB',
    prepare: async (rig, scale) => {
      const workspaces = ['w1', 'w2'];
      for (const workspace of workspaces) {
        for (let part = 0; part < 5 * scale; part += 1) {
          const Contents = code(BODY / 101);
          await put(rig, workspace, Array.from({ length: 100 }, (_, at) => ({ Path: `${part}/${at}.js`, Contents: `// ${at}\n${Contents}` })));
        }
      }
      return workspaces;
    },
    run: async (rig, workspaces) => {
      if (workspaces.length > 0) resultOf(await rig.request('DELETE', `/workspaces/${workspaces.pop()}`, { key }));
    },
  },
  {
    key: 'faults',
    says: 'a request with 100,000 faults',
    run: async (rig) => {
      const members = Array.from({ length: 100_000 }, (_, at) => `"wrong-member-${at}":{"a":[1,2]}`).join();
      const got = await rig.post(`{"SessionId":"s","TurnId":"t","Instruction":"x",${members}}`, { key });
      if (got.status !== 400) throw new Error(got.text);
    },
  },
  {
    key: 'lost-chain',
    says: 'a lost chain over 56 MB of history, which is compacted to half',
    // The first time compacts a session for good, so that each time has one of its own.
    prepare: async (rig, scale) => [await longSession(rig, 8 * scale, 7e6), await longSession(rig, 8 * scale, 7e6)],
    run: async (rig, sessions) => {
      const SessionId = sessions.shift();
      sessions.push(SessionId);
      rig.model.forgetResponses();
      rig.model.otherwise(answer(text('Read again.')));
      resultOf(await rig.post({ SessionId, TurnId: `again-${(serial += 1)}`, Instruction: 'Again.' }, { key }));
    },
  },
  {
    key: 'steers',
    says: '22 steers of 6.6 MB to one turn, which is then answered',
    run: async (rig) => {
      const turn = turnWith({ ToolsJson: JSON.stringify([clientTool('ask')]) });
      rig.model.script(answer(call('ask')));
      rig.model.otherwise(answer(text('Heard.')));
      const [{ ToolCallId }] = resultOf(await rig.post(turn, { key })).ToolCalls;
      const { SessionId, TurnId } = turn;
      const steer = (at) => ({ SteerId: `s${at}`, Instruction: 'More.', InputArtifacts: artifact(6.6e6) });
      const statuses = [];
      for (let at = 0; at < 22; at += 1) {
        const body = steer(at);
        statuses.push((await rig.request('POST', `/sessions/${SessionId}/turns/${TurnId}/steer`, { key, body })).status);
      }
      // One of them waits, and the others find no room.
      if (statuses.join() !== [202, ...Array(21).fill(413)].join()) throw new Error(statuses.join());
      const ToolResults = [{ ToolCallId, ExecutionMs: 1, ResultJson: '1' }];
      resultOf(await rig.post({ SessionId, TurnId, ToolResults }, { key }));
    },
  },
  {
    key: 'export',
    says: 'export of a session of 56 MB',
    prepare: (rig, scale) => longSession(rig, 8 * scale, 7e6),
    run: async (rig, SessionId) => {
      const response = await fetch(new URL(`/sessions/${SessionId}/export`, rig.url), { headers: { authorization: `Bearer ${key}` } });
      let bytes = 0;
      for await (const chunk of response.body) bytes += chunk.length;
      if (response.status !== 200 || bytes < 1e6) throw new Error(`an export of ${bytes} bytes`);
    },
  },
  {
    key: 'fork',
    says: 'a fork of a session of 56 MB',
    prepare: (rig, scale) => longSession(rig, 8 * scale, 7e6),
    run: async (rig, SessionId) => {
      const forked = await rig.request('POST', `/sessions/${SessionId}/fork`, { key, body: { SessionId: `forked-${(serial += 1)}` } });
      if (forked.status !== 201) throw new Error(`a fork that was answered with ${forked.status}`);
    },
  },
  {
    key: 'tools',
    says: 'tool results: 1 MB, one without an end, 16 MB with files',
    run: async (rig) => {
      rig.tools.on('/huge', JSON.stringify({ text: code(950_000) }));
      rig.tools.on('/endless', `{"text":"${'x'.repeat(40e6)}`);
      const Files = Array.from({ length: 2 }, (_, at) => ({ Name: `${at}.txt`, MimeType: 'text/plain', Text: code(7.5e6) }));
      rig.tools.on('/files', JSON.stringify({ Files }));
      rig.model.otherwise(answer(text('Seen.')));
      rig.model.script(answer(call('huge'), call('huge'), call('endless'), call('files')));
      resultOf(await rig.post(turnWith({}), { key }));
    },
  },
  {
    key: 'huge-delta',
    says: 'a model output of 8 MB in one delta, streamed',
    run: async (rig) => {
      rig.model.script(flood([code(8e6)]));
      await drained(rig, turnWith({ Streaming: true }));
    },
  },
  {
    key: 'tiny-deltas',
    says: '… 50,000 deltas of one character',
    run: async (rig) => {
      rig.model.script(flood(Array.from({ length: 50_000 }, () => 'x')));
      await drained(rig, turnWith({ Streaming: true }));
    },
  },
];

/** An invalid catalog of 1.5 MB. It is a kind of its own, since no turn runs beside it. */
export const WRONG_CATALOG = JSON.stringify({
  Modes: Array.from({ length: 20_000 }, (_, at) => ({ Key: `wrong key ${at}`, Display: 'x', WhenToUse: 7, Tools: {} })),
});

async function drained(rig, turn) {
  const response = await fetch(new URL('/execute', rig.url), {
    method: 'POST', headers: { 'content-type': 'application/json', authorization: `Bearer ${key}` }, body: JSON.stringify(turn),
  });
  let tail = '';
  for await (const chunk of response.body) tail = (tail + Buffer.from(chunk).toString('latin1')).slice(-400);
  if (!tail.endsWith('\n\n')) throw new Error(tail);
}

/** A POST whose body begins and does not end. */
function unfinished(rig, bytes) {
  const request = http.request(new URL('/execute', rig.url), {
    method: 'POST', agent: false,
    headers: { 'content-type': 'application/json', authorization: `Bearer ${key}`, 'content-length': '250000' },
  });
  request.on('error', () => {});
  request.on('response', (response) => response.resume());
  request.write(`{"Instruction":"${'x'.repeat(bytes)}`);
  return request;
}
