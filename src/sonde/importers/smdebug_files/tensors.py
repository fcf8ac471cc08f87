"""Tensors of smdebug: one event file per saved step and worker."""

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from typing import Any

import numpy as np

from sonde.clock import NANOSECONDS
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Intake
from sonde.importers._rows import WorkerRows
from sonde.importers.smdebug_files.collections import Collections
from sonde.importers.smdebug_files.reductions import parse_reduction, statistics_of
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.arrays import dtype_of, raw_of, statistics
from sonde.store.format import SCALARS, STATISTICS
from sonde.store.tensors import RawTensor
from sonde.tfevents.arrays import Array
from sonde.tfevents.events import Summary, decode_event
from sonde.tfevents.records import RecordReader

SOURCE = "smdebug"
LOSS = "loss"
_FILE = re.compile(r"(?P<step>\d{12})_(?P<worker>.+)\.tfevents")
_MODES = {b"1": Mode.TRAIN, b"2": Mode.EVAL, b"3": Mode.PREDICT, b"4": Mode.TRAIN}
_MODE_NAMES = {"TRAIN": Mode.TRAIN, "EVAL": Mode.EVAL, "PREDICT": Mode.PREDICT}
_SCALAR = "scalar/"
_MAX_BATCH_ROWS = 1 << 15

_LOSSES, _METRICS = "losses", "metrics"
_FROM_REDUCTIONS = "from saved reductions"
_NEVER_SECONDS = 4e9  # the year 2096

StepKey = tuple[str, int]  # mode and step
ScalarRow = tuple[str, int, int, str, float, str]


@dataclass(frozen=True, slots=True)
class _Saved:
    """One tensor, reduction or scalar of a file."""

    tag: str
    step: StepKey
    time_ns: int
    array: Array


@dataclass(frozen=True, slots=True)
class EventFile:
    """The tensors that one worker saved at one step."""

    path: Path
    global_step: int
    worker: str

    @classmethod
    def of(cls, path: Path) -> "EventFile | None":
        """Parse a file name; None if it is another file."""
        match = _FILE.fullmatch(path.name)
        return None if match is None else cls(path, int(match["step"]), match["worker"])

    @property
    def index(self) -> Path:
        """The index file of the same step and worker."""
        folder = self.path.parent.parent.parent / "index" / f"{self.global_step // 1000:09d}"
        return folder / f"{self.path.stem}.json"


class TensorFiles:
    """Reads the event files of one worker, in order of their steps."""

    def __init__(self, rows: WorkerRows, collections: Collections, intake: Intake) -> None:
        self._rows = rows
        self._collections = collections
        self._intake = intake
        self._members: dict[str, frozenset[str]] = {}  # collections by tensor
        self._statistics: list[tuple[Any, ...]] = []  # not written yet
        self._losses: dict[str, list[ScalarRow]] = {}  # by tensor
        self._scalars: list[ScalarRow] = []
        self._before = -1  # the last saved global step
        self._steps: set[StepKey] = set()

    def read(self, file: EventFile, damages: Damages) -> None:
        """Read one file, as far as possible."""
        index = _Index.read(file.index)
        reader = RecordReader(read_bytes(file.path, self._intake.advance))
        saved = list(self._decode(reader, index, damages, file))
        if reader.damage:
            damages.add("event file", file.path, reader.damage)
        self._take(saved, index, file.global_step)
        if len(self._statistics) >= _MAX_BATCH_ROWS:
            self._write_statistics()

    def finish(self) -> None:
        """Write the remaining rows."""
        self._write_statistics()
        for tensor, rows in self._losses.items():
            name = LOSS if len(self._losses) == 1 else f"{LOSS}/{tensor}"
            self._scalars += [(name, *row[1:]) for row in rows]
        self._rows.add_rows(SCALARS, sorted(self._scalars, key=lambda row: row[1]))
        for mode, step in self._steps:
            self._rows.add_steps(mode, [step])

    def _decode(
        self, reader: RecordReader, index: "_Index", damages: Damages, file: EventFile
    ) -> Iterator[_Saved]:
        for payload in reader:
            try:
                event = decode_event(payload)
            except ValueError as error:
                damages.add("event file", file.path, f"has an unreadable tensor: {error}")
                continue
            for summary in event.summaries:
                if summary.array is None:
                    self._intake.left_out["tensors without numbers"] += 1
                    continue
                step = _step_of(summary, index, file.global_step)
                time_ns = _instant(event.wall_seconds)
                yield _Saved(summary.tag, step, time_ns, summary.array)

    def _take(self, saved: Sequence[_Saved], index: "_Index", global_step: int) -> None:
        raw: dict[StepKey, dict[str, RawTensor]] = {}
        reduced: dict[tuple[StepKey, str], dict[str, _Saved]] = {}
        scalars: dict[str, list[_Saved]] = {}
        for each in saved:
            reduction = parse_reduction(each.tag)
            if each.tag.startswith(_SCALAR):
                scalars.setdefault(each.tag.removeprefix(_SCALAR), []).append(each)
            elif reduction is not None:
                name, tensor = reduction
                reduced.setdefault((each.step, tensor), {})[name] = each
            else:
                self._take_tensor(each, raw.setdefault(each.step, {}))
            self._steps.add(each.step)
        for (step, tensor), reductions in reduced.items():
            if tensor not in raw.get(step, {}):
                self._take_reductions(step, tensor, reductions, index)
        for name, values in scalars.items():
            self._take_scalars(name, values, global_step)
        for step, tensors in raw.items():
            self._rows.add_values(*step, tensors)
        self._before = global_step

    def _take_tensor(self, saved: _Saved, tensors: dict[str, RawTensor]) -> None:
        """Record a tensor, and its number if it is a loss or a metric."""
        try:
            raw = raw_of(saved.array)
        except TypeError:
            self._intake.left_out[f"tensors of type {saved.array.dtype}"] += 1
            return
        tensors[saved.tag] = raw
        mode, step = saved.step
        row = (saved.tag, saved.time_ns, step, mode, *statistics(raw))
        self._statistics.append(row)
        self._register(saved.tag, dtype_of(raw), raw.shape)
        members = self._members[saved.tag]
        if saved.array.size and not members.isdisjoint((_LOSSES, _METRICS)):
            value = float(saved.array.astype(np.float64).mean())
            scalar = (saved.tag, saved.time_ns, step, mode, value, SOURCE)
            rows = self._losses.setdefault(saved.tag, []) if _LOSSES in members else self._scalars
            rows.append(scalar)

    def _take_reductions(
        self, step: StepKey, tensor: str, reductions: Mapping[str, _Saved], index: "_Index"
    ) -> None:
        """Record the statistics of a tensor that was not saved itself."""
        values = {
            name: float(saved.array.flat[0])
            for name, saved in reductions.items()
            if saved.array.size == 1 and saved.array.dtype.kind in "fiub"
        }
        if not values:
            return
        time_ns = max(saved.time_ns for saved in reductions.values())
        mode, number = step
        shape = index.shapes.get(tensor)
        count = None if shape is None else prod(shape)
        row = (tensor, time_ns, number, mode, *statistics_of(values, count))
        self._statistics.append(row)
        self._register(tensor, "", shape or (), note=_FROM_REDUCTIONS)
        if "prod" in values:
            name = f"prod/{tensor}"
            self._scalars.append((name, time_ns, number, mode, values["prod"], "reduction"))

    def _take_scalars(self, name: str, values: Sequence[_Saved], global_step: int) -> None:
        """Record the values of a scalar since the last saved step.

        smdebug writes those of skipped steps to the next file, without their steps. If there is
        one per step, they are those of the last steps.
        """
        is_each_step = len(values) <= global_step - self._before
        for index, saved in enumerate(values, 1 - len(values)):
            mode, step = saved.step
            number = max(step + index, 0) if is_each_step else step
            value = float(saved.array.flat[0]) if saved.array.size else math.nan
            self._scalars.append((name, saved.time_ns, number, mode, value, SOURCE))

    def _register(self, tensor: str, dtype: str, shape: tuple[int, ...], note: str = "") -> None:
        if tensor not in self._members:
            self._members[tensor] = frozenset(self._collections.of(tensor))
        members = tuple(sorted(self._members[tensor]))
        self._rows.tensors[tensor] = TensorInfo(tensor, members, dtype, shape, note=note)

    def _write_statistics(self) -> None:
        self._rows.add_rows(STATISTICS, sorted(self._statistics, key=lambda row: row[1]))
        self._statistics = []


@dataclass(frozen=True, slots=True)
class _Index:
    """What an index file adds to its event file: the step, and shapes of tensors not saved."""

    step: StepKey | None = None
    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> "_Index":
        """Read an index; empty if it is missing or damaged, since tensors can do without it."""
        try:
            document = json.loads(path.read_bytes())
            meta = document["meta"]
            mode = _MODE_NAMES.get(meta["mode"], Mode.TRAIN)
            shapes = {
                str(entry["tensorname"]): tuple(map(int, entry["shape"]))
                for entry in document.get("shape_payload", ())
            }
            return cls((mode.value, int(meta["mode_step"])), shapes)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return cls()


def _step_of(summary: Summary, index: _Index, global_step: int) -> StepKey:
    """The step of a record; scalars do not name theirs."""
    step = summary.plugins.get("mode_step", b"")
    if step.isdigit():
        mode = _MODES.get(summary.plugins.get("mode", b""), Mode.TRAIN)
        return mode.value, int(step)
    return index.step or (Mode.TRAIN.value, global_step)


def _instant(wall_seconds: float) -> int:
    is_valid = 0 <= wall_seconds < _NEVER_SECONDS
    return round(wall_seconds * NANOSECONDS) if is_valid else 0
