"""The form of a turn's answer: what the service is told of it, and how the answer is read. A pydantic model brings its
own check; to a plain JSON Schema the model service holds the answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, TypeAlias, Union

from typing_extensions import TypeVar

T = TypeVar("T", default=Any)
"""What an answer is read as."""

Output = type[T] | Mapping[str, Any]
"""A pydantic model, or a type that pydantic reads, such as a dataclass; or a JSON Schema."""

Json: TypeAlias = Union["dict[str, Json]", "list[Json]", str, float, bool, None]

BY_NAME = ("properties", "$defs", "definitions", "patternProperties")
HELD = ("anyOf", "oneOf", "allOf", "prefixItems", "items", "additionalProperties", "not")
"""The words of a schema whose value holds schemas by their names, or a list of them or one."""
FENCE = re.compile(r"```(?:json)?[^\S\n]*\n(.*)\n[^\S\n]*```", re.IGNORECASE | re.DOTALL)
"""Of Markdown, around the whole. Each space can be in one place of it alone."""
LEFT_OUT = ("default", "discriminator")
"""What services refuse, and what says nothing of an answer that has all members."""


def output_schema(output: Output[Any]) -> str:
    """`OutputSchema` of a turn whose answer has this form."""
    if isinstance(output, Mapping):
        return json.dumps(output, ensure_ascii=False)
    from pydantic import TypeAdapter  # Takes a tenth of a second, for who has such answers.

    adapter: TypeAdapter[Any] = TypeAdapter(output)
    return json.dumps(_closed(_whole(adapter.json_schema())), ensure_ascii=False)


def read_output(text: str, output: Output[Any] | None) -> Any:
    """The answer as what it is; a fence of Markdown around it is taken off. Raises `ValueError` for what is no JSON or
    does not fit.
    """
    if fenced := FENCE.fullmatch(text.strip()):
        text = fenced[1]
    if output is None or isinstance(output, Mapping):
        try:
            return json.loads(text)
        except RecursionError as error:
            raise ValueError("The answer is nested too deep to be read.") from error
    from pydantic import TypeAdapter

    adapter: TypeAdapter[Any] = TypeAdapter(output)
    return adapter.validate_json(text)


def _whole(schema: dict[str, Any]) -> dict[str, Any]:
    """The form itself in the place of a reference to it, which pydantic writes of a model that holds itself: model
    services demand an object.
    """
    named = schema.get("$defs", {}).get(schema.get("$ref", "").removeprefix("#/$defs/"))
    if named is None:
        return schema
    return {**named, **{name: value for name, value in schema.items() if name != "$ref"}}


def _closed(schema: Json) -> Json:
    """The same as model services demand of a form to which they hold an answer: every object closed and whole, so
    without defaults; nothing beside a reference; `anyOf` and no `oneOf`.
    """
    if isinstance(schema, list):
        return [_closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: _changed(name, value) for name, value in schema.items() if name not in LEFT_OUT}
    if "oneOf" in made:
        made["anyOf"] = made.pop("oneOf")
    if "$ref" in made and len(made) > 1:
        made["anyOf"] = [{"$ref": made.pop("$ref")}]
    properties = made.get("properties")
    if not isinstance(properties, dict):
        return made
    return {**made, "additionalProperties": False, "required": [*properties]}


def _changed(name: str, value: Json) -> Json:
    if name in BY_NAME and isinstance(value, dict):
        return {key: _closed(of) for key, of in value.items()}
    return _closed(value) if name in HELD else value
