"""What an event loop brings: cancelling, `async with`, tools that wait, plain tools that do not hold up the loop."""

from __future__ import annotations

import asyncio
import gc
import inspect
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import Any

import anyio
import httpx
import pytest

import aptix_edge
from aptix_edge import Aptix, AptixError, AsyncAptix, AsyncTurn, MemoryStore, TextEvent, Tool, ToolContext, Turn
from aptix_edge._async_io import AsyncIo
from conftest import Bed, new_id, script

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["asyncio", "trio"])
def anyio_backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


async def test_cancelling_stops_the_watching_and_where_it_is_to_the_turn(bed: Bed) -> None:
    for cancels in (False, True):
        gate = new_id("gate")
        async with AsyncAptix(bed.direct) as aptix:
            session = aptix.session(new_id())
            turn = session.turn(script([["text", "One ", {"Gate": gate}, "two."]])[0], cancel_on_abort=cancels)
            with anyio.CancelScope() as scope:
                async for event in turn:
                    if event.type == "text":
                        scope.cancel()
            assert turn.text == "One "
            # The cancellation was that scope's alone.
            with pytest.raises(RuntimeError, match="Attach to it"):
                await turn.final()
            assert (await session.get_turn(turn.turn_id))["Status"] == ("aborted" if cancels else "running")
            bed("open", gate=gate)
            if not cancels:
                assert (await session.attach(turn.turn_id).final())["PrimaryOutputText"] == "One two."


async def test_what_came_is_given_with_the_head_of_its_response_to_each_task_its_own(bed: Bed) -> None:
    ids: dict[str, str | None] = {}
    async with AsyncAptix(bed.direct) as aptix, anyio.create_task_group() as tasks:

        async def ask(name: str) -> None:
            session = aptix.session(new_id(name))
            final = await aptix.with_response(session.turn(script([["text", name]])[0]).final)
            assert final.data["PrimaryOutputText"] == name
            answered = await aptix.with_response(session.get_turn, final.data["TurnId"])
            assert (answered.status, answered.data["SessionId"]) == (200, session.session_id)
            ids[name], ids[f"{name}'s turn"] = answered.request_id, final.request_id

        for name in ("one", "two", "three"):
            tasks.start_soon(ask, name)
    assert len(set(ids.values()) - {None}) == 6


async def test_async_with_ends_the_watching_with_its_block(bed: Bed) -> None:
    async with AsyncAptix(bed.direct) as aptix:
        turn = aptix.session(new_id()).turn(script([["text", "One ", "two."]])[0])
        async with turn:
            async for _ in turn:
                break
        with pytest.raises(RuntimeError, match="Attach to it"):
            await turn.final()
        assert turn._repr_markdown_() == "One "
        async with aptix.session(turn.session_id).attach(turn.turn_id) as again:
            await again.final()
            assert again._repr_markdown_() == "One two."


async def test_another_task_waits_for_a_turn_that_is_being_read_or_ends_its_watching(bed: Bed) -> None:
    async with AsyncAptix(bed.direct) as aptix:
        for ends in (False, True):
            gate = new_id("gate")
            turn = aptix.session(new_id()).turn(
                script([["text", "One ", {"Gate": gate}, "two."]])[0], cancel_on_abort=True
            )
            texts: list[str] = []
            came = anyio.Event()

            async def read(turn: AsyncTurn = turn, texts: list[str] = texts, came: anyio.Event = came) -> None:
                async for event in turn:
                    if isinstance(event, TextEvent):
                        texts.append(event.delta)
                        came.set()
                        # A reader is not always found waiting for the next event.
                        await anyio.sleep(0.05)

            async with anyio.create_task_group() as tasks:
                tasks.start_soon(read)
                await came.wait()
                if ends:
                    await anyio.sleep(0.2)
                    await turn.close()
                else:
                    await anyio.to_thread.run_sync(partial(bed, "open", gate=gate))
                    assert (await turn.final())["PrimaryOutputText"] == "One two."
            assert texts == (["One "] if ends else ["One ", "two."])
            if ends:
                with pytest.raises(RuntimeError, match="Attach to it"):
                    await turn.final()
                again = aptix.session(turn.session_id).attach(turn.turn_id)
                await anyio.to_thread.run_sync(partial(bed, "open", gate=gate))
                assert (await again.final())["PrimaryOutputText"] == "One two.", "it runs on"
        # Who reads cannot wait for itself.
        turn = aptix.session(new_id()).turn(script([["text", "One ", "two."]])[0])
        async with turn:
            async for _ in turn:
                with pytest.raises(RuntimeError, match="Attach to it"):
                    await turn.final()
                break


def test_another_thread_waits_for_a_turn_that_is_being_read_or_ends_its_watching(bed: Bed) -> None:
    with Aptix(bed.direct) as aptix, ThreadPoolExecutor(1) as pool:
        for ends in (False, True):
            gate = new_id("gate")
            turn = aptix.session(new_id()).turn(script([["text", "One ", {"Gate": gate}, "two."]])[0])
            came = threading.Event()

            def read(turn: Turn = turn, came: threading.Event = came) -> list[str]:
                return [event.delta for event in turn if isinstance(event, TextEvent) and not came.set()]

            texts = pool.submit(read)
            came.wait(10)
            time.sleep(0.2)
            if ends:
                turn.close()
            opening = threading.Timer(0.2, partial(bed, "open", gate=gate))
            opening.start()
            if ends:
                with pytest.raises(RuntimeError, match="Attach to it"):
                    turn.final()
            else:
                assert turn.final()["PrimaryOutputText"] == "One two."
            assert texts.result(10) == (["One "] if ends else ["One ", "two."])
            opening.join()


TEXT = b'event: output_text.delta\nid: 0.3\ndata: {"Segment":0,"Delta":"One"}\n\n'


async def test_a_reader_that_comes_back_while_another_task_closes_the_turn_is_at_its_end() -> None:
    came, closing, back = anyio.Event(), anyio.Event(), anyio.Event()

    class SlowToClose(httpx.AsyncByteStream):
        def __init__(self) -> None:
            self._pieces = [TEXT]

        def __aiter__(self) -> Any:
            return self

        async def __anext__(self) -> bytes:
            if not self._pieces:
                await anyio.sleep_forever()
            return self._pieces.pop()

        async def aclose(self) -> None:
            closing.set()
            with anyio.move_on_after(5):
                await back.wait()

    headers = {"Content-Type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=SlowToClose()))
    async with (
        httpx.AsyncClient(transport=transport) as http_client,
        anyio.create_task_group() as tasks,
    ):
        turn = AsyncAptix("http://service", http_client=http_client).session("s").turn("Hello")

        async def read() -> None:
            async for _ in turn:
                came.set()
                await closing.wait()
            back.set()

        tasks.start_soon(read)
        await came.wait()
        await turn.close()
        assert back.is_set()
        with pytest.raises(RuntimeError, match="Attach to it"):
            await turn.final()


def test_a_reader_that_comes_back_while_another_thread_closes_the_turn_is_at_its_end() -> None:
    came, closing, back = threading.Event(), threading.Event(), threading.Event()

    class SlowToClose(httpx.SyncByteStream):
        def __iter__(self) -> Any:
            yield TEXT
            raise AssertionError("It is read no further.")

        def close(self) -> None:
            closing.set()
            back.wait(5)

    headers = {"Content-Type": "text/event-stream"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=SlowToClose()))
    with httpx.Client(transport=transport) as http_client, ThreadPoolExecutor(1) as pool:
        turn = Aptix("http://service", http_client=http_client).session("s").turn("Hello")

        def read() -> None:
            for _ in turn:
                came.set()
                closing.wait(5)
            back.set()

        reading = pool.submit(read)
        came.wait(5)
        turn.close()
        reading.result(10)
        assert back.is_set()
        with pytest.raises(RuntimeError, match="Attach to it"):
            turn.final()


async def test_tools_may_wait_and_plain_ones_have_a_thread(bed: Bed) -> None:
    async def fetch(url: str, context: ToolContext) -> str:
        await anyio.sleep(0)
        return f"{url} {bool(context.tool_call_id)} {threading.current_thread() is threading.main_thread()}"

    def compute() -> bool:
        return threading.current_thread() is threading.main_thread()

    async def approve(*_: Any) -> bool:
        await anyio.sleep(0)
        return True

    calls = [["call", "fetch", {"url": "x"}], ["call", "compute", {}], ["call", "send_mail", {"to": "Ann"}]]
    instruction, key = script(calls, [["text", "Done."]])
    async with AsyncAptix(bed.direct) as aptix:
        turn = aptix.session(new_id()).turn(instruction, tools=[fetch, compute], on_approval=approve)
        assert (await turn.final())["PrimaryOutputText"] == "Done."
    outputs = bed("told", script=key)["outputs"]
    assert outputs[:2] == ['"x True True"', "false"]
    assert '"sent":true' in outputs[2]


async def test_a_plain_function_waits_for_none_of_the_threads_that_the_program_shares() -> None:
    io, held = AsyncIo(None), threading.Event()
    shared = anyio.to_thread.current_default_thread_limiter()
    before, shared.total_tokens = shared.total_tokens, 1
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(anyio.to_thread.run_sync, held.wait)
        await anyio.wait_all_tasks_blocked()
        try:
            with anyio.fail_after(10):
                assert await io.call(lambda: "done", awaits=False) == "done"
        finally:
            held.set()
            shared.total_tokens = before
    await io.close()


async def test_many_turns_run_beside_each_other(bed: Bed) -> None:
    gate = new_id("gate")
    instruction, _ = script([["text", {"Gate": gate}, "Done."]])
    aptix = AsyncAptix(bed.direct)
    running = [aptix.session(new_id()).turn(instruction) for _ in range(20)]
    async with aptix, anyio.create_task_group() as tasks:
        for turn in running:
            tasks.start_soon(turn.final)
        await anyio.sleep(0.2)
        bed("open", gate=gate)
    assert all(turn._repr_markdown_() == "Done." for turn in running)


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
def test_a_client_serves_one_loop_after_the_other(bed: Bed) -> None:
    aptix = AsyncAptix(bed.direct)
    for _ in range(2):
        assert asyncio.run(aptix.health())
    asyncio.run(aptix.close())
    with pytest.raises(RuntimeError, match="closed"):
        asyncio.run(aptix.health())
    del aptix
    gc.collect()


async def test_a_process_that_was_forked_while_a_loop_runs_has_connections_of_its_own(
    bed: Bed, monkeypatch: pytest.MonkeyPatch
) -> None:
    io, request = AsyncIo(None), httpx.Request("GET", f"{bed.direct}/health")
    parents = io._client
    for process, is_parents in ((os.getpid(), True), (-1, False)):
        monkeypatch.setattr(os, "getpid", lambda process=process: process)
        await (await io.send(request, None)).close()
        assert (io._client is parents) == is_parents
    await parents.aclose()
    await io.close()


async def test_the_plain_client_works_where_a_loop_runs_as_in_a_notebook(bed: Bed) -> None:
    with Aptix(bed.direct) as aptix:
        turn = aptix.session(new_id()).turn(script([["text", "One ", "two."]])[0])
        for event in turn:
            assert event.type == "text"
            break
        assert aptix.session(turn.session_id).attach(turn.turn_id).final()["PrimaryOutputText"] == "One two."


async def test_a_plain_tool_that_exits_is_told_to_the_model_and_ends_no_loop(bed: Bed) -> None:
    def leave() -> None:
        sys.exit(2)

    instruction, key = script([["call", "leave", {}]], [["text", "Well."]])
    async with AsyncAptix(bed.direct) as aptix:
        final = await aptix.session(new_id()).turn(instruction, tools=[leave]).final()
    assert final["PrimaryOutputText"] == "Well."
    assert "exited with 2" in bed("told", script=key)["outputs"][0]


@pytest.mark.skipif(sys.version_info < (3, 11), reason="No task knows whether it is cancelled itself.")
def test_a_cancellation_that_a_tool_has_met_is_told_to_the_model_and_cancels_nothing() -> None:
    call = {"ToolCallId": "c", "Name": "look", "ArgumentsJson": "{}"}
    asks = {"Kind": "client_tool_continuation", "SessionId": "s", "TurnId": "t", "ToolCalls": [call]}
    asked: list[str] = []
    told: list[Any] = []

    def take(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        told.extend(json.loads(request.content).get("ToolResults", []))
        result = {"Kind": "final", "PrimaryOutputText": "Done."} if told else asks
        return httpx.Response(200, json={"Successful": True, "Result": result})

    async def look() -> str:
        other: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        other.cancel()
        return await other

    async def read() -> None:
        async with httpx.AsyncClient(transport=httpx.MockTransport(take)) as http_client:
            session = AsyncAptix("http://service", http_client=http_client).session("s")
            turn = session.turn("Hello", turn_id="t", tools=[Tool("look", look)], cancel_on_abort=True)
            assert (await turn.final())["PrimaryOutputText"] == "Done."

    asyncio.run(read())
    assert asked == ["/execute", "/execute"]
    assert "was cancelled" in told[0]["ErrorMessage"]


def test_an_interrupt_ends_the_watching_and_where_it_is_to_the_turn(bed: Bed) -> None:
    def interrupted() -> None:
        raise KeyboardInterrupt

    for cancels in (False, True):
        with Aptix(bed.direct) as aptix:
            session = aptix.session(new_id())
            instruction, _ = script([["call", "interrupted", {}]])
            turn = session.turn(instruction, tools=[interrupted], cancel_on_abort=cancels)
            with pytest.raises(KeyboardInterrupt):
                turn.final()
            assert session.get_turn(turn.turn_id)["Status"] == ("aborted" if cancels else "awaiting_tools")


def test_what_a_tool_gave_is_kept_no_longer_where_an_interrupt_has_cancelled_its_turn() -> None:
    call = {"ToolCallId": "c", "Name": "look", "ArgumentsJson": "{}"}
    asks = {"Kind": "client_tool_continuation", "SessionId": "s", "TurnId": "t", "ToolCalls": [call]}

    def take(request: httpx.Request) -> httpx.Response:
        result = {"Status": "aborted"} if request.url.path.endswith("/cancel") else asks
        return httpx.Response(200, json={"Successful": True, "Result": result})

    def interrupted() -> None:
        raise KeyboardInterrupt

    def seen() -> str:
        return "seen"

    def read(turn: Turn) -> None:
        with turn:
            for event in turn:
                if event.type == "tool_results":
                    raise KeyboardInterrupt

    for run in (interrupted, seen):
        store = MemoryStore()
        with (
            httpx.Client(transport=httpx.MockTransport(take)) as http_client,
            Aptix("http://service", http_client=http_client, store=store) as aptix,
        ):
            turn = aptix.session("s").turn("Hello", turn_id="t", tools=[Tool("look", run)], cancel_on_abort=True)
            with pytest.raises(KeyboardInterrupt):
                read(turn)
        assert store.get("aptix:s/t") is None


def test_a_turn_that_is_interrupted_on_its_way_is_cancelled_once_it_has_arrived() -> None:
    # A refusal of what is sent again says of no turn that it is there.
    asked: list[str] = []
    cancels = "/sessions/s/turns/t/cancel"

    def take(request: httpx.Request) -> httpx.Response:
        asked.append(request.url.path)
        if asked == ["/execute"]:
            return httpx.Response(503, json={}, headers={"Aptix-Request-Id": "1"})
        if request.url.path != cancels:
            raise KeyboardInterrupt
        missing = {"ErrorCode": "turn_not_found", "Message": "No.", "SystemError": False}
        errors = [missing] if asked.count(cancels) == 1 else []
        return httpx.Response(404 if errors else 200, json={"Successful": not errors, "Result": {}, "Errors": errors})

    for detaches in (False, True):
        asked.clear()
        with (
            httpx.Client(transport=httpx.MockTransport(take)) as http_client,
            Aptix("http://service", http_client=http_client, retry_delay_s=0.001) as aptix,
        ):
            turn = aptix.session("s").turn("Hello", turn_id="t", cancel_on_abort=True)
            with pytest.raises(KeyboardInterrupt), nullcontext() if detaches else turn:
                (turn.detach if detaches else turn.final)()
        assert asked == ["/execute", "/execute", cancels, cancels]


async def test_a_tool_that_was_cut_off_before_it_began_runs_for_who_asks_next() -> None:
    from aptix_edge._answers import Answerer, Shared
    from aptix_edge._async_io import AsyncIo

    kept, runs, hangs = MemoryStore(), list[str](), [True]

    class Slow:
        def get(self, key: str) -> Any:
            return kept.get(key)

        async def update(self, key: str, value: Any) -> None:
            kept.update(key, value)
            if hangs:
                hangs.clear()
                await anyio.sleep_forever()

    def look() -> None:
        runs.append("look")

    io = AsyncIo(None)
    answerer = Answerer(io, Shared(Slow()), ("s", "t"), [Tool("look", look)], None)
    call: Any = {"ToolCallId": "c", "Name": "look", "ArgumentsJson": "{}"}
    with anyio.move_on_after(0.05):
        await answerer.results([call])
    assert runs == []
    [result] = await answerer.results([call])
    assert (runs, result.get("ResultJson")) == (["look"], "null")
    await io.close()


async def test_a_deadline_counts_the_wait_for_a_credential() -> None:
    async def never() -> str:
        await anyio.sleep_forever()
        return "never"

    async with AsyncAptix("http://service", never) as aptix:
        for how in ("final", "detach"):
            turn = aptix.session("s").turn("Hello", deadline_s=0.1)
            with anyio.fail_after(10), pytest.raises(AptixError, match=r"longer than 0\.1 s"):
                await getattr(turn, how)()


def test_who_interrupts_a_turn_waits_for_no_service_that_is_away() -> None:
    def take(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/execute":
            raise KeyboardInterrupt
        raise httpx.ConnectError("Nobody is there.")

    with (
        httpx.Client(transport=httpx.MockTransport(take)) as http_client,
        Aptix("http://service", http_client=http_client) as aptix,
    ):
        turn = aptix.session("s").turn("Hello", cancel_on_abort=True)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            turn.final()
        # All attempts take 12 s.
        assert time.monotonic() - began < 6


async def test_a_turn_on_its_way_is_cancelled_or_given_words_once_it_has_arrived(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("aptix_edge._turn.ARRIVAL_S", (0.001, 0.002))
    for last in ("cancel", "steer"):
        asked: list[str] = []
        sent = anyio.Event()

        async def take(request: httpx.Request, asked: list[str] = asked, sent: anyio.Event = sent) -> httpx.Response:
            asked.append(request.url.path)
            if request.url.path == "/execute":
                sent.set()
                await anyio.sleep_forever()
            missing = {"ErrorCode": "turn_not_found", "Message": "No.", "SystemError": False}
            errors = [missing] if len(asked) < 6 else []
            told = {"Successful": not errors, "Result": {}, "Errors": errors}
            return httpx.Response(404 if errors else 200, json=told)

        async with (
            httpx.AsyncClient(transport=httpx.MockTransport(take)) as http_client,
            anyio.create_task_group() as tasks,
        ):
            turn = AsyncAptix("http://service", http_client=http_client).session("s").turn("Hello", turn_id="t")
            tasks.start_soon(turn.final)
            await sent.wait()
            await (turn.cancel() if last == "cancel" else turn.steer("Stop."))
            tasks.cancel_scope.cancel()
        path = f"/sessions/s/turns/t/{last}"
        assert asked == ["/execute", *[path] * 5]


async def test_an_async_def_is_refused_where_nothing_can_wait_for_it(bed: Bed) -> None:
    async def fetch() -> str:
        return "never"

    # What only turns out to be awaited is told to the model.
    instruction, key = script([["call", "fetch", {}]], [["text", "Done."]])
    with Aptix(bed.direct) as aptix:
        with pytest.raises(TypeError, match="fetch: an `async def` is for `AsyncAptix`"):
            aptix.session(new_id()).turn(instruction, tools=[fetch])
        aptix.session(new_id()).turn(instruction, tools=[Tool("fetch", lambda: fetch())]).final()
    assert "for `AsyncAptix`" in bed("told", script=key)["outputs"][0]


@pytest.mark.parametrize("name", ["Aptix", "Session", "Turn", "User", "Workspace"])
def test_both_clients_have_the_same_methods_with_the_same_parameters_and_words(name: str) -> None:
    def methods(kind: Any) -> dict[str, Any]:
        found = inspect.getmembers(kind, lambda each: inspect.isfunction(each) or isinstance(each, property))
        return {of: each for of, each in found if not of.startswith("_") and of != "events"}

    plain, waiting = methods(getattr(aptix_edge, name)), methods(getattr(aptix_edge, f"Async{name}"))
    assert {of for of in waiting if of not in plain} == set()
    for of, method in waiting.items():
        if isinstance(method, property):
            continue
        ours, theirs = inspect.signature(plain[of]), inspect.signature(method)
        assert str(list(ours.parameters.values())).replace("wire.", "") == str(
            list(theirs.parameters.values())
        ).replace("Awaitable[T]", "T"), of
        if of != "turn":  # What interrupts it differs.
            assert inspect.getdoc(plain[of]) == inspect.getdoc(method), of
    options = [set(inspect.signature(each).parameters) - {"_io"} for each in (Aptix, AsyncAptix)]
    assert options[0] == options[1]


def test_an_address_that_is_none_is_said_at_once() -> None:
    # It may have a password all the same, which no words show.
    with_password = ("ftp://ann:secret@x", "ann:secret@x", "//ann:secret@x", "https:///ann:secret@x")
    unread = ("https://ann:secret@x:port", "https://ann:secret/@x", "https://ann:secret@x\n", "https://a:secret@xn--a")
    # As of a variable of the environment that is not set.
    unset: Any = None
    for wrong in (unset, "127.0.0.1:8787", "localhost", "ftp://x", "", *with_password, *unread):
        with pytest.raises(ValueError, match="base_url is a URL") as refused:
            Aptix(wrong)
        assert "secret" not in f"{refused.value} {refused.value.__context__}"
    # They would be sent in the place of the key.
    for named in ("https://ann:secret@x", "https://ann@x/agent", "http://:secret@x"):
        with pytest.raises(ValueError, match="no user and no password") as refused:
            Aptix(named, "key")
        assert "secret" not in f"{refused.value} {refused.value.__context__}"
    assert issubclass(AptixError, Exception)


# Trio warns of each generator that is left, whatever it does at its end.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
async def test_a_loop_that_is_left_without_async_with_says_nothing_and_closes_its_connection(
    bed: Bed, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    unraised: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", unraised.append)
    async with AsyncAptix(bed.direct) as aptix:

        async def leave() -> None:
            async for _ in aptix.session(new_id()).turn(script([["text", "One ", "two."]])[0]):
                break

        for _ in range(3):
            await leave()
            gc.collect()
            # What the collector has begun ends in these.
            for _ in range(20):
                await anyio.lowlevel.checkpoint()
        await aptix.health()
    gc.collect()
    told = capsys.readouterr()
    assert (told.out, told.err, caplog.messages, unraised) == ("", "", [], [])
