"""Losses and clipped gradient norms of steps during which hooks rest."""

from collections.abc import Callable, Mapping
from math import nan
from typing import Any

from torch import Tensor
from torch._C import (
    _current_graph_task_id,
    _len_torch_dispatch_stack,
    _len_torch_function_stack,
)

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.session import Session
from sonde.hook.torch.loop.losses import Losses, LossRecipe, operation_of
from sonde.hook.torch.loop.step_ends import ClippedNorm
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in

_MAX_LOSS = 3.4e38  # of finite losses


class RestingLosses:
    """Notes plain losses in range; other losses wake the hooks."""

    __slots__ = (
        *("are_recorded", "_on_bad_loss", "_notes", "_session", "_value_of_new_kind"),
        *("_limit", "_node_types", "_scaling_types", "_losses", "_kinds", "_is_on_host", "_scaled"),
    )

    def __init__(self, session: Session, notes: list[Any]) -> None:
        self._session = session
        self._notes = notes  # shared with StepCounter
        self.are_recorded = False
        self._value_of_new_kind: Callable[[Any], float | Tensor | None] = hidden_from_modes(
            self._inspect_kind
        )
        # reports the inputs of a loss out of range, and returns them
        self._on_bad_loss: Callable[[Tensor], list[Tensor] | None] = lambda _root: None
        self._limit = 0.0  # losses beyond it are inspected
        self._node_types: set[type] = set()  # graph nodes that produced losses so far
        self._scaling_types: set[type] = set()  # nodes that scaled them
        self._is_on_host = True  # reading a loss waits for no device
        self._scaled: tuple[Tensor, Tensor] | None = None  # by a gradient scaler, and the original

    def connect(self, losses: Losses, kinds: set[str]) -> None:
        """Use the range of these losses, and the operations that produced losses so far."""
        self._losses, self._kinds = losses, kinds

    @property
    def recipes(self) -> Mapping[int, LossRecipe]:
        """How losses were computed in the latest inspected step, by optimizer."""
        return self._losses.recipes

    def listen(self, bad_loss: Callable[[Tensor], list[Tensor] | None]) -> None:
        """Set what reports the inputs of a loss out of range, and returns them."""
        self._on_bad_loss = bad_loss

    def begin(self) -> None:
        """Update the range of losses at the start of a rest."""
        self._limit = min(self._losses.limit, _MAX_LOSS)
        self._is_on_host = not self._losses.are_on_device
        self._scaled = None

    def note_scaling(self, loss: Any, scaled: Any) -> None:
        """Remember the loss that a gradient scaler has multiplied, until its backward pass."""
        if self.are_recorded and type(loss) is Tensor and type(scaled) is Tensor:
            self._scaled, self._is_on_host = (scaled, loss), False

    def clipped(self, norm: Any, limit: Any) -> None:
        """Note a gradient norm computed for clipping, if losses are recorded."""
        is_plain = type(norm) is Tensor and not (
            _len_torch_function_stack() or _len_torch_dispatch_stack()
        )
        if is_plain and self.are_recorded and self._session.thread.is_current():
            value = norm.item() if norm.is_cpu else norm.detach().clone()
            self._notes.append(ClippedNorm(value, float(limit)))

    def wrap_backward(
        self, original: Callable[..., Any], awake: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Wrap backward: at rest, call the original and only note the loss."""
        state, note = self._session.state, self._notes.append
        function_modes, dispatch_modes = _len_torch_function_stack, _len_torch_dispatch_stack

        def backward(*args: Any, **kwargs: Any) -> Any:
            try:
                if not state.is_resting:
                    return awake(*args, **kwargs)
                if not self.are_recorded or not args or _current_graph_task_id() != -1:
                    return original(*args, **kwargs)
                root = args[0]
                is_plain = type(root) is Tensor and not (function_modes() or dispatch_modes())
                try:  # with cold caches, each further tensor attribute would cost a microsecond
                    is_direct = is_plain and self._is_on_host
                    is_direct = is_direct and type(root.grad_fn) in self._node_types
                    value = root.item() if is_direct else self._value_of(root, is_plain)
                except RuntimeError:  # more than one element
                    value = None
                if value is None:
                    return original(*args, **kwargs)
                limit = self._limit
                if type(value) is float and not -limit <= value <= limit:
                    inputs = self._on_bad_loss(root)
                    result = awake(*args, **kwargs)
                    del inputs  # kept alive until here: the origin check holds weak references
                    return result
                result = original(*args, **kwargs)
                note(value)
                return result
            except BaseException as error:
                drop_frame(error)
                raise

        skip_in_compiler(awake)
        return backward

    def _value_of(self, root: Any, is_plain: bool) -> float | Tensor | None:
        """The value of a loss, or a copy on its device."""
        if self._scaled is not None:
            (scaled, loss), self._scaled = self._scaled, None
            root = loss if scaled is root else root
        if is_plain:
            node = root.grad_fn
            kind = type(node)
            if kind in self._scaling_types:
                kind = type(node.next_functions[0][0])
            if kind in self._node_types:
                return root.item() if root.is_cpu else _copy_of(root)
        return self._value_of_new_kind(root)

    def _inspect_kind(self, root: Any) -> float | Tensor | None:
        """The value of a loss, or NaN if a new kind of operation produced it."""
        value: float | Tensor | None = number_in(root)
        if value is None and type(root) is Tensor:
            value = _copy_of(root)
        if value is None:
            return None
        kind, operation = type(root.grad_fn), operation_of(root)
        if operation not in self._kinds:
            return nan
        if operation == kind.__name__:
            self._node_types.add(kind)
        else:
            self._scaling_types.add(kind)
            self._node_types.add(type(root.grad_fn.next_functions[0][0]))
        return value


def _copy_of(loss: Tensor) -> Tensor | None:
    """A copy of a loss on its device, since reading it would wait; None for other tensors."""
    is_readable = not (loss.is_cpu or loss.is_meta) and loss.numel() == 1
    return loss.detach().clone() if is_readable else None
