"""What a session shows and does besides turns that go well: views, pauses, approvals, steers, cancelling, erasing."""

from __future__ import annotations

import json
import math
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any

import httpx
import pytest
from pydantic import BaseModel
from typing_extensions import assert_type

from aptix_edge import (
    Aptix,
    AptixConnectionError,
    AptixError,
    AsyncSession,
    AsyncTurn,
    MemoryStore,
    Session,
    Tool,
    ToolContext,
    format_json,
    tool,
)
from conftest import Bed, World, new_id, script

WRITTEN = '{"to":"Ann", "amount":1.10,"limit":1e2,"memo":"rent"}'


def code_of(caught: Any) -> str:
    return caught.value.code


def test_a_session_shows_its_turns_its_modes_and_all_that_is_kept_of_it_and_is_erased(aptix: Any) -> None:
    session = aptix.session(new_id())
    for turn_id in ("1", "2", "3"):
        instruction, _ = script([["text", f"Answer {turn_id}."]])
        assert session.turn(instruction, turn_id=turn_id).final()["PrimaryOutputText"] == f"Answer {turn_id}."
    assert session.get()["TurnCount"] == 3
    assert [entry["TurnId"] for entry in session.turns()] == ["1", "2", "3"]
    assert [entry["TurnId"] for entry in session.turns(after="2")] == ["3"]
    assert session.get_turn("2")["Outcome"]["Result"]["PrimaryOutputText"] == "Answer 2."
    assert len(session.trace("2")["ModelCalls"]) == 1
    assert session.modes()["History"] == []
    assert len(session.export()["Turns"]) == 3
    assert session.cancel("3")["Status"] == "completed"
    assert session.erase()["Turns"] == 3
    with pytest.raises(AptixError) as caught:
        session.get()
    error = caught.value
    assert (error.code, error.status, error.who_acts) == ("session_not_found", 404, "client")
    assert aptix.health()["Status"] == "ok"
    assert "session_not_found" in [entry["ErrorCode"] for entry in aptix.errors()]


def test_a_session_whose_receipt_was_lost_is_erased_and_one_that_never_was_is_not_found(world: World, bed: Bed) -> None:
    through = world.client(bed.proxied)
    for cut_after, has_receipt in ((-1, True), (-2, False)):
        session = through.session(new_id())
        session.turn(script([["text", "Hi."]])[0]).final()
        bed("plan", session=session.session_id, plan={"First": [{"cutAfter": cut_after, "cut": "reset"}]})
        assert (session.erase() is not None) == has_receipt
    with pytest.raises(AptixError) as caught:
        through.session(new_id("never")).erase()
    assert code_of(caught) == "session_not_found"


@pytest.mark.parametrize("first", [(503, "overloaded"), (500, "internal")])
def test_an_erasure_is_done_where_its_session_is_gone_after_its_object_began_again_or_failed(
    world: World, first: tuple[int, str]
) -> None:
    answers = [first, (404, "session_not_found")]

    def take(_: httpx.Request) -> httpx.Response:
        status, code = answers.pop(0)
        entry = {"ErrorCode": code, "Message": "No.", "SystemError": False}
        return httpx.Response(status, json={"Successful": False, "Errors": [entry]})

    transport = httpx.MockTransport(take)
    session = world.client("http://service", transport=transport, retry_failed_turns=1).session("s")
    assert session.erase() is None


def test_what_a_session_waits_for_can_be_looked_at_refused_cancelled_or_left_to_another(aptix: Any, bed: Bed) -> None:
    session = aptix.session(new_id())
    assert session.pending() is None, "there is no session yet"
    tools_json = json.dumps([{"type": "function", "name": "read"}])
    instruction, key = script([["call", "read", {}]], [["text", "Then not."]])
    paused = session.turn({"Instruction": instruction, "ToolsJson": tools_json}, turn_id="a")
    events = list(paused)
    assert [event.type for event in events] == ["result", "tool_calls"]
    with pytest.raises(AptixError) as caught:
        paused.final()
    assert code_of(caught) == "turn_awaiting_tools"
    assert caught.value.details == {"TurnId": "a", "ToolCalls": events[1].calls}
    pending = session.pending()
    assert (pending.turn_id, pending.calls) == ("a", events[1].calls)
    with pytest.raises(AptixError) as caught:
        session.turn("Another.").final()
    assert caught.value.details["ToolCalls"][0]["Name"] == "read"

    assert session.refuse_pending("The user went on.")["PrimaryOutputText"] == "Then not."
    assert "The user went on." in bed("told", script=key)["outputs"][0]
    assert session.pending() is None
    assert session.refuse_pending("Again.") is None

    instruction, _ = script([["call", "read", {}]])
    turn = session.turn(instruction, turn_id="b")
    assert [event.type for event in turn] == ["result", "tool_calls"]
    assert session.attach("b").cancel()["Status"] == "aborted"


def test_tools_that_are_unknown_wrong_slow_or_asked_for_too_often_are_told_to_the_model(world: World, bed: Bed) -> None:
    aptix = world.client(bed.direct)
    ended = threading.Event()

    @tool
    def read(path: str, lines: int = 3) -> list[str]:
        """Reads a file."""
        return [path] * lines

    @tool(timeout_s=0.05)
    def slow(context: ToolContext) -> None:
        context.given_up.wait(10)
        ended.set()

    class WordlessError(Exception):
        def __str__(self) -> str:
            raise TypeError("no words")

    def wordless() -> None:
        raise WordlessError

    calls = [
        ["call", "read", {"path": "a"}],
        ["call", "read", {"path": 1}],
        ["call", "read", ["[1"]],
        ["call", "slow", {}],
        ["call", "wordless", {}],
    ]
    instruction, key = script([*calls], [["text", "Well."]])
    assert aptix.session(new_id()).turn(instruction, tools=[read, slow, wordless]).final()
    outputs = bed("told", script=key)["outputs"]
    assert outputs[0] == '["a", "a", "a"]'
    assert "path: Input should be a valid string" in outputs[1]
    assert "error" in outputs[2]
    assert "took longer than 0.05 s" in outputs[3]
    assert "WordlessError" in outputs[4]
    assert ended.wait(5), "the tool was told that nobody waits any more"

    instruction, _ = script(*([["call", "read", {"path": "a"}]] for _ in range(3)))
    with pytest.raises(AptixError) as caught:
        aptix.session(new_id()).turn(instruction, tools=[read], max_pauses=2).final()
    assert code_of(caught) == "turn_awaiting_tools"


def test_however_much_several_tools_give_the_turn_goes_on_and_no_time_is_endless_for_a_timer(
    world: World, bed: Bed
) -> None:
    @tool(timeout_s=math.inf)
    def much() -> str:
        return "漢" * 1_500_000

    instruction, key = script([["call", "much", {}]] * 3, [["text", "Well."]])
    aptix = world.client(bed.direct, timeout_s=math.inf, idle_timeout_s=math.inf)
    assert aptix.session(new_id()).turn(instruction, tools=[much], deadline_s=math.inf).final()
    outputs = bed("told", script=key)["outputs"]
    assert ["too long" in output for output in outputs] == [False, True, True]


def test_a_turn_left_in_the_middle_is_no_longer_watched_and_says_so(aptix: Any) -> None:
    session = aptix.session(new_id())
    turn = session.turn(script([["text", "One ", "two."]])[0])
    events = iter(turn)
    next(events)
    events.close()  # type: ignore[attr-defined]
    with pytest.raises(RuntimeError, match="Attach to it"):
        turn.final()
    with pytest.raises(RuntimeError, match="being read already"):
        next(iter(turn))
    assert session.attach(turn.turn_id).final()["PrimaryOutputText"] == "One two."


def test_progress_comes_where_it_was_asked_for(aptix: Any) -> None:
    instruction, _ = script([["call", "look", {"q": "a"}]], [["text", "Done."]])
    events = list(aptix.session(new_id()).turn(instruction, progress=True))
    kinds = [event.progress["Kind"] for event in events if event.type == "progress"]
    assert kinds.count("model_call") == 2
    assert "server_tool" in kinds


def test_a_turn_goes_on_without_anybody_and_is_read_later(world: World, bed: Bed) -> None:
    aptix = world.client(bed.direct)
    gate = new_id("gate")
    instruction, _ = script([["text", {"Gate": gate}, "Later."]])
    turn = aptix.session(new_id()).turn(instruction)
    stored = turn.detach()
    assert stored["Status"] == "running"
    # Whoever leaves it once more, or has come to it, is not held either.
    attached = aptix.session(turn.session_id).attach(turn.turn_id)
    assert [turn.detach(), attached.detach()] == [stored, stored]
    bed("open", gate=gate)
    assert turn.final()["PrimaryOutputText"] == "Later."
    assert attached.detach()["PrimaryOutputText"] == "Later."
    again = aptix.session(turn.session_id).turn(instruction, turn_id=turn.turn_id)
    assert again.detach()["PrimaryOutputText"] == "Later.", "one that has ended gives its outcome"


def test_a_steer_is_in_the_turn_once_and_a_turn_that_has_ended_takes_none(world: World, bed: Bed) -> None:
    gate = new_id("gate")
    session_id = new_id()
    instruction, key = script([["text", "One ", {"Gate": gate}, "two."]])
    turn = world.client(bed.proxied).session(session_id).turn(instruction)
    events = iter(turn)
    assert next(events).delta == "One "
    # The first answer is lost: the same steer is sent again.
    bed("plan", session=session_id, plan={"Under": ["/steer"], "First": [{"cutAfter": -2, "cut": "reset"}]})
    assert turn.steer("In French.", interrupt=False)["State"] == "pending"
    bed("open", gate=gate)
    types = [event.type for event in events]
    assert types[-1] == "result"
    assert "discard" in types
    [steered] = bed("told", script=key)["steers"]
    assert steered.endswith("In French.")
    assert [
        steer["State"] for steer in world.client(bed.direct).session(session_id).get_turn(turn.turn_id)["Steers"]
    ] == ["delivered"]
    with pytest.raises(AptixError) as caught:
        turn.steer({"Instruction": "Too late."})
    assert code_of(caught) == "turn_ended"


def test_words_for_a_turn_that_has_ended_are_the_next_turn_where_that_is_wanted(world: World, bed: Bed) -> None:
    runs: list[str] = []

    def look_up(word: str) -> str:
        runs.append(word)
        return f"{word}!"

    session = world.client(bed.proxied).session(new_id())
    first, _ = script([["text", "First."]])
    turn = session.turn({"Instruction": first, "SolutionContextText": "An orchard."}, tools=[look_up])
    turn.final()
    words, key = script([["call", "look_up", {"word": "pear"}]], [["text", "Second."]])
    turn_id = new_id("next")
    following = turn.steer(words, steer_id=turn_id, if_ended="new_turn")
    assert following.turn_id == turn_id
    assert following.final()["PrimaryOutputText"] == "Second.", "it has the tools of the one before"
    assert (runs, bed("told", script=key)["outputs"]) == (["pear"], ['"pear!"'])
    sent = [json.loads(each["body"]) for each in bed("requests", session=session.session_id) if each["body"]]
    [asked] = [body for body in sent if body.get("TurnId") == turn_id and "Instruction" in body]
    assert (asked["Instruction"], asked["SolutionContextText"]) == (words, "An orchard.")
    assert [entry["TurnId"] for entry in session.turns()] == [turn.turn_id, turn_id]

    gate = new_id("gate")
    running = session.turn(script([["text", "One ", {"Gate": gate}, "two."]])[0])
    events = iter(running)
    assert next(events).delta == "One "
    assert running.steer("In French.", if_ended="new_turn")["State"] == "pending", "one that runs takes them itself"
    bed("open", gate=gate)
    assert [event.type for event in events][-1] == "result"


def test_a_deadline_ends_the_watching_on_time_and_the_turn_runs_on(world: World, bed: Bed) -> None:
    gate = new_id("gate")
    session_id = new_id()
    instruction, _ = script([["text", "One ", {"Gate": gate}, "two."]])
    session = world.client(bed.direct).session(session_id)
    # A stream that goes on, then one that is silent from a place within the first piece of text on.
    for at, (client, text) in enumerate(
        (world.client(url), text) for url, text in ((bed.direct, "One "), (bed.proxied, ""))
    ):
        bed("plan", session=session_id, plan={"Each": {"cutAfter": 10, "cut": "silence"}})
        begin = client.session(session_id)
        turn = begin.attach("t", deadline_s=1.2) if at else begin.turn(instruction, turn_id="t", deadline_s=1.2)
        began = time.monotonic()
        with pytest.raises(AptixConnectionError, match=r"longer than 1\.2 s") as caught:
            turn.final()
        assert 1.1 < time.monotonic() - began < 6
        assert (code_of(caught), caught.value.position, turn.text) == ("connection_lost", turn.position, text)
        assert session.get_turn("t")["Status"] == "running"
    bed("open", gate=gate)
    assert session.attach("t", deadline_s=30).final()["PrimaryOutputText"] == "One two."

    # Attempts, and the waits between them, count as well.
    bed("plan", session=session_id, plan={"Each": {"cutAfter": -1, "cut": "reset"}})
    lost = world.client(bed.proxied, retry_delay_s=60).session(session_id).turn("Hello.", deadline_s=0.2)
    began = time.monotonic()
    with pytest.raises(AptixConnectionError, match=r"longer than 0\.2 s"):
        lost.final()
    assert time.monotonic() - began < 3


def test_a_deadline_counts_the_wait_for_a_connection_of_ones_own_client(bed: Bed) -> None:
    with (
        httpx.Client(limits=httpx.Limits(max_connections=1)) as http_client,
        Aptix(bed.direct, http_client=http_client) as aptix,
        aptix.session(new_id()).turn(script([["text", "One ", "two."]])[0]) as turn,
    ):
        events = iter(turn)
        next(events)
        # Without it, the test would wait for itself.
        ending = threading.Timer(8, turn.close)
        ending.start()
        began = time.monotonic()
        with pytest.raises(AptixConnectionError, match=r"longer than 0\.2 s"):
            aptix.session(new_id()).turn("Hello.", deadline_s=0.2).final()
        ending.cancel()
        assert time.monotonic() - began < 6


def test_a_deadline_counts_the_tools_whose_results_are_kept_for_who_attaches(world: World, bed: Bed) -> None:
    runs: list[str] = []

    def slow() -> str:
        runs.append("slow")
        time.sleep(1.5)
        return "done"

    tools = [Tool("slow", slow, timeout_s=30, repeatable=True)]
    session = world.client(bed.direct, store=MemoryStore()).session(new_id())
    instruction, key = script([["call", "slow", {}]], [["text", "At last."]])
    turn = session.turn(instruction, tools=tools, deadline_s=1.0)
    with pytest.raises(AptixConnectionError, match="longer than"):
        turn.final()
    assert session.get_turn(turn.turn_id)["Status"] == "awaiting_tools"
    assert session.attach(turn.turn_id, tools=tools).final()["PrimaryOutputText"] == "At last."
    assert bed("told", script=key)["outputs"] == ['"done"']
    # A thread is waited for, a task is not.
    assert len(runs) == (1 if world.name == "sync" else 2)


def test_every_response_tells_the_id_by_which_the_log_has_its_request(bed: Bed) -> None:
    with Aptix(bed.direct) as aptix:
        session = aptix.session(new_id())
        turn = session.turn(script([["text", "Hi."]])[0])
        assert turn.request_id is None
        turn.final()
        # The log comes after the response.
        deadline = time.monotonic() + 10
        while not bed("logged", id=turn.request_id):
            assert time.monotonic() < deadline, "the request is in the log"
            time.sleep(0.01)
        answered = aptix.with_response(session.fork, after_turn_id=turn.turn_id)
        assert (answered.data.result["Turns"], answered.status) == (1, 201)
        assert answered.request_id == answered.headers["Aptix-Request-Id"]
        ids = {answered.request_id, turn.request_id, aptix.with_response(session.get).request_id}
        assert len(ids - {None}) == 3
        assert aptix.with_response(lambda: list(session.turns())).data[0]["TurnId"] == turn.turn_id
        with pytest.raises(ValueError, match="sends a request"):
            aptix.with_response(lambda: 1)


def test_a_fork_goes_on_from_a_turn_and_is_made_once_where_its_answer_is_lost(world: World, bed: Bed) -> None:
    aptix = world.client(bed.proxied)
    session = aptix.session(new_id("forked"))
    for turn_id in ("1", "2", "3"):
        session.turn(script([["text", f"Answer {turn_id}."]])[0], turn_id=turn_id).final()
    bed(
        "plan",
        session=session.session_id,
        plan={"Under": ["/fork"], "First": [{"cutAfter": -1, "cut": "reset"}, {"cutAfter": -2, "cut": "reset"}]},
    )
    fork = session.fork(after_turn_id="2")
    sent = [each["body"] for each in bed("requests", session=session.session_id) if each["url"].endswith("/fork")]
    assert (len(sent), len(set(sent))) == (3, 1), "each repetition is the same request"
    made = {"ParentSessionId": session.session_id, "AfterTurnId": "2", "Turns": 2}
    assert fork.result == {"SessionId": fork.session_id, **made}
    assert fork.get()["Parent"] == {"SessionId": session.session_id, "TurnId": "2"}
    assert fork.attach("2").final()["PrimaryOutputText"] == "Answer 2."
    assert fork.turn(script([["text", "Otherwise."]])[0], turn_id="3").final()["PrimaryOutputText"] == "Otherwise."
    assert session.attach("3").final()["PrimaryOutputText"] == "Answer 3.", "the parent is as it was"

    named = new_id("named")
    assert [session.fork(named).result["AfterTurnId"] for _ in range(2)] == ["3", "3"]
    for again, code in (
        ({"session_id": named, "after_turn_id": "1"}, "session_exists"),
        ({"after_turn_id": "none"}, "turn_not_found"),
        ({"conversation_context_id": "none"}, "context_not_found"),
    ):
        with pytest.raises(AptixError) as caught:
            session.fork(**again)
        assert code_of(caught) == code


def test_lines_of_a_turn_are_for_a_page_its_failure_included(aptix: Any) -> None:
    session = aptix.session(new_id())
    read = [json.loads(line) for line in session.turn(script([["text", "One ", "two."]])[0]).lines()]
    assert [event["type"] for event in read] == ["text", "text", "result"]
    assert read[2]["response"]["PrimaryOutputText"] == "One two."
    [failed] = [json.loads(line) for line in session.turn(" ").lines()]
    assert (failed["type"], failed["error"]["code"]) == ("error", "empty_turn")
    assert failed["error"]["requestId"]


def test_one_submission_without_a_loop_streamed_or_in_one_piece(aptix: Any) -> None:
    ids = {"SessionId": new_id(), "TurnId": "1"}
    instruction, _ = script([["call", "read", {}]], [["text", "It is ", "read."]])
    tools_json = json.dumps([{"type": "function", "name": "read"}])
    paused = aptix.execute({**ids, "Instruction": instruction, "ToolsJson": tools_json})
    assert paused["Kind"] == "client_tool_continuation"
    results = [{"ToolCallId": paused["ToolCalls"][0]["ToolCallId"], "ExecutionMs": 1, "ResultJson": "1"}]
    events = list(aptix.stream({**ids, "ToolResults": results}))
    assert [event.type for event in events] == ["text", "text", "result"]
    rest = list(aptix.stream({**ids, "ToolResults": results}, position=events[0].position))
    assert [event.type for event in rest] == ["text", "result"]
    assert rest[0].delta == "read."
    whole = {**ids, "TurnId": "2", "Instruction": script([["text", "Whole."]])[0], "Streaming": False}
    assert [event.type for event in aptix.stream(whole)] == ["result"]


def test_every_error_has_the_id_by_which_the_log_of_the_service_has_its_request(aptix: Any, bed: Bed) -> None:
    session = aptix.session(new_id())
    session.turn(script([["text", "Hi."]])[0], turn_id="1").final()
    ids: set[str] = set()
    for ask in (
        aptix.session(new_id("nowhere")).get,
        session.turn(" ").final,
        session.attach("nowhere").final,
        lambda: session.fork(session.session_id),
    ):
        with pytest.raises(AptixError) as caught:
            ask()
        assert caught.value.request_id
        ids.add(caught.value.request_id)
        deadline = time.monotonic() + 10
        while not (lines := bed("logged", id=caught.value.request_id)):
            assert time.monotonic() < deadline, "the request is in the log"
        assert caught.value.code in json.dumps(lines)
    assert len(ids) == 4


def test_errors_of_a_request_name_every_fault_with_its_place(aptix: Any) -> None:
    with pytest.raises(AptixError) as caught:
        aptix.session(new_id()).turn({"Instruction": 1, "Reop": "x"}).final()
    error = caught.value
    assert (error.code, error.path, len(error.errors)) == ("invalid_field", "/Instruction", 2)
    assert error.errors[1].get("Details", {})["DidYouMean"] == "Repo"


def test_files_that_a_turn_has_made_are_downloaded_and_those_of_the_turn_reach_the_model(
    aptix: Any, tmp_path: Any
) -> None:
    from aptix_edge import artifact, image

    (tmp_path / "a.md").write_text("# Ä\n", "utf-8")
    pixel = b"\x89PNG\r\n\x1a\n" + bytes(20)
    instruction, _ = script([["call", "print", {}]], [["text", "Printed."]])
    request = {
        "Instruction": instruction,
        "InputArtifacts": [artifact(tmp_path / "a.md")],
        "ClipboardImages": [image(pixel)],
    }
    final = aptix.session(new_id()).turn(request).final()
    [file] = final["Files"]
    assert aptix.download(file) == "id;sum\n1;2ä\n".encode()
    with pytest.raises(AptixError) as caught:
        aptix.download(file["Url"].replace("?", "?x"))
    assert code_of(caught) == "not_found"


def ran(aptix: Any, bed: Bed, name: str, decide: Any) -> tuple[list[str], str]:
    """What the tool was sent, as text, and what the model was told."""
    session_id = new_id("approval")
    instruction, key = script([["call", name, [WRITTEN]]], [["text", "Done."]])
    aptix.session(session_id).turn(instruction, on_approval=decide).final()
    sent = [
        each.split('"Arguments":')[1].split(',"SessionId"')[0] for each in bed("ran", tool=name, session=session_id)
    ]
    return sent, bed("told", script=key)["outputs"][0]


def test_who_decides_has_the_text_that_runs_and_what_is_no_edit_sends_no_arguments(aptix: Any, bed: Bed) -> None:
    seen: list[Any] = []

    def no_edits(how: int) -> Any:
        def decide(request: Any, context: ToolContext) -> Any:
            seen.append((request["ArgumentsJson"], context.arguments_json, request.get("Message")))
            return [
                True,
                {"Approved": True, "Arguments": request["Arguments"]},
                {"Approved": True, "ArgumentsJson": request["ArgumentsJson"]},
                {"Approved": True, "ArgumentsJson": format_json(request["ArgumentsJson"])},
            ][how]

        return decide

    for how in range(4):
        # Arguments are refused where the tool permits no edit.
        assert ran(aptix, bed, "send_mail", no_edits(how))[0] == [WRITTEN]
        assert ran(aptix, bed, "pay", no_edits(how))[0] == [WRITTEN]
    assert {each[:2] for each in seen} == {(WRITTEN, WRITTEN)}
    assert "It leaves the house." in [each[2] for each in seen]


def test_an_edit_changes_what_it_names_and_a_text_that_is_no_json_refuses_the_call(aptix: Any, bed: Bed) -> None:
    edited = WRITTEN.replace("rent", "March")
    assert ran(aptix, bed, "pay", lambda *_: {"Approved": True, "ArgumentsJson": edited})[0] == [edited]

    def in_place(request: Any, _: ToolContext) -> Any:
        request["Arguments"]["to"] = "Bob"
        return {"Approved": True, "Arguments": request["Arguments"]}

    [sent] = ran(aptix, bed, "pay", in_place)[0]
    assert json.loads(sent) == {"to": "Bob", "amount": 1.1, "limit": 100, "memo": "rent"}
    for wrong in ('{"to":', "NaN", ""):
        sent, told = ran(aptix, bed, "pay", lambda *_, wrong=wrong: {"Approved": True, "ArgumentsJson": wrong})
        assert sent == []
        assert "The user refused this call" in told
    sent, told = ran(aptix, bed, "send_mail", lambda *_: {"Approved": False, "Reason": "wrong recipient"})
    assert sent == []
    assert "wrong recipient" in told


def test_a_decision_that_the_service_refuses_is_asked_for_again_and_the_same_one_twice_is_an_error(
    aptix: Any, bed: Bed
) -> None:
    twice = '{"to":"Ann","to":"Bob"}'
    told: list[Any] = []

    def decide(request: Any, _: ToolContext) -> Any:
        told.append(request.get("Refusal"))
        return True if told[-1] else {"Approved": True, "ArgumentsJson": twice}

    assert ran(aptix, bed, "pay", decide)[0] == [WRITTEN]
    assert [bool(each) for each in told] == [False, True]
    assert "twice" in told[1]

    session = aptix.session(new_id())
    instruction, _ = script([["call", "pay", [WRITTEN]]], [["text", "Done."]])
    turn = session.turn(instruction, on_approval=lambda *_: {"Approved": True, "ArgumentsJson": twice})
    with pytest.raises(AptixError) as caught:
        turn.final()
    assert code_of(caught) == "invalid_field"
    asked: list[Any] = []
    session.attach(turn.turn_id, on_approval=lambda request, _: asked.append(request) is None).final()
    assert len(asked) == 1


def test_who_decides_otherwise_each_time_is_asked_as_often_as_a_turn_may_pause(aptix: Any, bed: Bed) -> None:
    asked: list[Any] = []

    def otherwise(request: Any, _: ToolContext) -> Any:
        asked.append(request)
        assert len(asked) < 9
        return {"Approved": True, "ArgumentsJson": f'{{"to":"Ann","to":"{len(asked)}"}}'}

    session = aptix.session(new_id())
    instruction, _ = script([["call", "pay", [WRITTEN]]], [["text", "Done."]])
    turn = session.turn(instruction, on_approval=otherwise, max_pauses=3)
    with pytest.raises(AptixError) as caught:
        turn.final()
    assert code_of(caught) == "invalid_field"
    assert len(asked) == 3
    session.attach(turn.turn_id, on_approval=lambda *_: True).final()


def test_a_decision_outlives_a_reload_and_a_question_that_was_cut_off_is_asked_again(world: World, bed: Bed) -> None:
    store = MemoryStore()
    session_id = new_id()
    instruction, _ = script([["call", "send_mail", {"to": "Ann"}]], [["text", "Done."]])
    asked: list[int] = []

    def decide(*_: Any) -> bool:
        asked.append(1)
        return True

    first = world.client(bed.direct, store=store).session(session_id).turn(instruction, on_approval=decide)
    events = iter(first)
    for event in events:
        if event.type == "tool_calls":
            # What a process leaves behind that ends in the middle of the question.
            store.update(f"aptix:{session_id}/{first.turn_id}", {event.calls[0]["ToolCallId"]: None})
            break
    events.close()  # type: ignore[attr-defined]
    session = world.client(bed.direct, store=store).session(session_id)
    second = iter(session.attach(first.turn_id, on_approval=decide))
    while next(second).type != "tool_results":
        pass
    second.close()  # type: ignore[attr-defined]
    assert session.attach(first.turn_id, tools=[Tool("none", decide)]).final()
    assert len(asked) == 1
    assert len(bed("ran", tool="send_mail", session=session_id)) == 1


def test_any_request_can_be_made_and_results_be_sent_without_watching(world: World, bed: Bed) -> None:
    aptix = world.client(bed.direct)
    said = script([["call", "read", {}]], [["text", "It is there."]])[0]
    tools_json = json.dumps([{"type": "function", "name": "read"}])
    session = aptix.session(new_id(), headers={"traceparent": f"00-{'7' * 32}-{'7' * 16}-01"})
    turn = session.turn({"Instruction": said, "ToolsJson": tools_json})
    with pytest.raises(AptixError) as waits:
        turn.final()
    [call] = waits.value.details["ToolCalls"]
    results = [{"ToolCallId": call["ToolCallId"], "ExecutionMs": 1, "ResultJson": "1"}]
    ids = {"SessionId": session.session_id, "TurnId": turn.turn_id}
    stored = aptix.detach({**ids, "ToolResults": results})
    assert stored.get("Status", "completed") in ("running", "completed")
    assert session.attach(turn.turn_id).final()["PrimaryOutputText"] == "It is there."
    path = f"/sessions/{session.session_id}/turns"
    assert [each["TurnId"] for each in aptix.request("GET", path)["Turns"]] == [turn.turn_id]
    assert aptix.request("GET", path, query={"After": turn.turn_id})["Turns"] == []
    entry = aptix.request("POST", f"{path}/{turn.turn_id}/cancel", headers={"X-Own": "1"})
    assert entry["Status"] == "completed"


def test_who_detaches_waits_no_longer_for_a_dead_connection_than_who_reads(world: World) -> None:
    silences: list[float] = []

    def take(request: httpx.Request) -> httpx.Response:
        silences.append(request.extensions["timeout"]["read"])
        return httpx.Response(202, json={"Successful": True, "Result": {"Status": "running"}})

    aptix = world.client("http://service", transport=httpx.MockTransport(take), idle_timeout_s=7)
    aptix.session("s").turn("Go on.").detach()
    aptix.detach({"SessionId": "s", "TurnId": "t", "ToolResults": []})
    assert silences == [7, 7]


def test_an_async_tool_of_the_synchronous_client_is_refused_before_anything_is_sent() -> None:
    async def look() -> int:
        return 1

    async def decide(*_: object) -> bool:
        return True

    session = Aptix("http://service.invalid").session("s")
    with pytest.raises(TypeError, match="look: an `async def` is for `AsyncAptix`"):
        session.turn("Hello", tools=[look])
    with pytest.raises(TypeError, match="on_approval"):
        session.attach("t", on_approval=decide)


def test_text_that_comes_twice_in_a_stream_counts_once(world: World) -> None:
    def event(at: int, delta: str) -> str:
        data = json.dumps({"Segment": 0, "Delta": delta})
        return f"event: output_text.delta\nid: 0.{at}\ndata: {data}\n\n"

    final = {"Kind": "final", "SessionId": "s", "TurnId": "t", "PrimaryOutputText": "abcdef"}
    end = json.dumps({"Successful": True, "Result": final, "Errors": [], "Warnings": []})
    body = event(3, "abc") + event(3, "abc") + event(6, "def") + event(3, "abc") + f"event: result\ndata: {end}\n\n"
    answer = httpx.Response(200, text=body, headers={"Content-Type": "text/event-stream"})
    aptix = world.client("http://service", transport=httpx.MockTransport(lambda _: answer))
    events = list(aptix.session("s").turn("Hello", turn_id="t"))
    assert "".join(each.delta for each in events if each.type == "text") == "abcdef"


def test_a_text_is_read_in_a_time_in_proportion_to_its_length(world: World) -> None:
    delta = "x" * 100
    data = json.dumps({"Segment": 0, "Delta": delta})

    def answer(count: int) -> httpx.Response:
        final = {"Kind": "final", "SessionId": "s", "TurnId": "t", "PrimaryOutputText": delta * count}
        end = json.dumps({"Successful": True, "Result": final, "Errors": [], "Warnings": []})
        deltas = "".join(f"event: output_text.delta\nid: 0.{at}\ndata: {data}\n\n" for at in range(1, count + 1))
        body = f"{deltas}event: result\ndata: {end}\n\n"
        return httpx.Response(200, text=body, headers={"Content-Type": "text/event-stream"})

    def seconds(count: int) -> float:
        given = answer(count)
        aptix = world.client("http://service", transport=httpx.MockTransport(lambda _: given))
        turn = aptix.session("s").turn("Hello", turn_id="t")
        began = time.process_time()
        turn.final()
        spent = time.process_time() - began
        assert turn.text == delta * count
        return spent

    # In turns, so that a machine that is slow for a while is so for both; the least is what the work itself takes.
    tries = [(seconds(10_000), seconds(40_000)) for _ in range(3)]
    # To join the growing text with each piece takes sixteen times as long for four times as much.
    assert min(whole for _, whole in tries) < 8 * min(quarter for quarter, _ in tries)


def test_results_of_tools_are_kept_by_user_and_a_store_that_fails_at_the_end_takes_no_answer_away(world: World) -> None:
    def told(result: Any, errors: list[Any] | None = None) -> httpx.Response:
        body = {"Successful": not errors, "Result": result, "Errors": errors or [], "Warnings": []}
        return httpx.Response(400 if errors else 200, json=body)

    call = {"ToolCallId": "c", "Name": "look", "ArgumentsJson": "{}"}
    pause = {"Kind": "client_tool_continuation", "SessionId": "s", "TurnId": "t", "ToolCalls": [call]}
    refusal = {"ErrorCode": "invalid_field", "Message": "No.", "SystemError": False}
    sent: list[str] = []

    def take(request: httpx.Request) -> httpx.Response:
        results = json.loads(request.content).get("ToolResults")
        if not results:
            return told(pause)
        sent.append(results[0]["ResultJson"])
        return told(None, [refusal])  # They are kept on.

    store = MemoryStore()
    for user in ("ann", "bob", None):
        aptix = world.client("http://service", transport=httpx.MockTransport(take), store=store, user=user)
        look = Tool("look", partial(str, f"of {user}"))
        with pytest.raises(AptixError, match="No"):
            aptix.session("s").turn("Hello", turn_id="t", tools=[look]).final()
    assert sent == ['"of ann"', '"of bob"', '"of None"']

    class Broken(MemoryStore):
        def get(self, key: str) -> Any:
            raise OSError(key)

    done = told({"Kind": "final", "SessionId": "s", "TurnId": "t", "PrimaryOutputText": "Done."})
    aptix = world.client("http://service", transport=httpx.MockTransport(lambda _: done), store=Broken())
    assert aptix.session("s").turn("Hello").final()["PrimaryOutputText"] == "Done."


@dataclass
class Place:
    name: str


class Order(BaseModel):
    number: int
    places: list[Place]
    note: str | None = None


def test_an_answer_has_the_form_that_the_turn_asks_for(aptix: Any) -> None:
    session = aptix.session(new_id())
    instruction, _ = script([["text", '{"number":7,"places":[{"name":"x"}],"note":null}']])
    turn = session.turn(instruction, output=Order)
    assert turn.output() == Order(number=7, places=[Place("x")])
    turn_id = turn.turn_id
    told = session.export()["Turns"][0]["OutputSchema"]
    assert told["required"] == ["number", "places", "note"], "a service holds an answer to whole objects alone"
    assert told["additionalProperties"] is False
    assert told["$defs"]["Place"]["additionalProperties"] is False
    assert session.attach(turn_id, output=Order).output().places == [Place("x")]
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    instruction, _ = script([["text", '{"a":1}']])
    assert session.turn(instruction, output=schema).output() == {"a": 1}
    assert session.export()["Turns"][1]["OutputSchema"] == schema
    for text in ("I can't say.", '{"number":"seven"}'):
        instruction, _ = script([["text", text]])
        with pytest.raises(ValueError):  # noqa: PT011 - of pydantic or of json
            session.turn(instruction, output=Order).output()


def judged_by_pyright(session: Session, other: AsyncSession) -> None:
    assert_type(session.turn("x", output=Order).output(), Order)
    assert_type(session.attach("t", output=Place).output(), Place)
    assert_type(session.turn("x", output={"type": "object"}).output(), Any)
    assert_type(other.turn("x", output=Order), AsyncTurn[Order])
