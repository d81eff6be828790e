"""Every failure is an `AptixError`: refusals and failed turns with a code of the dictionary, a service that cannot be
reached as `connection_lost`. Owns what each code means for a client; a test compares that with `GET /errors`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from .wire import Entry, ErrorCode

Code = ErrorCode | Literal["connection_lost"]
WhoActs = Literal["client", "operator", "nobody"]

_PASSING = frozenset("request_timeout rate_limited overloaded identity_unavailable connection_lost".split())
"""Nothing was done: the same request may pass a moment later."""
_FAILED = frozenset(
    "internal server_tool_failed turn_interrupted upstream_unavailable upstream_protocol upstream_failed "
    "upstream_timeout".split()
)
"""The turn failed: the same request runs it again from its last step, which costs model calls."""
_LATER = frozenset({"turn_in_progress", "turn_not_ended"})
"""Nothing was done: the same request may pass when a turn has ended."""
_OPERATOR = frozenset(
    "budget_exceeded identity_unavailable internal catalog_invalid iteration_limit_exceeded server_tool_failed "
    "upstream_rejected upstream_protocol".split()
)
_NOBODY = frozenset(
    "turn_in_progress turn_interrupted upstream_unavailable upstream_failed overloaded upstream_timeout "
    "connection_lost".split()
)


class AptixError(Exception):
    """What the service refused a request with, or what a turn failed with."""

    code: Code
    """A code of the dictionary, or `connection_lost`."""
    status: int
    """The HTTP status; 0 where there was none. A turn can also fail inside a stream of status 200."""
    path: str | None
    """JSON Pointer to the member of the request that is at fault."""
    details: dict[str, Any]
    """What a program needs of the message. `turn_in_progress` and `turn_awaiting_tools` have `TurnId`."""
    errors: list[Entry]
    """All entries; `code`, `path` and `details` are those of the first."""
    retry_after_s: float | None
    """What the service asks to wait before a repetition, in seconds."""
    request_id: str | None
    """The response's `Aptix-Request-Id`, by which the service's log has the request."""

    def __init__(
        self,
        status: int,
        errors: Sequence[Entry],
        *,
        retry_after_s: float | None = None,
        request_id: str | None = None,
    ) -> None:
        super().__init__(" ".join(entry["Message"] for entry in errors))
        first: Any = errors[0] if errors else {}
        self.code = first.get("ErrorCode", "connection_lost")
        self.status = status
        self.path = first.get("Path")
        self.details = first.get("Details", {})
        self.errors = list(errors)
        # The head of a stream came before the turn failed in it.
        asked_ms: Any = (self.details or {}).get("RetryAfterMs")
        self.retry_after_s = asked_ms / 1000 if retry_after_s is None and asked_ms else retry_after_s
        self.request_id = request_id

    @property
    def retryable(self) -> bool:
        """Whether the same request may succeed later. `turn_in_progress` and `turn_not_ended`: at the turn's end."""
        return self.code in _PASSING or self.code in _FAILED or self.code in _LATER

    @property
    def who_acts(self) -> WhoActs:
        """Who has to do something about it."""
        return "operator" if self.code in _OPERATOR else "nobody" if self.code in _NOBODY else "client"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for logs and other processes; `AptixError.from_dict` makes an error of it again."""
        return {
            "name": type(self).__name__,
            "message": str(self),
            "code": self.code,
            "status": self.status,
            "errors": self.errors,
            "retry_after_s": self.retry_after_s,
            "request_id": self.request_id,
        }

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> AptixError:
        """The error that `to_dict` wrote."""
        more = {"retry_after_s": data.get("retry_after_s"), "request_id": data.get("request_id")}
        if data["code"] == "connection_lost":
            return AptixConnectionError(
                data["message"],
                status=data.get("status", 0),
                position=data.get("position"),
                is_final=data.get("is_final", False),
                **more,
            )
        return AptixError(data["status"], data["errors"], **more)

    def __reduce__(self) -> tuple[Any, ...]:
        return AptixError.from_dict, (self.to_dict(),)


class AptixConnectionError(AptixError, ConnectionError):
    """The service could not be reached, or what came was not its answer. The turn may well run on: attach to it."""

    position: str | None
    """The place in the text up to which everything has come."""

    def __init__(
        self,
        message: str,
        *,
        status: int = 0,
        position: str | None = None,
        retry_after_s: float | None = None,
        request_id: str | None = None,
        is_final: bool = False,
    ) -> None:
        entry: Entry = {"ErrorCode": "connection_lost", "Message": message, "SystemError": True}
        super().__init__(status, [entry], retry_after_s=retry_after_s, request_id=request_id)
        self.position = position
        self._is_final = is_final

    @property
    def retryable(self) -> bool:
        """A status of 4xx without the service's own answer comes from something in between that will say it again."""
        return not self._is_final and (self.status < 400 or self.status >= 500 or self.status in (408, 429))

    def to_dict(self) -> dict[str, Any]:
        """The same, with the position, and whether no repetition will help."""
        told = {**super().to_dict(), "position": self.position}
        return {**told, "is_final": True} if self._is_final else told


Repetition = Literal["reconnect", "retry", "rerun", "renew"]


def repetition(error: AptixError) -> Repetition | None:
    """Which budget of attempts pays for a repetition after this error."""
    if isinstance(error, AptixConnectionError):
        return "reconnect" if error.retryable else None
    if error.code == "credential_expired":
        return "renew"
    return "retry" if error.code in _PASSING else "rerun" if error.code in _FAILED else None
