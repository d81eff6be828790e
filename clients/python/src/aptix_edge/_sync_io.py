"""The world of a program without an event loop: every wait blocks the thread."""

from __future__ import annotations

import contextvars
import inspect
import os
import queue
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, TypeVar

import httpx

from ._io import TookTooLong

T = TypeVar("T")


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine whose waits all block."""
    try:
        coroutine.send(None)
    except StopIteration as end:
        value: T = end.value
        return value
    coroutine.close()
    raise RuntimeError("A coroutine of the synchronous client has waited for an event loop.")


def iterate(items: AsyncGenerator[T, None]) -> Generator[T, None, None]:
    """The items of an asynchronous generator whose waits all block."""
    try:
        while True:
            try:
                item = run(items.__anext__())
            except StopAsyncIteration:
                return
            yield item
    finally:
        run(items.aclose())


class _Lock(AbstractAsyncContextManager[None]):
    def __init__(self) -> None:
        self._lock = threading.Lock()

    async def __aenter__(self) -> None:
        self._lock.acquire()

    async def __aexit__(self, *_: object) -> None:
        self._lock.release()


class _Reading:
    def __init__(self) -> None:
        self._end = threading.Event()
        self._reader: int | None = None
        self._is_stopped = False
        # A step has it, and for good who stops the reading. Nobody waits for it: the collector may be in any thread.
        self._gate = threading.Lock()

    async def step(self, function: Callable[[], Awaitable[T | None]]) -> T | None:
        self._reader = threading.get_ident()
        if self._is_stopped or not self._gate.acquire(blocking=False):
            return None
        try:
            found = await function()
        finally:
            self._gate.release()
        return None if self._is_stopped else found

    async def stop(self) -> bool:
        self._is_stopped = True
        return self._gate.acquire(blocking=False)

    def ends(self) -> None:
        self._end.set()

    async def ended(self) -> None:
        if self._reader not in (None, threading.get_ident()):
            self._end.wait()


class _Response:
    def __init__(self, response: httpx.Response, within_s: float | None) -> None:
        self._response = response
        self._chunks: Iterator[bytes] = response.iter_bytes()
        self.status = response.status_code
        self.headers = response.headers
        self._timer: threading.Timer | None = None
        if within_s is not None:
            self._timer = threading.Timer(within_s, self._cut)
            self._timer.daemon = True
            self._timer.start()

    def _cut(self) -> None:
        """Ends the connection: a read that blocks another thread ends with it, and with nothing else."""
        stream = self._response.extensions.get("network_stream")
        connection = stream.get_extra_info("socket") if stream else None
        if connection is not None:
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    async def chunk(self) -> bytes | None:
        return next(self._chunks, None)

    async def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._response.close()


class SyncIo:
    """Over an `httpx.Client`, which is closed with it unless it is the caller's."""

    has_loop = False

    def __init__(self, client: httpx.Client | None) -> None:
        self._client = client or _new_client()
        self._is_own = client is None
        self._process = os.getpid()

    async def send(self, request: httpx.Request, within_s: float | None) -> _Response:
        ends = None if within_s is None else time.monotonic() + within_s
        response = self._of_process().send(request, stream=True, follow_redirects=False)
        return _Response(response, None if ends is None else max(0, ends - time.monotonic()))

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    def lock(self) -> _Lock:
        return _Lock()

    def reading(self) -> _Reading:
        return _Reading()

    async def call(
        self, function: Callable[[], T | Awaitable[T]], *, awaits: bool, timeout_s: float | None = None
    ) -> T:
        if awaits:
            raise TypeError("Functions of `Aptix` are plain ones; those of `async def` are for `AsyncAptix`.")
        if timeout_s is None:
            return await self.resolve(function())
        outcomes: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                outcomes.put((context.run(function), None))
            except BaseException as error:  # noqa: BLE001 - it is raised where it was asked for
                outcomes.put((None, error))

        threading.Thread(target=work, daemon=True).start()
        try:
            value, error = outcomes.get(timeout=timeout_s)
        except queue.Empty:
            raise TookTooLong from None
        if error is not None:
            raise error
        return await self.resolve(value)

    async def within(self, function: Callable[[], Awaitable[T]], seconds: float | None) -> T:  # noqa: ARG002
        return await function()

    async def resolve(self, value: T | Awaitable[T]) -> T:
        if inspect.isawaitable(value):
            if inspect.iscoroutine(value):
                value.close()
            raise TypeError("Functions of `Aptix` give values; those that are awaited are for `AsyncAptix`.")
        return value

    async def shielded(self, function: Callable[[], Awaitable[Any]]) -> None:
        await function()

    async def close(self) -> None:
        if self._is_own:
            self._client.close()

    def _of_process(self) -> httpx.Client:
        """The client, in a process that was forked one of its own: on one that both have, each would read what is
        the other's.
        """
        process = os.getpid()
        if self._is_own and self._process != process and not self._client.is_closed:
            self._client, self._process = _new_client(), process
        return self._client


def _new_client() -> httpx.Client:
    return httpx.Client(limits=httpx.Limits(max_connections=None))
