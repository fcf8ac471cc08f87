"""NoGradient: the way from the loss to a parameter is cut."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations, Statistics
from sonde.records.observation import ObservationKind
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import (
    begin_leg,
    is_told_again,
    names_in_words,
    over,
    some,
    told,
)

_KIND = ObservationKind.NO_GRADIENT.value
_PREFIX = "gradient/"
# Recorded steps without a gradient of a layer that may have its turn only now and then: one that
# is used at every fourth step is missed by all of them in one of thirty jobs.
_LOOKS = 12
_WHY = {
    "cut": ". Its layer is run, and what it gives is cut off from the loss",
    "side": ". Its layer is run, and the loss does not use what it gives",
    "unused": ". Its layer is never run",
}
_BEGINNING_STEPS = 200  # of which one has to know who has gradients when


class NoGradient(Rule):
    """A parameter gets no gradient, step after step, while others of the model do.

    Why it matters: it never learns. A detach(), a trip through numpy or an argmax in the forward
    pass cuts off everything in front of it, and the rest learns around that.
    How it decides: the hook says which parameters of an optimizer had no gradient in six steps in
    a row, how their layer was used meanwhile, and when they get one. Layers that are run before all
    others that learn are cut off: that is said at once. Others may have their turn now and then,
    as heads of several tasks do, or be left over from what a model was made for: there 12 recorded
    steps must be without a gradient, and it is a hint only. Layers with requires_grad = False and
    layers that are run under no_grad() are frozen on purpose.
    What to do: look for detach(), .data, .item(), .numpy() or argmax between this layer and the
    loss; if it is meant to be frozen, set requires_grad to False; if nobody uses it, remove it.
    """

    needs = (Observations(_KIND), Statistics("gradients"))
    window_steps: ClassVar[int] = 20
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("UnchangedTensor", "LossNotDecreasing")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Takes what the hook has found, and says what stands."""
        yield from begin_leg(self, window, state)
        window.count_watched_steps()
        stands = state.of("stands")
        for one in window.observations(_KIND):
            if one.detail == "over":
                stands.pop(one.subject, None)
            elif one.subject not in stands:
                since = max(0, one.step - int(one.value) + 1)
                stands[one.subject] = State(since=since, worker=one.worker, use=one.detail)
        self._learn(window, state)
        names = [name for name in stands if self._is_sure(name, state)]
        names.sort(key=lambda name: stands[name]["use"] != "cut")  # what matters most comes first
        if not names:
            yield from over(self, state, _KIND)
        elif names != state.get("names") or is_told_again(window):
            told(state, _KIND)
            yield self._found(names, window, state)
        state["names"] = names

    def _learn(self, window: Window, state: State) -> None:
        """At which steps gradients were recorded, and who has ever had one."""
        if (window.first_step or 0) >= _BEGINNING_STEPS and not state.of("stands"):
            return
        have, looks = state.setdefault("have", []), set(state.get("looks", []))
        for one in window.tensors("gradients"):
            name = one.name.removeprefix(_PREFIX)
            looks |= set(one.steps.tolist())
            if name not in have:
                have.append(name)
        state["looks"] = sorted(looks)[:_LOOKS]

    def _is_sure(self, name: str, state: State) -> bool:
        use = state.of("stands", name)["use"]
        if use == "frozen" or name in state["have"]:
            return False  # what has had a gradient is used now and then
        return use == "cut" or len(state["looks"]) >= _LOOKS

    def _found(self, names: list[str], window: Window, state: State) -> Finding:
        stands = state.of("stands")
        first = min(int(stands[name]["since"]) for name in names)
        is_cut = any(stands[name]["use"] == "cut" for name in names)
        why = _WHY.get(stands[names[0]]["use"], "")
        return self.finding(
            f"{names_in_words(names)} got no gradient since step {first}, while "
            f"{len(state['have'])} others did{why}.",
            severity=Severity.WARNING if is_cut else Severity.INFO,
            step=(first, max(first, window.first_step or 0)),
            tensor=names[0],
            worker=stands[names[0]]["worker"],
            subject=_KIND,
            evidence={
                "tensors": some(names),
                "count": len(names),
                "others": len(state["have"]),
                "is_cut": is_cut,
            },
        )
