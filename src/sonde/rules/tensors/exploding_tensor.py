"""ExplodingTensor: losses, gradients or weights become NaN or infinite."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sonde.formats import pluralize
from sonde.read.curves import Curve
from sonde.read.job_data import Observation
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Losses, Need, Statistics
from sonde.records.observations.parameters import FINITE, NonFiniteSource, RefusedStep, TensorRole
from sonde.rules._parameters import Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.tensor_columns import column_of_all
from sonde.rules.measures.tensor_selection import (
    LOSSES,
    chosen_tensors,
    is_gradient,
    needs_of,
    tensor_label,
)

_COLLECTIONS = ("gradients", "weights", "biases", "outputs")
_PARAMETERS = ("weights", "biases")
_MAY_BE_INFINITE = "outputs"  # masks and log(0) are infinite on purpose
_REFUSED = "refused-step"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ExplodingTensor.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    lost_losses: int = 3  # in a row; a single one may be a batch that the script discards


LIMITS = Calibration()


@dataclass(frozen=True)
class _NonFinite:
    """Non-finite values of a scalar or tensor."""

    step: int
    name: str
    nans: float
    infinities: float
    worker: int | None = None
    stays: bool = False  # a weight that is not finite stays that way

    @property
    def kind(self) -> str:
        """The kind of value, for messages."""
        return "NaN" if self.nans else "infinite"


class ExplodingTensor(Rule):
    """A loss, gradient or weight is NaN or infinite.

    Why it matters: Nothing is learned from then on, and later checkpoints are useless.
    How it decides:
    - A loss, gradient, gradient norm, weight or output is NaN, or infinite (except outputs, which
      masks make infinite on purpose).
    - Steps that a gradient scaler skips and weights that are infinite from the start (masks) do not
      count.
    - Critical if a weight, 3 losses in a row or the last loss of the job are affected, or if an
      optimizer step was refused because of non-finite gradients; otherwise a warning.
    - Classic: any such value in the selected tensors, always critical.
    What to do: Lower the learning rate or clip gradients. Look for a division, logarithm or square
    root of zero at the reported location. In half precision, use bfloat16 or a gradient scaler.
    Check the input.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    only_nan: bool = False

    section = Section.MODEL
    calibration = LIMITS
    needs = (Losses(), *(Statistics(item) for item in _COLLECTIONS))
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 4
    sees_end = True  # a job that is stopped before damage never finishes the step
    stops_before_damage = True
    explains = ("LossNotDecreasing", "LossDiverging", "LossSpike", "GradientNormSpike")

    @property
    def needed(self) -> tuple[Need, ...]:
        """Return the selected tensors; by default the loss, gradients, parameters and outputs."""
        if self.collection_names is None and self.tensor_regex is None:
            return self.needs
        return needs_of(self.collection_names, self.tensor_regex)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Look for non-finite values in the recorded scalars and tensors."""
        refused = window.observations(_REFUSED)
        if refused:
            window.count(len(refused))
            yield self._refused_finding(refused, _origin(window))
            return
        if self.is_classic:
            for problem in sorted(self._find_in_selected(window), key=lambda item: item.step):
                yield self._finding(
                    [problem], _origin(window), Severity.CRITICAL, subject=problem.name
                )
            return
        skipped = _skipped_steps(window)
        lost = self._count_lost_losses(window, skipped, state.of("losses"))
        problems = [
            problem
            for problem in self._find_problems(window, state.of("weights"))
            if problem.step not in skipped
        ]
        if not problems:
            state.pop("first", None)
            return
        problems.sort(key=_sort_key)
        first_state = state.of("first")
        first = _NonFinite(**first_state["bad"]) if first_state else problems[0]
        first_state["bad"] = asdict(first)
        first_state["origin"] = first_state.get("origin") or _origin(window)
        is_lost = (
            lost >= LIMITS.lost_losses
            or (window.is_last and lost)
            or any(problem.stays for problem in problems)
        )
        severity = Severity.CRITICAL if is_lost else Severity.WARNING
        yield self._finding(
            [first, *problems], first_state["origin"], severity, subject="non-finite"
        )

    def _refused_finding(self, refused: Sequence[Observation], origin: str) -> Finding:
        """Report that the job was stopped before an optimizer used non-finite gradients."""
        first = min(refused, key=lambda item: (not item.subject, item.step, item.worker))
        names = list(RefusedStep.of(first).parameters)
        owner = f" of {first.subject}" if names else ""
        origin_text = f" First seen in the {origin}." if origin else ""
        return self.finding(
            f"The gradients{owner} are not finite at step {first.step}. The job was stopped before "
            f"the optimizer used them.{origin_text}",
            severity=Severity.CRITICAL,
            step=first.step,
            time_ns=(first.time_ns, first.time_ns),
            tensor=f"gradient/{names[0]}" if names else None,
            worker=first.worker,
            subject="non-finite",
            evidence={"tensors": names, "origin": origin},
        )

    def _find_problems(self, window: Window, initial_infinities: State) -> Iterator[_NonFinite]:
        if self.collection_names is not None or self.tensor_regex is not None:
            yield from self._find_in_selected(window)
            return
        for curve in (*window.losses(), *window.scalars("gradient_norm*")):
            yield from self._find_in_curve(curve)
        by_collection = {name: window.tensors(name, each_worker=True) for name in _COLLECTIONS}
        parameters = [tensor for name in _PARAMETERS for tensor in by_collection[name]]
        _count_initial_infinities(parameters, initial_infinities)
        if not _are_finite([tensor for tensors in by_collection.values() for tensor in tensors]):
            yield from self._find_in_tensors(by_collection, initial_infinities)

    def _find_in_tensors(
        self, by_collection: Mapping[str, Sequence[WindowTensor]], initial_infinities: State
    ) -> Iterator[_NonFinite]:
        for name, tensors in by_collection.items():
            if name in _PARAMETERS:
                yield from self._find_in_weights(tensors, initial_infinities)
            else:
                only_nan = self.only_nan or name == _MAY_BE_INFINITE
                for tensor in tensors:
                    yield from _find_in_tensor(tensor, only_nan=only_nan)

    def _find_in_weights(
        self, tensors: Sequence[WindowTensor], initial_infinities: State
    ) -> Iterator[_NonFinite]:
        for tensor in tensors:
            for item in _find_in_tensor(tensor, only_nan=self.only_nan, stays=True):
                if item.nans or item.infinities > initial_infinities[tensor.name]:
                    yield item

    def _find_in_selected(self, window: Window) -> Iterator[_NonFinite]:
        names = self.collection_names
        if LOSSES in (names or ()) or (names is None and self.tensor_regex is None):
            for curve in window.losses():
                yield from self._find_in_curve(curve)
        tensors = chosen_tensors(window, names, self.tensor_regex, each_worker=True)
        window.count(sum(len(tensor.steps) for tensor in tensors))
        for tensor in tensors:
            yield from _find_in_tensor(tensor, only_nan=self.only_nan)

    def _find_in_curve(self, curve: Curve) -> Iterator[_NonFinite]:
        for index in np.flatnonzero(~np.isfinite(curve.values)).tolist():
            is_nan = bool(np.isnan(curve.values[index]))
            if is_nan or not self.only_nan:
                counts = (float(is_nan), float(not is_nan))
                yield _NonFinite(int(curve.steps[index]), curve.name, *counts)

    def _count_lost_losses(self, window: Window, skipped: set[int], state: State) -> int:
        """Return how many losses in a row, up to the last one, are not finite."""
        for curve in window.losses():
            if np.isfinite(curve.values).all():
                state[curve.name] = 0
                continue
            for step, value in curve:
                if step not in skipped:
                    is_lost = not np.isfinite(value)
                    state[curve.name] = state.get(curve.name, 0) + 1 if is_lost else 0
        return max((int(item) for item in state.values()), default=0)

    def _finding(
        self, problems: list[_NonFinite], origin: str, severity: Severity, subject: str
    ) -> Finding:
        first = problems[0]
        names = list(dict.fromkeys(problem.name for problem in problems))
        count = len(names) - 1
        more = f" ({pluralize(count, 'more tensor')} affected)" if count else ""
        origin_text = f" First seen in the {origin}." if origin else ""
        return self.finding(
            f"{tensor_label(first.name)} is {first.kind} at step {first.step}{more}.{origin_text}",
            severity=severity,
            step=(first.step, max(problem.step for problem in problems)),
            tensor=first.name,
            worker=first.worker,
            subject=subject,
            evidence={
                "nans": first.nans,
                "infinities": first.infinities,
                "tensors": names[:8],
                "origin": origin,
            },
        )


def _sort_key(problem: _NonFinite) -> tuple[int, int]:
    """Sort by step, and within a step in the order of computation: loss, gradients, others."""
    name = problem.name
    rank = 0 if name.startswith("loss") else 1 if is_gradient(name) else 2
    return problem.step, rank


def _count_initial_infinities(weights: Sequence[WindowTensor], counts: State) -> None:
    """Record how many values of each weight are infinite from the start, as in masks."""
    for tensor in weights:
        if tensor.name not in counts:
            counts[tensor.name] = int(tensor.rows.columns["infinities"][0])


def _are_finite(tensors: Sequence[WindowTensor]) -> bool:
    """Whether all values are finite; fast, because this is the common case."""
    columns = ("nans", "infinities") if tensors else ()
    return not any(column_of_all(tensors, name).any() for name in columns)


def _find_in_tensor(
    tensor: WindowTensor, *, only_nan: bool, stays: bool = False
) -> Iterator[_NonFinite]:
    nans, infinities = tensor.rows.columns["nans"], tensor.rows.columns["infinities"]
    if not nans.any() and (only_nan or not infinities.any()):
        return
    if only_nan:
        infinities = np.zeros_like(infinities)
    for index in np.flatnonzero(nans + infinities).tolist():
        counts = (float(nans[index]), float(infinities[index]))
        yield _NonFinite(int(tensor.steps[index]), tensor.name, *counts, tensor.worker, stays)


def _skipped_steps(window: Window) -> set[int]:
    """Return the steps whose update a gradient scaler skipped because of non-finite gradients."""
    tables: Iterable[set[int]] = (
        set(table.steps[table.is_skipped].tolist()) for table in window.steps()
    )
    return set().union(*tables)


def _origin(window: Window) -> str:
    """Return the place where the hook saw the first non-finite value; empty if unknown."""
    for observation in window.observations("first-non-finite"):
        source = NonFiniteSource.of(observation)
        if source.content != FINITE:
            role = source.role or TensorRole.MODEL
            return (
                observation.subject
                if observation.subject.startswith(role)
                else f"{role} {observation.subject}"
            )
    return ""
