"""PyTorch: steps, phases, losses and tensors of a loop that knows nothing of us."""

import gc
import sys

import torch
from torch import nn
from torch.optim import Optimizer
from torch.utils.data import get_worker_info

from sonde.collect.frameworks._adapter import Adapter
from sonde.collect.looks import Looks
from sonde.collect.resident_memory import ResidentMemory
from sonde.collect.session import Session
from sonde.collect.standing import Standing
from sonde.collect.torch.activations import Activations
from sonde.collect.torch.allocator import DeviceMemory
from sonde.collect.torch.batches import Batches
from sonde.collect.torch.capture import Captures
from sonde.collect.torch.checks import Checks
from sonde.collect.torch.compiler import Compiler
from sonde.collect.torch.criteria import Criteria
from sonde.collect.torch.data import Waiting
from sonde.collect.torch.ddp import Communication
from sonde.collect.torch.evaluations import Evaluations
from sonde.collect.torch.functional import Functional
from sonde.collect.torch.gather import Gather
from sonde.collect.torch.given import Given
from sonde.collect.torch.given_batches import GivenBatches
from sonde.collect.torch.hooks import Hooks
from sonde.collect.torch.inner_looks import InnerLooks
from sonde.collect.torch.loading import Loading
from sonde.collect.torch.loop import TrainingLoop, Watch
from sonde.collect.torch.loss_graph import PART as MADE_OF
from sonde.collect.torch.loss_graph import LossGraph
from sonde.collect.torch.loss_kinds import PART as KINDS
from sonde.collect.torch.loss_kinds import LossKinds
from sonde.collect.torch.losses import Losses
from sonde.collect.torch.marks import Marks, device_in_use
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names
from sonde.collect.torch.norms import Norms
from sonde.collect.torch.offers import Offers
from sonde.collect.torch.other_profilers import OtherProfilers
from sonde.collect.torch.output_time import OutputTime
from sonde.collect.torch.patches import Patches
from sonde.collect.torch.quiet import Quiet
from sonde.collect.torch.records import Records
from sonde.collect.torch.resting import Rest
from sonde.collect.torch.resuming import Resuming
from sonde.collect.torch.scalars import Scalars
from sonde.collect.torch.told import Told
from sonde.collect.torch.unseen import unseen


class PyTorch(Adapter):
    """Puts the parts together, one set of them per process."""

    def __init__(self) -> None:
        self._patches = Patches()

    def attach(self, session: Session) -> None:
        """Puts the hooks in place."""
        _introduce(session)
        self.names, scalars = Names(), Scalars(session)
        records, looks, hooks = Records(session), Looks(session), Hooks()
        gather = Gather(session, self.names, records, looks)
        rest, marks = Rest(session, hooks, self._patches), Marks(session)
        quiet = Quiet(session, gather.steps_until_due, looks, rest)
        self.modules = Modules(session, self.names, marks, quiet, hooks)
        self.losses = losses = Losses(session, scalars)
        watch = Watch(session, quiet, self.modules, self.names, losses, marks)
        self._loop = TrainingLoop(watch)
        norms = Norms(session, scalars, self._loop.optimizers, gather, rest)
        checks = Checks(watch, self._loop, looks)
        losses.on_jump.append(session.guard.shield("losses out of range", looks.inspect_now, None))
        self._loop.listen("tensors", gather, needs_optimizer=False)
        self._loop.listen("norms", norms, needs_optimizer=False)
        self._loop.listen("state checks", checks)
        self.waiting = waiting = Waiting(session, quiet, self.modules.refresh)
        self.evaluations = Evaluations(session, self.modules)
        self.loading = Loading(session, self.evaluations.iterates)
        self.other_profilers = OtherProfilers()
        _ = DeviceMemory(session), ResidentMemory(session)
        inside = self.criteria, _ = self._inside_of_passes(session, gather, scalars, looks)
        self._compiler = Compiler(session, rest.give_up)
        session.tensors = Told(session, records, scalars)
        session.before_said_step.append(losses.take_all)
        session.at_end.append(scalars.send)
        session.each_step("scalars", lambda _step: scalars.send())
        outside = (
            *(Captures(session), Resuming(session), self.modules, self._loop, norms, waiting),
            *(Communication(session, self.modules), OutputTime(session)),
        )
        for part in (*outside, self.loading, self.other_profilers, *inside, self._compiler):
            part.attach(self._patches)

    def _inside_of_passes(
        self, session: Session, gather: Gather, scalars: Scalars, looks: Looks
    ) -> tuple[Criteria, Functional]:
        """What is seen while a model computes."""
        offers = Offers(session, gather, looks)
        activations = Activations(session, self.modules, self.names, offers)
        Batches(session, self.modules)
        InnerLooks(session, self.modules, looks, self.names, (offers, activations))
        given = Given(session, looks)
        graph = LossGraph(session, looks, given)
        kinds = LossKinds(session, self._loop.loss_kinds)
        self._loop.at_backward += [
            looks.part(MADE_OF, graph.backward_begins),
            session.guard.shield(KINDS, kinds.backward_begins, None),
        ]
        look = looks.part("what loss functions are given", given.look)
        criteria = Criteria(session, self.modules, scalars, offers, look)
        # evaluations are over once their losses are known, and have names when samples are told
        session.each_step("evaluations", self.evaluations.step_over)
        session.at_end.append(self.evaluations.end)
        GivenBatches(session, self.modules)
        return (
            criteria,
            Functional(session, self.modules, self.names, offers, activations),
        )

    def part_loaded(self, name: str) -> None:
        """Checkpoints of many processes are often a later import."""
        self.waiting.attach_checkpoints(self._patches)

    def adopt(self) -> None:
        """Finds the models and optimizers that were made before us."""
        modules, optimizers = [], []
        for one in gc.get_objects():
            # what an object says of its class is not asked: some warn, some import
            if issubclass(type(one), nn.Module):
                modules.append(one)
            elif issubclass(type(one), Optimizer) and "param_groups" in vars(one):
                optimizers.append(one)
        self.modules.adopt(modules)
        self._loop.optimizers.adopt(optimizers)

    def detach(self) -> None:
        """Takes everything away."""
        self._loop.detach()
        self.modules.detach()
        self._compiler.detach(self._patches)
        self._patches.undo()


def _introduce(session: Session) -> None:
    """What the session has to know of PyTorch; and who looks where its thread stands."""
    session.framework = "torch"
    session.around = unseen
    session.find_device = device_in_use
    Standing(session)
    session.may_begin = lambda: get_worker_info() is None
    session.versions |= {"torch": str(torch.__version__), "python": sys.version.split()[0]}
