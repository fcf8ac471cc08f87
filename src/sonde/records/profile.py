"""The words for deep looks at a few steps: kinds of profiles, windows, and what they hold."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ProfileKind(StrEnum):
    """What a profiler looks at; each has a file of its own."""

    OPERATORS = "operators"
    DATALOADER = "dataloader"
    PYTHON = "python"
    DISTRIBUTED = "distributed"
    MEMORY = "memory"


class OperationCategory(StrEnum):
    """What kind of operation a row of a profile is."""

    OPERATOR = "operator"  # of the framework, on the host
    KERNEL = "kernel"  # on a device, as the four that follow
    COPY = "copy"
    SET = "set"
    RUNTIME = "runtime"  # the host calls the device's driver
    ANNOTATION = "annotation"  # a stretch that somebody named: a module, a phase, a step
    COLLECTIVE = "collective"  # workers exchange something
    LOADING = "loading"  # a data loader at work
    PYTHON = "python"  # a call of a function
    OVERHEAD = "overhead"  # the profiler itself
    OTHER = "other"


DEVICE_CATEGORIES = (OperationCategory.KERNEL, OperationCategory.COPY, OperationCategory.SET)
NO_CORRELATION = -1


@dataclass(frozen=True, slots=True)
class Window:
    """Some steps, or a stretch of time, in which a profiler looks deeper."""

    kind: ProfileKind
    start_step: int | None = None  # a training step
    num_steps: int = 1  # 0: until somebody ends it
    start_seconds: float | None = None  # since training began
    duration_seconds: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # of that kind of profiler
    by: str = "plan"  # who asked for it: plan, request, script, a rule's name


@dataclass(frozen=True, slots=True)
class RunningWindow:
    """A window that is open just now."""

    kind: ProfileKind
    first_step: int
    last_step: int | None  # None: nobody knows yet
    start_ns: int
    by: str
