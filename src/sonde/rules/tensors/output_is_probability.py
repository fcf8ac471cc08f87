"""OutputIsProbability: a loss that wants logits is given probabilities."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding
from sonde.records.need import Observations
from sonde.records.shortfall import DataUnit, Shortfall
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, is_told_again, over, told

_KIND = "probabilities-as-logits"
_BINARY = "binary"  # in the names of losses that apply a sigmoid themselves
_NEARLY_ALL = 0.99  # of the rows: they sum to one up to rounding
_ROWS = 8
_MADE_BY = ("Sigmoid", "Softmax")  # operations that give nothing else
_IN_A_ROW = 2  # looks
_BINARY_LOOKS = 10  # logits of an untrained model may lie between 0 and 1 by chance
_BINARY_STEPS = 60


class OutputIsProbability(Rule):
    """The loss expects logits and is given probabilities: softmax or sigmoid is applied twice.

    Why it matters: the second softmax flattens everything: with ten classes the loss cannot fall
    below 1.46, gradients are small, and training is slow or stops early.
    How it decides: the hook looks at what goes into losses that apply softmax or sigmoid
    themselves. Rows of several numbers that are never negative and all sum to one are
    probabilities: 2 looks in a row suffice. So does what the graph of a loss of the script's own
    tells: that a softmax goes into a log_softmax. Numbers between 0 and 1 in front of a sigmoid may
    be small logits of an untrained model: there it must be known that a sigmoid gave them, or all
    of 10 looks over 60 steps must be such.
    What to do: give the loss what the last layer returns, without softmax or sigmoid; apply them
    only where predictions are read.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossNotDecreasing",)

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Follows what went into each loss."""
        yield from begin_leg(self, window, state)
        losses = state.of("losses")
        for one in window.observations(_KIND):
            rows, classes = (int(one.facts.get(name, 0)) for name in ("rows", "classes"))
            if _BINARY not in one.subject and (classes < 2 or rows < 1):
                continue
            own = losses.of(one.subject)
            if one.step == own.get("seen"):
                continue  # of another worker
            own["seen"] = one.step
            own["looks"] = own.get("looks", 0) + 1
            if one.value < _NEARLY_ALL:
                own |= {"row": 0, "rows": 0, "was_other": True}
                yield from over(self, state, one.subject)
                continue
            if not own.get("row"):
                own["since"] = one.step
            own |= {"row": own.get("row", 0) + 1, "rows": own.get("rows", 0) + rows}
            own["by"] = str(one.facts.get("by", ""))
            own |= {"last": one.step, "classes": classes, "share": one.value, "worker": one.worker}
        for name in losses:
            own = losses.of(name)
            is_new = name not in state.get("told", [])
            if _is_sure(name, own) and (is_new or is_told_again(window)):
                told(state, name)
                yield self._found(name, own)

    def lacks(self, state: State) -> str | Shortfall:
        """How many looks are missing."""
        found = state.of("losses").items()
        needed = {name: _BINARY_LOOKS if _BINARY in name else _IN_A_ROW for name, _ in found}
        if any(one["looks"] >= needed[name] or one.get("was_other") for name, one in found):
            return ""
        seen = max((int(one["looks"]) for _, one in found), default=0)
        return Shortfall(seen, min(needed.values(), default=_IN_A_ROW), DataUnit.INSPECTIONS)

    def _found(self, name: str, own: State) -> Finding:
        takes = "the logarithms of them" if name == "nll_loss" else "logits"
        what = "lie between 0 and 1" if _BINARY in name else "are not negative and sum to 1"
        return self.finding(
            f"{name} is given probabilities: {100 * own['share']:.0f} % of the rows {what} "
            f"({own['rows']} rows of {own['classes']}), and it takes {takes}.",
            step=(int(own["since"]), int(own["last"])),
            subject=name,
            worker=own["worker"],
            evidence={
                "share": own["share"],
                "rows": own["rows"],
                "classes": own["classes"],
                "looks": own["row"],
            },
        )


def _is_sure(name: str, own: State) -> bool:
    if _BINARY not in name or any(word in own.get("by", "") for word in _MADE_BY):
        return bool(own.get("row", 0) >= _IN_A_ROW and own["rows"] >= _ROWS)
    lasted = own.get("last", 0) - own.get("since", 0)
    is_always = own.get("row", 0) >= _BINARY_LOOKS and not own.get("was_other")
    return bool(is_always and lasted >= _BINARY_STEPS)
