"""Server-sent events of a body, by the rules of the HTML standard: lines end with LF, CR or CRLF, data may take several
lines, comments are skipped, and an event that was cut before its blank line is dropped. Owns that reading takes a time
in proportion to the bytes, however long a line is and in however many pieces it comes.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

_END_OF_LINE = re.compile(r"\r\n?|\n")


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
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
        # Of the line whose end has not come. They are joined once, since to join a growing text takes its length each
        # time.
        self._pieces: list[str] = []
        self._ended_in_cr = False
        self._open = _Open()

    def feed(self, chunk: bytes) -> Iterator[ServerSentEvent]:
        """The events that these bytes complete."""
        text = self._decoder.decode(chunk)
        if not text:
            return
        # The line feed behind a CR that came before is of the same end.
        first, *more = _END_OF_LINE.split(text.removeprefix("\n") if self._ended_in_cr else text)
        self._ended_in_cr = text.endswith("\r")
        self._pieces.append(first)
        for following in more:
            line = "".join(self._pieces)
            self._pieces = [following]
            event = self._line(line)
            if event:
                yield event

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
