"""JSON as the text that it is: whoever decides about a call is to see what runs, not what a reader makes of it."""

from __future__ import annotations

import json
import re
import unicodedata
from itertools import chain
from typing import Any

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[\]{}:,]|[^\s\[\]{}:,"]+', re.DOTALL)
"""A string, a number or word, or a mark of the structure."""
_DEEPEST_INDENT = 20
"""Deeper levels are not indented further: the text of many deep ones would be many times as long."""
_IGNORABLE = frozenset(
    chain(
        (0xAD, 0x34F, 0x61C, 0x115F, 0x1160, 0x17B4, 0x17B5, 0x2800, 0x3164, 0xFEFF, 0xFFA0),
        range(0x180B, 0x1810),
        range(0x2060, 0x2070),
        range(0xFE00, 0xFE10),
        range(0xFFF0, 0xFFF9),
        range(0xE0000, 0xE1000),
    )
)
"""Characters of Unicode's property Default_Ignorable_Code_Point, and an empty Braille pattern."""


def format_json(text: str) -> str:
    r"""JSON for a human to read: a line for each member and element, every token as it was written, and characters that
    cannot be seen, or that turn the order of reading, as `\u…`. It is the same JSON. A text that is no JSON keeps its
    lines.
    """
    shown = _laid_out(text) if _is_json(text) else text
    return "".join(_escaped(each) if _is_unseen(each) else each for each in shown)


def is_same_json(one: str, other: str) -> bool:
    """Whether two texts are the same JSON, token for token."""
    return format_json(one) == format_json(other)


def strict_json(text: str) -> Any:
    """What a JSON text says, numbers as floats: Python makes no integer of more than 4,300 digits. Raises `ValueError`
    for what is none, NaN and Infinity included.
    """

    def refuse(word: str) -> Any:
        raise ValueError(f"{word} is no JSON.")

    return json.loads(text, parse_int=float, parse_constant=refuse)


def members_of(text: str) -> dict[str, str]:
    """The members of the object that a JSON text is, each value as it is written. Raises `ValueError` for another
    text.
    """
    members: dict[str, str] = {}
    depth = 0
    name: str | None = None
    begin = 0
    if not isinstance(strict_json(text), dict):
        raise ValueError("The arguments are no object.")
    for found in _TOKEN.finditer(text):
        token = found.group()
        if depth == 1 and name is not None and token in (",", "}"):
            members[name] = text[begin : found.start()].strip()
            name = None
        elif depth == 1 and name is None and token.startswith('"'):
            name = str(json.loads(token))
        elif depth == 1 and token == ":":
            begin = found.end()
        depth += (token in "[{") - (token in "]}")
    return members


def _is_json(text: str) -> bool:
    try:
        strict_json(text)
    except (ValueError, RecursionError):
        return False
    return True


def _laid_out(text: str) -> str:
    pieces: list[str] = []
    depth = 0
    before = ""
    for token in _TOKEN.findall(text):
        closes = token in "]}"
        depth -= closes
        if before == "," or (before in ("{", "[")) != closes:
            pieces.append("\n" + "  " * min(depth, _DEEPEST_INDENT))
        elif before == ":":
            pieces.append(" ")
        pieces.append(token)
        depth += token in "[{"
        before = token
    return "".join(pieces)


def _is_unseen(character: str) -> bool:
    if character in " \n":
        return False
    return unicodedata.category(character)[0] in "CZ" or ord(character) in _IGNORABLE


def _escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))
