"""PyTorch: steps, phases, losses and tensors of an unmodified training loop."""

import gc
import sys

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import get_worker_info

from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.inspections import Inspections
from sonde.hook.resident_memory import ResidentMemory
from sonde.hook.session import Session
from sonde.hook.stall_stacks import monitor_stalls
from sonde.hook.torch.checks import CheckContext, check_classes
from sonde.hook.torch.checks._attached_checks import AttachedChecks
from sonde.hook.torch.data.loaders import DataLoading
from sonde.hook.torch.data.output_time import OutputTime
from sonde.hook.torch.data.waits import Waits
from sonde.hook.torch.loop.criteria import Criteria
from sonde.hook.torch.loop.cuda_graphs import GraphCaptures
from sonde.hook.torch.loop.ddp import DdpTimes
from sonde.hook.torch.loop.deferred_hooks import DeferredHooks
from sonde.hook.torch.loop.device_phases import Marks, device_in_use, device_name_in_use
from sonde.hook.torch.loop.evaluations import Evaluations
from sonde.hook.torch.loop.gradient_norms import GradientNorms
from sonde.hook.torch.loop.loop_state import LoopContext
from sonde.hook.torch.loop.losses import Losses
from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.loop.resting import Rest
from sonde.hook.torch.loop.resuming import Resuming
from sonde.hook.torch.loop.training_loop import TrainingLoop
from sonde.hook.torch.patching.compiler import Compiler
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.patching.hooks import Hooks
from sonde.hook.torch.patching.names import Names
from sonde.hook.torch.patching.patches import Patches
from sonde.hook.torch.profiler.allocator import DeviceMemory
from sonde.hook.torch.profiler.other_profilers import OtherProfilers
from sonde.hook.torch.tensors.activations import Activations
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.hook.torch.tensors.due_tensors import DueTensors
from sonde.hook.torch.tensors.forward_tensors import ForwardTensors
from sonde.hook.torch.tensors.functional import FunctionalActivations
from sonde.hook.torch.tensors.script_tensors import ScriptTensors
from sonde.hook.torch.tensors.tensor_records import TensorRecords


class PyTorch(Adapter):
    """Assembles the PyTorch hooks, once per process."""

    awaits = ("torch", "torch.distributed.checkpoint")

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        _describe_framework(session)
        self.names, scalars = Names(), DeviceScalars(session)
        records, inspections, hooks = TensorRecords(session), Inspections(session), Hooks()
        gather = DueTensors(session, self.names, records, inspections)
        rest, marks = Rest(session, scalars, hooks, self._patches), Marks(session)
        deferred = DeferredHooks(session, gather.steps_until_due, inspections, rest)
        self.modules = Modules(session, self.names, marks, deferred, hooks)
        self.losses = losses = Losses(session, scalars)
        context = LoopContext(session, deferred, self.modules, self.names, losses, marks)
        self.loop = TrainingLoop(context)
        norms = GradientNorms(session, scalars, self.loop.optimizers, gather, rest)
        losses.on_jump.append(
            session.guard.shield("losses out of range", inspections.inspect_now, None)
        )
        inspect_new = session.guard.shield("new optimizers", inspections.optimizer_created, None)
        self.loop.optimizers.after_creation.append(inspect_new)
        self.loop.updates.listen("tensors", gather, needs_optimizer=False)
        self.loop.updates.listen("norms", norms, needs_optimizer=False)
        self.waiting = waiting = Waits(session, deferred, self.modules.refresh)
        self.evaluations = Evaluations(session, self.modules)
        self.loading = DataLoading(session, self.evaluations.iterates)
        self.other_profilers = OtherProfilers()
        for memory in (DeviceMemory(session), ResidentMemory(session)):
            memory.start()
        inside = self.criteria, _ = self._make_forward_components(
            session, gather, scalars, inspections
        )
        self._compiler = Compiler(session, rest.give_up)
        session.frameworks.set_tensor_recorder(ScriptTensors(session, records, scalars))
        session.listeners.before_scripted_step(losses.take_all)
        session.listeners.on_end(scalars.send)
        session.listeners.on_step("scalars", lambda _step: scalars.send())
        outside = (
            *(GraphCaptures(session), Resuming(session), self.modules, self.loop, norms, waiting),
            *(DdpTimes(session, self.modules), OutputTime(session)),
        )
        for component in (*outside, self.loading, self.other_profilers, *inside, self._compiler):
            component.attach(self._patches)

    def _make_forward_components(
        self, session: Session, gather: DueTensors, scalars: DeviceScalars, inspections: Inspections
    ) -> tuple[Criteria, FunctionalActivations]:
        """Create the components that run inside forward passes."""
        forward_tensors = ForwardTensors(session, gather, inspections)
        activations = Activations(session, self.modules, self.names, forward_tensors)
        context = CheckContext(
            *(session, self.modules, self.names, self.losses, self.loop, inspections),
            *(forward_tensors, activations),
        )
        checks = AttachedChecks(context, check_classes())
        criteria = Criteria(session, self.modules, scalars, forward_tensors, checks)
        # registered after the losses, which end an evaluation, and before the checks, which need
        # its name
        session.listeners.on_step("evaluations", self.evaluations.after_step)
        session.listeners.on_end(self.evaluations.end)
        checks.attach()
        return (
            criteria,
            FunctionalActivations(session, self.modules, self.names, forward_tensors, activations),
        )

    def submodule_loaded(self, name: str) -> None:
        """Wrap the functions of torch.distributed.checkpoint, which is often imported later."""
        self.waiting.attach_checkpoints(self._patches)

    def adopt(self) -> None:
        """Find models and optimizers that were created before the hooks were installed."""
        modules, optimizers = [], []
        for instance in gc.get_objects():
            # not isinstance, which reads __class__: some objects warn or import on that
            if issubclass(type(instance), nn.Module):
                modules.append(instance)
            elif issubclass(type(instance), Optimizer) and "param_groups" in vars(instance):
                optimizers.append(instance)
        self.modules.adopt(modules)
        self.loop.optimizers.adopt(optimizers)

    def detach(self) -> None:
        """Remove all hooks."""
        self.loop.detach()
        self.modules.detach()
        self._compiler.detach(self._patches)
        self._patches.undo()


def _describe_framework(session: Session) -> None:
    """Set what the session needs from PyTorch, and monitor stalls."""
    session.frameworks.describe(
        "torch",
        wrap_hook=hidden_from_modes,
        find_device=device_in_use,
        find_device_name=device_name_in_use,
        may_begin=lambda: get_worker_info() is None,
    )
    session.frameworks.add_versions(torch=str(torch.__version__), python=sys.version.split()[0])
    monitor_stalls(session)
