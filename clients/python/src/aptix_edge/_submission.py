"""One submission, from its request to its `result`. A stream that ends without a result was cut, however cleanly it
ended, and goes on from the last position; where no stream gets through, the turn's stored outcome is asked for.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

from ._errors import AptixConnectionError, AptixError
from ._events import DiscardEvent, ProgressEvent, ResultEvent, StreamEvent, TextEvent
from ._http import LOST, Attempts, Call, Exchange, Http, NotAnAnswer, failure_of, json_bytes, request, result_of
from ._io import Response
from ._sse import ServerSentEvent
from .wire import AcceptedTurn, AgentExecuteResponse, Turn


@dataclass(frozen=True)
class Submission:
    """A request that is answered with a stream or a result."""

    call: Call
    turn_path: str
    """The path of its turn's view."""
    position: str | None = None
    """Where its stream goes on."""


def segment(text: str) -> str:
    """A text as one segment of a path."""
    return quote(text, safe="")


def session_path(session_id: str) -> str:
    return f"/sessions/{segment(session_id)}"


def turn_path(session_id: str, turn_id: str) -> str:
    return f"{session_path(session_id)}/turns/{segment(turn_id)}"


def _query(progress: bool) -> dict[str, str | list[str]]:
    return {"Progress": "true"} if progress else {}


def posted(body: Mapping[str, Any], *, live: bool, progress: bool = False, position: str | None = None) -> Submission:
    """A POST. `live`: it is surely answered with a stream."""
    call = Call("POST", "/execute", _query(progress), json_bytes(body), live)
    return Submission(call, turn_path(str(body.get("SessionId")), str(body.get("TurnId"))), position)


def followed(session_id: str, turn_id: str, *, progress: bool = False, position: str | None = None) -> Submission:
    """The newest submission of a turn, followed while it runs and replayed when it has ended."""
    path = turn_path(session_id, turn_id)
    return Submission(Call("GET", f"{path}/stream", _query(progress), live=True), path, position)


async def detached(http: Http, submission: Submission) -> AcceptedTurn | AgentExecuteResponse:
    """Sends a submission that nobody watches, unless it was sent before; gives what is stored of it."""
    call = submission.call
    if call.method == "POST":
        sent: AcceptedTurn | AgentExecuteResponse
        sent = await request(http, replace(call, headers={"Prefer": "respond-async"}))
        return sent
    view: Turn = await request(http, Call("GET", submission.turn_path, live=True))
    ended = _outcome_of(view)
    return {"SessionId": view["SessionId"], "TurnId": view["TurnId"], "Status": "running"} if ended is None else ended


def _place(position: str) -> tuple[int, int]:
    segment, _, byte = position.partition(".")
    return int(segment), int(byte)


async def submit(http: Http, submission: Submission) -> AsyncGenerator[StreamEvent, None]:
    """What comes, at last a `ResultEvent`. Every failure is raised, those inside a stream included."""
    # Only the request that began a turn runs it again.
    attempts = Attempts(http if submission.call.method == "POST" else replace(http, retry_failed_turns=0))
    position = submission.position
    while True:
        exchange = Exchange(http, submission.call)
        try:
            response = await exchange.send(attempts.count, position)
            if not exchange.is_stream:
                yield ResultEvent(await exchange.result())
                return
            # What stands between may send an event twice. Within one stream, positions only rise.
            last = (-1, -1)
            async with aclosing(exchange.events()) as events:
                async for sent in events:
                    event = _event(sent, response)
                    if isinstance(event, TextEvent):
                        at = _place(event.position)
                        if at <= last:
                            continue
                        last = at
                        attempts.progressed()
                        position = event.position
                    if event is not None:
                        yield event
                    if isinstance(event, ResultEvent):
                        return
            raise NotAnAnswer("the stream ended without a result")
        except LOST as error:
            failure = failure_of(error, position)
        finally:
            await exchange.close()
        try:
            await attempts.after(failure, exchange.shown)
        except AptixError as error:
            if error is not failure or not (isinstance(failure, AptixConnectionError) and failure.retryable):
                raise
            stored = await _outcome(http, submission, failure)
            if stored is not None:
                yield ResultEvent(stored)
                return
            attempts.progressed()


def _event(sent: ServerSentEvent, response: Response) -> StreamEvent | None:
    """An event of the service's; `None` for one that this client does not know."""
    if sent.name not in ("output_text.delta", "output_text.discard", "progress", "result"):
        return None
    try:
        read = json.loads(sent.data)
        if sent.name == "output_text.delta":
            position = sent.id or ""
            _place(position)
            return TextEvent(read["Segment"], read["Delta"], position)
        if sent.name == "output_text.discard":
            return DiscardEvent(read["Segment"])
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise NotAnAnswer(f"an event of the stream is none of the service's: {error}") from error
    return (
        ProgressEvent(read)
        if sent.name == "progress"
        else ResultEvent(result_of(read, response.status, response.headers))
    )


async def _outcome(http: Http, submission: Submission, failure: AptixError) -> AgentExecuteResponse | None:
    """The turn's stored response; `None` while it runs. Raises `failure` when the service does not tell."""
    call = Call("GET", submission.turn_path, live=True)
    try:
        view: Turn = await request(replace(http, max_reconnects=0), call)
    except AptixError:
        raise failure from None
    return _outcome_of(view)


def _outcome_of(view: Turn) -> AgentExecuteResponse | None:
    if view["Status"] == "running":
        return None
    outcome: AgentExecuteResponse = result_of(view.get("Outcome"), 200)
    return outcome
