"""ReplicaDivergence: the parameters of data-parallel workers differ."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from sonde.read.job_data import Observation
from sonde.read.window import Window
from sonde.records.finding import Finding, Severity
from sonde.records.need import Observations
from sonde.records.observation import ObservationKind
from sonde.records.observations.replicas import ReplicaChecksum, ReplicaFingerprint
from sonde.rules._rule import Rule, Section, State
from sonde.rules.measures.open_faults import begin_attempt, is_repeat_due, mark_open, resolve

_CHECKSUM = ObservationKind.REPLICA_CHECKSUM.value
_FINGERPRINT = ObservationKind.REPLICA_FINGERPRINT.value
_KINDS = (_FINGERPRINT, _CHECKSUM)  # checksums skip what fingerprints have reported

Checksums = dict[str, str | float]  # by worker


@dataclass(frozen=True, slots=True)
class Calibration:
    """Thresholds of ReplicaDivergence.

    Chosen by hand on the calibration programs (tests/faults) unless a comment says otherwise.
    """

    equal_checks: int = 3  # with different weights each; then workers should be equal
    checks_in_a_row: int = 3  # for models without a wrapper
    min_steps: int = 100  # periodic weight averaging lets workers differ in between
    min_steps_at_end: int = 50  # if the job has ended
    max_waiting: int = 64  # checks that some workers have not reported yet


LIMITS = Calibration()


class ReplicaDivergence(Rule):
    """The parameters of data-parallel workers differ although they should be equal.

    Why it matters: The workers train different models and average gradients that do not belong
    together. The checkpoint of one worker is not the model that was trained.
    How it decides:
    - All workers record a checksum of the parameters at the same steps, and a fingerprint of a few
      bytes in host memory at every step.
    - Critical: a model that DistributedDataParallel wraps or has wrapped, or that was equal at 3
      checks, differs after it was equal.
    - Warning: a wrapped model differs from the first check on, or a model that started equal
      differs for 100 steps and 3 checks in a row (50 steps at the end of the job).
    - Not applied to jobs with one worker, sharded models and PyTorch's post-local SGD.
    What to do: Look for what one worker does alone before that step: a branch on the rank, a layer
    that was replaced or loaded after wrapping, a parameter changed by hand, different optimizer
    settings, or a hardware fault. Without a wrapper: wrap the model.
    """

    section = Section.TRAINING
    calibration = LIMITS
    needs = (Observations(_FINGERPRINT), Observations(_CHECKSUM))
    window_steps: ClassVar[int] = 2
    skips_quiet: ClassVar[bool] = True
    recovers_after: ClassVar[int] = 0
    explains: ClassVar[tuple[str, ...]] = ("LossDiverging", "LossSpike")

    def check(self, window: Window, state: State) -> Iterator[Finding]:
        """Compare the checksums of all workers, step by step."""
        yield from begin_attempt(self, window, state)
        ranks = len(window.attempt.ranks)
        if ranks < 2:
            state["is_alone"] = True
            return
        is_repeat = is_repeat_due(window)
        for kind in _KINDS:
            observations = window.observations(kind)
            if not observations:
                continue
            waiting = state.of("waiting", kind)
            for observation in observations:
                checksum, key = _checksum_and_key(observation)
                checksums = waiting.setdefault(key, {})
                checksums[str(observation.worker)] = checksum
                if len(checksums) == ranks:
                    del waiting[key]
                    yield from self._compare(
                        observation, checksums, state, is_repeat=is_repeat, is_last=window.is_last
                    )
            if len(waiting) > LIMITS.max_waiting:
                for key in sorted(waiting, key=_step)[: -LIMITS.max_waiting]:
                    del waiting[key]

    def unfit(self, state: State) -> str:
        """Return a reason if the job has only one worker."""
        return "the job has only one worker" if state.get("is_alone") else ""

    def _compare(
        self,
        observation: Observation,
        checksums: Checksums,
        state: State,
        *,
        is_repeat: bool,
        is_last: bool,
    ) -> Iterator[Finding]:
        model = state.of("models", observation.subject)
        check_state = model.of(observation.kind)
        check_state["checks"] = check_state.get("checks", 0) + 1
        if len(set(checksums.values())) == 1:
            checksum = next(iter(checksums.values()))
            if checksum != check_state.get("checksum"):
                check_state["kept"] = check_state.get("kept", 0) + 1
            check_state |= {
                "checksum": checksum,
                "apart": 0,
                "equal_step": observation.step,
                "is_told": False,
            }
            check_state.pop("since", None)
            if state.get("told") and not any(model.of(kind).get("is_told") for kind in _KINDS):
                yield from resolve(self, state, observation.subject)
            return
        reported_steps = model.setdefault("parted", [])
        if observation.kind == _FINGERPRINT:
            model["parted"] = [*reported_steps, observation.step][-LIMITS.max_waiting :]
        elif observation.step in reported_steps:
            check_state["kept"] = 0
            return
        was_reported = check_state.get("is_told", False)
        min_steps = LIMITS.min_steps_at_end if is_last else LIMITS.min_steps
        if self._is_fault(observation, check_state, min_steps):
            check_state["is_told"] = True
            mark_open(state, observation.subject)
            if is_repeat or not was_reported or observation.kind == _CHECKSUM:
                yield self._finding(observation, checksums, check_state)

    def _is_fault(self, observation: Observation, state: State, min_steps: int) -> bool:
        """Whether models that differ should be equal."""
        state["apart"] = state.get("apart", 0) + 1
        state.setdefault("since", observation.step)
        kind = ReplicaChecksum if observation.kind == _CHECKSUM else ReplicaFingerprint
        is_wrapped = kind.of(observation).is_wrapped
        state["is_certain"] = is_wrapped or state.get("kept", 0) >= LIMITS.equal_checks
        has_lasted = (
            state["apart"] >= LIMITS.checks_in_a_row
            and observation.step - int(state["since"]) >= min_steps
        )
        if state["is_certain"] or ("equal_step" in state and has_lasted):
            return True
        state["kept"] = 0
        return False

    def _finding(self, observation: Observation, checksums: Checksums, state: State) -> Finding:
        counts = Counter(checksums.values())
        typical, _ = counts.most_common(1)[0]
        different = sorted(int(rank) for rank, checksum in checksums.items() if checksum != typical)
        equal_step = state.get("equal_step")
        is_critical = state["is_certain"] and equal_step is not None
        history = "never equal before" if equal_step is None else f"last equal at step {equal_step}"
        workers = f"worker {different[0]}" if len(different) == 1 else f"workers {different[:8]}"
        description = f"{workers} differ{'s' if len(different) == 1 else ''} from the rest"
        if len(counts) == len(checksums):
            description = "all workers have different weights"
        return self.finding(
            f"The weights of {observation.subject} have differed between workers since step "
            f"{state['since']} ({history}): {description}.",
            severity=Severity.CRITICAL if is_critical else Severity.WARNING,
            step=(int(state["since"]), observation.step),
            subject=observation.subject,
            worker=different[0] if len(different) == 1 and len(checksums) > 2 else None,
            evidence={
                "groups": len(counts),
                "workers": len(checksums),
                "different": [float(rank) for rank in different],
                "last_equal_step": equal_step,
                "checks": state["checks"],
            },
        )


def _checksum_and_key(observation: Observation) -> tuple[str | float, str]:
    """Return a checksum and its key; only fingerprints of the same bytes share a key."""
    key = f"{observation.step} {observation.subject}"
    if observation.kind == _CHECKSUM:
        return ReplicaChecksum.of(observation).checksum, key
    source = ReplicaFingerprint.of(observation)
    wrapping = "wrapped " if source.is_wrapped else ""
    return observation.value, f"{key} {wrapping}{' '.join(map(str, source.parameters))}"


def _step(key: str) -> int:
    return int(key.split(" ", 1)[0])
