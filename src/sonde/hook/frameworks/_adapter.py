"""What hooks a framework: the base of one file per framework."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sonde.hook.session import Session


class Adapter(ABC):
    """Sees what a framework does, and tells the session. The framework is imported already."""

    @abstractmethod
    def attach(self, session: "Session") -> None:
        """Puts the hooks in place."""

    def part_loaded(self, name: str) -> None:
        """Another awaited module of the framework has been imported."""

    def adopt(self) -> None:
        """Finds what the script has made before the hooks were there."""

    @abstractmethod
    def detach(self) -> None:
        """Takes them away again."""
