"""Import traces in Chrome's format."""

import re

from sonde.importers._chrome import (
    ChromeTrace,
    Span,
    TraceLocation,
    Track,
    operations_of,
    read_chrome_trace,
)
from sonde.importers._importer import Importer, Intake
from sonde.importers._rows import WorkerDescription
from sonde.importers._sources import Source
from sonde.importers._steps import Step, find_training, is_step_or_phase
from sonde.importers._training import add_all
from sonde.records.profile import OperationCategory
from sonde.records.step import EventCategory
from sonde.traces.event_kinds import OWN_CATEGORIES

_DEVICE = re.compile(r"\b(GPU|TPU|cuda)[ :#]*(\d+)", re.IGNORECASE)
_DEVICES = {"gpu": "cuda", "tpu": "tpu", "cuda": "cuda"}
# names used by PyTorch and by Sonde's exports
_CATEGORIES = {
    **{name: OperationCategory(category) for name, category in OWN_CATEGORIES.items()},
    **{each.value: each for each in OperationCategory},
    **{each.value: OperationCategory.ANNOTATION for each in EventCategory},
}
_STEP = ("step", "train_step", "iteration")  # with a `step` argument
_STEP_NUMBER = '"step":'
_KINDS = (
    (
        re.compile(r"nccl|all_?reduce|all_?gather|reduce_?scatter|all_?to_?all", re.IGNORECASE),
        OperationCategory.COLLECTIVE,
    ),
    (re.compile(r"mem_?cpy", re.IGNORECASE), OperationCategory.COPY),
    (re.compile(r"mem_?set", re.IGNORECASE), OperationCategory.SET),
)


class ChromeTraceImporter(Importer):
    """Any trace in Chrome's format: JSON for chrome://tracing or Perfetto, optionally gzipped.

    Spans of processes named after a GPU are imported as kernels, others as operators. Counters
    become scalars. Steps are recognized by name: `ProfilerStep#5`, `step 5`, `train_step 5`.
    """

    def read(self, source: Source, intake: Intake) -> None:
        trace = read_chrome_trace(source, intake)
        shift_ns = trace.shift_ns(intake, source.path)
        processes = {key[0] for key in trace.keys}

        def location_of(track: Track) -> TraceLocation:
            return _location_of(track, is_one_of_many=len(processes) > 1)

        columns, operations = operations_of(trace, shift_ns, location_of, _category_of)
        devices = sorted(set(operations.devices) - {"cpu"})
        device = devices[0] if devices else "cpu"
        rows = intake.worker(
            WorkerDescription(source.rank, source.node, pid=source.pid, device=device)
        )
        add_all(
            rows,
            columns,
            find_training(operations, _steps(trace, shift_ns)),
            trace.counters_at(shift_ns),
        )


def _location_of(track: Track, *, is_one_of_many: bool) -> TraceLocation:
    thread = track.thread or f"thread {track.tid}"
    match = _DEVICE.search(f"{track.process} {track.labels} {track.thread}")
    device = f"{_DEVICES[match[1].lower()]}:{match[2]}" if match else "cpu"
    if is_one_of_many:
        thread = f"{track.process or f'process {track.pid}'}: {thread}"
    return TraceLocation(thread, device)


def _category_of(span: Span, location: TraceLocation) -> OperationCategory:
    explicit = _CATEGORIES.get(span.category.lower())
    if explicit is not None:
        return explicit
    if is_step_or_phase(span.name):
        return OperationCategory.ANNOTATION
    is_host = location.device == "cpu"
    for pattern, category in _KINDS:
        if pattern.search(span.name) and is_host == (category is OperationCategory.COLLECTIVE):
            return category
    return OperationCategory.OPERATOR if is_host else OperationCategory.KERNEL


def _steps(trace: ChromeTrace, shift_ns: int) -> list[Step]:
    """Steps whose number is an argument."""
    named = [span for span in trace.spans if span.name in _STEP and _STEP_NUMBER in span.detail]
    numbered = [(span.arguments.get("step"), span) for span in named]
    return [
        Step(number, start_ns := span.start_ns + shift_ns, start_ns + span.duration_ns)
        for number, span in numbered
        if isinstance(number, int) and number >= 0
    ]
