"""What the client needs of the world: requests, waiting, locks and running functions of the caller. All else in this
package is written once over it, as coroutines. `_async_io` is for an event loop; in `_sync_io` nothing ever waits for a
loop, so that a coroutine runs through in one step.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol, TypeVar

import httpx

T = TypeVar("T")


class TookTooLong(Exception):  # noqa: N818 - it never reaches a caller
    """A function did not end in its time."""


class Response(Protocol):
    """The head of a response, and its body as it comes."""

    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> httpx.Headers: ...

    async def chunk(self) -> bytes | None:
        """The next bytes of the body; `None` at its end. Raises `httpx.HTTPError` when the connection was lost."""
        ...

    async def close(self) -> None: ...


class Reading(Protocol):
    """The reading of a turn by one task or thread, which others may wait for, or end."""

    async def step(self, function: Callable[[], Awaitable[T | None]]) -> T | None:
        """Runs a coroutine of this package; `None` once the reading was stopped."""
        ...

    async def stop(self) -> bool:
        """Lets no further step begin. Whether it is the caller's to close what was read: of several callers the first
        one's, save while a step is under way. That ends at once in a loop, in a thread when it ends by itself, and its
        reader stops the reading once more.
        """
        ...

    def ends(self) -> None: ...

    async def ended(self) -> None:
        """Waits for the end, unless it is the reader's own, or there is none."""
        ...


class Io(Protocol):
    """The one port of the client."""

    has_loop: bool
    """Whether functions of the caller may be awaited."""

    async def send(self, request: httpx.Request, within_s: float | None) -> Response:
        """Sends it; gives the head of the response. Raises `httpx.HTTPError` when none came. The response, its body
        included, is cut after `within_s`.
        """
        ...

    async def sleep(self, seconds: float) -> None: ...

    def lock(self) -> AbstractAsyncContextManager[object]:
        """A new lock, for threads or for tasks."""
        ...

    def reading(self) -> Reading: ...

    async def call(
        self, function: Callable[[], T | Awaitable[T]], *, awaits: bool, timeout_s: float | None = None
    ) -> T:
        """Runs a function of the caller, an `async def` where it `awaits`. Raises `TookTooLong`, after which a
        thread may run on.
        """
        ...

    async def within(self, function: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        """Runs a coroutine of this package. Raises `TookTooLong` when it was given up, which only a loop can do."""
        ...

    async def resolve(self, value: T | Awaitable[T]) -> T:
        """What a short function of the caller has given, awaited where it is a promise."""
        ...

    async def shielded(self, function: Callable[[], Awaitable[Any]]) -> None:
        """Runs it although the caller was cancelled."""
        ...

    async def close(self) -> None: ...
