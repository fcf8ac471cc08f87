"""The interface of a framework adapter; one file per framework implements it."""

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from sonde.hook.session import Session


class Adapter(ABC):
    """Reports the activity of a framework, which is already imported, to the session."""

    # the imports that the hook waits for: the adapter is attached after the first of them, and
    # `submodule_loaded` is called after the others. `make startup` copies them to sitecustomize.py
    awaits: ClassVar[tuple[str, ...]]

    @abstractmethod
    def attach(self, session: "Session") -> None:
        """Install the hooks."""

    def submodule_loaded(self, name: str) -> None:
        """Handle the import of a submodule of the framework, after the framework itself."""

    def adopt(self) -> None:
        """Find models and optimizers that the script created before the hooks were installed."""

    @abstractmethod
    def detach(self) -> None:
        """Remove the hooks."""
