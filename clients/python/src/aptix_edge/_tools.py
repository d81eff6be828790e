"""Tools: functions that the model may call and this program runs. Owns how a function becomes a tool: its name, its
description, the schema of its arguments by its type hints, and how the model's arguments become Python's.
"""

from __future__ import annotations

import inspect
import json
import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Annotated, Any, TypeGuard, get_args, get_origin, get_type_hints, overload

from typing_extensions import NotRequired, TypedDict


@dataclass(frozen=True)
class ToolContext:
    """What a tool, or a question, knows of its call. A tool gets it by a parameter of this type."""

    tool_call_id: str
    """Stays the same however often the call is seen: an idempotency key for tools that change something."""
    arguments_json: str
    """The arguments as the model wrote them."""
    given_up: threading.Event = field(default_factory=threading.Event)
    """Set when the result is no longer waited for."""


@dataclass(frozen=True)
class Tool:
    """A function that the model may call. `tool` makes one of a function and its type hints."""

    name: str
    run: Callable[..., Any]
    """Gets the arguments by their names. What it returns is the result, as JSON; what it raises is told to the
    model and ends nothing. For `AsyncAptix` it may be an `async def`; there, a plain function runs in a thread.
    """
    description: str | None = None
    parameters: Mapping[str, Any] | None = None
    """JSON Schema of the arguments, an object. With it the arguments are the model's: they may break the schema."""
    strict: bool | None = None
    timeout_s: float | None = None
    """Without it a tool may take any time."""
    repeatable: bool = False
    """A run that the end of a process has cut off may be run again. Else the model is told that it was interrupted."""
    read: Callable[[str], Mapping[str, Any]] | None = field(default=None, repr=False)
    """Makes the arguments out of their JSON; raises what the model is told. Without it they are as `json` reads
    them.
    """

    def definition(self) -> dict[str, Any]:
        """The tool as `ToolsJson` has it."""
        members = {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "strict": self.strict,
        }
        return {"type": "function", **{name: value for name, value in members.items() if value is not None}}

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.run(*args, **kwargs)

    def arguments(self, context: ToolContext) -> dict[str, Any]:
        """The keywords of a call. Raises what the model is to know of arguments that are wrong."""
        given: Any = (self.read or json.loads)(context.arguments_json)
        if not isinstance(given, dict):
            raise TypeError("The arguments are no JSON object.")
        return {**given, **dict.fromkeys(_context_parameters(self.run), context)}


@overload
def tool(function: Callable[..., Any], /) -> Tool: ...
@overload
def tool(
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    strict: bool | None = None,
    timeout_s: float | None = None,
    repeatable: bool = False,
) -> Callable[[Callable[..., Any]], Tool]: ...
def tool(
    function: Callable[..., Any] | None = None,
    /,
    *,
    name: str | None = None,
    description: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    strict: bool | None = None,
    timeout_s: float | None = None,
    repeatable: bool = False,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """A function as a tool: its name, its docstring, and the schema of its arguments by its type hints, as pydantic
    reads them; `Annotated[str, "what it is"]` describes one. The arguments are validated, so that the function gets
    what its hints say. With `parameters`, a JSON Schema, nothing is validated.
    """

    def made(of: Callable[..., Any]) -> Tool:
        schema, read = (parameters, None) if parameters is not None else _by_type_hints(of)
        inner = _inner(of)
        # A `partial` has a name and words of its own where it was given some, as one of several of a function is.
        own: Mapping[str, Any] = vars(of) if _is_partial(of) else {}
        called = name or str(own.get("__name__") or getattr(inner, "__name__", ""))
        words = description or own.get("__doc__") or inspect.getdoc(inner)
        return Tool(called, of, words, schema, strict, timeout_s, repeatable, read)

    return made if function is None else made(function)


def tools_of(tools: Sequence[Tool | Callable[..., Any]] | None) -> list[Tool] | None:
    """Plain functions as tools."""
    return None if tools is None else [each if isinstance(each, Tool) else tool(each) for each in tools]


def tools_json(tools: Sequence[Tool]) -> str:
    """The tools as `ToolsJson` has them."""
    return json.dumps([each.definition() for each in tools], ensure_ascii=False)


def _is_partial(of: object) -> TypeGuard[partial[Any]]:
    return isinstance(of, partial)


def _inner(of: Callable[..., Any]) -> Callable[..., Any]:
    """What has the name, the words and the hints: of a `partial` the function within it."""
    return _inner(of.func) if _is_partial(of) else of


def _hints(function: Callable[..., Any]) -> dict[str, Any]:
    of = _inner(function)
    return get_type_hints(of if inspect.isroutine(of) else type(of).__call__, include_extras=True)


def _context_parameters(function: Callable[..., Any]) -> list[str]:
    try:
        return [name for name, hint in _hints(function).items() if hint is ToolContext and name != "return"]
    except (TypeError, NameError, AttributeError):
        return []


def _by_type_hints(function: Callable[..., Any]) -> tuple[dict[str, Any], Callable[[str], Mapping[str, Any]]]:
    """The schema of a function's arguments, and what reads them out of JSON."""
    from pydantic import ConfigDict, TypeAdapter, ValidationError  # Takes a tenth of a second, for who has such tools.

    hints = _hints(function)
    members: dict[str, Any] = {}
    given: Mapping[str, Any] = function.keywords if _is_partial(function) else {}
    for parameter in inspect.signature(function).parameters.values():
        hint = hints.get(parameter.name, Any)
        # What a `partial` has given is for no model to change.
        if hint is ToolContext or parameter.name in given:
            continue
        if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
            raise TypeError(f"The tool {function!r} takes {parameter}: arguments of tools have names.")
        if parameter.name == "self":
            raise TypeError(f"The tool {function!r} is a method of no object: `tool(object.method)` makes one of it.")
        described = _described(hint, parameter.default)
        members[parameter.name] = described if parameter.default is parameter.empty else NotRequired[described]
    make: Any = TypedDict  # The members are known when it runs, not before.
    arguments: Any = make("Arguments", members)
    arguments.__pydantic_config__ = ConfigDict(extra="forbid")
    adapter: TypeAdapter[dict[str, Any]] = TypeAdapter(arguments)
    schema = adapter.json_schema()
    schema.pop("title", None)
    for member in schema.get("properties", {}).values():
        member.pop("title", None)
    schema.setdefault("properties", {})

    def read(text: str) -> Mapping[str, Any]:
        try:
            return adapter.validate_json(text)
        except ValidationError as error:
            faults = (f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in error.errors())
            raise ValueError(f"The arguments are wrong. {'; '.join(faults)}.") from None

    return schema, read


def _described(hint: Any, default: Any) -> Any:
    """A type hint whose `Annotated` texts are descriptions, with the default that the model is told."""
    from pydantic import Field

    of, *notes = get_args(hint) if get_origin(hint) is Annotated else (hint,)
    written = [Field(description=note) if isinstance(note, str) else note for note in notes]
    # JSON has no `math.inf`, which stands for none.
    if isinstance(default, (str, int)) or (isinstance(default, float) and math.isfinite(default)):
        written.append(Field(json_schema_extra={"default": default}))
    for note in written:
        of = Annotated[of, note]
    return of
