"""NoGradient: the way from the loss to a parameter is cut."""

from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
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
# Steps without a gradient of a layer that may have its turn only now and then.
_LONG = 200
_CLEARED = "cleared"
_AT_ONCE = ("cut", "untracked", "frozen", "side", _CLEARED)
_LOUD = ("cut", "untracked", _CLEARED)
_WHY = {
    "cut": ". Its layer is run, and what it gives is cut off from the loss",
    "untracked": ". Its layer runs under no_grad(){place}, with weights that never learned",
    "frozen": ". Its layer runs under no_grad(){place}, though an optimizer has its parameters",
    "side": ". Its layer is run, and the loss does not use what it gives",
    "unused": ". Its layer is never run",
}


class NoGradient(Rule):
    """A parameter gets no gradient, step after step, while others of the model do.

    Why it matters: it never learns. A detach(), a trip through numpy, an argmax or a no_grad() that
    was left in the forward pass cuts off everything in front of it, and the rest learns around it.
    How it decides: the hook says which parameters of an optimizer had no gradient in six steps in
    a row, how their layer was used meanwhile, and when they get one. Layers that are run before all
    others that learn are cut off: that is said at once. So it is where an optimizer steps with
    nothing, because gradients are cleared after the backward pass; and of a layer that runs under
    no_grad() at every step, with parameters that require a gradient and that an optimizer has. That
    is a hint only where its weights were loaded or have learned before: then it may be frozen on
    purpose. A hint, too, is a layer behind others that learn whose output the loss does not use;
    and, after 200 steps, one that is never run: it may have its turn now and then, or be left over
    from what the model was made for. Layers with requires_grad = False, parameters that no
    optimizer has, and copies that somebody else moves are left alone.
    What to do: look for detach(), .data, .item(), .numpy(), argmax or no_grad() between this layer
    and the loss; if it is meant to be frozen, set requires_grad to False; if nobody uses it, remove
    it.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 1
    skips_quiet: ClassVar[bool] = True
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
            elif one.subject not in stands and one.detail != "frozen":
                since = max(0, one.step - int(one.value) + 1)
                use, _, place = one.detail.partition(" ")
                known = State(since=since, worker=one.worker, use=use, place=place)
                stands[one.subject] = known
        names = [name for name in stands if self._is_sure(stands[name], window)]
        # what matters most comes first
        names.sort(key=lambda name: stands[name]["use"] not in _LOUD)
        if not names:
            yield from over(self, state, _KIND)
        elif names != state.get("names") or is_told_again(window):
            told(state, _KIND)
            yield self._found(names, window, state)
        state["names"] = names

    def _is_sure(self, one: State, window: Window) -> bool:
        if one["use"] in _AT_ONCE:
            return True
        return (window.first_step or 0) - int(one["since"]) >= _LONG

    def _found(self, names: list[str], window: Window, state: State) -> Finding:
        stands = state.of("stands")
        others = sum(name.startswith("gradient/") for name in window.data.infos())
        first = min(int(stands[name]["since"]) for name in names)
        is_cut = any(stands[name]["use"] in _LOUD for name in names)
        place = stands[names[0]].get("place", "")
        why = _WHY.get(stands[names[0]]["use"], "").format(place=place and f" at {place}")
        told = (
            f"{names_in_words(names)} got no gradient since step {first}, while "
            f"{others} others did{why}."
        )
        if stands[names[0]]["use"] == _CLEARED:
            told = (
                f"Since step {first} the optimizer steps with nothing: gradients are cleared after "
                "the backward pass and before step()."
            )
        return self.finding(
            told,
            severity=Severity.WARNING if is_cut else Severity.INFO,
            step=(first, max(first, window.first_step or 0)),
            tensor=names[0],
            worker=stands[names[0]]["worker"],
            subject=_KIND,
            evidence={
                "tensors": some(names),
                "count": len(names),
                "others": others,
                "is_cut": is_cut,
            },
        )
