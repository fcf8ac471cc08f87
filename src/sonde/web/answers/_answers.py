"""The base types of API endpoints."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sonde.web.query_params import Query
from sonde.web.replies import Reply


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A path below `/api`, such as `/jobs/{job}/series`, and its handler.

    The handler runs in a thread and may block. A SondeError that it raises becomes an error
    reply whose status depends on the error's type.
    """

    path: str
    handler: Callable[[Query], Reply]
    method: str = "GET"
    is_cached: bool = True  # cache the reply if the job has ended


class EndpointGroup(ABC):
    """The endpoints of one subject. To add a group, add a file to this folder."""

    @abstractmethod
    def endpoints(self) -> Sequence[Endpoint]:
        """The endpoints of this group."""
