"""Accelerate: undo its division of the loss by the number of accumulated batches."""

from importlib import import_module
from typing import Any

from sonde.hook.frameworks._on_torch import Function, OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches


class Accelerate(OnTorch):
    """Reports the undivided loss, and the time spent on checkpoints."""

    package = "accelerate"
    awaits = ("accelerate",)

    def _wrap(self, patches: Patches) -> None:
        accelerator = import_module("accelerate").Accelerator
        patches.wrap(accelerator, "backward", self._wrap_backward)
        for name in ("save", "save_model", "save_state"):
            patches.wrap(accelerator, name, self._as_checkpoint)

    def _wrap_backward(self, original: Function) -> Function:
        def backward(accelerator: Any, loss: Any, **kwargs: Any) -> Any:
            # DeepSpeed divides the loss internally, where it cannot be recorded
            is_divided = getattr(accelerator.distributed_type, "value", "") != "DEEPSPEED"
            divisor = accelerator.gradient_accumulation_steps if is_divided else 1
            is_divided_here = divisor != 1 and self._announce_division(divisor, "Accelerate", loss)
            try:
                return original(accelerator, loss, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if is_divided_here:
                    self._end_division()

        return backward
