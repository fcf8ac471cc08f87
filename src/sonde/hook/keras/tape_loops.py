"""Training loops of TensorFlow that compute gradients and apply them themselves.

A step is an eager call of `apply_gradients`, or a call of a compiled function in which it was
traced. The loss is what gradients are computed of, or the first scalar that the function returns.
"""

import sys
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from typing import Any

from sonde.hook.hidden_frames import drop_frame
from sonde.hook.keras.batches import Batches, reference_to
from sonde.hook.keras.hooks import Function
from sonde.hook.keras.model import GRADIENT, Array, Kinds
from sonde.hook.keras.tensorflow_model import TensorFlowModel
from sonde.hook.session import Session
from sonde.hook.torch.patching.identities import IdentityMap
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Phase

_TASK = "training loops"
_LOSS = "loss"
_INSIDE_COMPILED = "gradients and layer outputs"  # which are not recorded
_INSIDE_EAGER = "layer outputs"
_MAX_OTHERS = 8  # twice the updates by other optimizers in a usual step


class _Loop:
    """What a loop trains, with the attributes of a model that are read."""

    metrics = ()

    def __init__(self, optimizer: Any, variables: Sequence[Any]) -> None:
        self.optimizer = optimizer
        self.trainable_variables = [item for item in variables if hasattr(item, "path")]
        self.gradients: Mapping[str, Any] = {}  # of an eager step


class _LoopModel(TensorFlowModel):
    """Reads what a loop trains."""

    def __init__(self, loop: _Loop, not_collected: str) -> None:
        super().__init__(loop)
        self.loop = loop  # kept alive: nothing else refers to it
        self.not_collected = not_collected

    def tensors(self) -> Iterator[tuple[str, Kinds, Any]]:
        """The weights, the state of the optimizer, and the gradients of an eager step."""
        yield from super().tensors()
        for path, gradient in self.loop.gradients.items():
            yield f"gradient/{path}", GRADIENT, gradient

    def _read(self, variable: Any) -> Array:
        array: Array = getattr(variable, "value", variable).numpy()
        return array


class _Calls(threading.local):
    """The outermost compiled function that runs or is traced in this thread."""

    outermost: Any = None


class TapeLoops:
    """Reports the steps of loops outside `fit`."""

    def __init__(self, session: Session, batches: Batches, begin: Callable[[Any], None]) -> None:
        """Prepare the hooks.

        Args:
            session: The session.
            batches: Records steps.
            begin: Begins a training of a model.
        """
        self._session, self._batches, self._begin_training = session, batches, begin
        self._calls = _Calls()
        self._updating: IdentityMap[Any, _LoopModel] = IdentityMap()  # by compiled function
        self._eager: IdentityMap[Any, _LoopModel] = IdentityMap()  # by optimizer
        self._leader: Callable[[], Any] = _nothing  # the function or optimizer that ends steps
        self._others = 0  # updates by others since then
        self._loss: Any = None  # of the latest gradients
        self._wait_ns = (0, 0)  # start and end of the latest wait for data

    def attach(self, patches: Patches) -> None:
        """Install the hooks."""
        self._is_eager: Callable[[], bool] = sys.modules["tensorflow"].executing_eagerly
        eager = "tensorflow.python.eager"
        functions = import_module(f"{eager}.polymorphic_function.polymorphic_function")
        iterators = import_module("tensorflow.python.data.ops.iterator_ops")
        optimizer = import_module("keras.src.optimizers.base_optimizer").BaseOptimizer
        tape = import_module(f"{eager}.backprop").GradientTape
        patches.wrap(functions.Function, "__call__", self._wrap_function)
        patches.wrap(iterators.OwnedIterator, "__next__", self._wrap_next)
        patches.wrap(optimizer, "apply", self._wrap_apply)
        patches.wrap(tape, "gradient", self._wrap_gradient)

    def _hook(self, function: Function) -> Function:
        return self._session.hook(_TASK, function, None)

    def _is_counted(self, subject: object) -> bool:
        state = self._session.state
        is_subject = self._batches.counter.subject() is subject
        return is_subject and state.is_on and not state.is_resting

    def _wrap_function(self, original: Function) -> Function:
        begins, ends = self._hook(self._begin), self._hook(self._end)
        note = self._session.guard.shield(_TASK, self._note, None)
        count, calls = self._batches.counter.counting_hook(), self._calls

        def call(function: Any, *args: Any, **kwargs: Any) -> Any:
            is_outermost = not (self._batches.is_in_program or calls.outermost)
            was_counted = is_outermost and self._is_counted(function)
            if is_outermost:
                calls.outermost = function
                if not was_counted and self._leads(function, self._updating):
                    begins(function)
            try:
                result = original(function, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if is_outermost:
                    calls.outermost = None
            if was_counted:
                note(_scalar_in(result))
                count()
            elif is_outermost and self._leads(function, self._updating):
                ends(function, _scalar_in(result))
            return result

        return call

    def _wrap_apply(self, original: Function) -> Function:
        traced = self._session.guard.shield(_TASK, self._traced, None)
        begins, ends = self._hook(self._begin_eager), self._hook(self._end_eager)
        note = self._session.guard.shield(_TASK, self._note, None)
        count = self._batches.counter.counting_hook()

        def call(optimizer: Any, grads: Any, trainable_variables: Any = None) -> Any:
            variables = None if trainable_variables is None else list(trainable_variables)
            gradients = list(grads)
            is_eager, start_ns = self._is_eager(), 0
            is_in_loop = not self._batches.is_in_program
            was_counted = is_in_loop and is_eager and self._is_counted(optimizer)
            if is_in_loop and not is_eager:
                traced(optimizer, variables)
            elif is_in_loop and not was_counted and self._leads(optimizer, None):
                start_ns = begins(optimizer, variables) or 0
            try:
                result = original(optimizer, gradients, variables)
            except BaseException as error:
                drop_frame(error)
                raise
            if was_counted:
                note(self._loss)
                count()
            elif start_ns:
                ends(optimizer, gradients, start_ns)
            return result

        return call

    def _wrap_gradient(self, original: Function) -> Function:
        computed = self._hook(self._computed)
        now_ns = self._session.clock.now_ns

        def call(tape: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            is_eager = not self._batches.is_in_program and self._is_eager()
            start_ns = now_ns() if is_eager else 0
            try:
                result = original(tape, target, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            if is_eager:
                self._loss = _scalar_in(target)
                if not self._batches.counter.is_counting:
                    computed(start_ns)
            return result

        return call

    def _wrap_next(self, original: Function) -> Function:
        now_ns = self._session.clock.now_ns

        def call(iterator: Any) -> Any:
            start_ns = now_ns()
            try:
                result = original(iterator)
            except BaseException as error:
                drop_frame(error)
                raise
            self._wait_ns = (start_ns, now_ns())
            return result

        return call

    def _leads(self, subject: object, updating: IdentityMap[Any, _LoopModel] | None) -> bool:
        """Whether a function or an optimizer ends steps: one does, others belong to its steps.

        Args:
            subject: The function or the optimizer.
            updating: The functions that update weights; None for an optimizer.
        """
        if updating is not None and subject not in updating:
            return False
        if self._leader() is subject:
            self._others = 0
            return True
        self._others += 1
        if self._leader() is None or self._others > _MAX_OTHERS:
            self._leader, self._others = weakref.ref(subject), 0
            return True
        return False

    def _traced(self, optimizer: Any, variables: Sequence[Any] | None) -> None:
        """Remember that a compiled function updates weights."""
        function = self._calls.outermost
        if function is not None and function not in self._updating:
            loop = _Loop(optimizer, variables or ())
            self._updating[function] = _LoopModel(loop, _INSIDE_COMPILED)

    def _begin(self, function: Any) -> None:
        model = self._updating.get(function)
        if model is not None:
            self._begin_step(model)

    def _end(self, function: Any, loss: Any) -> None:
        model = self._updating.get(function)
        if model is not None:
            if not self._batches.is_in_batch:  # its first call, which was traced
                self._begin_step(model)
            self._batches.end_batch({} if loss is None else {_LOSS: loss})
            self._batches.count(reference_to(function))

    def _begin_eager(self, optimizer: Any, variables: Sequence[Any] | None) -> int:
        model = self._eager.get(optimizer)
        if model is None:
            loop = _Loop(optimizer, variables or ())
            model = self._eager[optimizer] = _LoopModel(loop, _INSIDE_EAGER)
        self._begin_step(model)
        return self._session.clock.now_ns()

    def _end_eager(self, optimizer: Any, gradients: Sequence[Any], start_ns: int) -> None:
        model = self._eager.get(optimizer)
        if model is None:
            return
        self._session.steps.span(Phase.OPTIMIZER.value, start_ns)
        trained = model.loop.trainable_variables
        if len(trained) == len(gradients):
            pairs = zip(trained, gradients, strict=True)
            readable = (pair for pair in pairs if hasattr(pair[1], "numpy"))  # not sparse ones
            model.loop.gradients = {variable.path: gradient for variable, gradient in readable}
        loss = self._loss
        self._batches.end_batch({} if loss is None else {_LOSS: loss}, phase="")
        model.loop.gradients = {}
        self._batches.count(reference_to(optimizer))

    def _begin_step(self, model: _LoopModel) -> None:
        if self._batches.model is not model:
            self._begin_training(model)
        self._batches.begin_batch()
        (start_ns, end_ns), self._wait_ns = self._wait_ns, (0, 0)
        if start_ns:
            self._session.steps.add_past_span(Phase.DATA_WAIT.value, start_ns, end_ns)

    def _computed(self, start_ns: int) -> None:
        self._session.steps.span(Phase.BACKWARD.value, start_ns)

    def _note(self, loss: Any) -> None:
        self._batches.counted.note(None if loss is None else {_LOSS: loss}, 1)


def _nothing() -> None:
    """A reference to nothing."""


def _scalar_in(value: Any) -> Any:
    """The first floating-point scalar in what a function returns; None if there is none."""
    if hasattr(value, "dtype"):
        is_scalar = value.shape == () and value.dtype.is_floating
        return value if is_scalar else None
    items: Sequence[Any] = ()
    if isinstance(value, Mapping):
        items = [value.get(_LOSS), *value.values()]
    elif isinstance(value, list | tuple):
        items = value
    return next((item for item in map(_scalar_in, items) if item is not None), None)
