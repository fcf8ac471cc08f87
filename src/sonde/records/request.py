"""What a person, or an action, asks of a running job, and what each node answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RequestKind(StrEnum):
    """What can be asked."""

    STOP = "stop"
    SET = "set"
    PROFILE = "profile"  # of the workers, who answer it themselves
    PLACE = "place"  # at which step a worker is; the workers answer, too

    @property
    def is_for_workers(self) -> bool:
        """Whether workers answer it, not the nodes."""
        return self in (RequestKind.PROFILE, RequestKind.PLACE)


@dataclass(frozen=True, slots=True)
class Request:
    """One request to all nodes of a job."""

    id: str
    kind: RequestKind
    time_ns: int
    arguments: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Reply:
    """What one node, or one worker, did about a request."""

    request_id: str
    node: str
    time_ns: int
    is_done: bool
    message: str
