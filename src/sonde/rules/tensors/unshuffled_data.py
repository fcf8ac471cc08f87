"""UnshuffledData: batches hold one kind of samples after the other."""

from collections.abc import Iterator
from typing import ClassVar

import numpy as np

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules._trainings import begin_leg, is_playing
from sonde.rules.tensors._waves import MOST_MEANS, Wave, is_order, is_patchwork, wave_of

_KIND, _MEANS = "label-batch", "batch-means"
_INPUT = "input"
_LEAST_SAMPLES = 4
_LOOKS = 6
_MOST_LOOKS = 64
_PURE = 0.85  # of a batch, in the mean: where two classes meet a batch has both
_CLASSES = 2
_ALL_SAME = 0.7  # of all labels: so lopsided data makes such batches by itself
_IN_ORDER = 0.8  # of the changes of class from look to look go in one direction


class UnshuffledData(Rule):
    """Batches come in the order of their labels: each holds one class, one after the other.

    Why it matters: the model learns to say the class of the moment and forgets it with the next;
    the loss goes up and down with the epoch, and batch normalization learns the statistics of one
    class at a time.
    How it decides: from the labels of single batches. At least 6 batches have nearly one class
    each, while several classes are seen in all, and these follow each other in order. Or from the
    means of labels and inputs, batch by batch, over two epochs and a half: they differ by far more
    than chance allows, change slowly from batch to batch, and do so again in the next epoch. Series
    in which a sample is like the one before, batches of one class in any order, as some samplers
    make them on purpose, data that has hardly any other class, what changes once or never comes
    back, such as a curriculum, labels of several losses that are looked at in turn, and models that
    play are left alone.
    What to do: DataLoader(..., shuffle=True), or shuffle the files once before training; with a
    streamed dataset use a shuffle buffer larger than a class.
    """

    needs = (Observations(_KIND), Observations(_MEANS))
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing", "LossSpike")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows which classes the batches of each worker have, and the means of the first's."""
        begin_leg(window, state)
        yield from self._by_means(window, state)
        latest = {}
        for one in window.observations(_KIND):
            if one.value >= _LEAST_SAMPLES and one.facts:
                self._take(one, state.of("workers", one.worker))
                latest[one.worker] = one
        for worker, one in latest.items():
            yield from self._judged(one, state.of("workers", worker))

    def lacks(self, state: State) -> str | Shortfall:
        """How many looks are missing."""
        seen = max((len(own["purity"]) for own in state.of("workers").values()), default=0)
        if any(one.get("is_judged") for one in state.of("means").values()):
            return ""
        return "" if seen >= _LOOKS else Shortfall(seen, _LOOKS, DataUnit.INSPECTIONS)

    def _by_means(self, window: Window, state: State) -> Iterator[Finding]:
        told = window.observations(_MEANS)
        if told and is_playing(window):
            state["plays"] = True
        latest = {}
        for one in () if state.get("plays") else told:
            own = state.of("means", one.subject)
            if one.worker == own.setdefault("worker", one.worker):
                _take_means(one, own)
                latest[one.subject] = one
        for subject, one in latest.items():
            own = state.of("means", subject)
            # labels are alike from row to row in blocks of one class, too: inputs tell better
            rough = (state.of("means").get(_INPUT) or own)["rough"]
            chance = own["within"] / own["size"]
            wave = wave_of(own["values"], chance)
            own["is_judged"] = own.get("is_judged", False) or wave is not None
            if wave is None or not is_order(wave, own["within"], rough):
                continue
            if not is_patchwork(own["values"], own["lengths"], chance):
                yield self._found_wave(one, wave, own)

    def _found_wave(self, one: Observation, wave: Wave, own: State) -> Finding:
        share = wave.variance / (wave.variance + own["within"])
        return self.finding(
            f"Batches follow an order that comes again every {wave.period} batches: "
            f"{100 * share:.0f} % of the variance of the {one.subject} is that between batches; "
            f"of shuffled ones it would be {100 / own['size']:.1g} %.",
            step=(int(own["first"]), one.step),
            subject=f"{one.subject}/{one.worker}",
            worker=one.worker,
            evidence={
                "period": wave.period,
                "share": share,
                "again": wave.again,
                "batches": len(own["values"]),
            },
        )

    def _judged(self, last: Observation, state: State) -> Iterator[Finding]:
        if len(state["purity"]) < _LOOKS:
            return
        counts = np.array(list(state.of("counts").values()), dtype=np.float64)
        purity = float(np.mean(state["purity"]))
        is_pure = purity >= _PURE and len(counts) >= _CLASSES
        if is_pure and counts.max() < _ALL_SAME * counts.sum() and _is_in_order(state["classes"]):
            yield self._found(purity, last, state)
        elif purity < _PURE:
            yield self.recovered(f"labels/{last.worker}")

    def _take(self, one: Observation, state: State) -> None:
        labels = {name: float(count) for name, count in one.facts.items()}
        most = max(labels, key=lambda name: labels[name])
        total = sum(labels.values())
        for name, values in (("purity", labels[most] / total), ("classes", int(most))):
            state[name] = [*state.get(name, []), values][-_MOST_LOOKS:]
        state.setdefault("first", one.step)
        # a look stands for the steps since the one before: at the beginning there are many of them
        weight = max(1, one.step - state.get("last", one.step))
        state["last"] = one.step
        counts = state.of("counts")
        for label, count in labels.items():
            counts[label] = counts.get(label, 0.0) + weight * count / total

    def _found(self, purity: float, last: Observation, state: State) -> Finding:
        classes = state["classes"]
        order = ", ".join(str(one) for one in classes[:12])
        return self.finding(
            f"Batches hold nearly one class each ({100 * purity:.0f} % of their labels), one class "
            f"after the other: {order}.",
            step=(int(state["first"]), last.step),
            subject=f"labels/{last.worker}",
            worker=last.worker,
            evidence={
                "purity": purity,
                "classes": [float(one) for one in classes],
                "batches": len(classes),
            },
        )


def _take_means(one: Observation, own: State) -> None:
    own.setdefault("first", max(0, one.step - round(one.value) + 1))
    own["values"] = [*own.get("values", []), *one.facts["means"]][-MOST_MEANS:]
    own["lengths"] = [*own.get("lengths", []), len(one.facts["means"])][-MOST_MEANS:]
    own["size"] = float(one.facts["size"])
    for name in ("within", "rough"):
        known = own.get(name)
        value = float(one.facts[name])
        own[name] = value if known is None else known + (value - known) / 2


def _is_in_order(classes: list[int]) -> bool:
    """Whether classes follow each other in one direction, but for where an epoch begins again."""
    changes = np.diff(np.array(classes))
    changes = changes[changes != 0]
    if not len(changes):
        return False
    return bool(max(float(np.mean(changes > 0)), float(np.mean(changes < 0))) >= _IN_ORDER)
