"""Keras on JAX and TensorFlow: batches as a whole, since each is one compiled program."""

import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from sonde.hook.frameworks._adapter import Adapter
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.keras.batches import Batches, reference_to
from sonde.hook.keras.epochs import Epochs
from sonde.hook.keras.hooks import Function, calling_around, calling_first
from sonde.hook.keras.model import KerasModel, named
from sonde.hook.keras.passes import Passes
from sonde.hook.keras.timed_data import timed_data
from sonde.hook.session import Session
from sonde.hook.stall_stacks import monitor_stalls
from sonde.hook.torch.patching.patches import Patches
from sonde.records.notice import NoticeKind
from sonde.records.step import Mode

_KERAS = "keras"
_WITHIN_FIT = "_use_cached_eval_dataset"  # argument of evaluations inside `fit`


class KerasOnCompiledBackend(Adapter):
    """Reports `fit`, `train_on_batch`, `evaluate` and `predict`."""

    awaits = ()

    def __init__(self, model: type[KerasModel]) -> None:
        """Prepare the hooks.

        Args:
            model: Reads models of the backend.
        """
        self._patches = Patches()
        self._model = model

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        self._session = session
        self._describe_framework()
        monitor_stalls(session)
        self._batches, self._passes = Batches(session), Passes(session)
        self._epochs = Epochs(session)
        self._first_batch = 0  # of the current execution
        self._reported: set[str] = set()
        self._wrap_callbacks()
        trainers = import_module(f"keras.src.backend.{self._model.backend}.trainer")
        trainer, wrap = getattr(trainers, self._model.trainer), self._patches.wrap
        evaluates = self._hook(self._begin_evaluation), self._hook(self._end_evaluation)
        predicts = self._hook(self._begin_prediction), self._hook(self._end_prediction)
        fails = self._hook(self._passes.end)
        wrap(trainer, "evaluate", calling_around(*evaluates, fails))
        wrap(trainer, "predict", calling_around(*predicts, fails))
        wrap(trainer, "train_on_batch", self._wrap_train_on_batch)
        if self._model.iterator:
            arrived = self._hook(self._batches.data_arrived)
            iterator = getattr(trainers, self._model.iterator)
            wrap(iterator, "_get_iterator", timed_data(self._batches, session.clock, arrived))

    def detach(self) -> None:
        """Remove the hooks."""
        self._patches.undo()

    def _hook(self, function: Function) -> Function:
        return self._session.hook(_KERAS, function, None)

    def _describe_framework(self) -> None:
        frameworks, backend = self._session.frameworks, self._model.backend
        versions = {
            _KERAS: str(sys.modules["keras.src.version"].__version__),
            backend: str(sys.modules[backend].__version__),
            "python": sys.version.split()[0],
        }
        frameworks.add_versions(**versions)
        if not frameworks.name:
            frameworks.name = _KERAS
            frameworks.find_device = self._model.device

    def _wrap_callbacks(self) -> None:
        callbacks = import_module("keras.src.callbacks.callback_list").CallbackList
        for name, function in (
            ("on_train_begin", self._begin_training),
            ("on_epoch_begin", self._begin_epoch),
            ("on_epoch_end", self._end_epoch),
            ("on_train_end", self._end_training),
        ):
            self._patches.wrap(callbacks, name, calling_first(self._hook(function)))
        self._patches.wrap(callbacks, "on_train_batch_begin", self._wrap_batch_begin)
        self._patches.wrap(callbacks, "on_train_batch_end", self._wrap_batch_end)
        for name in ("on_test_batch_end", "on_predict_batch_end"):
            self._patches.wrap(callbacks, name, self._wrap_pass_end)

    def _begin_training(self, callbacks: Any, _logs: Any = None) -> None:
        if callbacks.model is not None:
            self._begin(self._model(callbacks.model))

    def _begin(self, model: KerasModel) -> None:
        self._batches.begin_training(model)
        self._epochs.begin_training()
        if model.not_collected not in self._reported:
            self._reported.add(model.not_collected)
            reason = f"Sonde does not look inside the computations of {model.title}"
            kind = NoticeKind.NOT_COLLECTED
            self._session.store.notice(kind, model.not_collected, reason)

    def _begin_epoch(self, _callbacks: Any, _epoch: int, _logs: Any = None) -> None:
        self._batches.begin_epoch()

    def _end_epoch(self, _callbacks: Any, epoch: int, logs: Any = None) -> None:
        self._batches.finish()
        self._epochs.end_epoch(epoch, logs)

    def _end_training(self, callbacks: Any, _logs: Any = None) -> None:
        self._batches.finish()
        self._epochs.end_training(callbacks)

    def _wrap_batch_begin(self, original: Function) -> Function:
        begins, is_counted = self._hook(self._batches.begin_batch), self._is_counted

        def call(callbacks: Any, batch: int, logs: Any = None) -> Any:
            self._first_batch, self._batches.is_in_program = batch, True
            if not is_counted(callbacks):
                begins()
            try:
                return original(callbacks, batch, logs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _wrap_batch_end(self, original: Function) -> Function:
        ends, is_counted = self._hook(self._end_batch), self._is_counted
        note = self._session.guard.shield(_KERAS, self._batches.counted.note, None)
        count = self._batches.counter.counting_hook()

        def call(callbacks: Any, batch: int, logs: Any = None) -> Any:
            self._batches.is_in_program = False
            if is_counted(callbacks):
                note(logs, self._batches_until(callbacks, batch))
                count()
            else:
                ends(callbacks, batch, logs)
            try:
                return original(callbacks, batch, logs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _is_counted(self, subject: object) -> bool:
        """Whether the current batch is only counted."""
        state = self._session.state
        is_subject = self._batches.counter.subject() is subject
        return is_subject and state.is_on and not state.is_resting

    def _end_batch(self, callbacks: Any, batch: int, logs: Mapping[str, Any] | None) -> None:
        self._batches.end_batch(logs or {}, self._batches_until(callbacks, batch))
        self._batches.count(reference_to(callbacks))

    def _batches_until(self, callbacks: Any, batch: int) -> int:
        """How many batches a program has computed: fewer than usual at the end of an epoch."""
        if batch == self._first_batch:
            return 1
        end = (callbacks.params or {}).get("steps") or batch + 1
        return max(1, min(batch + 1, end) - self._first_batch)

    def _wrap_train_on_batch(self, original: Function) -> Function:
        begins, ends = self._hook(self._begin_single), self._hook(self._end_single)
        note = self._session.guard.shield(_KERAS, self._batches.counted.note, None)
        count, is_counted = self._batches.counter.counting_hook(), self._is_counted

        def call(model: Any, *args: Any, **kwargs: Any) -> Any:
            was_counted = is_counted(model)
            if not was_counted:
                begins(model)
            self._batches.is_in_program = True
            try:
                result = original(model, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                self._batches.is_in_program = False
            if was_counted:
                note(named(model, result), 1)
                count()
            else:
                ends(model, result)
            return result

        return call

    def _begin_single(self, model: Any) -> None:
        current = self._batches.model
        if current is None or not current.is_of(model) or current.has_running_mean:
            self._begin(self._model(model, resets_mean=True))
        self._batches.begin_batch()

    def _end_single(self, model: Any, result: Any) -> None:
        self._batches.end_batch(named(model, result))
        self._batches.count(reference_to(model))

    def _wrap_pass_end(self, original: Function) -> Function:
        passes, now_ns = self._passes, self._session.clock.now_ns

        def call(callbacks: Any, batch: int, logs: Any = None) -> Any:
            if passes.is_on:
                passes.note(now_ns())
            try:
                return original(callbacks, batch, logs)
            except BaseException as error:
                drop_frame(error)
                raise

        return call

    def _begin_evaluation(self, _model: Any, kwargs: Mapping[str, Any]) -> None:
        self._batches.finish()
        self._passes.begin(Mode.EVAL, is_within_fit=bool(kwargs.get(_WITHIN_FIT)))

    def _end_evaluation(self, model: Any, result: Any) -> None:
        steps, evaluated = self._passes.end(), self._model(model)
        samples = evaluated.loss_weight() if evaluated.counts_samples else None
        self._passes.record(named(model, result), samples, steps)

    def _begin_prediction(self, _model: Any, _kwargs: Mapping[str, Any]) -> None:
        self._batches.finish()
        self._passes.begin(Mode.PREDICT)

    def _end_prediction(self, _model: Any, _result: Any) -> None:
        self._passes.end()
