"""The optimizers of a script, in the order in which they were made."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.patches import Patches


class Optimizers:
    """Every optimizer gets a number; those that are gone do not count any more."""

    def __init__(self, on_made: Callable[[Optimizer], None]) -> None:
        self._on_made = on_made
        self.after_made: list[Callable[[], None]] = []  # told when the script makes one
        self._numbers: IdentityMap[Optimizer, int] = IdentityMap()
        self._next = 0

    def attach(self, patches: Patches) -> None:
        """Sees every optimizer that is made from now on."""
        patches.wrap(Optimizer, "__init__", self._noting)

    def adopt(self, optimizers: Iterable[Optimizer]) -> None:
        """Takes optimizers that were made before us."""
        for optimizer in optimizers:
            self._on_made(optimizer)

    def number_of(self, optimizer: Optimizer) -> int:
        """The optimizer's number."""
        known = self._numbers.get(optimizer)
        if known is None:
            known = self._numbers[optimizer] = self._next
            self._next += 1
        return known

    @property
    def alive(self) -> int:
        """How many there are now."""
        return len(self._numbers)

    @property
    def by_identity(self) -> dict[int, int]:
        """Their numbers, by the identities of those that exist now."""
        return {id(optimizer): number for optimizer, number in self._numbers}

    def __iter__(self) -> Iterator[tuple[int, Optimizer]]:
        return iter([(number, optimizer) for optimizer, number in self._numbers])

    def _noting(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def noted(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            try:
                result = original(optimizer, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            self._on_made(optimizer)
            for tell in self.after_made:
                tell()
            return result

        return noted


def parameters_of(optimizer: Optimizer) -> Iterator[Tensor]:
    """Every parameter that an optimizer owns."""
    for group in optimizer.param_groups:
        yield from group["params"]
