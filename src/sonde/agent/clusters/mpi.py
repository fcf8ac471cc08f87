"""MPI: `mpirun sonde run …` with Open MPI, MPICH or Intel MPI."""

from collections.abc import Mapping, Sequence
from math import ceil

from sonde.agent.clusters._cluster import Cluster, Level, Membership, number

# the number of processes, those on this machine, and the rank there
_VARIABLES = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("PMI_SIZE", "MPI_LOCALNRANKS", "MPI_LOCALRANKID"),
)


class Mpi(Cluster):
    """MPI counts processes, not machines."""

    level = Level.MPI

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The job of the process manager, and the number of machines it needs."""
        del command
        for names in _VARIABLES:
            size, local_size, local_rank = (number(variables, name) for name in names)
            if size is not None or local_rank is not None:
                nodes = None if size is None else ceil(size / max(1, local_size or 1))
                ids = ("PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid")
                group = next((variables[name] for name in ids if name in variables), None)
                return Membership(group=group, nodes=nodes, local_rank=local_rank)
        return None
