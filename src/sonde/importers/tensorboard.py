"""Import the scalars and histograms of TensorBoard."""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sonde.clock import NANOSECONDS
from sonde.errors import DamagedError, UsageError
from sonde.importers._curves import Curves, describe_worker
from sonde.importers._damages import Damages, read_bytes
from sonde.importers._importer import Importer, Intake
from sonde.importers._scalar_names import mode_of
from sonde.importers._sources import Source
from sonde.importers._tensorboard_histograms import buckets_of, statistics_of
from sonde.records.step import Mode
from sonde.records.worker import TensorInfo
from sonde.store.format import STATISTICS
from sonde.tfevents.events import Event, Summary, decode_event
from sonde.tfevents.records import RecordReader

_MARK = "tfevents"
_SOURCE = "tensorboard"
_NEVER_SECONDS = 4e9  # the year 2096
_COLLECTIONS = (
    (re.compile(r"grad", re.IGNORECASE), "gradients"),
    (re.compile(r"bias", re.IGNORECASE), "biases"),
    (re.compile(r"weight|kernel", re.IGNORECASE), "weights"),
)


class TensorboardImporter(Importer):
    """Event files of TensorBoard: scalars and histograms of one run.

    A file, or the folder of a run. Folders inside it that are named `train`, `validation` or
    similar are its modes; the names of others become part of the names of their values.
    """

    def needs(self, key: str) -> bool:
        return _MARK in key.rpartition("/")[2]

    def sources(self, path: Path) -> list[Source]:
        if not path.exists():
            raise UsageError(f"{path} does not exist.")
        files = [path] if path.is_file() else sorted(path.rglob(f"*{_MARK}*"))
        files = [file for file in files if file.is_file()]
        if not files:
            raise UsageError(f"{path} has no event files: no file name contains {_MARK}.")
        runs = sorted({file.parent for file in files})
        if len(runs) > 1 and runs[0] != path and not all(mode_of(run.name) for run in runs):
            names = ", ".join(run.relative_to(path).as_posix() for run in runs)
            raise UsageError(
                f"{path} has several runs: {names}. Import one of them, such as {runs[-1]}"
            )
        return [Source(file) for file in files]

    def read(self, source: Source, intake: Intake) -> None:
        self.read_all([source], intake)

    def read_all(self, sources: Sequence[Source], intake: Intake) -> None:
        parents = [source.path.parent for source in sources]
        root = min(parents, key=lambda folder: len(folder.parts))
        run = _Run(intake)
        for source in sources:
            folder = source.path.parent
            mode = mode_of(folder.name) if len(set(parents)) > 1 else None
            is_inside = mode is None and folder != root
            prefix = f"{folder.relative_to(root).as_posix()}/" if is_inside else ""
            run.read(source.path, mode, prefix)
        run.finish(sources[0].path)


class _Run:
    """Collects the values of all files of a run."""

    def __init__(self, intake: Intake) -> None:
        self._intake = intake
        self._damages = Damages()
        self._curves = Curves(_SOURCE)
        self._statistics: list[tuple[Any, ...]] = []
        self._left_out: Counter[str] = Counter()

    def read(self, path: Path, mode: Mode | None, prefix: str) -> None:
        """Read one file, as far as possible."""
        reader = RecordReader(read_bytes(path, self._intake.advance))
        for payload in reader:
            try:
                self._take(decode_event(payload), mode, prefix)
            except ValueError as error:
                self._damages.add("event file", path, f"has an unreadable event: {error}")
        if reader.damage:
            self._damages.add("event file", path, reader.damage)

    def finish(self, path: Path) -> None:
        """Write everything.

        Raises:
            DamagedError: There are no values.
        """
        remarks = self._damages.remarks()
        if not self._curves.points and not self._statistics:
            raise DamagedError("; ".join(remarks) or f"{path} has no scalars and no histograms.")
        rows = self._intake.worker(describe_worker(_SOURCE))
        self._curves.write(rows, self._intake)
        self._statistics.sort(key=lambda row: row[1])
        rows.add_rows(STATISTICS, self._statistics)
        for name in dict.fromkeys(row[0] for row in self._statistics):
            rows.tensors[name] = TensorInfo(name, _collections_of(name), "", (), note=_NOTE)
        for row in self._statistics:
            rows.add_steps(row[3], [row[2]])
        self._intake.left_out += self._left_out
        self._intake.remarks += remarks
        rows.record_all_skipped(self._left_out)

    def _take(self, event: Event, mode: Mode | None, prefix: str) -> None:
        if not 0 < event.wall_seconds < _NEVER_SECONDS:
            self._left_out["values without a time"] += len(event.summaries)
            return
        time_ns = round(event.wall_seconds * NANOSECONDS)
        for summary in event.summaries:
            name = prefix + summary.tag
            value = _number(summary)
            buckets = buckets_of(summary)
            if value is not None:
                self._curves.add(name, time_ns, event.step, value, mode)
            elif buckets is not None:
                at = (mode or mode_of(name) or Mode.TRAIN).value
                row = (name, time_ns, event.step, at, *statistics_of(buckets))
                self._statistics.append(row)
            else:
                self._left_out[f"{next(iter(summary.plugins), 'other')} values"] += 1


_NOTE = "from a histogram of TensorBoard"


def _number(summary: Summary) -> float | None:
    """The number of a scalar; newer programs write it as a tensor."""
    if summary.scalar is not None:
        return summary.scalar
    array = summary.array
    is_number = array is not None and array.size == 1 and array.dtype.kind in "fiub"
    is_scalar = not summary.plugins or "scalars" in summary.plugins
    return float(array.flat[0]) if array is not None and is_number and is_scalar else None


def _collections_of(name: str) -> tuple[str, ...]:
    """The collections of a tensor, by its name."""
    matching = [collection for pattern, collection in _COLLECTIONS if pattern.search(name)]
    return (*matching[:1], "all")
