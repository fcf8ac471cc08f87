"""Requests to a running job, and the replies of its nodes and workers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class RequestKind(StrEnum):
    """The kinds of requests."""

    STOP = "stop"
    SET = "set"
    PROFILE = "profile"  # answered by the workers
    PLACE = "place"  # the current step; answered by the workers

    @property
    def is_for_workers(self) -> bool:
        """Whether workers answer the request, instead of nodes."""
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
    """The reply of one node or worker to a request."""

    request_id: str
    node: str
    time_ns: int
    is_done: bool
    message: str
