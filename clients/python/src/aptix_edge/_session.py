"""A session: its turns, what it waits for, and what is kept of it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ._answers import Answerer, ApprovalRequest, OnApproval, Shared
from ._errors import AptixError
from ._http import Call, Http, json_bytes, request
from ._output import Output, T, output_schema
from ._submission import Submission, followed, posted, session_path, turn_path
from ._tools import Tool, ToolContext, tools_json, tools_of
from ._turn import AsyncTurn, Watching, new_id
from .wire import (
    ErasureReceipt,
    Export,
    FinalResponse,
    ForkResult,
    Modes,
    Session,
    SessionEntry,
    ToolCall,
    Trace,
    Turn,
    TurnEntry,
    TurnRequest,
    Words,
)

Tools = Sequence[Tool | Callable[..., Any]]
"""Tools, and functions that become tools by their type hints."""


@dataclass(frozen=True)
class Pending:
    """The turn that waits for results, and its calls."""

    turn_id: str
    calls: list[ToolCall]


class AsyncSession:
    """A conversation: one turn at a time. It exists from its first turn on; what is asked of it before is
    `session_not_found`.
    """

    def __init__(self, http: Http, shared: Shared, session_id: str) -> None:
        self._http = http
        self._shared = shared
        self.session_id = session_id

    def turn(
        self,
        request: str | TurnRequest,
        *,
        turn_id: str | None = None,
        tools: Tools | None = None,
        on_approval: OnApproval | None = None,
        progress: bool = False,
        cancel_on_abort: bool = False,
        max_pauses: int = 16,
        deadline_s: float | None = None,
        output: Output[T] | None = None,
    ) -> AsyncTurn[T]:
        """A new turn, or the same one again: `turn_id` with the same request is the same turn, wherever it comes
        from. A text is its `Instruction`. `tools` are what the model may call and this program runs; a session
        keeps those that it was last given. `on_approval` decides about calls of the service's tools that need
        consent; with `tools` alone they are refused. With `cancel_on_abort`, an interrupt or the cancellation of the
        task also cancels the turn. `deadline_s` is the longest that reading it may take, its tools and all waits
        included; it ends the watching, not the turn. `output` is the form of the answer, which is JSON then: a pydantic
        model, or a JSON Schema as a dict; `output()` of the turn reads it.
        """
        said: Mapping[str, Any] = {"Instruction": request} if isinstance(request, str) else request
        watching = Watching(progress, cancel_on_abort, max_pauses, deadline_s, tools_of(tools), on_approval, output)
        return self._begun(said, turn_id or new_id(), watching)

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
    ) -> AsyncTurn[T]:
        """A turn that was begun before, here or elsewhere; its pending calls are run when there are `tools`. Its text
        comes from the start, or from `position` on.
        """
        first = followed(self.session_id, turn_id, progress=progress, position=position)
        watching = Watching(progress, cancel_on_abort, max_pauses, deadline_s, tools_of(tools), on_approval, output)
        return self._turn({}, turn_id, watching, first)

    async def pending(self) -> Pending | None:
        """The turn that waits for results, and its calls."""
        try:
            live = (await self.get()).get("LiveTurn")
        except AptixError as error:
            if error.code != "session_not_found":
                raise
            return None
        return Pending(live["TurnId"], live["ToolCalls"]) if live and "ToolCalls" in live else None

    async def refuse_pending(self, message: str) -> FinalResponse | None:
        """Answers every pending call with this error, and lets the model finish; `None` when nothing was pending.
        To give the turn up instead, cancel it.
        """
        pending = await self.pending()
        if pending is None:
            return None

        def refuse(**_: Any) -> None:
            raise RuntimeError(message)

        def refuse_approval(_: ApprovalRequest, __: ToolContext) -> bool:
            raise RuntimeError(message)

        # Results that were not sent are not kept either.
        await self._answerer(pending.turn_id, None, None).forget()
        tools = [Tool(name, refuse) for name in {call["Name"] for call in pending.calls}]
        return await self.attach(pending.turn_id, tools=tools, on_approval=refuse_approval).final()

    async def get(self) -> Session:
        """Its mode, its newest turn, and the one that runs or waits."""
        view: Session = await self._get("")
        return view

    async def turns(self, *, after: str | None = None) -> AsyncGenerator[TurnEntry, None]:
        """All turns, oldest first, from the one after `after` on."""
        while True:
            page = await self._get("/turns", {} if after is None else {"After": after})
            for entry in page["Turns"]:
                yield entry
                after = entry["TurnId"]
            if not page["More"]:
                return

    async def get_turn(self, turn_id: str) -> Turn:
        """A turn's status, times, usage, pending calls and stored outcome."""
        view: Turn = await request(self._http, Call("GET", turn_path(self.session_id, turn_id), live=True))
        return view

    async def trace(self, turn_id: str) -> Trace:
        """Diagnostics of a turn: sizes, sources and times, never content."""
        trace: Trace = await request(self._http, Call("GET", f"{turn_path(self.session_id, turn_id)}/trace", live=True))
        return trace

    async def cancel(self, turn_id: str) -> Turn:
        """Aborts a turn that runs or waits; one that has ended stays as it is."""
        return await self.attach(turn_id).cancel()

    async def fork(
        self,
        session_id: str | None = None,
        *,
        after_turn_id: str | None = None,
        conversation_context_id: str | None = None,
    ) -> AsyncFork:
        """Makes a new session that has everything of this one up to and with a turn, the newest that has ended unless
        `after_turn_id` names another one; this one stays as it is. `session_id` is the new session's, a new one unless
        given; the same request with the same id gives the same fork. `conversation_context_id` lets it go on under
        another context. Comes back when the fork is whole.
        """
        members = {"AfterTurnId": after_turn_id, "ConversationContextId": conversation_context_id}
        given = {name: value for name, value in members.items() if value is not None}
        body = json_bytes({"SessionId": session_id or new_id(), **given})
        result: ForkResult = await request(self._http, Call("POST", f"{session_path(self.session_id)}/fork", body=body))
        return AsyncFork(self._http, self._shared, result)

    async def rename(self, title: str) -> SessionEntry:
        """Gives it a title, 1 to 200 characters, which stays until the next one. Sessions of users have titles."""
        call = Call("PATCH", session_path(self.session_id), body=json_bytes({"Title": title}))
        entry: SessionEntry = await request(self._http, call)
        return entry

    async def modes(self) -> Modes:
        """The history of its modes."""
        modes: Modes = await self._get("/modes")
        return modes

    async def export(self) -> Export:
        """Everything that is kept of it."""
        export: Export = await self._get("/export")
        return export

    async def erase(self) -> ErasureReceipt | None:
        """Erases it for good, what runs included; the receipt counts what was erased. `None` when it is erased and the
        receipt was lost with a connection.
        """
        call = Call("DELETE", session_path(self.session_id), done_by="session_not_found")
        receipt: ErasureReceipt | None = await request(self._http, call)
        return receipt

    async def _get(self, path: str, query: Mapping[str, str] | None = None) -> Any:
        return await request(self._http, Call("GET", session_path(self.session_id) + path, query or {}, live=True))

    def _answerer(self, turn_id: str, tools: Sequence[Tool] | None, on_approval: OnApproval | None) -> Answerer:
        return Answerer(self._http.io, self._shared, (self.session_id, turn_id), tools, on_approval)

    def _begun(self, said: Mapping[str, Any], turn_id: str, watching: Watching) -> AsyncTurn:
        body = {**said, "SessionId": self.session_id, "TurnId": turn_id, "Streaming": True}
        if watching.tools is not None:
            body["ToolsJson"] = tools_json(watching.tools)
        if watching.output is not None:
            body.setdefault("OutputSchema", output_schema(watching.output))
        return self._turn(said, turn_id, watching, posted(body, live=True, progress=watching.progress))

    def _turn(self, said: Mapping[str, Any], turn_id: str, watching: Watching, first: Submission) -> AsyncTurn:
        # The words belong to the turn that had them; the next one has the rest.
        same = {name: value for name, value in said.items() if name not in Words.__annotations__}

        def successor(words: Words, turn_id: str) -> AsyncTurn:
            return self._begun({**same, **words}, turn_id, watching)

        answerer = self._answerer(turn_id, watching.tools, watching.on_approval)
        return AsyncTurn(self._http, (self.session_id, turn_id), watching, answerer, first, successor=successor)


class AsyncFork(AsyncSession):
    """A session that goes on from a turn of another one."""

    def __init__(self, http: Http, shared: Shared, result: ForkResult) -> None:
        super().__init__(http, shared, result["SessionId"])
        self.result = result
        """What the service says of its making: its parent, its last turn, the number of its turns."""
