"""Clusters and launchers that start one job on several machines, one file each."""

from sonde.agent.clusters._cluster import Cluster, Level, Membership
from sonde.plugins import Slot

CLUSTERS: Slot[Cluster] = Slot(__name__, Cluster)

__all__ = ["CLUSTERS", "Cluster", "Level", "Membership"]
