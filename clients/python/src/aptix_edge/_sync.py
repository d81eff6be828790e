"""The client for programs without an event loop: the same as `AsyncAptix`, whose coroutines it runs. Owns no rule."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, Literal, overload

import httpx
from typing_extensions import ParamSpec, Self

from . import wire
from ._answers import OnApproval
from ._client import AsyncAptix
from ._credential import Credential
from ._events import StreamEvent, TurnEvent
from ._folder import LONGEST_BYTES, SourceDocument
from ._http import Heads, LogEntry, WithResponse
from ._output import Output, T
from ._session import AsyncFork, AsyncSession, Pending, Tools
from ._stores import Store
from ._sync_io import SyncIo, iterate, run
from ._turn import AsyncTurn
from ._user import AsyncUser
from ._workspace import MAX_BYTES, AsyncWorkspace, Synced

P = ParamSpec("P")


class Turn(Generic[T]):
    """A turn. Loop over it once for its events, or call `final()`, which reads it when nobody loops; nothing is sent
    before that. Leaving the loop stops the watching only: the turn runs on, `cancel()` ends it.
    """

    def __init__(self, turn: AsyncTurn[T]) -> None:
        self._turn = turn

    @property
    def session_id(self) -> str:
        return self._turn.session_id

    @property
    def turn_id(self) -> str:
        return self._turn.turn_id

    @property
    def request_id(self) -> str | None:
        """The id of the newest request that was answered, which finds it in the service's log."""
        return self._turn.request_id

    @property
    def text(self) -> str:
        """The text so far of the submission that is being read, without what was discarded."""
        return self._turn.text

    @property
    def position(self) -> str | None:
        """The place that the text has reached. `attach` goes on behind it; without it, from the start of the text."""
        return self._turn.position

    def __iter__(self) -> Iterator[TurnEvent]:
        return iterate(self._turn.events())

    def final(self) -> wire.FinalResponse:
        """The final response; whoever else reads the turn is waited for, and nothing is read beside it. Raises
        what ended the turn, or the watching: an `AptixError`, what the store raised, or, where the loop was left, a
        `RuntimeError`.
        """
        return run(self._turn.final())

    def output(self) -> T:
        """The final response's text as the JSON that it is, by the `output` of the turn: an instance of the model, or
        what `json` reads. Raises `ValueError` for what is no JSON, such as a refusal of the model, or does not fit.
        """
        return run(self._turn.output())

    def cancel(self) -> wire.Turn:
        """Aborts the turn itself, wherever it is."""
        return run(self._turn.cancel())

    @overload
    def steer(
        self,
        words: str | wire.Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["raise"] = "raise",
    ) -> wire.SteerResult: ...

    @overload
    def steer(
        self,
        words: str | wire.Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["new_turn"],
    ) -> wire.SteerResult | Turn: ...

    def steer(
        self,
        words: str | wire.Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["raise", "new_turn"] = "raise",
    ) -> wire.SteerResult | Turn:
        """Adds words to the turn while it runs or waits: they are in its conversation exactly once, at its next model
        call. With `interrupt` a model call that is under way is dropped and made again with them. `steer_id`, a new one
        unless given, makes a repetition the same steer. A turn that has ended takes none (`turn_ended`); with
        `if_ended="new_turn"` the words are the next turn, with the options of this one, whose id is the steer's.
        """
        if if_ended == "raise":
            return run(self._turn.steer(words, steer_id=steer_id, interrupt=interrupt))
        steered = run(self._turn.steer(words, steer_id=steer_id, interrupt=interrupt, if_ended=if_ended))
        return Turn(steered) if isinstance(steered, AsyncTurn) else steered

    def detach(self) -> wire.AcceptedTurn | wire.AgentExecuteResponse:
        """Sends the turn, and comes back as soon as the service has stored it, which then runs it without anybody; one
        that has ended gives its outcome. It can be read later, here or elsewhere (`attach`), or a webhook tells of it.
        """
        return run(self._turn.detach())

    def lines(self) -> Generator[bytes, None, None]:
        """The events as lines of JSON, for a page: `readTurnEvents` of the TypeScript client reads them. An
        `AptixError` is the last line.
        """
        return iterate(self._turn.lines())

    def close(self) -> None:
        """Ends the watching; the turn runs on. Another thread that reads ends with its next event."""
        run(self._turn.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        run(self._turn.__aexit__(kind, error, trace))

    def _repr_markdown_(self) -> str:
        return self._turn._repr_markdown_()  # pyright: ignore[reportPrivateUsage]

    def __repr__(self) -> str:
        return repr(self._turn).replace("AsyncTurn", "Turn", 1)


class Session:
    """A conversation: one turn at a time. It exists from its first turn on; what is asked of it before is
    `session_not_found`.
    """

    def __init__(self, session: AsyncSession) -> None:
        self._session = session

    @property
    def session_id(self) -> str:
        return self._session.session_id

    def turn(
        self,
        request: str | wire.TurnRequest,
        *,
        turn_id: str | None = None,
        tools: Tools | None = None,
        on_approval: OnApproval | None = None,
        progress: bool = False,
        cancel_on_abort: bool = False,
        max_pauses: int = 16,
        deadline_s: float | None = None,
        output: Output[T] | None = None,
    ) -> Turn[T]:
        """A new turn, or the same one again: `turn_id` with the same request is the same turn, wherever it comes
        from. A text is its `Instruction`. `tools` are what the model may call and this program runs; a session
        keeps those that it was last given. `on_approval` decides about calls of the service's tools that need
        consent; with `tools` alone they are refused. With `cancel_on_abort`, an interrupt (Ctrl-C) also cancels the
        turn. `deadline_s` is the longest that reading it may take, its tools and all waits included; it ends the
        watching, not the turn. A tool that runs is waited for, unless it has a time of its own. `output` is the form of
        the answer, which is JSON then: a pydantic model, or a JSON Schema as a dict; `output()` of the turn reads it.
        """
        return Turn(
            self._session.turn(
                request,
                turn_id=turn_id,
                tools=tools,
                on_approval=on_approval,
                progress=progress,
                cancel_on_abort=cancel_on_abort,
                max_pauses=max_pauses,
                deadline_s=deadline_s,
                output=output,
            )
        )

    def attach(
        self,
        turn_id: str,
        *,
        position: str | None = None,
        tools: Tools | None = None,
        on_approval: OnApproval | None = None,
        progress: bool = False,
        cancel_on_abort: bool = False,
        max_pauses: int = 16,
        deadline_s: float | None = None,
        output: Output[T] | None = None,
    ) -> Turn[T]:
        """A turn that was begun before, here or elsewhere; its pending calls are run when there are `tools`. Its text
        comes from the start, or from `position` on.
        """
        return Turn(
            self._session.attach(
                turn_id,
                position=position,
                tools=tools,
                on_approval=on_approval,
                progress=progress,
                cancel_on_abort=cancel_on_abort,
                max_pauses=max_pauses,
                deadline_s=deadline_s,
                output=output,
            )
        )

    def pending(self) -> Pending | None:
        """The turn that waits for results, and its calls."""
        return run(self._session.pending())

    def refuse_pending(self, message: str) -> wire.FinalResponse | None:
        """Answers every pending call with this error, and lets the model finish; `None` when nothing was pending.
        To give the turn up instead, cancel it.
        """
        return run(self._session.refuse_pending(message))

    def get(self) -> wire.Session:
        """Its mode, its newest turn, and the one that runs or waits."""
        return run(self._session.get())

    def turns(self, *, after: str | None = None) -> Generator[wire.TurnEntry, None, None]:
        """All turns, oldest first, from the one after `after` on."""
        return iterate(self._session.turns(after=after))

    def get_turn(self, turn_id: str) -> wire.Turn:
        """A turn's status, times, usage, pending calls and stored outcome."""
        return run(self._session.get_turn(turn_id))

    def trace(self, turn_id: str) -> wire.Trace:
        """Diagnostics of a turn: sizes, sources and times, never content."""
        return run(self._session.trace(turn_id))

    def cancel(self, turn_id: str) -> wire.Turn:
        """Aborts a turn that runs or waits; one that has ended stays as it is."""
        return run(self._session.cancel(turn_id))

    def fork(
        self,
        session_id: str | None = None,
        *,
        after_turn_id: str | None = None,
        conversation_context_id: str | None = None,
    ) -> Fork:
        """Makes a new session that has everything of this one up to and with a turn, the newest that has ended unless
        `after_turn_id` names another one; this one stays as it is. `session_id` is the new session's, a new one unless
        given; the same request with the same id gives the same fork. `conversation_context_id` lets it go on under
        another context. Comes back when the fork is whole.
        """
        made = self._session.fork(
            session_id, after_turn_id=after_turn_id, conversation_context_id=conversation_context_id
        )
        return Fork(run(made))

    def rename(self, title: str) -> wire.SessionEntry:
        """Gives it a title, 1 to 200 characters, which stays until the next one. Sessions of users have titles."""
        return run(self._session.rename(title))

    def modes(self) -> wire.Modes:
        """The history of its modes."""
        return run(self._session.modes())

    def export(self) -> wire.Export:
        """Everything that is kept of it."""
        return run(self._session.export())

    def erase(self) -> wire.ErasureReceipt | None:
        """Erases it for good, what runs included; the receipt counts what was erased. `None` when it is erased and the
        receipt was lost with a connection.
        """
        return run(self._session.erase())


class Fork(Session):
    """A session that goes on from a turn of another one."""

    def __init__(self, fork: AsyncFork) -> None:
        super().__init__(fork)
        self.result = fork.result
        """What the service says of its making: its parent, its last turn, the number of its turns."""


class Workspace:
    """An index of documents; a turn with its `WorkspaceId` is given the chunks that fit its instruction."""

    def __init__(self, workspace: AsyncWorkspace) -> None:
        self._workspace = workspace

    @property
    def workspace_id(self) -> str:
        return self._workspace.workspace_id

    def put(self, documents: Iterable[wire.Document], *, max_bytes: int = MAX_BYTES) -> list[wire.UpsertedDocuments]:
        """Puts documents into the index, in as many requests as they take."""
        return run(self._workspace.put(documents, max_bytes=max_bytes))

    def remove(self, paths: str | Iterable[str]) -> None:
        """Removes documents, and under a path that ends in `/` all. 100 paths are one request, which refuses all or
        none.
        """
        run(self._workspace.remove(paths))

    def search(self, query: str | wire.SearchRequest) -> wire.Found:
        """What a turn would be given."""
        return run(self._workspace.search(query))

    def get(self) -> wire.WorkspaceCounts:
        """How many documents, chunks and bytes it holds."""
        return run(self._workspace.get())

    def erase(self) -> wire.WorkspaceCounts:
        """Erases the whole workspace; gives the counts of what it held."""
        return run(self._workspace.erase())

    def sync(
        self,
        source: str | os.PathLike[str] | Iterable[SourceDocument],
        *,
        remove: bool | Callable[[str], bool] = False,
        dry_run: bool = False,
        max_bytes: int = MAX_BYTES,
        max_file_bytes: int = LONGEST_BYTES,
        include: Sequence[str] = (),
        on_progress: Callable[[int, int], object] | None = None,
    ) -> Synced:
        """Makes the index equal to a folder, or to these documents: compares their hashes, sends what is new or
        changed, and no more. With `remove`, documents that are not listed are removed, or those of them that it
        says by their path. What is no text for an index, cannot be read, or is refused by the service is left out
        and reported; what the index has of the latter two stays. Where 20,000 documents are listed, or fewer
        with long paths, the service may not name all others, and those stay. `include` are patterns in the form of
        .gitignore: what has such a name is taken, a secret, too, unless an ignore file leaves it out. With
        `dry_run` it only tells what would be sent and removed. `on_progress` gets how many documents of how many were
        sent or removed.
        """
        return run(
            self._workspace.sync(
                source,
                remove=remove,
                dry_run=dry_run,
                max_bytes=max_bytes,
                max_file_bytes=max_file_bytes,
                include=include,
                on_progress=on_progress,
            )
        )


class User:
    """A user, by the name that the application gives. One whom the service knows nothing of is `user_not_found`."""

    def __init__(self, user: AsyncUser) -> None:
        self._user = user

    @property
    def user(self) -> str:
        return self._user.user

    def get(self) -> wire.UserView:
        """How many sessions there are by status, tokens and budgets, and since when tickets hold."""
        return run(self._user.get())

    def revoke(self) -> wire.Revocation:
        """Ends every ticket and JWT that was issued before now; comes back when every session knows."""
        return run(self._user.revoke())

    def erase(self) -> wire.UserErasureReceipt | None:
        """Erases all sessions of the user for good. As long as the receipt has `Pending`, the same call gives newer
        counts; `None` when all is erased and the receipt was lost with a connection.
        """
        return run(self._user.erase())


class Aptix:
    """A client of one deployment. `base_url` is where the service is, with or without a path. `api_key` is a key, a
    ticket or a JWT, or what gives one (`credential` is another name for it); a function is asked again 30 s before
    the end of what it gave, and once after `credential_expired`; where there is no end, as of a key, for each
    attempt. Threads may share it.
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
        http_client: httpx.Client | None = None,
        max_retries: int = 2,
        max_reconnects: int = 5,
        retry_failed_turns: int = 0,
        retry_delay_s: float = 0.5,
        idle_timeout_s: float = 30.0,
        timeout_s: float = 300.0,
        on_log: Callable[[LogEntry], object] | None = None,
    ) -> None:
        self._aptix = AsyncAptix(
            base_url,
            api_key,
            credential=credential,
            user=user,
            store=store,
            headers=headers,
            max_retries=max_retries,
            max_reconnects=max_reconnects,
            retry_failed_turns=retry_failed_turns,
            retry_delay_s=retry_delay_s,
            idle_timeout_s=idle_timeout_s,
            timeout_s=timeout_s,
            on_log=on_log,
            _io=SyncIo(http_client),
        )

    def with_response(self, method: Callable[P, T], *args: P.args, **named: P.kwargs) -> WithResponse[T]:
        """What a method of this client, or of a part of it, gives with these arguments, beside status, headers and id
        of the response that it came in: `with_response(session.get)`. Of several responses it is the last.
        """
        with Heads() as heads:
            return heads.with_newest(method(*args, **named))

    def session(self, session_id: str, *, headers: Mapping[str, str] | None = None) -> Session:
        """The session of this id, which is yours to choose: 1 to 128 of `A-Z a-z 0-9 . _ : -`. Nothing is sent.
        `headers` go with each of its requests, such as `traceparent`.
        """
        return Session(self._aptix.session(session_id, headers=headers))

    def workspace(self, workspace_id: str) -> Workspace:
        """The workspace of this id. Nothing is sent."""
        return Workspace(self._aptix.workspace(workspace_id))

    def user(self, user: str) -> User:
        """A user of the tenant, to look after. Nothing is sent."""
        return User(self._aptix.user(user))

    def sessions(
        self,
        *,
        status: wire.SessionStatus | None = None,
        query: str | None = None,
        order: Literal["Activity", "Created"] | None = None,
        limit: int | None = None,
    ) -> Generator[wire.SessionEntry, None, None]:
        """The sessions of the user, page after page. A list may be half a minute behind; `session.get()` never is.
        `query`: words of the title. `limit`: of one request, 1 to 100.
        """
        return iterate(self._aptix.sessions(status=status, query=query, order=order, limit=limit))

    def ticket(self, grant: wire.TicketRequest) -> wire.Ticket:
        """A credential for a page or a guest, that a back end makes with its key. A ticket makes a narrower one of
        itself. Nothing is stored.
        """
        return run(self._aptix.ticket(grant))

    def execute(self, body: wire.ExecuteRequest, *, position: str | None = None) -> wire.AgentExecuteResponse:
        """One submission without a loop: the final response, or the pause."""
        return run(self._aptix.execute(body, position=position))

    def stream(
        self, body: wire.ExecuteRequest, *, position: str | None = None, progress: bool = False
    ) -> Generator[StreamEvent, None, None]:
        """One submission without a loop, as it comes. Text is streamed unless the request says `Streaming: False`.
        `position` is that of the last text event: the text goes on there.
        """
        return iterate(self._aptix.stream(body, position=position, progress=progress))

    def detach(self, body: wire.ExecuteRequest) -> wire.AcceptedTurn | wire.AgentExecuteResponse:
        """One submission that nobody watches: comes back as soon as it is stored, or with the outcome of one that has
        ended. Results of tools can be sent so, by whom a webhook has told of the pause.
        """
        return run(self._aptix.detach(body))

    def request(
        self,
        method: Literal["GET", "POST", "PUT", "PATCH", "DELETE"],
        path: str,
        *,
        query: Mapping[str, str | list[str]] | None = None,
        body: object = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Any request of the service's interface, repeated as all are; gives its `Result`. `body` is sent as JSON."""
        return run(self._aptix.request(method, path, query=query, body=body, headers=headers))

    def download(self, file: wire.FileRef | str) -> bytes:
        """The contents of a file that a turn has made, by its signed link; no credential is shown."""
        return run(self._aptix.download(file))

    def errors(self) -> wire.ErrorDictionary:
        """What each error code means, and who has to act."""
        return run(self._aptix.errors())

    def health(self) -> wire.Health:
        """Whether the service is there, and its version."""
        return run(self._aptix.health())

    def close(self) -> None:
        """Closes its connections, unless they are those of an `http_client` that was given."""
        run(self._aptix.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
