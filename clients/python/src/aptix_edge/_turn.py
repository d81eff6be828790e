"""A turn as its client lives it: submissions, pauses for tools, and at last one final response."""

from __future__ import annotations

import uuid
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing, suppress
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, Generic, Literal, cast, overload

from typing_extensions import Self

from ._answers import Answerer, OnApproval
from ._errors import AptixError
from ._events import DiscardEvent, ResultEvent, TextEvent, ToolCallsEvent, ToolResultsEvent, TurnEvent
from ._http import Call, Deadline, Http, finite, json_bytes, request, request_id_of
from ._io import Response, TookTooLong
from ._output import Output, T, read_output
from ._submission import Submission, detached, followed, posted, submit, turn_path
from ._tools import Tool
from .wire import (
    AcceptedTurn,
    AgentExecuteResponse,
    FinalResponse,
    SteerResult,
    SubmittedToolResult,
    ToolCall,
    ToolContinuationResponse,
    Turn,
    Words,
)

MOVED_ON = ("turn_not_awaiting_tools", "tool_results_mismatch", "turn_conflict")
"""Somebody else has answered the calls meanwhile, so that the turn has gone on."""

ARRIVAL_S = (0.1, 0.3, 1.0)
"""The waits before what is about a turn is sent again, which may have come before the turn; the last one repeats."""
NOT_THERE = ("turn_not_found", "session_not_found")
ABORT_S = 2.0
"""So long at most somebody who was interrupted waits until the turn is cancelled."""


@dataclass(frozen=True)
class Watching:
    """How a turn is watched, and who answers its calls."""

    progress: bool = False
    cancel_on_abort: bool = False
    max_pauses: int = 16
    deadline_s: float | None = None
    tools: Sequence[Tool] | None = None
    on_approval: OnApproval | None = None
    output: Output[Any] | None = None


class AsyncTurn(Generic[T]):
    """A turn. Loop over it once for its events, or await `final()`, which reads it when nobody loops; nothing is
    sent before that. Leaving the loop, or cancelling its task, stops the watching only: the turn runs on,
    `cancel()` ends it. `async with` closes the connection at once when the loop is left.
    """

    def __init__(
        self,
        http: Http,
        ids: tuple[str, str],
        watching: Watching,
        answerer: Answerer,
        first: Submission,
        *,
        successor: Callable[[Words, str], AsyncTurn],
    ) -> None:
        self._http = http
        self._successor = successor
        self.session_id, self.turn_id = ids
        self._watching = watching
        self._answerer = answerer
        self._first = first
        # In pieces: to join a growing text takes its length each time.
        self._segments: dict[int, list[str]] = {}
        self._position = first.position
        # The reader's generator, and what it reads. Weakly: they hold the turn. In a circle, the collector would find
        # them together with those within them, and close them all at once, each under the other.
        self._events: weakref.ref[AsyncGenerator[TurnEvent, None]] | None = None
        self._source: weakref.ref[AsyncGenerator[TurnEvent, None]] | None = None
        self._reading = http.io.reading()
        # `async with` holds it, and closes it at its end.
        self._is_held = False
        self._held: AsyncGenerator[TurnEvent, None] | None = None
        self._response: FinalResponse | None = None
        self._failure: Exception | None = None
        self._request_id: str | None = None
        self._is_sent = False
        self._is_accepted = False
        self._is_over = False
        self._is_called_off = False

    @property
    def request_id(self) -> str | None:
        """The id of the newest request that was answered, which finds it in the service's log."""
        return self._request_id

    @property
    def text(self) -> str:
        """The text so far of the submission that is being read, without what was discarded."""
        # A copy at once: another thread may read the turn meanwhile.
        return "".join(["".join(pieces) for pieces in [*self._segments.values()]])

    @property
    def position(self) -> str | None:
        """The place that the text has reached. `attach` goes on behind it; without it, from the start of the text."""
        return self._position

    def __aiter__(self) -> AsyncIterator[TurnEvent]:
        return self.events()

    def events(self) -> AsyncGenerator[TurnEvent, None]:
        """The events, once: what `async for` over the turn gives."""
        if self._events is not None:
            raise RuntimeError("This turn is being read already. Attach to it to read it once more.")
        source = self._submissions()
        events = self._watched(source)
        self._events, self._source = weakref.ref(events), weakref.ref(source)
        if self._is_held:
            self._held = events
        return events

    async def final(self) -> FinalResponse:
        """The final response; whoever else reads the turn is waited for, and nothing is read beside it. Raises
        what ended the turn, or the watching: an `AptixError`, what the store raised, or, where the loop was left, a
        `RuntimeError`.
        """
        if self._events is None:
            async with aclosing(self.events()) as events:
                async for _ in events:
                    pass
        else:
            await self._reading.ended()
        if self._failure is not None:
            raise self._failure
        if self._response is None:
            raise RuntimeError("The turn was not read to its end. Attach to it for its final response.")
        return self._response

    async def output(self) -> T:
        """The final response's text as the JSON that it is, by the `output` of the turn: an instance of the model, or
        what `json` reads. Raises `ValueError` for what is no JSON, such as a refusal of the model, or does not fit.
        """
        answer: T = read_output((await self.final())["PrimaryOutputText"], self._watching.output)
        return answer

    async def cancel(self) -> Turn:
        """Aborts the turn itself, wherever it is."""
        view: Turn = await self._there("cancel")
        return view

    @overload
    async def steer(
        self,
        words: str | Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["raise"] = "raise",
    ) -> SteerResult: ...

    @overload
    async def steer(
        self,
        words: str | Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["new_turn"],
    ) -> SteerResult | AsyncTurn: ...

    async def steer(
        self,
        words: str | Words,
        *,
        steer_id: str | None = None,
        interrupt: bool = False,
        if_ended: Literal["raise", "new_turn"] = "raise",
    ) -> SteerResult | AsyncTurn:
        """Adds words to the turn while it runs or waits: they are in its conversation exactly once, at its next model
        call. With `interrupt` a model call that is under way is dropped and made again with them. `steer_id`, a new one
        unless given, makes a repetition the same steer. A turn that has ended takes none (`turn_ended`); with
        `if_ended="new_turn"` the words are the next turn, with the options of this one, whose id is the steer's.
        """
        steer_id = steer_id or new_id()
        said: Words = {"Instruction": words} if isinstance(words, str) else words
        body = {**said, "SteerId": steer_id, **({"Interrupt": True} if interrupt else {})}
        try:
            result: SteerResult = await self._there("steer", body=json_bytes(body))
        except AptixError as error:
            if if_ended != "new_turn" or error.code != "turn_ended":
                raise
            return self._successor(said, steer_id)
        return result

    async def detach(self) -> AcceptedTurn | AgentExecuteResponse:
        """Sends the turn, and comes back as soon as the service has stored it, which then runs it without anybody; one
        that has ended gives its outcome. It can be read later, here or elsewhere (`attach`), or a webhook tells of it.
        """
        if self._events is not None:
            raise RuntimeError("This turn is being read already.")
        self._is_sent = True
        try:
            answer = await detached(self._watched_http(), self._first)
        except BaseException as error:
            self._is_over = True
            await self._aborted(error)
            raise
        self._first = self._followed()
        return answer

    async def lines(self) -> AsyncGenerator[bytes, None]:
        """The events as lines of JSON, for a page: `readTurnEvents` of the TypeScript client reads them. An
        `AptixError` is the last line.
        """
        try:
            async with aclosing(self.events()) as events:
                async for event in events:
                    line = event.to_json()
                    # A reader is to know a pause that is answered here from the end.
                    if isinstance(event, ToolCallsEvent) and self._answerer.answers:
                        line = f'{line[:-1]}, "goesOn": true}}'
                    yield f"{line}\n".encode()
        except AptixError as error:
            yield json_bytes({"type": "error", "error": error_line(error)}) + b"\n"

    async def close(self) -> None:
        """Ends the watching; the turn runs on. Another thread that reads ends with its next event."""
        events: Any = None if self._events is None else self._events()
        source = None if self._source is None else self._source()
        if source is not None:
            await self._left(source)
        # This waits for nothing any more: in a loop the reader cannot come back meanwhile. In another thread it could.
        if events is not None and self._http.io.has_loop and not events.ag_running:
            await events.aclose()
        self._held = None

    async def __aenter__(self) -> Self:
        self._is_held = True
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._http.io.shielded(self.close)
        if error is not None and self._response is None:
            await self._aborted(error)

    def _repr_markdown_(self) -> str:
        return self._response["PrimaryOutputText"] if self._response else self.text

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.turn_id} of {self.session_id}, {len(self.text)} characters>"

    async def _watched(self, source: AsyncGenerator[TurnEvent, None]) -> AsyncGenerator[TurnEvent, None]:
        try:
            event: TurnEvent | None
            while (event := await self._reading.step(lambda: anext(source, None))) is not None:
                yield event
        except GeneratorExit:
            raise
        except BaseException as error:
            # An interrupt is that of the task which it meets, and is raised in no other one.
            if isinstance(error, Exception):
                self._failure = error
            await self._aborted(error)
            if isinstance(error, AptixError) and error.code == "turn_aborted":
                await self._answerer.ended()
            raise
        finally:
            await self._left(source)

    async def _left(self, source: AsyncGenerator[TurnEvent, None]) -> None:
        """Ends the watching, once: the reader and who closes may come here at the same time."""
        self._is_over = True
        if not await self._reading.stop():
            return
        try:
            await source.aclose()
        finally:
            self._reading.ends()
            await self._answerer.left()

    async def _aborted(self, error: BaseException) -> None:
        """Cancels the turn where the program was interrupted, or the task cancelled, and that is to end the turn."""
        if not self._watching.cancel_on_abort or isinstance(error, (Exception, GeneratorExit)) or self._is_called_off:
            return
        self._is_called_off = True

        async def cancel() -> None:
            with suppress(AptixError):
                await self._there("cancel", deadline=Deadline(ABORT_S))
                await self._answerer.ended()

        await self._http.io.shielded(cancel)

    async def _there(self, what: str, *, body: bytes | None = None, deadline: Deadline | None = None) -> Any:
        """Asks something of this turn. One that is on its way to the service, or was cut there, may yet arrive."""
        http = replace(self._http, deadline=deadline)
        call = Call("POST", f"{turn_path(self.session_id, self.turn_id)}/{what}", body=body)
        waits = iter(ARRIVAL_S)
        while True:
            is_on_its_way = self._is_sent and not self._is_accepted and self._first.call.method == "POST"
            try:
                return await request(http, call)
            except AptixError as error:
                # Who still sends the turn may bring it however late, as where the network is away.
                wait_s = next(waits, None if self._is_over else ARRIVAL_S[-1])
                if wait_s is None or not is_on_its_way or error.code not in NOT_THERE:
                    raise
            await self._http.io.sleep(wait_s if deadline is None else max(0, min(wait_s, deadline.left_s)))

    async def _submissions(self) -> AsyncGenerator[TurnEvent, None]:
        self._answerer.watches()
        http = self._watched_http()
        submission = self._first
        self._is_sent = True
        # The calls that the submission answers, their results, and why it was refused.
        answered: list[ToolCall] = []
        results: list[SubmittedToolResult] = []
        refusal: AptixError | None = None
        pauses = 0
        while True:
            response: Any = None
            try:
                async with aclosing(self._read(http, submission)) as events:
                    async for event in events:
                        if isinstance(event, ResultEvent):
                            response = event.response
                        else:
                            yield event
            except AptixError as error:
                # Where a decision was refused, the turn waits as before, and who decided is asked again.
                asks_again = await self._answerer.refused(answered, results, error)
                pauses += asks_again
                if not asks_again or pauses > self._watching.max_pauses:
                    if not answered or refusal is not None or error.code not in MOVED_ON:
                        raise
                    refusal = error
                    submission = self._followed()
                    continue
            if response is not None:
                if response["Kind"] == "final":
                    await self._answerer.ended()
                    self._response = cast("FinalResponse", response)
                    yield ResultEvent(self._response)
                    return
                pause = cast("ToolContinuationResponse", response)
                calls = pause["ToolCalls"]
                # The turn still waits for what was refused: it has not gone on.
                if refusal is not None and calls[0]["ToolCallId"] == answered[0]["ToolCallId"]:
                    raise refusal
                refusal = None
                yield ResultEvent(pause)
                yield ToolCallsEvent(calls, pause.get("ToolContinuationMessage"))
                if not self._answerer.answers:
                    self._failure = _awaiting(pause)
                    return
                pauses += 1
                if pauses > self._watching.max_pauses:
                    raise _awaiting(pause)
                answered = calls
            results = await self._results(answered, http.deadline)
            yield ToolResultsEvent(results)
            continuation = {"SessionId": self.session_id, "TurnId": self.turn_id, "ToolResults": results}
            # A continuation is delivered as its turn was, which is known of a turn that began here.
            live = self._first.call.method == "POST"
            submission = posted(continuation, live=live, progress=self._watching.progress)

    async def _results(self, calls: list[ToolCall], deadline: Deadline | None) -> list[SubmittedToolResult]:
        if deadline is None:
            return await self._answerer.results(calls)
        try:
            results = await self._http.io.within(lambda: self._answerer.results(calls), deadline.left_s)
        except TookTooLong:
            raise deadline.failure() from None
        # A function that blocks is not given up. Its result is kept, and sent by who attaches to the turn.
        deadline.check()
        return results

    def _watched_http(self) -> Http:
        """The service as this turn is watched: from now on its deadline runs."""
        seconds = finite(self._watching.deadline_s)
        return replace(self._http, deadline=None if seconds is None else Deadline(seconds), on_head=self._headed)

    def _headed(self, response: Response) -> None:
        self._request_id = request_id_of(response.headers)
        self._is_accepted = self._is_accepted or response.status < 300

    def _followed(self) -> Submission:
        return followed(self.session_id, self.turn_id, progress=self._watching.progress)

    async def _read(
        self, http: Http, submission: Submission
    ) -> AsyncGenerator[TextEvent | DiscardEvent | TurnEvent, None]:
        self._segments.clear()
        self._position = submission.position
        async with aclosing(submit(http, submission)) as events:
            async for event in events:
                if isinstance(event, DiscardEvent):
                    self._segments.pop(event.segment, None)
                elif isinstance(event, TextEvent):
                    self._segments.setdefault(event.segment, []).append(event.delta)
                    self._position = event.position
                yield event


def new_id() -> str:
    """An id of 32 hex digits."""
    return uuid.uuid4().hex


def error_line(error: AptixError) -> dict[str, Any]:
    """An error as `AptixError.from` of the TypeScript client takes it."""
    told = error.to_dict()
    wait_s = told.pop("retry_after_s")
    named = {
        "retryAfterMs": None if wait_s is None else round(wait_s * 1000),
        "requestId": told.pop("request_id"),
        "isFinal": told.pop("is_final", None),
    }
    return {**told, **{name: value for name, value in named.items() if value is not None}}


def _awaiting(pause: ToolContinuationResponse) -> AptixError:
    details: Any = {"TurnId": pause["TurnId"], "ToolCalls": pause["ToolCalls"]}
    message = "The turn waits for tool results that nobody here gives."
    return AptixError(
        409, [{"ErrorCode": "turn_awaiting_tools", "Message": message, "Details": details, "SystemError": False}]
    )
