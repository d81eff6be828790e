// Who sits before this tab: nobody, or a user of one's own invention. The name stays in the tab's storage, so that a reload
// keeps it and another tab has another one.
import { signal } from '@preact/signals';
import type { UserErasureReceipt } from '../../../typescript/src/index.js';
import { User } from '../../../typescript/src/users.js';
import { actFor, tenant } from './service.js';
import { ofTab } from './storage.js';

const PLACE = 'aptix-edge.user';
/** The wait between two looks at an erasure that goes on, in ms. */
const LOOK_MS = 500;
/** The looks in a row after which nothing more is awaited of sessions that fail each time: the service goes on by itself. */
const MOST_FAILURES = 10;

export const user = signal<string | undefined>(ofTab.get(PLACE) ?? undefined);
user.subscribe((name) => {
  if (name === undefined) ofTab.remove(PLACE);
  else ofTab.set(PLACE, name);
  actFor(name);
});

/** Erases the user with all their sessions. Resolves to the receipt; to `undefined` where one was lost. */
export async function eraseUser(): Promise<UserErasureReceipt | undefined> {
  const name = user.peek();
  if (name === undefined) return undefined;
  for (let failures = 0; ; ) {
    const receipt = await new User(tenant, name).erase();
    if (!receipt || receipt.Sessions.Pending === 0) return receipt;
    failures = receipt.Sessions.Failed === receipt.Sessions.Pending ? failures + 1 : 0;
    if (failures === MOST_FAILURES) return receipt;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
