"""ExplodingTensor: values that are no numbers any more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from sonde.read.job_data import Observation
from sonde.read.window import Curve, Window, WindowTensor
from sonde.records.finding import Finding, Severity
from sonde.records.need import Losses, Need, Statistics
from sonde.rules._parameters import Regex
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._chosen import LOSSES, chosen_tensors, layer_of, needs_of
from sonde.rules.tensors._together import column_of_all

_LOOKED_AT = ("gradients", "weights", "biases", "outputs")
_STAY = ("weights", "biases")
_MAY_BE_INFINITE = "outputs"  # a mask or a log-probability of nought is infinite on purpose
_REFUSED = "refused-step"
_LOST = 3  # losses in a row: one alone may be a batch that the script throws away


@dataclass(frozen=True)
class _Bad:
    """One value, or some values of a tensor, that are not finite."""

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
    """A loss, a gradient or a weight is NaN or infinite.

    Why it matters: nothing is learned from then on, and what is saved is worthless.
    How it decides: classic fires wherever a recorded tensor, or the loss, holds such a value.
    Calibrated looks at losses, gradients, weights and outputs (there only at NaN: masks are
    infinite on purpose), leaves out steps that a gradient scaler skips, since it tries them out,
    and says `critical` once a weight or three losses in a row are lost. An optimizer step that was
    refused because of non-finite gradients is always `critical`.
    What to do: lower the learning rate or clip gradients; look for a division, a logarithm or a
    root of nought at the place that is named; with half precision use bfloat16 or a gradient
    scaler; check the input.
    """

    collection_names: tuple[str, ...] | None = None
    tensor_regex: Regex | None = None
    only_nan: bool = False

    needs = (Losses(), *(Statistics(one) for one in _LOOKED_AT))
    window_steps: ClassVar[int] = 10
    recovers_after: ClassVar[int] = 4
    sees_end = True  # a job that is stopped before damage never finishes the step
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
            for one in sorted(self._in_chosen(window), key=lambda one: one.step):
                yield self._found([one], _origin(window), Severity.CRITICAL, subject=one.name)
            return
        skipped = _skipped_steps(window)
        lost = self._lost_in_a_row(window, skipped, state.of("losses"))
        found = self._anywhere(window, state.of("weights"))
        bad = [one for one in found if one.step not in skipped]
        if not bad:
            state.pop("first", None)
            return
        bad.sort(key=_order)
        known = state.of("first")
        first = _Bad(**known["bad"]) if known else bad[0]
        known["bad"] = asdict(first)
        known["origin"] = known.get("origin") or _origin(window)
        is_lost = lost >= _LOST or (window.is_last and lost) or any(one.stays for one in bad)
        severity = Severity.CRITICAL if is_lost else Severity.WARNING
        yield self._found([first, *bad], known["origin"], severity, subject="non-finite")

    def _refused(self, refused: Sequence[Observation], origin: str) -> Finding:
        """The job was stopped before an optimizer used non-finite gradients."""
        first = min(refused, key=lambda one: (not one.subject, one.step, one.worker))
        names = first.subject.split(", ") if first.subject else []
        whose = f" of {first.subject}" if names else ""
        come = f" They came from the {origin}." if origin else ""
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
        found = {name: window.tensors(name, each_worker=True) for name in _LOOKED_AT}
        _remember([tensor for name in _STAY for tensor in found[name]], born)
        if not _are_finite([tensor for tensors in found.values() for tensor in tensors]):
            yield from self._in_tensors(found, born)

    def _in_tensors(
        self, found: Mapping[str, Sequence[WindowTensor]], born: State
    ) -> Iterator[_Bad]:
        for name, tensors in found.items():
            if name in _STAY:
                yield from self._in_weights(tensors, born)
            else:
                only_nan = self.only_nan or name == _MAY_BE_INFINITE
                for tensor in tensors:
                    yield from _in_tensor(tensor, only_nan=only_nan)

    def _in_weights(self, tensors: Sequence[WindowTensor], born: State) -> Iterator[_Bad]:
        for tensor in tensors:
            for one in _in_tensor(tensor, only_nan=self.only_nan, stays=True):
                if one.nans or one.infinities > born[tensor.name]:
                    yield one

    def _in_chosen(self, window: Window) -> Iterator[_Bad]:
        names = self.collection_names
        if LOSSES in (names or ()) or (names is None and self.tensor_regex is None):
            for curve in window.losses():
                yield from self._in_curve(curve)
        tensors = chosen_tensors(window, names, self.tensor_regex, each_worker=True)
        window.count(sum(len(one.steps) for one in tensors))
        for tensor in tensors:
            yield from _in_tensor(tensor, only_nan=self.only_nan)

    def _in_curve(self, curve: Curve) -> Iterator[_Bad]:
        for place in np.flatnonzero(~np.isfinite(curve.values)).tolist():
            is_nan = bool(np.isnan(curve.values[place]))
            if is_nan or not self.only_nan:
                counts = (float(is_nan), float(not is_nan))
                yield _Bad(int(curve.steps[place]), curve.name, *counts)

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
        return max((int(one) for one in state.values()), default=0)

    def _found(self, bad: list[_Bad], origin: str, severity: Severity, subject: str) -> Finding:
        first = bad[0]
        names = list(dict.fromkeys(one.name for one in bad))
        others = f" (and {len(names) - 1} more tensors)" if len(names) > 1 else ""
        come = f" It came from the {origin}." if origin else ""
        return self.finding(
            f"{_called(first.name)} is {first.what} at step {first.step}{others}.{come}",
            severity=severity,
            step=(first.step, max(one.step for one in bad)),
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
    """A mask that somebody keeps among the weights was never anything but infinite."""
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
    for place in np.flatnonzero(nans + infinities).tolist():
        counts = (float(nans[place]), float(infinities[place]))
        yield _Bad(int(tensor.steps[place]), tensor.name, *counts, tensor.worker, stays)


def _skipped_steps(window: Window) -> set[int]:
    """Steps whose updates a gradient scaler has left out because they were not finite."""
    tables: Iterable[set[int]] = (
        set(table.steps[table.is_skipped].tolist()) for table in window.steps()
    )
    return set().union(*tables)


def _origin(window: Window) -> str:
    """Where the hook has seen it begin."""
    for one in window.observations("first-non-finite"):
        told = one.facts
        if told.get("found") != "finite":
            place = str(told.get("in", "model"))
            return one.subject if one.subject.startswith(place) else f"{place} {one.subject}"
    return ""


def _called(name: str) -> str:
    return f"the gradient of {layer_of(name)}" if name.startswith("gradient/") else name
