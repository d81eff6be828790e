"""What a client shows with each request: a key, a ticket or a JWT. Owns how long it is used, and when another is asked
for.
"""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any

from ._errors import AptixConnectionError, AptixError
from ._io import Io
from .wire import Ticket

Given = str | Ticket | None
"""What was asked for: the text itself, or what `POST /tickets` answers. `None`: there is none."""
Credential = Given | Callable[[], Given] | Callable[[], Awaitable[Given]]
"""A text that stays the same, or what gives one; of `AsyncAptix` it may be an `async def`."""

MARGIN_S = 30.0
"""So long before its end a credential is no longer used: a request with it is to arrive in time."""


class Bearer:
    """One credential of one client. Requests that need another one at the same time share one asking. One whose end
    nobody tells, such as a key, is asked for with each attempt.
    """

    def __init__(self, io: Io, source: Credential) -> None:
        self._io = io
        self._source = source
        self._lock = io.lock()
        self._held: tuple[str | None, float] | None = None
        self._askings = 0
        """Those that have ended."""

    async def get(self) -> str | None:
        """The text to show now. What the asking fails with is a lost connection, unless it is an `AptixError`
        itself.
        """
        seen = self._askings
        if (held := self._in_time()) is not None:
            return held[0]
        async with self._lock:
            # Another one has asked meanwhile.
            held = self._held if self._askings != seen else self._in_time()
            return await self._ask() if held is None else held[0]

    def _in_time(self) -> tuple[str | None, float] | None:
        # Another thread may give it up meanwhile.
        held = self._held
        return held if held is not None and time.time() < held[1] - MARGIN_S else None

    async def _ask(self) -> str | None:
        try:
            source: Any = self._source
            asked: Any = source() if callable(source) else source
            given: Given = await self._io.resolve(asked)
            text = given["Ticket"] if isinstance(given, dict) else given
            if text is not None:
                text = text.strip()  # A file's last line break is no part of its key.
                if not (text.isascii() and text.isprintable()):
                    # Refused here: the words of httpx would show it.
                    message = "The credential has characters that no header can have."
                    raise AptixConnectionError(message, is_final=True)
            told = given.get("ExpiresAt") if isinstance(given, dict) else None
            end = datetime.fromisoformat(told.replace("Z", "+00:00")).timestamp() if told else _end_of(text)
        except AptixError:
            raise
        except Exception as error:
            raise AptixConnectionError(f"No credential came: {error}") from error
        self._held = (text, end)
        self._askings += 1
        return text

    def replaces(self, text: str | None) -> bool:
        """Gives up what the service no longer takes; tells whether there may be another one."""
        # What others have got meanwhile stays.
        held = self._held
        if held is not None and held[0] == text:
            self._held = None
        return callable(self._source)


def _end_of(text: str | None) -> float:
    """When a ticket or a JWT ends, by its own JSON, which is its second part; 0 for what has none."""
    try:
        middle = (text or "").split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(middle + "=" * (-len(middle) % 4)))
        return float(claims["X"] if "X" in claims else claims["exp"])
    except (ValueError, LookupError, TypeError, OverflowError):
        return 0.0
