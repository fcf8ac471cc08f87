"""State checks: facts about a training that need no threshold, each found by a part of its own."""

from torch.optim import Optimizer

from sonde.collect.session import Session
from sonde.collect.torch.checksums import Checksums
from sonde.collect.torch.loop import TrainingLoop
from sonde.collect.torch.losses import Losses
from sonde.collect.torch.modes import Modes
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names
from sonde.collect.torch.origin import PART, Origin
from sonde.collect.torch.ownership import Ownership
from sonde.collect.torch.refusal import Refusal


class Checks:
    """Asks each part at the moment when it can see something; one that fails is left out alone."""

    def __init__(
        self, session: Session, modules: Modules, names: Names, losses: Losses, loop: TrainingLoop
    ) -> None:
        shield = session.guard.shield
        origin = Origin(session, names, losses)
        modes = Modes(session, modules, names)
        ownership = Ownership(session, modules, names, loop.optimizers)
        modules.quiet.on_bad.append(shield("origin of non-finite values", origin.noted, None))
        modules.quiet.vetoes.append(lambda: ownership.is_comparing)
        checksums = Checksums(session, modules, names)
        refusal = Refusal(session, names, origin)
        self._before_update = [
            shield("ownership of parameters", ownership.before_update, None),
            shield("checksums of replicas", checksums.before_update, None),
            shield(PART, origin.before_update, None),
            shield("stop on non-finite gradients", refusal.before_update, None),
        ]
        modules.listen("modes of modules", modes.begins, modes.ends)
        modules.listen(PART, origin.begins, origin.ends)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients are there; nothing was updated yet."""
        for look in self._before_update:
            look(optimizer, number)
