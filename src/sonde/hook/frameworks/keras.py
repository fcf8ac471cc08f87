"""Keras: chooses the hooks that suit the backend of this process."""

from importlib import import_module

from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.session import Session


class Keras(Adapter):
    """Reports trainings by `fit`, evaluations, and updates of Keras optimizers."""

    awaits = ("keras.src.backend.torch.trainer",)

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        # imported here, because it imports the framework
        self._hooks: Adapter = import_module("sonde.hook.keras.on_torch").KerasOnTorch()
        self._hooks.attach(session)

    def detach(self) -> None:
        """Remove the hooks."""
        self._hooks.detach()
