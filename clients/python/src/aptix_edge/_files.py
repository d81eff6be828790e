"""Files that go with a turn. Owns their forms on the wire; it sends nothing."""

from __future__ import annotations

import base64
import mimetypes
import os
import uuid
from pathlib import Path
from typing import Any, Literal

from .wire import ClipboardImage, InputArtifact


def artifact(
    path: str | os.PathLike[str],
    contents: str | bytes | None = None,
    *,
    origin: Literal["ide", "user"] = "user",
    relative_path: str | None = None,
) -> InputArtifact:
    """A file as an `InputArtifact` of a turn. `contents` stands for what the file holds; `relative_path` is how the
    model is told of it, the file's name unless given.
    """
    file = Path(path)
    data = file.read_bytes() if contents is None else contents.encode() if isinstance(contents, str) else contents
    made: InputArtifact = {
        "RelativePath": relative_path or file.name,
        "FileName": file.name,
        "Contents": "",
        "Origin": origin,
    }
    kind = mimetypes.guess_type(file.name)[0]
    if kind:
        made["MimeType"] = kind
    try:
        if b"\0" in data:
            raise ValueError("It is no text.")
        made["Contents"] = data.decode("utf-8")
    except ValueError:
        made["Contents"] = base64.b64encode(data).decode()
        made["Encoding"] = "base64"
    return made


def image(source: str | os.PathLike[str] | bytes, mime_type: str | None = None) -> ClipboardImage:
    """A picture, of a file or of bytes, as a `ClipboardImage` of a turn: PNG, JPEG, WebP or GIF."""
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    kind: Any = mime_type or _kind(data)
    if kind is None:
        raise ValueError("It is no PNG, JPEG, WebP or GIF; `mime_type` names another kind.")
    return {"Id": uuid.uuid4().hex, "MimeType": kind, "DataBase64": base64.b64encode(data).decode()}


def _kind(data: bytes) -> str | None:
    heads = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for head, kind in heads.items() if data.startswith(head)), None)
