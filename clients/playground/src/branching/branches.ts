// The branches that this browser has made: which session branched from which, and which turn asks what which other one asked.
// Ids alone, nothing of what was said. The service itself tells the parent of a fork; a branch before the first turn is no
// fork, so that only this list knows where it comes from.
import { effect, signal } from '@preact/signals';

export interface Branch {
  /** The new session. */
  id: string;
  parent: string;
  /** The turn of the parent that was asked again; absent of a fork that only goes on. */
  of?: string;
  /** The turn of the new session that asks it again. */
  by?: string;
  /** The conversation context that was chosen for it. */
  context?: string;
}

/** A turn, wherever it is. */
export interface TurnPlace {
  session: string;
  turn: string;
}

const PLACE = 'aptix-edge.branches';
/** The newest ones that are kept. */
const MOST_KEPT = 1000;

export const branches = signal<readonly Branch[]>(stored());
effect(() => {
  try {
    localStorage.setItem(PLACE, JSON.stringify(branches.value));
  } catch {
    // A browser that keeps nothing knows the branches of this page only.
  }
});
// Another tab has made a branch.
addEventListener('storage', ({ key }) => {
  if (key === PLACE) branches.value = stored();
});

function stored(): Branch[] {
  try {
    const held: unknown = JSON.parse(localStorage.getItem(PLACE) ?? '[]');
    return Array.isArray(held) ? held.filter((each) => typeof each?.id === 'string' && typeof each.parent === 'string').slice(0, MOST_KEPT) : [];
  } catch {
    return [];
  }
}

export function branched(branch: Branch): void {
  branches.value = [branch, ...branches.value.filter(({ id }) => id !== branch.id)].slice(0, MOST_KEPT);
}

export const branchOf = (session: string): Branch | undefined => branches.value.find(({ id }) => id === session);

/** The other turns that ask what this one asks: the one that it was made from, and those that were made from either. */
export function variantsOf(place: TurnPlace): TurnPlace[] {
  const found: TurnPlace[] = [place];
  const isNew = ({ session, turn }: TurnPlace) => !found.some((each) => each.session === session && each.turn === turn);
  // The list grows while it is gone through.
  for (const { session, turn } of found) {
    for (const { id, parent, of, by } of branches.value) {
      if (of === undefined || by === undefined) continue;
      const [original, repeated] = [{ session: parent, turn: of }, { session: id, turn: by }];
      if (parent === session && of === turn && isNew(repeated)) found.push(repeated);
      if (id === session && by === turn && isNew(original)) found.push(original);
    }
  }
  return found.slice(1);
}
