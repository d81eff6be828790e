// The workspace that is looked at: what it holds, what is being uploaded, what was found. Owns that nothing of another one is
// shown for its own, and that an answer which comes late replaces no newer one.
import { signal } from '@preact/signals';
import type { Comparison, Found, SearchRequest, WorkspaceCounts } from '../../../typescript/src/index.js';
import { Workspace } from '../../../typescript/src/workspace.js';
import { failureOf } from '../store/failure.js';
import { tenant } from '../store/service.js';
import { ragScope, workspace } from '../store/settings.js';
import type { Folder } from './folder.js';

/** What made the score of a chunk (interface §7). */
export interface Explanation {
  Chunk: number;
  Document: number;
  Place: number;
  Terms: { Term: string; Score: number; Fields: string[] }[];
}
export type Chunk = Found['Chunks'][number] & { Score?: number; Explain?: Explanation };

export const counts = signal<WorkspaceCounts | undefined>(undefined);
/** The paths of its documents: the first 10,000, or 4 MB of them. */
export const paths = signal<readonly string[]>([]);
export const upload = signal<{ done: number; all: number } | undefined>(undefined);
export const told = signal('');
export const fault = signal('');

export const results = signal<{ query: string; isScoped: boolean; chunks: readonly Chunk[]; ms: number } | undefined>(undefined);
/** The chunks of the document that is open. */
export const opened = signal<{ path: string; chunks: readonly Chunk[] } | undefined>(undefined);

/** A path that no document has: who compares with it is told all that there are. */
const NO_DOCUMENT = { Path: 'no document of this name', Sha256: '0'.repeat(64) };
export const MOST_CHUNKS = 100;

/** Runs it, and shows why it failed. */
export async function tried(run: () => Promise<void>): Promise<void> {
  fault.value = '';
  try {
    await run();
  } catch (error) {
    fault.value = failureOf(error).message;
  }
}

/** Looks by itself: of what has failed meanwhile, such as an upload, it takes nothing away. */
export async function looked(): Promise<void> {
  const id = workspace.peek();
  await look().catch((error) => {
    if (id === workspace.peek()) fault.value = failureOf(error).message;
  });
}

let shownOf = '';
/** What each kind of answer was asked for last. */
const asked = { all: 0, chunks: 0, document: 0 };
function isNewest(what: keyof typeof asked): () => boolean {
  const [id, mine] = [workspace.peek(), (asked[what] += 1)];
  return () => id === workspace.peek() && mine === asked[what];
}

/** The workspace that is looked at; what is shown of another one goes. */
function shown(): string {
  const id = workspace.peek();
  if (id !== shownOf) {
    counts.value = results.value = undefined;
    paths.value = [];
    told.value = fault.value = '';
  }
  return (shownOf = id);
}

export async function look(): Promise<void> {
  const id = shown();
  const isWanted = isNewest('all');
  opened.value = undefined;
  if (!id) return;
  const [held, { Extra }] = await Promise.all([new Workspace(tenant, id).get(), post<Comparison>('compare', { Documents: [NO_DOCUMENT] })]);
  if (!isWanted()) return;
  counts.value = held;
  paths.value = Extra;
}

/**
 * Makes the workspace hold what the folder does; `isWhole`: and nothing else. It is the one that was named when the folder was
 * given: a large folder is read for long, and another session has another workspace.
 */
export async function take(reading: Promise<Folder>, isWhole: boolean): Promise<void> {
  const named = workspace.peek();
  upload.value = { done: 0, all: 0 };
  try {
    const { name, documents, skipped } = await reading;
    const id = named || name.replace(/[^\w.:-]+/g, '-').slice(0, 100) || 'playground';
    if (workspace.peek() === named) workspace.value = id;
    // At once: on a busy page the panel looks so late that it would take away what the upload tells.
    shown();
    const onProgress = (done: number, all: number) => (upload.value = { done, all });
    onProgress(0, documents.length);
    const { sent, removed, leftOut } = await new Workspace(tenant, id).sync(documents, { remove: isWhole, onProgress });
    const same = documents.length - sent.length - leftOut.length;
    const passed = [...skipped].map(([why, count]) => `${count} ${why}`).join(', ');
    const refused = leftOut.map(({ path, error }) => `${path}: ${error.message}`).join(' ');
    const parts = [`${sent.length} sent`, same > 0 && `${same} unchanged`, removed.length > 0 && `${removed.length} removed`, passed && `left out: ${passed}`, refused];
    if (id === workspace.peek()) told.value = parts.filter(Boolean).join(' · ');
  } finally {
    upload.value = undefined;
    // What was sent before a failure is there all the same.
    void looked();
  }
}

export async function search(query: string, limit: number, isScoped: boolean): Promise<void> {
  const scope = isScoped ? ragScope() : undefined;
  const [began, isWanted] = [performance.now(), isNewest('chunks')];
  const { Chunks } = await post<Found>('search', { Query: query, Limit: limit, ...(scope && { RagScope: scope }) });
  if (isWanted()) results.value = { query, isScoped: scope !== undefined, chunks: Chunks, ms: Math.round(performance.now() - began) };
}

/** The chunks of one document, in its order: a search for the words of its path finds each. */
export async function open(path: string): Promise<void> {
  const RagScope: SearchRequest['RagScope'] = { Conditions: [{ Key: 'Path', Operator: '==', Values: [path] }] };
  const isWanted = isNewest('document');
  const { Chunks } = await post<Found>('search', { Query: path, Limit: MOST_CHUNKS, RagScope });
  if (isWanted()) opened.value = { path, chunks: Chunks.toSorted((a, b) => a.StartLine - b.StartLine) };
}

export async function erase(): Promise<void> {
  const id = workspace.peek();
  await new Workspace(tenant, id).erase();
  if (id !== workspace.peek()) return;
  // What is being searched for was found before.
  asked.chunks += 1;
  asked.document += 1;
  told.value = '';
  results.value = undefined;
  await look();
}

/** What the client has no method for: comparing alone, and searching with an explanation. */
const post = <T>(what: 'compare' | 'search', body: object): Promise<T> =>
  tenant.request<T>({
    method: 'POST',
    path: `/workspaces/${encodeURIComponent(workspace.peek())}/${what}`,
    ...(what === 'search' && { query: 'Explain=true' }),
    body: JSON.stringify(body),
  });
