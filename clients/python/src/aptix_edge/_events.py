"""What a turn tells, event by event."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

from .wire import AgentExecuteResponse, Progress, SubmittedToolResult, ToolCall


@dataclass(frozen=True)
class Event:
    """What all events have: `type`, by which a line of JSON tells them apart."""

    type: str = field(init=False)

    def to_json(self) -> str:
        """The event as the lines have it that `readTurnEvents` of the TypeScript client reads."""
        return json.dumps({name: value for name, value in asdict(self).items() if value is not None})


@dataclass(frozen=True)
class TextEvent(Event):
    """Text of a segment, that is of one model call. `position` stands behind it."""

    type: Literal["text"] = field(default="text", init=False)
    segment: int
    delta: str
    position: str


@dataclass(frozen=True)
class DiscardEvent(Event):
    """The segment's text was not the answer: drop it. It may come twice, and for a segment that was never seen."""

    type: Literal["discard"] = field(default="discard", init=False)
    segment: int


@dataclass(frozen=True)
class ProgressEvent(Event):
    """What the turn is at: live only, never replayed, no part of the result. `progress["Kind"]` says what it is."""

    type: Literal["progress"] = field(default="progress", init=False)
    progress: Progress


@dataclass(frozen=True)
class ResultEvent(Event):
    """The end of a submission: of the turn, or of its way to a pause."""

    type: Literal["result"] = field(default="result", init=False)
    response: AgentExecuteResponse


@dataclass(frozen=True)
class ToolCallsEvent(Event):
    """The turn pauses for `calls`; `message` is what the model said with them."""

    type: Literal["tool_calls"] = field(default="tool_calls", init=False)
    calls: list[ToolCall]
    message: str | None = None


@dataclass(frozen=True)
class ToolResultsEvent(Event):
    """The calls have been run, and their results are sent."""

    type: Literal["tool_results"] = field(default="tool_results", init=False)
    results: list[SubmittedToolResult]


StreamEvent = TextEvent | DiscardEvent | ProgressEvent | ResultEvent
"""What one submission tells."""
TurnEvent = StreamEvent | ToolCallsEvent | ToolResultsEvent
"""What a turn tells, its pauses included."""
