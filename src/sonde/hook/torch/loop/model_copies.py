"""Which model a forward pass runs: the trained one, its moving average or another one."""

from operator import attrgetter

from torch import Tensor, nn

from sonde.hook.torch.loop.modules import Modules
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import can_sample

_version_of = attrgetter("_version")  # counts in-place changes

EMA = "ema"
REFERENCE = "reference"
_VALUES = 16  # of a weight, compared to detect changes

Shapes = tuple[tuple[int, ...], ...]
_Weight = tuple[int, list[float]]  # in-place version and some values


class ModelLabels:
    """Labels models; labels are cached until models or optimizers are added."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._labels: dict[int, str] = {}
        self._valid_for = (-1, -1)
        self._weight_of = hidden_from_modes(_weight_of)
        self._early: dict[int, _Weight] = {}  # of untrained models, by identity

    def training_begins(self) -> None:
        """Capture weights of untrained models to detect later which ones follow training."""
        for module in self._modules.hooked:
            if id(module) not in self._early and not self._modules.is_trained(module):
                self._early[id(module)] = self._weight_of(module)

    def label(self, module: nn.Module) -> str:
        """The label of the model that a pass runs.

        Returns:
            Empty for a trained model, `ema` for a copy that follows it, `reference` for an
            unchanged copy, else the class name.
        """
        modules = self._modules
        valid_for = (modules.made, len(modules.owned))
        if self._valid_for != valid_for:
            self._valid_for = valid_for
            self._labels.clear()
        label = self._labels.get(id(module))
        if label is None:
            label = self._labels[id(module)] = self._find(module)
        return label

    def _find(self, module: nn.Module) -> str:
        modules = self._modules
        if not modules.owned or modules.is_trained(module):
            return ""
        shapes = _shapes(module)
        for hooked in modules.hooked:
            if modules.is_trained(hooked) and _shapes(hooked) == shapes:
                is_unchanged = self._early.get(id(module)) == self._weight_of(module)
                return REFERENCE if is_unchanged else EMA
        return type(module).__name__


def _shapes(module: nn.Module) -> Shapes:
    return tuple([tuple(parameter.shape) for parameter in module.parameters()])


def _weight_of(module: nn.Module) -> _Weight:
    """The version of a model's last weight, with some values if it is on the CPU."""
    last: Tensor | None = None
    for parameter in module.parameters():
        last = parameter
    if last is None:
        return 0, []
    weight = local(last).detach()
    version = 0 if weight.is_inference() else _version_of(weight)
    if not weight.is_cpu or not can_sample(weight):
        return version, []
    return version, weight.reshape(-1)[:_VALUES].tolist()
