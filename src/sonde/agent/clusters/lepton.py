"""Batch jobs of NVIDIA DGX Cloud Lepton: each worker runs the command of the job."""

from collections.abc import Mapping, Sequence

from sonde.agent.clusters._cluster import Cluster, Membership, number


class Lepton(Cluster):
    """A batch job."""

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The job."""
        del command
        job = variables.get("LEPTON_JOB_NAME")
        if job is None:
            return None
        return Membership(
            group=job, nodes=number(variables, "LEPTON_JOB_TOTAL_WORKERS"), restarts=True
        )
