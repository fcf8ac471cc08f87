"""Losses and clipped gradient norms of steps during which hooks rest."""

from collections.abc import Callable
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
from sonde.hook.torch.loop.losses import Losses, operation_of
from sonde.hook.torch.loop.step_ends import ClippedNorm
from sonde.hook.torch.patching.hidden_operations import hidden_from_modes
from sonde.hook.torch.patching.uncompiled import skip_in_compiler
from sonde.hook.torch.tensors.host_numbers import number_in

_MAX_LOSS = 3.4e38  # of finite losses


class RestingLosses:
    """Notes plain losses in range; other losses wake the hooks."""

    __slots__ = (
        *("are_recorded", "_on_bad_loss", "_notes", "_session"),
        *("_limit", "_node_types", "_losses", "_kinds"),
    )

    def __init__(self, session: Session, notes: list[Any]) -> None:
        self._session = session
        self._notes = notes  # shared with StepCounter
        self.are_recorded = False
        # reports the inputs of a loss out of range, and returns them
        self._on_bad_loss: Callable[[Tensor], list[Tensor] | None] = lambda _root: None
        self._limit = 0.0  # losses beyond it are inspected
        self._node_types: set[type] = set()  # graph nodes that produced losses so far

    def connect(self, losses: Losses, kinds: set[str]) -> None:
        """Use the range of these losses, and the operations that produced losses so far."""
        self._losses, self._kinds = losses, kinds

    def listen(self, bad_loss: Callable[[Tensor], list[Tensor] | None]) -> None:
        """Set what reports the inputs of a loss out of range, and returns them."""
        self._on_bad_loss = bad_loss

    def begin(self) -> None:
        """Update the range of losses at the start of a rest."""
        self._limit = min(self._losses.limit, _MAX_LOSS)

    def clipped(self, norm: Any, limit: Any) -> None:
        """Note a gradient norm computed for clipping, if losses are recorded."""
        is_plain = type(norm) is Tensor and not (
            _len_torch_function_stack() or _len_torch_dispatch_stack()
        )
        if is_plain and self.are_recorded and self._session.thread.is_current():
            self._notes.append(ClippedNorm(norm.item(), float(limit)))

    def wrap_backward(
        self, original: Callable[..., Any], awake: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Wrap backward: at rest, call the original and only note the loss."""
        state, note = self._session.state, self._notes.append
        function_modes, dispatch_modes = _len_torch_function_stack, _len_torch_dispatch_stack
        number_of_new_kind = hidden_from_modes(self._number_of_new_kind)

        def backward(*args: Any, **kwargs: Any) -> Any:
            try:
                if not state.is_resting:
                    return awake(*args, **kwargs)
                if not self.are_recorded or not args or _current_graph_task_id() != -1:
                    return original(*args, **kwargs)
                root = args[0]
                is_plain = type(root) is Tensor and not (function_modes() or dispatch_modes())
                try:  # with cold caches, each further tensor attribute would cost a microsecond
                    is_plain = is_plain and type(root.grad_fn) in self._node_types
                    value = root.item() if is_plain else number_of_new_kind(root)
                except RuntimeError:  # more than one element
                    value = None
                if value is None:
                    return original(*args, **kwargs)
                limit = self._limit
                if not -limit <= value <= limit:
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

    def _number_of_new_kind(self, root: Any) -> float | None:
        """The value of a loss, or NaN if a new kind of operation produced it."""
        value = number_in(root)
        if value is None:
            return None
        kind, operation = type(root.grad_fn), operation_of(root)
        if operation not in self._kinds:
            return nan
        if operation == kind.__name__:  # not an operation that only scales the loss
            self._node_types.add(kind)
        return value
