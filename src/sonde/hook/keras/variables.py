"""Names of the variables of Keras models and optimizers."""

from collections.abc import Iterable, Iterator
from typing import Any


def state_names(optimizer: Any, paths: Iterable[str]) -> Iterator[tuple[Any, str, str]]:
    """The state variables of an optimizer, each with the path of its weight and a name.

    Keras names them after their weight: the state `momentum` of the weight `model/dense/kernel` is
    the variable `model_dense_kernel_momentum`.
    """
    # longest first: a path may be the beginning of another
    prefixes = sorted(((path.replace("/", "_") + "_", path) for path in paths), reverse=True)
    for variable in optimizer.variables if optimizer is not None else ():
        for prefix, path in prefixes:
            if variable.name.startswith(prefix):
                yield variable, path, variable.name.removeprefix(prefix)
                break
