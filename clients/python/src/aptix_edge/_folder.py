"""A folder of this computer as documents of a workspace. Owns which of its files are text for an index: ignored,
hidden, built, generated, binary and lock files are not. It reads; it sends nothing.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pathspec import GitIgnoreSpec
from typing_extensions import NotRequired, TypedDict

IGNORE_FILES = (".gitignore", ".aptixignore")
LONGEST_BYTES = 2 << 20
"""Of one file, unless the caller says otherwise."""
HEAD_BYTES = 4096
"""The bytes at a file's head in which a NUL tells that it is no text."""
MADE_BY_TOOLS = frozenset(("node_modules", "target", "dist", "build", "__pycache__", "venv"))
LOCK_FILES = ("*.lock", "*.lockb", "package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "go.sum")
GENERATED = ("*.min.js", "*.min.css", "*.map", "*_pb2.py", "*_pb2.pyi", "*.pb.go", "*.g.dart", "*.designer.cs")

Reason = Literal[
    "ignored",
    "hidden",
    "built",
    "generated",
    "lock",
    "link",
    "empty",
    "binary",
    "too_large",
    "unreadable",
    "name",
    "refused",
]


@dataclass(frozen=True)
class LeftOut:
    """A file, or a folder with all that is in it, that was not sent."""

    path: str
    reason: Reason
    """`refused`: the service did not take it. `name`: it is not UTF-8."""
    message: str | None = None
    """Of one that was refused, what the service says."""


class SourceDocument(TypedDict):
    """A document whose contents may be read when they are needed, which can be twice."""

    Path: str
    Contents: str | Callable[[], str]
    Language: NotRequired[str]
    Properties: NotRequired[Mapping[str, str | list[str]]]


def folder_documents(
    folder: str | os.PathLike[str], *, max_file_bytes: int = LONGEST_BYTES
) -> tuple[list[SourceDocument], list[LeftOut]]:
    """The text files of a folder, by their paths below it, and what was left out. Raises `NotADirectoryError`."""
    root = Path(folder)
    if not root.is_dir():
        raise NotADirectoryError(f"{root} is no folder.")
    documents: list[SourceDocument] = []
    left_out: list[LeftOut] = []
    for path, reason in _walk(root, "", []):
        file = root / path
        why = reason or _why_not(file, max_file_bytes)
        if why:
            left_out.append(LeftOut(path.encode("utf-8", "replace").decode(), why))
        else:
            documents.append({"Path": path, "Contents": _reader(file)})
    return documents, left_out


def _reader(file: Path) -> Callable[[], str]:
    # As bytes, since line ends stay as they are.
    return lambda: file.read_bytes().decode("utf-8")


def _walk(root: Path, below: str, specs: list[tuple[str, GitIgnoreSpec]]) -> Iterator[tuple[str, Reason | None]]:
    """Files below a folder in the order of their names, and what is passed over with the reason."""
    try:
        entries = sorted(os.scandir(root / below), key=lambda entry: entry.name)
    except OSError:
        yield below, "unreadable"
        return
    specs = [*specs, *((below, spec) for spec in _specs(root / below))]
    for entry in entries:
        path = f"{below}{entry.name}"
        is_folder = entry.is_dir(follow_symlinks=False)
        reason = _reason(entry, f"{path}/" if is_folder else path, specs)
        if is_folder and reason is None:
            yield from _walk(root, f"{path}/", specs)
        elif is_folder or reason is not None or entry.is_file():
            yield path, reason


def _specs(folder: Path) -> Iterator[GitIgnoreSpec]:
    for name in IGNORE_FILES:
        try:
            yield GitIgnoreSpec.from_lines((folder / name).read_text("utf-8", "replace").splitlines())
        except OSError:
            continue


def _reason(entry: os.DirEntry[str], path: str, specs: list[tuple[str, GitIgnoreSpec]]) -> Reason | None:
    if not _is_utf8(entry.name):
        return "name"
    if entry.is_symlink():
        return "link"
    if entry.name.startswith("."):
        return "hidden"
    if path.endswith("/"):
        if entry.name in MADE_BY_TOOLS:
            return "built"
    elif any(fnmatch.fnmatch(entry.name.lower(), pattern) for pattern in LOCK_FILES):
        return "lock"
    elif any(fnmatch.fnmatch(entry.name.lower(), pattern) for pattern in GENERATED):
        return "generated"
    # The innermost file that says anything about it decides.
    for below, spec in reversed(specs):
        said = spec.check_file(path[len(below) :]).include
        if said is not None:
            return "ignored" if said else None
    return None


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _why_not(file: Path, max_file_bytes: int) -> Reason | None:
    try:
        size = file.stat().st_size
        if size > max_file_bytes:
            return "too_large"
        if size == 0:
            return "empty"
        data = file.read_bytes()
    except OSError:
        return "unreadable"
    if b"\0" in data[:HEAD_BYTES]:
        return "binary"
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        return "binary"
    return None
