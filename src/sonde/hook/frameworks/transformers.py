"""The Trainer of transformers: gradient accumulation, evaluations, logs and checkpoints."""

from importlib import import_module
from typing import Any

from sonde.hook.frameworks._on_torch import Function, OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import MAX_STEPS, Mode

_EVAL = "eval"
_PREFIX = 2  # position among the arguments of `evaluate`
_TIMES = ("_runtime", "_per_second", "_time", "epoch")


class Transformers(OnTorch):
    """Reports what the Trainer does outside of PyTorch."""

    package = "transformers"
    awaits = ("transformers.trainer",)
    source = "huggingface"

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("transformers.trainer").Trainer
        patches.wrap(trainer, "training_step", self._wrap_training_step)
        patches.wrap(trainer, "evaluate", self._as_evaluation(_title, _metrics))
        patches.wrap(trainer, "evaluate", self._in_mode(Mode.EVAL))
        patches.wrap(trainer, "prediction_step", self._wrap_prediction_step)
        patches.wrap(trainer, "predict", self._as_evaluation(_test_title, _test_metrics))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))
        patches.wrap(trainer, "log", self._wrap_log)
        for name in ("_save_checkpoint", "save_model"):
            patches.wrap(trainer, name, self._as_checkpoint)

    def _wrap_training_step(self, original: Function) -> Function:
        """Report the divisor of the losses, whether the Trainer or the model divides them."""

        def training_step(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            default = trainer.args.gradient_accumulation_steps
            divisor = getattr(trainer, "current_gradient_accumulation_steps", default)
            is_divided = divisor != 1 and self._announce_division(divisor, "the Trainer")
            try:
                return original(trainer, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if is_divided:
                    self._end_division()

        return training_step

    def _wrap_prediction_step(self, original: Function) -> Function:
        """Correct the evaluation loss, which the Trainer may scale by the number of workers."""
        correct_loss = self._session.hook(
            "losses of evaluations", self._torch.criteria.correct_loss, None
        )

        def prediction_step(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            try:
                result = original(trainer, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            correct_loss(result[0])
            return result

        return prediction_step

    def _wrap_log(self, original: Function) -> Function:
        note = self._session.hook(self.package, self._record_log, None, Resting.FLUSHES)

        def log(trainer: Any, logs: Any, *args: Any, **kwargs: Any) -> Any:
            note(trainer, dict(logs))
            try:
                return original(trainer, logs, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise

        return log

    def _record_log(self, trainer: Any, logs: dict[str, Any]) -> None:
        """Record what the Trainer logs; with the loss, also the number of steps to train."""
        total = trainer.state.max_steps
        self._record({**logs, MAX_STEPS: total} if "loss" in logs and total > 0 else logs)


def _title(_trainer: Any, *args: Any, **kwargs: Any) -> str:
    """The name of an evaluation, derived from the prefix of its metrics."""
    prefix = _prefix(args, kwargs, _EVAL)
    return "validation" if prefix == _EVAL else prefix.removeprefix(f"{_EVAL}_")


def _test_title(_trainer: Any, *args: Any, **kwargs: Any) -> str:
    """The name of a prediction run, which has a loss if there are labels."""
    return _prefix(args, kwargs, "test")


def _prefix(args: tuple[Any, ...], kwargs: dict[str, Any], default: str) -> str:
    return str(kwargs.get("metric_key_prefix", args[_PREFIX] if len(args) > _PREFIX else default))


def _test_metrics(trainer: Any, result: Any) -> list[dict[str, Any]]:
    """The metrics of a prediction run."""
    return _metrics(trainer, getattr(result, "metrics", None))


def _metrics(_trainer: Any, result: Any) -> list[dict[str, Any]]:
    """The metrics of an evaluation, without timings."""
    numbers = result if isinstance(result, dict) else {}
    return [{name: value for name, value in numbers.items() if not name.endswith(_TIMES)}]
