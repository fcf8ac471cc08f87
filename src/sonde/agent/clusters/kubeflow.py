"""Kubeflow: TrainJob of the Trainer (v2), and PyTorchJob of the Training Operator (v1)."""

import re
from collections.abc import Mapping, Sequence

from sonde.agent.clusters._cluster import Cluster, Membership, number
from sonde.agent.clusters.torchrun import most_nodes

# the address of the first pod contains the name of the job
_FIRST_POD = re.compile(r"(?P<job>.+?)-(?:node-0-0|master-0|worker-0)(?:\..*)?$")


class Kubeflow(Cluster):
    """A TrainJob sets no ID for the rendezvous; the address of its first pod names the job."""

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The job, from an ID for torchrun or from the address of the first pod."""
        del command
        address = variables.get("PET_MASTER_ADDR") or variables.get("MASTER_ADDR", "")
        pod = _FIRST_POD.match(address)
        if pod is None and not any(name.startswith("PET_") for name in variables):
            return None
        job = pod["job"] if pod is not None else variables.get("PET_MASTER_ADDR")
        group = variables.get("PET_RDZV_ID", "none")
        nodes = most_nodes(variables.get("PET_NNODES"))
        return Membership(
            group=job if group == "none" else group,
            nodes=number(variables, "WORLD_SIZE") if nodes is None and pod is not None else nodes,
            restarts=pod is not None,
        )
