"""Server-sent events of a body, by the rules of the HTML standard: lines end with LF, CR or CRLF, data may take several
lines, comments are skipped, and an event that was cut before its blank line is dropped.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

# A CR at the very end may be the first half of a CRLF.
_END_OF_LINE = re.compile(r"\r\n|\n|\r(?!\Z)")


@dataclass
class ServerSentEvent:
    """One event; `id` is the position behind it, where it has one."""

    name: str = "message"
    data: str = ""
    id: str | None = None


@dataclass
class _Open:
    name: str = "message"
    data: list[str] = field(default_factory=list[str])
    id: str | None = None


class EventReader:
    """Takes the bytes of one body as they come, and gives the events that are whole."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._open = _Open()

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that these bytes complete."""
        # What was searched before holds no end of a line, save a CR that stood at its end.
        search_from = max(len(self._rest) - 1, 0)
        text = self._rest + self._decoder.decode(chunk)
        begin = 0
        for end in _END_OF_LINE.finditer(text, search_from):
            event = self._line(text[begin : end.start()])
            begin = end.end()
            if event:
                yield event
        self._rest = text[begin:]

    def _line(self, line: str) -> ServerSentEvent | None:
        if line == "":
            done, self._open = self._open, _Open()
            return ServerSentEvent(done.name, "\n".join(done.data), done.id) if done.data else None
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "event":
            self._open.name = value
        elif name == "data":
            self._open.data.append(value)
        elif name == "id":
            self._open.id = value
        return None
