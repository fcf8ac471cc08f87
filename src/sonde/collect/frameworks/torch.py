"""PyTorch: steps, phases, losses and tensors of a loop that knows nothing of us."""

import sys

import torch

from sonde.collect.frameworks._adapter import Adapter
from sonde.collect.session import Session
from sonde.collect.steps import FinishedStep
from sonde.collect.torch.data import Waiting
from sonde.collect.torch.gather import Gather
from sonde.collect.torch.loop import TrainingLoop
from sonde.collect.torch.losses import Losses
from sonde.collect.torch.marks import Marks
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names
from sonde.collect.torch.norms import Norms
from sonde.collect.torch.patches import Patches
from sonde.collect.torch.records import Records
from sonde.collect.torch.scalars import Scalars


class PyTorch(Adapter):
    """Puts the parts together, one set of them per process."""

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Puts the hooks in place."""
        session.framework = "torch"
        session.versions = {"torch": str(torch.__version__), "python": sys.version.split()[0]}
        self._names = Names()
        marks = Marks(session)
        self._modules = Modules(session, self._names, marks)
        scalars = Scalars(session)
        losses = Losses(session, scalars)
        self._loop = TrainingLoop(session, self._modules, self._names, losses, marks)
        norms = Norms(session, scalars, self._loop.optimizers)
        gather = Gather(session, self._names, Records(session))
        norms.on_clipped.append(gather.gradients_were_clipped)
        self._loop.listeners += [norms, gather]
        waiting = Waiting(session, self._modules.refresh)

        def send(_step: FinishedStep) -> None:
            scalars.send()

        session.after_step.append(send)
        for part in (self._modules, self._loop, norms, waiting):
            part.attach(self._patches)

    def detach(self) -> None:
        """Takes everything away."""
        self._loop.detach()
        self._modules.detach()
        self._patches.undo()
