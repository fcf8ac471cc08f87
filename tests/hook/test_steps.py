"""Steps, modes and phases derived from adapter events, on a manual clock."""

import json
from itertools import pairwise
from typing import TYPE_CHECKING

from hypothesis import given
from hypothesis import strategies as st

from sonde.clock import NANOSECONDS
from sonde.hook.steps import FinishedStep, Pass, StepId, Steps
from tests.fakes.clock import FakeClock

if TYPE_CHECKING:
    from sonde.hook.counted_steps import EventRow


class Loop:
    """A training loop in which every operation takes one second."""

    def __init__(self, optimizers: int = 1) -> None:
        self.clock = FakeClock()
        self.rows: list[EventRow] = []
        self.finished: list[FinishedStep] = []
        self.steps = Steps(self.clock.now_ns, self.rows.append, self.finished.append)
        self.steps.optimizers_alive = optimizers
        self.beginning_ns = self.clock.now_ns()

    def _second(self) -> int:
        start_ns = self.clock.now_ns()
        self.clock.advance(1)
        return start_ns

    def data(self) -> "Loop":
        self.steps.data_wait(self._second(), is_exhausted=False)
        return self

    def end_of_data(self) -> "Loop":
        self.steps.data_wait(self._second(), is_exhausted=True)
        return self

    def forward(self, kind: Pass = Pass.TRAIN) -> "Loop":
        self.steps.forward(self._second(), kind)
        return self

    def forward_pass(self, kind: Pass = Pass.TRAIN) -> tuple[tuple[StepId, ...], list[StepId]]:
        """Run a pass; return the steps it may belong to, and the step once it is certain."""
        possible, settled = self.steps.possible_steps(kind), list[StepId]()
        self.steps.forward(self._second(), kind, settled.append)
        return possible, settled

    def backward(self) -> "Loop":
        self.steps.backward(self._second())
        return self

    def optimizer(self, number: int = 0, *, is_skipped: bool = False) -> "Loop":
        self.steps.optimizer_begins(number)
        self.steps.optimizer_ends(number, self._second(), is_skipped=is_skipped)
        return self

    def train(self, number: int = 0) -> "Loop":
        return self.data().forward().backward().optimizer(number)

    def between(self) -> "Loop":
        self._second()
        return self

    def finished_steps(self, mode: str = "train") -> list[tuple[int, float]]:
        """Return the numbers and durations of the steps of a mode."""
        return [
            (step.number, (step.end_ns - step.start_ns) / NANOSECONDS)
            for step in self.finished
            if step.mode == mode
        ]

    def phases(self, number: int, mode: str = "train") -> list[str]:
        of_phases = [row for row in self.rows if row[1] == "phase"]
        return [row[0] for row in of_phases if (row[5], row[6]) == (number, mode)]

    def detail(self, number: int) -> dict[str, object]:
        text = next(row[7] for row in self.rows if row[0] == "step" and row[5] == number)
        return json.loads(text) if text else {}


def test_step_lasts_from_the_previous_step_to_its_optimizer_step() -> None:
    loop = Loop().train().between().train()

    assert loop.finished_steps() == [(0, 4.0), (1, 5.0)]
    assert loop.phases(1) == ["data_wait", "forward", "backward", "optimizer"]


def test_first_step_begins_with_its_first_span() -> None:
    loop = Loop().between().between().train()

    assert loop.finished_steps() == [(0, 4.0)]


def test_gradient_accumulation_counts_as_micro_steps() -> None:
    loop = Loop().forward().backward().forward().backward().forward().backward().optimizer()

    assert loop.finished_steps() == [(0, 7.0)]
    assert loop.detail(0) == {"micro_steps": 3}


def test_two_alternating_optimizers_share_a_step() -> None:
    loop = Loop(optimizers=2)
    for _ in range(3):
        loop.data().forward().backward().optimizer(0).forward().backward().optimizer(1)
    loop.steps.close()

    assert loop.finished_steps() == [(0, 7.0), (1, 7.0), (2, 7.0)]
    assert loop.detail(1) == {"optimizers": [0, 1]}
    assert loop.phases(1).count("data_wait") == 1


def test_less_frequent_optimizer_belongs_to_the_step_it_ends() -> None:
    loop = Loop(optimizers=2)
    for number in range(6):
        loop.train(0)
        if number % 3 == 2:
            loop.forward().backward().optimizer(1)
    loop.steps.close()

    assert [number for number, _ in loop.finished_steps()] == list(range(6))
    assert loop.detail(2) == {"optimizers": [0, 1]}
    assert loop.detail(3) == {}


def test_optimizers_that_train_one_after_the_other_do_not_share_a_step() -> None:
    loop = Loop(optimizers=2)
    for _ in range(2):
        for number in (0, 1):
            for _ in range(5):
                loop.train(number)
    loop.steps.close()

    assert loop.finished_steps() == [(number, 4.0) for number in range(20)]
    assert all(loop.detail(number) == {} for number in range(20))
    assert [step.optimizers for step in loop.finished[3:7]] == [(0,), (0,), (1,), (1,)]


def test_pair_after_a_single_optimizer_does_not_share_its_step() -> None:
    loop = Loop(optimizers=3)
    for _ in range(3):
        loop.train(0)
    for _ in range(3):
        loop.train(1).forward().backward().optimizer(2)
    loop.steps.close()

    assert [step.optimizers for step in loop.finished] == [(0,)] * 3 + [(1, 2)] * 3


def test_creating_an_optimizer_ends_the_current_step() -> None:
    loop = Loop(optimizers=2).train(0)
    loop.steps.optimizer_created()
    loop.train(1).steps.close()

    assert [step.optimizers for step in loop.finished] == [(0,), (1,)]


def test_deleted_optimizer_does_not_share_a_step_with_the_next() -> None:
    loop = Loop(optimizers=2).train(0)
    loop.steps.optimizers_alive = 1
    loop.train(1)

    assert [step.optimizers for step in loop.finished] == [(0,), (1,)]


def test_backward_passes_of_one_loss_are_not_micro_steps() -> None:
    loop = Loop().forward().backward().forward().backward()
    loop.steps.join_backwards(1)
    loop.optimizer()

    assert loop.detail(0) == {}


def test_optimizers_inside_backward_count_one_step_per_pass() -> None:
    loop = Loop(optimizers=3)
    for _ in range(4):
        start_ns = loop.forward().clock.now_ns()
        for number in range(3):
            loop.optimizer(number)
        loop.clock.advance(1)
        loop.steps.backward(start_ns)
    loop.steps.close()

    assert loop.finished_steps() == [(number, 5.0) for number in range(4)]
    assert loop.phases(3) == ["forward", "optimizer", "optimizer", "optimizer", "backward"]
    assert "micro_steps" not in loop.detail(3)


def test_step_skipped_by_the_scaler_is_marked() -> None:
    loop = Loop().train().data().forward().backward().optimizer(is_skipped=True).train()

    assert [number for number, _ in loop.finished_steps()] == [0, 1, 2]
    assert loop.detail(1) == {"skipped": True}


def test_evaluation_steps_are_counted_separately_and_are_a_phase_of_the_next_step() -> None:
    loop = Loop().train()
    loop.data().forward(Pass.EVAL).data().forward(Pass.EVAL).end_of_data()
    loop.train()

    assert loop.finished_steps("eval") == [(0, 2.0), (1, 2.0)]
    assert loop.phases(0, "eval") == ["data_wait", "forward"]
    assert loop.phases(1).count("evaluation") == 1
    evaluation = next(row for row in loop.rows if row[0] == "evaluation")
    assert evaluation[4] / NANOSECONDS == 4.0


def test_pass_without_gradients_inside_training_is_training() -> None:
    loop = Loop(optimizers=2)
    loop.data().forward(Pass.UNDECIDED).forward().backward().optimizer(0)
    loop.forward().backward().optimizer(1)
    loop.steps.close()

    assert loop.finished_steps("eval") == []
    assert loop.phases(0).count("forward") == 3
    assert loop.phases(0)[0] == "data_wait"


def test_passes_without_gradients_over_the_data_are_an_evaluation() -> None:
    loop = Loop().train()
    loop.data().forward(Pass.UNDECIDED).data().forward(Pass.UNDECIDED).end_of_data()

    assert [number for number, _ in loop.finished_steps("eval")] == [0, 1]


def test_loss_without_gradients_marks_the_previous_pass_as_evaluation() -> None:
    loop = Loop().train().forward(Pass.UNDECIDED)

    loop.steps.evaluation_loss()

    assert [number for number, _ in loop.finished_steps("eval")] == [0]


def test_step_of_a_pass_is_certain_with_one_optimizer() -> None:
    loop = Loop().train()
    possible, settled = loop.forward_pass()
    loop.backward().optimizer()

    assert possible == (("train", 1),)
    assert settled == [("train", 1)]


def test_pass_after_one_of_two_optimizers_belongs_to_the_step_of_the_next() -> None:
    loop = Loop(optimizers=2).train(0)
    possible, same = loop.forward_pass()
    loop.backward().optimizer(1)
    _, later = loop.forward_pass()
    loop.backward().optimizer(0)

    assert possible == (("train", 0), ("train", 1))
    assert same == [("train", 0)]
    loop.steps.close()
    assert later == [("train", 1)]


def test_pass_without_gradients_gets_its_step_once_decided() -> None:
    loop = Loop().train()
    possible, target = loop.forward_pass(Pass.UNDECIDED)
    assert possible == (("eval", 0), ("train", 1))
    assert target == []
    loop.forward().backward().optimizer()
    assert target == [("train", 1)]

    _, first = loop.forward_pass(Pass.UNDECIDED)
    possible, second = loop.forward_pass(Pass.UNDECIDED)
    loop.end_of_data()
    assert possible[0] == ("eval", 1)
    assert (first, second) == ([("eval", 0)], [("eval", 1)])


def test_each_of_many_passes_in_a_step_gets_its_step() -> None:
    loop = Loop()
    settled = [loop.forward_pass()[1] for _ in range(300)]
    loop.backward().optimizer()

    assert settled == [[("train", 0)]] * 300


def test_an_evaluation_before_the_first_step_is_not_part_of_it() -> None:
    loop = Loop().data().forward(Pass.EVAL).end_of_data().train()

    assert loop.finished_steps() == [(0, 4.0)]
    assert "evaluation" not in loop.phases(0)


def test_mode_set_by_the_script_is_used() -> None:
    loop = Loop().train()
    loop.steps.forced_mode = "predict"
    loop.data().forward(Pass.EVAL).data().forward()
    loop.steps.forced_mode = None
    loop.train()

    assert [number for number, _ in loop.finished_steps("predict")] == [0, 1]
    assert [number for number, _ in loop.finished_steps()] == [0, 1]


def test_steps_ended_by_the_script_need_no_optimizer() -> None:
    loop = Loop()
    for _ in range(3):
        loop.forward().backward().between()
        loop.steps.end_step()

    assert loop.finished_steps() == [(0, 3.0), (1, 3.0), (2, 3.0)]


def test_step_count_continues_from_a_checkpoint() -> None:
    loop = Loop()
    loop.steps.resume_at(100)
    loop.train()

    assert loop.finished_steps() == [(100, 4.0)]


def test_unfinished_work_at_the_end_belongs_to_no_step() -> None:
    loop = Loop().train().data().forward()
    loop.steps.close()

    assert loop.finished_steps() == [(0, 4.0)]
    assert loop.phases(-1) == ["data_wait", "forward"]


def test_a_pause_belongs_to_no_step() -> None:
    loop = Loop().train().train()
    loop.steps.close()
    loop.clock.advance(100)
    loop.train()

    assert [length for _, length in loop.finished_steps()] == [4.0] * 3


def test_many_spans_of_a_phase_are_merged_without_losing_time() -> None:
    loop = Loop().forward()
    for _ in range(500):
        start_ns = loop.clock.now_ns()
        loop.clock.advance(1)
        loop.steps.span("collective", start_ns)
    loop.backward().optimizer()

    rows = [row for row in loop.rows if row[0] == "collective"]
    assert len(rows) < 100
    assert sum(row[4] for row in rows) == 500 * NANOSECONDS


@given(st.lists(st.sampled_from(["data", "forward", "backward", "eval", "optimizer", "between"])))
def test_steps_never_overlap_or_leave_gaps(
    actions: list[str],
) -> None:
    loop = Loop()
    for action in actions:
        loop.forward(Pass.EVAL) if action == "eval" else getattr(loop, action)()
    loop.steps.close()

    steps = [step for step in loop.finished if step.mode == "train"]
    assert len(steps) == actions.count("optimizer")
    assert [step.number for step in steps] == list(range(len(steps)))
    assert all(early.end_ns == late.start_ns for early, late in pairwise(steps))
    for row in loop.rows:
        if row[1] == "phase" and row[5] >= 0 and row[6] == "train" and row[0] != "evaluation":
            step = steps[row[5]]
            assert step.start_ns <= row[3]
            assert row[3] + row[4] <= step.end_ns


def test_loop_that_never_ends_a_step_does_not_accumulate_spans() -> None:
    loop = Loop()
    for _ in range(5000):
        loop.forward().backward()
    loop.optimizer()

    rows = [row for row in loop.rows if row[1] == "phase"]
    assert len(rows) < 5000
    assert sum(row[4] for row in rows) == 10001 * NANOSECONDS


def test_undecided_passes_become_evaluations() -> None:
    loop = Loop()
    for _ in range(20000):
        loop.forward(Pass.UNDECIDED)

    assert loop.steps.counts["eval"] > 10000
