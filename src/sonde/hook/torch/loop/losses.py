"""The losses of a step: what backward was called on, and what the loss truly was.

Loops divide the loss by the number of micro-steps, gradient scalers multiply it. The true value
comes from whoever did that, or from the graph: the last operation on the root tells its divisor.
"""

from collections import Counter, deque
from collections.abc import Callable
from math import inf, isfinite
from typing import Any, NamedTuple, TypeGuard

from torch import Tensor

from sonde.hook.call_site import Chain
from sonde.hook.session import Session
from sonde.hook.steps import BY_BACKWARD, FinishedStep
from sonde.hook.torch.tensors.device_scalars import DeviceScalars
from sonde.hook.torch.tensors.shards import full_tensor, local
from sonde.records.worker import TensorInfo

AS_GIVEN = "as given to backward"
_DIVIDED = "divided by the loop: multiplied by its divisor, which the graph tells"
_MOST_ROOTS = 4096  # loops whose steps nobody sees have no end of them
_RECENT = 64  # losses that tell how large they may be
_TIMES_RECENT = 30.0  # the largest of these: a loss beyond it is worth a look at the weights
_SCALED = "scaled by a gradient scaler: taken before"

Listener = Callable[[float], None]


class _Told(NamedTuple):
    """What a framework says of the backward passes that it is about to make."""

    divisor: float
    said: str
    loss: Tensor | float | None  # before it was divided; None: only the divisor is known


DIVISIONS = ("DivBackward0", "MulBackward0")  # operations that may have divided a loss


ACCUMULATES: Chain = ((0, 0),)  # in place of a call site: the script says that it accumulates

# where backward was called, and how often gradients had been cleared by then
Source = tuple[Chain, int]


class _Root(NamedTuple):
    """One call of backward."""

    value: Tensor | float  # what backward was called on
    unscaled: Tensor | float  # before a gradient scaler multiplied it, or a framework divided it
    divisor: float  # by what the loop divided that; 1: it did not
    said: str
    is_sure: bool  # who divided it said so
    factor: float = 1.0  # by what a framework divided it after that
    source: "Source" = ((), 0)

    @property
    def is_plain(self) -> bool:
        """Whether nobody but the loop itself has changed it."""
        return not self.is_sure and self.factor == 1 and self.unscaled is self.value


class Losses:
    """Collects the roots of a step and records their values when it is over."""

    def __init__(self, session: Session, scalars: DeviceScalars) -> None:
        self._session = session
        self._scalars = scalars
        self._roots: deque[_Root] = deque(maxlen=_MOST_ROOTS)
        self._by_optimizer: dict[int, list[_Root]] = {}
        self._scaled: tuple[int, Tensor] | None = None
        self._made: tuple[int, _Told] | None = None
        self._told: _Told | None = None
        self._said = ""
        self._clearings = 0
        self.on_non_finite: list[Listener] = []  # told a loss before its backward pass
        self.on_jump: list[Callable[[], None]] = []  # told of one that is far out of range
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self.limit = inf  # of losses in range, in the host's memory
        session.listeners.on_step("losses", self._step_over)
        session.listeners.on_begin(self._start_anew)

    def _start_anew(self) -> None:
        """What a forked child knows of its parent is not its own."""
        self._roots.clear()
        self._by_optimizer = {}
        self._recent.clear()
        self.limit = inf

    def scaled(self, loss: Any, output: Any) -> None:
        """A gradient scaler has made one from the other."""
        if isinstance(loss, Tensor) and isinstance(output, Tensor):
            self._scaled = (id(output), loss)

    def divides(self, divisor: float, by: str, loss: Any = None) -> bool:
        """A framework says by what it divides a loss, until `undivided`; the outermost one counts.

        Args:
            divisor: By what.
            by: Who.
            loss: The loss itself, where it is there already.
        """
        if self._told is not None:
            return False
        self._told = _told(divisor, by, loss)
        return True

    def undivided(self) -> None:
        """What follows is nobody's any more."""
        self._told = None

    def divided(self, loss: Any, output: Any, divisor: float, by: str) -> None:
        """A framework has made one from the other, by dividing it."""
        if isinstance(output, Tensor):
            self._made = (id(output), _told(divisor, by, loss))

    def root(self, tensors: Any, site: Chain = ()) -> None:
        """Backward is called on these."""
        if isinstance(tensors, list | tuple):
            tensors = tensors[0] if len(tensors) == 1 else None
        if not _is_readable(tensors) or tensors.is_meta:
            return
        loss, said = tensors, AS_GIVEN
        if self._scaled is not None and self._scaled[0] == id(tensors):
            loss, said = self._scaled[1], _SCALED
        self._scaled = None
        value = _value_of(tensors)
        unscaled = value if loss is tensors else _value_of(loss)
        told = self._told_of(loss)
        if told is None:
            root = _Root(value, unscaled, divisor_of(loss), said, is_sure=False)
        elif told.loss is None:
            root = _Root(value, unscaled, told.divisor, told.said, is_sure=True)
        else:
            root = _Root(value, told.loss, 1.0, told.said, is_sure=True, factor=told.divisor)
        self._roots.append(root._replace(source=(site, self._clearings)))
        if isinstance(value, float):
            self._judge(value)

    def _judge(self, value: float) -> None:
        """Tells of a loss that is far out of range, or not finite, before its backward pass."""
        if not abs(value) <= self.limit:
            for tell in self.on_jump:
                tell()
        self._learn(value)
        if not isfinite(value):
            for listener in self.on_non_finite:
                listener(value)

    def discard(self) -> None:
        """What was backpropagated since an optimizer stepped leads to no step."""
        self._roots.clear()

    def forget_last(self) -> None:
        """The backward pass that was begun last has raised."""
        if self._roots:
            self._roots.pop()

    def noted(self, value: float, divisor: float, site: Chain) -> None:
        """Backward was called on a loss that nobody but the loop itself has changed."""
        source = (site, self._clearings)
        self._roots.append(_Root(value, value, divisor, AS_GIVEN, is_sure=False, source=source))
        self._learn(value)

    def _learn(self, value: float) -> None:
        """Remembers a loss; once there are enough of them they tell how large one may be."""
        if isfinite(value):
            self._recent.append(abs(value))
            if len(self._recent) == _RECENT:
                self.limit = _TIMES_RECENT * max(self._recent)

    def gradients_cleared(self) -> None:
        """What is backpropagated from now on is not added to what was there."""
        self._clearings += 1

    @property
    def is_told(self) -> bool:
        """Whether a framework or a scaler has something to say about the next loss."""
        return any(said is not None for said in (self._told, self._made, self._scaled))

    @property
    def non_finite(self) -> float | None:
        """A loss of the step under way that is not finite, if it is known by now."""
        for root in self._roots:
            if isinstance(root.value, float) and not isfinite(root.value):
                return root.value
        return None

    def _told_of(self, loss: Tensor) -> _Told | None:
        made, self._made = self._made, None
        if self._told is not None or made is None:
            return self._told
        return made[1] if made[0] == id(loss) else None

    def optimizer_stepped(self, optimizer: int) -> int:
        """What was backpropagated since belongs to that optimizer.

        Returns:
            How many of the backward passes were parts of a loss that others had begun.
        """
        surplus = self.surplus
        self._by_optimizer.setdefault(optimizer, []).extend(self._roots)
        self._roots.clear()
        return surplus

    @property
    def surplus(self) -> int:
        """How many of the backward passes so far are parts of a loss that others have begun."""
        roots = list(self._roots)
        return len(roots) - len(roots) // len(_parts(roots)) if len(roots) > 1 else 0

    def take_all(self) -> None:
        """The script says that the step is over: what was backpropagated belongs to it."""
        self.optimizer_stepped(0)

    def _step_over(self, step: FinishedStep) -> None:
        if step.mode != "train":
            return
        if BY_BACKWARD in step.optimizers:
            self.optimizer_stepped(BY_BACKWARD)
        by_optimizer = self._take(step.optimizers)
        at = (step.mode, step.number)
        if len(by_optimizer) == 1:
            [roots] = by_optimizer.values()
            if len(roots) == 1 and roots[0].is_plain:  # as mostly
                self._scalars.record("loss", [(roots[0].value, 1.0)], at)
                self._explain("loss", roots[0], 1.0)
                return
        with_roots = {index: roots for index, roots in by_optimizer.items() if roots}
        for index, roots in with_roots.items():
            name = "loss" if len(with_roots) == 1 else f"loss/{index}"
            self._record(name, roots, at)

    def _take(self, optimizers: tuple[int, ...]) -> dict[int, list[_Root]]:
        """The losses of those that have stepped; of all where the script itself ends its steps."""
        if not optimizers or self._by_optimizer.keys() <= set(optimizers):
            found, self._by_optimizer = self._by_optimizer, {}
            return found
        return {one: self._by_optimizer.pop(one, []) for one in dict.fromkeys(optimizers)}

    def _record(self, name: str, roots: list[_Root], at: tuple[str, int]) -> None:
        count = len(roots) // len(_parts(roots))
        factors = [_factor(root, count) for root in roots]
        parts = [
            (root.unscaled, factor / count) for root, factor in zip(roots, factors, strict=True)
        ]
        self._scalars.record(name, parts, at)
        is_scaled = roots[0].unscaled is not roots[0].value
        factor = factors[0] * roots[0].factor
        if is_scaled or factor != 1:
            self._scalars.record(f"{name}/root", [(root.value, 1 / count) for root in roots], at)
        if factor != 1:
            self._session.recorder.scalar(f"{name}/factor", factor, at=at)
        self._explain(name, roots[0], factors[0], len(roots) // count)

    def _explain(self, name: str, root: _Root, factor: float, parts: int = 1) -> None:
        said = _DIVIDED if factor != 1 and not root.is_sure else root.said
        if parts > 1:
            said = f"the sum of {parts} backward passes, called from different lines"
        if said != self._said or not self._session.store.has_tensor(name):
            self._said = said
            self._session.store.register_tensor(
                TensorInfo(name, ("losses",), "float32", (), said=said)
            )


def _parts(roots: list[_Root]) -> list[Chain]:
    """The call sites whose losses add up to one; a single one where passes are micro-steps.

    Two calls of `backward` on different lines add up their gradients, so their losses are parts of
    one. They are micro-steps where the loop divides each by the number of all, where it keeps DDP
    from synchronizing, and where gradients were cleared in between (an optimizer that looks ahead).
    """
    sites = Counter(root.source[0] for root in roots)
    is_divided = any(_is_share(root, len(roots)) for root in roots)
    is_cleared = len({root.source[1] for root in roots}) > 1
    is_even = len(set(sites.values())) == 1 and ACCUMULATES not in sites
    return list(sites) if is_even and not (is_divided or is_cleared) else [()]


def _is_share(root: _Root, count: int) -> bool:
    """Whether a loss was divided by the number of passes that it shares a step with."""
    return root.divisor * root.factor != 1 if root.is_sure else root.divisor == count


def _told(divisor: float, by: str, loss: Any) -> _Told:
    value = _value_of(loss) if _is_readable(loss) else None
    said = AS_GIVEN if divisor == 1 else f"divided by {by}: "
    if divisor != 1:
        said += "multiplied again" if value is None else "taken before"
    return _Told(divisor, said, value)


def _is_readable(value: object) -> TypeGuard[Tensor]:
    """Whether it is a tensor of one number, and this worker has all of it."""
    return isinstance(value, Tensor) and value.numel() == 1 and full_tensor(value) is not None


def _factor(root: _Root, micro_steps: int) -> float:
    """By what the root is to be multiplied; a divisor counts where it fits the micro-steps."""
    if root.is_sure:
        return root.divisor
    return root.divisor if micro_steps > 1 and root.divisor == micro_steps else 1.0


def _value_of(tensor: Tensor) -> Tensor | float:
    """The number, where it can be had without waiting for a device; else a copy of it there.

    Scripts add up the losses of all workers in place, before the step is over.
    """
    detached = local(tensor).detach()
    return float(detached) if detached.device.type == "cpu" else detached.clone()


def divisor_of(loss: Tensor) -> float:
    """What the last operation on a loss divided it by, if it was a division by a number."""
    operation = loss.grad_fn
    name = type(operation).__name__
    if name not in DIVISIONS:
        return 1.0
    saved = getattr(operation, "_raw_saved_other", None)
    if getattr(saved, "unpack_hook", None) is not None:
        return 1.0  # the script has stored it elsewhere, and may expect to be asked for it once
    other = getattr(operation, "_saved_other", None)
    if not _is_readable(other) or other.device.type != "cpu":
        return 1.0
    number = float(local(other))
    if name == "MulBackward0":
        number = round(1 / number, 9) if number else 1.0
    return number


def operation_of(loss: Tensor) -> str:
    """The operation that a loss comes from; one that only scales it is passed over."""
    operation = loss.grad_fn
    name = type(operation).__name__
    if operation is None or name not in DIVISIONS:
        return name
    return type(operation.next_functions[0][0]).__name__
