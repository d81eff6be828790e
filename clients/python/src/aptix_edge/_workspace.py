"""A workspace: documents that turns are given chunks of, and keeping them as they are elsewhere."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote

from ._errors import AptixError
from ._folder import LONGEST_BYTES, LeftOut, SourceDocument, folder_documents
from ._http import Call, Http, json_bytes, request
from ._submission import segment
from .wire import Document, Found, SearchRequest, UpsertedDocuments, WorkspaceCounts

MOST_DOCUMENTS = 100
MOST_COMPARED = 10_000
MOST_REMOVED = 1
LONGEST_QUERY = 8_000
"""Of paths that are removed by one request."""
MAX_BYTES = 4 << 20
"""Of one request, unless one document has more."""

T = TypeVar("T")


@dataclass
class Synced:
    """What `sync` has done."""

    sent: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])


class AsyncWorkspace:
    """An index of documents; a turn with its `WorkspaceId` is given the chunks that fit its instruction."""

    def __init__(self, http: Http, workspace_id: str) -> None:
        self._http = http
        self._path = f"/workspaces/{segment(workspace_id)}"
        self.workspace_id = workspace_id

    async def put(self, documents: Iterable[Document], *, max_bytes: int = MAX_BYTES) -> list[UpsertedDocuments]:
        """Puts documents into the index, in as many requests as they take."""
        put: list[UpsertedDocuments] = []
        for batch in _batches(documents, MOST_DOCUMENTS, max_bytes):
            put += (await self._send("PUT", "/documents", {"Documents": batch}))["Documents"]
        return put

    async def remove(self, path: str) -> Any:
        """Removes one document, or all under a path that ends in `/`."""
        return await self._send("DELETE", "/documents", query={"Path": path})

    async def search(self, query: str | SearchRequest) -> Found:
        """What a turn would be given."""
        said: Any = {"Query": query} if isinstance(query, str) else query
        found: Found = await self._send("POST", "/search", said)
        return found

    async def get(self) -> WorkspaceCounts:
        """How many documents, chunks and bytes it holds."""
        counts: WorkspaceCounts = await self._send("GET", "")
        return counts

    async def erase(self) -> WorkspaceCounts:
        """Erases the whole workspace; gives the counts of what it held."""
        counts: WorkspaceCounts = await self._send("DELETE", "")
        return counts

    async def sync(
        self,
        source: str | os.PathLike[str] | Iterable[SourceDocument],
        *,
        remove: bool = False,
        max_bytes: int = MAX_BYTES,
        max_file_bytes: int = LONGEST_BYTES,
        on_progress: Callable[[int, int], object] | None = None,
    ) -> Synced:
        """Makes the index equal to a folder, or to these documents: compares their hashes, sends what is new or
        changed, and no more. With `remove`, documents that are not listed are removed. What is no text for an
        index, and what the service refuses, is left out and reported, and blocks nothing. `on_progress` gets how
        many documents of how many were sent or removed.
        """
        synced = Synced()
        listed = await self._listed(source, max_file_bytes, synced)
        needed, extra = await self._compare(listed, max_bytes, synced)
        doomed = extra if remove else []

        def told() -> None:
            if on_progress:
                on_progress(len(synced.sent) + len(synced.removed), len(needed) + len(doomed))

        async for batch in self._read([listed[path] for path in needed], max_bytes, synced):
            synced.sent += await self._put(batch, synced)
            told()
        for paths in _removals(doomed):
            await self._send("DELETE", "/documents", query={"Path": paths})
            synced.removed += paths
            told()
        return synced

    async def _listed(
        self, source: str | os.PathLike[str] | Iterable[SourceDocument], max_file_bytes: int, synced: Synced
    ) -> dict[str, SourceDocument]:
        if isinstance(source, (str, os.PathLike)):
            folder = source
            documents, synced.left_out[:] = await self._http.io.call(
                lambda: folder_documents(folder, max_file_bytes=max_file_bytes), awaits=False
            )
        else:
            documents = list(source)
        normal = (cast("SourceDocument", {**each, "Path": _normal_path(each["Path"])}) for each in documents)
        return {each["Path"]: each for each in normal}

    async def _compare(
        self, listed: dict[str, SourceDocument], max_bytes: int, synced: Synced
    ) -> tuple[list[str], list[str]]:
        """The paths that the index lacks, and those that it has besides (of these, 10,000 for each request at most)."""
        hashes: list[dict[str, str]] = []
        for path, document in listed.items():
            contents = await self._contents(document, synced)
            if contents is not None:
                digest = hashlib.sha256(contents.encode("utf-8", "surrogatepass")).hexdigest()
                hashes.append({"Path": path, "Sha256": digest})
        needed: list[str] = []
        extra: dict[str, None] = {}
        for batch in _batches(hashes, MOST_COMPARED, max_bytes):
            answer = await self._without_refused("POST", "/compare", batch, synced)
            if answer is not None:
                needed += answer["Needed"]
                extra.update(dict.fromkeys(path for path in answer["Extra"] if path not in listed))
        return needed, list(extra)

    async def _put(self, documents: list[Mapping[str, Any]], synced: Synced) -> list[str]:
        refused = len(synced.left_out)
        await self._without_refused("PUT", "/documents", documents, synced)
        gone = {each.path for each in synced.left_out[refused:]}
        return [document["Path"] for document in documents if document["Path"] not in gone]

    async def _without_refused(
        self, method: Literal["POST", "PUT"], path: str, documents: Sequence[Mapping[str, Any]], synced: Synced
    ) -> Any:
        """The answer for those documents that the service takes; the others are reported."""
        while documents:
            try:
                return await self._send(method, path, {"Documents": documents})
            except AptixError as error:
                refused = _refused(error)
                if not refused or not all(at < len(documents) for at in refused):
                    raise
                synced.left_out += (LeftOut(documents[at]["Path"], "refused", refused[at]) for at in sorted(refused))
                documents = _without(documents, refused)
        return None

    async def _contents(self, document: SourceDocument, synced: Synced) -> str | None:
        """The contents; `None` of a file that cannot be read any more."""
        contents = document["Contents"]
        if isinstance(contents, str):
            return contents
        try:
            return await self._http.io.call(contents, awaits=inspect.iscoroutinefunction(contents))
        except (OSError, UnicodeDecodeError):
            synced.left_out.append(LeftOut(document["Path"], "unreadable"))
            return None

    async def _read(
        self, documents: list[SourceDocument], max_bytes: int, synced: Synced
    ) -> AsyncGenerator[list[Mapping[str, Any]], None]:
        """Documents with their contents, read as they are sent."""
        batch = _Batch[Mapping[str, Any]](MOST_DOCUMENTS, max_bytes)
        for document in documents:
            contents = await self._contents(document, synced)
            full = None if contents is None else batch.add({**document, "Contents": contents})
            if full:
                yield full
        if batch.items:
            yield batch.items

    async def _send(
        self,
        method: Literal["GET", "POST", "PUT", "DELETE"],
        path: str,
        body: Mapping[str, Any] | None = None,
        query: Mapping[str, str | list[str]] | None = None,
    ) -> Any:
        sent = None if body is None else json_bytes(body)
        return await request(self._http, Call(method, self._path + path, query or {}, sent))


def _normal_path(path: str) -> str:
    """The one form of a path in which the service lists it: `./src//a.rs` is `src/a.rs`. A bad path stays bad, for the
    service to refuse.
    """
    if os.sep == "\\":
        path = path.replace("\\", "/")
    if path.startswith("/") or re.search(r"(^|/)\.?$", path):
        return path
    return "/".join(part for part in path.split("/") if part not in ("", "."))


def _refused(error: AptixError) -> dict[int, str]:
    """The places of the documents that the service refuses, and why; empty where it refuses anything else."""
    places: dict[int, str] = {}
    for entry in error.errors:
        found = re.match(r"/Documents/(\d+)(?:/|$)", entry.get("Path", ""))
        if not found:
            return {}
        places.setdefault(int(found[1]), entry["Message"])
    return places


def _without(documents: Sequence[Mapping[str, Any]], places: Mapping[int, str]) -> list[Mapping[str, Any]]:
    return [each for at, each in enumerate(documents) if at not in places]


def _removals(paths: list[str]) -> Generator[list[str], None, None]:
    batch: list[str] = []
    for path in paths:
        if batch and (len(batch) >= MOST_REMOVED or len(quote("".join(batch) + path)) > LONGEST_QUERY):
            yield batch
            batch = []
        batch = [*batch, path]
    if batch:
        yield batch


class _Batch(Generic[T]):
    """Collects items until another one would be too many, or too long."""

    def __init__(self, most: int, max_bytes: int) -> None:
        self._most = most
        self._max_bytes = max_bytes
        self._bytes = 0
        self.items: list[T] = []

    def add(self, item: T) -> list[T] | None:
        """Adds an item; gives the batch before it where that was full."""
        length = len(json_bytes(item)) + 1
        full = len(self.items) >= self._most or (self.items and self._bytes + length > self._max_bytes)
        before = self.items if full else None
        if full:
            self.items, self._bytes = [], 0
        self.items.append(item)
        self._bytes += length
        return before


def _batches(items: Iterable[T], most: int, max_bytes: int) -> Generator[list[T], None, None]:
    batch = _Batch[T](most, max_bytes)
    for item in items:
        full = batch.add(item)
        if full:
            yield full
    if batch.items:
        yield batch.items
