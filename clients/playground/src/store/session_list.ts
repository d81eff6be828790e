// The sessions of this browser, the newest first: ids and titles, nothing of what was said, and never a key. Owns how many
// are kept: a list without an end is read whole by each page, and written whole with each message.
import { effect, signal } from '@preact/signals';

export interface Listed {
  id: string;
  title: string;
  /** When it was last used, in milliseconds since the epoch. */
  at: number;
}

const PLACE = 'aptix-edge.sessions';
const LONGEST_TITLE = 60;
/** The newest ones that are kept. Older sessions stay in the service, under their address. */
export const MOST_KEPT = 1000;

export const listed = signal<readonly Listed[]>(stored());
effect(() => {
  try {
    localStorage.setItem(PLACE, JSON.stringify(listed.value));
  } catch {
    // A browser that keeps nothing shows the sessions of this page only.
  }
});

// Another tab has changed the list.
addEventListener('storage', ({ key }) => {
  if (key === PLACE) listed.value = stored();
});

function stored(): Listed[] {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(PLACE) ?? '[]');
    if (!Array.isArray(held)) return [];
    return held.filter((each) => typeof each?.id === 'string' && typeof each.title === 'string').slice(0, MOST_KEPT);
  } catch {
    return [];
  }
}

/** Puts a session at the top of the list; the title is that of its first use. */
export function used(id: string, words: string): void {
  const known = listed.value.find((each) => each.id === id);
  const line = words.replace(/^[\s#>*`-]+/, '').split('\n')[0]!.trim();
  const title = known?.title ?? (line.length > LONGEST_TITLE ? `${line.slice(0, LONGEST_TITLE - 1)}…` : line || 'Without words');
  listed.value = [{ id, title, at: Date.now() }, ...listed.value.filter((each) => each.id !== id)].slice(0, MOST_KEPT);
}

export function unlist(id: string): void {
  listed.value = listed.value.filter((each) => each.id !== id);
}
