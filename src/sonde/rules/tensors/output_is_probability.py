"""OutputIsProbability: a loss that expects logits gets probabilities."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.formats import format_percent, pluralize
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.observations.batches import LossInput
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import begin_attempt, is_repeat_due, mark_open, resolve

_KIND = "probabilities-as-logits"
_BINARY = "binary"  # in the names of losses that apply a sigmoid themselves
_OPERATIONS = ("Sigmoid", "Softmax")  # their outputs are always probabilities


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of OutputIsProbability.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    row_share: float = 0.99  # of the rows that sum to 1 up to rounding
    min_rows: int = 8
    inspections_in_a_row: int = 2
    binary_inspections: int = 10  # logits of an untrained model may lie between 0 and 1
    binary_steps: int = 60


LIMITS = Calibration()


class OutputIsProbability(Rule):
    """The loss expects logits but gets probabilities: softmax or sigmoid is applied twice.

    Why it matters: The second softmax flattens everything. With ten classes the loss cannot fall
    below 1.46, gradients are small, and training is slow or stops early.
    How it decides:
    - Input rows of a softmax loss are nonnegative and sum to 1 (99% of at least 8 rows), at 2
      inspections in a row.
    - Or the graph of a custom loss shows a softmax that feeds a log-softmax.
    - For a sigmoid loss, all inputs lie between 0 and 1, and either a sigmoid produced them (2
      inspections in a row) or it holds at all of 10 inspections over 60 steps.
    What to do: Pass the output of the last layer to the loss, without softmax or sigmoid. Apply
    them only where predictions are read.
    """

    section = Section.MODEL
    calibration = LIMITS
    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Count consecutive inspections with probabilities as input, by loss."""
        yield from begin_attempt(self, window, state)
        losses = state.of("losses")
        for observation in window.observations(_KIND):
            inputs = LossInput.of(observation)
            if _BINARY not in observation.subject and (inputs.classes < 2 or inputs.rows < 1):
                continue
            loss_state = losses.of(observation.subject)
            if observation.step == loss_state.get("seen"):
                continue  # the same step of another worker
            loss_state["seen"] = observation.step
            loss_state["looks"] = loss_state.get("looks", 0) + 1
            if observation.value < LIMITS.row_share:
                loss_state |= {"row": 0, "rows": 0, "was_other": True}
                yield from resolve(self, state, observation.subject)
                continue
            if not loss_state.get("row"):
                loss_state["since"] = observation.step
            loss_state |= {
                "row": loss_state.get("row", 0) + 1,
                "rows": loss_state.get("rows", 0) + inputs.rows,
            }
            loss_state["by"] = inputs.operation
            loss_state |= {
                "last": observation.step,
                "classes": inputs.classes,
                "share": observation.value,
                "worker": observation.worker,
            }
        for name in losses:
            loss_state = losses.of(name)
            is_new = name not in state.get("told", [])
            if _is_confirmed(name, loss_state) and (is_new or is_repeat_due(window)):
                mark_open(state, name)
                yield self._finding(name, loss_state)

    def lacks(self, state: State) -> str | Shortfall:
        """Return how many inspections are missing."""
        losses = state.of("losses").items()
        needed = {
            name: LIMITS.binary_inspections if _BINARY in name else LIMITS.inspections_in_a_row
            for name, _ in losses
        }
        if any(item["looks"] >= needed[name] or item.get("was_other") for name, item in losses):
            return ""
        count = max((int(item["looks"]) for _, item in losses), default=0)
        return Shortfall(
            count, min(needed.values(), default=LIMITS.inspections_in_a_row), DataUnit.INSPECTIONS
        )

    def _finding(self, name: str, state: State) -> Finding:
        expected = "log-probabilities" if name == "nll_loss" else "logits"
        condition = "lie between 0 and 1" if _BINARY in name else "are nonnegative and sum to 1"
        return self.finding(
            f"{name} expects {expected} but gets probabilities: "
            f"{format_percent(100 * state['share'])} of the rows {condition} "
            f"({pluralize(state['rows'], 'row')} of {state['classes']} values).",
            step=(int(state["since"]), int(state["last"])),
            subject=name,
            worker=state["worker"],
            evidence={
                "share": state["share"],
                "rows": state["rows"],
                "classes": state["classes"],
                "looks": state["row"],
            },
        )


def _is_confirmed(name: str, state: State) -> bool:
    if _BINARY not in name or any(word in state.get("by", "") for word in _OPERATIONS):
        return bool(
            state.get("row", 0) >= LIMITS.inspections_in_a_row and state["rows"] >= LIMITS.min_rows
        )
    span = state.get("last", 0) - state.get("since", 0)
    is_always = state.get("row", 0) >= LIMITS.binary_inspections and not state.get("was_other")
    return bool(is_always and span >= LIMITS.binary_steps)
