"""ReplicaDivergence: workers that should hold the same model do not."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, over, told

_KIND = ObservationKind.REPLICA_CHECKSUM.value
_KEPT_EQUAL = 3  # checks with other weights each, after which nobody doubts that it is meant so
_OWN_WAYS = 3  # checks in a row, of models that no wrapper keeps equal
_OWN_STEPS = 100  # that they last: who averages weights now and then lets them part between
_MOST_WAITING = 64  # checks of which not all workers have spoken


class ReplicaDivergence(Rule):
    """The parameters of data-parallel workers, which should be equal, are not.

    Why it matters: the workers train different models and average gradients that do not belong
    together; the checkpoint of one of them is not what was trained.
    How it decides: at the same steps all workers record a checksum of the model's parameters,
    equal only where every bit is. Critical where a wrapper (DistributedDataParallel) or the
    training itself had kept them equal and they are not any more. A warning where a wrapped model
    differs from the first check on, or where models that began equal go their own ways for 100
    steps and three checks in a row, although nothing was done to keep them apart. Sharded models
    are left out.
    What to do: look for what one worker does alone before that step: a branch on the rank, a layer
    that was replaced or loaded after wrapping, a parameter that is changed by hand, different
    optimizer settings, a hardware fault. Without a wrapper: wrap the model.
    """

    needs = (Observations(_KIND),)
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossDiverging", "LossSpike")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares the checksums of all workers, step by step."""
        yield from begin_leg(self, window, state)
        ranks = len(window.leg.ranks)
        if ranks < 2:
            state["is_alone"] = True
            return
        checks = state.of("checks")
        for one in window.observations(_KIND):
            key = f"{one.step} {one.subject}"
            sums = checks.of(key, "sums")
            sums[str(one.worker)] = one.detail
            if len(sums) == ranks:
                del checks[key]
                yield from self._compare(one.subject, one.step, bool(one.value), sums, state)
        for key in sorted(checks, key=_step)[:-_MOST_WAITING]:
            del checks[key]

    def unfit(self, state: State) -> str:
        """One worker has nobody to differ from."""
        return "there is one worker only" if state.get("is_alone") else ""

    def _compare(
        self, model: str, step: int, is_wrapped: bool, sums: State, state: State
    ) -> Iterator[Finding]:
        own = state.of("models", model)
        own["checks"] = own.get("checks", 0) + 1
        if len(set(sums.values())) == 1:
            checksum = next(iter(sums.values()))
            if checksum != own.get("checksum"):
                own["kept"] = own.get("kept", 0) + 1
            own |= {"checksum": checksum, "apart": 0, "equal_step": step}
            own.pop("since", None)
            yield from over(self, state, model)
            return
        own["apart"] = own.get("apart", 0) + 1
        own.setdefault("since", step)
        was_equal = "equal_step" in own
        is_certain = is_wrapped or own.get("kept", 0) >= _KEPT_EQUAL
        has_lasted = own["apart"] >= _OWN_WAYS and step - int(own["since"]) >= _OWN_STEPS
        if is_certain or (was_equal and has_lasted):
            told(state, model)
            severity = Severity.CRITICAL if is_certain and was_equal else Severity.WARNING
            yield self._found(model, step, sums, own, severity)
        else:
            own["kept"] = 0

    def _found(self, model: str, step: int, sums: State, own: State, severity: Severity) -> Finding:
        counts = Counter(sums.values())
        usual, _ = counts.most_common(1)[0]
        others = sorted(int(rank) for rank, one in sums.items() if one != usual)
        equal = own.get("equal_step")
        before = "they were not equal before" if equal is None else f"equal at step {equal}"
        who = f"worker {others[0]}" if len(others) == 1 else f"workers {others[:8]}"
        if len(counts) == len(sums):
            who = "every worker" if len(sums) > 2 else "each worker"
        return self.finding(
            f"The weights of {model} differ between workers since step {own['since']} ({before}): "
            f"{who} {'has others' if len(counts) == len(sums) else 'differs from the rest'}.",
            severity=severity,
            step=(int(own["since"]), step),
            subject=model,
            worker=others[0] if len(others) == 1 and len(sums) > 2 else None,
            evidence={
                "groups": len(counts),
                "workers": len(sums),
                "different": [float(one) for one in others],
                "last_equal_step": equal,
                "checks": own["checks"],
            },
        )


def _step(key: str) -> int:
    return int(key.split(" ", 1)[0])
