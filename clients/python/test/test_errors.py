"""Every code as the real Worker sends it: what a client raises, whether it says rightly who acts and what helps,
and how often it tries again by itself (interface §3).
"""

from __future__ import annotations

import json
import os
import pickle
import re
import socket
import time
from pathlib import Path
from typing import Any

import httpx
import pytest

from aptix_edge import AptixConnectionError, AptixError
from aptix_edge._output import read_output
from conftest import World

CODES = json.loads(Path(os.environ["APTIX_ERROR_CODES"]).read_text("utf-8"))
DICTIONARY = {entry["ErrorCode"]: entry for entry in CODES["dictionary"]}
PASSING = ("request_timeout", "rate_limited", "overloaded", "identity_unavailable")
"""Codes at which nothing was done, so that waiting a moment is all it takes."""
TURN = {"SessionId": "s", "TurnId": "t", "Instruction": "x"}


def thrown(world: World, *, text: str, status: int = 200, headers: Any = None, **options: Any) -> tuple[Any, int]:
    """Sends a turn to something that gives this response to every request: the error, and the number of requests."""
    requests: list[httpx.Request] = []

    def answer(request: httpx.Request) -> httpx.Response:
        requests.append(request)
        return httpx.Response(status, text=text, headers=headers or {})

    options = {"retry_delay_s": 0, "max_retries": 2, "retry_failed_turns": 1, **options}
    aptix = world.client("http://service/under/a/path", transport=httpx.MockTransport(answer), **options)
    with pytest.raises(AptixError) as caught:
        aptix.execute(TURN)
    assert requests[0].url == "http://service/under/a/path/execute"
    assert len({each.content for each in requests if each.method == "POST"}) == 1, "a repetition is the same bytes"
    return caught.value, len(requests)


@pytest.mark.parametrize("code", list(CODES["refusals"]))
def test_each_code_is_raised_as_one_error_and_tried_again_as_often_as_it_may_help(code: str, world: World) -> None:
    refused, entry = CODES["refusals"][code], DICTIONARY[code]
    failed = entry["Retryable"] and entry["TurnStatusAfter"] == "failed"
    attempts = 3 if code in PASSING else 2 if failed else 1
    json_type, stream_type = {"content-type": "application/json"}, {"content-type": "text/event-stream"}
    # A wait that it asks for has a test of its own.
    text = re.sub('"RetryAfterMs":[0-9]+', '"RetryAfterMs":0', refused["text"])
    in_one_piece = thrown(world, text=text, status=refused["status"], headers=json_type)
    in_a_stream = thrown(world, text=f"event: result\nid: end\ndata: {text}\n\n", headers=stream_type)
    errors = json.loads(text)["Errors"]
    for (error, requests), status in ((in_one_piece, entry["HttpStatus"]), (in_a_stream, 200)):
        assert not isinstance(error, AptixConnectionError)
        assert (error.code, error.status) == (code, status)
        assert (error.who_acts, error.retryable) == (entry["WhoActs"], entry["Retryable"])
        assert (error.path, error.details) == (errors[0].get("Path"), errors[0].get("Details", {}))
        assert error.errors == errors
        assert errors[0]["Message"] in str(error)
        assert requests == attempts
        for again in (AptixError.from_dict(json.loads(json.dumps(error.to_dict()))), pickle.loads(pickle.dumps(error))):
            assert (again.code, again.path, again.retryable, str(again)) == (
                code,
                error.path,
                error.retryable,
                str(error),
            )


def test_every_code_of_the_dictionary_is_among_them() -> None:
    assert set(DICTIONARY) == set(CODES["refusals"])


def test_an_error_has_the_id_by_which_the_log_has_the_request(world: World) -> None:
    refusal = CODES["refusals"]["empty_turn"]
    json_type = {"content-type": "application/json", "Aptix-Request-Id": "r-1"}
    for text in (refusal["text"], "<html>"):
        error, _ = thrown(world, text=text, status=400, headers=json_type)
        assert (error.request_id, AptixError.from_dict(error.to_dict()).request_id) == ("r-1", "r-1")


@pytest.mark.parametrize("errors", ['"x"', "[]", "[1]", '[{"Code":"x"}]', "null"])
def test_a_failure_that_is_no_failure_of_the_service_is_no_answer(errors: str, world: World) -> None:
    error, _ = thrown(world, text=f'{{"Successful":false,"Errors":{errors}}}', status=400)
    assert (error.code, error.status) == ("connection_lost", 400)


@pytest.mark.parametrize("position", ["", "id: \n", "id: x\n", "id: 1.x\n"])
def test_text_without_its_position_is_no_answer(position: str, world: World) -> None:
    text = f'event: output_text.delta\n{position}data: {{"Segment":0,"Delta":"x"}}\n\n'
    error, _ = thrown(world, text=text, headers={"content-type": "text/event-stream"}, max_reconnects=0)
    assert error.code == "connection_lost"


@pytest.mark.parametrize("text", ["[" * 200_000, "9" * 5000], ids=["deep", "digits"])
def test_json_that_python_does_not_read_is_no_answer(text: str, world: World) -> None:
    json_type, stream_type = {"content-type": "application/json"}, {"content-type": "text/event-stream"}
    sent = [(f"event: {name}\ndata: {text}\n\n", stream_type) for name in ("progress", "result")]
    for body, headers in ((text, json_type), *sent):
        error, _ = thrown(world, text=body, headers=headers, max_reconnects=0)
        assert error.code == "connection_lost"
    with pytest.raises(ValueError, match=r"too deep|limit"):
        read_output(text, None)


@pytest.mark.parametrize(("status", "requests"), [(502, 3), (429, 3), (200, 3), (408, 3), (403, 1), (302, 3)], ids=str)
def test_what_comes_from_something_in_between_is_no_answer_of_the_service(
    status: int, requests: int, world: World
) -> None:
    error, made = thrown(world, text="<html>No.</html>", status=status, max_reconnects=2)
    # A turn whose connection failed for good is looked after once more.
    views = 0 if requests == 1 else 1
    assert (error.code, error.status, made, error.retryable) == (
        "connection_lost",
        status,
        requests + views,
        requests > 1,
    )
    again = pickle.loads(pickle.dumps(error))
    assert isinstance(again, AptixConnectionError)
    assert isinstance(again, ConnectionError)
    assert (again.status, again.retryable) == (status, error.retryable)


def test_a_port_of_this_machine_where_nobody_listens_is_told_at_once_and_where_somebody_did_the_connection_is_lost(
    world: World,
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
    began = time.monotonic()
    with pytest.raises(AptixConnectionError, match=f"Nobody listens at {url}") as caught:
        world.client(url, retry_delay_s=60).session("s").turn("Hello.").final()
    assert time.monotonic() - began < 10
    assert not caught.value.retryable
    assert not pickle.loads(pickle.dumps(caught.value)).retryable
    [told] = world.client(url).session("s").turn("Hello.").lines()
    assert json.loads(told)["error"]["isFinal"]

    asked: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if len(asked) > 1:
            raise httpx.ConnectError("refused", request=request)
        return httpx.Response(200, json={"Successful": True, "Result": {"Status": "ok"}})

    aptix = world.client("http://localhost:1", transport=httpx.MockTransport(answer), max_reconnects=2)
    aptix.health()
    with pytest.raises(AptixConnectionError, match="was lost") as caught:
        aptix.session("s").get()
    assert (len(asked), caught.value.retryable) == (4, True)

    def shake(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("self-signed certificate", request=request)

    aptix = world.client("https://localhost:1", transport=httpx.MockTransport(shake), max_reconnects=0)
    with pytest.raises(AptixConnectionError, match=r"was lost: self-signed certificate") as caught:
        aptix.health()
    assert caught.value.retryable


def test_a_wait_that_the_service_asks_for_is_kept_unless_it_is_longer_than_a_minute(world: World) -> None:
    entry = {"ErrorCode": "rate_limited", "Message": "m", "SystemError": False}
    text = json.dumps({"Successful": False, "Errors": [entry], "Warnings": []})
    began = time.monotonic()
    _, requests = thrown(world, text=text, status=429, headers={"retry-after": "1"}, max_retries=1)
    assert requests == 2
    assert time.monotonic() - began > 0.99
    error, requests = thrown(world, text=text, status=429, headers={"retry-after": "61"})
    assert (requests, error.retry_after_s) == (1, 61)
    error, _ = thrown(world, text=text, status=429, headers={"retry-after": "Fri, 31 Dec 2999 23:59:59 GMT"})
    assert error.retry_after_s > 1e9

    def failed(asked_ms: int) -> tuple[Any, int]:
        details = {"RetryAfterMs": asked_ms}
        entry = {"ErrorCode": "upstream_unavailable", "Message": "m", "Details": details, "SystemError": True}
        result = json.dumps({"Successful": False, "Errors": [entry], "Warnings": []})
        stream = f"event: result\nid: end\ndata: {result}\n\n"
        return thrown(world, text=stream, headers={"content-type": "text/event-stream"})

    # The head of a stream, which has come by then, says nothing of it.
    began = time.monotonic()
    assert failed(1000)[1] == 2
    assert time.monotonic() - began > 0.99
    error, requests = failed(61_000)
    assert (requests, error.retry_after_s) == (1, 61)


def test_a_service_that_is_away_for_days_is_asked_until_the_last_attempt(world: World) -> None:
    # No time of anybody's, and no reason to fail otherwise.
    asked = {"retry-after": "Fri, 31 Dec 2999 23:59:59 +99999999999999999999"}
    error, requests = thrown(world, text="<html>No.</html>", status=502, headers=asked, max_reconnects=1100)
    # The last one asks for the turn's outcome.
    assert (error.code, error.retry_after_s, requests) == ("connection_lost", None, 1102)


def test_an_attempt_is_logged_without_body_query_or_key(world: World) -> None:
    log: list[Any] = []
    refused = CODES["refusals"]["rate_limited"]
    answer = httpx.MockTransport(lambda _: httpx.Response(429, text=refused["text"]))
    aptix = world.client("http://service", "secret-key", transport=answer, on_log=log.append)
    with pytest.raises(AptixError):
        list(aptix.sessions(query="private"))
    assert [(each.method, each.path, each.attempt, each.status, each.error) for each in log] == [
        ("GET", "/sessions", attempt, 429, None) for attempt in (1, 2, 3)
    ]
    assert not any(word in repr(log) for word in ("secret-key", "private"))
