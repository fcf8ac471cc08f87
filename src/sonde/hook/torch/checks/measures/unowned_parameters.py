"""Parameters that get gradients but are in no optimizer."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from torch import Tensor, nn

from sonde.hook.torch.loop.optimizers import Optimizers, parameters_of
from sonde.hook.torch.patching.names import Names, walk
from sonde.records.observations.parameters import OwnershipFault


class UnownedTensor(NamedTuple):
    """A parameter without an optimizer, and why."""

    name: str
    tensor: Tensor
    why: OwnershipFault


def find_unowned(
    roots: Sequence[nn.Module], optimizers: Optimizers, names: Names, *, is_idle: bool
) -> list[UnownedTensor]:
    """Find unowned parameters of partly trained models; of all models if optimizers are idle."""
    owned = {
        id(parameter): parameter
        for _, optimizer in optimizers
        for parameter in parameters_of(optimizer)
    }
    alive = {id(parameter) for root in roots for parameter in root.parameters()}
    used = {key for key, parameter in owned.items() if key in alive and not is_idle}
    dead_shapes = {tuple(parameter.shape) for key, parameter in owned.items() if key not in used}
    results = []
    for root in roots:
        parameters = list(root.parameters())
        remaining = [parameter for parameter in parameters if id(parameter) not in owned]
        if len(remaining) == len(parameters) and not is_idle:
            continue
        for tensor in remaining:
            name = names.name_of(tensor)
            if name is not None and _learns(tensor):
                why = (
                    OwnershipFault.REPLACED
                    if tuple(tensor.shape) in dead_shapes
                    else OwnershipFault.LEFT_OUT
                )
                results.append(UnownedTensor(name, tensor, why))
        results += [
            parameter
            for parameter in _unregistered(root, names)
            if id(parameter.tensor) not in owned
        ]
    return results


def _unregistered(root: nn.Module, names: Names) -> Iterator[UnownedTensor]:
    for prefix, module in walk(root, names.prefix_of(root)):
        for attribute, value in vars(module).items():
            if attribute.startswith("_"):
                continue
            for key, layer in _layers_in(value):
                path = ".".join([*([prefix] if prefix else []), attribute, key])
                for name, tensor in layer.named_parameters():
                    if _learns(tensor):
                        yield UnownedTensor(f"{path}.{name}", tensor, OwnershipFault.UNREGISTERED)


def _layers_in(value: object) -> list[tuple[str, nn.Module]]:
    items: Iterable[tuple[object, object]] = ()
    if isinstance(value, list | tuple) and value and isinstance(value[0], nn.Module):
        items = enumerate(value)
    elif isinstance(value, dict):
        items = value.items()
    return [(str(key), layer) for key, layer in items if isinstance(layer, nn.Module)]


def _learns(tensor: Tensor) -> bool:
    return tensor.requires_grad and tensor.grad is not None
