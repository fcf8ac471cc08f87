"""Base class of the rules about system and framework metrics."""

from collections.abc import Mapping
from typing import Annotated, ClassVar

from sonde.rules._parameters import Between
from sonde.rules._rule import Rule


class ProfilingRule(Rule):
    """A rule whose parameter `scan_interval_us` sets the time between two evaluations."""

    scan_interval_us: Annotated[int, Between(100_000)] | None = None

    classic_defaults: ClassVar[Mapping[str, object]] = {"scan_interval_us": 60_000_000}

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scan_interval_us is not None:
            object.__setattr__(self, "window_seconds", self.scan_interval_us / 1e6)
