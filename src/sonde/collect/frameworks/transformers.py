"""The Trainer of transformers: accumulation, evaluation, its own log, its checkpoints."""

from importlib import import_module
from typing import Any

from sonde.collect.frameworks._on_torch import Function, OnTorch
from sonde.collect.torch.patches import Patches
from sonde.records.step import Mode


class Transformers(OnTorch):
    """Sees what the Trainer does beside PyTorch."""

    package = "transformers"
    source = "huggingface"

    def _wrap(self, patches: Patches) -> None:
        trainer = import_module("transformers.trainer").Trainer
        patches.wrap(trainer, "training_step", self._training_step)
        patches.wrap(trainer, "evaluate", self._in_mode(Mode.EVAL))
        patches.wrap(trainer, "predict", self._in_mode(Mode.PREDICT))
        patches.wrap(trainer, "log", self._log)
        for name in ("_save_checkpoint", "save_model"):
            patches.wrap(trainer, name, self._saves)

    def _training_step(self, original: Function) -> Function:
        """The losses of a step add up, whether the Trainer divides them or the model has."""

        def training_step(trainer: Any, *args: Any, **kwargs: Any) -> Any:
            usual = trainer.args.gradient_accumulation_steps
            divisor = getattr(trainer, "current_gradient_accumulation_steps", usual)
            is_told = divisor != 1 and self._divides(divisor, "the Trainer")
            try:
                return original(trainer, *args, **kwargs)
            finally:
                if is_told:
                    self._undivided()

        return training_step

    def _log(self, original: Function) -> Function:
        def log(trainer: Any, logs: Any, *args: Any, **kwargs: Any) -> Any:
            self._note(dict(logs))
            return original(trainer, logs, *args, **kwargs)

        return log
