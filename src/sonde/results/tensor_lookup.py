"""Find a tensor by its name, and explain why there is none."""

from collections.abc import Callable, Iterable, Mapping, Sequence

from sonde.errors import UsageError, known_names
from sonde.read.scalars import Losses
from sonde.read.tensors import Holders
from sonde.read.workers import WorkerReader
from sonde.results.arguments import checked_name
from sonde.results.tensors import Tensor

_GRADIENT = "gradient/"


def tensor_of(
    name: str,
    readers: Sequence[WorkerReader],
    holders: Mapping[str, Holders],
    read_scalar_names: Callable[[], Iterable[str]],
) -> Tensor:
    """Find a tensor by name.

    Raises:
        UsageError: There is no such tensor; suggests a scalar or tensors of similar names.
    """
    if checked_name(name, "tensor") in holders:
        return Tensor(name, readers, holders[name])
    if name in read_scalar_names():
        query = "losses" if name in Losses() else f"scalars({name!r})"
        raise UsageError(f"{name!r} is a scalar, not a tensor. Use job.{query}.")
    without_prefix = _without_model(name, holders)
    if without_prefix:
        raise UsageError(
            f"Unknown tensor {name!r}. Did you mean {without_prefix!r}? Names start with the class "
            "of the model only if the job trains several models."
        )
    raise UsageError(f"Unknown tensor {name!r}.{known_names(name, holders)}")


def _without_model(name: str, holders: Mapping[str, Holders]) -> str:
    """The recorded name that differs only in the model's class; empty if there is none."""
    prefix = _GRADIENT if name.startswith(_GRADIENT) else ""
    rest = name.removeprefix(_GRADIENT)
    shorter = [prefix + rest[at + 1 :] for at, letter in enumerate(rest) if letter in "._/"]
    longer = [each for each in holders if each.startswith(prefix) and each.endswith(f".{rest}")]
    return next((each for each in (*shorter, *longer) if each in holders), "")
