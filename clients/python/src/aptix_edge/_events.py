"""What a turn tells, event by event."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import Literal

from typing_extensions import NotRequired, TypedDict

from .wire import AgentExecuteResponse, SubmittedToolResult, ToolCall


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


class ModelCallProgress(TypedDict):
    Kind: Literal["model_call"]
    Iteration: int


class WordsProgress(TypedDict):
    """What the model thinks, or says beside the answer."""

    Kind: Literal["reasoning", "commentary"]
    Text: str


class ServerToolProgress(TypedDict):
    Kind: Literal["server_tool"]
    ToolCallId: str
    Name: str
    State: Literal["started", "finished"]
    Successful: NotRequired[bool]
    ExecutionMs: NotRequired[int]


class ModeProgress(TypedDict):
    Kind: Literal["mode"]
    ModeDisplayName: str


class RetryProgress(TypedDict):
    """`Resumed`: how often the call's background response has been read on; without it the call is made again.
    `Fallback`: at another model service.
    """

    Kind: Literal["retry"]
    AfterMs: int
    Resumed: NotRequired[int]
    Fallback: NotRequired[Literal[True]]


class CompactionProgress(TypedDict):
    Kind: Literal["compaction"]


class SteerProgress(TypedDict):
    Kind: Literal["steer"]
    SteerId: str
    State: Literal["accepted", "delivered"]


Progress = (
    ModelCallProgress
    | WordsProgress
    | ServerToolProgress
    | ModeProgress
    | RetryProgress
    | CompactionProgress
    | SteerProgress
)
"""What a turn is at; `Kind` says which."""


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
