"""One HTTP request, and how it is repeated. Every request of this service may be repeated unchanged, always: ids and
content make it the same request.
"""

from __future__ import annotations

import json
import math
import random
import re
import time
from collections.abc import AsyncGenerator, Callable, Collection, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Generic, Literal, TypeVar, cast

import httpx
from typing_extensions import Self

from ._credential import Bearer
from ._errors import AptixConnectionError, AptixError, repetition
from ._io import Io, Response, TookTooLong
from ._sse import EventReader, ServerSentEvent
from .wire import Entry, ErrorCode


def _version() -> str:
    try:
        return version("aptix-edge")
    except PackageNotFoundError:  # It runs from a folder that was never installed.
        return "0"


USER_AGENT = f"aptix-edge-python/{_version()}"

LONGEST_WAIT_S = 60.0
"""The longest `Retry-After` that is waited for."""
LONGEST_BACKOFF_S = 8.0
LONGEST_TIMER_S = 2_000_000.0
"""The longest wait of every timer."""
CONNECT_S = 10.0
THIS_MACHINE = re.compile(r"https?://(localhost|127\.\d+\.\d+\.\d+|\[::1\])(:|/|$)", re.IGNORECASE)


@dataclass(frozen=True)
class LogEntry:
    """An attempt as `on_log` gets it: never a body, a query or a key."""

    method: str
    path: str
    attempt: int
    """From 1."""
    seconds: float
    """Until the head of the response, or the failure."""
    status: int | None = None
    error: str | None = None
    """Where no response came: the name of the failure."""


@dataclass(frozen=True)
class Http:
    """Where the service is, and how often it is asked again; the parts of one client share it."""

    io: Io
    base_url: str
    bearer: Bearer
    headers: Mapping[str, str]
    max_retries: int
    max_reconnects: int
    retry_failed_turns: int
    retry_delay_s: float
    idle_timeout_s: float
    timeout_s: float
    on_log: Callable[[LogEntry], object] | None
    learnt: Learnt
    deadline: Deadline | None = None
    on_head: Callable[[Response], object] | None = None
    """Gets the head of each response."""
    on_warning: Callable[[Entry], object] | None = None
    """Gets what the service tells beside a result."""


@dataclass
class Learnt:
    """What the parts of one client have learnt of its service."""

    is_there: bool = False
    """It has answered."""


class Deadline:
    """The end of the time that everything together may take, the waits between attempts included."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._at = time.monotonic() + seconds

    @property
    def left_s(self) -> float:
        return self._at - time.monotonic()

    def check(self, position: str | None = None) -> None:
        """Raises when it has passed."""
        if self.left_s <= 0:
            raise self.failure(position)

    def failure(self, position: str | None = None) -> AptixConnectionError:
        message = f"It took longer than {self._seconds:g} s. A turn may well run on."
        return AptixConnectionError(message, position=position)


def finite(seconds: float | None) -> float | None:
    """A time for a timer: of one that is longer than any waits, such as `math.inf`, it makes none at all."""
    return None if seconds is None or seconds > LONGEST_TIMER_S else seconds


T = TypeVar("T")


@dataclass(frozen=True)
class WithResponse(Generic[T]):
    """What a method has given, with the head of the response that it came in."""

    data: T
    status: int
    headers: httpx.Headers
    request_id: str | None
    """Finds the request in the service's log."""


_heads: ContextVar[list[Response] | None] = ContextVar("aptix_edge_heads", default=None)


class Heads:
    """The heads of all responses that come within the block."""

    def __enter__(self) -> Self:
        self._heads: list[Response] = []
        self._token = _heads.set(self._heads)
        return self

    def __exit__(self, *_: object) -> None:
        _heads.reset(self._token)

    def with_newest(self, data: T) -> WithResponse[T]:
        """Raises `ValueError` where there was no response."""
        if not self._heads:
            raise ValueError("with_response takes a method that sends a request, such as session.get.")
        newest = self._heads[-1]
        return WithResponse(data, newest.status, newest.headers, request_id_of(newest.headers))


def request_id_of(headers: Mapping[str, str]) -> str | None:
    return headers.get("Aptix-Request-Id")


@dataclass(frozen=True)
class Call:
    """A request. `live`: the service sends something at least every 10 s, so a longer silence is a dead connection."""

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"]
    path: str
    query: Mapping[str, str | list[str]] = field(default_factory=dict[str, "str | list[str]"])
    body: bytes | None = None
    """Written once: a repetition is the same bytes."""
    live: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    done_by: ErrorCode | None = None
    """The refusal by which a repetition learns that an attempt whose answer was lost has done it."""


def json_bytes(value: object) -> bytes:
    """JSON as it is sent. Raises `ValueError` or `TypeError` for what is none, such as NaN."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    except UnicodeEncodeError:  # A lone surrogate has no UTF-8.
        return json.dumps(value, allow_nan=False, separators=(",", ":")).encode()


class NotAnAnswer(Exception):  # noqa: N818 - it never reaches a caller
    """What came is not what the service sends."""


class Exchange:
    """One attempt at a call."""

    def __init__(self, http: Http, call: Call) -> None:
        self._http = http
        self._call = call
        self._response: Response | None = None
        self.shown: str | None = None
        """The credential of the request."""

    async def send(self, attempt: int, position: str | None = None) -> Response:
        """Sends the request; gives the head of its response. `position` is where a stream goes on."""
        http, call = self._http, self._call
        began = time.monotonic()
        status: int | None = None
        failure: str | None = "cancelled"
        try:
            self.shown = await http.io.within(http.bearer.get, self._left_s)
            self._response = await http.io.send(self._request(position), self._left_s)
            status, failure = self._response.status, None
            http.learnt.is_there = True
        except Exception as error:
            failure = type(error).__name__
            is_refused = isinstance(error, httpx.ConnectError) and _was_refused(error)
            if not is_refused or http.learnt.is_there or not THIS_MACHINE.match(http.base_url):
                raise
            # On this machine no wait will help; a server that has answered may be starting again.
            raise AptixConnectionError(f"Nobody listens at {http.base_url}.", is_final=True) from error
        finally:
            if http.on_log:
                http.on_log(LogEntry(call.method, call.path, attempt, time.monotonic() - began, status, failure))
        heads = _heads.get()
        if heads is not None:
            heads.append(self._response)
        if http.on_head:
            http.on_head(self._response)
        return self._response

    @property
    def _left_s(self) -> float | None:
        deadline = self._http.deadline
        return None if deadline is None else max(deadline.left_s, 0.001)

    def _request(self, position: str | None) -> httpx.Request:
        http, call = self._http, self._call
        left_s = self._left_s or math.inf
        silence = finite(min(http.idle_timeout_s if call.live else http.timeout_s, left_s))
        own = {"User-Agent": USER_AGENT, "Accept-Encoding": "gzip, deflate"}
        headers = {**own, **http.headers, **call.headers}
        if self.shown:
            headers["Authorization"] = f"Bearer {self.shown}"
        if call.body is not None:
            headers["Content-Type"] = "application/json"
        if position:
            headers["Last-Event-ID"] = position
        # A client of the caller's own may have no connection left.
        timeout = {"connect": min(CONNECT_S, left_s), "read": silence, "write": silence, "pool": finite(left_s)}
        url = httpx.URL(http.base_url + call.path)
        if call.query:
            # httpx writes a blank as a plus sign, which a path of a document may have.
            url = url.copy_merge_params(dict(call.query))
            url = url.copy_with(query=url.query.replace(b"+", b"%20"))
        return httpx.Request(
            call.method,
            url,
            headers=headers,
            content=call.body,
            extensions={"timeout": timeout},
        )

    @property
    def response(self) -> Response:
        assert self._response is not None
        return self._response

    @property
    def is_stream(self) -> bool:
        """Whether it is answered with a stream."""
        return str(self.response.headers.get("Content-Type", "")).startswith("text/event-stream")

    async def events(self) -> AsyncGenerator[ServerSentEvent, None]:
        """The events of a stream, until it ends, however it does."""
        reader = EventReader()
        while (chunk := await self.response.chunk()) is not None:
            for event in reader.feed(chunk):
                yield event

    async def body(self) -> bytes:
        """The whole body."""
        chunks: list[bytes] = []
        while (chunk := await self.response.chunk()) is not None:
            chunks.append(chunk)
        return b"".join(chunks)

    async def result(self) -> Any:
        """The `Result` of a JSON response; anything but a successful one is thrown."""
        try:
            answer = json.loads(await self.body())
        except (ValueError, RecursionError):  # The second of JSON that is too deep to be read.
            answer = None
        result = result_of(answer, self.response.status, self.response.headers)
        if self._http.on_warning:
            for warning in cast("dict[str, Any]", answer).get("Warnings", ()):
                self._http.on_warning(warning)
        return result

    async def close(self) -> None:
        if self._response is not None:
            await self._response.close()


class Attempts:
    """The attempts at one request: how many there may be, and the waits between them."""

    def __init__(self, http: Http) -> None:
        self._http = http
        self.count = 1
        """The number of the present attempt."""
        self._spent = {"reconnect": 0, "retry": 0, "rerun": 0, "renew": 0}

    def progressed(self) -> None:
        """Something new has come: the connection works."""
        self._spent["reconnect"] = self._spent["renew"] = 0

    async def after(self, failure: AptixError, shown: str | None) -> None:
        """Waits until the next attempt is due; raises the failure when there is to be none. `shown`: with what it
        was met.
        """
        http = self._http
        position = failure.position if isinstance(failure, AptixConnectionError) else None
        if http.deadline:
            http.deadline.check(position)
        kind = repetition(failure)
        renew = int(kind == "renew" and http.bearer.replaces(shown))
        reruns = http.retry_failed_turns
        most = {"reconnect": http.max_reconnects, "retry": http.max_retries, "rerun": reruns, "renew": renew}
        asked = failure.retry_after_s
        if kind is None or self._spent[kind] >= most[kind] or (asked or 0) > LONGEST_WAIT_S:
            raise failure
        # A float has no 2.0 ** 1024, and who waits for days gets there.
        doubled = http.retry_delay_s * 2.0 ** min(self._spent[kind], 99)
        backoff = min(doubled, LONGEST_BACKOFF_S) * (1 - random.random() / 4)  # noqa: S311 - no secret
        self._spent[kind] += 1
        self.count += 1
        if not renew:
            wait_s = backoff if asked is None else asked
            await http.io.sleep(wait_s if http.deadline is None else max(0, min(wait_s, http.deadline.left_s)))
        if http.deadline:
            http.deadline.check(position)


async def request(http: Http, call: Call) -> Any:
    """Sends a request until there is a result, and gives that; `None` where it was done by `done_by`."""
    attempts = Attempts(http)
    may_be_done = False
    while True:
        exchange = Exchange(http, call)
        try:
            await exchange.send(attempts.count)
            return await exchange.result()
        except LOST as error:
            failure = failure_of(error)
        finally:
            await exchange.close()
        if may_be_done and failure.code == call.done_by:
            return None
        may_be_done |= isinstance(failure, AptixConnectionError) or failure.code in ("overloaded", "internal")
        await attempts.after(failure, exchange.shown)


def result_of(answer: Any, status: int, headers: Mapping[str, str] | None = None) -> Any:
    """The `Result` of an `InvokeResult`; a failure is raised. What is no `InvokeResult` came from something in
    between.
    """
    told = cast("dict[str, Any]", answer) if isinstance(answer, dict) else {}
    if told.get("Successful") is True:
        return told.get("Result")
    headers = headers or {}
    retry_after_s, request_id = _retry_after(headers.get("Retry-After", "")), request_id_of(headers)
    if told.get("Successful") is False and _are_errors(told.get("Errors")):
        raise AptixError(status, told["Errors"], retry_after_s=retry_after_s, request_id=request_id)
    message = f"The answer of status {status} is not the service's."
    raise AptixConnectionError(message, status=status, retry_after_s=retry_after_s, request_id=request_id)


def _are_errors(errors: Any) -> bool:
    """Whether these are the entries of an `InvokeResult`, one at least."""
    if not isinstance(errors, list) or not errors:
        return False
    entries = cast("Collection[object]", errors)
    return all(isinstance(entry, dict) and "ErrorCode" in entry and "Message" in entry for entry in entries)


LOST = (AptixError, httpx.HTTPError, OSError, NotAnAnswer, TookTooLong)
"""What a failed attempt raises."""


def failure_of(error: Exception, position: str | None = None) -> AptixError:
    """Whatever went wrong as an `AptixError`, with the place that the text has reached."""
    if isinstance(error, AptixConnectionError):
        error.position = position if error.position is None else error.position
        return error
    if isinstance(error, AptixError):
        return error
    failure = AptixConnectionError(f"The connection was lost: {error or type(error).__name__}.", position=position)
    failure.__cause__ = error
    return failure


def _was_refused(error: BaseException | None) -> bool:
    """Whether nobody listens: of several addresses, such as those of `localhost`, at one at least. A handshake of TLS
    that fails is one with somebody.
    """
    if error is None or isinstance(error, ConnectionRefusedError):
        return error is not None
    return any(map(_was_refused, getattr(error, "exceptions", (error.__cause__ or error.__context__,))))


def _retry_after(value: str) -> float | None:
    if value.isdecimal():
        return float(value)
    try:
        seconds = (parsedate_to_datetime(value) - datetime.now(timezone.utc)).total_seconds()
    except (ValueError, TypeError, OverflowError):
        return None
    return seconds if seconds >= 0 else None
