"""Traces of TensorFlow's and JAX's profiler, as TensorBoard shows them."""

import re
from collections.abc import Sequence
from pathlib import Path

from sonde.errors import UsageError
from sonde.importers._chrome import (
    ChromeTrace,
    Place,
    Span,
    Track,
    operations_of,
    read_chrome_trace,
)
from sonde.importers._importer import Importer, Intake
from sonde.importers._job import Told
from sonde.importers._sources import Source, find_files, node_name, with_ranks
from sonde.importers._steps import Step, find_training
from sonde.importers._training import add_all
from sonde.records.profile import OperationCategory

_DEVICE = re.compile(r"/device:(GPU|TPU):(\d+)")
_DEVICES = {"GPU": "cuda", "TPU": "tpu"}
_STREAM = re.compile(r"stream", re.IGNORECASE)
_ON_DEVICE = ("xla ops", "async xla ops")  # of a device without streams; else they say it again
_STEPS = "steps"
_STEP_NUMBER = '"step_num":'
_COPY = re.compile(r"memcpy|^copy|infeed|outfeed", re.IGNORECASE)
_SET = re.compile(r"memset", re.IGNORECASE)
_RUNTIME = re.compile(r"cu[A-Z]\w+|cuda[A-Z]\w+|hip[A-Z]\w+")
_PYTHON = re.compile(r"\$|.*\.py:\d+ ")


class XprofImporter(Importer):
    """Traces of TensorFlow's and JAX's profiler: `plugins/profile/RUN/HOST.trace.json.gz`.

    A file, or the folder of a run; each host is a worker. Steps are those of the devices, else
    those that the program named with `step_num`.
    """

    endings = (".trace.json.gz", ".trace.json")

    def sources(self, path: Path) -> list[Source]:
        files = find_files(path, self.endings)
        runs = sorted({file.parent for file in files})
        if len(runs) > 1:
            names = ", ".join(run.name for run in runs)
            raise UsageError(f"{path} holds several runs: {names}. Import one: {runs[-1]}")
        return with_ranks([Source(file, node=self._node_of(file)) for file in files])

    def read(self, source: Source, intake: Intake) -> None:
        trace = read_chrome_trace(source, intake)
        shift_ns = intake.shift_ns(source.path, *trace.extent)
        tracks = {key: trace.track(key) for key in trace.keys}
        with_streams = {one.pid for one in tracks.values() if _STREAM.match(one.thread)}

        def category_of(span: Span, place: Place) -> OperationCategory:
            if place.device == "cpu":
                return _host_category(span)
            return _device_category(span, tracks[span.key], with_streams)

        columns, operations = operations_of(trace, shift_ns, _place_of, category_of)
        devices = sorted(set(operations.devices) - {"cpu"})
        device = devices[0] if devices else "cpu"
        rows = intake.worker(Told(source.rank, source.node, device=device, framework="xla"))
        training = find_training(operations, _steps(trace, shift_ns))
        add_all(rows, columns, training, trace.counters_at(shift_ns))

    def _node_of(self, file: Path) -> str:
        ending = next((one for one in self.endings if file.name.endswith(one)), "")
        return node_name(file.name.removesuffix(ending)) if ending else Source(file).node


def _place_of(track: Track) -> Place:
    lane = track.thread or f"thread {track.tid}"
    match = _DEVICE.search(track.process)
    if match is not None:
        return Place(lane, f"{_DEVICES[match[1]]}:{match[2]}")
    is_usual = track.process in ("", "/host:CPU")
    return Place(lane if is_usual else f"{track.process}: {lane}")


def _host_category(span: Span) -> OperationCategory:
    if _STEP_NUMBER in span.detail:
        return OperationCategory.ANNOTATION
    if _PYTHON.match(span.name):
        return OperationCategory.PYTHON
    if _RUNTIME.fullmatch(span.name):
        return OperationCategory.RUNTIME
    return OperationCategory.OPERATOR


def _device_category(span: Span, track: Track, with_streams: set[str]) -> OperationCategory:
    """What ran there, and what only names it again: modules, scopes, steps."""
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
    """Those of the first device that has any; else those of the host."""
    lines = [key for key in sorted(trace.keys) if trace.track(key).thread.lower() == _STEPS]
    on_device = [
        one for one in trace.spans if lines and one.key == lines[0] and one.name.isdecimal()
    ]
    if on_device:
        return _numbered([(int(one.name), one) for one in on_device], shift_ns)
    numbered = [one for one in trace.spans if _STEP_NUMBER in one.detail]
    named = [(str(one.arguments.get("step_num")), one) for one in numbered]
    return _numbered([(int(text), one) for text, one in named if text.isdecimal()], shift_ns)


def _numbered(found: Sequence[tuple[int, Span]], shift_ns: int) -> list[Step]:
    """Each step once: what has the same number inside of it is a part of it."""
    steps: dict[int, Step] = {}
    for number, one in found:
        start_ns = one.start_ns + shift_ns
        steps.setdefault(number, Step(number, start_ns, start_ns + one.duration_ns))
    return list(steps.values())
