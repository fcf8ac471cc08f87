"""SkyPilot: each machine runs the command of the task."""

from collections.abc import Mapping, Sequence

from sonde.agent.clusters._cluster import Cluster, Membership, number


class SkyPilot(Cluster):
    """A task; a managed job keeps its task ID when it is recovered."""

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The task."""
        del command
        task = variables.get("SKYPILOT_TASK_ID")
        if task is None:
            return None
        nodes = number(variables, "SKYPILOT_NUM_NODES")
        if nodes is None:
            nodes = len(variables.get("SKYPILOT_NODE_IPS", "").split()) or None
        return Membership(group=task, nodes=nodes, restarts=True)
