// The erasure of a user to its end. Sessions are erased in the service's own time, and the same call tells how many are left.
import type { UserErasureReceipt } from "./types.js";
import type { User } from "./users.js";

/** The wait between two looks at an erasure that goes on, in ms. */
const LOOK_MS = 500;
/** The looks in a row after which nothing more is awaited of sessions that fail each time: the service goes on by itself. */
const MOST_FAILURES = 10;

/** Erases a user with all sessions. Resolves to the last receipt; to `undefined` where it was lost with a connection. */
export async function erasedUser(user: User, signal?: AbortSignal): Promise<UserErasureReceipt | undefined> {
  for (let failures = 0; ; ) {
    signal?.throwIfAborted();
    const receipt = await user.erase();
    if (!receipt?.Sessions.Pending) return receipt;
    failures = receipt.Sessions.Failed === receipt.Sessions.Pending ? failures + 1 : 0;
    if (failures === MOST_FAILURES) return receipt;
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS));
  }
}
