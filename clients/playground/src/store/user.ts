// Who sits before this tab: nobody, or a user of one's own invention. The name stays in the tab's storage, so that a reload
// keeps it and another tab has another one.
import { signal } from '@preact/signals';
import type { UserErasureReceipt } from '../../../typescript/src/index.js';
import { erasedUser } from '../../../typescript/src/user_erasure.js';
import { User } from '../../../typescript/src/users.js';
import { actFor, tenant } from './service.js';
import { ofTab } from './storage.js';

const PLACE = 'aptix-edge.user';

export const user = signal<string | undefined>(ofTab.get(PLACE) ?? undefined);
user.subscribe((name) => {
  if (name === undefined) ofTab.remove(PLACE);
  else ofTab.set(PLACE, name);
  actFor(name);
});

/** Erases the user with all their sessions. Resolves to the receipt; to `undefined` where one was lost. */
export async function eraseUser(): Promise<UserErasureReceipt | undefined> {
  const name = user.peek();
  return name === undefined ? undefined : erasedUser(new User(tenant, name));
}
