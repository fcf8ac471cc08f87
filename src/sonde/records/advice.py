"""What would make a job faster: remedies, the speed-up each should bring, and how sure that is."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

PREDICTS = "predicts_gains"  # in the summary of rules that do nothing else


class Basis(StrEnum):
    """How a speed-up was predicted, the most reliable first."""

    MEASURED = "measured"  # the remedy removes time that was measured
    MODELED = "modeled"  # computed from measured times, with assumptions about the remedy
    TYPICAL = "typical"  # from typical speed-ups of the operations that were measured


class Bottleneck(StrEnum):
    """What limits the speed; findings with the same bottleneck are one problem."""

    DATA = "data loading"
    HOST = "host"  # launches work too slowly for the device
    SYNCHRONIZATION = "synchronization"
    PRECISION = "precision"
    ATTENTION = "attention"
    DIMENSIONS = "dimensions"
    OPTIMIZER = "optimizer"
    COPIES = "copies"
    COMMUNICATION = "communication"
    COMPILATION = "compilation"
    MEMORY = "memory"
    CLOCK = "clock"
    CORES = "CPU cores"
    SHARED_DEVICE = "shared device"
    CHECKPOINTS = "checkpoints"
    EVALUATION = "evaluation"
    OUTPUT = "output"
    PYTHON = "Python code"


@dataclass(frozen=True, slots=True)
class Gain:
    """A predicted speed-up: training speed with the remedy, as a multiple of the current one."""

    speedup: float
    low: float
    high: float
    basis: Basis
    reason: str  # how it was predicted


@dataclass(frozen=True, slots=True)
class Remedy:
    """A change to the script or its environment."""

    title: str
    code: str = ""
    gain: Gain | None = None  # None if it cannot be predicted


@dataclass(frozen=True, slots=True)
class Improvement:
    """How training can become faster: what limits it, where, and remedies, the best first."""

    bottleneck: Bottleneck
    remedies: tuple[Remedy, ...]
    places: tuple[str, ...] = ()  # lines of the script, operators or kernels

    @property
    def speedup(self) -> float:
        """The largest predicted speed-up; 1 if none is predicted."""
        return largest_speedup(self.remedies)


@dataclass(frozen=True, slots=True)
class SpeedLimit:
    """How busy the resource is that sets the speed of training, in the summary of a rule."""

    busy_percent: float  # of the time of a step
    sentence: str

    def summary(self) -> dict[str, float | str]:
        """As values of a rule's summary."""
        return {"busy_percent": self.busy_percent, "speed_limit": self.sentence}

    @classmethod
    def of(cls, summary: Mapping[str, object]) -> "SpeedLimit | None":
        """Read it from a rule's summary; None if the rule has not measured it."""
        percent, sentence = summary.get("busy_percent"), summary.get("speed_limit")
        if not isinstance(percent, int | float) or not isinstance(sentence, str):
            return None
        return cls(float(percent), sentence)


@dataclass(frozen=True, slots=True)
class AdviceItem:
    """One problem that costs speed, with everything that rules found about it."""

    rule: str
    message: str
    bottleneck: Bottleneck
    remedies: tuple[Remedy, ...]
    findings: tuple[str, ...]  # ids of the findings
    rules: tuple[str, ...] = ()  # other rules with findings about the same bottleneck
    places: tuple[str, ...] = ()

    @property
    def speedup(self) -> float:
        """The largest predicted speed-up; 1 if none is predicted."""
        return largest_speedup(self.remedies)


@dataclass(frozen=True, slots=True)
class Advice:
    """What would make a job faster, the largest speed-up first."""

    sentence: str
    items: tuple[AdviceItem, ...] = ()
    details: tuple[str, ...] = ()  # how close to the limit the job is; what data is missing


def largest_speedup(remedies: Sequence[Remedy]) -> float:
    """The largest predicted speed-up; 1 if none is predicted."""
    return max((remedy.gain.speedup for remedy in remedies if remedy.gain), default=1.0)


def best_first(remedies: Sequence[Remedy]) -> tuple[Remedy, ...]:
    """Remedies by predicted speed-up; those without a prediction last."""
    return tuple(sorted(remedies, key=lambda remedy: -remedy.gain.speedup if remedy.gain else 0.0))
