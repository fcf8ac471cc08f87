"""Close inspections: frequent at first, then within their budget, never during a profile."""

from dataclasses import replace
from itertools import pairwise

import pytest

from sonde.hook.inspections import Inspections
from sonde.hook.profile_windows import Windows
from sonde.hook.session import Session
from sonde.settings import HookSettings, WorkerPlacement
from tests.fakes.clock import FakeClock

EARLY = [0, 1, 2, 3, 5, 8, 12, 18, 27, 34, 43, 54, 68, 85, 106, 133]


def make_inspections(settings: HookSettings | None = None) -> tuple[Session, Inspections]:
    hook = replace(settings or HookSettings(), profile=())
    session = Session(WorkerPlacement(node="node-a"), hook, FakeClock())
    return session, Inspections(session)


def inspected_steps(
    session: Session, inspections: Inspections, steps: int, price: float, step_seconds: float = 1.0
) -> list[int]:
    """Run training steps; return the numbers of the inspected ones, each of which costs `price`."""
    inspected = []
    for step in range(session.steps.counts["train"], steps):
        hook_seconds = 0.0
        if inspections.is_due():
            inspected.append(step)
            inspections.charge(price)
            hook_seconds = price
        session.overhead.budget.add_step(step_seconds, hook_seconds)
        session.steps.counts["train"] = step + 1
    return inspected


def test_inspections_are_frequent_at_first_and_rarer_later() -> None:
    assert (
        inspected_steps(*make_inspections(), 200, price=0.005, step_seconds=0.1)[: len(EARLY)]
        == EARLY
    )


def test_steps_with_an_unusual_loss_are_inspected_once_in_twenty_steps() -> None:
    session, inspections = make_inspections()
    inspected_steps(session, inspections, 1000, price=0.05, step_seconds=0.001)
    assert not inspections.is_due()
    inspections.inspect_now()
    assert inspections.is_due()
    assert inspections.is_early
    session.steps.counts["train"] += 10
    inspections.inspect_now()
    assert not inspections.is_due()
    session.steps.counts["train"] += 10
    inspections.inspect_now()
    assert inspections.is_due()


def test_early_inspection_is_skipped_if_too_expensive() -> None:
    inspected = inspected_steps(*make_inspections(), 200, price=1.0, step_seconds=0.1)

    assert inspected == [0]


def test_decoding_a_profile_does_not_stop_early_inspections() -> None:
    session, inspections = make_inspections()
    inspected_steps(session, inspections, 50, price=0.001, step_seconds=0.005)
    session.overhead.budget.charge_thread(0.3)
    inspected = inspected_steps(session, inspections, 150, price=0.001, step_seconds=0.005)
    assert inspected == [54, 68, 85, 106, 133]
    session.overhead.budget.charge_thread(1.0)
    assert inspected_steps(session, inspections, 400, price=0.001, step_seconds=0.005) == []


def test_cheap_inspections_continue_with_pauses() -> None:
    inspected = inspected_steps(*make_inspections(), 2000, price=0.001)

    assert max(b - a for a, b in pairwise(inspected)) <= 21
    late = [step for step in inspected if step > 100]
    assert len(late) <= len(range(100, 2000)) / 20 + 14  # plus the early ones


def test_inspections_stay_within_their_share_of_the_budget() -> None:
    steps = 20_000
    inspected = inspected_steps(*make_inspections(), steps, price=0.05, step_seconds=0.1)

    assert 0.8 * 0.0025 < 0.05 * len(inspected) / (steps * 0.1) < 1.2 * 0.0025


def test_each_step_is_decided_once() -> None:
    session, inspections = make_inspections()
    assert [inspections.is_due() for _ in range(3)] == [True] * 3
    session.steps.counts["train"] = 4
    inspections.is_due()
    assert inspections.steps_until_early() == 1


def test_only_the_first_passes_of_a_step_are_inspected() -> None:
    session, inspections = make_inspections()
    passes = [object() for _ in range(6)]
    assert [inspections.is_due_in(forward) for forward in passes] == [True] * 4 + [False] * 2
    assert inspections.is_due_in(passes[0])
    session.steps.counts["train"] = 1
    assert inspections.is_due_in(passes[5])


def test_resumed_training_is_inspected_like_a_new_one() -> None:
    session, inspections = make_inspections()
    inspected_steps(session, inspections, 10, price=0.001)
    session.steps.resume_at(1000)

    inspected = inspected_steps(session, inspections, 1013, price=0.001)
    assert inspected == [1000, 1001, 1002, 1003, 1005, 1008, 1012]


def test_counted_steps_are_not_mistaken_for_a_resumed_training() -> None:
    session, inspections = make_inspections()
    inspected_steps(session, inspections, 140, price=0.0001, step_seconds=0.001)

    session.steps.counts["train"] += 500
    inspections.steps_counted(500)
    inspected_steps(session, inspections, 641, price=0.0001, step_seconds=0.001)

    assert inspections.steps_until_early() > 20


def test_optimizer_created_later_is_inspected_from_its_first_step() -> None:
    session, inspections = make_inspections()
    inspections.optimizer_created()  # before the first step: no inspection beyond the early ones
    assert inspected_steps(session, inspections, 150, price=0.005, step_seconds=0.1)[:16] == EARLY
    inspections.optimizer_created()
    assert inspections.steps_until_early() == 0

    inspected = inspected_steps(session, inspections, 172, price=0.005, step_seconds=0.1)
    assert inspected[:6] == [150, 151, 152, 153, 155, 158]
    assert inspections.steps_until_early() == 208 - 172


def test_frequently_created_optimizers_do_not_trigger_constant_inspections() -> None:
    session, inspections = make_inspections()
    inspected_steps(session, inspections, 1000, price=0.005, step_seconds=0.1)
    inspected = []
    for step in range(1000, 1099):
        inspections.optimizer_created()
        inspected += inspected_steps(session, inspections, step + 1, price=0.005, step_seconds=0.1)
    assert len(inspected) < 12


def test_nothing_is_inspected_if_no_rule_needs_it() -> None:
    settings = HookSettings(statistics=(), needed=())
    assert inspected_steps(*make_inspections(settings), 50, price=0.0) == []


def test_first_passes_of_an_evaluation_are_inspected() -> None:
    session, inspections = make_inspections()
    session.steps.counts["train"] = 100
    assert inspections.evaluations.is_due_within(0)
    for _ in range(64):
        inspections.evaluations.begin_pass()
        assert inspections.evaluations.is_pass_due
    inspections.evaluations.begin_pass()
    assert not inspections.evaluations.is_pass_due
    assert not inspections.evaluations.is_due_within(5)
    assert inspections.evaluations.is_due_within(6)
    session.steps.counts["train"] = 101
    inspections.evaluations.begin_pass()
    assert inspections.evaluations.is_pass_due


def test_profiled_steps_are_not_inspected(monkeypatch: pytest.MonkeyPatch) -> None:
    session, inspections = make_inspections()
    monkeypatch.setattr(Windows, "is_open", True)
    assert inspected_steps(session, inspections, 3, price=0.0) == []
    monkeypatch.setattr(Windows, "is_open", False)
    assert inspected_steps(session, inspections, 6, price=0.0) == [3, 5]


def test_inspections_after_a_long_profile_return_to_the_common_steps(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    session, inspections = make_inspections()
    assert inspected_steps(session, inspections, 9, price=0.005, step_seconds=0.1) == EARLY[:6]
    monkeypatch.setattr(Windows, "is_open", True)
    assert inspected_steps(session, inspections, 33, price=0.005, step_seconds=0.1) == []
    monkeypatch.setattr(Windows, "is_open", False)
    assert inspected_steps(session, inspections, 100, price=0.005, step_seconds=0.1)[:4] == [
        33,
        34,
        43,
        54,
    ]
