"""The optimizers of a script, numbered in order of creation."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from torch import Tensor
from torch.optim import Optimizer

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.patches import Patches


class Optimizers:
    """Numbers optimizers and forgets those that no longer exist."""

    def __init__(self, on_created: Callable[[Optimizer], None]) -> None:
        self._on_created = on_created
        # called after the script creates an optimizer
        self.after_creation: list[Callable[[], None]] = []
        self._numbers: IdentityMap[Optimizer, int] = IdentityMap()
        self._recorded: set[int] = set()  # numbers of those that stepped in the recorded thread
        self._next = 0

    def attach(self, patches: Patches) -> None:
        """Track every optimizer created from now on."""
        patches.wrap(Optimizer, "__init__", self._wrap_init)

    def adopt(self, optimizers: Iterable[Optimizer]) -> None:
        """Track optimizers created before the hook was attached."""
        for optimizer in optimizers:
            self._on_created(optimizer)

    def add(self, optimizer: Any) -> None:
        """Track an optimizer that the script has created, or what represents one."""
        self._on_created(optimizer)
        for listener in self.after_creation:
            listener()

    def number_of(self, optimizer: Optimizer) -> int:
        """The optimizer's number."""
        number = self._numbers.get(optimizer)
        if number is None:
            number = self._numbers[optimizer] = self._next
            self._next += 1
        return number

    @property
    def alive(self) -> int:
        """The number of existing optimizers."""
        return len(self._numbers)

    @property
    def by_identity(self) -> dict[int, int]:
        """The numbers of existing optimizers by object identity."""
        return {id(optimizer): number for optimizer, number in self._numbers}

    def steps_in_recorded_thread(self, number: int) -> None:
        """Note that an optimizer steps in the recorded thread."""
        self._recorded.add(number)

    def readable(self, *, is_alone: bool) -> Iterator[tuple[int, Optimizer]]:
        """Numbers and optimizers whose gradients no other thread changes.

        Args:
            is_alone: Whether no other thread trains.
        """
        for optimizer, number in list(self._numbers):
            if is_alone or number in self._recorded:
                yield number, optimizer

    def __iter__(self) -> Iterator[tuple[int, Optimizer]]:
        return iter([(number, optimizer) for optimizer, number in self._numbers])

    def _wrap_init(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def tracked(optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
            try:
                result = original(optimizer, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            self.add(optimizer)
            return result

        return tracked


def parameters_of(optimizer: Optimizer) -> Iterator[Tensor]:
    """All parameters of an optimizer."""
    for group in optimizer.param_groups:
        yield from group["params"]
