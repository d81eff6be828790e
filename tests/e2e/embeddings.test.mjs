// Retrieval by meaning: chunks are embedded in the background of what changes documents, and a question is ranked by words
// and by vectors. Whatever the embeddings service does, search and turns go on, by words (interface §7).
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { API_KEY, Rig, eventually, resultOf, rigForFile, userTurn } from './harness.mjs';
import { answer, text } from './scripted_model.mjs';
import { embeddings } from '../fakes/model_service/embeddings.mjs';
import { standIn } from '../../tools/dev/stand_in/service.mjs';

const KEY = 'embeddings-key-6d20-never-shown';
const CONTENTS = 'contentsneverlogged';
const QUESTION = 'questionneverlogged';
const ROUTE = '/v1/embeddings';
/** Of a request to the service while it is silent: on a machine that others use, one that is well may answer later. */
const SHORT_MS = 300;

/** A catalog whose default context embeds; the context `words` does not. */
const embedded = (more = {}) => (catalog, { toolUrl }) => {
  const { default: agent } = catalog.AgentContexts;
  const Headers = { Authorization: 'Bearer ${EMBEDDINGS_KEY}' };
  const Embeddings = { Model: 'm-one', Dimensions: 256, BaseUrl: toolUrl('/v1'), Headers, ...more };
  catalog.AgentContexts.words = { ...agent, Retrieval: { Index: {} } };
  agent.Retrieval = { Index: { Embeddings } };
};
const isTold = () => true;
const rig = rigForFile({
  vars: { TURN_ALARM_MS: '300', EMBEDDINGS_KEY: KEY },
  catalog: embedded(),
  hidden: [[KEY], [CONTENTS, isTold], [QUESTION]],
});

/** The service is well, and embeds what it is sent. */
const well = () => rig.tools.think(ROUTE, (body) => JSON.stringify(embeddings(body)));
beforeEach(well);

const INVOICES = `pub fn purge_invoices() {} // ${CONTENTS}\n`;
const DOCUMENTS = [
  { Path: 'src/invoices.rs', Contents: INVOICES },
  { Path: 'src/parcels.rs', Contents: 'pub fn weigh_parcel() {}\n' },
  { Path: 'docs/pigeons.md', Contents: '# Pigeons\n\nThey carry letters.\n' },
];
/** It shares no word with the document that it asks for. */
const ASKED = `How are bills erased? ${QUESTION}`;

const put = (workspace, Documents = DOCUMENTS) => rig.put(workspace, Documents);
const search = async (workspace, Query, explain = '') => {
  const got = await rig.request('POST', `/workspaces/${workspace}/search${explain}`, { body: { Query } });
  return { chunks: resultOf(got).Chunks, paths: resultOf(got).Chunks.map(({ Path }) => Path), warnings: codes(got) };
};
const codes = ({ json }) => json.Warnings.map(({ ErrorCode }) => ErrorCode);
const counts = async (workspace) => resultOf(await rig.get(`/workspaces/${workspace}`));
const isEmbedded = (workspace) =>
  eventually(async () => {
    const { Chunks, EmbeddedChunks } = await counts(workspace);
    return EmbeddedChunks === Chunks;
  }, `${workspace} is embedded`);
/** The inputs of the requests to the service, each a list. */
const inputs = () => rig.tools.requests.map(({ body }) => body.input);
/** What a turn is given of a workspace, and its warnings. */
async function given(WorkspaceId, Instruction, more = {}) {
  rig.model.script(answer(text('There.')));
  const { UserWarnings = [] } = resultOf(await rig.post(userTurn({ WorkspaceId, Instruction, ...more })));
  const { content } = rig.model.requests.at(-1).body.input.at(-1);
  const context = content.map(({ text: words }) => words).find((words) => words?.startsWith('[CONTEXT]')) ?? '';
  return { paths: [...context.matchAll(/^Path: (.+)$/gm)].map(([, path]) => path), warnings: UserWarnings };
}

test('what was put is embedded in the background, and found by what it means', async () => {
  resultOf(await put('meant'));
  await isEmbedded('meant');
  const [{ headers, body }, ...others] = rig.tools.requests;
  assert.deepEqual(others, []);
  assert.equal(headers.authorization, `Bearer ${KEY}`);
  const sent = DOCUMENTS.map(({ Path, Contents }) => `${Path}\n${Contents}`);
  assert.deepEqual(body, { model: 'm-one', input: sent, dimensions: 256, encoding_format: 'base64' });

  // Words alone know of none of it.
  assert.deepEqual(await given('meant', ASKED, { AgentContextId: 'words' }), { paths: [], warnings: [] });
  assert.equal(rig.tools.requests.length, 1);
  const { chunks, paths, warnings } = await search('meant', ASKED, '?Explain=true');
  assert.deepEqual([paths[0], warnings], ['src/invoices.rs', []]);
  assert.ok(chunks[0].Explain.Similarity > 0.5 && chunks[0].Explain.Terms.length === 0, JSON.stringify(chunks[0].Explain));
  assert.deepEqual(inputs()[1], [ASKED]);
  const turn = await given('meant', ASKED);
  assert.deepEqual([turn.paths[0], turn.warnings], ['src/invoices.rs', []]);
  // A word that only one document has still finds it first.
  assert.equal((await search('meant', 'pigeons')).paths[0], 'docs/pigeons.md');

  // What is sent again unchanged is not embedded again, what is changed is, and what is gone is not found.
  rig.tools.requests.length = 0;
  resultOf(await put('meant', [...DOCUMENTS.slice(1), { Path: 'src/invoices.rs', Contents: 'pub fn settle_account() {}\n' }]));
  await isEmbedded('meant');
  assert.deepEqual(inputs(), [['src/invoices.rs\npub fn settle_account() {}\n']]);
  const again = await search('meant', 'Who pays?');
  assert.match(again.chunks[0].Text, /settle_account/);
  resultOf(await rig.request('DELETE', '/workspaces/meant/documents?Path=src/', {}));
  assert.deepEqual((await search('meant', ASKED)).paths, ['docs/pigeons.md']);
  assert.deepEqual(await counts('meant'), { Documents: 1, Chunks: 1, EmbeddedChunks: 1, Bytes: DOCUMENTS[2].Contents.length });
});

test('an empty workspace has nothing to warn of', async () => {
  assert.deepEqual(await search('empty', ASKED), { chunks: [], paths: [], warnings: [] });
  assert.deepEqual(await given('empty', ASKED), { paths: [], warnings: [] });
  assert.deepEqual(await counts('empty'), { Documents: 0, Chunks: 0, EmbeddedChunks: 0, Bytes: 0 });
  assert.deepEqual(rig.tools.requests, []);
});

const ill = (words, how) => rig.tools.on(ROUTE, words, how);
const QUOTED = JSON.stringify({ error: { message: `${KEY} ${CONTENTS} ${QUESTION}`, type: 'server_error', code: QUESTION } });
// Every other way to fail is in tests/entry/embeddings/failures.rs, and so is how long the alarm waits.
const FAILURES = {
  'has an error of its own': [() => ill(QUOTED, { status: 500 })],
  'is silent': [() => ill(null), { TimeoutMs: SHORT_MS }],
};
for (const [name, [spoiling, more]] of Object.entries(FAILURES)) {
  test(`a service that ${name} costs a search and a turn a warning, and embeds when it is well again`, async () => {
    const workspace = name.replaceAll(' ', '-');
    const spoil = async () => {
      spoiling();
      if (more) await rig.restart({ catalog: embedded(more) });
    };
    const mend = async () => {
      well();
      if (more) await rig.restart({ catalog: embedded() });
    };
    await spoil();
    resultOf(await put(workspace));
    await eventually(async () => codes(await rig.get(`/workspaces/${workspace}`)).includes('embeddings_failed'), 'it is said that it failed');
    const alone = async (question, path) => {
      const { paths, warnings } = await search(workspace, question);
      assert.deepEqual([paths, warnings], [[path], ['embeddings_failed']]);
      const turn = await given(workspace, question);
      assert.deepEqual([turn.paths, turn.warnings.length], [[path], 1]);
      assert.match(turn.warnings[0], /words alone/);
    };
    await alone('purge', 'src/invoices.rs');
    await mend();
    await isEmbedded(workspace);
    assert.deepEqual(codes(await rig.get(`/workspaces/${workspace}`)), []);
    assert.equal((await search(workspace, ASKED)).paths[0], 'src/invoices.rs');
    // Now it is the question that gets no vector.
    await spoil();
    await alone('parcel', 'src/parcels.rs');
    await mend();
    assert.deepEqual((await search(workspace, ASKED)).warnings, []);
    assert.ok(rig.logs.some((line) => line.includes('embedding_failed')));
  });
}

test('a service that fails once costs a short text neither its vector nor its length', async () => {
  let failures = 1;
  rig.tools.think(ROUTE, (body) => (failures-- > 0 ? 'no vectors' : JSON.stringify(embeddings(body))));
  resultOf(await put('hiccup', DOCUMENTS.slice(0, 1)));
  await isEmbedded('hiccup');
  const whole = [`src/invoices.rs\n${INVOICES}`];
  assert.deepEqual(inputs(), [whole, ['text'], whole]);
});

test('a service that cannot be reached, and one that is there again', async () => {
  await rig.restart({ catalog: embedded({ BaseUrl: 'http://127.0.0.1:9/v1' }) });
  resultOf(await put('unreached'));
  await eventually(async () => codes(await rig.get('/workspaces/unreached')).includes('embeddings_failed'), 'it is said that it failed');
  assert.deepEqual((await search('unreached', 'purge')).paths, ['src/invoices.rs']);
  const turn = await given('unreached', 'purge');
  assert.deepEqual([turn.paths, turn.warnings.length], [['src/invoices.rs'], 1]);
  await rig.restart({ catalog: embedded() });
  // Nobody asks for it: the alarm goes on.
  await eventually(() => rig.tools.requests.length > 0, 'it is asked');
  await isEmbedded('unreached');
});

/** `count` documents of one chunk each, whose words are their own. */
const many = (count) => Array.from({ length: count }, (_, at) => ({ Path: `${at}.txt`, Contents: `text number ${at}\n` }));
/** Puts as many documents as asked for, by several requests. */
async function putMany(workspace, count) {
  const all = many(count);
  for (let from = 0; from < count; from += 100) resultOf(await put(workspace, all.slice(from, from + 100)));
}
/** From now on the service keeps its answers back, after `first` more: `{held, open}`. */
function holdingBack(first, isHeld = () => true) {
  const { promise, resolve: open } = Promise.withResolvers();
  const service = { held: 0, open };
  let answered = 0;
  rig.tools.think(ROUTE, async (body) => {
    if (isHeld(body) && (answered += 1) > first) {
      service.held += 1;
      await promise;
    }
    return JSON.stringify(embeddings(body));
  });
  return service;
}

test('an embedding that was killed goes on where it stopped, without being asked for', async () => {
  await rig.restart({ catalog: embedded({ TimeoutMs: 60_000 }) });
  rig.tools.on(ROUTE, '{}', { status: 429 });
  await putMany('killed', 300);
  const service = holdingBack(1);
  await eventually(() => service.held === 1, 'the second batch is under way');
  const { EmbeddedChunks } = await counts('killed');
  assert.ok(EmbeddedChunks > 0 && EmbeddedChunks < 300, `${EmbeddedChunks}`);
  const first = rig.tools.requests.at(-2).body.input;
  assert.equal(first.length, EmbeddedChunks);
  rig.tools.requests.length = 0;
  well();
  await rig.restart();
  await eventually(() => rig.tools.requests.length > 0, 'the alarm rings');
  await isEmbedded('killed');
  const later = inputs().flat();
  assert.deepEqual([later.length, new Set([...first, ...later]).size], [300 - EmbeddedChunks, 300]);
  assert.equal((await search('killed', 'text number 217')).paths[0], '217.txt');
  await rig.restart({ catalog: embedded() });
});

test('another model takes over when it has embedded everything; until then the former one serves', async () => {
  await rig.restart({ catalog: embedded({ TimeoutMs: 60_000 }) });
  resultOf(await put('moving'));
  await isEmbedded('moving');
  await rig.restart({ catalog: embedded({ Model: 'm-two', Dimensions: 64, TimeoutMs: 60_000 }) });
  const service = holdingBack(0, ({ model }) => model === 'm-two');
  rig.tools.requests.length = 0;
  for (const times of [1, 2]) {
    const { paths, warnings } = await search('moving', ASKED);
    assert.deepEqual([paths[0], warnings], ['src/invoices.rs', []], `${times}`);
  }
  await eventually(() => service.held === 1, 'the new model is asked');
  const asked = rig.tools.requests.map(({ body }) => [body.model, body.dimensions, body.input.length]);
  assert.deepEqual(asked.sort(), [['m-one', 256, 1], ['m-one', 256, 1], ['m-two', 64, 3]]);
  assert.equal((await counts('moving')).EmbeddedChunks, 0);
  service.open();
  await isEmbedded('moving');
  const sets = 'SELECT group_concat(model) AS models, (SELECT COUNT(DISTINCT vector_set) FROM vectors) AS stored FROM vector_sets';
  const isAlone = async () => (await rig.rowsOf('WorkspaceIndex', 'vector_sets', sets)).some(({ models, stored }) => models === 'm-two' && stored === 1);
  await eventually(isAlone, 'the vectors of the former model are gone');
  rig.tools.requests.length = 0;
  const { paths, warnings } = await search('moving', ASKED);
  assert.deepEqual([paths[0], warnings, rig.tools.requests.map(({ body }) => body.model)], ['src/invoices.rs', [], ['m-two']]);

  // Without embeddings in the catalog nobody is asked, and the next change of a document forgets the vectors.
  await rig.restart({ catalog: () => {} });
  rig.tools.requests.length = 0;
  assert.deepEqual(await search('moving', ASKED), { chunks: [], paths: [], warnings: [] });
  assert.deepEqual(await counts('moving'), { Documents: 3, Chunks: 3, Bytes: DOCUMENTS.reduce((sum, { Contents }) => sum + Contents.length, 0) });
  resultOf(await put('moving', [{ Path: 'more.txt', Contents: 'more\n' }]));
  const areForgotten = async () => (await rig.rowsOf('WorkspaceIndex', 'vector_sets', sets)).every(({ models }) => models !== 'm-two');
  await eventually(areForgotten, 'the vectors are forgotten');
  assert.deepEqual(rig.tools.requests, []);
  await rig.restart({ catalog: embedded() });
});

test('a workspace that is erased while it is embedded leaves nothing, and nothing more is sent of it', async () => {
  await rig.restart({ catalog: embedded({ TimeoutMs: 60_000 }) });
  const before = await rig.tablesOf('WorkspaceIndex');
  rig.tools.on(ROUTE, '{}', { status: 429 });
  await putMany('erased', 300);
  const service = holdingBack(1);
  await eventually(() => service.held === 1, 'the second batch is under way');
  resultOf(await rig.request('DELETE', '/workspaces/erased'));
  rig.tools.requests.length = 0;
  service.open();
  // What comes of the answer has come before another workspace is embedded twice.
  for (const round of [1, 2]) {
    resultOf(await put('other', [{ Path: `${round}.md`, Contents: 'Another.' }]));
    await isEmbedded('other');
  }
  assert.deepEqual(inputs(), [['1.md\nAnother.'], ['2.md\nAnother.']]);
  resultOf(await rig.request('DELETE', '/workspaces/other'));
  assert.deepEqual(await rig.tablesOf('WorkspaceIndex'), before);
  // A failure that comes after the erasure is nobody's.
  const { promise, resolve: fail } = Promise.withResolvers();
  rig.tools.requests.length = 0;
  rig.tools.think(ROUTE, () => promise);
  resultOf(await put('erased'));
  await eventually(() => rig.tools.requests.length === 1, 'it is asked');
  resultOf(await rig.request('DELETE', '/workspaces/erased'));
  fail(JSON.stringify({ data: [{ embedding: [1] }] }));
  resultOf(await put('other'));
  well();
  await isEmbedded('other');
  assert.deepEqual(codes(await rig.get('/workspaces/erased')), []);
  resultOf(await rig.request('DELETE', '/workspaces/other'));
  // It begins anew with an embedding of its own.
  resultOf(await put('erased'));
  await isEmbedded('erased');
  assert.equal((await search('erased', ASKED)).paths[0], 'src/invoices.rs');
  await rig.restart({ catalog: embedded() });
});

test('the vectors of a document are one row, of one byte for each number', async () => {
  const Contents = Array.from({ length: 12 }, (_, at) => `## Part ${at}\n\n${`The words of part ${at}. `.repeat(20)}\n\n`).join('');
  resultOf(await put('stored', Array.from({ length: 50 }, (_, at) => ({ Path: `${at}.md`, Contents: `# ${at}\n\n${Contents}` }))));
  await isEmbedded('stored');
  const { Documents, Chunks } = await counts('stored');
  const statement = `SELECT (SELECT COUNT(*) FROM documents) AS documents, COUNT(*) AS rows, SUM(chunks) AS chunks, SUM(length(vectors)) AS bytes FROM vectors`;
  const stored = (await rig.rowsOf('WorkspaceIndex', 'vectors', statement)).find(({ documents }) => documents === 50);
  // Each vector has four bytes besides its numbers; a document whose chunks came in two batches has two rows.
  const batches = Math.ceil(Chunks / 128);
  assert.deepEqual([stored.chunks, stored.bytes], [Chunks, Chunks * (256 + 4)]);
  assert.ok(stored.rows >= Documents && stored.rows <= Documents + batches, `${stored.rows} rows of ${Documents} documents`);
});

test('each party hears what it needs, and no secret but its own', async () => {
  resultOf(await put('confidential-workspace'));
  await isEmbedded('confidential-workspace');
  await given('confidential-workspace', ASKED, { SessionId: 'confidential-session', SolutionContextText: 'confidential-solution' });
  const heard = JSON.stringify(rig.tools.requests);
  assert.ok(heard.includes(CONTENTS) && heard.includes(QUESTION));
  for (const words of [API_KEY, 'confidential-', 'Boot prompt']) assert.ok(!heard.includes(words), words);
  assert.ok(!JSON.stringify(rig.model.requests).includes(KEY));
});

test('without an address of its own the embeddings come from the model service, with its key', async () => {
  const service = await standIn({ wordMs: 0 });
  const other = new Rig({
    // A key that stands by chance in a vector's base64: zeros are written so.
    vars: { TURN_ALARM_MS: '300', OPENAI_API_KEY: 'AAAA' },
    catalog: (catalog) => Object.assign(catalog.AgentContexts.default, { BaseUrl: service.url, Retrieval: { Index: { Embeddings: { Model: 'stand-in', Dimensions: 256 } } } }),
  });
  try {
    await other.start();
    resultOf(await other.request('PUT', '/workspaces/w/documents', { body: { Documents: DOCUMENTS } }));
    await eventually(async () => resultOf(await other.get('/workspaces/w')).EmbeddedChunks === 3, 'all is embedded');
    const { Chunks } = resultOf(await other.request('POST', '/workspaces/w/search', { body: { Query: ASKED } }));
    assert.equal(Chunks[0].Path, 'src/invoices.rs');
    await other.check();
  } finally {
    await other.dispose();
    await service.close();
  }
});
