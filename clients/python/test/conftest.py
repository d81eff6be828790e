"""What the tests share: the bed (bed.mjs) that they run against, and each test in three worlds: `Aptix`, and
`AsyncAptix` under asyncio and under trio, behind one face that waits.
"""

from __future__ import annotations

import inspect
import itertools
import json
import os
import ssl
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal

from aptix_edge import Aptix, AsyncAptix, AsyncSession, AsyncTurn, AsyncUser, AsyncWorkspace

SCENARIOS = json.loads((Path(__file__).parents[3] / "tests/clients/scenarios.json").read_text("utf-8"))
_RUN = uuid.uuid4().hex[:8]
_LIMITED: Any = {"limits": httpx.Limits(max_connections=None), "verify": ssl.create_default_context()}
_ids = itertools.count(1)


def new_id(of: str = "s") -> str:
    return f"{of}-{_RUN}-{next(_ids)}"


class Bed:
    """The other process: what the network does, and what has come."""

    def __init__(self) -> None:
        self._client = httpx.Client(base_url=os.environ["APTIX_BED"], timeout=30)
        urls = self("urls")
        self.direct: str = urls["direct"]
        self.proxied: str = urls["proxied"]

    def close(self) -> None:
        self._client.close()

    def __call__(self, action: str, **given: Any) -> Any:
        response = self._client.post(f"/{action}", json=given)
        response.raise_for_status()
        return response.json()


class Waiting:
    """An object of the asynchronous client whose coroutines are waited for."""

    def __init__(self, portal: BlockingPortal, of: Any) -> None:
        self._portal = portal
        self._of = of

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._of, name)
        return (lambda *args, **named: self._given(value(*args, **named))) if callable(value) else value

    def __iter__(self) -> Iterator[Any]:
        return self._items(self._of.events())

    def _given(self, value: Any) -> Any:
        if inspect.iscoroutine(value):
            return self._given(self._portal.call(lambda: value))
        if inspect.isasyncgen(value):
            return self._items(value)
        kinds = (AsyncSession, AsyncTurn, AsyncUser, AsyncWorkspace)
        return Waiting(self._portal, value) if isinstance(value, kinds) else value

    def _items(self, items: Any) -> Iterator[Any]:
        try:
            while True:
                try:
                    item = self._portal.call(items.__anext__)
                except StopAsyncIteration:
                    return
                yield item
        finally:
            self._portal.call(items.aclose)


class World:
    """Makes clients of one kind. They share their connections, since it is these that take time to set up."""

    def __init__(self, name: str, stack: ExitStack) -> None:
        self.name = name
        self._stack = stack
        self._portal = None if name == "sync" else stack.enter_context(start_blocking_portal(name))
        self._shared = self._http(_LIMITED)

    def client(self, url: str, key: Any = None, transport: Any = None, **options: Any) -> Any:
        options = {"retry_delay_s": 0.001, "http_client": self._shared, **options}
        if transport:
            options["http_client"] = self._http({"transport": transport})
        if self._portal is None:
            return self._stack.enter_context(Aptix(url, key, **options))
        return Waiting(self._portal, AsyncAptix(url, key, **options))

    def _http(self, options: Any) -> Any:
        if self._portal is None:
            return self._stack.enter_context(httpx.Client(**options))
        client = httpx.AsyncClient(**options)
        self._stack.callback(self._portal.call, client.aclose)
        return client


@pytest.fixture(scope="session")
def bed() -> Iterator[Bed]:
    made = Bed()
    yield made
    made.close()


@pytest.fixture(params=["sync", "asyncio"])
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(request.param, stack)


@pytest.fixture(params=["sync", "asyncio", "trio"])
def each_world(request: pytest.FixtureRequest) -> Iterator[World]:
    with ExitStack() as stack:
        yield World(request.param, stack)


@pytest.fixture
def aptix(world: World, bed: Bed) -> Any:
    return world.client(bed.direct)


def script(*replies: list[Any], after: str = "Do it.") -> tuple[str, str]:
    """An instruction by which the model says these replies, each when the calls of those before have outputs; and
    its key in `told`.
    """
    calls = list(itertools.accumulate((sum(item[0] == "call" for item in reply) for reply in replies), initial=0))
    written = json.dumps({"Replies": dict(zip(map(str, calls), replies, strict=False)), "Nonce": new_id()})
    return f"{after} script:{written}", written


def for_each(items: list[Any], job: Callable[[Any], object], at_once: int = 12) -> None:
    """Runs the job for each item, so many at once; the first failure says which item it was."""

    def named(item: Any) -> None:
        try:
            job(item)
        except Exception as error:
            raise AssertionError(f"{item!r}: {error!r}") from error

    with ThreadPoolExecutor(at_once) as pool:
        for done in [pool.submit(named, item) for item in items]:
            done.result()
