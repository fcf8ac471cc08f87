"""Sonde watches a training job from the outside, from the inside and down to its tensors.

The public names are resolved when first used, so that `import sonde` inside a training process
loads no server, no data frames, no framework and no Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.client.job import Job as Job
    from sonde.client.job import list_jobs as list_jobs
    from sonde.client.job import open_job as open_job
    from sonde.collect.system import Collector as Collector
    from sonde.errors import SondeError as SondeError

__version__ = "0.1.0"

_HOMES = {
    "Collector": "sonde.collect.system",
    "Job": "sonde.client.job",
    "SondeError": "sonde.errors",
    "list_jobs": "sonde.client.job",
    "open_job": "sonde.client.job",
}

__all__ = ["Collector", "Job", "SondeError", "list_jobs", "open_job"]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'sonde' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
