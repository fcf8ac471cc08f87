"""Import traces of the TensorFlow and JAX profiler."""

import re
from collections.abc import Sequence
from pathlib import Path

from sonde.errors import UsageError
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
from sonde.importers._sources import Source, find_files, node_name, with_ranks
from sonde.importers._steps import Step, find_training
from sonde.importers._training import add_all
from sonde.records.profile import OperationCategory

_DEVICE = re.compile(r"/device:(GPU|TPU):(\d+)")
_DEVICES = {"GPU": "cuda", "TPU": "tpu"}
_STREAM = re.compile(r"stream", re.IGNORECASE)
_ON_DEVICE = (
    "xla ops",
    "async xla ops",
)  # of devices without streams; with streams, they are duplicates
_STEPS = "steps"
_STEP_NUMBER = '"step_num":'
_COPY = re.compile(r"memcpy|^copy|infeed|outfeed", re.IGNORECASE)
_SET = re.compile(r"memset", re.IGNORECASE)
_RUNTIME = re.compile(r"cu[A-Z]\w+|cuda[A-Z]\w+|hip[A-Z]\w+")
_PYTHON = re.compile(r"\$|.*\.py:\d+ ")


class XprofImporter(Importer):
    """Traces of the TensorFlow and JAX profiler: `plugins/profile/RUN/HOST.trace.json.gz`.

    A file, or the folder of a run; each host is a worker. Steps come from the devices, else from
    annotations with `step_num`.
    """

    endings = (".trace.json.gz", ".trace.json")

    def sources(self, path: Path) -> list[Source]:
        files = find_files(path, self.endings)
        runs = sorted({file.parent for file in files})
        if len(runs) > 1:
            names = ", ".join(run.name for run in runs)
            raise UsageError(
                f"{path} has several runs: {names}. Import one of them, such as {runs[-1]}"
            )
        return with_ranks([Source(file, node=self._node_of(file)) for file in files])

    def read(self, source: Source, intake: Intake) -> None:
        trace = read_chrome_trace(source, intake)
        shift_ns = trace.shift_ns(intake, source.path)
        tracks = {key: trace.track(key) for key in trace.keys}
        with_streams = {each.pid for each in tracks.values() if _STREAM.match(each.thread)}

        def category_of(span: Span, location: TraceLocation) -> OperationCategory:
            if location.device == "cpu":
                return _host_category(span)
            return _device_category(span, tracks[span.key], with_streams)

        columns, operations = operations_of(trace, shift_ns, _place_of, category_of)
        devices = sorted(set(operations.devices) - {"cpu"})
        device = devices[0] if devices else "cpu"
        rows = intake.worker(
            WorkerDescription(source.rank, source.node, device=device, framework="xla")
        )
        training = find_training(operations, _steps(trace, shift_ns))
        add_all(rows, columns, training, trace.counters_at(shift_ns))

    def _node_of(self, file: Path) -> str:
        ending = next((suffix for suffix in self.endings if file.name.endswith(suffix)), "")
        return node_name(file.name.removesuffix(ending)) if ending else Source(file).node


def _place_of(track: Track) -> TraceLocation:
    lane = track.thread or f"thread {track.tid}"
    match = _DEVICE.search(track.process)
    if match is not None:
        return TraceLocation(lane, f"{_DEVICES[match[1]]}:{match[2]}")
    is_host = track.process in ("", "/host:CPU")
    return TraceLocation(lane if is_host else f"{track.process}: {lane}")


def _host_category(span: Span) -> OperationCategory:
    if _STEP_NUMBER in span.detail:
        return OperationCategory.ANNOTATION
    if _PYTHON.match(span.name):
        return OperationCategory.PYTHON
    if _RUNTIME.fullmatch(span.name):
        return OperationCategory.RUNTIME
    return OperationCategory.OPERATOR


def _device_category(span: Span, track: Track, with_streams: set[str]) -> OperationCategory:
    """The category of a device span; lines of modules, scopes and steps are annotations."""
    if track.pid in with_streams:
        is_work = _STREAM.match(track.thread) is not None
    else:
        is_work = not track.thread or track.thread.lower() in _ON_DEVICE
    if not is_work:
        return OperationCategory.ANNOTATION
    if _COPY.search(span.name):
        return OperationCategory.COPY
    return OperationCategory.SET if _SET.search(span.name) else OperationCategory.KERNEL


def _steps(trace: ChromeTrace, shift_ns: int) -> list[Step]:
    """The steps of the first device that has any, else of the host."""
    lines = [key for key in sorted(trace.keys) if trace.track(key).thread.lower() == _STEPS]
    on_device = [
        span for span in trace.spans if lines and span.key == lines[0] and span.name.isdecimal()
    ]
    if on_device:
        return _numbered([(int(span.name), span) for span in on_device], shift_ns)
    numbered = [span for span in trace.spans if _STEP_NUMBER in span.detail]
    named = [(str(span.arguments.get("step_num")), span) for span in numbered]
    return _numbered([(int(text), span) for text, span in named if text.isdecimal()], shift_ns)


def _numbered(numbers: Sequence[tuple[int, Span]], shift_ns: int) -> list[Step]:
    """Each step once; nested spans with the same number are ignored."""
    steps: dict[int, Step] = {}
    for number, span in numbers:
        start_ns = span.start_ns + shift_ns
        steps.setdefault(number, Step(number, start_ns, start_ns + span.duration_ns))
    return list(steps.values())
