"""The base class of clusters and launchers."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto
from typing import ClassVar


class Level(IntEnum):
    """What a launcher starts; launchers are often nested."""

    CLUSTER = auto()  # starts machines or containers
    MPI = auto()  # starts processes on several machines
    TORCHRUN = auto()  # starts processes on one machine, by itself on each


@dataclass(frozen=True, slots=True)
class Membership:
    """What a launcher says about the part of a job that this process belongs to."""

    group: str | None = None  # the same on all machines of the job, and for no other job
    nodes: int | None = None  # the most machines that the job may have
    local_rank: int | None = None
    node: str | None = None  # if the cluster does not use the host name
    restarts: bool = False  # a job that failed is started again with the same group


class Cluster:
    """Recognizes the environment or the command of a cluster or launcher."""

    level: ClassVar[Level] = Level.CLUSTER

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """What the launcher has set; None if it did not start this process.

        Args:
            variables: Environment variables that are not empty.
            command: The command to run, which may start the launcher itself.
        """
        raise NotImplementedError


def number(variables: Mapping[str, str], *names: str) -> int | None:
    """The first of these variables, if it is a number."""
    value = next((variables[name] for name in names if name in variables), "")
    return int(value) if value.isdecimal() else None
