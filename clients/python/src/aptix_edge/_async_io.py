"""The world of a program with an event loop, of asyncio or trio."""

from __future__ import annotations

import asyncio
import inspect
import math
import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar, cast

import anyio
import anyio.to_thread
import httpx

from ._io import TookTooLong

T = TypeVar("T")


class _Response:
    def __init__(self, response: httpx.Response, ends: float) -> None:
        self._response = response
        self._ends = ends
        self._chunks = cast("AsyncGenerator[bytes, None]", response.aiter_bytes())
        self.status = response.status_code
        self.headers = response.headers

    async def chunk(self) -> bytes | None:
        with anyio.move_on_after(self._ends - anyio.current_time()):
            return await anext(self._chunks, None)
        raise TookTooLong

    async def close(self) -> None:
        # Also where the task was cancelled: the connection is not to stay open.
        with anyio.CancelScope(shield=True):
            await self._chunks.aclose()
            await self._response.aclose()


class _Reading:
    def __init__(self) -> None:
        self._end: anyio.Event | None = None
        self._reader: int | None = None
        self._scope: anyio.CancelScope | None = None
        self._is_stopped = False
        self._is_left = False

    async def step(self, function: Callable[[], Awaitable[T | None]]) -> T | None:
        self._reader = anyio.get_current_task().id
        self._end = self._end or anyio.Event()
        if self._is_stopped:
            return None
        found: T | None = None
        try:
            with anyio.CancelScope() as self._scope:
                found = await function()
        finally:
            self._scope = None
        # An event that was there already is found although the scope is cancelled.
        return None if self._is_stopped else found

    async def stop(self) -> bool:
        self._is_stopped = True
        if self._scope is not None:
            self._scope.cancel()
            await self.ended()
            return False
        is_first, self._is_left = not self._is_left, True
        return is_first

    def ends(self) -> None:
        if self._end is not None:
            self._end.set()

    async def ended(self) -> None:
        if self._end is not None and self._reader != anyio.get_current_task().id:
            await self._end.wait()


class AsyncIo:
    """Over an `httpx.AsyncClient`, which is closed with it unless it is the caller's."""

    has_loop = True

    def __init__(self, client: httpx.AsyncClient | None) -> None:
        self._client = client or _new_client()
        self._is_own = client is None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._process = os.getpid()
        self._parents: httpx.AsyncClient | None = None

    async def send(self, request: httpx.Request, within_s: float | None) -> _Response:
        ends = math.inf if within_s is None else anyio.current_time() + within_s
        sent = partial(self._of_loop().send, request, stream=True, follow_redirects=False)
        return _Response(await self.within(sent, within_s), ends)

    async def sleep(self, seconds: float) -> None:
        await anyio.sleep(seconds)

    def lock(self) -> anyio.Lock:
        return anyio.Lock()

    def reading(self) -> _Reading:
        return _Reading()

    async def call(
        self, function: Callable[[], T | Awaitable[T]], *, awaits: bool, timeout_s: float | None = None
    ) -> T:
        async def called() -> T:
            if awaits:
                return await self.resolve(function())
            # A plain function has a thread, since it would hold up the loop: none of the 40 that the program shares,
            # since what it waits for may need one.
            own = anyio.CapacityLimiter(1)
            given = await anyio.to_thread.run_sync(function, abandon_on_cancel=True, limiter=own)
            return await self.resolve(given)

        return await self.within(called, timeout_s)

    async def within(self, function: Callable[[], Awaitable[T]], seconds: float | None) -> T:
        with anyio.move_on_after(seconds):
            return await function()
        raise TookTooLong

    async def resolve(self, value: T | Awaitable[T]) -> T:
        try:
            found: Any = await value if inspect.isawaitable(value) else value
        except asyncio.CancelledError as error:
            # That of something that was waited for is a failure as any other. Before Python 3.11 nobody can tell.
            cancelling = getattr(asyncio.current_task(), "cancelling", None)
            if cancelling is None or cancelling():
                raise
            raise RuntimeError("What was waited for was cancelled.") from error
        return cast("T", found)

    async def shielded(self, function: Callable[[], Awaitable[Any]]) -> None:
        with anyio.CancelScope(shield=True):
            await function()

    async def close(self) -> None:
        if self._is_own:
            await self._of_loop().aclose()

    def _of_loop(self) -> httpx.AsyncClient:
        """The client, without the connections of a loop that has ended, as between two `asyncio.run`: on those a
        request is still sent, and its answer is never read. In a process that was forked it is one of its own, whatever
        loop of the parent's runs on there.
        """
        process = os.getpid()
        has_ended = self._loop is not None and self._loop.is_closed()
        if self._is_own and (has_ended or self._process != process) and not self._client.is_closed:
            # Held: with what is collected, uvloop would take the parent's connections from the parent's loop.
            self._parents = self._client if self._process != process else self._parents
            self._client, self._loop, self._process = _new_client(), None, process
        with suppress(RuntimeError):  # Those of trio are of no loop.
            self._loop = asyncio.get_running_loop()
        return self._client


def _new_client() -> httpx.AsyncClient:
    return httpx.AsyncClient(limits=httpx.Limits(max_connections=None))
