"""The training loop in PyTorch: backward passes and optimizer steps."""

from torch.optim import Optimizer

from sonde.hook.steps import Pass
from sonde.hook.torch.loop.backward_passes import BackwardPasses
from sonde.hook.torch.loop.backward_steps import BackwardSteps
from sonde.hook.torch.loop.deferred_hooks import DATA_WAIT, FORWARD
from sonde.hook.torch.loop.loop_state import LoopContext, LoopState
from sonde.hook.torch.loop.optimizer_steps import OptimizerSteps
from sonde.hook.torch.loop.optimizers import Optimizers, parameters_of
from sonde.hook.torch.patching.patches import Patches


class TrainingLoop:
    """Connects the hooks on backward passes and on optimizer steps with the steps."""

    def __init__(self, context: LoopContext) -> None:
        session = context.session
        self._context = context
        self.state = LoopState()
        self.optimizers = Optimizers(session.guard.shield("optimizers", self._created, None))
        by_backward = BackwardSteps(
            session, context.modules, context.names, context.losses, self.optimizers
        )
        self.backward = BackwardPasses(context, self.state, self.optimizers, by_backward)
        self.updates = OptimizerSteps(context, self.state, self.optimizers, by_backward)

    def attach(self, patches: Patches) -> None:
        """Install the hooks on backward passes and optimizer steps."""
        deferred, steps = self._context.deferred, self._context.session.steps
        deferred.on_note(DATA_WAIT, lambda note: steps.data_wait(note[1], is_exhausted=note[3]))
        deferred.on_note(FORWARD, lambda note: steps.forward(note[1], Pass.TRAIN))
        deferred.rest.connect(self.optimizers, self._context.losses, self.backward.loss_kinds)
        self.optimizers.attach(patches)
        self.backward.attach(patches)
        self.updates.attach(patches)

    def detach(self) -> None:
        """Remove the hooks."""
        self.updates.detach()

    def _created(self, optimizer: Optimizer) -> None:
        session, modules = self._context.session, self._context.modules
        if session.state.has_notes and session.thread.is_current():
            session.state.catch_up()
        self.optimizers.number_of(optimizer)
        if session.thread.is_current():
            session.steps.optimizer_created()
        self.state.weights.track(optimizer)
        modules.refresh()
        modules.owned.update(id(parameter) for parameter in parameters_of(optimizer))
