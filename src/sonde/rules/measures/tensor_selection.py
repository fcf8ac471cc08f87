"""Select tensors by collection, by a pattern for their names, or all of them."""

from collections.abc import Sequence

from sonde.read.window import Window, WindowTensor
from sonde.records.need import Losses, Need, Statistics

LOSSES = "losses"  # scalars that are recorded at every step
_GRADIENT_PREFIX = "gradient/"


def chosen_tensors(
    window: Window,
    collections: Sequence[str] | None,
    regex: str | None,
    *,
    each_worker: bool = False,
) -> list[WindowTensor]:
    """Return the tensors in the collections or matching the pattern; all if neither is set."""
    named = [collection for collection in collections or () if collection != LOSSES]
    tensors = [tensor for name in named for tensor in window.tensors(name, each_worker=each_worker)]
    if regex is not None or collections is None:
        tensors += window.tensors("all", regex=regex, each_worker=each_worker)
    unique = {(tensor.name, tensor.worker): tensor for tensor in tensors}
    return [unique[key] for key in sorted(unique, key=str)]


def needs_of(collections: Sequence[str] | None, regex: str | None) -> tuple[Need, ...]:
    """Return the data to record for the selected tensors."""
    result: list[Need] = [
        Statistics(collection) for collection in collections or () if collection != LOSSES
    ]
    result += [Losses()] if LOSSES in (collections or ()) else []
    return (
        (*result, Statistics("all")) if regex is not None or collections is None else tuple(result)
    )


def is_gradient(tensor: str) -> bool:
    """Whether a tensor is the gradient of a parameter."""
    return tensor.startswith(_GRADIENT_PREFIX)


def layer_of(tensor: str) -> str:
    """Return the name of the parameter for a gradient, and the name itself otherwise."""
    return tensor.removeprefix(_GRADIENT_PREFIX)


def tensor_label(tensor: str) -> str:
    """Return "the gradient of fc1.weight" for a gradient, and the name itself otherwise."""
    return f"the gradient of {layer_of(tensor)}" if is_gradient(tensor) else tensor


def layers_affected(count: int) -> str:
    """Return a sentence with the number of other affected layers; empty for none."""
    return f" {count} more {'layer is' if count == 1 else 'layers are'} affected." if count else ""


def first_and_count(names: Sequence[str]) -> str:
    """Return the first name and the number of the others, such as "fc1 and 3 more"."""
    others = len(names) - 1
    return layer_of(names[0]) + (f" and {others} more" if others else "")
