"""Looks: often at the beginning, then within a part of the budget; never in a profile."""

from dataclasses import replace
from itertools import pairwise

import pytest

from sonde.hook.inspections import Inspections
from sonde.hook.profile_windows import Windows
from sonde.hook.session import Session
from sonde.settings import HookSettings, WorkerPlace
from tests.fakes.clock import FakeClock

EARLY = [0, 1, 2, 3, 5, 8, 12, 18, 27, 34, 43, 54, 68, 85, 106, 133]


def made(settings: HookSettings | None = None) -> tuple[Session, Inspections]:
    hook = replace(settings or HookSettings(), profile=())
    session = Session(WorkerPlace(node="node-a"), hook, FakeClock())
    return session, Inspections(session)


def looked_at(
    session: Session, looks: Inspections, steps: int, price: float, step_seconds: float = 1.0
) -> list[int]:
    """The steps at which there was a look of that price."""
    found = []
    for step in range(session.steps.counts["train"], steps):
        hook_seconds = 0.0
        if looks.is_due():
            found.append(step)
            looks.took(price)
            hook_seconds = price
        session.overhead.budget.step_over(step_seconds, hook_seconds)
        session.steps.counts["train"] = step + 1
    return found


def test_looks_are_frequent_at_first_and_less_so_later() -> None:
    assert looked_at(*made(), 200, price=0.005, step_seconds=0.1)[: len(EARLY)] == EARLY


def test_a_step_with_an_unusual_loss_is_looked_at_once_in_twenty_steps() -> None:
    session, looks = made()
    looked_at(session, looks, 1000, price=0.05, step_seconds=0.001)
    assert not looks.is_due()
    looks.inspect_now()
    assert looks.is_due()
    assert looks.is_early
    session.steps.counts["train"] += 10
    looks.inspect_now()
    assert not looks.is_due()
    session.steps.counts["train"] += 10
    looks.inspect_now()
    assert looks.is_due()


def test_a_dear_look_is_not_taken_though_it_would_be_early() -> None:
    found = looked_at(*made(), 200, price=1.0, step_seconds=0.1)

    assert found == [0]


def test_a_profile_that_was_decoded_does_not_end_early_looks() -> None:
    session, looks = made()
    looked_at(session, looks, 50, price=0.001, step_seconds=0.005)
    session.overhead.budget.thread_took(0.3)
    found = looked_at(session, looks, 150, price=0.001, step_seconds=0.005)
    assert found == [54, 68, 85, 106, 133]
    session.overhead.budget.thread_took(1.0)
    assert looked_at(session, looks, 400, price=0.001, step_seconds=0.005) == []


def test_cheap_looks_go_on_with_pauses_between_them() -> None:
    found = looked_at(*made(), 2000, price=0.001)

    assert max(b - a for a, b in pairwise(found)) <= 21
    late = [step for step in found if step > 100]
    assert len(late) <= len(range(100, 2000)) / 20 + 14  # and the early ones


def test_looks_take_no_more_than_their_part_of_the_budget() -> None:
    steps = 20_000
    found = looked_at(*made(), steps, price=0.05, step_seconds=0.1)

    assert 0.8 * 0.0025 < 0.05 * len(found) / (steps * 0.1) < 1.2 * 0.0025


def test_a_step_is_decided_on_once() -> None:
    session, looks = made()
    assert [looks.is_due() for _ in range(3)] == [True] * 3
    session.steps.counts["train"] = 4
    looks.is_due()
    assert looks.steps_until_early() == 1


def test_of_the_passes_of_a_step_the_first_ones_are_looked_at() -> None:
    session, looks = made()
    passes = [object() for _ in range(6)]
    assert [looks.is_due_in(one) for one in passes] == [True] * 4 + [False] * 2
    assert looks.is_due_in(passes[0])
    session.steps.counts["train"] = 1
    assert looks.is_due_in(passes[5])


def test_training_that_goes_on_from_a_checkpoint_is_looked_at_as_from_the_beginning() -> None:
    session, looks = made()
    looked_at(session, looks, 10, price=0.001)
    session.steps.resume_at(1000)

    found = looked_at(session, looks, 1013, price=0.001)
    assert found == [1000, 1001, 1002, 1003, 1005, 1008, 1012]


def test_steps_that_were_only_counted_are_not_taken_for_a_checkpoint() -> None:
    session, looks = made()
    looked_at(session, looks, 140, price=0.0001, step_seconds=0.001)

    session.steps.counts["train"] += 500
    looks.steps_counted(500)
    looked_at(session, looks, 641, price=0.0001, step_seconds=0.001)

    assert looks.steps_until_early() > 20


def test_an_optimizer_that_is_made_later_is_looked_at_from_its_first_step_on() -> None:
    session, looks = made()
    looks.optimizer_made()  # before the first step it is one of several, or the only one
    assert looked_at(session, looks, 150, price=0.005, step_seconds=0.1)[:16] == EARLY
    looks.optimizer_made()
    assert looks.steps_until_early() == 0

    found = looked_at(session, looks, 172, price=0.005, step_seconds=0.1)
    assert found[:6] == [150, 151, 152, 153, 155, 158]
    assert looks.steps_until_early() == 208 - 172


def test_a_script_that_makes_optimizers_all_the_time_is_not_looked_at_all_the_time() -> None:
    session, looks = made()
    looked_at(session, looks, 1000, price=0.005, step_seconds=0.1)
    found = []
    for step in range(1000, 1099):
        looks.optimizer_made()
        found += looked_at(session, looks, step + 1, price=0.005, step_seconds=0.1)
    assert len(found) < 12


def test_nothing_is_looked_at_where_nobody_needs_anything() -> None:
    settings = HookSettings(statistics=(), needed=())
    assert looked_at(*made(settings), 50, price=0.0) == []


def test_the_first_passes_of_an_evaluation_are_looked_at() -> None:
    session, looks = made()
    session.steps.counts["train"] = 100
    assert looks.evaluations.is_due_within(0)
    for _ in range(64):
        looks.evaluations.begin_pass()
        assert looks.evaluations.is_pass_due
    looks.evaluations.begin_pass()
    assert not looks.evaluations.is_pass_due
    assert not looks.evaluations.is_due_within(5)
    assert looks.evaluations.is_due_within(6)
    session.steps.counts["train"] = 101
    looks.evaluations.begin_pass()
    assert looks.evaluations.is_pass_due


def test_a_profile_is_not_looked_into(monkeypatch: pytest.MonkeyPatch) -> None:
    session, looks = made()
    monkeypatch.setattr(Windows, "is_open", True)
    assert looked_at(session, looks, 3, price=0.0) == []
    monkeypatch.setattr(Windows, "is_open", False)
    assert looked_at(session, looks, 6, price=0.0) == [3, 5]


def test_after_a_long_profile_looks_come_at_the_steps_of_every_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, looks = made()
    assert looked_at(session, looks, 9, price=0.005, step_seconds=0.1) == [0, 1, 2, 3, 5, 8]
    monkeypatch.setattr(Windows, "is_open", True)
    assert looked_at(session, looks, 33, price=0.005, step_seconds=0.1) == []
    monkeypatch.setattr(Windows, "is_open", False)
    assert looked_at(session, looks, 100, price=0.005, step_seconds=0.1)[:4] == [33, 34, 43, 54]
