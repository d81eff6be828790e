// A search in the texts of the sessions. The browser keeps none of them, so each session is asked of the service, the newest
// first. Owns its limits: how many sessions one search reads, how many at once, and how much of each.
import { signal } from '@preact/signals';
import type { SessionExport } from '../../../typescript/src/index.js';
import { onTheLine } from '../breaking/line.js';
import { recordsOf } from './history.js';
import { aptix, headersOfUser } from './service.js';
import { listed, type Listed } from './session_list.js';
import { givenTo, type Asked, type Step, type TurnRecord } from './turn_record.js';
import { user } from './user.js';
import { searched } from './user_sessions.js';
import { patternOf } from './pattern.js';

/** The sessions that are read before one is asked whether to go on. */
export const STEP = 50;
const AT_ONCE = 3;
/** A session that is longer is not read to its end, and not searched. */
const LONGEST_BYTES = 8 << 20;
/** The characters of an excerpt before and behind the words. */
const AROUND = 40;

export interface FoundSession {
  session: Pick<Listed, 'id' | 'title' | 'at'>;
  count: number;
  excerpt: readonly [before: string, words: string, behind: string];
}

export interface TextSearch {
  words: string;
  isGoing: boolean;
  /** The sessions that were read, out of how many of this step and those before. */
  read: number;
  of: number;
  found: readonly FoundSession[];
  /** Those that could not be read, or are too long. */
  unread: number;
  hasMore: boolean;
}

export const textSearch = signal<TextSearch | undefined>(undefined);
let going: AbortController | undefined;
/** The sessions that were read: one that is slow comes later than those behind it, and whoever is used again moves in the list. */
let done = new Set<string>();

/** Other words, or another user, are another search. */
function forget(): void {
  going?.abort();
  textSearch.value = undefined;
  done = new Set();
}
searched.subscribe(forget);
user.subscribe(forget);

/** Stops; what was found stays. */
export function cancelSearch(): void {
  going?.abort();
  if (textSearch.value) textSearch.value = { ...textSearch.value, isGoing: false, of: textSearch.value.read, hasMore: true };
}

/** Reads the next sessions; those that were read are not read again. */
export async function searchTexts(): Promise<void> {
  const words = searched.peek().trim();
  const pattern = patternOf(words);
  if (!pattern) return;
  const before = textSearch.peek();
  const mine = (going = new AbortController());
  const { signal: stop } = mine;
  const change = (how: (now: TextSearch) => Partial<TextSearch>) => {
    if (!stop.aborted && textSearch.value) textSearch.value = { ...textSearch.value, ...how(textSearch.value) };
  };
  textSearch.value = { words, isGoing: true, read: done.size, of: done.size, found: before?.found ?? [], unread: before?.unread ?? 0, hasMore: false };
  try {
    const { sessions, hasMore } = await newest(STEP);
    change(({ read }) => ({ of: read + sessions.length, hasMore }));
    const next = sessions.values();
    const reader = async () => {
      for (const session of next) {
        if (stop.aborted) return;
        const texts = await textsOf(session.id, stop);
        if (!stop.aborted) done.add(session.id);
        change((now) => {
          const found = texts && foundIn(session, texts, pattern);
          return { read: now.read + 1, unread: now.unread + (texts ? 0 : 1), ...(found && { found: [...now.found, found].sort((one, other) => other.session.at - one.session.at) }) };
        });
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, reader));
  } catch {
    // The list itself could not be read.
    change((now) => ({ unread: now.unread + 1, hasMore: true }));
  } finally {
    change(() => ({ isGoing: false }));
  }
}

/** The newest sessions that were not read. */
async function newest(count: number): Promise<{ sessions: readonly Pick<Listed, 'id' | 'title' | 'at'>[]; hasMore: boolean }> {
  if (user.peek() === undefined) {
    const unread = listed.peek().filter(({ id }) => !done.has(id));
    return { sessions: unread.slice(0, count), hasMore: unread.length > count };
  }
  const sessions = [];
  for await (const { SessionId, Title, ActiveAt } of aptix.sessions({ limit: 100 })) {
    if (done.has(SessionId)) continue;
    if (sessions.length === count) return { sessions, hasMore: true };
    sessions.push({ id: SessionId, title: Title || SessionId, at: Date.parse(ActiveAt) });
  }
  return { sessions, hasMore: false };
}

/** What was said in a session; `undefined` where it cannot be read. One that is erased has no texts. */
async function textsOf(id: string, stop: AbortSignal): Promise<readonly string[] | undefined> {
  try {
    const response = await onTheLine(`/sessions/${encodeURIComponent(id)}/export`, { headers: await headersOfUser(), signal: stop });
    if (response.status === 404) return [];
    const whole = response.ok ? await bounded(response) : undefined;
    return whole === undefined ? undefined : (await ownRecordsOf((JSON.parse(whole) as { Result: SessionExport }).Result)).flatMap(saidIn);
  } catch {
    return undefined;
  }
}

/** The turns of a session without those that came with the branch: they are found where they were said, if that is there yet. */
async function ownRecordsOf(exported: SessionExport): Promise<TurnRecord[]> {
  const { Parent } = exported;
  const records = recordsOf(exported);
  const isSearched = Parent !== undefined && (await isThere(Parent.SessionId));
  return isSearched ? records.slice(records.findIndex(({ turnId }) => turnId === Parent.TurnId) + 1) : records;
}

/** Whether the search reads that session. The list of a user's that the page has is of those alone whose titles have the words. */
async function isThere(session: string): Promise<boolean> {
  if (user.peek() === undefined) return listed.peek().some(({ id }) => id === session);
  return aptix.session(session).get().then(() => true, ({ code }: { code?: string }) => code !== 'session_not_found');
}

async function bounded({ body }: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  const reader = body!.getReader();
  let text = '';
  for (let bytes = 0; ; ) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    bytes += value.length;
    if (bytes > LONGEST_BYTES) return void reader.cancel();
    text += decoder.decode(value, { stream: true });
  }
}

const wordsOf = ({ text, files }: Asked): string[] => [text, ...files];
const saidIn = ({ asked, steps }: TurnRecord): string[] => [...wordsOf(asked), ...steps.flatMap(saidBy)];

function saidBy(step: Step): string[] {
  const said = (): (string | null | undefined)[] => {
    if (step.kind === 'server_tool') return [step.name, step.argumentsJson, step.result?.ResultJson];
    if (step.kind === 'client_call') return [step.call.Name, step.call.ArgumentsJson, givenTo(step)?.ResultJson];
    if (step.kind === 'steer') return step.asked ? wordsOf(step.asked) : [];
    return 'text' in step ? [step.text] : [];
  };
  return said().filter((text) => text) as string[];
}

function foundIn(session: FoundSession['session'], texts: readonly string[], pattern: RegExp): FoundSession | undefined {
  let count = 0;
  let excerpt: FoundSession['excerpt'] | undefined;
  for (const text of texts) {
    for (const { 0: words, index } of text.matchAll(pattern)) {
      count += 1;
      const end = index + words.length;
      excerpt ??= [text.slice(Math.max(0, index - AROUND), index), words, text.slice(end, end + 2 * AROUND)];
    }
  }
  return excerpt && { session, count, excerpt };
}
