"""ExplodingTensor: values that are no numbers any more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sonde.read.curves import Curve
from sonde.read.job_data import Observation
from sonde.read.window import Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Losses, Need, Statistics
from sonde.rules._parameters import Regex
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.tensor_columns import column_of_all
from sonde.rules.measures.tensor_selection import LOSSES, chosen_tensors, layer_of, needs_of

_LOOKED_AT = ("gradients", "weights", "biases", "outputs")
_STAY = ("weights", "biases")
_MAY_BE_INFINITE = "outputs"  # a mask or a log-probability of nought is infinite on purpose
_REFUSED = "refused-step"


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ExplodingTensor.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    lost_losses: int = 3  # in a row; a single one may be a batch that the script discards


LIMITS = Calibration()


@dataclass(frozen=True)
class _Bad:
    """Non-finite values of a scalar or tensor."""

    step: int
    name: str
    nans: float
    infinities: float
    worker: int | None = None
    stays: bool = False  # a weight that is not finite never becomes so again

    @property
    def what(self) -> str:
        """In a word."""
        return "NaN" if self.nans else "infinite"


class ExplodingTensor(Rule):
    """A loss, gradient or weight is NaN or infinite.

    Why it matters: Nothing is learned from then on, and what is saved is worthless.
    How it decides:
    - A loss, gradient, gradient norm, weight or output is NaN, or infinite (except outputs, which
      masks make infinite on purpose).
    - Steps that a gradient scaler skips do not count.
    - Critical if a weight or 3 losses in a row are affected, or if an optimizer step was refused
      because of non-finite gradients; otherwise a warning.
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
    needs = (Losses(), *(Statistics(item) for item in _LOOKED_AT))
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 4
    sees_end = True  # a job that is stopped before damage never finishes the step
    stops_before_damage = True
    explains = ("LossNotDecreasing", "LossDiverging", "LossSpike", "GradientNormSpike")

    @property
    def needed(self) -> tuple[Need, ...]:
        """What was chosen, else what is looked at by default."""
        if self.collection_names is None and self.tensor_regex is None:
            return self.needs
        return needs_of(self.collection_names, self.tensor_regex)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Looks for them in everything that was recorded."""
        refused = window.observations(_REFUSED)
        if refused:
            window.count(len(refused))
            yield self._refused(refused, _origin(window))
            return
        if self.is_classic:
            for entry in sorted(self._in_chosen(window), key=lambda item: item.step):
                yield self._finding([entry], _origin(window), Severity.CRITICAL, subject=entry.name)
            return
        skipped = _skipped_steps(window)
        lost = self._lost_in_a_row(window, skipped, state.of("losses"))
        anywhere = self._anywhere(window, state.of("weights"))
        bad = [result for result in anywhere if result.step not in skipped]
        if not bad:
            state.pop("first", None)
            return
        bad.sort(key=_order)
        first_state = state.of("first")
        first = _Bad(**first_state["bad"]) if first_state else bad[0]
        first_state["bad"] = asdict(first)
        first_state["origin"] = first_state.get("origin") or _origin(window)
        is_lost = (
            lost >= LIMITS.lost_losses
            or (window.is_last and lost)
            or any(problem.stays for problem in bad)
        )
        severity = Severity.CRITICAL if is_lost else Severity.WARNING
        yield self._finding([first, *bad], first_state["origin"], severity, subject="non-finite")

    def _refused(self, refused: Sequence[Observation], origin: str) -> Finding:
        """The job was stopped before an optimizer used non-finite gradients."""
        first = min(refused, key=lambda name: (not name.subject, name.step, name.worker))
        names = first.subject.split(", ") if first.subject else []
        whose = f" of {first.subject}" if names else ""
        come = f" First seen in the {origin}." if origin else ""
        return self.finding(
            f"The gradients{whose} are not finite at step {first.step}. The job was stopped before "
            f"the optimizer used them.{come}",
            severity=Severity.CRITICAL,
            step=first.step,
            time_ns=(first.time_ns, first.time_ns),
            tensor=f"gradient/{names[0]}" if names else None,
            worker=first.worker,
            subject="non-finite",
            evidence={"tensors": names, "origin": origin},
        )

    def _anywhere(self, window: Window, born: State) -> Iterator[_Bad]:
        if self.collection_names is not None or self.tensor_regex is not None:
            yield from self._in_chosen(window)
            return
        for curve in (*window.losses(), *window.scalars("gradient_norm*")):
            yield from self._in_curve(curve)
        result = {name: window.tensors(name, each_worker=True) for name in _LOOKED_AT}
        _remember([tensor for name in _STAY for tensor in result[name]], born)
        if not _are_finite([tensor for tensors in result.values() for tensor in tensors]):
            yield from self._in_tensors(result, born)

    def _in_tensors(
        self, by_collection: Mapping[str, Sequence[WindowTensor]], born: State
    ) -> Iterator[_Bad]:
        for name, tensors in by_collection.items():
            if name in _STAY:
                yield from self._in_weights(tensors, born)
            else:
                only_nan = self.only_nan or name == _MAY_BE_INFINITE
                for tensor in tensors:
                    yield from _in_tensor(tensor, only_nan=only_nan)

    def _in_weights(self, tensors: Sequence[WindowTensor], born: State) -> Iterator[_Bad]:
        for tensor in tensors:
            for item in _in_tensor(tensor, only_nan=self.only_nan, stays=True):
                if item.nans or item.infinities > born[tensor.name]:
                    yield item

    def _in_chosen(self, window: Window) -> Iterator[_Bad]:
        names = self.collection_names
        if LOSSES in (names or ()) or (names is None and self.tensor_regex is None):
            for curve in window.losses():
                yield from self._in_curve(curve)
        tensors = chosen_tensors(window, names, self.tensor_regex, each_worker=True)
        window.count(sum(len(tensor.steps) for tensor in tensors))
        for tensor in tensors:
            yield from _in_tensor(tensor, only_nan=self.only_nan)

    def _in_curve(self, curve: Curve) -> Iterator[_Bad]:
        for index in np.flatnonzero(~np.isfinite(curve.values)).tolist():
            is_nan = bool(np.isnan(curve.values[index]))
            if is_nan or not self.only_nan:
                counts = (float(is_nan), float(not is_nan))
                yield _Bad(int(curve.steps[index]), curve.name, *counts)

    def _lost_in_a_row(self, window: Window, skipped: set[int], state: State) -> int:
        """How many losses in a row, up to the last one, are not finite."""
        for curve in window.losses():
            if np.isfinite(curve.values).all():
                state[curve.name] = 0
                continue
            for step, value in curve:
                if step not in skipped:
                    is_lost = not np.isfinite(value)
                    state[curve.name] = state.get(curve.name, 0) + 1 if is_lost else 0
        return max((int(item) for item in state.values()), default=0)

    def _finding(self, bad: list[_Bad], origin: str, severity: Severity, subject: str) -> Finding:
        first = bad[0]
        names = list(dict.fromkeys(problem.name for problem in bad))
        remaining_names = f" ({len(names) - 1} more tensors affected)" if len(names) > 1 else ""
        come = f" First seen in the {origin}." if origin else ""
        return self.finding(
            f"{_called(first.name)} is {first.what} at step {first.step}{remaining_names}.{come}",
            severity=severity,
            step=(first.step, max(problem.step for problem in bad)),
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


def _order(bad: _Bad) -> tuple[int, int]:
    """The earliest first; at one step what comes first in it."""
    rank = 0 if bad.name.startswith("loss") else 1 if bad.name.startswith("gradient/") else 2
    return bad.step, rank


def _remember(weights: Sequence[WindowTensor], born: State) -> None:
    """Whether it is a mask among the weights, which is infinite from the start."""
    for tensor in weights:
        if tensor.name not in born:
            born[tensor.name] = int(tensor.rows.columns["infinities"][0])


def _are_finite(tensors: Sequence[WindowTensor]) -> bool:
    """Whether there is nothing to look for, as mostly."""
    columns = ("nans", "infinities") if tensors else ()
    return not any(column_of_all(tensors, name).any() for name in columns)


def _in_tensor(tensor: WindowTensor, *, only_nan: bool, stays: bool = False) -> Iterator[_Bad]:
    nans, infinities = tensor.rows.columns["nans"], tensor.rows.columns["infinities"]
    if not nans.any() and (only_nan or not infinities.any()):
        return
    if only_nan:
        infinities = np.zeros_like(infinities)
    for index in np.flatnonzero(nans + infinities).tolist():
        counts = (float(nans[index]), float(infinities[index]))
        yield _Bad(int(tensor.steps[index]), tensor.name, *counts, tensor.worker, stays)


def _skipped_steps(window: Window) -> set[int]:
    """Steps whose updates a gradient scaler has left out because they were not finite."""
    tables: Iterable[set[int]] = (
        set(table.steps[table.is_skipped].tolist()) for table in window.steps()
    )
    return set().union(*tables)


def _origin(window: Window) -> str:
    """Where the hook has seen it begin."""
    for observation in window.observations("first-non-finite"):
        facts = observation.facts
        if facts.get("found") != "finite":
            index = str(facts.get("in", "model"))
            return (
                observation.subject
                if observation.subject.startswith(index)
                else f"{index} {observation.subject}"
            )
    return ""


def _called(name: str) -> str:
    return f"the gradient of {layer_of(name)}" if name.startswith("gradient/") else name
