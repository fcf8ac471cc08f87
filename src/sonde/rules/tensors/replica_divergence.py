"""ReplicaDivergence: workers that should hold the same model do not."""

from collections import Counter
from collections.abc import Iterator
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.rules._rule import Rule, State
from sonde.rules.tensors._standing import begin_leg, is_told_again, over, told

_CHECKSUM = ObservationKind.REPLICA_CHECKSUM.value
_FINGERPRINT = ObservationKind.REPLICA_FINGERPRINT.value
_KINDS = (_FINGERPRINT, _CHECKSUM)  # in this order: what the first tells, the other need not
_WRAPPED = "wrapped "  # so begins what fingerprints were taken of
_KEPT_EQUAL = 3  # checks with other weights each, after which nobody doubts that it is meant so
_OWN_WAYS = 3  # checks in a row, of models that no wrapper keeps equal
_OWN_STEPS = 100  # that they last: who averages weights now and then lets them part between
_OWN_STEPS_AT_END = 50  # of a job that is over: nobody has averaged them
_MOST_WAITING = 64  # checks of which not all workers have spoken

Sums = dict[str, str | float]  # by worker


class ReplicaDivergence(Rule):
    """The parameters of data-parallel workers, which should be equal, are not.

    Why it matters: the workers train different models and average gradients that do not belong
    together; the checkpoint of one of them is not what was trained.
    How it decides: all workers record a checksum of the parameters at the same steps, and of a few
    bytes in host memory at every step. Critical: a model that DistributedDataParallel wraps or has
    wrapped, or that was equal at 3 checks, differs after it was equal. Warning: a wrapped model
    differs from the first check on, or a model that began equal differs for 100 steps and 3 checks
    in a row (50 steps where the job ends so). Not applied to sharded models and to PyTorch's
    post-local SGD.
    What to do: look for what one worker does alone before that step: a branch on the rank, a layer
    that was replaced or loaded after wrapping, a parameter that is changed by hand, different
    optimizer settings, a hardware fault. Without a wrapper: wrap the model.
    """

    needs = (Observations(_FINGERPRINT), Observations(_CHECKSUM))
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossDiverging", "LossSpike")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compares what all workers have told, step by step."""
        yield from begin_leg(self, window, state)
        ranks = len(window.leg.ranks)
        if ranks < 2:
            state["is_alone"] = True
            return
        is_again = is_told_again(window)
        for kind in _KINDS:
            observed = window.observations(kind)
            if not observed:
                continue
            waiting = state.of("waiting", kind)
            for one in observed:
                checksum, key = _told_by(one)
                sums = waiting.setdefault(key, {})
                sums[str(one.worker)] = checksum
                if len(sums) == ranks:
                    del waiting[key]
                    yield from self._compare(
                        one, sums, state, is_again=is_again, is_last=window.is_last
                    )
            if len(waiting) > _MOST_WAITING:
                for key in sorted(waiting, key=_step)[:-_MOST_WAITING]:
                    del waiting[key]

    def unfit(self, state: State) -> str:
        """One worker has nobody to differ from."""
        return "there is one worker only" if state.get("is_alone") else ""

    def _compare(
        self, one: Observation, sums: Sums, state: State, *, is_again: bool, is_last: bool
    ) -> Iterator[Finding]:
        model = state.of("models", one.subject)
        own = model.of(one.kind)
        own["checks"] = own.get("checks", 0) + 1
        if len(set(sums.values())) == 1:
            checksum = next(iter(sums.values()))
            if checksum != own.get("checksum"):
                own["kept"] = own.get("kept", 0) + 1
            own |= {"checksum": checksum, "apart": 0, "equal_step": one.step, "is_told": False}
            own.pop("since", None)
            if state.get("told") and not any(model.of(kind).get("is_told") for kind in _KINDS):
                yield from over(self, state, one.subject)
            return
        parted = model.setdefault("parted", [])
        if one.kind == _FINGERPRINT:
            model["parted"] = [*parted, one.step][-_MOST_WAITING:]
        elif one.step in parted:
            own["kept"] = 0
            return
        was_told = own.get("is_told", False)
        if self._is_amiss(one, own, _OWN_STEPS_AT_END if is_last else _OWN_STEPS):
            own["is_told"] = True
            told(state, one.subject)
            if is_again or not was_told or one.kind == _CHECKSUM:
                yield self._found(one, sums, own)

    def _is_amiss(self, one: Observation, own: State, least_steps: int) -> bool:
        """Whether models that differ should not."""
        own["apart"] = own.get("apart", 0) + 1
        own.setdefault("since", one.step)
        is_wrapped = one.detail.startswith(_WRAPPED) or (one.kind == _CHECKSUM and one.value == 1)
        own["is_certain"] = is_wrapped or own.get("kept", 0) >= _KEPT_EQUAL
        has_lasted = own["apart"] >= _OWN_WAYS and one.step - int(own["since"]) >= least_steps
        if own["is_certain"] or ("equal_step" in own and has_lasted):
            return True
        own["kept"] = 0
        return False

    def _found(self, one: Observation, sums: Sums, own: State) -> Finding:
        counts = Counter(sums.values())
        usual, _ = counts.most_common(1)[0]
        others = sorted(int(rank) for rank, checksum in sums.items() if checksum != usual)
        equal = own.get("equal_step")
        is_critical = own["is_certain"] and equal is not None
        before = "they were not equal before" if equal is None else f"equal at step {equal}"
        who = f"worker {others[0]}" if len(others) == 1 else f"workers {others[:8]}"
        who = f"{who} differs from the rest"
        if len(counts) == len(sums):
            who = f"{'every' if len(sums) > 2 else 'each'} worker has others"
        return self.finding(
            f"The weights of {one.subject} differ between workers since step {own['since']} "
            f"({before}): {who}.",
            severity=Severity.CRITICAL if is_critical else Severity.WARNING,
            step=(int(own["since"]), one.step),
            subject=one.subject,
            worker=others[0] if len(others) == 1 and len(sums) > 2 else None,
            evidence={
                "groups": len(counts),
                "workers": len(sums),
                "different": [float(other) for other in others],
                "last_equal_step": equal,
                "checks": own["checks"],
            },
        )


def _told_by(one: Observation) -> tuple[str | float, str]:
    """A checksum, and what it is compared by: fingerprints also by which bytes were read."""
    key = f"{one.step} {one.subject}"
    return (one.value, f"{key} {one.detail}") if one.kind == _FINGERPRINT else (one.detail, key)


def _step(key: str) -> int:
    return int(key.split(" ", 1)[0])
