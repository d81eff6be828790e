// What indexing and searching 10,000 chunks cost in workerd, with and without embeddings: the second half of `make
// bench-retrieval`, whose first half is native. `CHUNKS=1000 DIMENSIONS=256` measure other numbers, `CORPUS=NAME.json.gz`
// documents and questions of another repository, in the form of `tests/retrieval/bench/folder.rs`.
//
// Processor time is the process's, runtime and Miniflare included, so that a busy machine does not count. The service of
// embeddings is in this process: its work is left out, what a request and an answer cost the Worker is not.
import { readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { Rig, eventually, resultOf } from '../e2e/harness.mjs';
import { MEASURABLE, cpuMs } from './process_cost.mjs';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const CHUNKS = Number(process.env.CHUNKS ?? 10_000);
const DIMENSIONS = Number(process.env.DIMENSIONS ?? 1536);
const ROUTE = '/v1/embeddings';
const ROUNDS = 3;
const CORPUS = process.env.CORPUS && corpusIn(process.env.CORPUS);
const QUESTIONS = CORPUS?.queries.map(({ q }) => q) ?? [
  'Where is a request refused that has no key?', 'How long may the body of a request be?', 'Which headers does a tool get?',
  'When does an alarm ring?', 'How is a document cut into chunks?', 'What happens when the model service is overloaded?',
  'Which tokens count for a budget?', 'How is a session erased?', 'Where are secrets taken out of an answer?',
  'Who decides which mode comes next?', 'How are equal requests recognised?', 'What is written to the log?',
  'Which schema versions are there?', 'How are files kept and linked?', 'When is a conversation summarised?',
  'How does a stream go on after a cut?',
];

if (!MEASURABLE) throw new Error('This system has no /proc: nothing can be measured.');
const load = () => os.loadavg().map((each) => each.toFixed(1)).join(', ');
console.error(`load of the machine: ${load()} on ${os.cpus().length} cores`);
const [words, both] = [await measured(null), await measured(DIMENSIONS)];
const row = (what, of) => console.log(`| ${what} | ${of(words)} | ${of(both)} |`);
console.log(`| ${both.counts.Chunks.toLocaleString('en')} chunks, ${megabytes(both).toFixed(1)} MB, in workerd | words | with vectors of ${DIMENSIONS.toLocaleString('en')} numbers |`);
console.log('|---|---|---|');
row('processor time of a search, median', ({ searching }) => `${searching.cpu.toFixed(1)} ms`);
row('… by the clock', ({ searching }) => `${searching.wall.toFixed(1)} ms`);
row('processor time in a workspace of one document', ({ least }) => `${least.cpu.toFixed(1)} ms`);
row('indexing, to the last vector, by processor time', (each) => `${(megabytes(each) / each.indexing.cpu * 1000).toFixed(1)} MB/s`);
row('… by the clock', (each) => `${(megabytes(each) / each.indexing.wall * 1000).toFixed(1)} MB/s`);
row('requests to the embeddings service', ({ requests }) => String(requests));
row('storage of a document', ({ stored, counts }) => `${(stored.bytes / counts.Documents / 1000).toFixed(1)} KB`);
row('… of a chunk', ({ stored, counts }) => `${(stored.bytes / counts.Chunks / 1000).toFixed(2)} KB`);
row('rows of vectors for a document', ({ stored, counts }) => (stored.rows / counts.Documents).toFixed(2));
console.error(`load of the machine: ${load()}`);
process.exit();

async function measured(dimensions) {
  const rig = new Rig({
    catalog: (catalog, { toolUrl }) => {
      const Embeddings = { Model: 'm', Dimensions: dimensions, BaseUrl: toolUrl('/v1') };
      if (dimensions !== null) catalog.AgentContexts.default.Retrieval = { Index: { Embeddings } };
    },
  });
  await rig.start();
  try {
    let [embedded, requests] = [0, 0];
    const vectors = randomVectors(dimensions ?? 1);
    rig.tools.think(ROUTE, ({ input }) => {
      [embedded, requests] = [embedded + input.length, requests + 1];
      return JSON.stringify({ data: input.map((_, index) => ({ index, embedding: vectors[index % vectors.length] })) });
    });
    await rig.get('/health');
    const cost = costFrom(rig);
    await (CORPUS ? put(rig, CORPUS.docs) : putCopies(rig));
    const counts = async () => resultOf(await rig.get('/workspaces/large'));
    if (dimensions !== null) {
      const { Chunks } = await counts();
      await eventually(() => embedded >= Chunks, 'everything was sent to be embedded', 600_000);
      await eventually(async () => (await counts()).EmbeddedChunks === Chunks, 'everything is embedded');
    }
    const indexing = cost();
    const sizes = `SELECT page_count * page_size AS bytes, (SELECT COUNT(*) FROM vectors) AS rows FROM pragma_page_count, pragma_page_size`;
    const [stored] = await rig.rowsOf('WorkspaceIndex', 'vectors', sizes);
    const searching = await searches(rig, 'large');
    resultOf(await rig.request('PUT', '/workspaces/small/documents', { body: { Documents: [{ Path: 'a.md', Contents: 'A word.' }] } }));
    const isReady = async () => dimensions === null || resultOf(await rig.get('/workspaces/small')).EmbeddedChunks === 1;
    await eventually(isReady, 'the document is embedded');
    return { indexing, counts: await counts(), requests, stored, searching, least: await searches(rig, 'small') };
  } finally {
    await rig.dispose();
  }
}

/** Puts this project's texts in numbered folders, with other words in each, until there are enough chunks. */
async function putCopies(rig) {
  const own = ['src', 'tests'].flatMap(filesUnder);
  let chunks = 0;
  for (let copy = 0; ; copy += 1) {
    for (let from = 0; from < own.length; from += 100) {
      if (chunks >= CHUNKS) return;
      const Documents = own.slice(from, from + 100).map(({ path: Path, text }) => ({ Path: `copy${copy}/${Path}`, Contents: text.replaceAll('turn', `turn${copy}`) }));
      chunks += await put(rig, Documents);
    }
  }
}

/** Puts documents, and gives the number of their chunks. */
async function put(rig, documents) {
  let chunks = 0;
  for (let from = 0; from < documents.length; from += 100) {
    const Documents = documents.slice(from, from + 100);
    const upserted = resultOf(await rig.request('PUT', '/workspaces/large/documents', { body: { Documents } })).Documents;
    chunks += upserted.reduce((sum, { Chunks }) => sum + Chunks, 0);
    rig.clearAnswers();
  }
  return chunks;
}

function corpusIn(file) {
  const bytes = readFileSync(file);
  return JSON.parse(file.endsWith('.gz') ? gunzipSync(bytes) : bytes);
}

/** A search's processor time and its time by the clock, the medians. */
async function searches(rig, workspace) {
  const ask = (Query) => rig.request('POST', `/workspaces/${workspace}/search`, { body: { Query } }).then(resultOf);
  await ask(QUESTIONS[0]);
  const costs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const question of QUESTIONS) {
      const cost = costFrom(rig);
      await ask(question);
      costs.push(cost());
    }
  }
  const median = (times) => times.sort((one, other) => one - other)[times.length >> 1];
  return { cpu: median(costs.map(({ cpu }) => cpu)), wall: median(costs.map(({ wall }) => wall)) };
}

/** `{cpu, wall}` since the call, in ms. */
function costFrom({ processId }) {
  const [cpu, wall] = [cpuMs(processId), performance.now()];
  return () => ({ cpu: cpuMs(processId) - cpu, wall: performance.now() - wall });
}

/** Some vectors as a service writes them, in base64. */
function randomVectors(dimensions) {
  const vector = () => Float32Array.from({ length: dimensions }, () => Math.random() - 0.5);
  return Array.from({ length: 64 }, () => Buffer.from(vector().buffer).toString('base64'));
}

function megabytes({ counts }) {
  return counts.Bytes / 1e6;
}

function filesUnder(folder) {
  return readdirSync(path.join(ROOT, folder), { recursive: true })
    .filter((file) => /\.(rs|mjs|cs|md)$/.test(file))
    .sort()
    .map((file) => ({ path: path.join(folder, file), text: readFileSync(path.join(ROOT, folder, file), 'utf8') }));
}
