"""The losses of a step, before loops or frameworks scale them for backward.

Loops divide the loss by the number of micro-steps, and gradient scalers multiply it. The original
value comes from the framework or scaler, or from the graph: the last operation on the tensor that
backward is called on reveals the divisor.
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

AS_GIVEN = "as passed to backward"
_DIVIDED = "divided by the script; multiplied by the divisor found in the autograd graph"
_MAX_ROOTS = 4096  # kept in loops whose steps are not detected
_RECENT = 64  # losses that define the expected range
_RECENT_FACTOR = 30.0  # losses beyond this multiple of the recent maximum trigger an inspection
_SCALED = "value before the gradient scaler"

Listener = Callable[[float], None]


class _Division(NamedTuple):
    """How a framework announce_division a loss before backward."""

    divisor: float
    description: str
    loss: Tensor | float | None  # before the division; None if only the divisor is known


DIVISIONS = ("DivBackward0", "MulBackward0")  # operations that may divide a loss


ACCUMULATES: Chain = ((0, 0),)  # replaces the call site when the script declares accumulation

# call site of backward, and the number of gradient clears before it
Source = tuple[Chain, int]


class _Root(NamedTuple):
    """A call of backward."""

    value: Tensor | float  # the tensor that backward was called on
    unscaled: Tensor | float  # before a gradient scaler or framework changed it
    divisor: float  # applied by the loop; 1 if none
    description: str
    is_announced: bool  # the framework announced its division
    factor: float = 1.0  # divisor that a framework applied afterwards
    source: "Source" = ((), 0)

    @property
    def is_plain(self) -> bool:
        """Whether neither a framework nor a scaler has changed the loss."""
        return not self.is_announced and self.factor == 1 and self.unscaled is self.value


class LossRecipe(NamedTuple):
    """How the loss of a step follows from the values passed to backward."""

    name: str
    weights: tuple[float, ...]  # of each backward pass since the last optimizer step

    @property
    def is_plain(self) -> bool:
        """Whether the only value of the step is its loss."""
        return self == _PLAIN


_PLAIN = LossRecipe("loss", (1.0,))


class Losses:
    """Collects the losses of a step and records them when the step ends."""

    def __init__(self, session: Session, scalars: DeviceScalars) -> None:
        self._session = session
        self._scalars = scalars
        self._roots: deque[_Root] = deque(maxlen=_MAX_ROOTS)
        self._by_optimizer: dict[int, list[_Root]] = {}
        self._scaled: tuple[int, Tensor] | None = None
        self._divided: tuple[int, _Division] | None = None
        self._announced: _Division | None = None
        self._description = ""
        self._clear_count = 0
        self.on_non_finite: list[Listener] = []  # called with the loss before its backward pass
        self.on_jump: list[Callable[[], None]] = []  # called for losses far out of range
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self.limit = inf  # largest absolute value of losses in range
        self.are_on_device = False  # reading the latest loss would wait for a device
        self.recipes: dict[int, LossRecipe] = {}  # of the latest step, by optimizer
        session.listeners.on_step("losses", self._after_step)
        session.listeners.on_begin(self._reset)

    def _reset(self) -> None:
        """Drop all losses, such as those that a forked child inherits."""
        self._roots.clear()
        self._by_optimizer = {}
        self._recent.clear()
        self.limit = inf

    def note_scaling(self, loss: Any, output: Any) -> None:
        """Remember the loss that a gradient scaler has multiplied."""
        if isinstance(loss, Tensor) and isinstance(output, Tensor):
            self._scaled = (id(output), loss)

    def announce_division(self, divisor: float, by: str, loss: Any = None) -> bool:
        """Announce the divisor of a framework until `end_division`; the outermost call wins.

        Args:
            divisor: The divisor.
            by: Name of the framework.
            loss: The loss before the division, if available.
        """
        if self._announced is not None:
            return False
        self._announced = _division(divisor, by, loss)
        return True

    def end_division(self) -> None:
        """End the announced division."""
        self._announced = None

    def note_division(self, loss: Any, output: Any, divisor: float, by: str) -> None:
        """Remember the loss that a framework has divided."""
        if isinstance(output, Tensor):
            self._divided = (id(output), _division(divisor, by, loss))

    def root(self, tensors: Any, site: Chain = ()) -> None:
        """Collect the loss that backward is called on."""
        if isinstance(tensors, list | tuple):
            tensors = tensors[0] if len(tensors) == 1 else None
        if not _is_readable(tensors) or tensors.is_meta:
            return
        loss, description = tensors, AS_GIVEN
        if self._scaled is not None and self._scaled[0] == id(tensors):
            loss, description = self._scaled[1], _SCALED
        self._scaled = None
        value = _value_of(tensors)
        unscaled = value if loss is tensors else _value_of(loss)
        division = self._division_of(loss)
        if division is None:
            root = _Root(value, unscaled, divisor_of(loss), description, is_announced=False)
        elif division.loss is None:
            root = _Root(value, unscaled, division.divisor, division.description, is_announced=True)
        else:
            root = _Root(
                value,
                division.loss,
                1.0,
                division.description,
                is_announced=True,
                factor=division.divisor,
            )
        self._roots.append(root._replace(source=(site, self._clear_count)))
        self.are_on_device = not isinstance(value, float)
        if isinstance(value, float):
            self._check_range(value)

    def _check_range(self, value: float) -> None:
        """Notify listeners of a loss that is out of range or not finite."""
        if not abs(value) <= self.limit:
            for report in self.on_jump:
                report()
        self._learn(value)
        if not isfinite(value):
            for listener in self.on_non_finite:
                listener(value)

    def discard(self) -> None:
        """Drop losses since the last optimizer step: their gradients are not used."""
        self._roots.clear()

    def forget_last(self) -> None:
        """Drop the latest loss: its backward pass raised an exception."""
        if self._roots:
            self._roots.pop()

    def deferred_root(self, value: float, divisor: float, site: Chain) -> None:
        """Collect a loss from a deferred hook; neither a framework nor a scaler has changed it."""
        source = (site, self._clear_count)
        self._roots.append(
            _Root(value, value, divisor, AS_GIVEN, is_announced=False, source=source)
        )
        self._learn(value)

    def _learn(self, value: float) -> None:
        """Update the expected range of losses."""
        if isfinite(value):
            self._recent.append(abs(value))
            if len(self._recent) == _RECENT:
                self.limit = _RECENT_FACTOR * max(self._recent)

    def gradients_cleared(self) -> None:
        """Count a clear: later gradients do not add to earlier ones."""
        self._clear_count += 1

    @property
    def is_adjusted(self) -> bool:
        """Whether a framework or a scaler changes the next loss."""
        return any(source is not None for source in (self._announced, self._divided, self._scaled))

    @property
    def non_finite(self) -> float | None:
        """A non-finite loss of the current step, if there is one on the CPU."""
        for root in self._roots:
            if isinstance(root.value, float) and not isfinite(root.value):
                return root.value
        return None

    def _division_of(self, loss: Tensor) -> _Division | None:
        divided, self._divided = self._divided, None
        if self._announced is not None or divided is None:
            return self._announced
        return divided[1] if divided[0] == id(loss) else None

    def optimizer_stepped(self, optimizer: int) -> int:
        """Assign the losses since the last optimizer step to this optimizer.

        Returns:
            The number of backward passes that add to a loss of another pass.
        """
        surplus = self.surplus
        self._by_optimizer.setdefault(optimizer, []).extend(self._roots)
        self._roots.clear()
        return surplus

    @property
    def surplus(self) -> int:
        """The number of backward passes so far that add to a loss of another pass."""
        roots = list(self._roots)
        return len(roots) - len(roots) // len(_summand_sites(roots)) if len(roots) > 1 else 0

    def take_all(self) -> None:
        """Assign all losses to the step that the script ends."""
        self.optimizer_stepped(0)

    def _after_step(self, step: FinishedStep) -> None:
        if step.mode != "train":
            return
        if BY_BACKWARD in step.optimizers:
            self.optimizer_stepped(BY_BACKWARD)
        by_optimizer = self._take(step.optimizers)
        at = (step.mode, step.number)
        if len(by_optimizer) == 1:
            [(optimizer, roots)] = by_optimizer.items()
            if len(roots) == 1 and roots[0].is_plain:  # the common case
                self.recipes = {optimizer: _PLAIN}
                self._scalars.record("loss", [(roots[0].value, 1.0)], at)
                self._explain("loss", roots[0], 1.0)
                return
        with_roots = {index: roots for index, roots in by_optimizer.items() if roots}
        self.recipes = {}
        for index, roots in with_roots.items():
            name = "loss" if len(with_roots) == 1 else f"loss/{index}"
            self.recipes[index] = LossRecipe(name, self._record(name, roots, at))

    def _take(self, optimizers: tuple[int, ...]) -> dict[int, list[_Root]]:
        """The losses of these optimizers, or of all if the script ends its steps itself."""
        if not optimizers or self._by_optimizer.keys() <= set(optimizers):
            by_optimizer, self._by_optimizer = self._by_optimizer, {}
            return by_optimizer
        return {
            optimizer: self._by_optimizer.pop(optimizer, [])
            for optimizer in dict.fromkeys(optimizers)
        }

    def _record(self, name: str, roots: list[_Root], at: tuple[str, int]) -> tuple[float, ...]:
        """Record the loss of a step; return the weights of the values before a gradient scaler."""
        count = len(roots) // len(_summand_sites(roots))
        factors = [_factor(root, count) for root in roots]
        weighted_values = [
            (root.unscaled, factor / count) for root, factor in zip(roots, factors, strict=True)
        ]
        self._scalars.record(name, weighted_values, at)
        is_scaled = roots[0].unscaled is not roots[0].value
        factor = factors[0] * roots[0].factor
        if is_scaled or factor != 1:
            self._scalars.record(f"{name}/root", [(root.value, 1 / count) for root in roots], at)
        if factor != 1:
            self._session.recorder.scalar(f"{name}/factor", factor, at=at)
        self._explain(name, roots[0], factors[0], len(roots) // count)
        return tuple(
            [factor * root.factor / count for root, factor in zip(roots, factors, strict=True)]
        )

    def _explain(self, name: str, root: _Root, factor: float, summand_count: int = 1) -> None:
        description = _DIVIDED if factor != 1 and not root.is_announced else root.description
        if summand_count > 1:
            description = f"sum of {summand_count} backward passes called from different lines"
        if description != self._description or not self._session.store.has_tensor(name):
            self._description = description
            self._session.store.register_tensor(
                TensorInfo(name, ("losses",), "float32", (), note=description)
            )


def _summand_sites(roots: list[_Root]) -> list[Chain]:
    """The call sites whose losses add up; a single entry if passes are micro-steps.

    Gradients of `backward` calls on different lines add up, so their losses are summands. Passes
    are micro-steps if the loop announce_division each loss by their number, if it disables DDP
    synchronization, or if gradients were cleared in between (such as sharpness-aware optimizers).
    """
    sites = Counter(root.source[0] for root in roots)
    is_divided = any(_is_share(root, len(roots)) for root in roots)
    is_cleared = len({root.source[1] for root in roots}) > 1
    is_even = len(set(sites.values())) == 1 and ACCUMULATES not in sites
    return list(sites) if is_even and not (is_divided or is_cleared) else [()]


def _is_share(root: _Root, count: int) -> bool:
    """Whether a loss was divided by the number of passes in its step."""
    return root.divisor * root.factor != 1 if root.is_announced else root.divisor == count


def _division(divisor: float, by: str, loss: Any) -> _Division:
    value = _value_of(loss) if _is_readable(loss) else None
    description = AS_GIVEN if divisor == 1 else f"divided by {by}: "
    if divisor != 1:
        description += "multiplied back" if value is None else "value before the division"
    return _Division(divisor, description, value)


def _is_readable(value: object) -> TypeGuard[Tensor]:
    """Whether a value is a tensor with one element that this worker holds entirely."""
    return isinstance(value, Tensor) and value.numel() == 1 and full_tensor(value) is not None


def _factor(root: _Root, micro_steps: int) -> float:
    """The factor that restores the loss; a divisor counts if it equals the micro-steps."""
    if root.is_announced:
        return root.divisor
    return root.divisor if micro_steps > 1 and root.divisor == micro_steps else 1.0


def _value_of(tensor: Tensor) -> Tensor | float:
    """The value of a CPU tensor, or a copy of a device tensor.

    A copy, because scripts may reduce losses across workers in place before the step ends.
    """
    detached = local(tensor).detach()
    return float(detached) if detached.is_cpu else detached.clone()


def divisor_of(loss: Tensor) -> float:
    """The divisor of the last operation on a loss, or 1 if it was not a division."""
    operation = loss.grad_fn
    name = type(operation).__name__
    if name not in DIVISIONS:
        return 1.0
    saved = getattr(operation, "_raw_saved_other", None)
    if getattr(saved, "unpack_hook", None) is not None:
        return 1.0  # the script's unpack hook may expect exactly one call
    operand = getattr(operation, "_saved_other", None)
    if not _is_readable(operand) or operand.device.type != "cpu":
        return 1.0
    number = float(local(operand))
    if name == "MulBackward0":
        number = round(1 / number, 9) if number else 1.0
    return number


def operation_of(loss: Tensor) -> str:
    """The operation that produced a loss, ignoring a final scaling."""
    operation = loss.grad_fn
    name = type(operation).__name__
    if operation is None or name not in DIVISIONS:
        return name
    return type(operation.next_functions[0][0]).__name__
