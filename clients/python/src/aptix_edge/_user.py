"""A user of the tenant, as a back end looks after one: with an API key that may."""

from __future__ import annotations

from ._http import Call, Http, request
from ._submission import segment
from .wire import Revocation, UserErasureReceipt, UserView


class AsyncUser:
    """A user, by the name that the application gives. One whom the service knows nothing of is `user_not_found`."""

    def __init__(self, http: Http, user: str) -> None:
        self._http = http
        self._path = f"/users/{segment(user)}"
        self.user = user

    async def get(self) -> UserView:
        """How many sessions there are by status, tokens and budgets, and since when tickets hold."""
        view: UserView = await request(self._http, Call("GET", self._path))
        return view

    async def revoke(self) -> Revocation:
        """Ends every ticket and JWT that was issued before now; comes back when every session knows."""
        revocation: Revocation = await request(self._http, Call("POST", f"{self._path}/revoke"))
        return revocation

    async def erase(self) -> UserErasureReceipt | None:
        """Erases all sessions of the user for good. As long as the receipt has `Pending`, the same call gives newer
        counts; `None` when all is erased and the receipt was lost with a connection.
        """
        receipt: UserErasureReceipt | None = await request(
            self._http, Call("DELETE", self._path, done_by="user_not_found")
        )
        return receipt
