"""Tensor memory in memory profiles, by step or by module, as data frames."""

from dataclasses import asdict, dataclass

from sonde.analyze.memory import MemoryChanges, use_by_interval, use_by_module
from sonde.errors import UsageError
from sonde.read.memory import DeviceChanges, MemoryWindow, read_memory_windows
from sonde.read.profiles import steps_of
from sonde.read.workers import WorkerReader
from sonde.records.ranges import EVER, StepRange
from sonde.results.record_rows import RecordRows

BY = ("step", "module")
_EMPTY = "No memory profile recorded. Record one with: sonde profile JOB --kinds memory"


@dataclass(frozen=True, slots=True)
class StepMemory:
    """A device in a step of a window; live bytes count from the window's start."""

    worker: int
    device: str
    step: int
    start_ns: int
    peak_bytes: int
    live_bytes: int  # at the end of the step
    allocated_bytes: int
    freed_bytes: int
    before_bytes: float  # live when the window began; NaN if unknown


@dataclass(frozen=True, slots=True)
class ModuleMemory:
    """A device during the calls of a module in a window, without calls of submodules."""

    worker: int
    device: str
    module: str
    calls: int
    held_bytes: int  # allocated by it and live at the end of the window
    kept_bytes: int  # allocated by it and live when it returned
    allocated_bytes: int
    freed_bytes: int
    peak_bytes: int  # maximum during any of its calls, counted from the window's start


def memory_of(readers: tuple[WorkerReader, ...], by: str) -> RecordRows:
    """Tensor memory of workers, by `step` or `module`."""
    if by not in BY:
        raise UsageError(f"Unknown grouping {by!r} of memory. Available: {', '.join(BY)}")
    make, kind = (_by_step, StepMemory) if by == "step" else (_by_module, ModuleMemory)
    records = [
        record
        for reader in readers
        for window in read_memory_windows(reader)
        for device in window.devices
        for record in make(reader, window, device)
    ]
    return RecordRows(tuple(records), kind, _EMPTY)


def _by_step(reader: WorkerReader, window: MemoryWindow, device: DeviceChanges) -> list[StepMemory]:
    steps = steps_of(reader, EVER, StepRange(window.first_step, None))
    before = float("nan") if device.before_bytes is None else float(device.before_bytes)
    uses = use_by_interval(_changes(device), steps.starts_ns, steps.ends_ns)
    rows = zip(
        *(each.tolist() for each in (steps.steps, steps.starts_ns, steps.ends_ns)), strict=True
    )
    return [
        StepMemory(reader.rank, device.device, number, start_ns, before_bytes=before, **asdict(use))
        for (number, start_ns, end_ns), use in zip(rows, uses, strict=True)
        if end_ns <= window.end_ns
    ]


def _by_module(
    reader: WorkerReader, window: MemoryWindow, device: DeviceChanges
) -> list[ModuleMemory]:
    changes, calls = _changes(device), window.calls
    uses = use_by_interval(changes, calls.starts_ns, calls.ends_ns)
    uses_by_module = use_by_module(changes, calls.names, device.inside, uses)
    return [ModuleMemory(reader.rank, device.device, **asdict(each)) for each in uses_by_module]


def _changes(device: DeviceChanges) -> MemoryChanges:
    return MemoryChanges(device.times_ns, device.sizes, device.is_held)
