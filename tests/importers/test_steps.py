"""Steps and phases from the names of operations."""

import numpy as np

from sonde.importers._steps import Operations, Step, Training, find_training
from sonde.records.step import NO_STEP

Named = tuple[str, int, int]


def operations(*rows: Named, lane: str = "main thread", device: str = "cpu") -> Operations:
    """Build operations from names, starts and ends."""
    return Operations(
        [name for name, _, _ in rows],
        [lane] * len(rows),
        [device] * len(rows),
        np.array([start for _, start, _ in rows], dtype=np.int64),
        np.array([end - start for _, start, end in rows], dtype=np.int64),
        np.full(len(rows), -1, dtype=np.int64),
    )


def test_unnamed_operations_have_no_steps() -> None:
    training = find_training(operations(("aten::mm", 0, 10), ("forward_hook", 10, 20)))
    assert not training.steps
    assert not training.phases


def test_an_empty_recording_has_no_steps() -> None:
    assert not find_training(operations()).steps


def test_zeroing_gradients_is_not_an_optimizer_step() -> None:
    rows = [("Optimizer.zero_grad#SGD.zero_grad", 0, 5), ("Optimizer.step#SGD.step", 10, 20)]
    assert find_training(operations(*rows)).phases == [("optimizer", 10, 20)]


def test_names_repeated_on_a_device_are_not_steps() -> None:
    assert not find_training(operations(("ProfilerStep#3", 0, 10), device="cuda:0")).steps


def test_given_steps_are_used() -> None:
    training = find_training(operations(("step 1", 0, 10)), [Step(8, 5, 9), Step(7, 0, 5)])
    assert [step.number for step in training.steps] == [7, 8]


def test_an_instant_between_two_steps_belongs_to_none() -> None:
    training = Training([Step(1, 10, 20), Step(2, 30, 40)])
    assert [training.step_of(moment) for moment in (5, 10, 19, 20, 30, 40)] == [
        *(NO_STEP, 1, 1, NO_STEP),
        *(2, NO_STEP),
    ]
