"""Slurm: `srun sonde run …`, or `sonde run …` in a batch script."""

from collections.abc import Mapping, Sequence

from sonde.agent.clusters._cluster import Cluster, Membership, number


class Slurm(Cluster):
    """A job, a task of an array, or a later step of either."""

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The job and its step; a requeued job keeps its number."""
        del command
        job = variables.get("SLURM_JOB_ID")
        if job is None:
            return None
        if {"SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"} <= variables.keys():
            job = f"{variables['SLURM_ARRAY_JOB_ID']}_{variables['SLURM_ARRAY_TASK_ID']}"
        step = number(variables, "SLURM_STEP_ID")
        sizes = ("SLURM_STEP_NUM_NODES",) if step is not None else ()
        return Membership(
            group=f"{job}.{step}" if step else job,
            nodes=number(variables, *sizes, "SLURM_NNODES", "SLURM_JOB_NUM_NODES"),
            local_rank=number(variables, "SLURM_LOCALID"),
            restarts=bool(number(variables, "SLURM_RESTART_COUNT")),
        )
