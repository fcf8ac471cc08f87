"""The position of this process among the machines and processes of a job."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sonde.agent.clusters import CLUSTERS
from sonde.settings import current_variables, host_name


@dataclass(frozen=True, slots=True)
class Placement:
    """The position of this process among the machines and processes of a job."""

    node: str
    group: str | None = None  # the cluster's ID of the job, if any
    nodes: int = 1
    local_rank: int = 0  # above 0: another launcher samples this machine
    restarts: bool = False  # the cluster starts a job again after a failure, with the same group


def placement(command: Sequence[str] = ()) -> Placement:
    """The position of this process, from what clusters and launchers have set.

    The outermost launcher names the job; the innermost knows the process.

    Args:
        command: The command to run, which may start a launcher itself.
    """
    variables = {name: value for name, value in current_variables().items() if value}
    clusters = [CLUSTERS.load(name)() for name in CLUSTERS.names()]
    by_level = sorted(clusters, key=lambda cluster: cluster.level)
    answers = [cluster.membership(variables, command) for cluster in by_level]
    levels = [answer for answer in answers if answer is not None]
    ranks = [level.local_rank for level in levels if level.local_rank is not None]
    named = next((level for level in levels if level.group is not None), None)
    host = next((level.node for level in levels if level.node), None) or host_name()
    host = re.sub(r"[^A-Za-z0-9._-]", "-", host)
    local_rank = ranks[-1] if ranks else 0
    return Placement(
        node=f"{host}.{local_rank}" if local_rank else host,
        group=named.group if named is not None else None,
        nodes=max([1, *(level.nodes for level in levels if level.nodes is not None)]),
        local_rank=local_rank,
        restarts=named is not None and named.restarts,
    )
