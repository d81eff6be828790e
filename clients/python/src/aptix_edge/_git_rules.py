"""The rules of .gitignore as git reads them, byte for byte, since `?` and `[…]` of git are one byte. Owns which rule a
path fits; what is left out by it is `_folder.py`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

_One = int | frozenset[int]
"""What one byte may be: that one, or one of a class."""
_STAR: Final = None
"""Any number of elements; among names, of folders."""
_Glob = list[_One | None]
_Globs = list[_Glob | None]
_Fits = Callable[[bytes, bytes], bool]
"""Of a path and its last part, neither with a `/` at its end."""
T = TypeVar("T")

_WILD = re.compile(rb"[*?\[\\]")
_ANY: Final = frozenset(range(256))
_SPACE, _SLASH, _BACKSLASH, _ASTERISK, _OPEN, _CLOSE, _COLON = b" /\\*[]:"
_ASCII = bytes(range(128))
# As git has them: of ASCII alone.
_CLASSES: Final = {
    name: frozenset(re.findall(pattern, _ASCII, re.DOTALL))
    for name, pattern in {
        b"alnum": rb"[0-9A-Za-z]",
        b"alpha": rb"[A-Za-z]",
        b"blank": rb"[ \t]",
        b"cntrl": rb"[\0-\x1f\x7f]",
        b"digit": rb"[0-9]",
        b"graph": rb"[!-~]",
        b"lower": rb"[a-z]",
        b"print": rb"[ -~]",
        b"punct": rb"[!-/:-@\[-`{-~]",
        b"space": rb"[ \t\n\r]",
        b"upper": rb"[A-Z]",
        b"xdigit": rb"[0-9A-Fa-f]",
    }.items()
}


@dataclass(frozen=True)
class Rule:
    """The rule that decided about a path."""

    negated: bool
    """It takes back in."""
    spelled: bool
    """The path's last name stands in it letter for letter."""
    folders_only: bool
    fits: _Fits


class GitRules:
    """The lines of one file. With `folds_case`, `A` is `a`, as git has it where the file system does; and an accent
    that stands by itself in a name, as macOS keeps it, is one character with its letter, as git reads it there.
    """

    def __init__(self, contents: bytes, *, folds_case: bool = False) -> None:
        text = contents.removeprefix(b"\xef\xbb\xbf")
        lines = (text.lower() if folds_case else text).split(b"\n")
        self._folds_case = folds_case
        self._rules = [rule for line in reversed(lines) if (rule := _rule_of(line))]

    def of(self, path: bytes) -> Rule | None:
        """The last rule that fits, of a path below the folder of the rules; a folder's path has a `/` at its end."""
        is_folder = path.endswith(b"/")
        # As it is stored, too: a rule may have been written so, and what it leaves out stays out.
        spellings = dict.fromkeys([_composed(path).lower(), path.lower()] if self._folds_case else [path])
        wholes = [spelling.removesuffix(b"/") for spelling in spellings]
        for rule in self._rules:
            if is_folder or not rule.folders_only:
                for whole in wholes[:1] if rule.negated else wholes:
                    if rule.fits(whole, whole[whole.rfind(b"/") + 1 :]):
                        return rule
        return None


def _composed(path: bytes) -> bytes:
    if path.isascii():
        return path
    text = path.decode("utf-8", "surrogateescape")
    return unicodedata.normalize("NFC", text).encode("utf-8", "surrogateescape")


def _rule_of(line: bytes) -> Rule | None:
    pattern = _without_spaces(line.removesuffix(b"\r").partition(b"\0")[0])
    if pattern.startswith(b"#"):
        return None
    negated = pattern.startswith(b"!")
    pattern = pattern.removeprefix(b"!")
    folders_only = pattern.endswith(b"/")
    pattern = pattern.removesuffix(b"/")
    if not pattern:
        return None
    spelled = not _WILD.search(pattern[pattern.rfind(b"/") + 1 :])
    fits = _of_path(pattern.removeprefix(b"/")) if b"/" in pattern else _of_name(pattern)
    return Rule(negated, spelled, folders_only, fits)


def _without_spaces(text: bytes) -> bytes:
    """Spaces at the end count where a backslash stands before them."""
    end = at = 0
    while at < len(text):
        is_space = text[at] == _SPACE
        at += 2 if text[at] == _BACKSLASH else 1
        if not is_space:
            end = at
    return text[:end]


def _of_name(pattern: bytes) -> _Fits:
    if not _WILD.search(pattern):
        return lambda _, name: name == pattern
    rest = pattern[1:]
    if pattern.startswith(b"*") and not _WILD.search(rest):
        return lambda _, name: name.endswith(rest)
    globs = _parsed(pattern)
    if globs is None:
        return lambda _, __: False
    # A name has no folders, so stars are stars, however many there are.
    glob: _Glob = [one for each in globs for one in (each if each is not None else [_STAR])]
    return lambda _, name: _is_name(glob, name)


def _of_path(pattern: bytes) -> _Fits:
    wild = _WILD.search(pattern)
    if not wild:
        return lambda path, _: path == pattern
    # Git compares what stands before the first wildcard by itself, so that `a**/b` is `a` and then `**/b`.
    begin, globs = pattern[: wild.start()], _parsed(pattern[wild.start() :])
    return lambda path, _: (
        globs is not None and path.startswith(begin) and _is_like(globs, path[len(begin) :].split(b"/"), _is_name)
    )


def _is_name(glob: _Glob, name: bytes) -> bool:
    return _is_like(glob, name, _is_byte)


def _is_byte(one: _One, byte: int) -> bool:
    return one == byte if isinstance(one, int) else byte in one


def _is_like(pattern: Sequence[Any], elements: Sequence[T], is_one: Callable[[Any, T], bool]) -> bool:
    """Whether elements are what a pattern says. Of its stars only the newest needs another try, since what stands
    between two is best found as early as it can be: the time is never more than the product of the lengths.
    """
    at = following = 0
    star: tuple[int, int] | None = None
    while at < len(elements):
        if following < len(pattern):
            one = pattern[following]
            if one is None:
                following += 1
                star = (following, at)
                continue
            if is_one(one, elements[at]):
                at, following = at + 1, following + 1
                continue
        if star is None:
            return False
        following, at = star[0], star[1] + 1
        star = (following, at)
    return all(one is None for one in pattern[following:])


def _parsed(pattern: bytes) -> _Globs | None:  # noqa: PLR0912
    """A pattern as a glob for each name, and stars for any number of folders; nothing, where no path fits."""
    globs: _Globs = []
    glob: _Glob = []
    at = 0
    while at < len(pattern):
        byte = pattern[at]
        begin, at = at, at + 1
        if byte == _ASTERISK:
            while pattern[at : at + 1] == b"*":
                at += 1
            is_alone = begin == 0 or pattern[begin - 1] == _SLASH
            is_escaped, is_last = pattern[at : at + 2] == b"\\/", at == len(pattern)
            if at - begin > 1 and is_alone and (is_last or is_escaped or pattern[at] == _SLASH):
                # At the end, and before a slash that is escaped, it stands for one name at least.
                if is_last or is_escaped:
                    globs.append([_STAR])
                globs.append(_STAR)
                if is_last:
                    return globs
                at += 2 if is_escaped else 1
            else:
                glob.append(_STAR)
        elif byte == _OPEN:
            found = _class_at(pattern, begin)
            if not found:
                return None
            glob.append(found[0])
            at = found[1] + 1
        elif byte == ord("?"):
            glob.append(_ANY)
        else:
            if byte == _BACKSLASH:
                if at == len(pattern):
                    return None
                byte, at = pattern[at], at + 1
            if byte == _SLASH:
                globs.append(glob)
                glob = []
            else:
                glob.append(byte)
    return [*globs, glob]


def _class_at(pattern: bytes, begin: int) -> tuple[frozenset[int], int] | None:  # noqa: PLR0912
    """The class that begins at a `[`, and where its `]` stands; nothing, where it has none."""
    members: set[int] = set()
    at = begin + 1
    is_negated = pattern[at : at + 1] in (b"!", b"^")
    at += is_negated
    before = 0
    while True:
        if at >= len(pattern):
            return None
        byte, following = pattern[at], pattern[at + 1 : at + 2]
        if byte == _BACKSLASH:
            at += 1
            if at >= len(pattern):
                return None
            byte = pattern[at]
            members.add(byte)
        elif byte == ord("-") and before and following not in (b"", b"]"):
            at += 1 if following != b"\\" else 2
            if at >= len(pattern):
                return None
            members.update(range(before, pattern[at] + 1))
            byte = 0
        elif byte == _OPEN and following == b":":
            end = pattern.find(b"]", at + 2)
            if end < 0:
                return None
            if end > at + 2 and pattern[end - 1] == _COLON:
                named = _CLASSES.get(pattern[at + 2 : end - 1])
                if named is None:
                    return None
                members.update(each[0] for each in named)
                at, byte = end, 0
            else:
                members.add(byte)
        else:
            members.add(byte)
        before = byte
        at += 1
        if pattern[at : at + 1] == b"]":
            return (_ANY - members if is_negated else frozenset(members)), at
