"""When a client asks for a ticket, and which one it shows: with a service of this file that knows tickets, and a
clock that only the tests move.
"""

from __future__ import annotations

import base64
import json
from collections import Counter
from collections.abc import Callable
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest

from aptix_edge import AptixConnectionError, AptixError, _credential, _sync_io
from conftest import Bed, World, for_each, new_id, script

LIFE_S = 600


class Clock:
    def __init__(self) -> None:
        self.now = 1_795_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(_credential, "time", made)
    return made


def encoded(value: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


class Service:
    """Gives tickets, and lets in whoever shows one of its day."""

    def __init__(self, world: World, clock: Clock, form: Callable[[str, float], Any]) -> None:
        self.clock = clock
        self.form = form
        self.asked = 0
        self.newest = ""
        self.revoked: set[str] = set()
        self.ends: dict[str, float] = {}
        self.codes: Counter[str] = Counter()
        self.shown: set[str] = set()
        self.aptix = world.client("http://service", self.ticket, transport=httpx.MockTransport(self.answer))

    def ticket(self) -> Any:
        self.asked += 1
        end = self.clock.now + LIFE_S
        given = self.form(f"apt1.{encoded({'U': 'zoë', 'X': end, 'I': self.asked})}.c2ln", end)
        self.newest = given["Ticket"] if isinstance(given, dict) else given
        self.ends[self.newest] = end
        return given

    def answer(self, request: httpx.Request) -> httpx.Response:
        shown = request.headers["Authorization"].removeprefix("Bearer ")
        self.shown.add(shown)
        if shown in self.revoked or self.ends[shown] <= self.clock.now:
            self.codes["credential_expired"] += 1
            errors = [{"ErrorCode": "credential_expired", "Message": "No.", "SystemError": False}]
            return httpx.Response(401, json={"Successful": False, "Errors": errors, "Warnings": []})
        self.codes["ok"] += 1
        return httpx.Response(200, json={"Successful": True, "Result": {}})


FORMS: dict[str, Callable[[str, float], Any]] = {
    "the answer of POST /tickets": lambda ticket, end: {
        "Ticket": ticket,
        "ExpiresAt": datetime.fromtimestamp(end, timezone.utc).isoformat().replace("+00:00", "Z"),
    },
    "a ticket": lambda ticket, _: ticket,
    "a JWT": lambda _, end: f"eyJhbGciOiJub25lIn0.{encoded({'exp': end, 'sub': 'ï¿¾'})}.c2ln",
}


@pytest.mark.parametrize("form", list(FORMS))
def test_a_ticket_serves_until_30_s_before_its_end_and_is_asked_for_once_by_all(
    form: str, world: World, clock: Clock
) -> None:
    service = Service(world, clock, FORMS[form])
    session = service.aptix.session("s")
    for_each(list(range(10)), lambda _: session.get())
    assert service.asked == 1
    clock.now += LIFE_S - 30 - 0.01
    session.get()
    assert service.asked == 1, "there are more than 30 s"
    clock.now += 0.02
    for_each([1, 2], lambda _: session.get())
    assert service.asked == 2
    assert (set(service.codes), len(service.shown)) == ({"ok"}, 2)


def test_a_ticket_that_the_service_takes_no_longer_is_replaced_once_for_all_and_never_in_a_loop(
    world: World, clock: Clock
) -> None:
    service = Service(world, clock, FORMS["a ticket"])
    session = service.aptix.session("s")
    session.get()
    service.revoked.add(service.newest)
    for_each(list(range(10)), lambda _: session.get())
    assert service.asked == 2
    service.revoked.add(service.newest)
    service.form = lambda _, __: next(iter(service.revoked))
    before = service.codes["credential_expired"]
    with pytest.raises(AptixError) as caught:
        session.get()
    assert (caught.value.code, caught.value.who_acts) == ("credential_expired", "client")
    assert service.codes["credential_expired"] - before == 2


def test_a_ticket_that_another_thread_gives_up_at_any_moment_is_a_ticket_or_asked_for_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given: Any = {"Ticket": "ticket", "ExpiresAt": "2999-01-01T00:00:00Z"}
    io = _sync_io.SyncIo(None)
    bearer = _credential.Bearer(io, lambda: given)

    class Meanwhile:
        def time(self) -> float:
            bearer.replaces("ticket")
            return 0.0

    monkeypatch.setattr(_credential, "time", Meanwhile())
    for _ in range(3):
        assert _sync_io.run(bearer.get()) == "ticket"
    _sync_io.run(io.close())


def test_what_has_no_end_is_asked_for_each_time_and_what_fails_is_a_lost_connection(world: World) -> None:
    shown: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        shown.append(request.headers.get("Authorization"))
        return httpx.Response(200, json={"Successful": True, "Result": {}})

    keys: list[Any] = ["one", ValueError("no key"), "two", None]

    def key() -> Any:
        given = keys.pop(0)
        if isinstance(given, Exception):
            raise given
        return given

    for name in ("api_key", "credential"):
        keys[:] = ["one", ValueError("no key"), "two", None]
        aptix = (
            world.client("http://service", transport=httpx.MockTransport(answer), **{name: key})
            if name != "api_key"
            else world.client("http://service", key, transport=httpx.MockTransport(answer))
        )
        for _ in range(3):
            aptix.session("s").get()
        assert shown[-3:] == ["Bearer one", "Bearer two", None]
    # An end that is later than any number of Python's is none.
    keys[:] = [endless := f"e.{encoded({'exp': 10**400})}.s"]
    aptix.session("s").get()
    assert shown[-1] == f"Bearer {endless}"
    # A back end that leaves out the end of a ticket, or the ticket.
    keys[:] = [{"Ticket": "three"}]
    aptix.session("s").get()
    assert shown[-1] == "Bearer three"
    for given in ({}, {"Ticket": "four", "ExpiresAt": "soon"}):
        keys[:] = [given]
        with pytest.raises(AptixConnectionError, match="No credential came"):
            world.client("http://service", key, transport=httpx.MockTransport(answer), max_reconnects=0).health()
    keys[:] = [ValueError("no key")]
    with pytest.raises(AptixConnectionError, match="No credential came: no key"):
        world.client("http://service", key, max_reconnects=0).session("s").get()


def test_a_credential_that_no_header_can_have_is_refused_unsent_and_unsaid(world: World, bed: Bed) -> None:
    for key in ("secret\nkey", "secret\u2013key", "secret\0key"):
        with pytest.raises(AptixConnectionError) as caught:
            world.client(bed.direct, key).health()
        assert not caught.value.retryable
        assert "secret" not in f"{caught.value} {caught.value.__cause__} {caught.value.to_dict()}"
    # The last line break of a file is no part of its key.
    shown: list[str | None] = []

    def answer(request: httpx.Request) -> httpx.Response:
        shown.append(request.headers.get("Authorization"))
        return httpx.Response(200, json={"Successful": True, "Result": {}})

    world.client("http://service", " a.key\r\n", transport=httpx.MockTransport(answer)).health()
    assert shown == ["Bearer a.key"]


def test_a_user_is_named_by_a_header_percent_encoded_and_a_list_goes_through_its_pages(world: World) -> None:
    seen: list[httpx.Request] = []
    pages = {
        None: {"Sessions": [{"SessionId": "a"}, {"SessionId": "b"}], "Next": "n&1"},
        "n&1": {"Sessions": [{"SessionId": "c"}]},
    }

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request)
        return httpx.Response(200, json={"Successful": True, "Result": pages[request.url.params.get("After")]})

    aptix = world.client(
        "http://service", transport=httpx.MockTransport(answer), user="zoë/~%2F", headers={"X-Own": "1"}
    )
    listed = aptix.sessions(status="awaiting_approval", query="é &", limit=2, order="Created")
    assert [entry["SessionId"] for entry in listed] == ["a", "b", "c"]
    asked = {"Status": "awaiting_approval", "Query": "é &", "Order": "Created", "Limit": "2"}
    assert [dict(each.url.params) for each in seen] == [asked, {**asked, "After": "n&1"}]
    assert {(each.headers["Aptix-User"], each.headers["X-Own"]) for each in seen} == {("zo%C3%AB%2F~%252F", "1")}


def test_a_page_has_the_sessions_of_its_user_whom_a_back_end_looks_after(world: World, bed: Bed) -> None:
    name = new_id("zoë/")
    back_end = world.client(bed.direct)
    page = world.client(bed.direct, back_end.ticket({"User": name}))
    instruction, _ = script([["text", "Hi."]], after="First words\n")
    assert page.session("chat").turn(instruction).final()["PrimaryOutputText"] == "Hi."
    renamed = page.session("chat").rename("Über alles")
    assert (renamed["SessionId"], renamed["Title"], renamed["Turns"]) == ("chat", "Über alles", 1)
    acting = world.client(bed.direct, user=name)
    assert [entry["Title"] for entry in acting.sessions()] == ["Über alles"]
    for other in (world.client(bed.direct), world.client(bed.direct, user="bob")):
        with pytest.raises(AptixError) as caught:
            other.session("chat").get()
        assert caught.value.code == "session_not_found"
    guest = world.client(bed.direct, page.ticket({"Operations": ["Watch", "Read"]}))
    with pytest.raises(AptixError) as caught:
        guest.session("chat").turn("x").final()
    assert caught.value.details == {"Operation": "Execute"}

    user = back_end.user(name)
    assert user.get()["User"] == name
    assert user.revoke()["User"] == name
    with pytest.raises(AptixError) as caught:
        page.session("chat").get()
    assert caught.value.code == "credential_expired"
    while (receipt := user.erase()) and receipt["Sessions"]["Pending"]:
        pass
    assert receipt is None or receipt["Sessions"] == {"Erased": 1, "Pending": 0, "Failed": 0}
