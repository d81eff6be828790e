// A user of the tenant, as a back end looks after one: with an API key that may. An entry of its own, since pages have no use
// for it.
import type { Answer, Aptix } from "./index.js";
import type { Revocation, UserErasureReceipt, UserView } from "./types.js";

/** A user, by the name that the application gives; making it sends nothing. One whom the service knows nothing of is `user_not_found`. */
export class User {
  readonly #path: string;

  constructor(
    private readonly aptix: Pick<Aptix, "request">,
    readonly user: string,
  ) {
    this.#path = `/users/${encodeURIComponent(user)}`;
  }

  /** How many sessions there are by status, tokens and budgets, and since when tickets hold. */
  get(): Answer<UserView> {
    return this.aptix.request({ method: "GET", path: this.#path });
  }

  /** Ends every ticket and JWT that was issued before now; resolves when every session knows. */
  revoke(): Answer<Revocation> {
    return this.aptix.request({ method: "POST", path: `${this.#path}/revoke` });
  }

  /**
   * Erases all sessions of the user for good. As long as the receipt has `Pending`, the same call gives newer counts;
   * `undefined` when all is erased and the receipt was lost with a connection.
   */
  erase(): Answer<UserErasureReceipt | undefined> {
    return this.aptix.request({ method: "DELETE", path: this.#path, doneBy: "user_not_found" });
  }
}
