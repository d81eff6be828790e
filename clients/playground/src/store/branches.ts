// The branches that this browser has made: which session branched from which, and which turn asks what which other one asked.
// Ids alone, nothing of what was said. The service itself tells the parent of a fork; a branch before the first turn is no
// fork, so that only this list knows where it comes from. Owns where they are kept: of a user's sessions in the tab alone.
import { effect, signal } from '@preact/signals';
import { ofBrowser, ofTab, type Kept } from './storage.js';
import { user } from './user.js';

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
/** Those of a user stay in the tab, and go when the user signs out. */
const storageOf = (name: string | undefined): Kept => (name === undefined ? ofBrowser : ofTab);

export const branches = signal<readonly Branch[]>([]);

let shownOf: string | undefined;
effect(() => {
  const name = user.value;
  if (shownOf !== undefined && shownOf !== name) ofTab.remove(PLACE);
  shownOf = name;
  branches.value = stored();
});
// Another tab has made a branch.
addEventListener('storage', ({ key, storageArea }) => {
  if (key === PLACE && storageOf(shownOf).is(storageArea)) branches.value = stored();
});

function stored(): Branch[] {
  return storageOf(shownOf).list<Branch>(PLACE, (each) => typeof each?.id === 'string' && typeof each.parent === 'string').slice(0, MOST_KEPT);
}

function keep(all: readonly Branch[]): void {
  branches.value = all.slice(0, MOST_KEPT);
  storageOf(shownOf).set(PLACE, JSON.stringify(branches.value), true);
}

/** Another tab may have written the list a moment ago, or while this one slept. */
export const branched = (branch: Branch): void => keep([branch, ...stored().filter(({ id }) => id !== branch.id)]);

/** Forgets where a session that is erased came from. */
export const forgetBranch = (session: string): void => keep(stored().filter(({ id }) => id !== session));

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
