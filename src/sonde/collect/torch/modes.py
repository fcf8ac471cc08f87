"""Whether models and their modules are in the mode of the step they are used in."""

import json
import weakref

import torch
from torch import nn
from torch.nn.modules.batchnorm import _NormBase
from torch.nn.modules.dropout import _DropoutNd

from sonde.collect.session import At, Session
from sonde.collect.torch.modules import Modules
from sonde.collect.torch.names import Names, unwrapped, walk
from sonde.collect.torch.passes import ForwardPass
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_MOST_NAMES = 16
_EVERY_PASSES = 64  # the modules inside; the model as a whole is looked at in every pass
_WITH_DROPOUT = (nn.RNNBase, nn.MultiheadAttention)

Sensitive = list[tuple[str, "weakref.ref[nn.Module]"]]


class Modes:
    """Compares, pass by pass, and says what has changed."""

    def __init__(self, session: Session, modules: Modules, names: Names) -> None:
        self._session = session
        self._modules = modules
        self._names = names
        self._sensitive: dict[int, tuple[int, Sensitive]] = {}
        self._passes: dict[tuple[int, bool], tuple[bool, int]] = {}  # last mode, and how many
        self._said: dict[tuple[str, str], str] = {}

    def begins(self, forward: ForwardPass, root: nn.Module, *_inputs: object) -> None:
        """An outermost pass begins."""
        has_gradients, is_training = torch.is_grad_enabled(), root.training
        key = (id(root), has_gradients)
        before, count = self._passes.get(key, (not is_training, 0))
        self._passes[key] = (is_training, count + 1)
        if before == is_training and count % _EVERY_PASSES:
            return
        sensitive = self._sensitive_of(root)
        in_training = [name for name, one in sensitive if (module := one()) and module.training]
        known = [name for name, _ in sensitive]
        subject = self._names.prefix_of(root) or type(unwrapped(root)).__name__

        reference = weakref.ref(root)

        def settled(at: At) -> None:
            is_train_step = at[0] == Mode.TRAIN
            if is_train_step != has_gradients:
                return  # a teacher in a training step; or a pass that only looks at gradients
            model = reference()
            if is_train_step and (model is None or not self._is_trained(model)):
                return  # a frozen backbone, or a network that only judges what another gives
            others = [name for name in known if (name in in_training) != is_train_step]
            self._compare(subject, is_training, others, at)

        forward.when_settled(settled)

    def ends(self, _forward: ForwardPass, _root: nn.Module, _output: object) -> None:
        """An outermost pass ends: nothing changes by that."""

    def _is_trained(self, root: nn.Module) -> bool:
        owned = self._modules.owned
        return any(one.requires_grad and id(one) in owned for one in root.parameters())

    def _compare(self, subject: str, is_training: bool, others: list[str], at: At) -> None:
        fits = is_training == (at[0] == Mode.TRAIN)
        detail = ""
        if others or not fits:
            facts = {
                "is": (Mode.TRAIN if is_training else Mode.EVAL).value,
                "modules": others[:_MOST_NAMES],
            }
            detail = json.dumps(facts, separators=(",", ":"))
        if self._said.get((subject, at[0]), "") != detail:
            self._said[subject, at[0]] = detail
            self._session.observe(
                ObservationKind.MODULE_MODE, subject, float(len(others)), detail, at
            )

    def _sensitive_of(self, root: nn.Module) -> Sensitive:
        """The modules that behave differently in the two modes."""
        made, found = self._sensitive.get(id(root), (-1, []))
        if made != self._modules.made:
            found = [
                (name or type(module).__name__, weakref.ref(module))
                for name, module in walk(root, self._names.prefix_of(root))
                if _is_sensitive(module)
            ]
            self._sensitive[id(root)] = (self._modules.made, found)
        return found


def _is_sensitive(module: nn.Module) -> bool:
    if isinstance(module, _DropoutNd):
        return module.p > 0
    if isinstance(module, _WITH_DROPOUT):
        return module.dropout > 0
    return isinstance(module, _NormBase) and module.track_running_stats
