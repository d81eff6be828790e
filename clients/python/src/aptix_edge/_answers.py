"""The answers to the calls of a turn: results of tools, and decisions whether a tool of the service may run. Owns that
each call is run once, and that a decision changes no argument but those that it names.
"""

from __future__ import annotations

import inspect
import json
import re
import threading
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, cast
from urllib.parse import quote
from weakref import WeakValueDictionary

from typing_extensions import NotRequired, TypedDict

from ._errors import AptixError
from ._http import finite, json_bytes
from ._io import Io, TookTooLong
from ._json_text import is_same_json, members_of, strict_json
from ._stores import Store
from ._tools import Tool, ToolContext
from .wire import SubmittedToolResult, ToolCall

APPROVAL = "agent_approve_tool"
"""The service's own name for the question whether a call may run (interface §12)."""
LONGEST_MESSAGE = 100_000
LONGEST_RESULT = 4_000_000
LONGEST_RESULTS = 8_000_000
"""Longer results would not pass: a request has a greatest length. One has so many characters, all of a pause so many
bytes.
"""
UNDO_S = 2.0
"""So long at most whoever is cancelled waits for the store."""
INTERRUPTED = "The call was interrupted and is not run again: whether it took effect is not known."


class ApprovalRequest(TypedDict):
    """A call of one of the service's tools that needs consent."""

    ToolCallId: str
    Name: str
    ArgumentsJson: str
    """The arguments with which the call runs, as they are written. This is what to show, by `format_json`."""
    Arguments: Any
    """`ArgumentsJson` as Python reads it."""
    Message: NotRequired[str]
    AllowEdit: bool
    """Whether the decision may bring other arguments."""
    Refusal: NotRequired[str]
    """Where the service did not take the decision before: why."""


class Verdict(TypedDict):
    """A decision with what goes with it."""

    Approved: bool
    Reason: NotRequired[str]
    Arguments: NotRequired[Mapping[str, Any]]
    ArgumentsJson: NotRequired[str]
    """Other arguments as a text that is sent as it is. Those that are the call's own are not sent."""


Decision = bool | Verdict
OnApproval = Callable[[ApprovalRequest, ToolContext], "Decision | Awaitable[Decision]"]
"""Decides about a call; for `AsyncAptix` it may be an `async def`."""


@dataclass
class Run:
    """The run of one call, which all that watch the turn share."""

    lock: Any
    result: SubmittedToolResult | None = None


@dataclass
class Watch:
    """Who watches a turn, and whether one of them has seen its end: who comes later leaves a turn that has ended."""

    answerers: set[Answerer] = field(default_factory=set["Answerer"])
    has_ended: bool = False


@dataclass
class Shared:
    """What the turns of one client share."""

    store: Store
    user: str | None = None
    """Whose turns they are, where a key acts for somebody."""
    runs: WeakValueDictionary[str, Run] = field(default_factory=WeakValueDictionary[str, Run])
    watching: dict[str, Watch] = field(default_factory=dict[str, Watch])
    """By the turn's key."""
    guard: threading.RLock = field(default_factory=threading.RLock)
    """Taken once more within itself where the collector closes a reading that nobody holds."""


class Answerer:
    """Answers the calls of one turn."""

    def __init__(
        self,
        io: Io,
        shared: Shared,
        turn: tuple[str, str],
        tools: Sequence[Tool] | None,
        on_approval: OnApproval | None,
    ) -> None:
        awaited = [each.name for each in tools or () if inspect.iscoroutinefunction(each.run)]
        if inspect.iscoroutinefunction(on_approval):
            awaited.append("on_approval")
        if awaited and not io.has_loop:
            raise TypeError(f"{', '.join(awaited)}: an `async def` is for `AsyncAptix`; here it is a plain function.")
        self._io = io
        self._shared = shared
        # Two users may have sessions and turns of the same ids. No session's id has a tilde.
        of = "" if shared.user is None else f"~{quote(shared.user, safe='')}/"
        self._key = f"aptix:{of}{turn[0]}/{turn[1]}"
        self._tools = tools
        self._on_approval = on_approval
        # Of questions the decision that the service did not take, and why.
        self._refused: dict[str, tuple[str | None, str]] = {}

    @property
    def answers(self) -> bool:
        """Whether there is anybody to answer."""
        return self._tools is not None or self._on_approval is not None

    async def results(self, calls: Sequence[ToolCall]) -> list[SubmittedToolResult]:
        """The results of these calls, in their order, one after the other."""
        results: list[SubmittedToolResult] = []
        room = LONGEST_RESULTS
        for call in calls:
            result = await self._once(call)
            size = len(json_bytes(result))
            if size <= room:
                room -= size
                results.append(result)
                continue
            told = (
                f"The results are too long: with those before it, this one has {LONGEST_RESULTS - room + size} bytes."
            )
            results.append(
                {"ToolCallId": call["ToolCallId"], "ExecutionMs": result["ExecutionMs"], "ErrorMessage": told}
            )
        return results

    async def refused(
        self, calls: Sequence[ToolCall], results: Sequence[SubmittedToolResult], error: AptixError
    ) -> bool:
        """Forgets the decision that the service has refused. Whether to ask again: the same one twice is the program's
        own fault.
        """
        at = re.match(r"/ToolResults/(\d+)", error.path or "")
        place = int(at[1]) if at else len(calls)
        if place >= len(calls) or calls[place]["Name"] != APPROVAL:
            return False
        call_id, sent = calls[place]["ToolCallId"], results[place].get("ResultJson")
        records = await self._records()
        kept = records.get(call_id)
        # Where another watcher has asked again meanwhile, the record is of that.
        if kept is not None and kept.get("ResultJson") == sent:
            await self._forget(records, call_id)
        before, _ = self._refused.get(call_id, (None, ""))
        self._refused[call_id] = (sent, str(error))
        return before != sent

    def watches(self) -> None:
        """From now on this one may come to calls of the turn, however late: their results are kept until it has
        `left`.
        """
        with self._shared.guard:
            self._shared.watching.setdefault(self._key, Watch()).answerers.add(self)

    async def ended(self) -> None:
        """The turn has ended: nothing of it will be asked for again, save by those who watch it now."""
        with self._shared.guard:
            if (watch := self._shared.watching.get(self._key)) is not None:
                watch.has_ended = True
        # Whoever has left it before, with the interrupt that ended it, has left what is kept.
        await (self.forget() if watch is None else self.left())

    async def left(self) -> None:
        """Asks for nothing more. The last one forgets a turn that has ended."""
        with self._shared.guard:
            watch = self._shared.watching.get(self._key, Watch())
            is_last = watch.answerers == {self}
            watch.answerers.discard(self)
            if is_last:
                del self._shared.watching[self._key]
        if is_last and watch.has_ended:
            await self.forget()

    async def forget(self) -> None:
        """Removes what is kept. However the store fails at the end of a turn, that has ended as it has."""
        with suppress(Exception):
            if await self._records():
                await self._io.resolve(self._shared.store.update(self._key, None))

    async def _once(self, call: ToolCall) -> SubmittedToolResult:
        key = f"{self._key} {call['ToolCallId']}"
        with self._shared.guard:
            run = self._shared.runs.get(key)
            if run is None:
                run = self._shared.runs[key] = Run(self._io.lock())
        async with run.lock:
            # Where another watcher's run was given up, its record says so.
            if run.result is None:
                run.result = await self._recorded(call)
            return run.result

    async def _records(self) -> dict[str, SubmittedToolResult | None]:
        """Of each call its result, or `None` while it runs."""
        found: dict[str, SubmittedToolResult | None] | None = await self._io.resolve(self._shared.store.get(self._key))
        return found or {}

    async def _record(self, call: ToolCall, result: SubmittedToolResult | None) -> None:
        records = {**await self._records(), call["ToolCallId"]: result}
        await self._io.resolve(self._shared.store.update(self._key, records))

    async def _forget(self, records: dict[str, SubmittedToolResult | None], call_id: str) -> None:
        # A copy: what a store in memory gives is what it keeps.
        left = {known: result for known, result in records.items() if known != call_id}
        await self._io.resolve(self._shared.store.update(self._key, left or None))

    async def _recorded(self, call: ToolCall) -> SubmittedToolResult:
        tool = next((each for each in self._tools or () if each.name == call["Name"]), None)
        records = await self._records()
        known = records.get(call["ToolCallId"])
        if known is not None:
            return known
        began_before = call["ToolCallId"] in records
        if began_before and call["Name"] != APPROVAL and not (tool and tool.repeatable):
            return {"ToolCallId": call["ToolCallId"], "ExecutionMs": 0, "ErrorMessage": INTERRUPTED}
        begins = threading.Lock()
        try:
            await self._record(call, None)
            result = await self._result(call, tool, begins)
        except BaseException as error:
            # What was cut off before it began is not to be taken for a run later.
            if not isinstance(error, Exception) and begins.acquire(blocking=False):
                await self._unrecord(call)
            raise
        await self._record(call, result)
        return result

    async def _unrecord(self, call: ToolCall) -> None:
        async def undo() -> None:
            await self._forget(await self._records(), call["ToolCallId"])

        with suppress(Exception):
            await self._io.shielded(lambda: self._io.within(undo, UNDO_S))

    async def _result(self, call: ToolCall, tool: Tool | None, begins: threading.Lock) -> SubmittedToolResult:
        began = time.monotonic()
        context = ToolContext(call["ToolCallId"], call["ArgumentsJson"])
        result: SubmittedToolResult = {"ToolCallId": call["ToolCallId"], "ExecutionMs": 0}
        try:
            if call["Name"] == APPROVAL:
                text = await self._decision(context)
            elif tool is None:
                raise LookupError(f"This client has no tool {call['Name']}.")
            else:
                text = await self._run(tool, context, begins)
            if len(text) > LONGEST_RESULT:
                raise ValueError(f"The result is too long: {len(text)} characters.")
            result["ResultJson"] = text
        except TookTooLong:
            result["ErrorMessage"] = f"The tool took longer than {tool.timeout_s if tool else 0:g} s."
        except Exception as error:  # noqa: BLE001 - whatever a tool raises is told to the model
            result["ErrorMessage"] = _said(error)
        finally:
            context.given_up.set()
        result["ExecutionMs"] = round((time.monotonic() - began) * 1000)
        return result

    async def _run(self, tool: Tool, context: ToolContext, begins: threading.Lock) -> str:
        arguments = tool.arguments(context)
        awaits = inspect.iscoroutinefunction(tool.run)

        def run() -> Any:
            try:
                return tool.run(**arguments) if begins.acquire(blocking=False) else None
            except SystemExit as error:
                # In the main thread a signal may have asked the program to end. In another one it is the tool's own, as
                # of a command line, and a loop that is told of it ends.
                if threading.current_thread() is threading.main_thread():
                    raise
                raise RuntimeError(f"The tool has exited with {error.code}.") from error

        value: Any = await self._io.call(run, awaits=awaits, timeout_s=finite(tool.timeout_s))
        return to_json(value)

    async def _decision(self, context: ToolContext) -> str:
        """The answer to a question, whose arguments are those of the question's own tool."""
        ask = self._on_approval
        if ask is None:
            raise LookupError("Nobody here can be asked for consent.")
        written = members_of(context.arguments_json).get("Arguments", "null")
        asked: Any = json.loads(context.arguments_json)
        request = cast("ApprovalRequest", {**asked, "ArgumentsJson": written})
        if context.tool_call_id in self._refused:
            request["Refusal"] = self._refused[context.tool_call_id][1]
        # Not of the request itself, whose arguments may be changed in place.
        before = json.dumps(json.loads(written))
        about = replace(context, arguments_json=written)
        given: Any = await self._io.call(lambda: ask(request, about), awaits=inspect.iscoroutinefunction(ask))
        verdict: dict[str, Any] = {"Approved": given is True} if isinstance(given, bool) else {**given}
        arguments = verdict.pop("Arguments", None)
        edited: str | None = verdict.pop("ArgumentsJson", None)
        if edited is None and arguments is not None:
            edited = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
            edited = None if json.dumps(arguments) == before else edited
        said = json.dumps(verdict, ensure_ascii=False)
        if edited is None or is_same_json(edited, written):
            return said
        strict_json(edited)  # A text that is none refuses the call.
        return f'{said[:-1]},"Arguments":{edited}}}'


def _said(error: Exception) -> str:
    """What was raised, in words: it may have none, or raise itself when it is asked for some."""
    message = ""
    with suppress(Exception):
        message = str(error)
    return (message or type(error).__name__).encode("utf-8", "replace").decode()[:LONGEST_MESSAGE]


def to_json(value: Any) -> str:
    """What a tool has returned, as JSON: what `json` can write, dataclasses, dates and models of pydantic."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        # A lone surrogate has no UTF-8, but an escape.
        return text if text.isascii() or not any("\ud800" <= each <= "\udfff" for each in text) else json.dumps(value)
    except (TypeError, ValueError):  # The second of a NaN: what the tool has done is done.
        from pydantic_core import to_json as pydantic_json  # Only for who has such values.

        # As it writes its models. What is no JSON would be kept, and refused each time that it is sent.
        return pydantic_json(value, inf_nan_mode="null").decode()
