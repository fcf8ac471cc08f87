"""Whether models and their modules are in the mode of the step that uses them."""

import weakref

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd
from torch.optim import Optimizer

from sonde.hook.steps import StepId
from sonde.hook.torch.checks import CheckContext, StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.loop.optimizers import parameters_of
from sonde.hook.torch.patching.names import unwrapped, walk
from sonde.records.observation import ObservationKind
from sonde.records.observations.training import ModelMode
from sonde.records.step import NO_STEP, Mode

_MAX_NAMES = 16
_INNER_CHECK_INTERVAL = 64  # passes; the mode of the model itself is compared in every pass
_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)

Sensitive = list[tuple[str, "weakref.ref[nn.Module]"]]


class ModuleModes(StateCheck):
    """Compare modes in each pass and record changes.

    A pass in eval mode with gradients counts as training only if an optimizer of that model steps
    before the next pass in train mode: evaluations without no_grad() and searches for adversarial
    inputs also have gradients.
    """

    name = "module modes"
    observes = (ObservationKind.MODULE_MODE,)
    order = 10

    def __init__(self, context: CheckContext) -> None:
        super().__init__(context)
        self._modules = context.modules
        self._names = context.names
        context.modules.deferred.policy.veto_while(lambda: bool(self._models_in_eval))
        self._sensitive: dict[int, tuple[int, Sensitive]] = {}
        self._passes: dict[tuple[int, bool], tuple[bool, int]] = {}  # last mode, passes
        self._trained: dict[int, int] = {}  # passes with gradients in train mode, by model
        self._updated: tuple[int, list[weakref.ref[Optimizer]]] = (NO_STEP, [])  # in which step
        self._reported: dict[tuple[str, str], ModelMode] = {}
        self._models_in_eval: set[str] = set()  # models that train in eval mode

    def forward_begins(self, forward: ForwardPass, root: nn.Module, *_inputs: object) -> None:
        """Compare the modes of a model once the step of the pass is known."""
        has_gradients, is_training = torch.is_grad_enabled(), root.training
        model = id(unwrapped(root))
        if has_gradients and is_training:
            self._trained[model] = self._trained.get(model, 0) + 1
        key = (id(root), has_gradients)
        before, count = self._passes.get(key, (not is_training, 0))
        self._passes[key] = (is_training, count + 1)
        if before == is_training and count % _INNER_CHECK_INTERVAL:
            return
        in_training, expected = self._modes_of(root, has_gradients=has_gradients)
        subject = self._names.prefix_of(root) or type(unwrapped(root)).__name__

        reference, trained = weakref.ref(root), self._trained.get(model, 0)

        def settled(at: StepId) -> None:
            is_train_step = at[0] == Mode.TRAIN
            if is_train_step != has_gradients or at[1] == NO_STEP:
                # a teacher in a training step, or a pass with gradients that is not used
                # for training: compare the next pass again
                if has_gradients:
                    self._passes.pop(key, None)
                return
            if is_train_step and not is_training and self._trained.get(model, 0) != trained:
                return  # another pass, in train mode, belongs to this step
            if is_train_step and not self._is_trained(reference(), at[1]):
                return  # a frozen backbone, or a network that only evaluates another one
            mismatched = [name for name in expected if (name in in_training) != is_train_step]
            self._compare(subject, is_training, mismatched, at)

        forward.when_settled(settled)

    def before_update(self, optimizer: Optimizer, _number: int) -> None:
        """Note which optimizers step in this step."""
        step = self._session.steps.number
        if self._updated[0] != step:
            self._updated = (step, [])
        self._updated[1].append(weakref.ref(optimizer))

    def _is_trained(self, root: nn.Module | None, step: int) -> bool:
        """Return whether an optimizer of this step trains the model; if unknown, any optimizer."""
        owned, (updated, optimizers) = self._modules.owned, self._updated
        if updated == step:
            live_optimizers = [
                optimizer for reference in optimizers if (optimizer := reference()) is not None
            ]
            owned = {
                id(parameter)
                for optimizer in live_optimizers
                for parameter in parameters_of(optimizer)
            }
        parameters = () if root is None else root.parameters()
        return any(parameter.requires_grad and id(parameter) in owned for parameter in parameters)

    def _compare(self, subject: str, is_training: bool, mismatched: list[str], at: StepId) -> None:
        is_consistent = is_training == (at[0] == Mode.TRAIN)
        if at[0] == Mode.TRAIN:
            (self._models_in_eval.discard if is_consistent else self._models_in_eval.add)(subject)
        state = ModelMode()
        if mismatched or not is_consistent:
            mode = Mode.TRAIN if is_training else Mode.EVAL
            state = ModelMode(mode.value, tuple(mismatched[:_MAX_NAMES]))
        if self._reported.get((subject, at[0]), ModelMode()) != state:
            self._reported[subject, at[0]] = state
            kind, count = ObservationKind.MODULE_MODE, float(len(mismatched))
            self._observe(kind, subject, count, state, at)

    def _modes_of(self, root: nn.Module, *, has_gradients: bool) -> tuple[list[str], list[str]]:
        """Return modules in train mode, and those whose mode should match the model's."""
        sensitive = self._sensitive_of(root)
        in_training = [
            name for name, reference in sensitive if (module := reference()) and module.training
        ]
        # a frozen batch normalization is in eval mode on purpose
        expected = [
            name for name, reference in sensitive if not (has_gradients and _is_frozen(reference()))
        ]
        return in_training, expected

    def _sensitive_of(self, root: nn.Module) -> Sensitive:
        """Return the modules that behave differently in the two modes."""
        made, sensitive = self._sensitive.get(id(root), (-1, []))
        if made != self._modules.made:
            sensitive = [
                (name or type(module).__name__, weakref.ref(module))
                for name, module in walk(root, self._names.prefix_of(root))
                if _is_sensitive(module)
            ]
            self._sensitive[id(root)] = (self._modules.made, sensitive)
        return sensitive


def _is_frozen(module: nn.Module | None) -> bool:
    """Return whether a module has direct parameters and none of them requires a gradient."""
    own_parameters = [] if module is None else list(module.parameters(recurse=False))
    return bool(own_parameters) and not any(parameter.requires_grad for parameter in own_parameters)


def _is_sensitive(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    if isinstance(module, _WITH_DROPOUT):
        return module.dropout > 0
    return isinstance(module, _NormBase) and module.track_running_stats
