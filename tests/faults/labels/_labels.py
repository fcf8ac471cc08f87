"""The shape of one set of labels."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from tests.faults.program import Fault, Parameters


@dataclass(frozen=True)
class Labels:
    """What is wrong in each program of a set, and how its programs are run."""

    faults: Mapping[str, Fault]
    healthy_but_odd: tuple[str, ...] = ()  # hard negatives
    workers: Mapping[str, int] = field(default_factory=dict)  # where there is more than one
    parameters: Mapping[str, Parameters] = field(default_factory=dict)  # of rules
    compared_by: Mapping[str, str] = field(default_factory=dict)  # rule that needs a second run
    disk_mib: Mapping[str, int] = field(default_factory=dict)  # size of a disk of its own
    neighbors: Mapping[str, int] = field(default_factory=dict)  # other processes on its cores
