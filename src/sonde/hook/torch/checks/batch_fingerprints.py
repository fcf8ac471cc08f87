"""Fingerprints of model input batches, to recognize a batch that is used again."""

import ctypes
import zlib
from typing import Any

from torch import Tensor, nn

from sonde.hook.steps import Pass, StepId
from sonde.hook.torch.checks import StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.hook.torch.tensors.shards import local
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_SMALL_TENSOR_BYTES = 2048  # smaller tensors are read completely
_PIECES = 8
_PIECE_BYTES = 128


class BatchFingerprints(StateCheck):
    """Read a few bytes of the first input tensor of a model, if it is in host memory."""

    name = "batch fingerprints"
    observes = (ObservationKind.BATCH_HASH,)

    def forward_begins(
        self,
        forward: ForwardPass,
        _module: nn.Module,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> None:
        """Fingerprint the first tensor of a forward pass."""
        tensor = _first_tensor(args, kwargs)
        if tensor is None or not is_plain(tensor):
            return
        tensor = local(tensor)
        if not (tensor.is_cpu and tensor.is_contiguous()):
            return
        checksum = float(_checksum(tensor.data_ptr(), tensor.nbytes))
        is_training = forward.kind is Pass.TRAIN

        def settled(at: StepId) -> None:
            # a pass without gradients inside a training step uses a training batch
            if is_training or (at[0] != Mode.TRAIN and at[1] >= 0):
                self._observe(ObservationKind.BATCH_HASH, "input", checksum, "", at)

        forward.when_settled(settled)


def _first_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """Return the first input tensor, which may be in a dictionary, list or tuple."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Tensor):
            return value
        if isinstance(value, dict | list | tuple):
            inside = value.values() if isinstance(value, dict) else value
            match = next((element for element in inside if isinstance(element, Tensor)), None)
            if match is not None:
                return match
    return None


def _checksum(address: int, size: int) -> int:
    """Compute a checksum of a few pieces, evenly spread over the memory."""
    if size <= _SMALL_TENSOR_BYTES:
        return zlib.crc32(ctypes.string_at(address, size))
    memory = memoryview((ctypes.c_char * size).from_address(address))
    checksum, crc32 = size, zlib.crc32
    for start in range(0, size - _PIECE_BYTES + 1, (size - _PIECE_BYTES) // (_PIECES - 1)):
        checksum = crc32(memory[start : start + _PIECE_BYTES], checksum)
    return checksum
