"""A fingerprint of batches that a model is given, to tell when one comes again."""

import ctypes
import zlib
from typing import Any

from torch import Tensor, nn

from sonde.hook.steps import At, Pass
from sonde.hook.torch.checks import StateCheck
from sonde.hook.torch.loop.forward_passes import ForwardPass
from sonde.hook.torch.tensors.forward_tensors import is_plain
from sonde.hook.torch.tensors.shards import local
from sonde.records.observation import ObservationKind
from sonde.records.step import Mode

_SMALL_TENSOR_BYTES = 2048  # so little is read as a whole
_PIECES = 8
_PIECE_BYTES = 128


class BatchFingerprints(StateCheck):
    """Reads a few bytes of the first tensor that goes into a model, where they are at hand."""

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
        mark = float(_checksum(tensor.data_ptr(), tensor.nbytes))
        is_sure = forward.kind is Pass.TRAIN

        def settled(at: At) -> None:
            # a pass without gradients in a training step looks at a batch that is trained with
            if is_sure or (at[0] != Mode.TRAIN and at[1] >= 0):
                self._observe(ObservationKind.BATCH_HASH, "input", mark, "", at)

        forward.when_settled(settled)


def _first_tensor(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor | None:
    """The first tensor that a model is given; it may be inside of a dictionary or a list."""
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
    """A checksum of a few pieces, evenly spread from the first byte to the last."""
    if size <= _SMALL_TENSOR_BYTES:
        return zlib.crc32(ctypes.string_at(address, size))
    memory = memoryview((ctypes.c_char * size).from_address(address))
    mark, crc32 = size, zlib.crc32
    for start in range(0, size - _PIECE_BYTES + 1, (size - _PIECE_BYTES) // (_PIECES - 1)):
        mark = crc32(memory[start : start + _PIECE_BYTES], mark)
    return mark
