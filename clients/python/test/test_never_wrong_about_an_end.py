"""However a connection ends, and wherever a program is ended, a turn comes to the same final text, and each tool
runs once for each call (interface §2, Delivery). Cuts are a sample of all bytes. APTIX_SEED=n repeats one seed.
"""

from __future__ import annotations

import os
import random
import time
from typing import Any

import pytest

from aptix_edge import AptixConnectionError, AptixError, FileStore, MemoryStore, Tool
from conftest import SCENARIOS, Bed, World, for_each, new_id, script
from lives import Life, View

SEED = int(os.environ.get("APTIX_SEED", str(int(time.time()) % 1_000_000)))
CUTS = ("reset", "close", "end")
TURNS = list(SCENARIOS["Turns"])
LONG = "APTIX_LONG_TESTS" in os.environ
SAMPLE = 16
ORDERS = 300 if LONG else 16


@pytest.mark.parametrize("name", list(SCENARIOS["Faults"]))
def test_what_a_network_does(name: str, each_world: World, bed: Bed) -> None:
    world = each_world
    plan = SCENARIOS["Faults"][name]

    def live(turn: str) -> None:
        life = Life(turn)
        bed("plan", session=life.session_id, plan=plan)
        begun = life.begin(world.client(bed.proxied))
        view = View().follow(begun)
        life.check(begun)
        if "Under" not in plan:
            assert (view.text, begun.text, view.pauses) == (life.final, life.final, life.pauses)
            assert view.events[-1].type == "result"

    for_each(TURNS, live)


@pytest.mark.parametrize("name", list(SCENARIOS["GivenUp"]))
def test_what_nobody_can_help(name: str, world: World, bed: Bed) -> None:
    plan = SCENARIOS["GivenUp"][name]
    life = Life("plain")
    bed("plan", session=life.session_id, plan=plan)
    with pytest.raises(AptixConnectionError) as caught:
        life.begin(world.client(bed.proxied)).final()
    error = caught.value
    assert (error.code, error.status, error.retryable) == ("connection_lost", plan["Status"], plan["Retryable"])
    assert len(bed("requests", session=life.session_id)) == plan["Requests"]


@pytest.mark.parametrize("name", TURNS)
def test_a_response_that_is_cut_at_any_byte_costs_nothing(name: str, world: World, bed: Bed) -> None:
    # The length of all responses of a turn is that of each life of it, or less.
    dice = random.Random(f"{SEED} {name} {world.name}")
    longest = 4000 if "tool" in name else 900
    cuts = [(at, cut) for at in range(-2, longest) for cut in CUTS]
    print(f"APTIX_SEED={SEED}")  # noqa: T201 - shown where the test fails

    def cut_life(chosen: tuple[int, str]) -> None:
        life = Life(name)
        bed("plan", session=life.session_id, plan={"Left": chosen[0], "Cut": chosen[1]})
        turn = life.begin(world.client(bed.proxied))
        view = View().follow(turn)
        life.check(turn)
        assert (view.text, view.pauses) == (life.final, life.pauses)

    for_each(dice.sample(cuts, SAMPLE * (20 if LONG else 1)), cut_life)


@pytest.mark.parametrize("name", TURNS)
def test_a_program_that_ends_at_any_event_goes_on_by_ids_alone(
    name: str, world: World, bed: Bed, tmp_path: Any
) -> None:
    aptix = world.client(bed.direct)
    events = View().follow(Life(name).begin(aptix)).events

    def reload(chosen: tuple[int, bool]) -> None:
        at, keeps_position = chosen
        life = Life(name)
        folder = tmp_path / life.session_id
        turn = life.begin(world.client(bed.direct, store=FileStore(folder)))
        for read, _ in enumerate(reading := iter(turn)):
            if read == at:
                break
        reading.close()  # type: ignore[attr-defined]
        position = turn.position if keeps_position else None
        life.check(life.attach(world.client(bed.direct, store=FileStore(folder)), position=position))
        assert list(folder.iterdir()) == [], "nothing is left of a turn that has ended"

    for_each([(at, keeps) for at in range(len(events)) for keeps in (False, True)], reload)


def test_random_orders_of_cuts_reloads_slow_pieces_and_second_watchers(world: World, bed: Bed) -> None:
    seeds = [SEED] if "APTIX_SEED" in os.environ else list(range(ORDERS))

    def fault(dice: random.Random) -> Any:
        if not dice.randrange(3):
            return None
        made = {"cutAfter": dice.randrange(500) - 2, "cut": dice.choice(CUTS)}
        if not dice.randrange(4):
            return {"whole": True}
        return {**made, "pieces": 1 + dice.randrange(9)} if not dice.randrange(4) else made

    def order(seed: int) -> None:
        dice = random.Random(seed)
        life = Life(dice.choice(TURNS))
        bed("plan", session=life.session_id, plan={"First": [fault(dice) for _ in range(40)]})
        aptix = world.client(bed.proxied, store=MemoryStore(), max_reconnects=100)
        turn = life.begin(aptix)
        while True:
            events = iter(turn)
            ended = False
            while not ended and dice.randrange(8):
                ended = next(events, None) is None
            if ended:
                return life.check(turn)
            events.close()  # type: ignore[attr-defined]
            try:
                world.client(bed.direct).session(life.session_id).get_turn(life.turn_id)
                turn = life.attach(aptix, position=turn.position if dice.randrange(2) else None)
            except AptixError:
                turn = life.begin(aptix)

    for_each(seeds, order)


def test_two_watchers_of_one_turn_share_each_run_of_a_tool(world: World, bed: Bed) -> None:
    life = Life("tools in two rounds")
    aptix = world.client(bed.direct)
    events = iter(life.begin(aptix))
    next(events)
    for_each([0, 1, 2], lambda _: life.check(life.attach(aptix)))
    events.close()  # type: ignore[attr-defined]
    assert len(life.runs) == 3


def test_a_watcher_that_comes_to_its_calls_when_another_one_has_ended_the_turn_has_none_run_again(
    world: World, bed: Bed
) -> None:
    life = Life("one tool")
    kept: dict[str, Any] = {}

    class Kept(MemoryStore):
        def update(self, key: str, value: Any) -> None:
            super().update(key, value)
            kept[key] = value

    aptix = world.client(bed.direct, store=Kept())
    late = life.begin(aptix)
    waits, leaves = iter(late), iter(life.attach(aptix))
    for events in (waits, leaves):
        while next(events).type != "tool_calls":
            pass
    life.check(life.attach(aptix))
    for _ in waits:
        pass
    life.check(late)
    # One that comes now, and leaves before it sees the end itself, is the last.
    later = iter(life.attach(aptix))
    assert next(later).type == "text"
    leaves.close()  # type: ignore[attr-defined]
    assert [*kept.values()] != [None], "one still watches"
    later.close()  # type: ignore[attr-defined]
    assert [*kept.values()] == [None]


def test_a_client_without_the_others_results_follows_the_turn_that_has_gone_on(world: World, bed: Bed) -> None:
    life = Life("one tool")
    late = life.begin(world.client(bed.direct))
    events = iter(late)
    while next(events).type != "tool_calls":
        pass
    # Its tool answers otherwise, and first.
    tools = [Tool("read", lambda path: f"other {path}")]
    assert Life("one tool", life.session_id).attach(world.client(bed.direct), tools=tools).final()
    for _ in events:
        pass
    life.check(late)


def test_a_tool_that_a_reload_has_cut_off_is_not_run_again_unless_it_may_be(world: World, bed: Bed) -> None:
    for repeatable in (False, True):
        store = MemoryStore()
        instruction, key = script([["call", "read", {}]], [["text", "Done."]])
        runs: list[int] = []

        def read(runs: list[int] = runs) -> str:
            runs.append(1)
            return "done"

        tools = [Tool("read", read, repeatable=repeatable)]
        session = world.client(bed.direct, store=store).session(new_id())
        turn = session.turn(instruction, tools=tools)
        for event in turn:
            if event.type == "tool_calls":
                # What a process leaves behind that ends in the middle of the run.
                store.update(f"aptix:{turn.session_id}/{turn.turn_id}", {event.calls[0]["ToolCallId"]: None})
                break
        session.attach(turn.turn_id, tools=tools).final()
        assert len(runs) == int(repeatable)
        [output] = bed("told", script=key)["outputs"]
        assert ("done" if repeatable else "interrupted and is not run again") in output


def test_a_service_that_is_lost_is_given_up_with_the_place_in_the_text(world: World, bed: Bed) -> None:
    life = Life("plain")
    lost = {"First": [{"cutAfter": 100, "cut": "reset"}], "Each": {"cutAfter": -1}}
    bed("plan", session=life.session_id, plan=lost)
    turn = life.begin(world.client(bed.proxied, max_reconnects=2))
    with pytest.raises(ConnectionError) as caught:
        turn.final()
    error: Any = caught.value
    assert error.position == turn.position
    assert error.position.startswith("0.")
    assert (error.who_acts, error.retryable) == ("nobody", True)
    life.check(life.attach(world.client(bed.direct)))


def test_a_silence_with_comments_is_a_living_connection_and_one_without_is_none(world: World, bed: Bed) -> None:
    for plan, requests, silence_s in (({}, 1, 1.0), ({"Each": {"whole": True}}, 3, 0.3)):
        gate, session_id = new_id("gate"), new_id()
        instruction, _ = script([["text", {"Gate": gate}, "Slow."]])
        bed("plan", session=session_id, plan=plan)
        turn = (
            world.client(bed.proxied, idle_timeout_s=silence_s, max_reconnects=2).session(session_id).turn(instruction)
        )

        def follow(_: int, turn: Any = turn) -> None:
            assert turn.final()["PrimaryOutputText"] == "Slow."

        def open_later(
            _: int, gate: str = gate, session_id: str = session_id, requests: int = requests, s: float = silence_s
        ) -> None:
            # Comments come every 50 ms.
            begun = time.monotonic()
            while time.monotonic() - begun < 2 * s or len(bed("requests", session=session_id)) < requests:
                time.sleep(0.02)
            bed("open", gate=gate)

        for_each([follow, open_later], lambda job: job(0))
        made = len(bed("requests", session=session_id))
        assert made == 1 if requests == 1 else made >= 3


def test_a_reader_may_take_longer_over_an_event_than_a_silence_may_last(world: World, bed: Bed) -> None:
    gate, session_id = new_id("gate"), new_id()
    instruction, _ = script([["text", "One ", {"Gate": gate}, "two."]])
    turn = world.client(bed.proxied, idle_timeout_s=1.0).session(session_id).turn(instruction)
    for event in turn:
        if event.type == "text" and event.delta == "One ":
            time.sleep(1.5)
            bed("open", gate=gate)
    assert turn.final()["PrimaryOutputText"] == "One two."
    assert len(bed("requests", session=session_id)) == 1
