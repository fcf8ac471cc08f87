"""Which model a forward pass runs: the trained one, a moving average of it, or another."""

from torch import nn

from sonde.collect.torch.modules import Modules

EMA = "ema"

Shapes = tuple[tuple[int, ...], ...]


class Copies:
    """Labels models; each is looked at once, and again when models or optimizers were added."""

    def __init__(self, modules: Modules) -> None:
        self._modules = modules
        self._labels: dict[int, str] = {}
        self._valid_for = (-1, -1)

    def label(self, module: nn.Module) -> str:
        """Empty for a trained model, `ema` for a copy that no optimizer owns, else its class."""
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
        for watched in modules.watched:
            if modules.is_trained(watched) and _shapes(watched) == shapes:
                return EMA
        return type(module).__name__


def _shapes(module: nn.Module) -> Shapes:
    return tuple([tuple(parameter.shape) for parameter in module.parameters()])
