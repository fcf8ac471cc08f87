"""Lightning: divided losses, passes that do not call the module, and logged metrics."""

from collections.abc import Mapping
from importlib import import_module
from operator import attrgetter, methodcaller
from typing import Any

from sonde.hook.frameworks._on_torch import Function, OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.overhead_account import Resting
from sonde.hook.session import Session
from sonde.hook.torch.patching.patches import Patches
from sonde.records.step import Mode

_STEPS = ("training_step", "validation_step", "test_step", "predict_step")
_is_between_updates = methodcaller("_should_accumulate")


class Lightning(OnTorch):
    """Reports what Lightning's Trainer does outside of PyTorch."""

    package = "lightning"
    awaits = ("lightning.pytorch",)
    home = "lightning.pytorch"  # the module that contains the loops
    source = "lightning"

    def attach(self, session: Session) -> None:
        """Install the hooks."""
        self._latest: Mapping[str, Mapping[str, Any]] | None = None
        super().attach(session)

    def _wrap(self, patches: Patches) -> None:
        loops = import_module(f"{self.home}.loops")
        closure = import_module(f"{self.home}.loops.optimization.automatic").ClosureResult
        patches.wrap(closure, "from_training_step_output", self._wrap_closure_result)
        strategy = import_module(f"{self.home}.strategies").Strategy
        for name in _STEPS:
            patches.wrap(strategy, name, self._wrap_step)
        evaluation = vars(loops)["_EvaluationLoop"]
        patches.wrap(evaluation, "run", self._as_evaluation(_title, _metrics))
        patches.wrap(evaluation, "run", self._in_mode(Mode.EVAL))
        patches.wrap(vars(loops)["_PredictionLoop"], "run", self._in_mode(Mode.PREDICT))
        patches.wrap(import_module(self.home).Trainer, "save_checkpoint", self._as_checkpoint)
        connectors = f"{self.home}.trainer.connectors.logger_connector"
        connector = vars(import_module(f"{connectors}.logger_connector"))["_LoggerConnector"]
        results = vars(import_module(f"{connectors}.result"))["_ResultCollection"]
        patches.wrap(results, "metrics", self._wrap_metrics)
        patches.wrap(connector, "on_batch_end", self._wrap_batch_log)
        patches.wrap(connector, "on_epoch_end", self._wrap_log)

    def _wrap_closure_result(self, original: Function) -> Function:
        report = self._session.hook("losses", self._torch.losses.note_division, None, Resting.SKIPS)

        def from_training_step_output(output: Any, normalize: int = 1) -> Any:
            try:
                result = original(output, normalize)
            except BaseException as error:
                drop_frame(error)
                raise
            loss = output.get("loss") if isinstance(output, Mapping) else output
            report(loss, result.closure_loss, normalize, "Lightning")
            return result

        return from_training_step_output

    def _wrap_step(self, original: Function) -> Function:
        return self._torch.modules.passes.as_pass(original, attrgetter("lightning_module"))

    def _wrap_metrics(self, original: Function) -> Function:
        def metrics(results: Any, on_step: bool) -> Any:
            try:
                self._latest = original(results, on_step)
            except BaseException as error:
                drop_frame(error)
                raise
            return self._latest

        return metrics

    def _wrap_log(self, original: Function) -> Function:
        """Record the metrics that Lightning has just collected for a batch or an epoch."""

        def log(connector: Any, *args: Any, **kwargs: Any) -> Any:
            self._take_latest()
            try:
                result = original(connector, *args, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            metrics = self._take_latest()
            if metrics and not _is_ignored(connector.trainer):
                self._note(_merge(metrics))
            return result

        return log

    def _wrap_batch_log(self, original: Function) -> Function:
        """Record the metrics of a batch, except while hooks rest."""
        state, logging = self._session.state, self._wrap_log(original)

        def log(connector: Any, *args: Any, **kwargs: Any) -> Any:
            if state.is_resting:
                try:
                    return original(connector, *args, **kwargs)
                except BaseException as error:
                    drop_frame(error)
                    raise
            return logging(connector, *args, **kwargs)

        return log

    def _take_latest(self) -> Mapping[str, Mapping[str, Any]] | None:
        latest, self._latest = self._latest, None
        return latest


def _title(loop: Any, *_args: Any, **_kwargs: Any) -> str:
    """The name of an evaluation, or of the sanity check before training."""
    if loop.trainer.sanity_checking:
        return "sanity check"
    return "test" if loop.trainer.testing else "validation"


def _metrics(_loop: Any, result: Any) -> list[dict[str, Any]]:
    """The metrics logged in an evaluation, by data loader."""
    return result if isinstance(result, list) else []


def _is_ignored(trainer: Any) -> bool:
    """Whether to ignore metrics: in the sanity check, and while gradients accumulate."""
    return bool(
        trainer.sanity_checking
        or (
            trainer.training
            and trainer.lightning_module.automatic_optimization
            and _is_between_updates(trainer.fit_loop)
        )
    )


def _merge(metrics: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The metrics for loggers and those only for callbacks, each number under one name."""
    logged = metrics["log"]
    ids = {id(value) for value in logged.values()}
    callback = {name: value for name, value in metrics["callback"].items() if id(value) not in ids}
    return {**callback, **logged}
