// A user of the tenant, as a back end looks after one: with an API key that may.
import { type Http, request } from "./http.js";
import type { Revocation, UserErasureReceipt, UserView } from "./types.js";

/** A user, by the name that the application gives. One whom the service knows nothing of is `user_not_found`. */
export class User {
  readonly #path: string;

  constructor(
    private readonly http: Http,
    readonly user: string,
  ) {
    this.#path = `/users/${encodeURIComponent(user)}`;
  }

  /** How many sessions there are by status, tokens and budgets, and since when tickets hold. */
  get(): Promise<UserView> {
    return request(this.http, { method: "GET", path: this.#path });
  }

  /** Ends every ticket and JWT that was issued before now; resolves when every session knows. */
  revoke(): Promise<Revocation> {
    return request(this.http, { method: "POST", path: `${this.#path}/revoke` });
  }

  /**
   * Erases all sessions of the user for good. As long as the receipt has `Pending`, the same call gives newer counts;
   * `undefined` when all is erased and the receipt was lost with a connection.
   */
  erase(): Promise<UserErasureReceipt | undefined> {
    return request(this.http, { method: "DELETE", path: this.#path, doneBy: "user_not_found" });
  }
}
