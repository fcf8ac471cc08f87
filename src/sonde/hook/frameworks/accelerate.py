"""Accelerate: its backward divides the loss by the number of batches that make a step."""

from importlib import import_module
from typing import Any

from sonde.hook.frameworks._on_torch import Function, OnTorch
from sonde.hook.hidden_frames import drop_frame
from sonde.hook.torch.patching.patches import Patches


class Accelerate(OnTorch):
    """Tells the true loss, and when a checkpoint is written."""

    package = "accelerate"

    def _wrap(self, patches: Patches) -> None:
        accelerator = import_module("accelerate").Accelerator
        patches.wrap(accelerator, "backward", self._backward)
        for name in ("save", "save_model", "save_state"):
            patches.wrap(accelerator, name, self._saves)

    def _backward(self, original: Function) -> Function:
        def backward(accelerator: Any, loss: Any, **kwargs: Any) -> Any:
            # DeepSpeed divides by itself, where nobody sees it
            is_divided = getattr(accelerator.distributed_type, "value", "") != "DEEPSPEED"
            divisor = accelerator.gradient_accumulation_steps if is_divided else 1
            is_told = divisor != 1 and self._divides(divisor, "Accelerate", loss)
            try:
                return original(accelerator, loss, **kwargs)
            except BaseException as error:
                drop_frame(error)
                raise
            finally:
                if is_told:
                    self._undivided()

        return backward
