"""The pieces that need no service: the wire's types, events of a stream however it is cut, schemas, JSON as text,
webhooks.
"""

from __future__ import annotations

import base64
import codecs
import enum
import errno
import json
import math
import os
import random
import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import httpx
import pytest
from pydantic import BaseModel, Field
from standardwebhooks import Webhook

from aptix_edge import (
    AptixError,
    FileStore,
    MemoryStore,
    ToolContext,
    WebhookError,
    _answers,
    _json_text,
    _output,
    _sse,
    _sync_io,
    format_json,
    tool,
    verify_webhook,
)
from aptix_edge._tools import tools_json
from conftest import Bed
from wire_types import wire_types

WIRE = Path(__file__).parents[1] / "src/aptix_edge/wire.py"


def test_the_types_are_those_of_the_services_document(bed: Bed) -> None:
    made = wire_types(bed("openapi"))
    if "UPDATE_TYPES" in os.environ:
        WIRE.write_text(made, "utf-8")
    assert WIRE.read_text("utf-8") == made, "UPDATE_TYPES=1 writes them anew"


def test_events_are_the_same_however_their_bytes_come() -> None:
    text = (  # The line and the paragraph separators are no ends of lines here.
        ": comment\r\n\r\nevent: output_text.delta\r\nid: 0.3\r\n"
        'data: {"Delta":\r\ndata:  "wörld 🌍\u2028\x0b"}\r\n\r\n'
        "retry: 5\rdata: a\r\rid\nevent:b\ndata:c\n\ndata: cut"
    )
    data = text.encode()
    whole = list(_sse.EventReader().feed(data))
    assert [(each.name, each.data, each.id) for each in whole] == [
        ("output_text.delta", '{"Delta":\n "wörld 🌍\u2028\x0b"}', "0.3"),
        ("message", "a", None),
        ("b", "c", ""),
    ]
    dice = random.Random(7)
    for _ in range(300):
        reader, at, found = _sse.EventReader(), 0, []
        while at < len(data):
            end = at + dice.randrange(1, 9)
            found += reader.feed(data[at:end])
            at = end
        assert found == whole
    # The mark of the byte order is none of the first line.
    reader = _sse.EventReader()
    marked = [event for byte in codecs.BOM_UTF8 + b"event: a\ndata: b\n\n" for event in reader.feed(bytes([byte]))]
    assert [(each.name, each.data) for each in marked] == [("a", "b")]


def test_a_decision_that_was_made_meanwhile_is_kept_where_the_one_before_is_refused() -> None:
    io, store = _sync_io.SyncIo(None), MemoryStore()
    answerer = _answers.Answerer(io, _answers.Shared(store), ("s", "t"), None, lambda *_: True)
    call: Any = {"ToolCallId": "1", "Name": _answers.APPROVAL, "ArgumentsJson": "{}"}
    sent: Any = {"ToolCallId": "1", "ExecutionMs": 0, "ResultJson": '{"Approved":true,"Arguments":1}'}
    newer: Any = {**sent, "ResultJson": '{"Approved":true}'}
    entry: Any = {
        "ErrorCode": "invalid_field",
        "Message": "No.",
        "Path": "/ToolResults/0/ResultJson",
        "SystemError": False,
    }
    for kept, left in ((newer, {"1": newer}), (sent, None)):
        store.update("aptix:s/t", {"1": kept})
        _sync_io.run(answerer.refused([call], [sent], AptixError(400, [entry])))
        assert store.get("aptix:s/t") == left
    _sync_io.run(io.close())


def test_a_process_that_was_forked_has_connections_of_its_own(bed: Bed, monkeypatch: Any) -> None:
    io, request = _sync_io.SyncIo(None), httpx.Request("GET", f"{bed.direct}/health")
    parents = io._client
    for process, is_parents in ((os.getpid(), True), (-1, False)):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        _sync_io.run(_sync_io.run(io.send(request, None)).close())
        assert (io._client is parents) == is_parents
    parents.close()
    _sync_io.run(io.close())


class Color(enum.Enum):
    RED = "red"


@dataclass
class Place:
    name: str
    floor: int = 0


class Cat(BaseModel):
    kind: Literal["cat"]


class Dog(BaseModel):
    kind: Literal["dog"]


class Node(BaseModel):
    place: Place = Field(description="Where.")
    color: Color = Color.RED
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]
    under: list[Node] = []


class Open(BaseModel, extra="allow"):
    place: Place


def test_the_form_of_an_answer_is_one_that_services_take() -> None:
    form = json.loads(_output.output_schema(Node))
    of = form["properties"]
    assert (form["type"], form["required"]) == ("object", ["place", "color", "pet", "under"])
    assert of["place"] == {"description": "Where.", "anyOf": [{"$ref": "#/$defs/Place"}]}, "nothing beside a reference"
    assert of["color"] == {"$ref": "#/$defs/Color"}
    assert of["pet"] == {"title": "Pet", "anyOf": [{"$ref": "#/$defs/Cat"}, {"$ref": "#/$defs/Dog"}]}
    assert form["$defs"]["Node"]["properties"] == of
    assert '"default"' not in json.dumps(form)
    assert json.loads(_output.output_schema(Open))["additionalProperties"] is False, "services demand closed objects"


def test_a_fence_around_an_answer_is_taken_off() -> None:
    for text in ('```json\n{"kind":"cat"}\n```\n', '```\n{"kind":"cat"}\n  ```', ' {"kind":"cat"}'):
        assert _output.read_output(text, Cat) == Cat(kind="cat")
        assert _output.read_output(text, {"type": "object"}) == {"kind": "cat"}
    begun = time.monotonic()
    with pytest.raises(ValueError, match="JSON"):
        _output.read_output("```json" + "\n" * 100_000 + "x", Cat)
    assert time.monotonic() - begun < 5


def test_a_function_becomes_a_tool_by_its_hints_and_gets_what_they_say() -> None:
    @tool(strict=True, repeatable=True)
    def paint(
        where: list[Place],
        color: Annotated[Color, "Of the wall."] = Color.RED,
        how: Literal["fast", "well"] = "well",
        *,
        context: ToolContext,
    ) -> str:
        """Paints walls."""
        return f"{where[0].floor + 1} {color.name} {how} {context.tool_call_id}"

    definition = paint.definition()
    assert (definition["name"], definition["description"], definition["strict"]) == ("paint", "Paints walls.", True)
    schema = definition["parameters"]
    assert set(schema["properties"]) == {"where", "color", "how"}
    assert schema["required"] == ["where"]
    assert schema["properties"]["color"]["description"] == "Of the wall."
    assert schema["properties"]["how"]["enum"] == ["fast", "well"]
    assert schema["additionalProperties"] is False
    arguments = paint.arguments(ToolContext("c", '{"where":[{"name":"x","floor":12345678901234567890}]}'))
    assert paint(**arguments) == "12345678901234567891 RED well c"
    longest = tool(name="longest", description="")(lambda most=math.inf, least=0.5: (most, least))
    properties = json.loads(tools_json([longest]), parse_constant=pytest.fail)[0]["parameters"]["properties"]
    assert properties == {"most": {}, "least": {"default": 0.5}}
    for wrong, told in (
        ('{"where":1}', "where"),
        ("{}", "where"),
        ('{"where":[],"who":1}', "who"),
        ("[1]", "arguments"),
    ):
        with pytest.raises(ValueError, match=told):
            paint.arguments(ToolContext("c", wrong))
    with pytest.raises(TypeError, match="have names"):
        tool(lambda *args: args)
    with pytest.raises(TypeError, match="method"):
        tool(Bed.close)
    given = tool(name="any", parameters={"type": "object"})(lambda **named: named)
    assert given.arguments(ToolContext("c", '{"class":1e2}')) == {"class": 100}


def test_a_partial_is_a_tool_by_the_function_within_it_and_what_it_has_given_is_no_argument() -> None:
    def find(root: str, where: Place, most: int = 3, *, context: ToolContext, of: str = "") -> str:
        """Finds places."""
        return f"{root} {where.name} {most + 1} {of} {context.tool_call_id}"

    made = tool(partial(find, "/srv", of="ann"))
    definition = made.definition()
    assert (definition["name"], definition["description"]) == ("find", "Finds places.")
    assert set(definition["parameters"]["properties"]) == {"where", "most"}
    assert made(**made.arguments(ToolContext("c", '{"where":{"name":"x"}}'))) == "/srv x 4 ann c"
    with pytest.raises(ValueError, match="of"):
        made.arguments(ToolContext("c", '{"where":{"name":"x"},"of":"bob"}'))
    named: Any = partial(find, "/etc")
    named.__name__, named.__doc__ = "find_settings", "Finds settings."
    assert (tool(named).name, tool(named).description) == ("find_settings", "Finds settings.")


def test_what_a_tool_gives_is_json_also_where_a_number_of_it_is_none() -> None:
    @dataclass
    class Measured:
        share: float

    assert json.loads(_answers.to_json([Measured(math.nan), Measured(0.5)])) == [{"share": None}, {"share": 0.5}]
    assert json.loads(_answers.to_json({"share": math.nan, "of": "ä"})) == {"share": None, "of": "ä"}


def test_a_store_in_a_folder_keeps_what_another_one_finds_and_forgets_it(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    FileStore("~/agent/runs").update("aptix:a/../b \ud800", {"call": None})
    again = FileStore(tmp_path / "agent/runs")
    assert again.get("aptix:a/../b \ud800") == {"call": None}
    assert again.get("another") is None
    for _ in range(2):
        again.update("aptix:a/../b \ud800", None)
    assert list((tmp_path / "agent/runs").iterdir()) == []


def test_a_store_on_a_full_disk_leaves_nothing_of_what_it_could_not_write(tmp_path: Path, monkeypatch: Any) -> None:
    store = FileStore(tmp_path)
    store.update("a", {"call": None})

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    for _ in range(2):
        with pytest.raises(OSError, match="No space"):
            store.update("a", {"call": {"ResultJson": "1"}})
    assert store.get("a") == {"call": None}
    assert len(list(tmp_path.iterdir())) == 1


def test_json_is_laid_out_by_its_tokens_and_what_cannot_be_seen_is_shown() -> None:
    assert format_json('{"a":[1.10,{},[]],"b":"\u202e\\u0041"}') == (
        '{\n  "a": [\n    1.10,\n    {},\n    []\n  ],\n  "b": "\\u202e\\u0041"\n}'
    )
    assert format_json("no\u00a0json\n") == "no\\u00a0json\n"
    assert format_json("\U000e0001") == "\\udb40\\udc01"
    assert json.loads(format_json('"\U0001f30d"')) == "\U0001f30d"
    assert _json_text.members_of('{ "a" : {"a":1} , "b":[1,2.0] }') == {"a": '{"a":1}', "b": "[1,2.0]"}
    assert _json_text.is_same_json('{"a":1.0}', '{ "a": 1.0 }')
    assert not _json_text.is_same_json('{"a":1.0}', '{"a":1}')
    # Of more digits than Python makes an integer of.
    long = "9" * 5000
    assert format_json(f'{{"a":{long}}}') == f'{{\n  "a": {long}\n}}'
    assert _json_text.members_of(f'{{"a":{long}}}') == {"a": long}


def test_a_webhook_that_the_library_signs_is_taken_and_any_other_is_not() -> None:
    secret, other = (f"whsec_{base64.b64encode(bytes([byte] * 32)).decode()}" for byte in (7, 8))
    body = json.dumps({"type": "turn.completed", "timestamp": "t", "data": {"SessionId": "ä"}})
    now = int(time.time())

    def headers(of: str = secret, at: int = now) -> dict[str, str]:
        from datetime import datetime, timezone

        signature = Webhook(of).sign("msg_1", datetime.fromtimestamp(at, timezone.utc), body)
        return {"Webhook-Id": "msg_1", "webhook-timestamp": str(at), "WEBHOOK-SIGNATURE": f"v1a,x v1,AAAA {signature}"}

    for secrets in (secret, [other, secret], f"{secret}\n", secret.rstrip("=")):
        received = verify_webhook(body.encode(), headers(), secrets)
        assert (received.id, received.event["data"]["SessionId"]) == ("msg_1", "ä")
    wrong: list[tuple[Any, Any, str]] = [
        (body.replace("Session", "Other"), headers(), "No signature"),
        (body, headers(other), "No signature"),
        (body, headers(at=now - 400), "not of now"),
        (body, {**headers(), "webhook-timestamp": "nan"}, "not of now"),
        (body, {}, "has no webhook-id"),
    ]
    for text, given, told in wrong:
        with pytest.raises(WebhookError, match=told):
            verify_webhook(text, given, secret)
    with pytest.raises(ValueError, match="whsec_ and base64"):
        verify_webhook(body, headers(), "whsec_?")
    for none in ("", "whsec_", "whsec_ ", "whsec_ß", "secret", [], ["whsec_", secret], [secret, ""]):
        for given in (headers(), {}):
            with pytest.raises(ValueError, match="secret"):
                verify_webhook(body, given, none)
    hostile = ["9" * 5000, "\ud800", "\0", "1e400", "-0", "٣", "²", " ", "v1,\ud800", "v1," * 10_000, "v1,ß"]
    for name in ("webhook-id", "webhook-timestamp", "WEBHOOK-SIGNATURE"):
        for value in hostile:
            plain = {key.lower(): each for key, each in headers().items()}
            with pytest.raises(WebhookError):
                verify_webhook(body, {**plain, name.lower(): value}, secret)
    with pytest.raises(WebhookError):
        verify_webhook("\ud800", headers(), secret)
