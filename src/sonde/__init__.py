"""Monitor, profile and debug training jobs, from system metrics down to single tensors.

Public names are resolved on first use, so that `import sonde` inside a training process loads no
server, data frames, framework or Arrow.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.actions import Action as Action
    from sonde.agent.system import Collector as Collector
    from sonde.client.in_process import load_ipython_extension as load_ipython_extension
    from sonde.client.in_process import start as start
    from sonde.client.in_process import stop as stop
    from sonde.client.in_process import unload_ipython_extension as unload_ipython_extension
    from sonde.client.job import Job as Job
    from sonde.client.job import list_jobs as list_jobs
    from sonde.client.job import open_job as open_job
    from sonde.errors import SondeError as SondeError
    from sonde.hook.script import current_job as current_job
    from sonde.hook.script import flush as flush
    from sonde.hook.script import log as log
    from sonde.hook.script import mode as mode
    from sonde.hook.script import phase as phase
    from sonde.hook.script import profile as profile
    from sonde.hook.script import save as save
    from sonde.hook.script import step as step
    from sonde.records.finding import Finding as Finding
    from sonde.records.finding import Severity as Severity
    from sonde.records.need import Losses as Losses
    from sonde.records.need import Metric as Metric
    from sonde.records.need import Observations as Observations
    from sonde.records.need import Operations as Operations
    from sonde.records.need import Scalars as Scalars
    from sonde.records.need import Statistics as Statistics
    from sonde.records.need import Steps as Steps
    from sonde.rules import Rule as Rule
    from sonde.rules._decorator import rule as rule

__version__ = "0.1.0"

_MODULES = {
    "Action": "sonde.actions",
    "Collector": "sonde.agent.system",
    "Finding": "sonde.records.finding",
    "Job": "sonde.client.job",
    "Losses": "sonde.records.need",
    "Metric": "sonde.records.need",
    "Observations": "sonde.records.need",
    "Operations": "sonde.records.need",
    "Rule": "sonde.rules",
    "Scalars": "sonde.records.need",
    "Severity": "sonde.records.finding",
    "SondeError": "sonde.errors",
    "Statistics": "sonde.records.need",
    "Steps": "sonde.records.need",
    "current_job": "sonde.hook.script",
    "flush": "sonde.hook.script",
    "list_jobs": "sonde.client.job",
    "load_ipython_extension": "sonde.client.in_process",
    "log": "sonde.hook.script",
    "mode": "sonde.hook.script",
    "open_job": "sonde.client.job",
    "phase": "sonde.hook.script",
    "profile": "sonde.hook.script",
    "rule": "sonde.rules._decorator",
    "save": "sonde.hook.script",
    "start": "sonde.client.in_process",
    "step": "sonde.hook.script",
    "stop": "sonde.client.in_process",
    "unload_ipython_extension": "sonde.client.in_process",
}

__all__ = [
    "Action",
    "Collector",
    "Finding",
    "Job",
    "Losses",
    "Metric",
    "Observations",
    "Operations",
    "Rule",
    "Scalars",
    "Severity",
    "SondeError",
    "Statistics",
    "Steps",
    "current_job",
    "flush",
    "list_jobs",
    "log",
    "mode",
    "open_job",
    "phase",
    "profile",
    "rule",
    "save",
    "start",
    "step",
    "stop",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module 'sonde' has no attribute {name!r}")
    value = globals()[name] = getattr(import_module(_MODULES[name]), name)
    return value
