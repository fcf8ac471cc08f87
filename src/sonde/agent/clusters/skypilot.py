"""SkyPilot: each machine runs the command of the task."""

from collections.abc import Mapping, Sequence

from sonde.agent.clusters._cluster import Cluster, Part, number


class SkyPilot(Cluster):
    """A task; a managed job keeps its task ID when it is recovered."""

    def part(self, variables: Mapping[str, str], command: Sequence[str]) -> Part | None:
        """The task."""
        del command
        task = variables.get("SKYPILOT_TASK_ID")
        if task is None:
            return None
        nodes = number(variables, "SKYPILOT_NUM_NODES")
        if nodes is None:
            nodes = len(variables.get("SKYPILOT_NODE_IPS", "").split()) or None
        return Part(group=task, nodes=nodes, restarts=True)
