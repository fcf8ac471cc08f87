"""State checks: facts about a training that need no threshold, each found by a part of its own."""

from torch.optim import Optimizer

from sonde.hook.inspections import Inspections
from sonde.hook.torch.checks.checksums import Checksums
from sonde.hook.torch.checks.fingerprints import TASK as REPLICAS
from sonde.hook.torch.checks.fingerprints import Fingerprints
from sonde.hook.torch.checks.measures.replicas import Replicas
from sonde.hook.torch.checks.module_modes import ModuleModes
from sonde.hook.torch.checks.nonfinite_origin import TASK, NonFiniteOrigin
from sonde.hook.torch.checks.ownership import Ownership
from sonde.hook.torch.checks.stale_gradients import StaleGradients
from sonde.hook.torch.checks.step_refusal import StepRefusal
from sonde.hook.torch.checks.unit_copies import UnitCopies
from sonde.hook.torch.checks.zeroed_gradients import ZeroedGradients
from sonde.hook.torch.loop.training_loop import TrainingLoop, Watch


class StateChecks:
    """Asks each part at the moment when it can see something; one that fails is left out alone."""

    def __init__(self, watch: Watch, loop: TrainingLoop, inspections: Inspections) -> None:
        session, modules, names = watch.session, watch.modules, watch.names
        shield = session.guard.shield
        origin = NonFiniteOrigin(session, names, watch.losses)
        modes = ModuleModes(session, modules, names)
        ownership = Ownership(session, modules, names, loop.optimizers)
        modules.quiet.on_bad.append(
            shield("origin of non-finite values", origin.on_deferred_pass, None)
        )
        modules.quiet.vetoes += [lambda: ownership.is_comparing, lambda: modes.is_wrong]
        replicas = Replicas(session, modules, names)
        fingerprints = Fingerprints(session, replicas, modules.quiet)
        checksums = Checksums(session, replicas)
        modules.quiet.is_exact = checksums.is_due
        refusal = StepRefusal(session, names, origin)
        stale = StaleGradients(session, inspections, names, loop.optimizers)
        copies = UnitCopies(session, inspections, names)
        cleared = ZeroedGradients(session, names, lambda: loop.was_cleared)
        loop.at_backward.append(inspections.timed("gradients that are kept", stale.backward_begins))
        loop.after_backward.append(
            inspections.timed("gradients that are kept", stale.backward_ends)
        )
        self._before_update = [
            shield("modes of modules", modes.before_update, None),
            shield("ownership of parameters", ownership.before_update, None),
            shield("gradients that are cleared", cleared.before_update, None),
            shield(REPLICAS, fingerprints.before_update, None),
            shield("checksums of replicas", checksums.before_update, None),
            shield(TASK, origin.before_update, None),
            shield("stop on non-finite gradients", refusal.before_update, None),
            inspections.timed("gradients that are kept", stale.before_update),
            inspections.timed("copies of units", copies.before_update),
        ]
        loop.optimizers.after_made.append(
            shield("looks at what begins", inspections.optimizer_made, None)
        )
        modules.listen("modes of modules", modes.begins, modes.ends)
        modules.listen(TASK, origin.begins, origin.ends)

    def before_update(self, optimizer: Optimizer, number: int) -> None:
        """All gradients are there; nothing was updated yet."""
        for check in self._before_update:
            check(optimizer, number)
