"""Where the results of tools are kept until their turn is complete or cancelled."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, Protocol


class Store(Protocol):
    """What outlives a program's run. Each turn has one entry, JSON, which is removed when who watches it has seen it
    complete or cancelled. That of a failed turn stays: sent again, it goes on with these results. The methods may be
    `async def` for `AsyncAptix`.
    """

    def get(self, key: str) -> Any | Awaitable[Any]:
        """The entry; `None` where there is none."""
        ...

    def update(self, key: str, value: Any) -> Awaitable[None] | None:
        """Sets the entry; `None` removes it."""
        ...


class MemoryStore:
    """A store that lives as long as the process."""

    def __init__(self) -> None:
        self._entries: dict[str, Any] = {}

    def get(self, key: str) -> Any:
        return self._entries.get(key)

    def update(self, key: str, value: Any) -> None:
        if value is None:
            self._entries.pop(key, None)
        else:
            self._entries[key] = value


class FileStore:
    """A store in a folder, which only one process uses at a time: a file for each turn whose results are kept."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self._folder = Path(folder).expanduser()
        self._folder.mkdir(parents=True, exist_ok=True)

    def get(self, key: str) -> Any:
        try:
            return json.loads(self._path(key).read_text("utf-8"))
        except FileNotFoundError:
            return None

    def update(self, key: str, value: Any) -> None:
        path = self._path(key)
        if value is None:
            path.unlink(missing_ok=True)
            return
        # A process that ends in the middle leaves the file as it was.
        handle, written = tempfile.mkstemp(dir=self._folder, suffix=".part")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(value, file)
                file.flush()
                os.fsync(file.fileno())
            Path(written).replace(path)
        except BaseException:
            # Nobody would ever take away what a full disk has left of it.
            Path(written).unlink(missing_ok=True)
            raise

    def _path(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode('utf-8', 'surrogatepass')).hexdigest()}.json"
