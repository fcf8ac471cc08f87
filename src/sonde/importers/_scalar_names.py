"""Which recorded values are losses, and their modes, from names that people give them."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from sonde.records.step import Mode

_LOSS = "loss"
_SEPARATORS = re.compile(r"[/_.\-: ]+|(?<=[a-z])(?=[A-Z])")
_MODES = {
    **dict.fromkeys(("train", "training"), Mode.TRAIN),
    **dict.fromkeys(("val", "valid", "validation", "eval", "evaluation", "test", "dev"), Mode.EVAL),
    **dict.fromkeys(("predict", "prediction"), Mode.PREDICT),
}
# words that do not change what a loss is
_FILLERS = frozenset(("epoch", "step", "batch", "iteration", "iter", "total", "avg", "mean", "vs"))


@dataclass(frozen=True, slots=True)
class ScalarName:
    """The name and mode under which values are recorded."""

    name: str
    mode: Mode

    @property
    def is_loss(self) -> bool:
        """Whether it is the loss of its mode."""
        return self.name == _LOSS


def mode_of(text: str) -> Mode | None:
    """The mode that a name contains, such as `validation`; None if it contains none."""
    modes = [_MODES[word] for word in _words(text) if word in _MODES]
    return modes[0] if modes else None


def name_scalars(counts: Mapping[str, int], mode: Mode | None = None) -> dict[str, ScalarName]:
    """The names of scalars in Sonde.

    A name such as `train/loss`, `val_loss` or `Loss/test` is the loss of its mode. If several
    names are, the one with the most values is the loss, and the others keep their names.

    Args:
        counts: The number of values by recorded name.
        mode: The mode of all of them, if it is known.
    """
    names: dict[str, ScalarName] = {}
    modes_with_loss: set[Mode] = set()
    for recorded in sorted(counts, key=lambda name: (-counts[name], name)):
        scalar_mode = mode or mode_of(recorded) or Mode.TRAIN
        is_loss = _is_loss(recorded) and scalar_mode not in modes_with_loss
        if is_loss:
            modes_with_loss.add(scalar_mode)
        names[recorded] = ScalarName(_LOSS if is_loss else recorded, scalar_mode)
    return names


def loss_remark(names: Iterable[tuple[str, ScalarName]]) -> str:
    """A line that says which values are the losses."""
    losses = [f"{recorded} ({name.mode})" for recorded, name in names if name.is_loss]
    if not losses:
        return "No value has the name of a loss, such as loss, train/loss or val_loss."
    return f"Imported as losses: {', '.join(losses)}"


def _is_loss(name: str) -> bool:
    meaningful = [word for word in _words(name) if word not in _MODES and word not in _FILLERS]
    return meaningful == [_LOSS]


def _words(name: str) -> list[str]:
    return [word.lower() for word in _SEPARATORS.split(name) if word]
