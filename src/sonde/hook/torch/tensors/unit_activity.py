"""How often the units of a ReLU are nonzero."""

import torch
from torch import Tensor

from sonde.hook.session import Session
from sonde.hook.steps import StepId
from sonde.hook.torch.tensors.shards import local
from sonde.hook.torch.tensors.tensor_samples import HostCopies, can_copy, deliver
from sonde.records.observation import ObservationKind
from sonde.records.observations.parameters import UnitActivity

TASK = "activity of units"
_PERCENTS = (0.1, 1, 5, 10, 50)
_MATRIX, _SEQUENCE = 2, 3  # dimensions
_MAX_SAMPLES = 1024
_MAX_VALUES = 2**20
_MAX_UNITS = 2**16
_CHANNELS_FIRST = ("Convolution", "BatchNorm")  # operations with channels in the second dimension


def record_unit_activity(session: Session, name: str, output: Tensor, at: StepId) -> None:
    """Count, on their device, the samples in which each unit is nonzero.

    A channel of an image, or of a convolved sequence, is nonzero if any of its positions is
    nonzero. In other sequences, each position is a sample.
    """
    has_channels = output.dim() > _SEQUENCE or _follows_channels(output)
    output = local(output).detach()
    if output.dim() < _MATRIX or not output.numel() or not can_copy(output):
        return
    with torch.no_grad():
        active = _channel_activity(output) if has_channels else _row_activity(output)
        samples, units = active.shape
        if units > _MAX_UNITS:
            return
        copies = HostCopies([active.mean(0)])

    def record(tensors: list[Tensor]) -> None:
        shares = tensors[0].tolist()
        inactive = {
            percent: sum(100 * share <= percent for share in shares) for percent in _PERCENTS
        }
        detail = UnitActivity(inactive, samples).encode()
        session.recorder.observe(ObservationKind.UNIT_ACTIVITY, name, float(units), detail, at)

    deliver(session, TASK, copies, record)


def _follows_channels(output: Tensor) -> bool:
    """Return whether the ReLU follows an operation with channels in the second dimension."""
    operation = output.grad_fn
    before = operation.next_functions[0][0] if operation and operation.next_functions else None
    return any(kind in type(before).__name__ for kind in _CHANNELS_FIRST)


def _channel_activity(output: Tensor) -> Tensor:
    max_samples = max(1, min(_MAX_SAMPLES, _MAX_VALUES // output[0].numel()))
    active = _is_active(output[:: -(-len(output) // max_samples)])
    return active.flatten(2).amax(2) if active.dim() > _MATRIX else active


def _row_activity(output: Tensor) -> Tensor:
    rows = output.reshape(-1, output.shape[-1])
    max_samples = max(1, min(_MAX_SAMPLES, _MAX_VALUES // rows.shape[1]))
    return _is_active(rows[:: -(-len(rows) // max_samples)])


def _is_active(output: Tensor) -> Tensor:
    """Return 1.0 for nonzero elements; reducing floats is ten times faster than booleans."""
    return torch.ne(output, 0, out=torch.empty_like(output, dtype=torch.float32))
