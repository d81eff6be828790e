"""How this client goes through the turns that the tests of all clients share (tests/clients/scenarios.json)."""

from __future__ import annotations

from collections import Counter
from typing import Any

from aptix_edge import Tool, ToolContext
from conftest import SCENARIOS, new_id

PARAMETERS = {"type": "object", "properties": {"path": {"type": "string"}}}


class Life:
    """A life of one turn: its tools count their runs, whichever client has them run."""

    def __init__(self, name: str, session_id: str | None = None) -> None:
        self.session_id = session_id or new_id("life")
        self.turn_id = "turn-1"
        self.request = {"Instruction": f"<{name}>"}
        self.final: str = SCENARIOS["Turns"][name]["Final"]
        self.pauses: int = SCENARIOS["Turns"][name]["Pauses"]
        self.runs: Counter[str] = Counter()
        self.tools = [Tool("read", self._read, "Reads.", PARAMETERS), Tool("fail", self._fail)]

    def _read(self, path: str, context: ToolContext) -> Any:
        self.runs[context.tool_call_id] += 1
        return {"contents": path}

    def _fail(self, context: ToolContext) -> Any:
        self.runs[context.tool_call_id] += 1
        raise RuntimeError("This one fails.")

    def begin(self, aptix: Any, **options: Any) -> Any:
        options = {"turn_id": self.turn_id, "tools": self.tools, **options}
        return aptix.session(self.session_id).turn(self.request, **options)

    def attach(self, aptix: Any, **options: Any) -> Any:
        return aptix.session(self.session_id).attach(self.turn_id, **{"tools": self.tools, **options})

    def check(self, turn: Any) -> None:
        """Fails unless this is how the turn must end."""
        assert turn.final()["PrimaryOutputText"] == self.final
        assert set(self.runs.values()) <= {1}, "a tool ran more than once"


class View:
    """What a view shows that follows a turn's events, the text of the present submission."""

    def __init__(self) -> None:
        self.segments: dict[int, str] = {}
        self.pauses = 0
        self.events: list[Any] = []

    def follow(self, turn: Any) -> View:
        for event in turn:
            self.events.append(event)
            if event.type == "text":
                self.segments[event.segment] = self.segments.get(event.segment, "") + event.delta
            elif event.type == "discard":
                self.segments.pop(event.segment, None)
            elif event.type == "tool_calls":
                self.pauses += 1
            elif event.type == "tool_results":
                self.segments.clear()
        return self

    @property
    def text(self) -> str:
        return "".join(self.segments.values())
