"""The client: where the service is, and what it offers besides sessions."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import replace
from types import TracebackType
from typing import Any, Literal, TypeVar
from urllib.parse import quote

import httpx
from typing_extensions import ParamSpec, Self

from ._answers import Shared
from ._async_io import AsyncIo
from ._credential import Bearer, Credential
from ._errors import AptixConnectionError
from ._events import ResultEvent, StreamEvent
from ._http import (
    LOST,
    Attempts,
    Call,
    Exchange,
    Heads,
    Http,
    Learnt,
    LogEntry,
    NotAnAnswer,
    WithResponse,
    failure_of,
    json_bytes,
    request,
    result_of,
)
from ._io import Io
from ._session import AsyncSession
from ._stores import MemoryStore, Store
from ._submission import detached, posted, submit
from ._user import AsyncUser
from ._workspace import AsyncWorkspace
from .wire import (
    AcceptedTurn,
    AgentExecuteResponse,
    ErrorDictionary,
    ExecuteRequest,
    FileRef,
    Health,
    SessionEntry,
    SessionStatus,
    Ticket,
    TicketRequest,
)

P = ParamSpec("P")
T = TypeVar("T")


class AsyncAptix:
    """A client of one deployment, for an event loop of asyncio or trio. `base_url` is where the service is, with or
    without a path. `api_key` is a key, a ticket or a JWT, or what gives one (`credential` is another name for it); a
    function is asked again 30 s before the end of what it gave, and once after `credential_expired`; where there is no
    end, as of a key, for each attempt.
    """

    def __init__(
        self,
        base_url: str,
        api_key: Credential = None,
        *,
        credential: Credential = None,
        user: str | None = None,
        store: Store | None = None,
        headers: Mapping[str, str] | None = None,
        http_client: httpx.AsyncClient | None = None,
        max_retries: int = 2,
        max_reconnects: int = 5,
        retry_failed_turns: int = 0,
        retry_delay_s: float = 0.5,
        idle_timeout_s: float = 30.0,
        timeout_s: float = 300.0,
        on_log: Callable[[LogEntry], object] | None = None,
        _io: Io | None = None,
    ) -> None:
        # No words repeat an address: it may have a password.
        url = _address_of(base_url)
        if url is None or url.scheme not in ("http", "https"):
            raise ValueError("base_url is a URL such as https://agent.example.com.")
        if url.userinfo:
            # httpx would send them in the place of the credential.
            raise ValueError("base_url has no user and no password: what is shown to the service is `api_key`.")
        io = _io or AsyncIo(http_client)
        self._http = Http(
            io=io,
            base_url=base_url.rstrip("/"),
            bearer=Bearer(io, credential if credential is not None else api_key),
            headers={**(headers or {}), **({} if user is None else {"Aptix-User": quote(user, safe="")})},
            max_retries=max_retries,
            max_reconnects=max_reconnects,
            retry_failed_turns=retry_failed_turns,
            retry_delay_s=retry_delay_s,
            idle_timeout_s=idle_timeout_s,
            timeout_s=timeout_s,
            on_log=on_log,
            learnt=Learnt(),
        )
        self._shared = Shared(MemoryStore() if store is None else store, user)

    async def with_response(
        self, method: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs
    ) -> WithResponse[T]:
        """What a method of this client, or of a part of it, gives with these arguments, beside status, headers and id
        of the response that it came in: `with_response(session.get)`. Of several responses it is the last.
        """
        with Heads() as heads:
            return heads.with_newest(await method(*args, **named))

    def session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> AsyncSession:
        """The session of this id, which is yours to choose: 1 to 128 of `A-Z a-z 0-9 . _ : -`. Nothing is sent.
        `headers` go with each of its requests, such as `traceparent`.
        """
        http = replace(self._http, headers={**self._http.headers, **(headers or {})})
        return AsyncSession(http, self._shared, session_id)

    def workspace(self, workspace_id: str) -> AsyncWorkspace:
        """The workspace of this id. Nothing is sent."""
        return AsyncWorkspace(self._http, workspace_id)

    def user(self, user: str) -> AsyncUser:
        """A user of the tenant, to look after. Nothing is sent."""
        return AsyncUser(self._http, user)

    async def sessions(
        self,
        *,
        status: SessionStatus | None = None,
        query: str | None = None,
        order: Literal["Activity", "Created"] | None = None,
        limit: int | None = None,
    ) -> AsyncGenerator[SessionEntry, None]:
        """The sessions of the user, page after page. A list may be half a minute behind; `session.get()` never is.
        `query`: words of the title. `limit`: of one request, 1 to 100.
        """
        given = {"Status": status, "Query": query, "Order": order, "Limit": limit}
        asked: dict[str, str | list[str]] = {name: str(value) for name, value in given.items() if value is not None}
        while True:
            page = await request(self._http, Call("GET", "/sessions", asked))
            for entry in page["Sessions"]:
                yield entry
            if "Next" not in page:
                return
            asked["After"] = page["Next"]

    async def ticket(self, grant: TicketRequest) -> Ticket:
        """A credential for a page or a guest, that a back end makes with its key. A ticket makes a narrower one of
        itself. Nothing is stored.
        """
        ticket: Ticket = await request(self._http, Call("POST", "/tickets", body=json_bytes(grant)))
        return ticket

    async def execute(self, body: ExecuteRequest, *, position: str | None = None) -> AgentExecuteResponse:
        """One submission without a loop: the final response, or the pause."""
        response: AgentExecuteResponse | None = None
        async with aclosing(self.stream(body, position=position)) as events:
            async for event in events:
                if isinstance(event, ResultEvent):
                    response = event.response
        assert response is not None, "a submission ends with its result"
        return response

    async def stream(
        self, body: ExecuteRequest, *, position: str | None = None, progress: bool = False
    ) -> AsyncGenerator[StreamEvent, None]:
        """One submission without a loop, as it comes. Text is streamed unless the request says `Streaming: False`.
        `position` is that of the last text event: the text goes on there.
        """
        streamed: dict[str, Any] = {**body} if body.get("ToolResults") else {"Streaming": True, **body}
        submission = posted(streamed, live=streamed.get("Streaming") is True, progress=progress, position=position)
        async with aclosing(submit(self._http, submission)) as events:
            async for event in events:
                yield event

    async def detach(self, body: ExecuteRequest) -> AcceptedTurn | AgentExecuteResponse:
        """One submission that nobody watches: comes back as soon as it is stored, or with the outcome of one that has
        ended. Results of tools can be sent so, by whom a webhook has told of the pause.
        """
        return await detached(self._http, posted(body, live=True))

    async def request(
        self,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        *,
        query: Mapping[str, str | list[str]] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Any request of the service's interface, repeated as all are; gives its `Result`. `body` is sent as JSON."""
        sent = None if body is None else json_bytes(body)
        return await request(self._http, Call(method, path, query or {}, sent, headers=headers or {}))

    async def download(self, file: FileRef | str) -> bytes:
        """The contents of a file that a turn has made, by its signed link; no credential is shown."""
        url = file if isinstance(file, str) else file["Url"]
        attempts = Attempts(self._http)
        io = self._http.io
        # The link stands for itself, wherever it leads.
        http = replace(self._http, base_url=url, bearer=Bearer(io, None), headers={})
        while True:
            exchange = Exchange(http, Call("GET", "", live=True))
            try:
                response = await exchange.send(attempts.count)
                contents = await exchange.body()
                if response.status == 200:
                    length = response.headers.get("Content-Length")
                    if (
                        length is not None
                        and "Content-Encoding" not in response.headers
                        and int(length) != len(contents)
                    ):
                        raise NotAnAnswer("the file came in part")
                    return contents
                result_of(_json(contents), response.status, response.headers)
                raise AptixConnectionError(f"The file came with status {response.status}.", status=response.status)
            except LOST as error:
                failure = failure_of(error)
            finally:
                await exchange.close()
            await attempts.after(failure, None)

    async def errors(self) -> ErrorDictionary:
        """What each error code means, and who has to act."""
        dictionary: ErrorDictionary = await request(self._http, Call("GET", "/errors", live=True))
        return dictionary

    async def health(self) -> Health:
        """Whether the service is there, and its version."""
        health: Health = await request(self._http, Call("GET", "/health", live=True))
        return health

    async def close(self) -> None:
        """Closes its connections, unless they are those of an `http_client` that was given."""
        await self._http.io.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _address_of(base_url: str) -> httpx.URL | None:
    try:
        url = httpx.URL(base_url)
        host = url.host
    except (httpx.InvalidURL, TypeError, UnicodeError):  # The last two: no text, and a name that cannot be shown.
        return None
    return url if host else None


def _json(data: bytes) -> Any:
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None
