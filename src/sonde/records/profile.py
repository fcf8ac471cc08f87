"""Profiling windows, and the kinds of profiles and operations they record."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class ProfileKind(StrEnum):
    """The kinds of profilers, each in its own module."""

    OPERATORS = "operators"
    DATALOADER = "dataloader"
    PYTHON = "python"
    DISTRIBUTED = "distributed"
    MEMORY = "memory"


class OperationCategory(StrEnum):
    """The category of a profiled operation."""

    OPERATOR = "operator"  # of the framework, on the CPU
    KERNEL = "kernel"  # on a device
    COPY = "copy"
    SET = "set"
    RUNTIME = "runtime"  # a CPU call into the device driver
    ANNOTATION = "annotation"  # a named range: a module, a phase, a step
    COLLECTIVE = "collective"  # communication between workers
    LOADING = "loading"  # a data loader's operation
    PYTHON = "python"  # a function call
    OVERHEAD = "overhead"  # of the profiler
    OTHER = "other"


DEVICE_CATEGORIES = (OperationCategory.KERNEL, OperationCategory.COPY, OperationCategory.SET)
NO_CORRELATION = -1


@dataclass(frozen=True, slots=True)
class Window:
    """The steps or the time range in which a profiler runs."""

    kind: ProfileKind
    start_step: int | None = None  # a training step
    num_steps: int = 1  # 0: until it is stopped
    start_seconds: float | None = None  # since training began
    duration_seconds: float | None = None
    options: Mapping[str, str] = field(default_factory=dict)  # profiler options
    by: str = "plan"  # requested by: plan, request, script, or a rule's name


@dataclass(frozen=True, slots=True)
class RunningWindow:
    """A window that is currently open."""

    kind: ProfileKind
    first_step: int
    last_step: int | None  # None: not known yet
    start_ns: int
    by: str
