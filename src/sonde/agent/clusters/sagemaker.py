"""Amazon SageMaker training jobs: each machine runs the command of the container."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from sonde.agent.clusters._cluster import Cluster, Membership

_RESOURCES = Path("/opt/ml/input/config/resourceconfig.json")


class SageMaker(Cluster):
    """The variables of the training toolkit, or the file that every container has."""

    def membership(self, variables: Mapping[str, str], command: Sequence[str]) -> Membership | None:
        """The training job; machines have names such as `algo-1`."""
        del command
        resources = _resources()
        hosts = _list(variables.get("SM_HOSTS", "")) or resources.get("hosts", [])
        node = variables.get("SM_CURRENT_HOST") or resources.get("current_host")
        job = variables.get("TRAINING_JOB_NAME") or variables.get("SAGEMAKER_JOB_NAME")
        if not hosts:
            return None
        return Membership(group=job, nodes=len(hosts), node=node)


def _list(text: str) -> list[Any]:
    with suppress(ValueError):
        value = json.loads(text)
        return value if isinstance(value, list) else []
    return []


def _resources() -> dict[str, Any]:
    with suppress(OSError, ValueError):
        value = json.loads(_RESOURCES.read_text(encoding="utf-8"))
        return value if isinstance(value, dict) else {}
    return {}
