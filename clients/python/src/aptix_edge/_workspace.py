"""A workspace: documents that turns are given chunks of, and keeping them as they are elsewhere."""

from __future__ import annotations

import hashlib
import inspect
import os
import re
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal, TypeVar, cast
from urllib.parse import quote

import httpx

from ._errors import AptixError
from ._folder import LONGEST_BYTES, LeftOut, SourceDocument, folder_documents
from ._http import Call, Http, json_bytes, request
from ._submission import segment
from .wire import Comparison, Document, Entry, Found, SearchRequest, UpsertedDocuments, WorkspaceCounts

MOST_DOCUMENTS = 100
MOST_COMPARED = 10_000
MAX_QUERY = 6000
"""Of the query of a removal: with longer addresses not every proxy deals."""
LONGEST_CONTENTS = 20_000_000
"""The service takes no document of more characters."""
NO_DOCUMENT: Mapping[str, Any] = {"Path": "no document of this name", "Sha256": "0" * 64}
"""A path that no document has: who compares with it alone learns of all that there are."""
MAX_BYTES = 4 << 20
"""Of one request, unless one document has more."""

T = TypeVar("T")


@dataclass
class Synced:
    """What `sync` has done."""

    sent: list[str] = field(default_factory=list[str])
    removed: list[str] = field(default_factory=list[str])
    left_out: list[LeftOut] = field(default_factory=list[LeftOut])
    has_more: bool = False
    """Of a dry run: more may be removed than the service has named at once."""


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

    async def remove(self, paths: str | Iterable[str]) -> None:
        """Removes documents, and under a path that ends in `/` all. 100 paths are one request, which refuses all or
        none.
        """
        for some in _removals([paths] if isinstance(paths, str) else paths):
            await self._send("DELETE", "/documents", query={"Path": some})

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
        remove: bool | Callable[[str], bool] = False,
        dry_run: bool = False,
        max_bytes: int = MAX_BYTES,
        max_file_bytes: int = LONGEST_BYTES,
        include: Sequence[str] = (),
        on_progress: Callable[[int, int], object] | None = None,
    ) -> Synced:
        """Makes the index equal to a folder, or to these documents: compares their hashes, sends what is new or
        changed, and no more. With `remove`, documents that are not listed are removed, or those of them that it
        says by their path. What is no text for an index, cannot be read, or is refused by the service is left out
        and reported; what the index has of the latter two stays. Where 20,000 documents are listed, or fewer
        with long paths, the service may not name all others, and those stay. `include` are patterns in the form of
        .gitignore: what has such a name is taken, a secret, too, unless an ignore file leaves it out. With
        `dry_run` it only tells what would be sent and removed. `on_progress` gets how many documents of how many were
        sent or removed.
        """
        synced = Synced()
        listed = await self._listed(source, max_file_bytes, include, synced)
        hashes = await self._hashes(listed, synced)
        if remove and not hashes:
            hashes.append(NO_DOCUMENT)
        kept = {each.path for each in synced.left_out if each.reason == "unreadable"}

        def is_doomed(path: str) -> bool:
            wanted = not any(_is_under(path, each) for each in kept)
            return wanted and (remove(path) if callable(remove) else remove)

        needed, extra, has_more = await self._compare(hashes, listed, max_bytes, synced.left_out)
        doomed = [path for path in extra if is_doomed(path)]
        if dry_run:
            synced.sent, synced.removed, synced.has_more = needed, doomed, has_more and bool(remove)
            return synced
        count = len(needed) + len(doomed)

        def told() -> None:
            if on_progress:
                on_progress(len(synced.sent) + len(synced.removed), count)

        async for batch in self._read([listed[path] for path in needed], max_bytes, synced):
            synced.sent += await self._accepted("PUT", "/documents", batch, synced.left_out)
            told()
        while True:
            for paths in _removals(doomed):
                await self._send("DELETE", "/documents", query={"Path": paths})
                synced.removed += paths
                told()
            if not has_more:
                return synced
            # What was not named for want of room is named now.
            _, extra, has_more = await self._compare(hashes, listed, max_bytes, [])
            doomed = [path for path in extra if is_doomed(path)]
            count += len(doomed)
            has_more = has_more and bool(doomed)

    async def _listed(
        self,
        source: str | os.PathLike[str] | Iterable[SourceDocument],
        max_file_bytes: int,
        include: Sequence[str],
        synced: Synced,
    ) -> dict[str, SourceDocument]:
        if isinstance(source, (str, os.PathLike)):
            folder = source
            documents, synced.left_out[:] = await self._http.io.call(
                lambda: folder_documents(folder, max_file_bytes=max_file_bytes, include=include), awaits=False
            )
        else:
            documents = list(source)
        normal = (cast("SourceDocument", {**each, "Path": _normal_path(each["Path"])}) for each in documents)
        return {each["Path"]: each for each in normal}

    async def _hashes(self, listed: dict[str, SourceDocument], synced: Synced) -> list[Mapping[str, Any]]:
        hashes: list[Mapping[str, Any]] = []
        for path, document in listed.items():
            contents = await self._contents(document, synced)
            if contents is not None:
                digest = hashlib.sha256(contents.encode()).hexdigest()
                hashes.append({"Path": path, "Sha256": digest})
        return hashes

    async def _compare(
        self, hashes: list[Mapping[str, Any]], listed: Mapping[str, Any], max_bytes: int, left_out: list[LeftOut]
    ) -> tuple[list[str], list[str], bool]:
        """The paths that the index lacks, those that it has besides, and whether there are more of these."""
        needed: list[str] = []
        extra: dict[str, None] = {}
        codes: set[str] = set()

        def warned(warning: Entry) -> None:
            codes.add(warning["ErrorCode"])

        asking = type(self)(replace(self._http, on_warning=warned), self.workspace_id)
        for batch in _batches(hashes, MOST_COMPARED, max_bytes):
            answers: list[Comparison] = []
            await asking._accepted("POST", "/compare", batch, left_out, answers)
            for answer in answers:
                needed += (path for path in answer["Needed"] if path in listed)
                extra.update(dict.fromkeys(path for path in answer["Extra"] if path not in listed))
        return needed, list(extra), "extra_cut" in codes

    async def _accepted(
        self,
        method: Literal["POST", "PUT"],
        path: str,
        documents: list[Mapping[str, Any]],
        left_out: list[LeftOut],
        answers: list[Any] | None = None,
    ) -> list[str]:
        """Sends documents; those that the service refuses by their place, or as too large when they are alone, are left
        out. Gives the paths of the others.
        """
        if not documents:
            return []
        try:
            answer = await self._send(method, path, {"Documents": documents})
        except AptixError as error:
            # A front with a bound of its own answers in its own words, or closes the connection while the body is sent.
            is_too_large = error.code == "body_too_large" or error.status == 413
            half = len(documents) // 2
            if (is_too_large or _was_closed(error)) and half:
                parts = (documents[:half], documents[half:])
                return [each for part in parts for each in await self._accepted(method, path, part, left_out, answers)]
            passed: list[Mapping[str, Any]] = []
            for at, document in enumerate(documents):
                own = error.errors if is_too_large else _about(error, at)
                if own:
                    refusal = AptixError(error.status, own, request_id=error.request_id)
                    left_out.append(LeftOut(document["Path"], "refused", refusal))
                else:
                    passed.append(document)
            if len(passed) == len(documents):
                raise
            return await self._accepted(method, path, passed, left_out, answers)
        if answers is not None:
            answers.append(answer)
        return [document["Path"] for document in documents]

    async def _contents(self, document: SourceDocument, synced: Synced) -> str | None:
        """The contents; `None` of a file that cannot be read any more."""
        source: Any = document["Contents"]
        try:
            awaits = inspect.iscoroutinefunction(source)
            contents: Any = await self._http.io.call(source, awaits=awaits) if callable(source) else source
            if not isinstance(contents, str):
                raise TypeError("The contents are no text.")
            if len(contents) > LONGEST_CONTENTS:
                raise ValueError(f"The contents are too long: {len(contents)} characters.")
            contents.encode()
        except Exception as error:  # noqa: BLE001 - whatever reading raises is about this document alone
            synced.left_out.append(LeftOut(document["Path"], "unreadable", error))
            return None
        return contents

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


def _is_under(path: str, left_out: str) -> bool:
    return left_out in (path, "./") or (left_out.endswith("/") and path.startswith(left_out))


CLOSED = (ConnectionResetError, BrokenPipeError, httpx.RemoteProtocolError)
"""The last of them where the reset met a write that blocked: httpx reads on after it, and finds the end of all."""


def _was_closed(error: BaseException | None) -> bool:
    """Whether the other side has closed the connection at once."""
    while error is not None and not isinstance(error, CLOSED):
        error = error.__cause__ or error.__context__
    return error is not None


def _about(error: AptixError, at: int) -> list[Entry]:
    """What an error says about the document at this place, which tells nobody anything: its path does."""
    about = [entry for entry in error.errors if f"{entry.get('Path', '')}/".startswith(f"/Documents/{at}/")]
    return [{**entry, "Message": entry["Message"].replace(f"Documents[{at}].", "")} for entry in about]


def _removals(paths: Iterable[str]) -> Generator[list[str], None, None]:
    batch: list[str] = []
    length = 0
    for path in paths:
        more = len(quote(path, safe="")) + len("&Path=")
        if batch and (len(batch) >= MOST_DOCUMENTS or length + more > MAX_QUERY):
            yield batch
            batch, length = [], 0
        batch.append(path)
        length += more
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
