"""Framework traces of smdebug: steps, phases and profiled functions of each process."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from sonde.errors import DamagedError
from sonde.importers._chrome import (
    ChromeTrace,
    Span,
    TraceLocation,
    Track,
    operations_of,
    read_chrome_trace,
)
from sonde.importers._damages import Damages
from sonde.importers._importer import Intake
from sonde.importers._rows import WorkerRows
from sonde.importers._sources import Source, node_name
from sonde.importers._steps import MAIN_LANE, EventRow
from sonde.importers._training import window_row
from sonde.records.profile import OperationCategory
from sonde.records.step import EventCategory, Mode, Phase
from sonde.store.format import EVENTS, OPERATIONS

_FILE = re.compile(
    r"(?P<end>\d+)_(?P<process>\d+)-(?P<host>[^_]+)_"
    r"(?P<kind>pythontimeline|model_timeline|smdataparallel_timeline|horovod_timeline)\.json"
)
_HOROVOD = "horovod_timeline"
_STEP = re.compile(r"Step:(?:ModeKeys\.)?(TRAIN|EVAL|PREDICT|GLOBAL)")
_MODES = {"TRAIN": Mode.TRAIN, "EVAL": Mode.EVAL, "PREDICT": Mode.PREDICT, "GLOBAL": Mode.TRAIN}
_PHASES = (
    (re.compile(r"Forward|ForwardPass"), Phase.FORWARD),
    (re.compile(r"Backward\(post-forward\)|Backward"), Phase.BACKWARD),
    (re.compile(r"DataIterator|DataLoaderIter|Dataset.*"), Phase.DATA_WAIT),
)
_DEVICE = re.compile(r"gpu_functions-dev:(\d+)")


@dataclass(frozen=True, slots=True)
class TraceFile:
    """One file of a process; files are rotated."""

    path: Path
    end_us: int
    process: int  # rank or PID
    node: str
    is_horovod: bool

    @classmethod
    def of(cls, path: Path) -> "TraceFile | None":
        """Parse a file name; None if it is another file."""
        match = _FILE.fullmatch(path.name)
        if match is None:
            return None
        is_horovod = match["kind"] == _HOROVOD
        node = node_name(match["host"])
        return cls(path, int(match["end"]), int(match["process"]), node, is_horovod)


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of any mode."""

    mode: Mode
    number: int
    start_ns: int
    end_ns: int


class TraceFiles:
    """Reads the framework traces of one process, in order of time."""

    def __init__(self, rows: WorkerRows, intake: Intake) -> None:
        self._rows = rows
        self._intake = intake
        self._last: dict[Mode, _Step] = {}  # phases may follow in the next file

    def read(self, file: TraceFile, damages: Damages) -> None:
        """Read one file, as far as possible."""
        try:
            trace = read_chrome_trace(Source(file.path), self._intake)
        except DamagedError as error:
            damages.add_error("framework trace", error)
            return
        shift_ns = trace.shift_ns(self._intake, file.path)
        phases = {key: trace.track(key).process for key in trace.keys}
        steps = [
            step
            for span in trace.spans
            if (step := _step_of(span, phases[span.key], shift_ns)) is not None
        ]
        rows = list(map(_step_row, steps))
        rows += _phase_rows(trace, phases, steps, shift_ns)
        self._rows.add_rows(EVENTS, sorted(rows, key=lambda row: (row[3], -row[4])))
        for step in steps:
            self._rows.add_steps(step.mode.value, [step.number])
        self._add_operations(trace, phases, steps, shift_ns)

    def _add_operations(
        self,
        trace: ChromeTrace,
        phases: dict[tuple[str, str], str],
        steps: Sequence[_Step],
        shift_ns: int,
    ) -> None:
        """Write everything that is neither a step nor a phase."""
        trace.spans = [span for span in trace.spans if _is_operation(phases[span.key])]
        if not trace.spans:
            return
        columns, _ = operations_of(trace, shift_ns, _location_of, _category_of)
        self._rows.add(OPERATIONS, columns)
        first_ns, last_ns = trace.extent
        within = first_ns + shift_ns, last_ns + shift_ns
        numbers = [
            step.number
            for step in steps
            if step.mode is Mode.TRAIN and step.end_ns > within[0] and step.start_ns <= within[1]
        ]
        self._rows.add_rows(EVENTS, [window_row(*within, numbers)])


def _is_operation(phase: str) -> bool:
    return _STEP.fullmatch(phase) is None and _phase_of(phase) is None


def _phase_of(name: str) -> Phase | None:
    return next((phase for pattern, phase in _PHASES if pattern.fullmatch(name)), None)


def _step_of(span: Span, phase: str, shift_ns: int) -> _Step | None:
    match = _STEP.fullmatch(phase)
    number = str(span.arguments.get("step_num", ""))
    if match is None or not number.isdecimal():
        return None
    start_ns = span.start_ns + shift_ns
    return _Step(_MODES[match[1]], int(number), start_ns, start_ns + span.duration_ns)


def _step_row(step: _Step) -> EventRow:
    duration_ns = step.end_ns - step.start_ns
    place = (EventCategory.STEP.value, MAIN_LANE, step.start_ns, duration_ns)
    return ("step", *place, step.number, step.mode.value, "")


def _phase_rows(
    trace: ChromeTrace,
    phases: dict[tuple[str, str], str],
    steps: Iterable[_Step],
    shift_ns: int,
) -> list[EventRow]:
    """The phases that belong to a step: each names its number, and its time the mode."""
    by_number: dict[int, list[_Step]] = {}
    for step in steps:
        by_number.setdefault(step.number, []).append(step)
    rows = []
    for span in trace.spans:
        phase = _phase_of(phases[span.key])
        number = str(span.arguments.get("step_num", ""))
        if phase is None or not number.isdecimal():
            continue
        start_ns = span.start_ns + shift_ns
        candidates = by_number.get(int(number), ())
        nearest = min(candidates, key=lambda step: abs(step.start_ns - start_ns), default=None)
        mode = Mode.TRAIN if nearest is None else nearest.mode
        place = (EventCategory.PHASE.value, MAIN_LANE, start_ns, span.duration_ns)
        rows.append((phase.value, *place, int(number), mode.value, ""))
    return rows


def _location_of(track: Track) -> TraceLocation:
    match = _DEVICE.fullmatch(track.process)
    device = f"cuda:{match[1]}" if match else "cpu"
    return TraceLocation(track.process or f"phase {track.pid}", device)


def _category_of(span: Span, location: TraceLocation) -> OperationCategory:
    del span
    if location.device != "cpu":
        return OperationCategory.KERNEL
    if location.lane == "cpu_functions":
        return OperationCategory.OPERATOR
    is_loading = location.lane.startswith(("DataLoader", "Dataset"))
    return OperationCategory.LOADING if is_loading else OperationCategory.ANNOTATION
