"""The world of a program with an event loop, of asyncio or trio."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
import httpx

from ._io import TookTooLong

T = TypeVar("T")


class _Response:
    def __init__(self, response: httpx.Response) -> None:
        self._response = response
        self._chunks = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        self.status = response.status_code
        self.headers = response.headers

    async def chunk(self) -> bytes | None:
        return await anext(self._chunks, None)

    async def close(self) -> None:
        # Also where the task was cancelled: the connection is not to stay open.
        with anyio.CancelScope(shield=True):
            await self._chunks.aclose()
            await self._response.aclose()


class AsyncIo:
    """Over an `httpx.AsyncClient`, which is closed with it unless it is the caller's."""

    def __init__(self, client: httpx.AsyncClient | None) -> None:
        self._client = client or httpx.AsyncClient(limits=httpx.Limits(max_connections=None))
        self._is_own = client is None

    async def send(self, request: httpx.Request) -> _Response:
        return _Response(await self._client.send(request, stream=True, follow_redirects=False))

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def lock(self) -> anyio.Lock:
        return anyio.Lock()

    async def call(
        self, function: Callable[[], T | Awaitable[T]], *, awaits: bool, timeout_s: float | None = None
    ) -> T:
        with anyio.move_on_after(timeout_s):
            # A plain function has a thread, since it would hold up the loop.
            given = function() if awaits else await anyio.to_thread.run_sync(function, abandon_on_cancel=True)
            return await self.resolve(given)
        raise TookTooLong

    async def resolve(self, value: T | Awaitable[T]) -> T:
        found: Any = await value if inspect.isawaitable(value) else value
        return cast("T", found)

    async def shielded(self, function: Callable[[], Awaitable[Any]]) -> None:
        with anyio.CancelScope(shield=True):
            await function()

    async def close(self) -> None:
        if self._is_own:
            await self._client.aclose()
