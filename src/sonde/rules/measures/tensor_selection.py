"""Which tensors a person means: by collection, by a pattern for their names, or all of them."""

from collections.abc import Sequence

from sonde.read.window import Window, WindowTensor
from sonde.records.need import Losses, Need, Statistics

LOSSES = "losses"  # are scalars, and recorded at every step


def chosen_tensors(
    window: Window,
    collections: Sequence[str] | None,
    regex: str | None,
    *,
    each_worker: bool = False,
) -> list[WindowTensor]:
    """The tensors of these collections and those that the pattern finds; all, if neither is set."""
    named = [collection for collection in collections or () if collection != LOSSES]
    tensors = [tensor for name in named for tensor in window.tensors(name, each_worker=each_worker)]
    if regex is not None or collections is None:
        tensors += window.tensors("all", regex=regex, each_worker=each_worker)
    once = {(result.name, result.worker): result for result in tensors}
    return [once[key] for key in sorted(once, key=str)]


def needs_of(collections: Sequence[str] | None, regex: str | None) -> tuple[Need, ...]:
    """What has to be recorded for them."""
    result: list[Need] = [
        Statistics(collection) for collection in collections or () if collection != LOSSES
    ]
    result += [Losses()] if LOSSES in (collections or ()) else []
    return (
        (*result, Statistics("all")) if regex is not None or collections is None else tuple(result)
    )


def layer_of(tensor: str) -> str:
    """What a person calls the tensor: a gradient goes by the name of its parameter."""
    return tensor.removeprefix("gradient/")


def layers_affected(count: int) -> str:
    """How many more layers have the same problem, as a sentence; empty for none."""
    return f" {count} more {'layer is' if count == 1 else 'layers are'} affected." if count else ""


def first_and_count(names: Sequence[str]) -> str:
    """The first one, and how many others there are."""
    more = len(names) - 1
    return layer_of(names[0]) + (f" and {more} more" if more else "")
